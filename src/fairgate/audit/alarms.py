"""Alarms: for each constraint, whether decisions break it, meet it, or cannot yet be told to do either.

Everything is read off the same bounds (:mod:`fairgate.audit.sequences`), so the probability that any alarm of any
constraint ever rings without cause is at most the level of those bounds, however often one looks. What is complete, and
looked at once, is tested instead (:mod:`fairgate.audit.exact`): each requirement has an equal part of the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.audit.exact import OneLook, judge_once
from fairgate.audit.sequences import Sequences
from fairgate.constraints import Constraint, DisparateImpact
from fairgate.constraints.bounds import (
    BROKEN,
    MET,
    UNDECIDED,
    Judged,
    RateBounds,
    judge,
    label_gaps,
    residual_bounds,
    uneven,
    verdict,
)

UNIDENTIFIED, UNJUDGED = "not identified", "not judged"

UNLABELLED = "It needs labels (--label), also of the rejected."


@dataclass(frozen=True)
class Ratio:
    """What is known of the ratio of the lowest to the highest acceptance rate at the last look, and what is asked."""

    value: float | None
    low: float
    high: float
    asked: float


@dataclass(frozen=True)
class Alarm:
    """What is known of one requirement of a constraint.

    The status at the last look is "broken", "met", "undecided", "not identified" or "not judged". The alarm has rung if
    there was a look, `rang`, at which the average so far broke the constraint by its bounds, which hold with the stated
    probability; it may have been met later. A constraint that only each group's own weights of looks break is `mixed`,
    and undecided. What was looked at once has a `test`, which may tell more than the bounds do.
    """

    scope: str  # whose decisions
    constraint: str  # as it is written, such as parity=0.05
    name: str  # of the residual
    about: str  # the residual in words
    broken: str  # and that it is broken, with {} for the amount
    status: str
    rang: int | None = None  # number of the look at which the alarm first rang
    met: int | None = None  # and at which the constraint was first met by its bounds
    lowest: float | None = None  # bounds of the residual at the last look
    highest: float | None = None
    caveat: str = ""
    ratio: Ratio | None = None  # of a constraint on the ratio, whose residual says little
    mixed: bool = False
    value: float | None = None  # estimate of the residual at the last look
    test: OneLook | None = None


def raise_alarms(
    sequences: Sequences, totals: NDArray[np.int64], constraints: Sequence[Constraint], *, labelled: bool
) -> list[Alarm]:
    """Judge every constraint at every look; `totals` has people by group, label and decision, (G, 3, 2)."""
    found = []
    counting = sequences.counting
    judged_at_all = sum(len(each.names) for each in constraints if labelled or each.needs == "decisions")
    for constraint in constraints:
        told = np.ones(len(counting), dtype=bool)
        reason = caveat = ""
        if constraint.needs != "decisions":
            reason, caveat = _labels(sequences, totals) if labelled else (UNLABELLED, "")
            told = counting[:, :, :2].any(axis=(1, 2, 3)) & ~uneven(counting)
        known = judge(constraint, sequences.known, sequences.alike) if told.any() else None
        tests = None
        if known is not None and not reason and sequences.once:
            tests = judge_once(constraint, sequences.accepted, sequences.came, sequences.level / judged_at_all)
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            alarm = Alarm(sequences.name, constraint.text, name, words.about, words.broken, UNIDENTIFIED, caveat=reason)
            if known is None:
                why = reason or "It has no bounds of its own, and cannot be judged while rates are uncertain."
                found.append(replace(alarm, status=UNIDENTIFIED if reason else UNJUDGED, caveat=why))
                continue
            if tests is None:
                rang = _first(known.broken[place] & told, sequences.looks)
                met = _first((known.highest[place] <= 0.0) & told, sequences.looks)
                alarm = replace(alarm, rang=rang, met=met)
            if not reason:
                told_last = _at_last_look(sequences, constraint, known, place)
                alarm = replace(alarm, caveat=caveat, **told_last)
            if tests is not None and not reason:
                alarm = _tested(alarm, tests[place], sequences.looks)
            found.append(alarm)
    return found


def _at_last_look(sequences: Sequences, constraint: Constraint, known: Judged, place: int) -> dict[str, Any]:
    """Return the status, bounds and estimate of a residual at the last look."""
    lowest, highest, mixed = float(known.lowest[place][-1]), float(known.highest[place][-1]), known.mixed[place][-1]
    return {
        "status": verdict(lowest, highest, mixed=bool(mixed)),
        "lowest": lowest,
        "highest": highest,
        "mixed": bool(mixed),
        "value": _estimate(sequences, constraint, place),
        "ratio": _ratio(sequences, constraint),
    }


def _tested(alarm: Alarm, test: OneLook, looks: NDArray[np.int64]) -> Alarm:
    """Return an alarm by its test: it rang if that says so, and bounds do not contradict it."""
    look, ratio = int(looks[-1]), alarm.ratio
    changed: dict[str, Any] = {"status": test.status, "test": test}
    if test.status == BROKEN:
        changed |= {"rang": look, "lowest": max(alarm.lowest or 0.0, 0.0)}
        changed |= {"ratio": ratio and replace(ratio, high=min(ratio.high, ratio.asked))}
    elif test.status == MET:
        changed |= {"met": look, "highest": min(alarm.highest or 0.0, 0.0)}
        changed |= {"ratio": ratio and replace(ratio, low=max(ratio.low, ratio.asked))}
    return replace(alarm, **changed)


def _estimate(sequences: Sequences, constraint: Constraint, place: int) -> float | None:
    """Return the residual of the rates so far; None where some rate that it needs is not known."""
    came = sequences.came > 0
    rates = np.divide(sequences.accepted, sequences.came, out=np.zeros(len(came)), where=came)
    low, high = residual_bounds(constraint, RateBounds(rates, np.where(came, rates, 1.0))) or (None, None)
    known = low is not None and high is not None and low[place] == high[place]
    return float(low[place]) if low is not None and known else None


def _ratio(sequences: Sequences, constraint: Constraint) -> Ratio | None:
    if not isinstance(constraint, DisparateImpact) or sequences.ratio is None:
        return None
    value, low, high = (float(getattr(sequences.ratio, name)[-1]) for name in ("value", "low", "high"))
    return Ratio(None if np.isnan(value) else value, low, high, float(np.asarray(constraint.ratio)))


def _first(true: NDArray[np.bool_], looks: NDArray[np.int64]) -> int | None:
    return int(looks[true.argmax()]) if true.any() else None


def _labels(sequences: Sequences, totals: NDArray[np.int64]) -> tuple[str, str]:
    """Say why a constraint on labels cannot be judged at the last look, or else what must be kept in mind."""
    counting, left_out = sequences.counting[-1], sequences.uncounted
    if not counting[:, :2].any():
        return label_gaps(totals)[0] or "In no look are labels known of the accepted and the rejected alike.", ""
    reason, caveat = label_gaps(counting)
    if left_out:
        caveat = (
            f"Labels of {left_out} of {len(sequences.looks)} looks do not count: they are not known of the accepted "
            f"and the rejected alike. {caveat}"
        ).strip()
    return reason, caveat


__all__ = ["BROKEN", "MET", "UNDECIDED", "UNIDENTIFIED", "UNJUDGED", "Alarm", "Ratio", "raise_alarms"]
