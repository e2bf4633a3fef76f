"""Gates: those of one file, open in this process, their rounds closed when their time is over."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping

from starlette.concurrency import run_in_threadpool

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings
from fairgate.live.failures import MissingError, UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.spec import Spec

TICK_SECONDS = 0.5
"""How often rounds that end by time are looked at."""

LOG = logging.getLogger("fairgate.live")


class Gates(Mapping[str, Gate]):
    """Open gates by name. If the database cannot be reached at the start, they open as soon as it can."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._open: dict[str, Gate] = {}
        self._specs = {spec.name: spec for spec in settings.gates}
        self._lock = threading.Lock()  # of opening and shutting
        self._ended = False
        self._told: set[str] = set()  # gates whose trouble the log has
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
        for name, spec in self._specs.items():
            if name not in self._open:
                self._open[name] = Gate(self._settings.database, name, spec=spec, actor="service")

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
            for name in () if self._ended else self._specs:
                trouble = self._tick_one(name)
                if trouble:
                    self.troubles[name] = trouble
                else:
                    self.troubles.pop(name, None)
                self._tell(name, trouble)

    def _tick_one(self, name: str) -> str:
        """Tick a gate, and say what keeps it from working."""
        try:
            if name not in self._open:
                self.open()
            self._open[name].tick()
            return self._open[name].trouble
        except (UnavailableError, InputError) as error:
            return str(error)
        except Exception as error:
            if name not in self._told:
                LOG.exception("the gate %r met an error of our own", name)
            return f"the gate {name!r} met an error of our own: {error!r}"

    def _tell(self, name: str, trouble: str) -> None:
        """Have the log say when a trouble begins and when it ends, not what happens at each tick between."""
        if trouble and name not in self._told:
            self._told.add(name)
            LOG.warning("the gate %r cannot work at the moment: %s", name, trouble)
        if not trouble and name in self._told:
            self._told.discard(name)
            LOG.warning("the gate %r works again", name)

    async def keep_ticking(self) -> None:
        """Tick until this is cancelled."""
        while True:
            await run_in_threadpool(self.tick)
            await asyncio.sleep(TICK_SECONDS)

    def shut(self) -> None:
        """Finish what was submitted, and close all gates."""
        with self._lock:
            self._ended = True  # a tick that comes late opens nothing
            while self._open:
                self._open.popitem()[1].shut()
