"""By group: what one threshold does to each group, with 95% intervals, and how well the score tells labels there.

References
----------
.. [1] A. Donner and G. Y. Zou. Closed-form confidence intervals for functions of the normal mean and standard
   deviation. Statistical Methods in Medical Research, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.constraints.bounds import label_gaps
from fairgate.estimates import wilson
from fairgate.people.applicants import Applicants
from fairgate.settings import Array

BANDS = 10
"""Bands of similar scores, of about as many people each."""

BARS = 24
"""Bars of a histogram; fewer different scores have a bar each."""


@dataclass(frozen=True)
class Rate:
    """A share, the ends of its 95% interval, and of how many people it is; None where there is nobody."""

    value: float | None
    low: float | None
    high: float | None
    of: float

    @classmethod
    def at(cls, hits: float, of: float) -> Rate:
        """Return hits / of with Wilson's interval."""
        if of <= 0:
            return cls(None, None, None, 0.0)
        low, high = wilson(hits, of)
        return cls(float(hits / of), float(low), float(high), float(of))


@dataclass(frozen=True)
class Ratio:
    """A group's acceptance rate over the reference group's; no upper end where the latter may be 0."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Confusion:
    """People by decision and known label, and those whose label is missing."""

    accepted_good: float
    accepted_bad: float
    accepted_missing: float
    rejected_good: float
    rejected_bad: float
    rejected_missing: float


@dataclass(frozen=True)
class GroupFigures:
    """What a rule does to one group. TPR, FPR and precision go by known labels.

    Where labels are known of the accepted far more often than of the rejected, or the other way round, TPR and FPR are
    None: among people with a label they would be near 100%, whatever the rule does.

    Counts are of the people the table stands for; what a rate is `of` is the number its interval goes by.
    """

    name: str
    called: str  # such as "sex = f"
    people: float
    accepted: float
    acceptance: Rate
    ratio: Ratio
    missing: float  # labels that are missing
    tpr: Rate | None = None  # share accepted of those with a good label; None where labels cannot tell
    fpr: Rate | None = None  # of those with a bad one
    precision: Rate | None = None  # share of good labels among those accepted
    confusion: Confusion | None = None


@dataclass(frozen=True)
class Rule:
    """A rule, and its figures by group."""

    key: str  # "recommended" or "current"
    title: str
    reference: str  # group the ratios are to
    groups: list[GroupFigures]
    note: str = ""  # why true and false positive rates are left out, where they are


@dataclass(frozen=True)
class Band:
    """Neighbouring scores, and the share of good labels among the people of each group there (bad ones if descending).

    `predicted` is the mean score, where scores are probabilities.
    """

    low: float  # lowest and highest score, as they read in the table
    high: float
    people: list[float]
    predicted: list[float | None] | None
    observed: list[Rate]


@dataclass(frozen=True)
class ByGroup:
    """What rules do to each group, and what the score is like there."""

    rules: list[Rule]
    bands: list[Band]
    observed: str  # the label whose share the bands have
    edges: list[float]  # of the bars, as they read in the table
    bars: list[list[float]]  # share of each group, (G, bars)
    beyond: float  # share of everybody outside the bars


def by_group(applicants: Applicants, cut: float, rule: str, current: float | None = None) -> ByGroup:
    """Look at each group under the recommended `cut`, and under the decisions made or the threshold in use.

    Cuts are scores as the applicants have them, so that higher is better; the threshold in use, `current`, is as it
    reads in the table.

    >>> import pyarrow as pa
    >>> import fairgate as fg
    >>> table = pa.table({"score": [1, 2, 3, 4], "label": [0, 1, 0, 1], "group": ["a", "b", "a", "b"]})
    >>> people = fg.from_frame(table, score="score", label="label", group="group")
    >>> found = by_group(people, 2.0, "score ≥ 2")
    >>> [each.acceptance.value for each in found.rules[0].groups]
    [0.5, 1.0]
    >>> [each.called for each in found.rules[0].groups], found.rules[0].reference
    (['group = a', 'group = b'], 'a')
    """
    rules = [at_cut(applicants, cut, "recommended", rule)]
    if applicants.decisions is not None:
        rules.append(decided(applicants, applicants.decisions))
    if current is not None:
        in_use = f"{applicants.columns.score} {applicants.sign} {current:g}"
        key = "in-use" if applicants.decisions is not None else "current"
        rules.append(at_cut(applicants, float(applicants.shown(current)), key, f"{in_use}, in use"))
    edges, bars, beyond = histogram(applicants)
    return ByGroup(
        rules, bands(applicants), applicants.bad if applicants.descending else applicants.good, edges, bars, beyond
    )


def at_cut(applicants: Applicants, cut: float, key: str, title: str) -> Rule:
    """Return the figures by group where people with at least this score are accepted."""
    place = int(np.searchsorted(applicants.cuts, cut))
    accepted = applicants.counts[:, place:].sum(axis=1)  # (G, 3): bad, good, missing
    rejected = applicants.counts[:, :place].sum(axis=1)
    reference, ratios = ratios_of(accepted.sum(axis=1), applicants.sizes)
    scale = applicants.total / float(applicants.counts.sum())
    groups = []
    for name, taken, left, ratio in zip(applicants.groups, accepted, rejected, ratios, strict=True):
        (bad, good, unknown), (kept_bad, kept_good, kept_unknown) = taken.tolist(), left.tolist()
        hits, people = float(taken.sum()), float(taken.sum() + left.sum())
        six = (good, bad, unknown, kept_good, kept_bad, kept_unknown)
        uneven = unevenly_labelled(left, taken)
        groups.append(
            GroupFigures(
                name=name,
                called=applicants.called(name),
                people=scale * people,
                accepted=scale * hits,
                acceptance=Rate.at(hits, people),
                ratio=ratio,
                missing=scale * (unknown + kept_unknown),
                tpr=None if uneven else Rate.at(good, good + kept_good),
                fpr=None if uneven else Rate.at(bad, bad + kept_bad),
                precision=Rate.at(good, good + bad),
                confusion=Confusion(*(scale * each for each in six)),
            )
        )
    note = ""
    if any(each.tpr is None for each in groups):
        reason = label_gaps(np.stack((rejected, accepted), axis=-1))[0]
        note = f"With {title}, true and false positive rates (–) cannot be told. {reason}"
    return Rule(key, title, applicants.groups[reference], groups, note)


def unevenly_labelled(rejected: NDArray[Any], accepted: NDArray[Any]) -> bool:
    """Say whether labels of a group, (3,) each, are known much more often on one side of the threshold.

    >>> some = np.array([2, 8, 0])
    >>> unevenly_labelled(np.array([0, 0, 10]), some), unevenly_labelled(np.zeros(3), some)
    (True, False)
    """
    return bool(rejected.any() and accepted.any() and label_gaps(np.stack((rejected, accepted), axis=-1)[None])[0])


def decided(applicants: Applicants, decisions: NDArray[Any]) -> Rule:
    """Return what past decisions say: acceptance alone, since they may have gone by more than the score."""
    scale = applicants.total / float(applicants.counts.sum())
    rejected, accepted = np.moveaxis(decisions.sum(axis=1), -1, 0)
    reference, ratios = ratios_of(accepted, rejected + accepted)
    groups = []
    for place, name in enumerate(applicants.groups):
        hits, size = float(accepted[place]), float(rejected[place] + accepted[place])
        groups.append(
            GroupFigures(
                name=name,
                called=applicants.called(name),
                people=scale * size,
                accepted=scale * hits,
                acceptance=Rate.at(hits, size),
                ratio=ratios[place],
                missing=scale * float(applicants.counts[place, :, 2].sum()),
            )
        )
    return Rule("current", "the decisions made", applicants.groups[reference], groups)


def ratios_of(accepted: NDArray[Any], people: NDArray[Any]) -> tuple[int, list[Ratio]]:
    r"""Return the largest group and each group's acceptance rate over its, with intervals.

    They are those of Donner and Zou [1]_, made of Wilson's intervals (l, u) of both rates: the lower end L solves

    .. math:: p - L p_0 = \sqrt{(p - l)^2 + L^2 (u_0 - p_0)^2}

    and the upper end the same with the other ends. The reference group's own is 1.
    """
    reference = int(np.argmax(people))
    rate = accepted / np.maximum(people, 1e-300)
    low, high = wilson(accepted, people)
    p0, l0, u0 = rate[reference], low[reference], high[reference]
    found = []
    for place, (p, least, most) in enumerate(zip(rate, low, high, strict=True)):
        if place == reference:
            found.append(Ratio(1.0, 1.0, 1.0) if p0 > 0.0 else Ratio(None, None, None))
            continue
        below, above = least * (2.0 * p - least), most * (2.0 * p - most)
        root = np.sqrt(max((p * p0) ** 2 - u0 * (2.0 * p0 - u0) * below, 0.0))
        low_end = float(below / (p * p0 + root)) if p * p0 + root > 0.0 else 0.0
        room = l0 * (2.0 * p0 - l0)
        root = np.sqrt(max((p * p0) ** 2 - room * above, 0.0))
        high_end = float((p * p0 + root) / room) if room > 0.0 else None
        found.append(Ratio(float(p / p0) if p0 > 0.0 else None, low_end, high_end))
    return reference, found


def bands(applicants: Applicants) -> list[Band]:
    """Return bands of similar scores from the lowest up as they read in the table, of about as many people each."""
    starts = applicants.starts(BANDS)
    counts = np.add.reduceat(applicants.counts, starts, axis=1)
    middle = np.asarray(applicants.shown((applicants.cuts + applicants.tops) / 2.0))
    likely = bool(middle.min() >= 0.0 and middle.max() <= 1.0)
    weight = applicants.counts.sum(axis=2)
    total = np.add.reduceat(weight * middle, starts, axis=1)
    ends = [*starts[1:].tolist(), len(applicants.cuts)]
    label, found = int(not applicants.descending), []
    for number, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
        here = counts[:, number]
        people = here.sum(axis=1).tolist()
        means = [float(t / n) if n else None for t, n in zip(total[:, number], people, strict=True)]
        low, high = sorted(float(applicants.shown(each)) for each in (applicants.cuts[start], applicants.tops[end - 1]))
        observed = [Rate.at(float(own[label]), float(own[:2].sum())) for own in here]
        found.append(Band(low, high, people, means if likely else None, observed))
    return found[::-1] if applicants.descending else found


def histogram(applicants: Applicants) -> tuple[list[float], list[list[float]], float]:
    """Return the edges of bars, the share of each group in each, and the share of everybody outside them.

    A few extreme scores would squeeze the bars: those beyond the central 99% of people are left out if they are far, or
    those beyond the central 95% if the central 90% lie closer together than in a third of what is left.
    """
    scores = np.asarray(applicants.shown(applicants.cuts))
    counts = applicants.counts.sum(axis=2)
    order = np.argsort(scores)
    scores, counts = scores[order], counts[:, order]
    below = counts.sum(axis=0).cumsum() / counts.sum()
    above = below - counts.sum(axis=0) / counts.sum()

    def central(share: float) -> tuple[float, float]:
        inner = scores[(below >= (1.0 - share) / 2.0) & (above <= (1.0 + share) / 2.0)]
        return (float(inner[0]), float(inner[-1])) if len(inner) > 1 else (float(scores[0]), float(scores[-1]))

    low, high = float(scores[0]), float(scores[-1])
    if high - low > 2.0 * np.ptp(central(0.99)):
        low, high = central(0.99)
    if high - low > 3.0 * np.ptp(central(0.9)):
        low, high = central(0.95)
    inside = (scores >= low) & (scores <= high)
    kept, own = scores[inside], counts[:, inside]
    if len(kept) <= BARS:
        middle = (kept[1:] + kept[:-1]) / 2.0
        edges = np.concatenate(([2.0 * kept[0] - middle[0]], middle, [2.0 * kept[-1] - middle[-1]]))
        bars = own.astype(np.float64)
    else:
        edges = np.linspace(low, high, BARS + 1)
        bars = np.stack([np.histogram(kept, edges, weights=each)[0] for each in own]).astype(np.float64)
    shares: Array = bars / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return edges.tolist(), shares.tolist(), float(1.0 - own.sum() / counts.sum())
