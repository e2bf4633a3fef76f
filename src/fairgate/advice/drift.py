r"""Drift: whether later people differ from those of an advice, in scores, acceptance, calibration and missing labels.

Each group is compared by four tests of no change, all on counts: χ² of homogeneity of the scores over up to ten bins,
Fisher's exact test (χ² with Yates's correction for many people) of acceptance at the advised threshold and of missing
labels. Calibration is compared bin by bin: given how many labels of a bin are good, those of later people among them
are hypergeometric if nothing has changed. The exact distribution of their sum gives a p-value for each score band, and
Fisher's method, −2 Σ log p against χ², one for all bands: it holds however rare one of the labels is.

The population stability index, PSI = Σ (new share − old share) · log(new share / old share), says how much scores have
moved. By chance alone it is about (bins − 1) (1/n + 1/m) for n old and m new people, which is said beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln

from fairgate.estimates import quantile_of, wilson
from fairgate.settings import Array

BINS = 10
"""Bins in which scores are compared."""

BANDS = 5
"""Score bands in which shares of good labels are compared."""

FEWEST = 10
"""Fewest old and new people of a bin or band that are compared."""

MANY = 50
"""People expected in every cell of a table from which χ² is as good as the exact test."""

LARGE, MODERATE = 0.25, 0.1
"""PSI from which scores have moved much, or somewhat: a rule of thumb of credit scoring."""


@dataclass(frozen=True)
class Drift:
    """One comparison of later people of a group with those of the advice."""

    kind: str  # "scores", "acceptance", "calibration" or "missing labels"
    group: str
    then: float | None  # shares; of scores the share above the old median
    now: float | None
    change: float | None
    low: float | None  # 95% interval of the change, for one look
    high: float | None
    p_value: float | None  # None if there are too few people to tell
    psi: float | None = None
    by_chance: float | None = None  # what the PSI would be by chance alone
    people: int = 0  # later people compared
    called: str = ""  # the group in words


TESTS = 4
"""Tests of a group, those of labels included."""


def compare(
    group: str,
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    at: int,
    labelled: bool,
    *,
    descending: bool = False,
) -> list[Drift]:
    """Compare people by score bin and label, (bins, 3), the advised threshold being the beginning of bin `at`.

    The best scores are in the last bin; if `descending`, these are the lowest of the table, and what is above the old
    median in the table lies in the bins before it.
    """
    before, after = old.sum(axis=1), new.sum(axis=1)
    order = slice(None, None, -1 if descending else 1)
    found = [
        scores_moved(group, before[order], after[order]),
        rates_moved("acceptance", group, before[at:].sum(), before.sum(), after[at:].sum(), after.sum()),
    ]
    if labelled:
        found.append(calibration_moved(group, old, new))
        found.append(rates_moved("missing labels", group, old[:, 2].sum(), before.sum(), new[:, 2].sum(), after.sum()))
    return found


def scores_moved(group: str, old: Array, new: Array) -> Drift:
    """Compare the scores of a group, counted in the same bins, from the lowest score of the table to the highest."""
    starts = joined(old, new, BINS)
    before, after = (np.add.reduceat(each, starts) for each in (old, new))
    people, total = float(after.sum()), float(before.sum())
    if len(starts) < 2 or min(people, total) < 2 * FEWEST:
        return Drift("scores", group, None, None, None, None, None, None, people=int(people))
    one, other = (each + 0.5 for each in (before, after))
    p, q = one / one.sum(), other / other.sum()
    psi = float(((q - p) * np.log(q / p)).sum())
    middle = int(np.searchsorted(old.cumsum(), old.sum() / 2.0, side="right"))
    moved = rates_moved("scores", group, old[middle:].sum(), old.sum(), new[middle:].sum(), new.sum())
    return Drift(
        "scores",
        group,
        moved.then,
        moved.now,
        moved.change,
        moved.low,
        moved.high,
        homogeneous(np.stack((before, after))),
        psi,
        (len(starts) - 1) * (1.0 / total + 1.0 / people),
        int(people),
    )


def rates_moved(kind: str, group: str, hits: float, old: float, new_hits: float, new: float) -> Drift:
    """Compare two shares, with Newcombe's interval of their difference."""
    if min(old, new) < FEWEST:
        return Drift(kind, group, None, None, None, None, None, None, people=int(new))
    then, now = float(hits / old), float(new_hits / new)
    (low, other_low), (high, other_high) = wilson([hits, new_hits], [old, new])
    change = now - then
    down = float(np.hypot(now - other_low, high - then))
    up = float(np.hypot(other_high - now, then - low))
    return Drift(
        kind, group, then, now, change, change - down, change + up, exact(hits, old, new_hits, new), people=int(new)
    )


def calibration_moved(group: str, old: NDArray[np.float64], new: NDArray[np.float64]) -> Drift:
    """Compare shares of good labels at the same scores; `then` is the share expected from the scores of new people.

    Only bins in which some label is known of both old and new people are compared: where nobody was accepted in the
    meantime, nothing is known.
    """
    both = (old[:, :2].sum(axis=1) > 0) & (new[:, :2].sum(axis=1) > 0)
    old, new = old[both, :2], new[both, :2]
    known, later = old.sum(axis=1), new.sum(axis=1)
    people = int(later.sum())
    if min(known.sum(), people) < 2 * FEWEST:
        return Drift("calibration", group, None, None, None, None, None, None, people=people)
    starts = joined(known, later, BANDS)
    expected = later * old[:, 1] / known
    share = np.add.reduceat(old[:, 1] + new[:, 1], starts) / np.add.reduceat(known + later, starts)
    spread = np.repeat(share * (1.0 - share), np.diff(starts, append=len(known))) * (later + later**2 / known)
    then, now = float(expected.sum() / people), float(new[:, 1].sum() / people)
    half = quantile_of() * float(np.sqrt(spread.sum())) / people
    bands = zip(starts, [*starts[1:], len(known)], strict=True)
    logs = [np.log(max(_stratified(old[begin:end], new[begin:end]), 1e-300)) for begin, end in bands]
    p_value = float(chdtrc(2 * len(logs), -2.0 * sum(logs)))
    change = now - then
    return Drift("calibration", group, then, now, change, change - half, change + half, p_value, people=people)


def _stratified(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the p-value of no change in any bin, of people by label (bins, 2): exact, or by χ² for many people."""
    before, after = old.round(), new.round()
    people, later, good = (before + after).sum(axis=1), after.sum(axis=1), before[:, 1] + after[:, 1]
    some = people > 1
    people, later, good = people[some], later[some], good[some]
    expected = later * good / people
    variance = expected * (people - good) / people * (people - later) / (people - 1.0)
    hits, mean, spread = float(after[some, 1].sum()), float(expected.sum()), float(variance.sum())
    if spread == 0.0:
        return 1.0
    if spread > MANY:
        return float(chdtrc(1, max(abs(hits - mean) - 0.5, 0.0) ** 2 / spread))
    chances, least = np.ones(1), 0.0
    for size, came, positive in zip(people, later, good, strict=True):
        least += max(0.0, came + positive - size)
        chances = np.convolve(chances, _hypergeometric(size, came, positive))
    seen = chances[int(hits - least)] * (1.0 + 1e-7)
    return min(float(chances[chances <= seen].sum()), 1.0)


def _hypergeometric(people: float, drawn: float, good: float) -> Array:
    """Return the probabilities of the numbers of good that can be among so many drawn."""
    hits = np.arange(max(0.0, drawn + good - people), min(drawn, good) + 1.0)

    def ways(many: Array | float, some: Array | float) -> Array:
        return np.asarray(gammaln(many + 1.0) - gammaln(some + 1.0) - gammaln(many - some + 1.0))

    return np.exp(ways(good, hits) + ways(people - good, drawn - hits) - ways(people, drawn))


def joined(old: Array, new: Array, most: int) -> NDArray[np.int64]:
    """Join neighbouring bins into at most so many of about as many old people, each with enough to be compared.

    Enough are so many that, if nothing has changed, ten of either kind can be expected.
    """
    share = (old.cumsum() - old) * most / max(old.sum(), 1.0)
    starts = np.flatnonzero(np.diff(share.astype(np.int64), prepend=-1))
    everybody = old + new
    least = FEWEST * everybody.sum() / max(min(old.sum(), new.sum()), 1e-9)
    kept = [0]
    for place in starts[1:]:
        if everybody[kept[-1] : place].sum() >= least and everybody[place:].sum() >= least:
            kept.append(int(place))
    return np.array(kept)


def homogeneous(table: NDArray[Any], correction: float = 0.0) -> float:
    """Return the p-value of the χ² test that both rows have the same shares; Yates's correction is 0.5."""
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    off = np.maximum(np.abs(table - expected) - correction, 0.0)
    return float(chdtrc(table.shape[1] - 1, (off**2 / expected).sum()))


def exact(hits: float, people: float, new_hits: float, new: float) -> float:
    """Return the p-value of Fisher's exact test, or of χ² with Yates's correction where all numbers are large."""
    table = np.array([[hits, people - hits], [new_hits, new - new_hits]]).round()
    if not table.sum(axis=0).all():
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    if expected.min() > MANY:
        return homogeneous(table, correction=0.5)
    from scipy.stats import fisher_exact  # takes half a second to import

    return float(fisher_exact(table.astype(np.int64)).pvalue)
