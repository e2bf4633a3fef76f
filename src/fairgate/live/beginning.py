"""Beginning: a gate's file, the gate in its database, and its first keys."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fairgate.errors import InputError
from fairgate.live import views
from fairgate.live.config import ServiceSettings, parse_config, read_config
from fairgate.live.database import connect, place_of, reading
from fairgate.live.failures import ConflictError
from fairgate.live.gate import Gate
from fairgate.live.keys import create_key
from fairgate.live.making import gate_row, refuse_other, remake_gate
from fairgate.live.preparing import prepare
from fairgate.live.template import gate_toml
from fairgate.store import prepare_folder, write_text

FIRST_KEYS = {"application": ("decide",), "outcomes": ("outcomes",), "admin": ("rounds", "read", "admin", "audit")}
"""Keys that a new gate has: for the program that asks for decisions, the one that reports outcomes, and people."""


class Begun(NamedTuple):
    """What was made: files, and keys by name, none if the gate was made again and kept its keys."""

    settings: ServiceSettings
    written: list[Path]
    keys: dict[str, str]


@contextmanager
def opened(config: Path, allow: Collection[str] = ()) -> Iterator[Gate]:
    """Open the gate of a ``gate.toml``, which must be there; close it at the end."""
    settings = read_config(config, allow)
    if "://" not in settings.database and not Path(settings.database).exists():
        raise InputError(f"{config}: there is no database {settings.database}: make it with fairgate live init")
    gate = Gate(
        settings.database,
        settings.gates[0].name,
        allow=settings.allow,
        folder=settings.folder,
        actor="command line",
    )
    try:
        yield gate
    finally:
        gate.shut()


def begin(
    folder: Path, name: str, groups: Sequence[str], database: str | None = None, allow: Collection[str] = ()
) -> Begun:
    """Write a ``gate.toml``, make its gate and the first keys; nothing that is there is overwritten.

    If there is a ``gate.toml`` already, its gate is made, or made again as long as it has not decided anything.
    """
    path = folder / "gate.toml"
    if path.exists():
        return begin_again(path, name, allow)
    text = gate_toml(name, groups, database or f"{name}.db")
    settings = parse_config(text, path)
    keys_file = unused(folder / "keys.txt")
    prepare_folder(folder, "--folder")
    if stored_spec(settings) is not None:
        raise ConflictError(
            f"the database {place_of(connect(settings.database))} has a gate {name!r} already: choose another name, or "
            "another --database"
        )
    begun = make(settings, keys_file)
    write_text(path, text)
    return begun._replace(written=[path, *begun.written])


def begin_again(path: Path, name: str, allow: Collection[str] = ()) -> Begun:
    """Make the gate of a file that is there; one that has decided something already stays as it is."""
    settings = read_config(path, allow)
    spec = settings.gates[0]
    if spec.name != name:
        raise InputError(f"{path} is there already, of the gate {spec.name!r}, not {name!r}: choose another --folder")
    stored = stored_spec(settings)
    if stored is None:
        return make(settings, unused(path.parent / "keys.txt"))
    try:
        refuse_other(spec, stored)
    except ConflictError:
        engine = connect(settings.database)
        remake_gate(engine, spec, datetime.now(UTC).isoformat(timespec="microseconds"), "init")
        engine.dispose()
        return Begun(settings, [], {})
    raise InputError(f"{path} and its gate {name!r} are there already: start it with fairgate live serve")


def stored_spec(settings: ServiceSettings) -> dict[str, object] | None:
    """Return the spec that the gate was made with, None if it is not there; the database is made if need be."""
    engine = connect(settings.database)
    prepare(engine)
    with reading(engine) as connection:
        row = gate_row(connection, settings.gates[0].name)
        found = None if row is None else views.stored_spec(connection, row.number)
    engine.dispose()
    return found


def unused(keys_file: Path) -> Path:
    """Refuse a file of keys that is there already, before anything is made."""
    if keys_file.exists():
        raise InputError(
            f"{keys_file} is there already, with keys of another gate: move it, or choose another --folder"
        )
    return keys_file


def make(settings: ServiceSettings, keys_file: Path) -> Begun:
    """Make a gate and its first keys, which are written to a file that only its owner can read."""
    spec = settings.gates[0]
    gate = Gate(settings.database, spec.name, spec=spec, actor="init")
    try:
        keys = {name: create_key(gate, name, scopes) for name, scopes in FIRST_KEYS.items()}
    finally:
        gate.shut()
    lines = [f"{name:12} {token}   # scopes {', '.join(FIRST_KEYS[name])}\n" for name, token in keys.items()]
    about = f"# Keys of the gate {spec.name}. They are stored nowhere else: move them to where your passwords are.\n"
    with os.fdopen(os.open(keys_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(about + "".join(lines))
    return Begun(settings, [keys_file], keys)
