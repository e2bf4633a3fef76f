"""Gate: decides, takes in outcomes, closes rounds; each in a transaction of the log, many to a commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, overload

from fairgate.live.replies import CaseFacts, Closed, Decision, Decisions, Figures, LogEvent, Recorded, Status
from fairgate.live.spec import Mode, Spec


class Gate:
    """A gate in a database."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        spec: Spec | None = None,
        clock: Callable[[], datetime] | None = None,
        actor: str = "python",
    ) -> None:
        """Open the gate `name`; with a `spec`, make it if there is none (another spec than the stored one is refused)."""

    @overload
    def decide(
        self, ids: str, groups: str, scores: float, *, key: str | None = None, actor: str | None = None
    ) -> Decision: ...
    @overload
    def decide(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Decisions: ...
    def decide(self, ids: Any, groups: Any, scores: Any, *, key: str | None = None, actor: str | None = None) -> Any:
        """Decide on one application or on many."""
        raise NotImplementedError

    def report(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        accepted: Sequence[bool],
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Recorded:
        """Record decisions that the operator's own rule made, in the mode shadow."""
        raise NotImplementedError

    def outcomes(
        self, ids: Sequence[str], labels: Sequence[int], *, key: str | None = None, actor: str | None = None
    ) -> Recorded:
        """Record labels."""
        raise NotImplementedError

    def correct(
        self,
        ids: Sequence[str],
        labels: Sequence[int],
        reason: str,
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Recorded: ...
    def override(
        self, id: str, accepted: bool, reason: str, *, key: str | None = None, actor: str | None = None
    ) -> Decision: ...
    def close(self, round_number: int | None = None, *, key: str | None = None, actor: str | None = None) -> Closed: ...
    def set_mode(
        self,
        mode: Mode,
        reason: str,
        threshold: float | list[float] | None = None,
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Status: ...
    def hold(
        self, reason: str, threshold: float | list[float] | None = None, *, actor: str | None = None
    ) -> Status: ...
    def resume(self, reason: str, *, actor: str | None = None) -> Status: ...
    def approve(self, waiting: str, reason: str, *, key: str | None = None, actor: str | None = None) -> Status: ...
    def tick(self) -> None:
        """Close the round if its time is over."""

    def status(self) -> Status: ...
    def figures(self, rounds: int = 200) -> Figures: ...
    def case(self, id: str) -> CaseFacts: ...
    def log(self, after: int = 0, limit: int = 100) -> list[LogEvent]: ...
    def cases(self, after: tuple[int, int] = (0, 0), limit: int = 100) -> list[CaseFacts]: ...
    def snapshot(self) -> dict[str, Any]:
        """The fold as plain data: learner's state and all counters."""
        raise NotImplementedError

    def audit(self) -> Any: ...
    def submit(self, request: Any) -> Future[Any]:
        """Queue a request for the writer thread, which commits many at once; the service awaits this."""
        raise NotImplementedError

    def shut(self) -> None: ...
