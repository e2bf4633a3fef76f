"""Against: a run beside the exact truth, round by round: regret, excess violation, shortfall and success."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.estimates import Estimate
from fairgate.frames import Backend, frame_of, round_keys
from fairgate.problem import Assessment, violation
from fairgate.settings import Array
from fairgate.tail import tail_of

State = Literal["steady", "actual"]
"""State of the population that what was played is judged in: the one it would lead to, or the one there was."""

SUCCESS = (0.01, 0.01)
"""Largest regret and largest residual of a round that counts as a success."""


class Reference(Protocol):
    """What a run is judged by: an :class:`~fairgate.Oracle`, or a :class:`~fairgate.Truth` that changes by round."""

    @property
    def task_name(self) -> str:
        """Name of the task it is about."""

    def played(self, thresholds: Array, first: int = 0) -> Assessment:
        """Return the steady-state reward (R, T) and residuals (J, R, T) of thresholds (R, T, groups).

        `first` is the round of the whole run that the thresholds begin with.
        """

    def targets(self, first: int, rounds: int) -> tuple[Array, Array]:
        """Return, for each of some rounds, the best feasible reward, NaN if there is none, and the least violation."""


@dataclass(frozen=True, repr=False)
class Against:
    """A run beside the exact truth: arrays over replicates (R) × rounds (T).

    Attributes
    ----------
    regret
        Reward of the best feasible fixed policy in the round minus that of what was played. Negative where what was
        played earns more by breaking a constraint; NaN where nothing is feasible.
    violation
        Sum of the positive residuals of what was played.
    residual
        Its largest residual.
    excess
        The part of the violation that the least violating choice would not have: all of it if one is feasible.
    task, learner
        What was played, and by whom.
    first
        Round of the whole run that the first of these is.
    """

    regret: Array
    violation: Array
    residual: Array
    excess: Array
    task: str = ""
    learner: str = ""
    first: int = 0

    def __repr__(self) -> str:
        replicates, rounds = self.regret.shape
        return f"Against({self.learner} on {self.task}: {replicates} replicates × {rounds} rounds)"

    @cached_property
    def shortfall(self) -> Array:
        """max(regret, largest residual, 0): 0 only where the best is met; where nothing is feasible, the excess."""
        short = np.maximum(np.maximum(self.regret, self.residual), 0.0)
        return np.where(np.isnan(self.regret), self.excess, short)

    @cached_property
    def success(self) -> NDArray[np.bool_]:
        """Whether regret and every residual are at most 0.01; where nothing is feasible, whether the excess is."""
        return self.within(*SUCCESS)

    def within(self, regret: float, residual: float) -> NDArray[np.bool_]:
        """Whether regret and the largest residual are at most these; where nothing is feasible, the excess."""
        met = (self.regret <= regret) & (self.residual <= residual)
        return np.where(np.isnan(self.regret), self.excess <= residual, met)

    @cached_property
    def cumulative_regret(self) -> Array:
        """Regret summed up to each round. Rounds in which nothing is feasible add none; NaN if that is so in all."""
        return known_regret(self.regret).cumsum(axis=1)

    def per_replicate(self, tail: int | None = None) -> dict[str, Array]:
        """Return each summary figure for every replicate, (R,).

        Sums of ``regret`` and ``violation`` over all rounds, means of ``excess``, ``shortfall`` and ``success``; and of
        the last `tail` rounds, or as many as there are, by default 200 or the last fifth of a shorter run, the means
        ``tail_regret``, ``tail_violation`` and ``tail_success``.
        """
        last = slice(-tail_of(self.regret.shape[1], tail), None)
        known = known_regret(self.regret)
        return {
            "regret": known.sum(axis=1),
            "violation": self.violation.sum(axis=1),
            "excess": self.excess.mean(axis=1),
            "shortfall": self.shortfall.mean(axis=1),
            "success": self.success.mean(axis=1),
            "tail_regret": known[:, last].mean(axis=1),
            "tail_violation": self.violation[:, last].mean(axis=1),
            "tail_success": self.success[:, last].mean(axis=1),
        }

    def summary(self, tail: int | None = None) -> dict[str, Estimate]:
        """Return mean ± sd over replicates of every figure of :meth:`per_replicate`."""
        return {name: Estimate.of(values) for name, values in self.per_replicate(tail).items()}

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """What a tidy table by round has of it, (R, T) each."""
        return {
            "regret": self.regret,
            "cumulative_regret": self.cumulative_regret,
            "excess": self.excess,
            "shortfall": self.shortfall,
            "success": self.success,
        }

    def frame(self, backend: Backend = "pandas") -> Any:
        """Return a tidy table, one row per replicate and round."""
        keys = round_keys(self.task, self.learner, self.regret.shape, self.first)
        return frame_of(keys | {"violation": self.violation} | self.columns, backend)


def compare(found: Assessment, best: Array | float, least: Array | float) -> Against:
    """Compare a reward (…) and residuals (J, …) with the best feasible reward and the least violation there is."""
    broken = violation(found.residuals)
    return Against(best - found.reward, broken, largest(found.residuals), np.maximum(broken - least, 0.0))


def known_regret(regret: Array) -> Array:
    """Regret (R, T) with 0 for rounds in which nothing is feasible, unless that is so in all of them."""
    return regret if np.isnan(regret).all() else np.nan_to_num(regret, nan=0.0)


def largest(residuals: Array) -> Array:
    """Largest residual (…) of residuals (J, …); 0 if there is no constraint."""
    return np.asarray(residuals.max(axis=0)) if len(residuals) else np.zeros(residuals.shape[1:])


def check_same_task(reference: Reference, name: str) -> None:
    """Say so if a run of the task called `name` is to be judged by the truth of another."""
    if not isinstance(getattr(reference, "task_name", None), str):
        raise InputError(f"oracle must be fairgate.oracle(task) or fairgate.truth_of(task, rounds), got {reference!r}")
    if reference.task_name != name:
        raise InputError(f"oracle is that of task {reference.task_name!r}, but the run is of {name!r}")


def check_state(state: str, reference: Reference | None) -> None:
    """Say so if `state` is none that a run can be judged in, or if there is nothing to judge it by."""
    if state not in get_args(State):
        raise unknown_name("state", state, get_args(State))
    if state != "steady" and reference is None:
        raise InputError(f"state is {state!r}, but there is no oracle to judge by: pass one, or leave the state out")
