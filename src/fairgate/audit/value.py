r"""Value: what other thresholds would have earned, where a lottery gave everybody's probability of acceptance.

With score s, decision d, reward r of an acceptance, its probability e and an outcome model m, the value of accepting
everybody with s ≥ t is the mean of

.. math:: 1\{s \ge t\}\, \frac{d}{e}\, r \quad \text{(IPS [1]_)} \qquad \text{and} \qquad
          1\{s \ge t\} \Big(m + \frac{d}{e} (r - m)\Big) \quad \text{(doubly robust [2]_)},

both unbiased if e is right. The model is the reward by score band and group, fitted on four fifths of the rows for the
last fifth in turn (cross-fitting). Intervals are normal ones, for one look at all rows. Where e is 0 nobody's outcome is
ever seen, and the value of a threshold that accepts people there is not identified: it is then only bounded, by
supposing that all of them would turn out bad, or good.

References
----------
.. [1] D. G. Horvitz, D. J. Thompson. A generalization of sampling without replacement from a finite universe. Journal
   of the American Statistical Association, 1952.
.. [2] M. Dudík, J. Langford, L. Li. Doubly robust policy evaluation and learning. ICML, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fairgate.audit.reading import Cases
from fairgate.estimates import Estimate
from fairgate.settings import Array

FOLDS = 5
BANDS = 20
"""Score bands of the outcome model, and steps of the thresholds that are looked at."""

CHUNK = 1 << 20
"""Rows worked on at a time."""

MISFIT = 1e-4
"""Probability of calling propensities wrong that are right."""


@dataclass(frozen=True)
class Dark:
    """People whom a threshold accepts and whose outcome can never have been seen."""

    people: int
    low: float  # their lowest and highest score, as in the table
    high: float


@dataclass(frozen=True)
class Worth:
    """What a threshold does, and what it would have earned per person."""

    threshold: float  # as in the table
    acceptance: float
    rates: list[float]  # by group
    ips: Estimate | None  # None if not identified
    doubly_robust: Estimate | None
    gain: Estimate | None  # doubly robust, over the decisions that were made
    low: float  # bounds of the value: those of the interval if identified
    high: float
    dark: Dark | None


@dataclass(frozen=True)
class Value:
    """What the decisions made earned per person, and what other thresholds would have."""

    made: Estimate
    thresholds: list[Worth]
    smallest: float  # propensity above 0
    lottery: int  # people whose propensity was neither 0 nor 1
    unlabelled: int  # accepted people without a label
    misfit: str  # why propensities cannot be right; empty if they can


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the rows: reward if accepted and seen, weight of that, and where they belong."""

    rows: slice
    step: NDArray[np.int64]  # thresholds that accept the row
    cell: NDArray[np.int64]  # band and group
    fold: NDArray[np.int64]
    seen: NDArray[np.bool_]
    reward: Array


def value_of(
    cases: Cases,
    groups: int,
    *,
    cost: float = 1.0,
    benefit: float = 1.0,
    level: float = 0.95,
    thresholds: Sequence[float] = (),
    descending: bool = False,
) -> Value:
    """Work out the value of the thresholds asked for, or else of those at even shares of people.

    Scores of `cases` are the higher the better; `thresholds` read as in the table, lower ones stricter if `descending`.
    """
    sign = -1.0 if descending else 1.0
    edges = np.unique(np.quantile(cases.scores, np.arange(1, BANDS) / BANDS, method="higher"))
    cuts = np.unique(sign * np.asarray(thresholds, dtype=np.float64)) if len(thresholds) else edges
    count, size = len(cases.scores), (len(edges) + 1) * groups
    parts = _Parts(cases, edges, cuts, groups, cost, benefit)
    shares, people, accepted = parts.shares_seen(size)
    model = parts.model(size, shares)
    reachable = shares > 0.0
    sums = {name: np.zeros(len(cuts) + 1) for name in ("ips", "ips2", "dr", "dr2", "cross", "dark")}
    by_group = np.zeros((len(cuts) + 1, groups))
    dark_low, dark_high = np.full(len(cuts) + 1, np.inf), np.full(len(cuts) + 1, -np.inf)
    made = made2 = 0.0
    for part in parts:
        chance = cases.propensities[part.rows]
        weight = np.where(part.seen, 1.0 / np.maximum(chance * shares[part.cell], 1e-300), 0.0)
        own = np.where(part.seen, part.reward / np.where(part.seen, shares[part.cell], 1.0), 0.0)
        hidden = (chance == 0.0) | ~reachable[part.cell]
        ips = weight * part.reward
        expected = np.where(hidden, 0.0, model[part.fold, part.cell])
        robust = expected + weight * (part.reward - expected)
        for name, values in (
            ("ips", ips),
            ("ips2", ips**2),
            ("dr", robust),
            ("dr2", robust**2),
            ("cross", robust * own),
            ("dark", hidden),
        ):
            sums[name] += np.bincount(part.step, values, minlength=len(cuts) + 1)
        made, made2 = made + float(own.sum()), made2 + float((own**2).sum())
        flat = part.step * groups + cases.groups[part.rows]
        by_group += np.bincount(flat, minlength=by_group.size).reshape(by_group.shape)
        np.minimum.at(dark_low, part.step[hidden], cases.scores[part.rows][hidden])
        np.maximum.at(dark_high, part.step[hidden], cases.scores[part.rows][hidden])
    above = {name: np.cumsum(values[::-1])[::-1][1:] for name, values in sums.items()}
    taken = np.cumsum(by_group[::-1], axis=0)[::-1][1:]
    lowest = np.minimum.accumulate(dark_low[::-1])[::-1][1:]
    highest = np.maximum.accumulate(dark_high[::-1])[::-1][1:]
    reach = float(ndtri(0.5 + level / 2.0))

    def estimate(total: float, squares: float) -> Estimate:
        mean = float(total) / count
        half = reach * math.sqrt(max(float(squares) / count - mean**2, 0.0) / max(count - 1, 1))
        return Estimate(mean, mean - half, mean + half)

    found = []
    for k, cut in enumerate(cuts):
        hidden = int(above["dark"][k])
        ips, robust = (estimate(above[name][k], above[f"{name}2"][k]) for name in ("ips", "dr"))
        gain = estimate(above["dr"][k] - made, above["dr2"][k] - 2.0 * above["cross"][k] + made2)
        ends = sorted((sign * float(lowest[k]), sign * float(highest[k]))) if hidden else [0.0, 0.0]
        found.append(
            Worth(
                threshold=sign * float(cut) + 0.0,
                acceptance=float(taken[k].sum() / count),
                rates=(taken[k] / np.maximum(by_group.sum(axis=0), 1)).tolist(),
                ips=None if hidden else ips,
                doubly_robust=None if hidden else robust,
                gain=None if hidden else gain,
                low=robust.low - cost * hidden / count,
                high=robust.high + benefit * hidden / count,
                dark=Dark(hidden, *ends) if hidden else None,
            )
        )
    some = cases.propensities[cases.propensities > 0.0]
    return Value(
        made=estimate(made, made2),
        thresholds=sorted(found, key=lambda each: each.threshold),
        smallest=float(some.min()) if len(some) else 0.0,
        lottery=int((some < 1.0).sum()),
        unlabelled=int((accepted - people).sum()),
        misfit=_misfit(cases, edges),
    )


class _Parts:
    """The rows, some at a time, and what is fitted to them."""

    def __init__(self, cases: Cases, edges: Array, cuts: Array, groups: int, cost: float, benefit: float) -> None:
        self.cases, self.edges, self.cuts, self.groups = cases, edges, cuts, groups
        self.rewards = np.array([-cost, benefit, 0.0])

    def __iter__(self) -> Iterator[_Part]:
        cases = self.cases
        for begin in range(0, len(cases.scores), CHUNK):
            rows = slice(begin, min(begin + CHUNK, len(cases.scores)))
            scores, labels = cases.scores[rows], cases.labels[rows]
            yield _Part(
                rows=rows,
                step=np.searchsorted(self.cuts, scores, side="right"),
                cell=np.searchsorted(self.edges, scores, side="right") * self.groups + cases.groups[rows],
                fold=np.arange(rows.start, rows.stop) % FOLDS,
                seen=cases.accepted[rows] & (labels < 2),
                reward=self.rewards[labels],
            )

    def shares_seen(self, size: int) -> tuple[Array, Array, Array]:
        """Return the share of accepted people whose label is known in each cell, and both numbers; 1 if nobody is."""
        seen, accepted = np.zeros(size), np.zeros(size)
        for part in self:
            taken = self.cases.accepted[part.rows]
            seen += np.bincount(part.cell[part.seen], minlength=size)
            accepted += np.bincount(part.cell[taken], minlength=size)
        return np.divide(seen, accepted, out=np.ones(size), where=accepted > 0), seen, accepted

    def model(self, size: int, shares: Array) -> Array:
        """Return the mean reward of each cell, fitted without each fold, (folds, cells).

        A cell without any outcome takes its group's mean, else everybody's.
        """
        weights, totals = np.zeros((2, FOLDS, size))
        for part in self:
            seen = part.seen
            flat = part.fold[seen] * size + part.cell[seen]
            inverse = 1.0 / (self.cases.propensities[part.rows][seen] * shares[part.cell[seen]])
            weights += np.bincount(flat, inverse, minlength=FOLDS * size).reshape(FOLDS, size)
            totals += np.bincount(flat, inverse * part.reward[seen], minlength=FOLDS * size).reshape(FOLDS, size)
        weight, total = weights.sum(axis=0) - weights, totals.sum(axis=0) - totals
        by_group = [each.reshape(FOLDS, -1, self.groups).sum(axis=1) for each in (weight, total)]
        everybody = _ratio(total.sum(axis=1), weight.sum(axis=1), np.zeros(FOLDS))
        group = _ratio(by_group[1], by_group[0], np.repeat(everybody[:, None], self.groups, axis=1))
        return _ratio(total, weight, np.tile(group, (1, size // self.groups)))


def _ratio(total: Array, weight: Array, otherwise: Array) -> Array:
    """Divide where there is anything but what is left of rounding."""
    return np.asarray(np.divide(total, weight, out=otherwise.copy(), where=weight > 1e-6))


def _misfit(cases: Cases, edges: Array) -> str:
    """Say so if people were accepted more or less often than their propensities tell, in any score band."""
    band = np.searchsorted(edges, cases.scores, side="right")
    size = len(edges) + 1
    expected = np.bincount(band, cases.propensities, minlength=size)
    spread = np.bincount(band, cases.propensities * (1.0 - cases.propensities), minlength=size)
    taken = np.bincount(band[cases.accepted], minlength=size)
    beyond = np.abs(taken - expected) - 0.5
    off: NDArray[Any] = np.divide(beyond, np.sqrt(spread), out=np.zeros(size), where=spread >= 9.0)
    worst = int(off.argmax())
    if off[worst] <= -float(ndtri(MISFIT / (2.0 * size))):
        return ""
    return (
        f"Propensities do not fit the decisions: in one of {size} score bands they let expect {expected[worst]:.0f} "
        f"acceptances, and there were {taken[worst]}. Values below rest on propensities that are right."
    )
