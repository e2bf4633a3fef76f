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
from fairgate.constraints.bounds import BROKEN, MET, UNDECIDED, RateBounds, label_gaps, residual_bounds, uneven, verdict

UNIDENTIFIED, UNJUDGED = "not identified", "not judged"

PERIODS = 24
"""Most periods that averages with the same weights in all groups are made of."""

MIX = (
    "With the same weights of periods in all groups it would be met: the mix of groups changed as rates did, so look "
    "at periods one by one."
)
"""What is said of a constraint that is broken on average because of that."""

UNLABELLED = "It needs labels (--label), also of the rejected."


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
    there was a look, `rang`, at which the average so far broke the constraint by its bounds, which hold with the stated
    probability; it may have been met later.
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


def raise_alarms(
    sequences: Sequences, totals: NDArray[np.int64], constraints: Sequence[Constraint], *, labelled: bool
) -> list[Alarm]:
    """Judge every constraint at every look; `totals` has people by group, label and decision, (G, 3, 2)."""
    found = []
    counting = sequences.counting
    for constraint in constraints:
        told = np.ones(len(counting), dtype=bool)
        reason = caveat = ""
        if constraint.needs != "decisions":
            reason, caveat = _labels(sequences, totals) if labelled else (UNLABELLED, "")
            told = counting[:, :, :2].any(axis=(1, 2, 3)) & ~uneven(counting)
        bounds = residual_bounds(constraint, sequences.known) if told.any() else None
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            said = (sequences.name, constraint.text, name, words.about, words.broken)
            if bounds is None:
                why = reason or "It has no bounds of its own, and cannot be judged while rates are uncertain."
                found.append(Alarm(*said, UNIDENTIFIED if reason else UNJUDGED, caveat=why))
                continue
            lowest, highest = bounds[0][place], bounds[1][place]
            rang = _first((lowest > 0.0) & told, sequences.looks)
            met = _first((highest <= 0.0) & told, sequences.looks)
            if reason:
                found.append(Alarm(*said, UNIDENTIFIED, rang=rang, met=met, caveat=reason))
                continue
            status, mixed = verdict(float(lowest[-1]), float(highest[-1])), False
            if status == BROKEN and constraint.compares_groups and constraint.needs == "decisions":
                alike = residual_bounds(constraint, _same_weights(sequences))
                mixed = alike is not None and bool(alike[0][place] <= 0.0)
            found.append(
                Alarm(
                    *said,
                    status,
                    rang=rang,
                    met=met,
                    lowest=float(lowest[-1]),
                    highest=float(highest[-1]),
                    caveat=MIX if mixed else caveat,
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


def _same_weights(sequences: Sequences) -> RateBounds:
    """Return rates of groups averaged with the same weights of periods in all groups; these are estimates."""
    ends = np.unique(np.linspace(0, len(sequences.looks), min(len(sequences.looks), PERIODS) + 1).round())[1:] - 1
    total = sequences.people[ends.astype(np.int64)]
    taken = np.nan_to_num(sequences.rates.value[ends.astype(np.int64)]) * total
    came, accepted = (np.diff(each, axis=0, prepend=0.0) for each in (total, taken))
    full = (came > 0).all(axis=1)
    groups = total.shape[1]
    rates = sequences.rates.value[-1]
    if full.any():
        rates = np.average(accepted[full] / came[full], axis=0, weights=came[full].sum(axis=1))
    everything = np.concatenate((sequences.overall.value[-1:], rates, np.zeros(2 * groups)))
    return RateBounds(everything, everything)


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
