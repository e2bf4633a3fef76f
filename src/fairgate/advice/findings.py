"""Findings: what in a table should make its owner think, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.errors import InputError
from fairgate.people.applicants import CANDIDATES, Applicants
from fairgate.people.labels import UNKNOWN
from fairgate.people.values import listed, natural

TINY = 50
"""People of a group below which its figures say little."""

TIED = 0.05
"""Share of the people with one and the same score above which that is worth saying."""


FOUR_FIFTHS = 0.8
"""Ratio of two groups' acceptance rates below which adverse impact is suspected, 29 CFR 1607.4 D."""


class Finding(NamedTuple):
    """One thing found: a stable key, "warning" or "note", and a sentence or two."""

    key: str
    level: str
    text: str


def inspect(applicants: Applicants, aims: Aims) -> list[Finding]:
    """Look for what is wrong or worth knowing; refuse a table that no threshold can be chosen from.

    >>> import pyarrow as pa
    >>> from fairgate.people import from_frame
    >>> table = pa.table({"score": [1, 2, 3, 4], "label": [1, 1, 0, 0], "group": ["a", "b", "a", "b"]})
    >>> found = inspect(from_frame(table, score="score", label="label", group="group"), Aims())
    >>> [finding.key for finding in found]
    ['tiny-group', 'tiny-group', 'wrong-way']
    """
    refuse(applicants, aims)
    return [
        *_dropped(applicants),
        *_current(applicants, aims),
        *_groups(applicants),
        *_labels(applicants),
        *_direction(applicants),
        *_ties(applicants),
    ]


def warn(applicants: Applicants, rates: Mapping[str, float]) -> list[Finding]:
    """Warn of a rule with these acceptance rates by group that shuts a group out or fails the four-fifths rule.

    Asked for or not: a difference of rates can be small while one of them is nothing.

    >>> from fairgate.people.applicants import Columns
    >>> people = Applicants(("a", "b"), np.zeros(1), np.zeros(1), np.ones((2, 1, 3)), Columns("s", "y", "g"), 6)
    >>> [finding.text for finding in warn(people, {"a": 0.04, "b": 0.02})]       # doctest: +ELLIPSIS
    ['The acceptance rate of b, 2.0%, is 0.50 of that of a, 4.0%: below four fifths, ...']
    """
    shut = [name for name, rate in rates.items() if rate <= 0.0]
    most, least = max(rates, key=lambda name: rates[name]), min(rates, key=lambda name: rates[name])
    highest = f"{applicants.called(most)}, {rates[most]:.1%}"
    if rates[most] <= 0.0:
        return [Finding("shut-out", "warning", "The rule accepts nobody of any group.")]
    if shut:
        names = ", ".join(applicants.called(name) for name in shut)
        text = (
            f"The rule accepts nobody of {names}, while it accepts {rates[most]:.1%} of {applicants.called(most)}. A "
            "constraint on differences alone lets a group be shut out; ask for --ratio or --group-service as well."
        )
        return [Finding("shut-out", "warning", text)]
    ratio = rates[least] / rates[most]
    if ratio >= FOUR_FIFTHS:
        return []
    text = (
        f"The acceptance rate of {applicants.called(least)}, {rates[least]:.1%}, is {ratio:.2f} of that of {highest}: "
        "below four fifths, which is often taken as a sign of adverse impact. Ask for --ratio 0.8 to rule that out."
    )
    return [Finding("four-fifths", "warning", text)]


def refuse(applicants: Applicants, aims: Aims) -> None:
    """Say so if the table cannot be used for these aims."""
    columns = applicants.columns
    if len(applicants.cuts) == 1:
        score = applicants.shown(applicants.cuts[0])
        raise InputError(
            f"the score column {columns.score!r} is {score:g} for everybody: no threshold can tell people apart"
        )
    comparing = [each for each in aims.problem.constraints if each.compares_groups]
    if len(applicants.groups) == 1 and comparing:
        raise InputError(
            f"{comparing[0].text} compares groups, but the group column {columns.group!r} has only one, "
            f"{applicants.groups[0]!r}: choose another column or leave that constraint out"
        )
    if applicants.missing == applicants.people:
        raise InputError(
            f"the label column {columns.label!r} is missing for every row with a score: "
            "some people's label must be known"
        )
    if not applicants.known.any():
        known = applicants.people - applicants.missing
        raise InputError(
            f"the label column {columns.label!r} is known for too few people, {known} of {applicants.people}, to say "
            "what any threshold would earn: some more labels of people with high scores are needed"
        )


def _share(part: float, whole: float) -> str:
    percent = 100.0 * part / whole
    if 99.5 <= percent < 100.0:
        return "over 99%"
    return f"{percent:.0f}%" if percent >= 9.5 else f"{percent:.1f}%" if percent >= 0.05 else "under 0.1%"


def _dropped(applicants: Applicants) -> Iterator[Finding]:
    texts = {
        "score not a number": ("score-missing", f"have no number as score ({applicants.columns.score!r})"),
        "score infinite": ("score-infinite", f"have an infinite score ({applicants.columns.score!r})"),
        "group missing": ("group-missing", f"have no group ({applicants.columns.group!r})"),
        "line malformed": ("malformed", "have more or fewer fields than there are column names"),
    }
    if applicants.lines > applicants.rows + 1:
        text = (
            f"The file has {applicants.lines} lines but {applicants.rows} rows: some values span several lines. If "
            "none should, a quote is opened and not closed, and people are missing."
        )
        yield Finding("lines", "warning", text)
    for reason, count in applicants.dropped.items():
        key, text = texts[reason]
        rows = f"{count} of {applicants.rows} rows ({_share(count, applicants.rows)}) {text} and were left out."
        yield Finding(key, "warning", f"{rows} If they differ from the others, so would the advice.")


def _current(applicants: Applicants, aims: Aims) -> Iterator[Finding]:
    low, high = sorted(applicants.shown(applicants.cuts[[0, -1]]))
    if aims.current is not None and not low <= aims.current <= high:
        text = f"The threshold in use, {aims.current:g}, lies outside the scores, which go from"
        yield Finding("current-outside", "warning", f"{text} {low:.6g} to {high:.6g}.")


def _groups(applicants: Applicants) -> Iterator[Finding]:
    if len(applicants.groups) == 1:
        text = f"The group column {applicants.columns.group!r} has only one group, {applicants.groups[0]!r}: "
        yield Finding("one-group", "warning", text + "nothing can be said about fairness between groups.")
    for name, size in zip(applicants.groups, applicants.sizes.tolist(), strict=True):
        if size < TINY:
            error = np.sqrt(0.25 / size)
            text = (
                f"Group {name!r} has only {size} {'person' if size == 1 else 'people'}: its acceptance rate is known "
                f"to about ± {min(2 * error, 1.0):.2f}, so little can be said about the gap, and thresholds may be "
                "refused for caution alone."
            )
            yield Finding("tiny-group", "warning", text)


def _labels(applicants: Applicants) -> Iterator[Finding]:
    column, people = applicants.columns.label, applicants.people
    none, ones, _ = applicants.counts.sum(axis=(0, 1))
    if none == 0 or ones == 0:
        text = f"Every known label ({column!r}) is {int(none == 0)}: the table does not tell whom to accept."
        yield Finding("one-label", "warning", text)
    merged = sorted((value for value, meaning in applicants.meanings.items() if meaning == 0), key=natural)
    if len(merged) > 1 and len(applicants.meanings) > 2:
        positive = listed([value for value, meaning in applicants.meanings.items() if meaning == 1])
        text = f"The label column {column!r} has more than two values: {positive} counts as 1, {listed(merged)} count"
        yield Finding("labels-merged", "note", f"{text} as 0.")
    if applicants.missing:
        text = (
            f"{applicants.missing} of {people} labels ({_share(applicants.missing, people)}) are missing. They are "
            "taken to be positive as often as known ones of similar score in the same group; beside the reward stand "
            "the bounds if all of them were bad, or good."
        )
        yield Finding("labels-missing", "warning", text)
    labelled = applicants.counts[..., :2].sum(axis=(0, 2))
    first = int(np.flatnonzero(labelled)[0])
    below = int(applicants.counts[:, :first].sum())
    if below > UNKNOWN * people:
        side = "above" if applicants.descending else "below"
        text = (
            f"Nobody with a score {side} {applicants.shown(applicants.cuts[first]):.6g} has a label ({below} people, "
            f"{_share(below, people)}), as if nobody there had ever been accepted. What accepting them would earn is "
            f"unknown; thresholds that accept more than {UNKNOWN:.0%} of all people from there are not recommended. "
            "A small lottery that accepts a few of them would tell."
        )
        yield Finding("labels-unknown", "warning", text)
    elif (dark := float(applicants.unknown[0])) > UNKNOWN:
        text = (
            f"For {_share(dark, 1.0)} of the people hardly anybody of similar score and the same group has a label: "
            "thresholds that accept many of them are not recommended."
        )
        yield Finding("labels-unknown", "warning", text)


def _direction(applicants: Applicants) -> Iterator[Finding]:
    negatives, positives = (applicants.counts[..., label].sum(axis=0).astype(np.float64) for label in (0, 1))
    good, bad = positives.sum(), negatives.sum()
    if not good or not bad:
        return
    below = negatives.cumsum() - negatives
    auc = float((positives * (below + 0.5 * negatives)).sum() / (good * bad))
    score = applicants.columns.score
    # Hanley and McNeil 1982
    one, two = auc / (2.0 - auc), 2.0 * auc**2 / (1.0 + auc)
    spread = auc * (1.0 - auc) + (good - 1.0) * (one - auc**2) + (bad - 1.0) * (two - auc**2)
    error = np.sqrt(max(spread, 0.0) / (good * bad))
    if auc + 2.0 * error < 0.5:
        turn = "leave out descending (--descending)" if applicants.descending else "use descending (--descending)"
        text = (
            f"The score {score!r} goes the wrong way: of two people, one with label 1 and one with label 0, the better "
            f"score is the right one's in only {auc:.0%} of all pairs. If a high score is bad, {turn}."
        )
        yield Finding("wrong-way", "warning", text)
    elif auc - 2.0 * error <= 0.5:
        text = f"The score {score!r} hardly tells labels apart (AUC {auc:.2f}): no threshold can earn much by it."
        yield Finding("weak-score", "warning", text)


def _ties(applicants: Applicants) -> Iterator[Finding]:
    if not applicants.exact:
        text = (
            f"Scores take many values: figures are worked out at {len(applicants.cuts)} of them, at even shares of "
            f"people, and the recommendation is one of {len(applicants.starts(CANDIDATES))}."
        )
        yield Finding("binned", "note", text)
        return
    each = applicants.counts.sum(axis=(0, 2))
    largest = int(each.argmax())
    if each[largest] <= TIED * applicants.people or applicants.people < TINY:
        return
    score = applicants.shown(applicants.cuts[largest])
    share = _share(int(each[largest]), applicants.people)
    text = (
        f"Scores are tied: {share} of the people score {score:.6g}, and there are {len(applicants.cuts)} different "
        "scores. A threshold takes or leaves all of a tie, so acceptance rates move in steps."
    )
    yield Finding("ties", "warning", text)
