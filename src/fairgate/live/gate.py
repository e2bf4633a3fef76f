"""Gate: decides, takes in outcomes, closes rounds. Everything is in the log before it is answered."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import DBAPIError

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.importing import allowed_names
from fairgate.live import cases, figures, making, saving, views
from fairgate.live.auditing.report import AuditReport
from fairgate.live.clock import is_over
from fairgate.live.database import insert, reading
from fairgate.live.failures import MissingError, UnavailableError
from fairgate.live.fold import Fold
from fairgate.live.handling import handle_all
from fairgate.live.making import VERSIONS, Made, ensure_gates, made_gates
from fairgate.live.measuring import FRESH, Commits, Measures, measure
from fairgate.live.preparing import prepare
from fairgate.live.replies import (
    CaseFacts,
    Closed,
    Decision,
    Decisions,
    Figures,
    LogEvent,
    Recorded,
    Rotated,
    RoundFigures,
    Status,
)
from fairgate.live.requests import (
    Approve,
    Close,
    Correct,
    Decide,
    Outcomes,
    Override,
    Report,
    Request,
    Rotate,
    SetMode,
    Tick,
)
from fairgate.live.schema import gates, snapshots
from fairgate.live.shared import Database
from fairgate.live.spec import Mode, Spec, Trust
from fairgate.live.subjects import commitment
from fairgate.live.turn import Turn

LOG = logging.getLogger("fairgate.live")

GROUP = 1000
"""Most requests that one commit answers."""

WAITING = 20_000
"""Most requests that may wait; more are refused, so that memory stays bounded when the database is too slow."""

ROUNDS = 1000
"""Closed rounds whose figures are kept in memory, at most twice as many: the last ones, and some of all."""

SNAPSHOT_EVENTS, SNAPSHOT_ROUNDS = 5000, 200
"""Events or closed rounds after which a snapshot is kept: folding so many takes some tenths of a second."""


class Waiting(NamedTuple):
    """A request that waits to be written."""

    request: Request
    future: Future[Any]
    since: float  # of the clock that only goes forward


class Standing(NamedTuple):
    """The mode in force, and whether the gate was paused; no mode before the log was read."""

    mode: str
    paused: bool


class Gate:
    """A gate in a database: its log, and the fold of it.

    All calls are safe to make from several threads, and several processes may open the same gate. Requests that wait
    at the same time are written in one transaction, and answered once that is on disk. Gates of one database share
    its connections and the few threads that write.

    Parameters
    ----------
    url
        A file of SQLite such as ``"credit.db"``, or ``"postgresql://user@host/name"``.
    name
        The gate's name.
    spec
        What the gate is for; it is made if there is none of that name. A spec that differs from the stored one is
        refused.
    allow
        Constraints of one's own that the stored spec may name, such as ``["mine:Harm"]``; what `spec` may name is said
        where it is read.
    folder
        Where the table of past decisions is that the stored spec names; the current one if not given.
    clock
        Returns the time now, with its zone; for tests and rehearsals.
    actor
        Who the log says has asked, unless a call says otherwise.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import fairgate as fg
    >>> spec = fg.live.Spec(name="credit", groups=["women", "men"], grid=[0.25, 0.5, 0.75],
    ...                     constraints={"parity": 0.1}, start={"mode": "hold", "threshold": 0.5})
    >>> gate = fg.live.Gate(str(pathlib.Path(tempfile.mkdtemp()) / "credit.db"), "credit", spec=spec)
    >>> gate.decide("a-1", "women", 0.62).accepted
    True
    >>> gate.decide(["a-2", "a-3"], ["men", "women"], [0.4, 0.9]).accepted
    [False, True]
    >>> gate.outcomes(["a-1"], [1]).new, gate.close().round
    (1, 0)
    >>> gate.shut()
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        spec: Spec | None = None,
        allow: Collection[str] = (),
        folder: Path | None = None,
        clock: Callable[[], datetime] | None = None,
        actor: str = "python",
    ) -> None:
        self._join(url, name, clock, actor)
        try:
            prepare(self.engine)
            if spec is not None and spec.name != name:
                raise InputError(f"spec: name must be that of the gate, {name!r}, got {spec.name!r}")
            if spec is not None:
                self._begin(ensure_gates(self.engine, [spec], self._now(), actor)[name], spec.trust)
            else:
                with reading(self.engine) as connection:
                    found = made_gates(connection, [name])
                if name not in found:
                    raise MissingError(f"there is no gate {name!r} in this database")
                self._begin(found[name], Trust(allowed_names(allow), folder))
        except BaseException:
            self.shut()
            raise

    @classmethod
    def open_all(
        cls,
        url: str,
        specs: Sequence[Spec],
        *,
        clock: Callable[[], datetime] | None = None,
        actor: str = "python",
    ) -> list[Self]:
        """Open many gates of a database by a few queries; those that are not there are made. The rest as for one."""
        opened = [cls.__new__(cls) for _ in specs]
        for gate, spec in zip(opened, specs, strict=True):
            gate._join(url, spec.name, clock, actor)
        try:
            if opened:
                prepare(opened[0].engine)
                made = ensure_gates(opened[0].engine, specs, opened[0]._now(), actor)
            for gate, spec in zip(opened, specs, strict=True):
                gate._begin(made[spec.name], spec.trust)
        except BaseException:
            for gate in opened:
                gate.shut()
            raise
        return opened

    def _join(self, url: str, name: str, clock: Callable[[], datetime] | None, actor: str) -> None:
        """Set out with nothing but the database."""
        self.name, self.actor = name, actor
        self.clock = clock or (lambda: datetime.now(UTC))
        self._lock = threading.Lock()  # of the fold
        self._entry = threading.Lock()  # of the requests that wait
        self._waiting: deque[Waiting] = deque()
        self._taken: list[Waiting] = []  # those that are being written
        self._scheduled = False  # whether a thread that writes has the gate, or will
        self._drained = threading.Condition(self._entry)
        self._fold: Fold | None = None
        self._rounds: dict[int, RoundFigures] = {}  # the last closed ones, as the page shows them
        self._kept = 0, 0  # event and round of the last snapshot
        self.commits = Commits()
        self.outside: Counter[str] = Counter()  # scores outside the range that this process refused and clipped
        self._measures: Measures | None = None  # at the last look
        self.standing = Standing("", False)  # after the last event that is on disk
        self.first = self.standing  # when the log was read first
        self.trouble = ""  # why the last request could not be written; nothing if it was
        self.database = Database.at(url)
        self.database.join(self)
        self.engine = self.database.engine

    def _begin(self, made: Made, trust: Trust) -> None:
        """Take over what is stored."""
        self.number, self.secret = made.number, made.secret
        self._made = made.hash
        self.spec = Spec.stored(made.spec, *trust)

    def _now(self) -> str:
        return self.clock().astimezone(UTC).isoformat(timespec="microseconds")

    # What can be asked.

    @overload
    def decide(
        self,
        ids: str,
        groups: str,
        scores: float,
        *,
        subjects: str | None = None,
        key: str | None = None,
        actor: str | None = None,
    ) -> Decision: ...
    @overload
    def decide(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        *,
        subjects: Sequence[str | None] | None = None,
        key: str | None = None,
        actor: str | None = None,
    ) -> Decisions: ...
    def decide(
        self,
        ids: Any,
        groups: Any,
        scores: Any,
        *,
        subjects: Any = None,
        key: str | None = None,
        actor: str | None = None,
    ) -> Any:
        """Decide on one application, or on many under one policy. The same application again gets the same decision.

        So does the same subject within a period, whatever the id of the application.
        """
        single = isinstance(ids, str)
        people = [[each] if single else plain_list(each) for each in (ids, groups, scores)]
        named = () if subjects is None else [subjects] if single else plain_list(subjects)
        return self._ask(Decide(people[0], people[1], people[2], single, named, key=key, actor=actor or self.actor))

    def report(
        self,
        ids: Sequence[str],
        groups: Sequence[str],
        scores: Sequence[float],
        accepted: Sequence[bool],
        *,
        subjects: Sequence[str | None] | None = None,
        key: str | None = None,
        actor: str | None = None,
    ) -> Recorded:
        """Record what the operator's own rule decided, in the mode shadow."""
        named = () if subjects is None else plain_list(subjects)
        ids, groups, scores, accepted = (plain_list(each) for each in (ids, groups, scores, accepted))
        asked = Report(ids, groups, scores, accepted, named, key=key, actor=actor or self.actor)
        found: Recorded = self._ask(asked)
        return found

    def outcomes(
        self,
        ids: Sequence[str] = (),
        labels: Sequence[int] = (),
        *,
        round_number: int | None = None,
        groups: Sequence[str] = (),
        scores: Sequence[float] = (),
        key: str | None = None,
        actor: str | None = None,
    ) -> Recorded:
        """Record what came of accepted applications: 1 is good. A gate that keeps counts takes rounds and scores."""
        given = (plain_list(ids), plain_list(labels), round_number, plain_list(groups), plain_list(scores))
        found: Recorded = self._ask(Outcomes(*given, key=key, actor=actor or self.actor))
        return found

    def correct(
        self,
        ids: Sequence[str],
        labels: Sequence[int],
        reason: str,
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Recorded:
        """Correct labels. Those that the learner has been told already stay as it learnt them; the log has both."""
        asked = Correct(plain_list(ids), plain_list(labels), reason, key=key, actor=actor or self.actor)
        found: Recorded = self._ask(asked)
        return found

    def override(
        self, name: str, accepted: bool, reason: str, *, key: str | None = None, actor: str | None = None
    ) -> Decision:
        """Decide otherwise on an application of the open round, by its id. The learner is not told of it."""
        found: Decision = self._ask(Override(name, accepted, reason, key=key, actor=actor or self.actor))
        return found

    def close(self, round_number: int | None = None, *, key: str | None = None, actor: str | None = None) -> Closed:
        """Close a round, the one now if no number is given; one that is closed already stays as it is."""
        found: Closed = self._ask(Close(round_number, key=key, actor=actor or self.actor))
        return found

    def set_mode(
        self,
        mode: Mode,
        reason: str,
        threshold: float | list[float] | None = None,
        *,
        successor: str = "",
        key: str | None = None,
        actor: str | None = None,
    ) -> Status:
        """Change who decides. The open round is closed first.

        In the mode shadow another gate can be named as `successor`: this one then takes outcomes alone.
        """
        found: Status = self._ask(SetMode(mode, reason, threshold, successor, key=key, actor=actor or self.actor))
        return found

    def hold(self, reason: str, threshold: float | list[float] | None = None, *, actor: str | None = None) -> Status:
        """Hold a threshold, or the policy in force."""
        return self.set_mode("hold", reason, threshold, actor=actor)

    def resume(self, reason: str, *, actor: str | None = None) -> Status:
        """Let the learner decide again."""
        return self.set_mode("learn", reason, actor=actor)

    def approve(self, waiting: str, reason: str, *, key: str | None = None, actor: str | None = None) -> Status:
        """Let the proposal that waits take effect, named by the digest that the status shows."""
        found: Status = self._ask(Approve(waiting, reason, key=key, actor=actor or self.actor))
        return found

    def rotate_secret(self, reason: str, *, key: str | None = None, actor: str | None = None) -> Rotated:
        """Give the gate a new secret, of which draws are made from the next round on. The open round is closed first.

        Who knew the old secret cannot foresee draws of later rounds; those of closed rounds stay checkable.
        """
        found: Rotated = self._ask(Rotate(reason, key=key, actor=actor or self.actor))
        return found

    def tick(self) -> None:
        """Close the round if its time is over; if the last request could not be written, try whether one can be."""
        self.read()
        if self.due:
            self._ask(Tick(actor="clock"))

    @property
    def due(self) -> bool:
        """Whether a tick has anything to do, by as much of the log as was read."""
        fold, seconds = self._fold, self.spec.rounds.seconds
        now = None if fold is None else fold.open
        over = now is not None and seconds is not None and is_over(now.at, self._now(), seconds)
        return over or self.trouble != ""

    def _ask(self, request: Request) -> Any:
        return self.submit(request).result()

    # What can be looked at.

    def read(self) -> None:
        """Read what the log has got since it was read last; all of it at first."""
        with self._lock, reading(self.engine) as connection:
            fold = self._caught_up(connection)
            self.standing = Standing(fold.mode.mode, fold.paused)
            self.first = self.first if self.first.mode else self.standing

    @property
    def last(self) -> int:
        """The last event that was read; 0 if none was: requests then wait until the log has been read."""
        fold = self._fold
        return 0 if fold is None else fold.seq

    @property
    def measures(self) -> Measures | None:
        """The numbers that metrics show, by as much of the log as was read; the last ones while it is read again.

        Numbers that cannot have changed are not counted again.
        """
        with self._lock:
            fold, kept, now = self._fold, self._measures, self.clock()
            old = kept is None or abs((now - datetime.fromisoformat(kept.at)).total_seconds()) > FRESH
            if fold is not None and (kept is None or old or kept.events != fold.seq):
                kept = self._measures = measure(fold, self._now())
            return kept

    def status(self) -> Status:
        """Return what is in force now."""
        with self._lock, reading(self.engine) as connection:
            return views.status(self._caught_up(connection))

    def figures(self, rounds: int = 200, *, whole: bool = False) -> Figures:
        """Return everything the page shows, with the last `rounds` rounds; or, of the whole history, at most so many.

        Of a longer history every 2nd, 4th, 8th … round is returned.
        """
        with self._lock, reading(self.engine) as connection:
            found = figures.figures(self._caught_up(connection), self._now())
        wanted = figures.rounds_shown(found.status.round, rounds, whole=whole)
        with reading(self.engine) as connection:  # closed rounds do not change: nobody has to wait while they are read
            history = figures.history(self.spec, connection, self.number, wanted, self._rounds)
        kept = {**self._rounds, **{each.round: each for each in history[-ROUNDS:]}}
        self._rounds = kept if len(kept) <= 2 * ROUNDS else {each.round: each for each in history[-ROUNDS:]}
        return found.model_copy(update={"history": history})

    def case(self, name: str) -> CaseFacts:
        """Return why an application was accepted or rejected, by its id."""
        with reading(self.engine) as connection:
            return cases.find_case(self.spec, connection, self.number, name)

    def cases(self, after: tuple[int, int] = (0, 0), limit: int = 100) -> list[CaseFacts]:
        """Return applications in the order they were decided, those after an event and a place in it."""
        with reading(self.engine) as connection:
            return cases.list_cases(self.spec, connection, self.number, after, limit)

    def log(self, after: int = 0, limit: int = 100, *, newest: bool = False, kind: str | None = None) -> list[LogEvent]:
        """Return events after a number; the `newest` before it (or of all, if 0) first, if that is asked for."""
        with reading(self.engine) as connection:
            return views.log(connection, self.number, after, limit, newest, kind)

    def snapshot(self) -> dict[str, Any]:
        """Return everything the gate knows as plain data, the learner's state included."""
        with self._lock, reading(self.engine) as connection:
            return saving.save(self._caught_up(connection))

    def audit(self) -> AuditReport:
        """Recompute every hash, draw, decision, count and policy; see :func:`fairgate.live.audit.audit_log`."""
        from fairgate.live.audit import audit_log

        return audit_log(self)

    # How it is written.

    def submit(self, request: Request) -> Future[Any]:
        """Queue a request for the threads that write; the reply comes when it is on disk."""
        future: Future[Any] = Future()
        with self._entry:
            if len(self._waiting) >= WAITING:
                raise UnavailableError(f"more than {WAITING} requests are waiting: send the request again later")
            self._waiting.append(Waiting(request, future, time.monotonic()))
            if not self._scheduled:
                self._scheduled = True
                self.database.writers.put(self._write)
        return future

    @property
    def waiting(self) -> int:
        """Requests that wait until they are on disk."""
        return len(self._waiting) + len(self._taken)

    @property
    def waited(self) -> float:
        """Seconds that the oldest of them has waited."""
        with self._entry:
            first = next(iter(self._taken or self._waiting), None)
        return 0.0 if first is None else time.monotonic() - first.since

    def shut(self) -> None:
        """Answer what is waiting, and close the connections if no other gate uses them."""
        with self._entry:
            while self._scheduled:
                self._drained.wait()
        self.database.leave(self)

    def _write(self) -> bool:
        """Answer requests, as many at a time as are waiting; true if others came meanwhile."""
        with self._entry:
            self._taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP))]
        self._answer([(each.request, each.future) for each in self._taken])
        with self._entry:
            self._taken = []
            more = self._scheduled = bool(self._waiting)
            if not more:
                self._drained.notify_all()
        return more

    def _answer(self, asked: list[tuple[Request, Future[Any]]]) -> None:
        """Answer requests that nobody has taken back."""
        self._settle([(request, future) for request, future in asked if future.set_running_or_notify_cancel()])

    def _settle(self, asked: list[tuple[Request, Future[Any]]]) -> None:
        """Handle requests in one transaction, and answer them; one that fails unexpectedly does so alone."""
        began = time.monotonic()
        try:
            replies = self._turn([request for request, _ in asked])
            self.trouble = ""
            self.commits.note(time.monotonic() - began)
        except UnavailableError as error:
            self.commits.failures += 1
            replies, self.trouble = [error] * len(asked), str(error)
        except Exception as error:
            if len(asked) > 1:
                for each in asked:
                    self._settle([each])
                return
            replies = [error]
        for (_, future), reply in zip(asked, replies, strict=True):
            if isinstance(reply, Exception):
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def _turn(self, requests: Sequence[Request]) -> list[Any]:
        """Handle requests in one transaction and return replies; bad input is its request's reply."""
        if self._fold is None:
            self.read()  # here, where other gates can be written meanwhile
        with self._lock:
            try:
                with self.database.writing() as connection:
                    fold = self._caught_up(connection, lock=True)
                    last = fold.seq
                    turn = Turn(connection, self.number, self.secret, fold, self._now())
                    if (fold.library, fold.versions, fold.rules) != (__version__, VERSIONS, making.RULES):
                        goes_on = {"library": __version__, "versions": VERSIONS, **making.RULES}
                        turn.record("version", goes_on, Request(actor="library"))
                    replies = handle_all(turn, requests)
                    turn.flush()
                    if fold.seq != last or self.trouble:
                        moved = {"last": fold.seq, "head": fold.head}
                        connection.execute(update(gates).where(gates.c.number == self.number).values(**moved))
                        self._keep(connection, fold)
                self.outside += turn.outside
                self.standing = Standing(fold.mode.mode, fold.paused)
                return replies
            except BaseException:
                self._fold = None  # it may be ahead of what was written
                raise

    def _keep(self, connection: Connection, fold: Fold) -> None:
        """Keep a snapshot if the last one is long ago, and the one before."""
        seq, number = self._kept
        if fold.seq - seq < SNAPSHOT_EVENTS and fold.round - number < SNAPSHOT_ROUNDS:
            return
        row: dict[str, Any] = {
            "gate": [self.number],
            "seq": [fold.seq],
            "library": [__version__],
            "state": [json.dumps(saving.save(fold))],
        }
        insert(connection, snapshots, row)
        connection.execute(snapshots.delete().where(snapshots.c.gate == self.number, snapshots.c.seq < seq))
        self._kept = fold.seq, fold.round

    def _caught_up(self, connection: Connection, *, lock: bool = False) -> Fold:
        """Return the fold of all events; those that others wrote are read. The gate's row can be locked first."""
        asked = select(gates.c.last, gates.c.head, gates.c.secret).where(gates.c.number == self.number)
        row = connection.execute(asked.with_for_update() if lock else asked).first()
        if row is not None and row.secret != self.secret and self._rotated(connection, row.secret):
            self.secret = row.secret
        if row is None or row.secret != self.secret:
            raise UnavailableError(
                f"the gate {self.name!r} was made again, or another database is in its place: open it again"
            )
        end = row.last, row.head
        try:
            found = None if self._fold is None else self._followed(connection, self._fold, end)
            if found is None and (kept := self._from_snapshot(connection)) is not None:
                found = self._followed(connection, kept, end)
            if found is None:
                self._kept = 0, 0
                found = self._followed(connection, Fold(self.spec), end)
        except BaseException:
            self._fold = None  # it may have taken in half of an event
            raise
        self._fold = found
        if found is None:
            raise UnavailableError(f"the log of the gate {self.name!r} does not fit together: audit it")
        return found

    def _rotated(self, connection: Connection, secret: bytes) -> bool:
        """Whether a secret is the one that the log of this gate, and no other, gave it last."""
        given = views.log(connection, self.number, 0, 1, newest=True, kind="rotated")
        mine = views.created_hash(connection, self.number) == self._made
        return mine and bool(given) and given[0].body["commitment"] == commitment(secret)

    def _followed(self, connection: Connection, fold: Fold, end: tuple[int, str]) -> Fold | None:
        """Take in the events after a fold; None if they do not follow it, as when an older copy was put in place."""
        try:
            if fold.seq < end[0]:
                for event in views.events_after(connection, self.number, fold.seq):
                    if not event.fits(fold.head):
                        return None
                    fold.apply(event)
        except DBAPIError:
            raise
        except Exception:
            LOG.exception("the events of the gate %s after %s cannot be followed", self.name, fold.seq)
            return None
        return fold if (fold.seq, fold.head) == end else None

    def _from_snapshot(self, connection: Connection) -> Fold | None:
        """Return the newest fold that was kept by this version of the library, if there is one that can be read."""
        kept = connection.execute(
            select(snapshots)
            .where(snapshots.c.gate == self.number, snapshots.c.library == __version__)
            .order_by(snapshots.c.seq.desc())
            .limit(1)
        ).first()
        if kept is None:
            return None
        try:
            fold = saving.load(self.spec, json.loads(kept.state))
        except Exception:
            LOG.exception("the snapshot of the gate %s cannot be read, and is not needed", self.name)
            return None
        self._kept = fold.seq, fold.round
        return fold


def plain_list(column: Any) -> list[Any]:
    """Return a column as a list of plain values."""
    return column.tolist() if hasattr(column, "tolist") else list(column)
