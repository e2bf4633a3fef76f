"""Stored: the log of a gate in its database, read in ranges of events so that memory stays flat."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, case, func, inspect, literal, or_, select
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from fairgate.live.auditing.log import (
    CaseRows,
    Facts,
    Fault,
    KeyRow,
    LabelRows,
    OverrideRow,
    Whole,
    columns,
    earlier_labels,
)
from fairgate.live.events import Event
from fairgate.live.failures import MissingError
from fairgate.live.making import check_row
from fairgate.live.schema import api_keys, cases, events, gates, outcomes, overrides, snapshots

PAGE = 2000
"""Events read at a time."""


class Ends(NamedTuple):
    """What came of applications: the last label, and what a person decided; −1 where there is none."""

    labels: Whole
    overridden: Whole


class StoredLog:
    """The log of the gate `name` in a database; all is read in the transaction of `connection`."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.faults: list[Fault] = []
        try:
            now = {each["name"] for each in inspect(connection).get_columns("gates")}
        except NoSuchTableError:
            raise MissingError(f"there is no gate {name!r} in this database: it has no table of gates") from None
        self._named = "subject_key" in now  # revisions before 0004 have no subjects
        asked = select(*(each for each in gates.c if each.name in now))
        row = connection.execute(asked.where(gates.c.name == name)).one_or_none()
        if row is not None:
            check_row(row)
        if row is None:
            known = connection.execute(select(gates.c.name).order_by(gates.c.name)).scalars().all()
            there = ", ".join(map(str, known)) or "none"
            raise MissingError(f"there is no gate {name!r} in this database: it has {there}")
        self.number = row.number
        self.facts = Facts(row.name, row.last, row.head, bytes(row.secret), row.subject_key if self._named else None)

    def events(self, kind: str | None = None) -> Iterator[Event]:
        """Yield the events in order, or those of one kind."""
        fields = [events.c[name] for name in Event._fields]
        asked = select(*fields).where(events.c.gate == self.number).order_by(events.c.seq).limit(PAGE)
        if kind is not None:
            asked = asked.where(events.c.kind == kind)
        after: Any = None
        while rows := self._rows(asked if after is None else asked.where(events.c.seq > after)):
            yield from (Event(*row) for row in rows)
            after = rows[-1][0]

    def cases(self, first: int, last: int) -> CaseRows:
        """Return the applications of the events from `first` to `last`."""
        kinds = {"seq": int, "place": int, "id": str, "round": int, "group": int, "score": float, "bin": int}
        kinds |= {"draw": float, "accepted": int}
        names = ", ".join([*(f'"{name}"' for name in kinds), "COALESCE(subject, '')" if self._named else "''"])
        kinds["subject"] = str
        mark = "?" if self.connection.dialect.name == "sqlite" else "%s"
        asked = f"SELECT {names} FROM cases WHERE gate = {mark} AND seq BETWEEN {mark} AND {mark} ORDER BY seq, place"
        return CaseRows(*columns(self._driver_rows(asked, (self.number, first, last)), kinds, self.faults))

    def labels(self, first: int, last: int) -> LabelRows:
        """Return the labels that these events brought."""
        own, whose, person = outcomes.c, cases.c, overrides.c
        over = person.seq < own.seq
        accepted = case((over, person.accepted), else_=whose.accepted)
        facts = (whose.seq, whose.round, whose.group, whose.bin, accepted)
        known = [func.coalesce(each, literal(-1)) for each in facts]
        joined = outcomes.outerjoin(cases, and_(whose.gate == own.gate, whose.id == own.id)).outerjoin(
            overrides, and_(person.gate == own.gate, person.id == own.id)
        )
        asked = (
            select(own.seq, own.id, own.label, *known, case((over, 1), else_=0))
            .select_from(joined)
            .where(own.gate == self.number, own.seq.between(first, last))
            .order_by(own.seq)
        )
        names = ("label", "case", "round", "group", "bin", "accepted", "aside")
        kinds = {"seq": int, "id": str, **dict.fromkeys(names, int)}
        plain = asked.compile(dialect=self.connection.dialect, compile_kwargs={"literal_binds": True})
        rows = self._driver_rows(str(plain))
        try:
            rows.sort()
        except TypeError:  # columns hold what they cannot
            rows.sort(key=lambda row: (row[0], str(row[1])))
        seqs, ids, labels, *whole = columns(rows, kinds, self.faults)
        return LabelRows(seqs, ids, labels, *earlier_labels(seqs, ids, self._relabelled), *whole)

    @functools.cached_property
    def _relabelled(self) -> dict[str, list[tuple[int, int]]]:
        """Labels of applications that have more than one, which are few."""
        own, found = outcomes.c, dict[str, list[tuple[int, int]]]()
        often = select(own.id).where(own.gate == self.number).group_by(own.id).having(func.count() > 1)
        asked = select(own.id, own.seq, own.label).where(own.gate == self.number, own.id.in_(often)).order_by(own.seq)
        for name, *known in self._rows(asked):
            if all(type(each) is int for each in known):  # others are faults, found where they are read
                found.setdefault(name, []).append((known[0], known[1]))
        return found

    def ends(self, first: int, last: int) -> Ends:
        """Return what came of the applications of these events, in the order of :meth:`cases`."""
        own, person = cases.c, overrides.c
        label = (
            select(outcomes.c.label)
            .where(outcomes.c.gate == own.gate, outcomes.c.id == own.id)
            .order_by(outcomes.c.seq.desc())
            .limit(1)
            .scalar_subquery()
        )
        asked = (
            select(own.seq, *(func.coalesce(each, literal(-1)) for each in (label, person.accepted)))
            .select_from(cases.outerjoin(overrides, and_(person.gate == own.gate, person.id == own.id)))
            .where(own.gate == self.number, own.seq.between(first, last))
            .order_by(own.seq, own.place)
        )
        return Ends(*columns(self._rows(asked), {"seq": int, "label": int, "accepted": int}, self.faults)[1:])

    def overrides(self, first: int, last: int) -> list[OverrideRow]:
        """Return the decisions that these events overrode."""
        own, whose = overrides.c, cases.c
        known = [func.coalesce(each, -1) for each in (whose.seq, whose.round, whose.group, whose.bin, whose.accepted)]
        asked = (
            select(own.seq, own.id, own.accepted, own.reason, *known)
            .select_from(overrides.outerjoin(cases, and_(whose.gate == own.gate, whose.id == own.id)))
            .where(own.gate == self.number, own.seq.between(first, last))
            .order_by(own.seq)
        )
        return [OverrideRow(*row) for row in self._rows(asked)]

    def snapshots(self) -> list[int]:
        """Return the events after which a state was stored."""
        asked = select(snapshots.c.seq).where(snapshots.c.gate == self.number).order_by(snapshots.c.seq)
        return [row[0] for row in self._rows(asked)]

    def snapshot(self, seq: int) -> tuple[str, str]:
        """Return the library that stored the state after an event, and the state."""
        own = snapshots.c
        library, state = self._rows(select(own.library, own.state).where(own.gate == self.number, own.seq == seq))[0]
        return library, state

    def keys(self) -> list[KeyRow] | None:
        """Return the keys."""
        fields = [api_keys.c[name] for name in KeyRow._fields]
        return [KeyRow(*row) for row in self._rows(select(*fields).where(api_keys.c.gate == self.number))]

    def beyond(self) -> list[Fault]:
        """Return rows that belong to no event, as they come after the last one."""
        found = []
        for table in (events, cases, outcomes, overrides):
            outside = or_(table.c.seq > self.facts.last, table.c.seq < 1)
            asked = select(func.min(table.c.seq), func.count()).where(table.c.gate == self.number, outside)
            seq, number = self._rows(asked)[0]
            if number:
                text = f"{number} rows of {table.name} belong to it, but the gate's last event is {self.facts.last}"
                found.append(Fault(seq, text))
        return found

    def _driver_rows(self, asked: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the driver's own rows, a third of the time; PostgreSQL sends numbers as they are, not as text."""
        driver: Any = self.connection.connection.driver_connection
        kind = {} if self.connection.dialect.name == "sqlite" else {"binary": True}
        with closing(driver.cursor(**kind)) as cursor:
            try:
                cursor.execute(asked, *([values] if values else []))
                found: list[Any] = cursor.fetchall()
            except driver.Error as error:
                raise DBAPIError.instance(asked, None, error, driver.Error, dialect=self.connection.dialect) from error
            return found

    def _rows(self, asked: Select[*tuple[Any, ...]]) -> Any:
        return self.connection.execute(asked).fetchall()
