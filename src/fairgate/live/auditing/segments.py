"""Segments: bounds of every constraint over all rounds and by policy, those of ``fairgate audit``.

A look is a round. A segment is a run of rounds under one policy; where there are many, policies took turns, and each
policy is one segment. Levels are given out in the order in which segments begin, so all bounds hold together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.audit.alarms import Alarm, raise_alarms
from fairgate.audit.audit import OVERALL, levels
from fairgate.audit.reading import SEGMENTS
from fairgate.audit.report import alarm_sentence
from fairgate.audit.sequences import Sequences, Track, follow
from fairgate.live.auditing.report import Bound, GroupBound, Judged, Stretch
from fairgate.live.fold import NEARLY
from fairgate.live.spec import Spec
from fairgate.live.watch import Worth

OWN_RULE = "own rule"
"""What the policy of the mode shadow is called."""


class Tallies:
    """People by round, group, label (0, 1, missing) and decision; grows as rounds come."""

    def __init__(self, groups: int) -> None:
        self.cells = np.zeros((64, groups, 3, 2), dtype=np.int64)
        self.policies: list[str] = []

    @property
    def sound(self) -> bool:
        """Whether there are never fewer than no people."""
        return bool((self.cells >= 0).all())

    def open(self, policy: str) -> None:
        """Begin a round under a policy."""
        self.policies.append(policy)
        if len(self.policies) > len(self.cells):
            self.cells = np.concatenate((self.cells, np.zeros_like(self.cells)))

    def decide(self, round_number: int, group: int, accepted: int, people: int) -> None:
        """Count decisions."""
        self.cells[round_number, group, 2, accepted] += people

    def label(self, origin: int, group: int, label: int, people: int) -> None:
        """Count labels of people whom a round accepted; fewer than none takes labels back."""
        self.cells[origin, group, label, 1] += people
        self.cells[origin, group, 2, 1] -= people


class Segment(NamedTuple):
    """A run of rounds under one policy, or all rounds of a policy where there are many runs."""

    name: str
    number: int  # from 1, in the order they begin
    rounds: NDArray[np.int64]


def segments_of(policies: Sequence[str]) -> list[Segment]:
    """Return the segments of rounds whose policies are given in order.

    >>> [(each.name, each.rounds.tolist()) for each in segments_of(["a", "a", "b", "a"])]
    [('a (segment 1)', [0, 1]), ('b', [2]), ('a (segment 3)', [3])]
    """
    names = np.array(policies)
    if not len(names):
        return []
    begins = np.flatnonzero(np.append(True, names[1:] != names[:-1])).tolist()
    if len(begins) > SEGMENTS:
        first: dict[str, list[int]] = {}
        for place, name in enumerate(policies):
            first.setdefault(name, []).append(place)
        return [Segment(name, k + 1, np.array(rounds)) for k, (name, rounds) in enumerate(first.items())]
    runs = np.split(np.arange(len(names)), begins[1:])
    often = {policies[begin] for begin in begins if sum(policies[each] == policies[begin] for each in begins) > 1}
    return [
        Segment(name if name not in often else f"{name} (segment {k + 1})", k + 1, run)
        for k, (name, run) in enumerate((policies[run[0]], run) for run in runs)
    ]


def stretches(tallies: Tallies, spec: Spec, alpha: float) -> tuple[list[Stretch], int]:
    """Bound all decisions, then each segment; with many, those of most people. Return how many are left out, too."""
    cells = tallies.cells[: len(tallies.policies)]
    if not cells.any() or not tallies.sound:
        return [], 0
    found = segments_of(tallies.policies)
    people = [int(cells[each.rounds].sum()) for each in found]
    largest = set(sorted(range(len(found)), key=lambda place: (-people[place], place))[:SEGMENTS])
    shown = [each for place, each in enumerate(found) if place in largest and people[place]]
    everything = Segment(OVERALL, 0, np.arange(len(cells)))
    made = [_stretch(each, cells[each.rounds], spec, levels(alpha, each.number, True)) for each in (everything, *shown)]
    return made, sum(number > 0 for number in people) - len(shown)


def _stretch(segment: Segment, cells: NDArray[np.int64], spec: Spec, level: float) -> Stretch:
    constraints = spec.setting.problem.constraints
    labels = any(each.needs != "decisions" for each in constraints)
    alike = any(each.compares_groups for each in constraints)
    sequences = follow(segment.name, cells, level, labels=labels, alike=alike)
    totals = cells.sum(axis=0)
    alarms = raise_alarms(sequences, totals, constraints, labelled=True)
    seen = np.flatnonzero(cells.any(axis=(1, 2, 3)))
    groups = [
        GroupBound(name=name, people=int(sequences.people[-1, place]), acceptance=_last(_of_group(sequences, place)))
        for place, name in enumerate(spec.groups)
    ]
    return Stretch(
        name=segment.name,
        first_round=int(segment.rounds[seen[0]]),
        last_round=int(segment.rounds[seen[-1]]),
        people=int(totals.sum()),
        acceptance=_last(sequences.overall),
        groups=groups,
        gap=None if sequences.gap is None else _last(sequences.gap),
        reward=_reward(cells, spec, level),
        labels=int(totals[:, :2].sum()),
        constraints=[_judged(each, segment) for each in alarms],
    )


def _reward(cells: NDArray[np.int64], spec: Spec, level: float) -> Bound | None:
    """Bound the reward per applicant over the first rounds, up to the last whose labels have nearly all come.

    Labels that are missing count as bad in the lower and as good in the upper bound, and as those of the same round in
    the value.
    """
    worth, cost = Worth(), spec.false_positive_cost
    labels = cells[..., 1].sum(axis=1)  # bad, good and missing ones by round
    known = np.flatnonzero(labels[:, :2].sum(axis=1) >= NEARLY * labels.sum(axis=1))
    for row, (bad, good, missing) in zip(cells[: known[-1] + 1] if known.size else (), labels.tolist(), strict=False):
        worth.add(int(row.sum()), bad + good + missing, bad, good, cost)
    found = worth.bounds(level, cost)
    return None if found is None else Bound(value=found[0], low=found[1], high=found[2])


def _judged(alarm: Alarm, segment: Segment) -> Judged:
    def at(look: int | None) -> str:
        return "never" if look is None else f"in round {segment.rounds[look]}"

    low, high = alarm.lowest, alarm.highest
    finite = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
    bound = Bound(value=None, low=low or 0.0, high=high or 0.0) if finite else None
    rang = None if alarm.rang is None else int(segment.rounds[alarm.rang])
    text = alarm_sentence(alarm, at)
    return Judged(
        constraint=alarm.constraint, name=alarm.name, status=alarm.status, rang_in_round=rang, residual=bound, text=text
    )


def _of_group(found: Sequences, place: int) -> Track:
    return Track(found.rates.value[:, place], found.rates.low[:, place], found.rates.high[:, place])


def _last(track: Track) -> Bound:
    value, low, high = (float(each[-1]) for each in (track.value, track.low, track.high))
    return Bound(value=None if np.isnan(value) else value, low=low, high=high)
