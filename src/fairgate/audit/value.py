r"""Value: what other thresholds would have earned, where a lottery gave everybody's probability of acceptance.

With score s, decision d, reward r of an acceptance, its probability e and an outcome model m, the value of accepting
everybody with s ≥ t is the mean of

.. math:: 1\{s \ge t\}\, \frac{d}{e}\, r \quad \text{(IPS [1]_)} \qquad \text{and} \qquad
          1\{s \ge t\} \Big(m + \frac{d}{e} (r - m)\Big) \quad \text{(doubly robust [2]_)},

both unbiased if e is right. The model is the reward by score band and group, fitted on four fifths of the rows for the
last fifth in turn (cross-fitting). Intervals are for one look at all rows: Student's, with (Σ φ²)² / Σ φ⁴ degrees of
freedom for the terms φ with d/e alone, few where a few outcomes of small e weigh most. Where labels of accepted people
are missing, d is 1 if the label is seen, and e is multiplied by the share seen (:mod:`fairgate.audit.shares`).

Where e is 0 nobody's outcome is ever seen, and the value of a threshold that accepts people there is not identified: it
is then only bounded, by supposing that all of them would turn out bad, or good. So it is where labels are too few to
tell the share seen, and where outcomes of the lottery are too few for an interval: those of people whom it may have
accepted are bounded then. Outcomes of different weights w = 1/e count as (Σ w)² / Σ w².

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

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from fairgate.audit.reading import Cases
from fairgate.audit.shares import LabelShares, label_shares
from fairgate.estimates import Estimate
from fairgate.people.labels import tail
from fairgate.settings import Array

FOLDS = 5
STEPS = 20
"""Steps of the thresholds that are looked at, and most score bands of the outcome model."""

OUTCOMES = 50
"""Outcomes per cell that the model has bands for: with fewer it would add more noise than it takes away."""

ENOUGH, EITHER = 30, 10
"""Fewest outcomes of the lottery that an interval is made of, and fewest of either label among them."""

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
    ips: Estimate | None  # None if not identified, or if outcomes are too few
    doubly_robust: Estimate | None
    gain: Estimate | None  # doubly robust, over the decisions that were made
    low: float  # bounds of the value: those of the interval if identified
    high: float
    dark: Dark | None
    few: int | None = None  # outcomes of the lottery above the threshold, if too few


@dataclass(frozen=True)
class Value:
    """What the decisions made earned per person, and what other thresholds would have."""

    made: Estimate  # with bounds of what the `blank` may have earned
    thresholds: list[Worth]
    smallest: float  # propensity above 0
    lottery: int  # people whose propensity was neither 0 nor 1
    unlabelled: int  # accepted people without a label
    blank: int  # of these, those for whom nobody can stand
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
    seen = int((cases.accepted & (cases.labels < 2) & (cases.propensities < 1.0)).sum())  # where the model matters
    edges = _even(cases.scores, int(np.clip(seen // (OUTCOMES * groups), 1, STEPS)))
    cuts = sign * np.asarray(thresholds, dtype=np.float64) if len(thresholds) else _even(cases.scores, STEPS)
    cuts = np.unique(cuts)
    parts = _Parts(cases, edges, cuts, groups, cost, benefit)
    sums = _add_up(parts)
    count = len(cases.scores)

    def estimate(total: float, squares: float, freedom: float) -> Estimate:
        mean, reach = float(total) / count, float(stdtrit(max(freedom, 1.0), 0.5 + level / 2.0))
        half = reach * math.sqrt(max(float(squares) / count - mean**2, 0.0) / max(count - 1, 1))
        return Estimate(mean, mean - half, mean + half)

    def worth(k: int) -> Worth:
        hidden, few = int(sums.dark[k]), _too_few(sums, k)
        freedom = _freedom(sums.noise2[k], sums.noise4[k])
        robust = estimate(sums.robust[k], sums.robust2[k], freedom)
        known, unknown = (robust, hidden) if few is None else (estimate(sums.sure[k], sums.sure2[k], count), hidden)
        unknown += 0 if few is None else int(sums.lottery[k])
        identified = hidden == 0 and few is None
        ips = estimate(sums.ips[k], sums.ips2[k], _freedom(sums.ips2[k], sums.ips4[k]))
        gain = estimate(sums.robust[k] - sums.made, sums.robust2[k] - 2.0 * sums.cross[k] + sums.made2, freedom)
        ends = sorted((sign * float(sums.lowest[k]), sign * float(sums.highest[k])))
        return Worth(
            threshold=sign * float(cuts[k]) + 0.0,
            acceptance=float(sums.taken[k].sum() / count),
            rates=(sums.taken[k] / np.maximum(sums.people, 1)).tolist(),
            ips=ips if identified else None,
            doubly_robust=robust if identified else None,
            gain=gain if identified and not sums.blank else None,
            low=known.low - cost * unknown / count,
            high=known.high + benefit * unknown / count,
            dark=Dark(hidden, *ends) if hidden else None,
            few=few,
        )

    made = estimate(sums.made, sums.made2, _freedom(sums.made2, sums.made4))
    made = Estimate(made.value, made.low - cost * sums.blank / count, made.high + benefit * sums.blank / count)
    chances = cases.propensities
    return Value(
        made=made,
        thresholds=sorted(map(worth, range(len(cuts))), key=lambda each: each.threshold),
        smallest=min(float(chances.min(initial=np.inf, where=chances > 0.0)), 1.0),
        lottery=int(((chances > 0.0) & (chances < 1.0)).sum()),
        unlabelled=int((cases.accepted & (cases.labels == 2)).sum()),
        blank=sums.blank,
        misfit=_misfit(cases, _even(cases.scores, STEPS)),
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the rows that each threshold accepts, (K,), and over all."""

    ips: Array
    ips2: Array
    ips4: Array
    robust: Array
    robust2: Array
    noise2: Array  # of the terms of the doubly robust value with d/e
    noise4: Array
    sure: Array  # doubly robust, of people who were sure to be accepted
    sure2: Array
    cross: Array  # doubly robust times what was earned
    dark: Array
    lottery: Array  # people who may have been accepted, but not for sure
    bad: Array  # weights of outcomes of the lottery, and their squares
    bad2: Array
    good: Array
    good2: Array
    lowest: Array  # scores of people in the dark
    highest: Array
    taken: Array  # people by group, (K, G)
    people: Array  # (G,)
    made: float
    made2: float
    made4: float
    blank: int  # accepted people without a label, for whom nobody can stand


def _add_up(parts: _Parts) -> _Sums:
    """Go through the rows once, after the model has been fitted."""
    cases, groups, steps = parts.cases, parts.groups, len(parts.cuts) + 1
    shares = label_shares(cases, groups)
    model = parts.model(shares)
    sums: dict[str, Array] = {}
    taken = np.zeros((steps, groups))
    lowest, highest = np.full(steps, np.inf), np.full(steps, -np.inf)
    made = made2 = made4 = 0.0
    blank = 0
    for part in parts:
        chance, share = cases.propensities[part.rows], shares.of(cases, part.rows)
        hidden, accepted = (chance == 0.0) | np.isnan(share), cases.accepted[part.rows]
        blank += int((accepted & ~part.seen & np.isnan(share)).sum())
        share = np.nan_to_num(share, nan=1.0)
        weight = np.divide(1.0, chance * share, out=np.zeros(len(chance)), where=part.seen & ~hidden)
        earned = np.divide(part.reward, share, out=np.zeros(len(chance)), where=part.seen)
        expected = np.where(hidden, 0.0, model[part.fold, part.cell])
        noise = weight * (part.reward - expected)
        ips, robust = weight * part.reward, expected + noise
        sure = np.where(chance < 1.0, 0.0, robust)
        lottery = (chance < 1.0) & ~hidden
        bad, good = (np.where(lottery & (cases.labels[part.rows] == label), weight, 0.0) for label in (0, 1))
        added = {"ips": ips, "ips2": ips**2, "ips4": ips**4, "robust": robust, "robust2": robust**2}
        added |= {"noise2": noise**2, "noise4": noise**4, "sure": sure, "sure2": sure**2, "cross": robust * earned}
        added |= {"dark": hidden, "lottery": lottery, "bad": bad, "bad2": bad**2, "good": good, "good2": good**2}
        for name, values in added.items():
            sums.setdefault(name, np.zeros(steps))
            sums[name] += np.bincount(part.step, values, minlength=steps)
        made, made2 = made + float(earned.sum()), made2 + float((earned**2).sum())
        made4 += float((earned**4).sum())
        flat = part.step * groups + cases.groups[part.rows]
        taken += np.bincount(flat, minlength=taken.size).reshape(taken.shape)
        np.minimum.at(lowest, part.step[hidden], cases.scores[part.rows][hidden])
        np.maximum.at(highest, part.step[hidden], cases.scores[part.rows][hidden])
    return _Sums(
        **{name: tail(values, axis=0)[1:] for name, values in sums.items()},
        lowest=np.minimum.accumulate(lowest[::-1])[::-1][1:],
        highest=np.maximum.accumulate(highest[::-1])[::-1][1:],
        taken=tail(taken, axis=0)[1:],
        people=taken.sum(axis=0),
        made=made,
        made2=made2,
        made4=made4,
        blank=blank,
    )


def _too_few(sums: _Sums, k: int) -> int | None:
    """Return how many outcomes of the lottery there are above a threshold, weighed, if too few for an interval."""
    if not sums.lottery[k]:
        return None
    bad, good = _effective(sums.bad[k], sums.bad2[k]), _effective(sums.good[k], sums.good2[k])
    every = _effective(sums.bad[k] + sums.good[k], sums.bad2[k] + sums.good2[k])
    return int(every) if every < ENOUGH or min(bad, good) < EITHER else None


def _effective(weights: float, squares: float) -> float:
    return float(weights**2 / squares) * (1.0 + 1e-9) if squares > 0.0 else 0.0


class _Parts:
    """The rows, some at a time, and what is fitted to them."""

    def __init__(self, cases: Cases, edges: Array, cuts: Array, groups: int, cost: float, benefit: float) -> None:
        self.cases, self.edges, self.cuts, self.groups = cases, edges, cuts, groups
        self.rewards = np.array([-cost, benefit, 0.0])
        self.size = (len(edges) + 1) * groups  # cells of the model

    def __iter__(self) -> Iterator[_Part]:
        cases = self.cases
        for rows in _chunks(len(cases.scores)):
            scores, labels = cases.scores[rows], cases.labels[rows]
            yield _Part(
                rows=rows,
                step=np.searchsorted(self.cuts, scores, side="right"),
                cell=np.searchsorted(self.edges, scores, side="right") * self.groups + cases.groups[rows],
                fold=np.arange(rows.start, rows.stop) % FOLDS,
                seen=cases.accepted[rows] & (labels < 2),
                reward=self.rewards[labels],
            )

    def model(self, shares: LabelShares) -> Array:
        """Return the mean reward of each cell, fitted without each fold, (folds, cells).

        A cell without any outcome takes its group's mean, else everybody's.
        """
        size = self.size
        weights, totals = np.zeros((2, FOLDS, size))
        for part in self:
            share = shares.of(self.cases, part.rows)
            seen = part.seen & (self.cases.propensities[part.rows] > 0.0) & ~np.isnan(share)
            flat = part.fold[seen] * size + part.cell[seen]
            inverse = 1.0 / (self.cases.propensities[part.rows][seen] * share[seen])
            weights += np.bincount(flat, inverse, minlength=FOLDS * size).reshape(FOLDS, size)
            totals += np.bincount(flat, inverse * part.reward[seen], minlength=FOLDS * size).reshape(FOLDS, size)
        weight, total = weights.sum(axis=0) - weights, totals.sum(axis=0) - totals
        by_group = [each.reshape(FOLDS, -1, self.groups).sum(axis=1) for each in (weight, total)]
        everybody = _ratio(total.sum(axis=1), weight.sum(axis=1), np.zeros(FOLDS))
        group = _ratio(by_group[1], by_group[0], np.repeat(everybody[:, None], self.groups, axis=1))
        return _ratio(total, weight, np.tile(group, (1, size // self.groups)))


def _freedom(squares: float, fourths: float) -> float:
    return squares**2 / fourths if fourths > 0.0 else 1.0


def _even(scores: Array, parts: int) -> Array:
    """Return the scores that part people, some of them if there are very many, into so many even parts."""
    some = scores[:: 1 + len(scores) // CHUNK]
    return np.unique(np.quantile(some, np.arange(1, parts) / parts, method="higher"))


def _ratio(total: Array, weight: Array, otherwise: Array) -> Array:
    """Divide where there is anything but what is left of rounding."""
    return np.asarray(np.divide(total, weight, out=otherwise.copy(), where=weight > 1e-6))


def _misfit(cases: Cases, edges: Array) -> str:
    """Say so if people were accepted more or less often than their propensities tell, in any score band."""
    size = len(edges) + 1
    expected, spread, taken = np.zeros((3, size))
    for rows in _chunks(len(cases.scores)):
        band, chance = np.searchsorted(edges, cases.scores[rows], side="right"), cases.propensities[rows]
        expected += np.bincount(band, chance, minlength=size)
        spread += np.bincount(band, chance * (1.0 - chance), minlength=size)
        taken += np.bincount(band, cases.accepted[rows], minlength=size)
    beyond = np.abs(taken - expected) - 0.5
    off = np.divide(beyond, np.sqrt(spread), out=np.zeros(size), where=spread >= 9.0)
    worst = int(off.argmax())
    if off[worst] <= -float(ndtri(MISFIT / (2.0 * size))):
        return ""
    return (
        f"Propensities do not fit the decisions: in one of {size} score bands they let expect {expected[worst]:.0f} "
        f"acceptances, and there were {taken[worst]:.0f}. Values below rest on propensities that are right."
    )


def _chunks(count: int) -> Iterator[slice]:
    for begin in range(0, count, CHUNK):
        yield slice(begin, min(begin + CHUNK, count))
