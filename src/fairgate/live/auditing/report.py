"""Report: what an audit of a gate's log found, as plain data and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from fairgate.errors import printable

MANY = 50
"""Most findings that are kept; of the others only the number is."""


Verdict = Literal["clean", "versions", "findings"]
"""Nothing differs; only proposals do, and another version made them; something else does."""


class Part(BaseModel):
    """A part of the report."""

    model_config = ConfigDict(frozen=True)


class Finding(Part):
    """Something that does not fit: the event, and in one sentence what was found and what was expected."""

    seq: int
    kind: str
    at: str
    text: str

    def __str__(self) -> str:
        event = f"event {self.seq}" + (f" ({self.kind}, {self.at})" if self.kind else "")
        return f"{event}: {self.text}"


class VersionChange(Part):
    """Rounds whose policy another library recomputes differently: who made them, and who recomputed them."""

    made_by: str
    recomputed_by: str
    rounds: list[int]
    text: str


class Bound(Part):
    """A figure and its bounds."""

    value: float | None
    low: float
    high: float


class GroupBound(Part):
    """Acceptance of a group."""

    name: str
    people: int
    acceptance: Bound


class Judged(Part):
    """What is known of one requirement of a constraint."""

    constraint: str
    name: str
    status: str
    rang_in_round: int | None  # the first at which it was broken
    residual: Bound | None
    text: str


class Stretch(Part):
    """Decisions of all rounds, or of a run of rounds under one policy."""

    name: str
    first_round: int
    last_round: int
    people: int
    acceptance: Bound
    groups: list[GroupBound]
    gap: Bound | None
    reward: Bound | None  # per applicant, from labels that arrived
    labels: int
    constraints: list[Judged]


class AuditReport(Part):
    """Everything an audit found.

    Attributes
    ----------
    first
        The first event that does not fit; None if all do.
    findings, count
        What does not fit, in the order of events, the first 50 of it; and how much it is.
    versions
        Proposals that differ where another version of the library or of numpy made them, which may explain it.
    unchecked
        What could not be checked, in sentences, such as draws of a round whose secret is not yet revealed.
    remarks
        What is no fault and worth to know, such as a clock that went back.
    pruned
        The last round whose rows were removed; None if none were.
    stretches
        Bounds of every constraint: of all decisions, then by policy segment.
    """

    clean: bool  # whether everything fits, and was recomputed alike
    verdict: Verdict
    gate: str
    source: str
    last: int
    head: str
    events: int
    rounds: int
    decisions: int
    labels: int
    first: Finding | None
    findings: list[Finding]
    count: int
    versions: list[VersionChange]
    unchecked: list[str]
    remarks: list[str]
    pruned: int | None
    alpha: float
    hidden: int  # segments that are not among the stretches
    stretches: list[Stretch]
    seconds: float

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.model_dump()


class Findings:
    """Collects what does not fit. Memory stays small however much it is."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[tuple[bool, int, int, Finding]] = []

    def add(self, seq: int, kind: str, at: str, text: str, *, late: bool = False) -> None:
        """Add a finding; a `late` one comes after all others, as it may follow from one of them."""
        self.count += 1
        self._kept.append(
            (late, seq, self.count, Finding(seq=seq, kind=printable(kind), at=printable(at), text=printable(text)))
        )
        if len(self._kept) >= 2 * MANY:
            self._kept = sorted(self._kept, key=lambda kept: kept[:3])[:MANY]

    @property
    def found(self) -> Sequence[Finding]:
        """The first findings, in the order of events."""
        return [kept[-1] for kept in sorted(self._kept, key=lambda kept: kept[:3])[:MANY]]
