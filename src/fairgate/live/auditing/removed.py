"""Removed: whether each event that says rows were pruned says truly which: all of it follows from other events."""

from __future__ import annotations

import bisect
import hashlib
from datetime import datetime, timedelta
from typing import Any

from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.log import Log
from fairgate.live.spec import Spec

SLACK = timedelta(minutes=1)
"""By how much the time of an event may be before that at which it was prepared: clocks are set."""

NAMES = ("cases", "outcomes", "overrides", "awaited")


class Part:
    """Rounds that one event pruned, and what they had until then."""

    def __init__(self, seq: int, through: int) -> None:
        self.seq = seq
        self.through = through
        self.counts = dict.fromkeys(NAMES, 0)
        self.digests = hashlib.sha256()
        self.closed: datetime | None = None  # the last of the rounds


class Removed:
    """The rounds whose rows were pruned; it is told every event, in order."""

    def __init__(self, log: Log) -> None:
        self.parts: list[Part] = []
        for event in log.events("pruned"):
            try:
                through = int(event.data["through"])
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
                continue  # the event itself is checked later
            if through > self.through:
                self.parts.append(Part(event.seq, through))
        self._ends = [each.through for each in self.parts]

    @property
    def through(self) -> int:
        """The last round whose rows were pruned; −1 if none were."""
        return self.parts[-1].through if self.parts else -1

    def note(self, parsed: Parsed) -> None:
        """Count what an event added to rounds that were pruned later."""
        event, data = parsed
        if not self.parts:
            return
        if event.kind in ("decided", "reported", "overridden"):
            part = self._part(event.round, event.seq)
            if part is None:
                return
            if event.kind == "overridden":
                part.counts["overrides"] += 1
                part.counts["awaited"] += data["accepted"] - data["before"]
            else:
                part.counts["cases"] += data["people"]
                part.counts["awaited"] += sum(row[3] for row in data["tally"] if row[2] == 1)
                part.digests.update(f"{data['digest']}\n".encode())
        elif event.kind == "closed":
            part = self._part(event.round, event.seq)
            if part is not None:
                at = datetime.fromisoformat(event.at)
                part.closed = at if part.closed is None else max(part.closed, at)
        elif event.kind in ("outcomes", "corrected"):
            for name in ("tally", "aside", "told"):
                for origin, _, _, _, number in data.get(name, ()):
                    part = self._part(origin, event.seq)
                    if part is not None:
                        part.counts["outcomes"] += number
                        part.counts["awaited"] -= number if event.kind == "outcomes" else 0

    def check(self, parsed: Parsed, spec: Spec | None) -> str:
        """Say what is wrong with an event that says rows were pruned."""
        event, data = parsed
        place = next((k for k, each in enumerate(self.parts) if each.seq == event.seq), None)
        if place is None:
            return "it says that rows were pruned, and names no round that had any"
        part = self.parts[place]
        first = 1 + (self.parts[place - 1].through if place else -1)
        should: dict[str, Any] = {"first": first, **part.counts, "digest": part.digests.hexdigest()}
        wrong = next((name for name in should if data.get(name) != should[name]), None)
        if part.through >= event.round:
            return f"it says that rows of round {part.through} were pruned, which was not closed"
        if wrong is not None:
            return f"it says that {wrong} of the pruned rows is {data.get(wrong)}, and the log has {should[wrong]}"
        return _early(parsed, part, spec)

    def _part(self, number: int, seq: int) -> Part | None:
        """Return the part that a round belongs to, if it was pruned after an event."""
        place = bisect.bisect_left(self._ends, number)
        return self.parts[place] if place < len(self.parts) and seq < self.parts[place].seq else None


def _early(parsed: Parsed, part: Part, spec: Spec | None) -> str:
    """Say whether rows went too early: of a round that closed too late, or while labels were due."""
    before, at = (datetime.fromisoformat(each) for each in (str(parsed.data["before"]), parsed.event.at))
    if part.closed is None or part.closed >= before:
        return f"it prunes rounds that closed before {before.isoformat()}, and round {part.through} closed later"
    days = (at - before + SLACK) / timedelta(days=1)
    if spec is not None and days < spec.label_due_days:
        return f"it prunes rounds closed {days:.3g} days before it, and labels are due in {spec.label_due_days:g} days"
    if spec is not None and spec.subjects is not None and days < spec.subjects.days:
        return f"it prunes rounds closed {days:.3g} days before it, and subjects are remembered {spec.subjects.days:g}"
    return ""
