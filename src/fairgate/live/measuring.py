"""Measuring: the few numbers of a gate that its metrics show, which cost less than everything the page shows."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fairgate.live.figures import alarms, label_figures, missing_groups
from fairgate.live.fold import Fold
from fairgate.live.spec import Mode

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histograms of times."""

FRESH = 60.0
"""Seconds after which numbers are made again although nothing was recorded: labels become late by time alone."""


class GroupCounts(NamedTuple):
    """People of a group, and how many of them were accepted, in closed rounds."""

    name: str
    people: int
    accepted: int


class Measures(NamedTuple):
    """The numbers of a gate after an event."""

    at: str
    events: int
    rounds: int
    groups: list[GroupCounts]
    arrived: int
    awaited: int
    late: int
    alarms: int
    mode: Mode
    paused: bool


def measure(fold: Fold, at: str) -> Measures:
    """Return the numbers that metrics show."""
    labels, rates = label_figures(fold, at), fold.watches[0].rates
    people, accepted = np.asarray(rates.people), np.asarray(rates.total)  # of everybody, then by group
    groups = [
        GroupCounts(name, int(people[1 + place]), int(accepted[1 + place]))
        for place, name in enumerate(fold.spec.groups)
    ]
    return Measures(
        at=at,
        events=fold.seq,
        rounds=fold.round,
        groups=groups,
        arrived=labels.arrived,
        awaited=labels.awaited,
        late=labels.late,
        alarms=len(alarms(fold, labels, missing_groups(fold))),
        mode=fold.mode.mode,
        paused=fold.paused,
    )


@dataclass
class Commits:
    """How long the transactions of a gate took in this process, and how many failed.

    >>> commits = Commits()
    >>> for seconds in (0.004, 0.004, 30.0):
    ...     commits.note(seconds)
    >>> dict(zip(SECONDS, commits.counts))[0.005], commits.counts[-1], round(commits.seconds, 3)
    (2, 1, 30.008)
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))  # by the bound that they are below
    seconds: float = 0.0
    failures: int = 0

    def note(self, seconds: float) -> None:
        """Note the time of a transaction that is on disk."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.seconds += seconds
