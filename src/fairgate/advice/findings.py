"""Findings: what in a table should make its owner think, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.amounts import amount
from fairgate.errors import InputError
from fairgate.people.applicants import CANDIDATES, Applicants
from fairgate.people.direction import RISKY, good_sounds_bad, remedy, sounds_bad, upside_down
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
    >>> table = pa.table({"score": [1, 2, 3, 4], "label": [1, 0, 0, 1], "group": ["a", "b", "a", "b"]})
    >>> found = inspect(from_frame(table, score="score", label="label", group="group"), Aims())
    >>> [finding.key for finding in found]
    ['tiny-group', 'tiny-group', 'weak-score']
    """
    refuse(applicants, aims)
    return [
        *_dropped(applicants),
        *_current(applicants, aims),
        *_groups(applicants),
        *_alike(applicants),
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
    ['The acceptance rate of g = b, 2.0%, is 0.50 of that of g = a, 4.0%: below four fifths, ...']
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
    refuse_wrong_way(applicants)


def _share(part: float, whole: float) -> str:
    percent = 100.0 * part / whole
    if 99.5 <= percent < 100.0:
        return "over 99%"
    return f"{percent:.0f}%" if percent >= 9.5 else f"{percent:.1f}%" if percent >= 0.05 else "under 0.1%"


def _standing(applicants: Applicants, count: float, noun: str) -> str:
    """Say how many of all these, or of those whom they stand for."""
    return f"{applicants.stands_for(count):,.0f} of {applicants.total:,.0f} {noun}"


def _dropped(applicants: Applicants) -> Iterator[Finding]:
    columns, weights = applicants.columns, applicants.weights
    weight = weights.column if weights else ""
    texts = {
        "score not a number": ("score-missing", f"have no number as score ({columns.score!r})"),
        "score infinite": ("score-infinite", f"have an infinite score ({columns.score!r})"),
        "group missing": ("group-missing", f"have no group ({columns.group!r})"),
        "weight not a number": ("weight-missing", f"have no number as weight ({weight!r})"),
        "line malformed": ("malformed", "have more or fewer fields than there are column names"),
    }
    if applicants.lines > applicants.rows + 1:
        text = (
            f"The file has {applicants.lines} lines but {applicants.rows} rows: some values span several lines. If "
            "none should, a quote is opened and not closed, and people are missing."
        )
        yield Finding("lines", "warning", text)
    yield from (Finding("reading", "note", text) for text in applicants.notes)
    for reason, count in applicants.dropped.items():
        rows = f"{count} of {applicants.rows} rows ({_share(count, applicants.rows)})"
        if reason in texts:
            key, text = texts[reason]
            differ = "If they differ from the others, so would the advice."
            yield Finding(key, "warning", f"{rows} {text} and were left out. {differ}")
        elif reason == "weight zero":
            yield Finding("weight-zero", "note", f"{rows} have weight 0 ({weight!r}) and stand for nobody.")
    if applicants.strays:
        named = ", ".join(f"{name!r} ({size})" for name, size in list(applicants.strays.items())[:8])
        more = " …" if len(applicants.strays) > 8 else ""
        count = sum(applicants.strays.values())
        text = (
            f"{count} of {applicants.rows} rows ({_share(count, applicants.rows)}) belong to groups too small to say "
            f"anything about ({columns.group!r}) and were left out: {named}{more}. If they are not typing errors, say "
            "--min-group 1 to keep them, or join them to other groups."
        )
        yield Finding("stray-groups", "warning", text)
    yield from _past(applicants)


def _past(applicants: Applicants) -> Iterator[Finding]:
    """Say how decisions, dates and weights were counted, where that is not plain."""
    decisions, history, weights = applicants.decisions, applicants.history, applicants.weights
    if decisions is not None:
        rejected, accepted = decisions.sum(axis=(0, 1))
        unknown = applicants.people - float(rejected + accepted)
        if unknown >= 0.5:
            text = f"{_share(unknown, applicants.people)} of the people have no decision: they count as people, but not"
            yield Finding("decision-missing", "warning", f"{text} among those accepted or rejected in the past.")
        if not rejected or not accepted:
            word = "accepted" if not rejected else "rejected"
            text = f"Everybody whose decision is known was {word}: the table does not show the people who were not."
            yield Finding("one-decision", "warning", text)
    decided = applicants.decided
    if decided is not None and (text := upside_down(*decided)):
        yield Finding("decision-upside-down", "warning", text)
    if history is not None and history.left_out:
        text = f"{history.left_out} rows have no date or no decision and are left out of the history only."
        yield Finding("history-left-out", "warning", text)
    if weights is not None:
        text = (
            f"Rows are weighted by {weights.column!r}: they stand for {weights.total:,.0f} people, and tell about as "
            f"much as {weights.effective:,.0f} people of equal weight would. A label's worth is what one of them tells."
        )
        yield Finding("weighted", "note", text)


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
            has = "tells only as much as" if applicants.weights else "has only"
            text = (
                f"{applicants.called(name)} {has} {amount(round(size), 'person', 'people')}: its acceptance "
                f"rate is known to about ± {min(2 * error, 1.0):.2f}, so little can be said about the gap, and "
                "thresholds may be refused for caution alone."
            )
            yield Finding("tiny-group", "warning", text)


def _alike(applicants: Applicants) -> Iterator[Finding]:
    """Warn of values of a column of groups that look like one, written in several ways."""
    people = dict(zip(applicants.groups, applicants.sizes.tolist(), strict=True)) | dict(applicants.strays)
    columns = applicants.columns.group.split(" × ")
    for place, column in enumerate(columns):
        sizes: dict[str, float] = {}
        for name, size in people.items():
            values = name.split(" · ")
            value = values[place] if len(values) == len(columns) else name
            sizes[value] = sizes.get(value, 0.0) + size
        for same in written_alike(list(sizes)):
            kept = max(same, key=lambda value: sizes[value])
            merged = {value: kept for value in same if value != kept}
            text = (
                f"In the group column {column!r}, {listed(same)} look like one group written in {len(same)} ways. If "
                f"they are, write them alike before asking again; with pandas, table[{column!r}] = "
                f"table[{column!r}].replace({merged})."
            )
            yield Finding("groups-alike", "warning", text)


def written_alike(names: list[str]) -> list[list[str]]:
    """Return the names that differ in case and spaces only, or are the first letter of one other name alone.

    >>> written_alike(["F", "f", "female", "m", "South_East", "south east"])
    [['F', 'f', 'female'], ['South_East', 'south east']]
    >>> written_alike(["w", "white", "women"])
    []
    """
    same: dict[str, list[str]] = {}
    for name in names:
        same.setdefault(re.sub(r"[\s_.]+", " ", name.casefold()).strip(), []).append(name)
    for letter in [each for each in same if len(each) == 1 and each.isalpha()]:
        longer = [each for each in same if len(each) > 1 and each.startswith(letter)]
        if len(longer) == 1:
            same[longer[0]] = same.pop(letter) + same[longer[0]]
    return [each for each in same.values() if len(each) > 1]


def _labels(applicants: Applicants) -> Iterator[Finding]:
    column, people = applicants.columns.label, applicants.people
    none, ones, _ = applicants.counts.sum(axis=(0, 1))
    if none == 0 or ones == 0:
        only = f"good ({applicants.good})" if none == 0 else f"bad ({applicants.bad})"
        text = f"Every known label is {only}: the table does not tell whom to accept."
        yield Finding("one-label", "warning", text)
    merged = sorted((value for value, meaning in applicants.meanings.items() if meaning == 0), key=natural)
    if len(merged) > 1 and len(applicants.meanings) > 2:
        good = " or ".join(repr(value) for value, meaning in applicants.meanings.items() if meaning == 1)
        text = f"The label column {column!r} has more than two values: {good} is good, {listed(merged)} are bad alike."
        yield Finding("labels-merged", "note", text)
    if applicants.missing:
        missing = float(applicants.counts[..., 2].sum())
        text = (
            f"{_standing(applicants, missing, 'labels')} ({_share(missing, people)}) are missing. They are "
            f"taken to be good ({applicants.good}) as often as known ones of similar score in the same group; beside "
            "the reward stand the bounds if all of them were bad, or good."
        )
        yield Finding("labels-missing", "warning", text)
    labelled = applicants.counts[..., :2].sum(axis=(0, 2))
    first = int(np.flatnonzero(labelled)[0])
    below = float(applicants.counts[:, :first].sum())
    if below > UNKNOWN * people:
        side = "above" if applicants.descending else "below"
        text = (
            f"Nobody with a score {side} {applicants.shown(applicants.cuts[first]):.6g} has a label "
            f"({_standing(applicants, below, 'people')}, {_share(below, people)}), as if nobody there had ever been "
            "accepted. What accepting them would earn is unknown; all of them count as bad, so that they are accepted "
            "only where that is better even then. A small lottery that accepts a few of them would tell."
        )
        yield Finding("labels-unknown", "warning", text)
    elif (dark := float(applicants.unknown[0])) > UNKNOWN:
        text = (
            f"For {_share(dark, 1.0)} of the people hardly anybody of similar score and the same group has a label: "
            "they count as bad."
        )
        yield Finding("labels-unknown", "warning", text)


class Auc(NamedTuple):
    """How often the better score is that of the person with the good label, of two who differ."""

    value: float
    error: float  # standard error, Hanley and McNeil 1982
    by_chance: float  # standard error if the score told nothing, Mann and Whitney 1947: never 0, as the other may be


def auc_of(applicants: Applicants) -> Auc | None:
    """Return the AUC of the score; None if all labels are the same."""
    negatives, positives = (applicants.counts[..., label].sum(axis=0).astype(np.float64) for label in (0, 1))
    good, bad = positives.sum(), negatives.sum()
    if not good or not bad:
        return None
    below = negatives.cumsum() - negatives
    auc = float((positives * (below + 0.5 * negatives)).sum() / (good * bad))
    one, two = auc / (2.0 - auc), 2.0 * auc**2 / (1.0 + auc)
    spread = auc * (1.0 - auc) + (good - 1.0) * (one - auc**2) + (bad - 1.0) * (two - auc**2)
    by_chance = np.sqrt((good + bad + 1.0) / (12.0 * good * bad))
    return Auc(auc, float(np.sqrt(max(spread, 0.0) / (good * bad))), float(by_chance))


def refuse_wrong_way(applicants: Applicants) -> None:
    """Refuse a score that ranks people the wrong way: whom it accepts first are those whose label is rarely good."""
    found, columns = auc_of(applicants), applicants.columns
    if found is None or found.value + 2.0 * max(found.error, found.by_chance) >= 0.5:
        return
    asked = bool(applicants.positive)
    better = "lower" if applicants.descending else "higher"
    raise InputError(
        f"the score column {columns.score!r} ranks people the wrong way (AUC {found.value:.2f}): {applicants.good} was "
        f"taken as good{'' if asked else ', since nothing else was said'}, and people for whom it is so have the "
        f"{better} score in only {found.value:.0%} of all pairs; "
        + remedy(
            columns.score,
            columns.label,
            applicants.meanings,
            descending=applicants.descending,
            positive=applicants.positive,
        )
    )


def _direction(applicants: Applicants) -> Iterator[Finding]:
    columns, found = applicants.columns, auc_of(applicants)
    if found is not None and found.value - 2.0 * found.error <= 0.5:
        way = ", if at all the wrong way round" if found.value < 0.5 else ""
        text = (
            f"The score {columns.score!r} hardly tells labels apart (AUC {found.value:.2f}{way}): no threshold can earn"
        )
        yield Finding("weak-score", "warning", f"{text} much by it.")
    if good_sounds_bad(columns.label, applicants.positive):
        text = f"{applicants.good} was taken as good, as --positive says, though it sounds like a bad outcome. If it is"
        yield Finding("good-sounds-bad", "warning", f"{text} one, name the other label: {applicants.bad}.")
    if sounds_bad(columns.score, RISKY) and not applicants.descending:
        text = f"The score {columns.score!r} sounds like the probability of a bad outcome, yet people with a high score"
        yield Finding("score-sounds-bad", "warning", f"{text} are accepted. If a high score is bad, use --descending.")


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
