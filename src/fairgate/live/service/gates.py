"""Gates: those of one file, open in this process, their rounds closed when their time is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping

from starlette.concurrency import run_in_threadpool

from fairgate.live.config import ServiceSettings
from fairgate.live.failures import MissingError, UnavailableError
from fairgate.live.gate import Gate

TICK_SECONDS = 0.5
"""How often rounds that end by time are looked at."""

LOG = logging.getLogger("fairgate.live")


class Gates(Mapping[str, Gate]):
    """Open gates by name. If the database cannot be reached at the start, they open as soon as it can."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._open: dict[str, Gate] = {}
        self._specs = {spec.name: spec for spec in settings.gates}

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

    def open(self) -> None:
        """Open the gates that are not open yet."""
        for name, spec in self._specs.items():
            if name not in self._open:
                self._open[name] = Gate(self._settings.database, name, spec=spec, actor="service")

    def try_to_open(self) -> None:
        """Open the gates; without a database, say so and leave it to the ticks."""
        try:
            self.open()
        except UnavailableError as error:
            LOG.warning("%s", error)

    def tick(self) -> None:
        """Open what is not open, and close rounds whose time is over."""
        self.open()
        for gate in self._open.values():
            gate.tick()

    async def keep_ticking(self) -> None:
        """Tick until this is cancelled; without a database, go on trying."""
        well = True
        while True:
            try:
                await run_in_threadpool(self.tick)
                well = True
            except UnavailableError as error:
                if well:
                    LOG.warning("rounds are not closed by time at the moment: %s", error)
                well = False
            except Exception:
                LOG.exception("rounds are not closed by time at the moment")
            await asyncio.sleep(TICK_SECONDS)

    def shut(self) -> None:
        """Finish what was submitted, and close all gates."""
        while self._open:
            self._open.popitem()[1].shut()
