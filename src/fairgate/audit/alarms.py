"""Alarms: for each constraint, whether decisions break it, meet it, or cannot yet be told to do either.

Everything is read off the same bounds (:mod:`fairgate.audit.sequences`), so the probability that any alarm of any
constraint ever rings without cause is at most the level of those bounds, however often one looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.audit.sequences import Sequences
from fairgate.constraints import Constraint, DisparateImpact
from fairgate.constraints.bounds import BROKEN, MET, UNDECIDED, label_gaps, residual_bounds, verdict

UNIDENTIFIED, UNJUDGED = "not identified", "not judged"


@dataclass(frozen=True)
class Ratio:
    """What is known of the ratio of the lowest to the highest acceptance rate at the last look, and what is asked."""

    low: float
    high: float
    asked: float


@dataclass(frozen=True)
class Alarm:
    """What is known of one requirement of a constraint.

    The status at the last look is "broken", "met", "undecided", "not identified" or "not judged". The alarm has rung if
    there was a look, `rang`, at which the average so far broke the constraint for sure; it may have been met later.
    """

    scope: str  # whose decisions
    constraint: str  # as it is written, such as parity=0.05
    name: str  # of the residual
    about: str  # the residual in words
    broken: str  # and that it is broken, with {} for the amount
    status: str
    rang: int | None = None  # number of the look at which the alarm first rang
    met: int | None = None  # and at which the constraint was first met for sure
    lowest: float | None = None  # bounds of the residual at the last look
    highest: float | None = None
    caveat: str = ""
    ratio: Ratio | None = None  # of a constraint on the ratio, whose residual says little


def raise_alarms(
    sequences: Sequences, totals: NDArray[np.int64], constraints: Sequence[Constraint], *, labelled: bool
) -> list[Alarm]:
    """Judge every constraint at every look; `totals` has people by group, label and decision, (G, 3, 2)."""
    found = []
    for constraint in constraints:
        reason, caveat = ("", "") if constraint.needs == "decisions" else _labels(totals, labelled)
        bounds = None if reason else residual_bounds(constraint, sequences.known)
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            said = (sequences.name, constraint.text, name, words.about, words.broken)
            if bounds is None:
                why = reason or "It has no bounds of its own, and cannot be judged while rates are uncertain."
                found.append(Alarm(*said, UNIDENTIFIED if reason else UNJUDGED, caveat=why))
                continue
            lowest, highest = bounds[0][place], bounds[1][place]
            found.append(
                Alarm(
                    *said,
                    verdict(float(lowest[-1]), float(highest[-1])),
                    rang=_first(lowest > 0.0, sequences.looks),
                    met=_first(highest <= 0.0, sequences.looks),
                    lowest=float(lowest[-1]),
                    highest=float(highest[-1]),
                    caveat=caveat,
                    ratio=_ratio(sequences, constraint),
                )
            )
    return found


def _ratio(sequences: Sequences, constraint: Constraint) -> Ratio | None:
    if not isinstance(constraint, DisparateImpact) or sequences.ratio is None:
        return None
    return Ratio(float(sequences.ratio.low[-1]), float(sequences.ratio.high[-1]), float(np.asarray(constraint.ratio)))


def _first(true: NDArray[np.bool_], looks: NDArray[np.int64]) -> int | None:
    return int(looks[true.argmax()]) if true.any() else None


def _labels(totals: NDArray[np.int64], labelled: bool) -> tuple[str, str]:
    """Say why a constraint on labels cannot be judged, or else what must be kept in mind."""
    return label_gaps(totals) if labelled else ("It needs labels (--label), also of the rejected.", "")


__all__ = ["BROKEN", "MET", "UNDECIDED", "UNIDENTIFIED", "UNJUDGED", "Alarm", "Ratio", "raise_alarms"]
