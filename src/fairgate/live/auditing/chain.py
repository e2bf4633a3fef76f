"""Chain: whether each event follows the one before, without a hole, and has the hash of what it holds."""

from __future__ import annotations

from fairgate.live.auditing.report import Findings
from fairgate.live.events import START, Event, chained


class Chain:
    """Follows the chain of hashes from the first event on.

    After an event that does not fit, the next may follow its hash as it is stored (the event was changed) or as it
    should be (the hash was): one change is one finding.
    """

    def __init__(self, findings: Findings, noted: str | None = None) -> None:
        self.findings = findings
        self.last = 0
        self.head = START
        self.noted = noted  # a hash that an auditor noted earlier
        self.noted_at: int | None = 0 if noted in (None, START) else None
        self._heads = {START}

    def follow(self, event: Event) -> bool:
        """Check the next event; return whether it fits."""
        if not isinstance(event.seq, int):
            self._add(event, f"its number must be a whole number, found {event.seq!r}")
            return False
        if event.seq != self.last + 1:
            self._hole(event)
        should = {_hash(before, event) for before in self._heads}
        fits = event.hash in should
        if not fits:
            self._add(
                event,
                f"its hash is {_short(event.hash)}, and what it holds after event {event.seq - 1} "
                f"gives {_short(min(should))}",
            )
        self._heads = {event.hash} if fits else {event.hash, *should}
        self.last, self.head = event.seq, event.hash
        if event.hash == self.noted:
            self.noted_at = event.seq
        return fits

    def _hole(self, event: Event) -> None:
        missing = self.last + 1
        if event.seq < missing:
            self._add(event, f"it comes after event {self.last}")
        else:
            some = f"event {missing} is" if event.seq == missing + 1 else f"events {missing} to {event.seq - 1} are"
            self.findings.add(missing, "", "", f"{some} missing: event {self.last} is followed by event {event.seq}")

    def _add(self, event: Event, text: str) -> None:
        seq = event.seq if isinstance(event.seq, int) else self.last + 1
        self.findings.add(seq, str(event.kind), str(event.at), text)


def _hash(before: str, event: Event) -> str:
    try:
        return chained(before, event[:-1])
    except (TypeError, ValueError):  # a column holds what no event can
        return ""


def _short(text: object) -> str:
    return f"{str(text)[:12]}…" if text else "no hash"
