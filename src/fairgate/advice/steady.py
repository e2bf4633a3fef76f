r"""Steady: where each threshold leads if acceptance changes who applies.

The people of a group are parted at its median score into a low and a high pool, and acceptance moves the weight of the
high pool, as in :class:`~fairgate.environments.ScorePools`. Strength f means

.. math:: w_g \to \tfrac12 + f \cdot (acc_g - a_g) :

a group accepted at its own present rate :math:`a_g` stays as it is, one accepted by 0.1 more gains 0.1 f of weight in
its high pool (before that in turn changes who is accepted), and f = 0 is the table as it is. Below 0, accepting more
draws worse applicants (adverse selection). Strengths lie within ±1: beyond, there is no unique steady state. The
paper's floor of 0.1 and ceiling of 0.9 are f = 0.8 about :math:`a_g = 0.5` in every group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.counts import Counts
from fairgate.environments import ScorePools
from fairgate.people.applicants import Applicants
from fairgate.people.labels import tail
from fairgate.problem import ROUNDING, Problem, best_feasible
from fairgate.settings import Array
from fairgate.thresholds import Point, ThresholdSweep

SPLIT = 0.5
"""Quantile of a group's scores that parts its pools."""


class Response(NamedTuple):
    """How acceptance moves people: strength f, and the acceptance rates (G,) at which groups stay as they are."""

    strength: float
    balance: Array | float  # one number if it is the same in all groups

    @property
    def floor(self) -> Array:
        """Weight of each group's high pool that nobody accepted leads to, (G,) or (1,); below 0 is clipped."""
        return 1.0 - SPLIT - self.strength * np.atleast_1d(self.balance)


class Reference(NamedTuple):
    """The acceptance rates that groups are used to, (G,), and where they come from."""

    rates: Array
    where: str  # "the decision column", "the threshold in use" or "today's best threshold"
    text: str  # the same in words

    def describe(self, groups: Sequence[str]) -> dict[str, Any]:
        """Return it as plain data."""
        return {"rates": dict(zip(groups, self.rates.tolist(), strict=True)), "where": self.where, "text": self.text}


def reference_rates(applicants: Applicants, aims: Aims) -> Reference:
    """Return each group's own acceptance rate before anything changes.

    That of past decisions, if they are known; else at the threshold in use; else at today's best threshold.
    """
    past = applicants.current_rates
    accepted = applicants.above.sum(axis=2) / applicants.sizes[:, None]
    if past is not None:
        rates, where = past, "the decision column"
        why = "its share accepted in the past, by the decision column"
        so = "A threshold that accepts other shares than past decisions did moves the groups"
    elif aims.current is not None:
        place = int(np.searchsorted(applicants.cuts, applicants.shown(aims.current)))
        rates = accepted[:, place] if place < len(applicants.cuts) else np.zeros(len(accepted))
        where, why = "the threshold in use", f"its acceptance rate at the threshold in use, {aims.current:g}"
        so = "Keeping that threshold changes nothing, however strong the feedback"
    else:
        rates = accepted[:, settle(applicants, aims.problem, Response(0.0, 0.0)).cut]
        where, why = "today's best threshold", "its acceptance rate at the threshold that is best today"
        so = "Neither a decision column (--decision) nor a threshold in use (--current) was given"
    named = zip(applicants.groups, rates.tolist(), strict=True)
    listed = ", ".join(f"{applicants.called(name)}: {rate:.1%}" for name, rate in named)
    return Reference(rates, where, f"A group stays as it is at {why} ({listed}). {so}.")


class Steady(NamedTuple):
    """The exact steady states of all thresholds under one strength of feedback, and the number of the best one."""

    response: Response
    counts: Counts  # probabilities, (K, G, 2, 2)
    sweep: ThresholdSweep
    cut: int  # the best feasible threshold

    @property
    def best(self) -> Point:
        """The figures of the best threshold."""
        return self.sweep.point(self.cut)


def environment(applicants: Applicants, response: Response, rate: float = 0.1) -> ScorePools:
    """Make the environment whose people are the applicants; a score is twice the number of its bin.

    The bin with a group's median belongs half to either pool: what is above the median scores one more, which no even
    threshold tells apart, so that equal weights are exactly the table.
    """
    people = applicants.filled
    low = low_pool(people)
    halves = np.stack((low, people - low), axis=2)  # group, bin, half, label
    group, place, half, label = np.nonzero(halves)
    return ScorePools(
        scores=2 * place + half,
        labels=label,
        groups=group,
        split=SPLIT,
        floor=0.0,
        ceiling=response.strength,
        rate=rate,
        weights=halves[group, place, half, label],
        shift=np.broadcast_to(response.floor, len(people)),
    )


def low_pool(people: Array) -> Array:
    """Return those people (…, G, B, 2) who are in their group's low pool."""
    each = people.sum(axis=-1)
    half = SPLIT * each.sum(axis=-1, keepdims=True)
    left = half - (each.cumsum(axis=-1) - each)
    share = np.clip(np.divide(left, each, out=np.zeros_like(each), where=each > 0.0), 0.0, 1.0)
    return np.asarray(share[..., None] * people)


def settle(applicants: Applicants, problem: Problem, response: Response) -> Steady:
    """Solve every threshold's steady state exactly and find the best feasible one."""
    counts = Counts(steady_cells(applicants.filled, response))
    found = problem.assess(counts)
    shown = np.asarray(applicants.shown(applicants.cuts))
    sweep = ThresholdSweep(shown, found.reward, counts.gap, counts.overall, found.residuals)
    return Steady(response, counts, sweep, int(best_feasible(sweep.reward, sweep.residuals)))


def steady_cells(people: Array, response: Response) -> Array:
    """Return P(group, label, decision) in each cut's steady state, (…, B, G, 2, 2), for people (…, G, B, 2).

    That of :func:`environment`, solved for many tables at once.
    """
    low = low_pool(people)
    size = people.sum(axis=(-1, -2))
    half = np.maximum(SPLIT * size, 1e-300)[..., None, None]
    pools = [tail(part, axis=-2) / half for part in (low, people - low)]
    none, full = (pool.sum(axis=-1) for pool in pools)
    weight = (response.floor[:, None] + response.strength * none) / (1.0 - response.strength * (full - none))
    weight = np.clip(weight, 0.0, 1.0)[..., None]
    accepted = weight * pools[1] + (1.0 - weight) * pools[0]
    everybody = weight * pools[1][..., :1, :] + (1.0 - weight) * pools[0][..., :1, :]
    share = (size / size.sum(axis=-1, keepdims=True))[..., None, None, None]
    cells = share * np.stack((np.maximum(everybody - accepted, 0.0), accepted), axis=-1)
    return np.moveaxis(cells, -3, -4)


def stands_until(applicants: Applicants, problem: Problem, cut: int, balance: Array | float) -> float | None:
    """Return the strength of feedback up to which threshold number `cut` meets every constraint; None if it never does.

    Looked up in steps of 0.01 below 1; 1 means that it always does.
    """
    until = None
    for strength in np.arange(0.0, 1.0, 0.01).tolist():
        cells = steady_cells(applicants.filled, Response(strength, balance))[cut : cut + 1]
        if (problem.assess(Counts(cells)).residuals > ROUNDING).any():
            return until
        until = strength
    return 1.0
