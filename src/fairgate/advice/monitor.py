r"""Monitor: what has drifted since an advice, and whether its threshold still meets the constraints, month by month.

Every month is a look, kept in ``monitor.json`` beside the advice. What is called broken or drifted is so with a
false-alarm rate of α = 1 − sure over all months together, however many there will be:

- **constraints**: half of α is for the people of single months. Month k has α/2 · 1/(k (k + 1)), which adds up to α/2,
  for exact (Clopper-Pearson) intervals of all rates together. The other half is for all people since the advice: the
  averages of their rates are bounded by confidence sequences, which hold at all months at once. Where groups are
  compared, months have the same weights in both (:func:`fairgate.constraints.bounds.common_bounds`), else each
  month that of its people (:func:`fairgate.confidence.running_bounds`). A constraint is broken if either says so;
- **drift**: month k has α · 1/(k (k + 1)) for all its tests together, by Holm's correction.

The same people looked at twice, by group and score, are one look. If more of their labels are known by then, the look
is judged again in place of the earlier one. That costs nothing: tests of labels have their part of the look's level
from the beginning, whether or not there are labels. A new advice in the same folder begins a new log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.advice.drift import TESTS, Drift, compare
from fairgate.advice.newcomers import Newcomers, read_newcomers
from fairgate.advice.reference import Reference, read_reference
from fairgate.advice.report.output import FORMAT as REPORT
from fairgate.confidence import clopper_pearson, running_bounds
from fairgate.constraints import Constraint
from fairgate.constraints.bounds import (
    BROKEN,
    PairBounds,
    RateBounds,
    common_bounds,
    counting_labels,
    label_gaps,
    pair_bounds,
    residual_bounds,
    uneven,
    verdict,
)
from fairgate.errors import InputError
from fairgate.people.sources import Reader, frame_source, open_source
from fairgate.people.wanted import LOST
from fairgate.reading import DOCUMENT, parse_json, read_bytes
from fairgate.settings import Array
from fairgate.statistics import holm
from fairgate.store import plain, prepare_folder, write_text

FORMAT = 1
"""Version of ``monitor.json``."""

LOG = "monitor.json"


@dataclass(frozen=True)
class Check:
    """What is known of one requirement of a constraint, for the people of this look and for all since the advice."""

    constraint: str
    name: str
    broken: str  # that it is broken in words, with {} for the amount
    now: str  # "broken", "met", "undecided", or "not identified"
    since: str
    lowest: float | None = None  # bounds of the residual, for the people of this look
    highest: float | None = None
    since_lowest: float | None = None
    since_highest: float | None = None
    caveat: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether it is broken with the stated certainty."""
        return BROKEN in (self.now, self.since)


@dataclass(frozen=True, eq=False, repr=False)
class Monitored:
    """What one look found.

    Attributes
    ----------
    look
        Number of the look, from 1.
    drifts, drifted
        All comparisons, and whether each has drifted with the stated certainty.
    checks
        What is known of every constraint.
    level
        Part of 1 − sure that this look has for its tests of drift.
    """

    reference: Reference
    newcomers: Newcomers
    source: str
    look: int
    level: float
    drifts: list[Drift]
    drifted: list[bool]
    checks: list[Check]

    def __repr__(self) -> str:
        people = int(self.newcomers.totals.sum())
        broken, drifted = f"{len(self.broken)} of {len(self.checks)}", f"{sum(self.drifted)} of {len(self.drifts)}"
        return (
            f"Monitored(look {self.look}: {people} people, {broken} constraints broken, {drifted} comparisons drifted)"
        )

    def __str__(self) -> str:
        from fairgate.advice.report.monitoring import drift_text, headline

        told = [drift_text(each) for each, drifted in zip(self.drifts, self.drifted, strict=True) if drifted]
        return "\n".join([headline(self), *told])

    @property
    def broken(self) -> list[Check]:
        """The constraints that are broken with the stated certainty."""
        return [each for each in self.checks if each.is_broken]

    def document(self) -> dict[str, Any]:
        """Return everything as plain data: one entry of ``monitor.json``."""
        from fairgate.advice.report.monitoring import check_text, drift_text, headline

        accepted, people = self.newcomers.cells
        found = {
            "look": self.look,
            "table": self.source,
            "digest": self.newcomers.digest,
            "people": int(people[0]),
            "headline": headline(self),
            "broken": bool(self.broken),
            "level": self.level,
            "constraints": [asdict(each) | {"text": check_text(each)} for each in self.checks],
            "drift": [
                asdict(each) | {"drifted": told, "text": drift_text(each)}
                for each, told in zip(self.drifts, self.drifted, strict=True)
            ],
            "strangers": self.newcomers.strangers,
            "unread_labels": self.newcomers.unread,
            "dropped": self.newcomers.dropped,
            "cells": {"accepted": accepted.tolist(), "people": people.tolist()},
        }
        written: dict[str, Any] = plain(found)
        return written


def monitor(
    table: Any = None,
    against: str | Path = "advice",
    *,
    query: str | None = None,
    reader: Reader | None = None,
    max_lost: float = LOST,
    allow: Collection[str] = (),
) -> Monitored:
    """Compare later people with those of the advice in the folder `against`, and keep the look there.

    Parameters
    ----------
    table
        A file such as ``"march.csv"``, or a table of pandas, polars or pyarrow, with the columns of the advice. Labels
        may be lacking.
    against
        Folder that ``fairgate advise`` wrote.
    allow
        Constraints of one's own that the advice may name, such as ``["mine:Harm"]``.
    """
    folder = Path(against)
    reference = read_reference(folder, REPORT, allow)
    is_file = table is None or isinstance(table, str | Path)
    source = open_source(table, query, reader) if is_file else frame_source(table)
    newcomers = read_newcomers(source, reference, max_lost)
    log = read_log(folder / LOG, reference.digest)
    again = [place for place, each in enumerate(log) if each["digest"] == newcomers.digest]
    before = log[: again[0]] if again else log
    found = look(reference, newcomers, source.name, [each["cells"] for each in before])
    place = again[0] if again else len(log)
    if not again or tells_more(newcomers, log[place]["cells"]):
        prepare_folder(folder, "--against")
        entry = found.document() | {"looked": datetime.now(UTC).strftime("%Y-%m-%d")}
        kept = {"format": FORMAT, "advice": reference.digest, "looks": [*log[:place], entry, *log[place + 1 :]]}
        write_text(folder / LOG, json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return found


def tells_more(newcomers: Newcomers, cells: dict[str, Any]) -> bool:
    """Whether at least as many labels are known as when the same people were looked at before, and not the same."""
    accepted, people = (each.tolist() for each in newcomers.cells)
    first = 1 + len(newcomers.counts)  # cells of labels
    same = accepted == cells["accepted"] and people == cells["people"]
    return not same and sum(people[first:]) >= sum(cells["people"][first:])


def read_log(path: Path, advice: str) -> list[dict[str, Any]]:
    """Return the looks so far; none if there is no log, or one of an earlier advice, which is put aside."""
    if not path.exists():
        return []
    try:
        found = parse_json(read_bytes(path, DOCUMENT))
        looks: list[dict[str, Any]] = found["looks"]
        usable = found["format"] == FORMAT and all({"digest", "cells"} <= set(each) for each in looks)
        earlier = str(found["advice"])
    except (OSError, ValueError, KeyError, TypeError):
        usable, earlier = False, ""
    if not usable or not re.fullmatch(r"[0-9a-f]{16}", earlier):  # it becomes part of a file's name
        raise InputError(f"{path} must be a log of looks of format {FORMAT}, and is not: move it away to start over")
    if earlier != advice:
        path.replace(path.with_name(f"monitor-{earlier}.json"))
        return []
    return looks


def look(reference: Reference, newcomers: Newcomers, source: str, before: list[dict[str, Any]]) -> Monitored:
    """Judge later people, after the looks `before`, of which only the counts of accepted and all people matter."""
    number, alpha = len(before) + 1, 1.0 - reference.sure
    level = spent(alpha, number)
    drifts = []
    for place, group in enumerate(reference.groups):
        old, new = reference.counts[place], newcomers.counts[place]
        at = int(np.searchsorted(reference.cuts[place], reference.at))
        cuts = reference.cuts[place]
        told = compare(group, old, new, at, newcomers.labelled, cuts=cuts, descending=reference.descending)
        drifts += [replace(each, called=reference.called(group)) for each in told]
    later = [1.0] * (TESTS * len(reference.groups) - len(drifts))  # of labels that may still come
    corrected = holm([1.0 if each.p_value is None else each.p_value for each in drifts] + later)
    drifted = (corrected[: len(drifts)] <= level).tolist()
    checks = judge(reference.constraints, newcomers, before, alpha)
    return Monitored(reference, newcomers, source, number, level, drifts, drifted, checks)


def spent(alpha: float, number: int) -> float:
    """Return the part of alpha that a look has; all parts add up to alpha.

    >>> [round(spent(0.1, number), 4) for number in (1, 2, 12)]
    [0.05, 0.0167, 0.0006]
    """
    return alpha / (number * (number + 1))


def judge(
    constraints: list[Constraint], newcomers: Newcomers, before: list[dict[str, Any]], alpha: float
) -> list[Check]:
    """Judge every constraint for the people of this look, and for all since the advice."""
    accepted, people = newcomers.cells
    lonely = [each.text for each in constraints if each.compares_groups and len(newcomers.counts) < 2]
    if lonely:
        raise InputError(f"{lonely[0]} compares groups and needs at least 2, got 1 group")
    rejected = newcomers.totals - newcomers.accepted
    by_decision = np.stack((rejected, newcomers.accepted), axis=-1)
    labels = any(each.needs != "decisions" for each in constraints)
    rates = len(people) if labels else 1 + len(newcomers.counts)
    taken = np.array([*(each["accepted"] for each in before), accepted])
    came = np.array([*(each["people"] for each in before), people])
    now = RateBounds(*clopper_pearson(accepted, people, spent(alpha / 2.0, len(came)) / rates))
    own, common, identified = since_bounds(taken, came, alpha / 2.0 / rates)
    found = []
    for constraint in constraints:
        reason, caveat = ("", "") if constraint.needs == "decisions" else label_gaps(by_decision)
        if not newcomers.labelled and constraint.needs != "decisions":
            reason = "There is no column of labels."
        told = None if reason else residual_bounds(constraint, now)
        pooled = None
        if identified or constraint.needs == "decisions":
            pooled = residual_bounds(constraint, own)
            alike = pair_bounds(constraint, common) if constraint.compares_groups else None
            if (
                pooled is not None and alike is not None
            ):  # bounds of pairs say nothing of third groups: what is met does
                pooled = alike[0], np.maximum(alike[0], np.minimum(pooled[1], alike[1]))
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            said = reason or caveat
            check = Check(constraint.text, name, words.broken, "not identified", "not identified", caveat=said)
            if told is not None:
                low, high = (float(each[place]) for each in told)
                check = replace(check, now=verdict(low, high), lowest=low, highest=high)
            if pooled is not None:
                low, high = (float(each[place]) for each in pooled)
                check = replace(check, since=verdict(low, high), since_lowest=low, since_highest=high)
            found.append(check)
    return found


def since_bounds(taken: Array, came: Array, level: float) -> tuple[RateBounds, PairBounds, bool]:
    """Bound the rates of all looks together, each missing with probability at most `level`, from counts (T, 1 + 3 G).

    Returned are bounds of averages in which each population has its own weights of months, those in which two groups
    have the same weights, and whether labels tell anything. Labels of a look count only if that look's are known of the
    accepted and the rejected alike.
    """
    groups = (taken.shape[1] - 1) // 3
    by_label = np.stack([_people(came - taken, groups), _people(taken, groups)], axis=-1)  # (T, G, 3, 2)
    alike = counting_labels(by_label)
    taken, came = taken.copy(), came.copy()
    taken[~alike, 1 + groups :] = came[~alike, 1 + groups :] = 0.0
    counting = by_label[alike].sum(axis=0)
    low, high = (each[-1] for each in running_bounds(taken, came, level))
    some = came.sum(axis=0) > 0
    own = RateBounds(np.where(some, low, 0.0), np.where(some, high, 1.0))
    families = [slice(begin, begin + groups) for begin in range(1, 1 + 3 * groups, groups)]
    common = [common_bounds(taken[:, family], came[:, family], level) for family in families]
    alike_bounds = PairBounds.of((own.low[0], own.high[0]), [(low[-1], high[-1]) for low, high in common])
    return own, alike_bounds, bool(counting[:, :2].any() and not uneven(counting))


def _people(cells: Array, groups: int) -> Array:
    """Return people by look, group and label (0, 1, missing), (T, G, 3), from cells (T, 1 + 3 G)."""
    whole, bad, good = (cells[:, 1 + k * groups : 1 + (k + 1) * groups] for k in range(3))
    return np.stack((bad, good, whole - bad - good), axis=-1)
