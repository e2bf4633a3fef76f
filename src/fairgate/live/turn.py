"""Turn: requests handled in one transaction. Each is checked before anything changes, then recorded as events."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from fairgate.errors import InputError, unknown_name
from fairgate.live.clock import is_over
from fairgate.live.database import find, insert
from fairgate.live.events import Event, People, draws_of, make_event, round_secret
from fairgate.live.failures import MissingError
from fairgate.live.fold import Fold, plain_policy
from fairgate.live.played import same
from fairgate.live.requests import (
    LONGEST_ID,
    Decide,
    Report,
    Request,
)
from fairgate.live.schema import cases, events, gates, overrides
from fairgate.live.subjects import Period, commitment, counted_days, draw_key, following, hidden
from fairgate.settings import Array

LOG = logging.getLogger("fairgate.live")


class Turn:
    """The handling of requests in one transaction, which the caller begins and commits.

    Events are applied to the fold at once; rows are written together. If anything fails unexpectedly, the caller rolls
    back and drops the fold. Bad input is found before anything changes, so that other requests are not affected.
    """

    def __init__(self, connection: Connection, number: int, secret: bytes, fold: Fold, at: str) -> None:
        self.connection, self.number, self.secret, self.fold, self.at = connection, number, secret, fold, at
        self.groups = {name: code for code, name in enumerate(fold.spec.groups)}
        self.keeps = fold.spec.store == "cases"
        self.events: list[Event] = []
        self.rows: dict[str, list[Any]] = {name: [] for name in ROWS}
        self.main: Event | None = None  # the last one that holds a request's key
        self.outside: Counter[str] = Counter()  # scores outside the range, by what became of them
        self._periods: list[Period | None] = []  # that of the round opened last, once it was looked at
        self._keys: dict[str, bytes] = {}  # of pseudonyms, by when their period began

    def record(self, kind: str, data: dict[str, Any], request: Request, *, main: bool = False) -> Event:
        """Append an event to the log and take it in; the `main` one of a request holds its key."""
        key = request.stored_key if main else None
        event = make_event(
            self.fold.head,
            self.fold.seq + 1,
            kind,
            self.fold.round,
            data,
            self.at,
            request.actor,
            key,
            None if key is None else request.digest,
        )
        self.fold.apply(event, data)
        self.events.append(event)
        if main:
            self.main = event
        return event

    def flush(self) -> None:
        """Write events and rows of people that are waiting, so that queries find them."""
        if self.events:
            columns = zip(*self.events, strict=True)
            named = dict(zip(Event._fields, columns, strict=True))
            insert(self.connection, events, {"gate": [self.number] * len(self.events), **named})
            self.events = []
        if self.rows["id"]:
            insert(self.connection, cases, {"gate": [self.number] * len(self.rows["id"]), **self.rows})
            self.rows = {name: [] for name in ROWS}

    # Rounds.

    def secret_of(self, number: int) -> bytes:
        """Return the secret that the draws of a round are made of; that of a closed one is in the log."""
        if number < self.fold.round:
            return bytes.fromhex(self.one_event("closed", number).data["secret"])
        return round_secret(self.secret, number)

    def rotate(self, reason: str, request: Request) -> Event:
        """Give the gate a new secret; no round is open. The key that draws of subjects were made of is revealed."""
        last = self._period()
        revealed = None if last is None or self._rotated(last) else draw_key(self.secret, last.since).hex()
        self.secret = secrets.token_bytes(32)
        data = {"commitment": commitment(self.secret), "reason": reason, "revealed": revealed}
        self.connection.execute(update(gates).where(gates.c.number == self.number).values(secret=self.secret))
        return self.record("rotated", data, request, main=True)

    # Subjects.

    def _period(self) -> Period | None:
        """Return the period of the round that was opened last; None if there is none."""
        if not self._periods:
            number = self.fold.round - (self.fold.open is None)
            has = self.fold.spec.subjects is not None and number >= 0
            self._periods = [Period.read(self.one_event("opened", number).data["subjects"]) if has else None]
        return self._periods[-1]

    def _rotated(self, period: Period) -> bool:
        """Whether the gate has another secret since the key of draws of a period was made."""
        return commitment(draw_key(self.secret, period.since)) != period.commitment

    def _next_period(self) -> Period:
        """Return the period of the next decision: that of the open round, or of the one that would be opened."""
        last, subjects = self._period(), self.fold.spec.subjects
        if subjects is None:
            raise InputError(UNKNOWN_SUBJECTS)
        if last is not None and self.fold.open is not None and not self.over:
            return last
        number = self.fold.round + (self.fold.open is not None)
        rotated = last is not None and self._rotated(last)
        since, began = following(last, rotated, number, self.at, subjects.days, counted_days(self.fold.clock, self.at))
        return Period(since, began, commitment(draw_key(self.secret, since)), commitment(self._pseudonym_key(began)))

    def _pseudonym_key(self, began: str) -> bytes:
        """Return the key of pseudonyms of the period that began at a time; one that begins now gets a new one."""
        if began not in self._keys:
            last = self._period()
            stored = select(gates.c.subject_key).where(gates.c.number == self.number)
            kept = last is not None and last.began == began
            self._keys[began] = self.connection.execute(stored).scalar_one() if kept else secrets.token_bytes(32)
        return self._keys[began]

    def _open_period(self) -> dict[str, Any]:
        """Return what the event that opens a round says of subjects; the key of a period that ends is revealed."""
        last, now = self._period(), self._next_period()
        ends = last is not None and now.since != last.since and not self._rotated(last)
        if last is None or now.began != last.began:
            key = self._pseudonym_key(now.began)
            self.connection.execute(update(gates).where(gates.c.number == self.number).values(subject_key=key))
        self._periods = [now]
        revealed = draw_key(self.secret, last.since).hex() if last is not None and ends else None
        return {**now._asdict(), "revealed": revealed}

    def hidden(self, subjects: Sequence[str | None]) -> list[str]:
        """Return pseudonyms as the period of the next decision stores them; nothing if none are given."""
        return hidden(self._pseudonym_key(self._next_period().began), subjects) if any(subjects) else []

    def draws(self, ids: list[str], subjects: Sequence[str]) -> Array:
        """Return the draws of applications in the open round: those of their subjects, where they have one."""
        found = draws_of(self.secret_of(self.fold.round), ids)
        period = self._period()
        if period is not None and any(subjects):
            mine = np.array([bool(each) for each in subjects])
            found[mine] = draws_of(draw_key(self.secret, period.since), [each for each in subjects if each])
        return found

    def ensure_open(self, request: Request) -> None:
        """Open a round if none is; one whose time is over is closed first."""
        self.close_if_over(request)
        if self.fold.open is not None:
            return
        opening = self.fold.plan()
        if self.fold.error and not self.fold.failure:
            self.give_up_learner(request)
            opening = self.fold.opening(None)
        fold, policy = self.fold, opening.policy
        data = {
            "mode": fold.mode.mode,
            "policy": plain_policy(policy),
            "since": fold.force_round if same(policy, fold.force) else fold.round,
            "proposal": plain_policy(opening.proposal),
            "allowed": plain_policy(opening.allowed),
            "commitment": hashlib.sha256(self.secret_of(self.fold.round)).hexdigest(),
            "guards": opening.guards,
            "waiting": opening.waiting,
        }
        if self.fold.spec.subjects is not None:
            data["subjects"] = self._open_period()
        self.record("opened", data, request)

    @property
    def over(self) -> bool:
        """Whether the time of the open round is over."""
        now, seconds = self.fold.open, self.fold.spec.rounds.seconds
        return now is not None and seconds is not None and is_over(now.at, self.at, seconds)

    def close_if_over(self, request: Request) -> None:
        """Close the open round if its time is over."""
        if self.over:
            self.close_round("time", request)

    def close_if_full(self, request: Request) -> None:
        """Close the open round if as many people came as a round is for."""
        now, most = self.fold.open, self.fold.spec.rounds.people
        if now is not None and most is not None and now.counts.sum() >= most:
            self.close_round("people", request)

    def close_round(self, why: str, request: Request) -> Event:
        """Close the open round, and pause the learner if a guard asks for it."""
        secret = self.secret_of(self.fold.round).hex()
        data = {"why": why, "secret": secret, **self.fold.closing()}
        known = self.fold.ringing
        closed = self.record("closed", data, request, main=why == "call")
        for name, ring in self.fold.ringing.items():
            if name not in known:
                LOG.warning("the gate %s: %s", self.fold.spec.name, ring.text)
        if self.fold.error and not self.fold.failure:
            self.give_up_learner(request)
        else:
            self.pause_if_due(request)
        return closed

    def pause_if_due(self, request: Request) -> None:
        """Pause the learner if a guard asks for it."""
        pause = self.fold.pause_due(self.at)
        if pause is not None:
            self.record("paused", pause, request)

    def give_up_learner(self, request: Request) -> None:
        """Record that the learner failed: it is not asked any more, and decisions go on without it."""
        self.record("failed", {"text": self.fold.error}, request)
        self.pause_if_due(request)

    # Requests.

    def add(self, kind: str, people: People, request: Request) -> Event:
        """Record people decided on in the open round."""
        tally = self._tally(people)
        digest = people.digest if self.keeps else ""
        event = self.record(kind, {"people": len(people.ids), "tally": tally, "digest": digest}, request, main=True)
        if self.keeps:
            count = len(people.ids)
            self.rows["seq"] += [event.seq] * count
            self.rows["place"] += range(count)
            self.rows["round"] += [event.round] * count
            numbers = (each.tolist() for each in people[1:6])
            named = [each or None for each in people.subjects] or [None] * count
            for name, column in zip(ROWS[3:], (people.ids, *numbers, named), strict=True):
                self.rows[name] += column
        return event

    def _tally(self, people: People) -> list[list[int]]:
        flat = np.ravel_multi_index((people.groups, people.bins, people.accepted), self.fold.shape)
        if len(flat) == 1:
            return [[int(people.groups[0]), int(people.bins[0]), int(people.accepted[0]), 1]]
        places, numbers = np.unique(flat, return_counts=True)
        found: list[list[int]] = np.column_stack((*np.unravel_index(places, self.fold.shape), numbers)).tolist()
        return found

    def people_of(self, request: Decide | Report) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Return groups, scores and bins of a request, or say what is wrong with it."""
        ids, groups, scores = request.ids, request.groups, request.scores
        if not len(ids) == len(groups) == len(scores):
            raise InputError(
                f"ids, groups and scores must be equally many, got {len(ids)}, {len(groups)} and {len(scores)}"
            )
        check_ids(ids)
        if any(each is not None for each in request.subjects):
            self.check_subjects(request)
        codes = [self.groups.get(each, -1) for each in groups]
        if -1 in codes:
            raise unknown_name("group", groups[codes.index(-1)], self.groups)
        values = _numbers(scores)
        self.check_range(values, single=isinstance(request, Decide) and request.single)
        return np.array(codes, dtype=np.int64), values, self.bins_of(values)

    def check_subjects(self, request: Decide | Report) -> None:
        """Refuse subjects that do not fit; no sentence repeats one."""
        subjects = request.subjects
        if self.fold.spec.subjects is None:
            raise InputError(UNKNOWN_SUBJECTS)
        if len(subjects) != len(request.ids):
            raise InputError(f"subjects must be one per application, {len(request.ids)}, got {len(subjects)}")
        first: dict[str, int] = {}
        for place, each in enumerate(subjects):
            if each is None:
                continue
            if not isinstance(each, str) or not 0 < len(each) <= LONGEST_ID or not each.isprintable():
                name = "subject" if isinstance(request, Decide) and request.single else f"subjects[{place}]"
                raise InputError(f"{name} must be text of 1 to {LONGEST_ID} printable characters, or none")
            if each in first:
                raise InputError(f"subjects must be different, and those at {first[each]} and {place} are the same")
            first[each] = place

    def check_range(self, scores: Array, *, single: bool) -> None:
        """Refuse scores outside the range of the gate; those that are clipped are counted."""
        spec, (low, high) = self.fold.spec, self.fold.spec.score_range
        wrong = np.flatnonzero((scores < low) | (scores > high))
        if not wrong.size:
            return
        if spec.scores.outside == "clip":
            self.outside["clipped"] += wrong.size
            return
        self.outside["refused"] += wrong.size
        name, value = "score" if single else f"scores[{wrong[0]}]", float(scores[wrong[0]])
        raise InputError(
            f"{name} must be from {low:g} to {high:g}, the range of the gate's scores (range in [scores], with outside "
            f'= "refuse"), got {value!r}'
        )

    def bins_of(self, scores: Array) -> NDArray[np.int64]:
        """Return the bins of the grid that scores lie in."""
        counted = self.fold.spec.counted(scores)
        return np.asarray(self.fold.setting.thresholds.searchsorted(counted, side="right"), dtype=np.int64)

    def found(self, names: Sequence[str], by: str = "id") -> dict[str, Any]:
        """Return round, group, score and decision of applications that have been decided on, by their id or subject."""
        self.flush()
        rows = find(self.connection, self.number, names, by=by)
        changed = find(self.connection, self.number, [row.id for row in rows], overrides) if rows else ()
        stands = {row.id: row.accepted for row in changed}
        return {row._mapping[by]: (row.round, row.group, row.score, stands.get(row.id, row.accepted)) for row in rows}

    def one_event(self, kind: str, number: int) -> Event:
        """Return the event of a kind of a round."""
        self.flush()
        found = self.connection.execute(
            select(*(events.c[name] for name in Event._fields)).where(
                events.c.gate == self.number, events.c.kind == kind, events.c.round == number
            )
        ).first()
        if found is None:
            raise MissingError(f"round {number} has no event {kind!r}")
        return Event(*found)


UNKNOWN_SUBJECTS = "subject is for gates whose file has the table [subjects], and this one has none: leave it out"
"""Said of a subject that the gate could not remember."""

ROWS = ("seq", "place", "round", "id", "group", "score", "bin", "draw", "accepted", "subject")
"""Columns of the table of cases, but for the gate."""


def check_ids(ids: Sequence[str]) -> None:
    """Refuse ids that are no short printable text, or not different."""
    texts = all(isinstance(each, str) for each in ids)
    if ids and not (
        texts and "".join(ids).isprintable() and 0 < min(map(len, ids)) <= max(map(len, ids)) <= LONGEST_ID
    ):
        for each in ids:
            check_text("ids", each)
    if len(set(ids)) < len(ids):
        twice = next(each for each, count in Counter(ids).items() if count > 1)
        raise InputError(f"ids must be different, got {twice!r} twice")


def check_text(name: str, text: object) -> None:
    """Refuse what is no short printable text."""
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_ID or not text.isprintable():
        raise InputError(f"{name} must be text of 1 to {LONGEST_ID} printable characters, got {text!r:.80}")


def check_reason(reason: str) -> str:
    """Return a reason without blanks around it, or refuse it."""
    if not isinstance(reason, str) or not 0 < len(reason.strip()) <= 2000 or not reason.strip().isprintable():
        raise InputError(f"reason must be a line of 1 to 2000 printable characters, got {reason!r:.80}")
    return reason.strip()


def _numbers(scores: Sequence[float]) -> Array:
    try:
        values = np.asarray(scores, dtype=np.float64) + 0.0  # no −0.0, which a database may return as 0.0
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"scores must be numbers, got {scores!r:.80}") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        wrong = values[~np.isfinite(values)].tolist()
        raise InputError(f"scores must be finite numbers, got {wrong[0] if wrong else values.tolist()!r:.80}")
    return values


def check_labels(name: str, values: Sequence[Any], count: int) -> list[int]:
    """Return zeros and ones, one per application, or say what is wrong."""
    if len(values) != count:
        raise InputError(f"{name} must be one per application, {count}, got {len(values)}")
    wrong = [each for each in values if each not in (0, 1)]
    if wrong:
        raise InputError(f"{name} must be 0 or 1, got {wrong[0]!r:.80}")
    return [int(each) for each in values]
