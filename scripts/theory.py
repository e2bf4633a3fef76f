"""The proof of docs/theory.md as code: its constants, its rule with wider bounds, and what it bounds.

Used by ``scripts/draw_theory.py``, which measures and draws, and by ``tests/learners/test_theory.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import fairgate as fg
from fairgate.confidence import Box
from fairgate.environments import GaussianScores
from fairgate.environments.normal_scores import PEAK
from fairgate.learners import DoublyOptimistic
from fairgate.learners.doubly_optimistic import OptimisticState, Rows
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep

BATCH = 256


class Constants(NamedTuple):
    """What the proof knows of the signals: the reward, everybody's acceptance and each group's, (G + 2,) each.

    Attributes
    ----------
    shares
        s: expected share of a batch that a signal is about.
    noise
        σ̄: noise of a batch, plus what the state's noise does in the long run.
    bias
        B: largest sum over a visit of how far the expected signal is from its long run.
    jump
        R: largest part of B that one batch can decide.
    of_state
        The part of σ̄ that the state's noise has.
    """

    shares: Array
    noise: Array
    bias: Array
    jump: Array
    of_state: Array


def constants(task: fg.Task, batch: int = BATCH) -> Constants:
    """Compute the constants of docs/theory.md for Gaussian scores and a :class:`fairgate.Utility`."""
    environment, utility = task.environment, task.problem.utility
    if not isinstance(environment, GaussianScores) or not isinstance(utility, fg.Utility):
        raise fg.InputError(f"the constants are known for GaussianScores and Utility only, got {task}")
    rate, gain = float(np.asarray(environment.rate)), abs(float(np.asarray(environment.gain)))
    shares, density = np.asarray(environment.shares), PEAK / np.asarray(environment.sd)
    remembered = 1.0 / (rate * (1.0 - gain * density))  # 1 / (1 − ρ), of each group
    spread = rate * gain * np.sqrt(1.0 / (2.0 * batch * shares))  # τ, of each group
    reach = np.array([1.0 + float(np.asarray(utility.false_positive_cost)), *np.ones(1 + len(shares))])
    groups = np.concatenate((np.ones((2, len(shares))), np.eye(len(shares))))  # which groups a signal is about
    slope = groups * reach[:, None] * shares * density * remembered  # L / (1 − ρ)
    return Constants(
        shares=np.array([1.0, 1.0, *shares]),
        noise=reach / (2.0 * math.sqrt(batch)) + slope @ spread,
        bias=slope.sum(axis=1) * gain,
        jump=slope.sum(axis=1) * gain * rate,
        of_state=slope @ spread,
    )


def log_term(visits: Array, arms: int, assessment: int, delta: float) -> Array:
    """Return ℓ: what it costs that the bounds hold for all thresholds, signals and visits."""
    return np.log(8.0 * arms * assessment * visits * (visits + 1.0) / delta)


def kept_rounds(visits: Array, epoch_length: float, burn_in: float) -> Array:
    """Return N: rounds learnt from in so many visits."""
    return np.asarray(epoch_length * (2.0**visits - 1.0) - burn_in * visits)


def evidence(share: float) -> float:
    """Return by how much each person of a batch adds to the certainty that a group has four fifths of its share.

    The larger exponent of Hoeffding's bound, 2 s² / 25, and of the multiplicative Chernoff bound, s / 50.
    """
    return max(2.0 * share**2 / 25.0, share / 50.0)


def people_cost(visits: Array, arms: int, groups: int, delta: float) -> Array:
    """Return what it costs that no group is short of people, for all thresholds, groups and visits."""
    return np.log(2.0 * arms * groups * visits * (visits + 1.0) / delta)


def summed_radius(known: Constants, visits: Array, kept: Array, cost: Array) -> Array:
    """Return by how much the sums of the signals can be off, (…, signals)."""
    visits, kept, cost = visits[..., None], kept[..., None], cost[..., None]
    return known.noise * np.sqrt(2.0 * kept * cost) + visits * known.bias + 2.0 / 3.0 * known.jump * cost


@dataclass
class AnalysedState(OptimisticState):
    """The proof's constants, besides, (5, signals)."""

    constants: Array


@dataclass(frozen=True)
class Analysed(DoublyOptimistic):
    """The rule as the proof has it: wider bounds, which need no premise but a contraction."""

    known: Constants | None = None

    def remember(self, setting: fg.Setting, common: Mapping[str, Any]) -> AnalysedState:
        """Start with nothing known but the constants."""
        return AnalysedState(**vars(super().remember(setting, common)), constants=np.array(self.known))

    def bounds(self, state: OptimisticState, rows: Rows) -> tuple[Array, Array, Array]:
        """Return the proof's bounds, of the arms played."""
        assert isinstance(state, AnalysedState)
        place = rows, state.arm[rows]
        visits = state.visits[place].astype(np.float64)
        kept = kept_rounds(visits, float(np.asarray(self.epoch_length)), float(np.asarray(self.burn_in)))
        cost = log_term(visits, len(state.grid), state.groups + 2, float(np.asarray(self.delta)))
        people, accepted = state.people[place], state.accepted[place]
        total = people.sum(axis=1)
        weight = np.column_stack((kept, kept, people * (kept / total)[:, None]))  # of each signal: people / batch
        radius = summed_radius(Constants(*state.constants), visits, kept, cost) / weight
        reward, overall, rates = state.rewards[0][place] / total, accepted.sum(axis=1) / total, accepted / people
        known = Box(
            np.maximum(rates - radius[:, 2:], 0.0),
            np.minimum(rates + radius[:, 2:], 1.0),
            np.maximum(overall - radius[:, 1], 0.0),
            np.minimum(overall + radius[:, 1], 1.0),
        )
        worst = np.max([found for each in state.problem.constraints for found in each.lowest(known)], axis=0)
        return reward - radius[:, 0], reward + radius[:, 0], worst


def shortfalls(task: fg.Task) -> Array:
    """Return max(f* − f, max g, 0) of every threshold in the long run, (K,)."""
    sweep = exact_sweep(task, task.thresholds)
    return np.asarray(np.maximum(np.maximum(sweep.best.reward - sweep.reward, sweep.residuals.max(axis=0)), 0.0))


def visit_slopes(task: fg.Task, learner: DoublyOptimistic, visits: Array) -> Array:
    """Return 2 Φ: the largest shortfall a round of a visit can have after so many visits, for parity of two groups.

    It is infinite as long as too few people of a group have been seen.
    """
    known, arms, delta = constants(task), len(task.thresholds), float(np.asarray(learner.delta))
    kept = kept_rounds(visits, float(np.asarray(learner.epoch_length)), float(np.asarray(learner.burn_in)))
    cost = log_term(visits, arms, len(known.shares), delta)
    radius = summed_radius(known, visits, kept, cost) / kept[:, None]
    radius[:, 2:] *= 1.25 / known.shares[2:]
    widest = np.maximum(np.maximum(radius[:, 0], radius[:, 1]), radius[:, 2] + radius[:, 3])
    rare = float(known.shares[2:].min())
    enough = BATCH * kept * evidence(rare) >= people_cost(visits, arms, len(known.shares) - 2, delta)
    return np.where(enough, 2.0 * widest, np.inf)


def proved(task: fg.Task, learner: DoublyOptimistic, rounds: Array) -> Array:
    """Return K Ψ(T / K), the proof's bound of the summed shortfall, for each number of rounds T."""
    worst, arms, epoch_length = (
        float(shortfalls(task).max()),
        len(task.thresholds),
        float(np.asarray(learner.epoch_length)),
    )
    visits = np.arange(1.0, 60.0)
    slopes = np.concatenate(([worst], np.minimum(visit_slopes(task, learner, visits), worst)))
    starts = np.concatenate(([0.0], epoch_length * (2.0**visits - 1.0)))  # rounds on a threshold when a visit begins
    sums = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(starts))))
    return np.asarray(arms * np.interp(np.asarray(rounds) / arms, starts, sums))


def closed_form(task: fg.Task, learner: DoublyOptimistic, rounds: Array) -> Array:
    """Return the same in closed form, wider."""
    known, arms, epoch_length = constants(task), len(task.thresholds), float(np.asarray(learner.epoch_length))
    parity = [1.25 * (values[2:] / known.shares[2:]).sum() for values in known[1:4]]
    noise, bias, jump = (max(*values[:2], both) for values, both in zip(known[1:4], parity, strict=True))
    visits = np.log2(1.0 + np.asarray(rounds) / (arms * epoch_length))
    cost = log_term(visits, arms, len(known.shares), float(np.asarray(learner.delta)))
    first = arms * epoch_length * shortfalls(task).max()
    of_bias = 4.0 * arms * bias * visits * (visits + 1.0) + 16.0 / 3.0 * arms * jump * cost * visits
    return np.asarray(first + 15.0 * noise * np.sqrt(arms * np.asarray(rounds) * cost) + of_bias)


def lost_for_good(task: fg.Task, learner: DoublyOptimistic) -> float:
    """Return the proof's bound that holds for all T: each threshold is left when its shortfall must be known."""
    visits = np.arange(1.0, 60.0)
    each = shortfalls(task)
    enough = visits[(visit_slopes(task, learner, visits) < each[:, None]).argmax(axis=1)]
    return float((each * float(np.asarray(learner.epoch_length)) * (2.0**enough - 1.0))[each > 0].sum())


def rounds_for_group(share: float, arms: int, groups: int, delta: float = 0.05, batch: int = BATCH) -> tuple[int, int]:
    """Return the rounds a first visit must learn from for a group of this share: by Hoeffding's bound, by Chernoff's.

    >>> rounds_for_group(0.02, arms=41, groups=6)
    (1207, 97)
    """
    cost = float(people_cost(np.array(1.0), arms, groups, delta))
    return math.ceil(cost / (batch * 2.0 * share**2 / 25.0)), math.ceil(cost / (batch * share / 50.0))


def transients(task: fg.Task, learner: DoublyOptimistic, rounds: Array) -> Array:
    """Return K (1 + V) B of the reward: what all changes of threshold can cost the analysed rule in T rounds."""
    arms, epoch_length = len(task.thresholds), float(np.asarray(learner.epoch_length))
    visits = np.log2(1.0 + np.asarray(rounds) / (arms * epoch_length))
    return np.asarray(arms * (1.0 + visits) * constants(task).bias[0])


def reward_noise(task: fg.Task, rounds: Array, delta: float, *, batches: bool) -> Array:
    """Return by how much noise can lower the reward summed over T rounds: that of `batches`, or of states alone."""
    known, cost = constants(task), np.log((2.0 if batches else 1.0) * rounds * (rounds + 1.0) / delta)
    noise = known.noise[0] if batches else known.of_state[0]
    return np.asarray(noise * np.sqrt(2.0 * rounds * cost) + 2.0 / 3.0 * known.jump[0] * cost)


def state_floor(task: fg.Task) -> float:
    """Return what the state's noise adds at most, in expectation, to a round's violation of parity of two groups."""
    known = constants(task)
    return float(math.sqrt(2.0) * (known.of_state[2:] / known.shares[2:]).sum())


def lower_bound(arms: int, rounds: Array | float, batch: int = BATCH) -> Array:
    """Return √(K T / n) / 21: what any rule that sees counts alone loses in some world, in expectation."""
    return np.asarray(np.sqrt(arms * np.asarray(rounds) / batch) / 21.0)


def known_range(task: fg.Task) -> float:
    """Return the largest shortfall there can be, as known before anything is seen: the range of reward and residuals.

    >>> known_range(fg.load_task("interior"))
    2.0
    """
    utility, groups = task.problem.utility, task.setting.groups
    if not isinstance(utility, fg.Utility):
        raise fg.InputError(f"the range of the reward is known for Utility only, got {utility!r}")
    residuals = [high for constraint in task.problem.constraints for _, high in constraint.span(groups)]
    return max(1.0 + float(np.asarray(utility.false_positive_cost)), *residuals)
