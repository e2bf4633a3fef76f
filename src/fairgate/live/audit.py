"""Audit: recompute the whole log of a gate, and name the first event that does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from fairgate.importing import allowed_names
from fairgate.live.auditing.auditor import Auditor
from fairgate.live.auditing.exported import ExportedLog
from fairgate.live.auditing.log import Log
from fairgate.live.auditing.report import AuditReport
from fairgate.live.auditing.stored import StoredLog
from fairgate.live.database import reading
from fairgate.live.gate import Gate
from fairgate.live.preparing import known_revision
from fairgate.live.spec import Trust


def audit_log(
    source: Gate | Log | str | Path,
    *,
    head: str | None = None,
    last: int | None = None,
    allow: Collection[str] = (),
    folder: Path | None = None,
) -> AuditReport:
    """Recompute the whole log of a gate.

    Parameters
    ----------
    source
        A gate, or a file that ``fairgate live export`` wrote.
    head, last
        The hash of the last event, and its number, as they were noted from an earlier status, export or audit: the log
        must still have that event. Nothing in a log can show that its last events were removed, or that all of it was
        made again; a hash that somebody else keeps can.
    allow
        Constraints of one's own that the log may name, such as ``["mine:Harm"]``: their modules are imported. A log
        that names other code is refused. For a gate, this and `folder` are those that it was opened with.
    folder
        Where the table of past decisions is that the log names, if there is one; the current one if not given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import fairgate as fg
    >>> spec = fg.live.Spec(name="credit", groups=["women", "men"], grid=[0.25, 0.5, 0.75],
    ...                     constraints={"parity": 0.1}, start={"mode": "hold", "threshold": 0.5})
    >>> gate = fg.live.Gate(str(pathlib.Path(tempfile.mkdtemp()) / "credit.db"), "credit", spec=spec)
    >>> decided = gate.decide(["a-1", "a-2"], ["men", "women"], [0.4, 0.9])
    >>> closed, noted = gate.close(), gate.status()
    >>> report = audit_log(gate, head=noted.head, last=noted.seq)
    >>> report.clean, report.decisions, report.first
    (True, 2, None)
    >>> gate.shut()
    """
    if isinstance(source, Gate):
        with stored_log(source.engine, source.name) as log:
            return Auditor(log, head, last, source.spec.trust).run()
    trust = Trust(allowed_names(allow), folder)
    if isinstance(source, str | Path):
        with ExportedLog(Path(source)) as log:
            return Auditor(log, head, last, trust).run()
    return Auditor(source, head, last, trust).run()


@contextmanager
def stored_log(engine: Engine, name: str) -> Iterator[StoredLog]:
    """Open the log of a gate in its database, as it is at one moment; the gate need not run."""
    with reading(engine) as connection:
        known_revision(connection)  # one that is not known is refused
        yield StoredLog(connection, name)
