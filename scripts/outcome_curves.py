"""Liu et al.'s outcome curves and optima: one step, loans to the best of each group, nothing that answers.

Scores are those of a table; any selection rate can be had, as the people of one score may be drawn by lot. Used by
``scripts/draw_fico.py`` and ``tests/test_fico.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.data import ScoreTable
from fairgate.settings import Array

RISE, FALL, LOW, HIGH = 75.0, 150.0, 300.0, 850.0  # points gained and lost by a loan, and the ends of the scale
CRITERIA = ("MaxUtil", "DemParity", "EqOpt")


@dataclass(frozen=True)
class Outcome:
    """What a criterion's best loans come to: of each group (G,), and the lender's utility per applicant."""

    thresholds: Array
    rates: Array
    changes: Array
    utility: float


@dataclass(frozen=True)
class Curves:
    """A group's curves from no loans to loans for all, best scores first: sums over scores, (S + 1,) each."""

    scores: Array  # from best to worst
    rates: Array
    repaid: Array  # share of all who would repay
    changes: Array
    repayments: Array

    def at(self, rates: Array, values: Array) -> Array:
        """Read a curve at selection rates: straight between scores, where loans are drawn by lot."""
        return np.interp(rates, self.rates, values)


def expected_change(scores: Array, repay: Array) -> Array:
    """Return the expected change of score of a loan as the authors' code has it, which keeps the mean on the scale."""
    return np.asarray(np.clip(scores + RISE * repay - FALL * (1.0 - repay), LOW, HIGH) - scores)


def curves(table: ScoreTable, group: int) -> Curves:
    """Return the curves of a group."""
    pdf, repay = table.pdf[group][::-1], table.repay[group][::-1]
    change = expected_change(table.scores[::-1], repay)

    def summed(values: Array) -> Array:
        return np.concatenate(([0.0], values.cumsum()))

    repayments = summed(pdf * repay)
    return Curves(table.scores[::-1], summed(pdf), repayments / repayments[-1], summed(pdf * change), repayments)


def optimum(table: ScoreTable, criterion: str, cost: float) -> Outcome:
    """Return the loans of highest utility under a criterion: exact, as utility is straight between scores."""
    each = [curves(table, group) for group in range(len(table.shares))]
    if criterion == "MaxUtil":
        best = np.array([curve.rates[np.argmax(worth_of(curve, cost))] for curve in each])
    else:
        axes = [curve.rates if criterion == "DemParity" else curve.repaid for curve in each]
        common = np.unique(np.concatenate(axes))  # what is the same in all groups
        rates = [np.interp(common, *_rising(axis, curve.rates)) for axis, curve in zip(axes, each, strict=True)]
        worth = [share * curve.at(rate, worth_of(curve, cost)) for share, curve, rate in _zipped(table, each, rates)]
        best = np.array(rates)[:, int(np.argmax(sum(worth)))]
    return Outcome(
        np.array([threshold_at(curve, rate) for curve, rate in zip(each, best, strict=True)]),
        best,
        np.array([float(curve.at(rate, curve.changes)) for curve, rate in zip(each, best, strict=True)]),
        float(sum(share * curve.at(rate, worth_of(curve, cost)) for share, curve, rate in _zipped(table, each, best))),
    )


def _zipped(table: ScoreTable, each: list[Curves], rates: list[Array] | Array) -> list[tuple[float, Curves, Array]]:
    return list(zip(table.shares.tolist(), each, rates, strict=True))


def worth_of(curve: Curves, cost: float) -> Array:
    """Return what a lender earns by the selection rate, where a default costs so many repayments."""
    return np.asarray(curve.repayments - cost * (curve.rates - curve.repayments))


def _rising(axis: Array, values: Array) -> tuple[Array, Array]:
    """Leave out points at which an axis stands still: scores that nobody of a group has."""
    kept = np.concatenate(([True], np.diff(axis) > 0.0))
    return axis[kept], values[kept]


def threshold_at(curve: Curves, rate: float) -> float:
    """Return the score above which a group gets loans at a rate, the part of a score drawn by lot as the authors do."""
    place = int(np.searchsorted(curve.rates, rate - 1e-12)) - 1  # the score whose people make the rate full
    share = (rate - curve.rates[place]) / (curve.rates[place + 1] - curve.rates[place])
    above = curve.scores[max(place - 1, 0)]
    return float(curve.scores[place] + (1.0 - share) * (above - curve.scores[place]))


def harmless_rate(curve: Curves) -> float:
    """Return the largest selection rate up to which loans do not lower a group's mean score."""
    last = int(np.flatnonzero(curve.changes >= 0.0)[-1])
    if last == len(curve.rates) - 1:
        return 1.0
    ends = [last + 1, last]  # the change falls from one to the other
    return float(np.interp(0.0, curve.changes[ends], curve.rates[ends]))
