r"""Drift: whether later people differ from those of an advice, in scores, acceptance, calibration and missing labels.

Each group is compared by four tests of no change, all on counts: χ² of homogeneity of the scores over up to ten bins,
Fisher's exact test of acceptance at the advised threshold and of missing labels. Calibration is compared bin by bin:
given how many labels of a bin are good, those of later people among them are hypergeometric if nothing has changed. The
exact distribution of their sum gives a p-value for each score band, and Fisher's method, −2 Σ log p against χ², one for
all bands: it holds however rare one of the labels is. Beside scores and calibration stands the band that moved most, if
by Fisher's exact test, or that of its labels, and Bonferroni's correction for all bands it did.

The population stability index, PSI = Σ (new share − old share) · log(new share / old share), says how much scores have
moved. By chance alone it is about (bins − 1) (1/n + 1/m) for n old and m new people, which is said beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

REACH = 40.0
"""Standard deviations on either side within which outcomes are added up: beyond, no float is as small."""

MANY = 5000
"""Variance of the good labels of a band from which a normal one is as good as the exact one, to a part in 50."""

SEEN = 0.05
"""Probability, for all bands together, up to which the band that moved most is told."""

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
    band: str = ""  # scores that moved most, as they read in the table; empty if none can be told
    band_then: float | None = None  # their share of the people, or of good labels among theirs
    band_now: float | None = None
    bins: tuple[int, int] | None = None  # the first bin of the band, and the one after its last


TESTS = 4
"""Tests of a group, those of labels included."""


def compare(
    group: str,
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    at: int,
    labelled: bool,
    *,
    cuts: Array,
    descending: bool = False,
) -> list[Drift]:
    """Compare people by score bin and label, (bins, 3), the advised threshold being the beginning of bin `at`.

    Bins begin at `cuts`, the higher the better. The best scores are in the last bin; if `descending`, these are the
    lowest of the table, and what is above the old median in the table lies in the bins before it.
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
    if descending and (band := found[0].bins):
        found[0] = replace(found[0], bins=(len(before) - band[1], len(before) - band[0]))
    return [replace(each, band=_range(cuts, each.bins, descending)) for each in found]


def _range(cuts: Array, bins: tuple[int, int] | None, descending: bool) -> str:
    """Write the scores of a band as they read in the table; people beyond all that were seen are in the outer bins."""
    if bins is None:
        return ""
    sign = -1.0 if descending else 1.0
    low = f"{sign * cuts[bins[0]]:.6g}" if bins[0] > 0 else ""
    high = f"{sign * cuts[bins[1]]:.6g}" if bins[1] < len(cuts) else ""
    if not low or not high:
        over, below = ("above", "up to") if descending else ("below", "from")
        return f"{over} {high}" if high else f"{below} {low}" if low else ""
    return f"above {high} up to {low}" if descending else f"from {low} to below {high}"


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
    each = [exact(was, total, now, people) for was, now in zip(before, after, strict=True)]
    most, ends = int(np.argmin(each)), [*starts.tolist(), len(old)]
    told = len(each) * each[most] < SEEN
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
        band_then=float(before[most] / total) if told else None,
        band_now=float(after[most] / people) if told else None,
        bins=(ends[most], ends[most + 1]) if told else None,
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
    bands = list(zip(starts.tolist(), [*starts[1:].tolist(), len(known)], strict=True))
    each = [max(_stratified(old[begin:end], new[begin:end]), 1e-300) for begin, end in bands]
    p_value = float(chdtrc(2 * len(each), -2.0 * np.log(each).sum()))
    change = now - then
    found = Drift("calibration", group, then, now, change, change - half, change + half, p_value, people=people)
    most = int(np.argmin(each))
    if len(each) * each[most] >= SEEN:
        return found
    begin, end = bands[most]
    came, place = later[begin:end].sum(), np.flatnonzero(both)
    return replace(
        found,
        band_then=float(expected[begin:end].sum() / came),
        band_now=float(new[begin:end, 1].sum() / came),
        bins=(int(place[begin]), int(place[end - 1]) + 1),
    )


def _stratified(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the p-value of no change in any bin, of people by label (bins, 2): exact, or normal for very many."""
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
        first, more = _hypergeometric(size, came, positive)
        chances, least = np.convolve(chances, more), least + first
    return _as_rare(chances, int(hits - least))


def _as_rare(chances: Array, place: int) -> float:
    """Return the probability of all outcomes that are as rare as this one, whose rounding is no difference."""
    if not 0 <= place < len(chances):
        return 0.0
    return min(float(chances[chances <= chances[place] * (1.0 + 1e-7)].sum() / chances.sum()), 1.0)


def _hypergeometric(people: float, drawn: float, good: float) -> tuple[float, Array]:
    """Return the least number of good that can be among so many drawn, and the probabilities of it and those after.

    Numbers that are further than `REACH` standard deviations from the mean are left out.
    """
    mean = drawn * good / people
    spread = mean * (people - good) / people * (people - drawn) / max(people - 1.0, 1.0)
    reach = REACH * np.sqrt(spread) + 1.0
    least = max(0.0, drawn + good - people, float(np.floor(mean - reach)))
    hits = np.arange(least, min(drawn, good, float(np.ceil(mean + reach))) + 1.0)

    def ways(many: Array | float, some: Array | float) -> Array:
        return np.asarray(gammaln(many + 1.0) - gammaln(some + 1.0) - gammaln(many - some + 1.0))

    return least, np.exp(ways(good, hits) + ways(people - good, drawn - hits) - ways(people, drawn))


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


def homogeneous(table: NDArray[Any]) -> float:
    """Return the p-value of the χ² test that both rows have the same shares."""
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def exact(hits: float, people: float, new_hits: float, new: float) -> float:
    """Return the p-value of Fisher's exact test, two-sided, for any number of people.

    >>> round(exact(90, 100, 30, 42), 6), round(exact(90_000, 200_000, 90_800, 200_000), 6)
    (0.009615, 0.011136)
    """
    was, of, now, came = (float(np.round(each)) for each in (hits, people, new_hits, new))
    if of + came == 0.0:
        return 1.0
    least, chances = _hypergeometric(of + came, came, was + now)
    return _as_rare(chances, int(now - least))
