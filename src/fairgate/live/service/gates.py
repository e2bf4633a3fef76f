"""Gates: those of one file, open in this process, their rounds closed when their time is over."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Row, select
from starlette.concurrency import run_in_threadpool

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings
from fairgate.live.database import reading
from fairgate.live.failures import MissingError, UnavailableError
from fairgate.live.gate import Gate, Standing
from fairgate.live.requests import Tick
from fairgate.live.schema import gates
from fairgate.live.shared import Database
from fairgate.live.spec import Spec

TICK_SECONDS = 0.5
"""How often rounds that end by time are looked at."""

LOG = logging.getLogger("fairgate.live")


class Gates(Mapping[str, Gate]):
    """Open gates by name. If the database cannot be reached at the start, they open as soon as it can."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self.database = Database.at(settings.database)
        self._open: dict[str, Gate] = {}
        self._specs = {spec.name: spec for spec in settings.gates}
        self._lock = threading.Lock()  # of opening and shutting
        self._ended = False
        self._told: set[str] = set()  # gates whose trouble the log has
        self._behind: dict[str, Gate] = {}  # gates whose log has events that were not read
        self._unreadable: dict[str, str] = {}  # gates whose log could not be read, and why
        self._standing: dict[str, Standing] = {}  # at the last tick
        self.troubles: dict[str, str] = {}
        """Gate → why it could not work at the last tick; those that could are not in it."""

    def __getitem__(self, name: str) -> Gate:
        if name in self._open:
            return self._open[name]
        if name in self._specs:
            raise UnavailableError(f"the gate {name!r} cannot be opened: its database cannot be reached")
        raise MissingError(f"there is no gate {name[:80]!r} here")

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    @property
    def specs(self) -> dict[str, Spec]:
        """What each gate was made for, by its log; by the file as long as it is not open."""
        return {name: self._open[name].spec if name in self._open else spec for name, spec in self._specs.items()}

    def open(self) -> None:
        """Open the gates that are not open yet."""
        closed = [spec for name, spec in self._specs.items() if name not in self._open]
        for gate in Gate.open_all(self._settings.database, closed, actor="service"):
            self._open[gate.name] = gate
        if closed:
            names = ", ".join([spec.name for spec in closed[:5]] + ["…"] * (len(closed) > 5))
            LOG.info("gates were opened: %s", names, extra={"facts": {"gates": len(closed)}})

    def try_to_open(self) -> None:
        """Open the gates; without a database, say so and leave it to the ticks."""
        with self._lock:
            self._ended = False
            try:
                self.open()
            except UnavailableError as error:
                LOG.warning("%s", error)

    def tick(self) -> None:
        """Open what is not open, close rounds whose time is over, and note which gates cannot work."""
        with self._lock:
            if self._ended:
                return
            troubles = self._tick_all()
            for name in self._specs:
                self._tell(name, troubles.get(name, ""))
            for name, gate in self._open.items():
                self._notice(name, gate.first, gate.standing)
            self.troubles = {name: trouble for name, trouble in troubles.items() if trouble}

    def rows(self) -> dict[int, Any]:
        """Return the rows of all gates by number: their secrets and last events."""
        with reading(self.database.engine) as connection:
            asked = select(gates.c.number, gates.c.last, gates.c.secret)
            return {row.number: row for row in connection.execute(asked)}

    def _tick_all(self) -> dict[str, str]:
        """Tick the gates that have something to do, found by one query, and say what keeps each from working."""
        rows: dict[int, Row[*tuple[Any, ...]]] = {}
        troubles: dict[str, str] = {}
        try:
            if len(self._open) < len(self._specs):
                self.open()
        except Exception as error:
            troubles |= {name: self._said(name, error) for name in self._specs if name not in self._open}
        try:
            rows = self.rows()
        except Exception as error:
            return troubles | {name: self._said(name, error) for name in self._open}
        ticks = {}
        for name, gate in self._open.items():
            try:
                row = rows.get(gate.number)
                if row is None or row.secret != gate.secret or row.last > gate.last:
                    self._behind[name] = gate
                else:
                    self._unreadable.pop(name, None)
                if gate.due:
                    ticks[name] = gate.submit(Tick(actor="clock"))
            except Exception as error:
                troubles[name] = self._said(name, error)
        for name, tick in ticks.items():
            try:
                tick.result()
            except Exception as error:
                troubles[name] = self._said(name, error)
        for name, gate in self._open.items():
            troubles.setdefault(name, gate.trouble or self._unreadable.get(name, ""))
        return troubles

    def _said(self, name: str, error: Exception) -> str:
        """Say what keeps a gate from working."""
        if isinstance(error, (UnavailableError, InputError)):
            return str(error)
        if name not in self._told:
            LOG.error("the gate %r met an error of our own", name, exc_info=error)
        return f"the gate {name!r} met an error of our own: {type(error).__name__}"  # its message may have values

    @property
    def unread(self) -> int:
        """How many gates cannot answer promptly, because their log is still to be read."""
        return len(self._specs) - sum(gate.last > 0 for gate in list(self._open.values()))

    def read(self) -> None:
        """Read the logs of gates that are behind, one after the other; requests to other gates go on."""
        while self._behind and not self._ended:
            name, gate = self._behind.popitem()
            try:
                gate.read()
            except Exception as error:
                self._unreadable[name] = self._said(name, error)
            else:
                self._unreadable.pop(name, None)

    def _tell(self, name: str, trouble: str) -> None:
        """Have the log say when a trouble begins and when it ends, not what happens at each tick between."""
        if trouble and name not in self._told:
            self._told.add(name)
            LOG.warning("the gate %r cannot work at the moment: %s", name, trouble)
        if not trouble and name in self._told:
            self._told.discard(name)
            LOG.warning("the gate %r works again", name)

    def _notice(self, name: str, first: Standing, standing: Standing) -> None:
        """Have the log say when a gate's mode has changed, by whichever process, and when a gate was paused."""
        if not first.mode:
            return  # the log of the gate has not been read yet
        before, self._standing[name] = self._standing.get(name, first), standing
        if standing.paused and not before.paused:
            LOG.warning("the gate %r is paused: it holds until its mode is set", name, extra={"facts": {"gate": name}})
        elif standing.mode != before.mode:
            told = "the mode of the gate %r was changed from %s to %s"
            LOG.info(told, name, before.mode, standing.mode, extra={"facts": {"gate": name}})

    async def keep_ticking(self) -> None:
        """Tick until this is cancelled, and read logs meanwhile."""
        reading: asyncio.Task[None] | None = None
        try:
            while True:
                await run_in_threadpool(self.tick)
                if reading is None or reading.done():
                    reading = asyncio.create_task(run_in_threadpool(self.read))
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._ended = True
            if reading is not None:
                await asyncio.wait([reading])

    def shut(self) -> None:
        """Finish what was submitted, and close all gates."""
        with self._lock:
            self._ended = True  # a tick that comes late opens nothing
            while self._open:
                self._open.popitem()[1].shut()
            self.database.rest()
