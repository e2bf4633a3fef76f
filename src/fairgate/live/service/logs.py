"""Logs: one line per event, with time and level, as text or JSON, without any datum of an application."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from starlette.types import Scope

from fairgate import __version__
from fairgate.live.config import LogForm
from fairgate.live.service.auth import Caller
from fairgate.live.service.gates import Gates
from fairgate.live.service.reasons import Refusal, usual

LOG = logging.getLogger("fairgate.live.requests")

WINDOW = 60.0
"""Seconds in which lines of one kind are counted together."""

FIRST = 5
"""Lines of one kind that are written in that time; the others are counted."""

MOST = 100
"""Lines about requests that are written in that time, of all kinds together."""

FRAMES = 10
"""Frames of a traceback, the innermost ones."""

QUOTING = re.compile(r"[\n%:'\"<({\[]")
"""Characters that may stand before a quoted value in a message."""


def begin(form: LogForm) -> None:
    """Have this process write its log to standard error, with the lines of Python, uvicorn and others in one form."""
    handler = Sparing()
    handler.setFormatter(Lines(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("fairgate").setLevel(logging.INFO)
    logging.raiseExceptions = False  # a log that cannot be written stops no request
    warnings.showwarning = warned
    threading.excepthook = ended


def tell_start(gates: Gates) -> None:
    """Log that this process serves."""
    facts = {"version": __version__, "gates": len(gates)}
    logging.getLogger("fairgate.live").info("the service has started", extra={"facts": facts})


def tell_stop() -> None:
    """Log that this process has stopped, and first what was only counted: a signal may end it at once."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Sparing):
            handler.tell_others()
    logging.getLogger("fairgate.live").info("the service has stopped: all that was acknowledged is on disk")


def warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Log a warning of Python."""
    logging.getLogger("fairgate").warning("%s in %s:%s", category.__name__, Path(filename).name, lineno)


def ended(thrown: threading.ExceptHookArgs) -> None:
    """Log the end of a thread by an error."""
    error = thrown.exc_value
    if error is not None:
        logging.getLogger("fairgate").error("a thread ended", exc_info=(type(error), error, thrown.exc_traceback))


class Lines(logging.Formatter):
    """Writes each record as one line.

    A record of ours may have `facts`, names and values that follow its text, and `measured`, the same for what differs
    each time. Messages of other packages are cut before they could quote a value. Of an error the line has the
    type and the places in the code, because its message could have values, too.
    """

    def __init__(self, form: LogForm) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level, text = record.levelname.lower(), text_of(record)
        facts = {**facts_of(record), **getattr(record, "measured", {})}
        if self._form == "json":
            return json.dumps({"time": at, "level": level, "text": text, **facts, "process": record.process})
        told = " ".join(f"{name}={json.dumps(value)}" for name, value in facts.items())
        return f"{at} {level.upper()} {plain(text)}" + (f" ({told})" if told else "")


def text_of(record: logging.LogRecord) -> str:
    """Return the text of a record; of a message of another package, the part before any value."""
    if record.name.partition(".")[0] == "fairgate":
        return record.getMessage()
    return f"{record.name}: {QUOTING.split(str(record.msg))[0].strip()}"


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the facts of a record, with those of its error."""
    facts: dict[str, Any] = dict(getattr(record, "facts", {}))
    if record.exc_info and record.exc_info[1] is not None:
        frames = traceback.extract_tb(record.exc_info[2])[-FRAMES:]
        facts["error"] = type(record.exc_info[1]).__name__
        facts["where"] = [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames]
    return facts


def plain(text: str) -> str:
    r"""Return a text without characters that begin a line or steer a terminal.

    >>> plain("one\nline")
    'one\\nline'
    """
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


class Sparing(logging.StreamHandler[Any]):
    """Writes the first lines of a kind in each minute and then the number of others, so that no client fills a disk.

    Two lines are of one kind if they differ in nothing but their time and what they measured.
    """

    def __init__(self, stream: Any = None) -> None:
        super().__init__(stream)
        self._began = -WINDOW
        self._written: Counter[str] = Counter()
        self._left: dict[str, tuple[logging.LogRecord, int]] = {}  # lines that were not written, and one of them
        self._requests = 0
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        if time.monotonic() - self._began >= WINDOW:
            self._begin_again()
        request = record.name == LOG.name
        kind = repr((record.name, record.levelno, text_of(record), facts_of(record)))
        if self._written[kind] < FIRST and not (request and self._requests >= MOST):
            self._written[kind] += 1
            self._requests += request
            super().emit(record)
            return
        kept, number = self._left.get(kind, (record, 0))
        self._left[kind] = kept, number + 1
        if self._timer is None:
            self._timer = threading.Timer(WINDOW, self.tell_others)
            self._timer.daemon = True
            self._timer.start()

    def tell_others(self) -> None:
        """Write how many lines were left out."""
        self.acquire()
        try:
            self._begin_again()
        finally:
            self.release()

    def _begin_again(self) -> None:
        """Write how many lines were left out, the most frequent kinds by name, and count anew."""
        self._began = time.monotonic()
        left = sorted(self._left.values(), key=lambda each: -each[1])
        self._left, self._written, self._requests = {}, Counter(), 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for record, number in left[:FIRST]:
            super().emit(counted(record, number, f"{text_of(record)}: {number} more like this were left out"))
        others = sum(number for _, number in left[FIRST:])
        if others:
            super().emit(counted(left[FIRST][0], others, f"{others} more lines of other kinds were left out", {}))

    def close(self) -> None:
        """Write how many lines were left out, and end."""
        self.tell_others()
        super().close()


def counted(
    record: logging.LogRecord, number: int, text: str, facts: Mapping[str, Any] | None = None
) -> logging.LogRecord:
    """Return a record that stands for others."""
    made = logging.LogRecord("fairgate", record.levelno, "", 0, "%s", (text,), None)
    made.facts = {**(facts_of(record) if facts is None else facts), "left_out": number}
    return made


class Journal:
    """Logs refusals and slow requests: route, status, gate and the name of the key, and why, without any value."""

    def __init__(self, gates: Gates, slow_seconds: float) -> None:
        self._gates = gates
        self._slow = slow_seconds

    def note(self, scope: Scope, method: str, route: str, status: int, seconds: float) -> None:
        """Log a request if it was refused or slow."""
        refused = status >= 400
        if not refused and seconds < self._slow:
            return
        gate = scope.get("path_params", {}).get("gate")
        caller: Caller | None = scope.get("caller")
        refusal: Refusal = scope.get("refusal") or Refusal(usual(status))
        facts = {
            "method": method,
            "route": route,
            "status": status,
            "gate": gate if gate in self._gates else None,
            "key": refusal.key or (caller and caller.who["actor"].removeprefix("key:")),
        }
        told = {name: value for name, value in facts.items() if value}
        text = f"refused: {refusal.reason or usual(status)}" if refused else "slow: it took long to answer"
        level = logging.ERROR if status >= 500 else logging.WARNING
        LOG.log(level, "%s", text, extra={"facts": told, "measured": {"seconds": round(seconds, 4)}})
