"""Config: a policy file in TOML and the options of the command line, put together and checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairgate.advice.aims import RANGE, Aims
from fairgate.constraints import Constraint, make_constraint
from fairgate.errors import InputError, nearest
from fairgate.importing import SQL, NotAllowedError, allowed_names, import_place
from fairgate.people.applicants import Columns
from fairgate.reading import SETTINGS, parse_toml, read_bytes

TABLES: dict[str, dict[str, tuple[type, ...]]] = {
    "data": {
        "file": (str,),
        "query": (str,),
        "score": (str,),
        "label": (str,),
        "group": (list, str),
        "positive": (list, str, int, float, bool),
        "descending": (bool,),
        "reader": (str,),
        "decision": (str,),
        "accepted": (list, str, int, float, bool),
        "date": (str,),
        "period": (str,),
        "weight": (str,),
        "min_group": (int,),
        "max_lost": (int, float),
    },
    "aims": {"cost": (int, float), "benefit": (int, float), "currency": (str,), "sure": (int, float)},
    "loop": {
        "feedback": (list,),
        "current": (int, float),
        "loops": (bool,),
        "seeds": (int,),
        "rounds": (int,),
        "seed": (int,),
    },
    "output": {"out": (str,), "pdf": (bool,)},
}
"""Every setting of a policy file by its table, and what it may be; [constraints] has any constraint by its name."""

KINDS = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false", list: "a list in [ ]"}


class Config(NamedTuple):
    """Everything ``fairgate advise`` needs to know."""

    table: dict[str, Any]  # for :func:`fairgate.people.from_file`
    aims: Aims
    out: Path
    pdf: bool = False


def put_together(
    policy: Path | None, given: Mapping[str, Any], constraints: Mapping[str, object], allow: Collection[str] = ()
) -> Config:
    """Read a policy file, if there is one, and let what was `given` on the command line win.

    Code may be named on the command line, and by the policy file if `allow` has the name.

    >>> config = put_together(None, {"file": "a.csv", "score": "s", "label": "y", "group": "g"}, {"parity": "0.1"})
    >>> config.table["file"], config.aims.constraints, config.out
    ('a.csv', (DemographicParity(epsilon=0.1),), PosixPath('advice'))
    """
    settings, required = ({}, {}) if policy is None else read_policy(policy, allow)
    chosen = {name: value for name, value in given.items() if value is not None}
    for one, other in (("file", "query"), ("query", "file")):  # one given replaces the other written in the file
        if one in chosen and other not in chosen and not str(settings.get(other, "")).endswith((".duckdb", ".ddb")):
            settings.pop(other, None)
    settings |= chosen
    if SQL in settings and SQL not in chosen and SQL not in allowed_names(allow):
        raise NotAllowedError(
            f"--config {policy}: query is SQL, and SQL that a file has is not run: type it after --query, or, if you "
            "trust the file, add --allow query"
        )
    lacking = [name for name in Columns._fields if name not in settings]
    if lacking:
        raise InputError(
            f"{lacking[0]} must be the name of a column: say --{lacking[0]} NAME, or write it in a file for --config"
        )
    aims = {name: settings[name] for name in Aims.__dataclass_fields__ if name in settings}
    if isinstance(aims.get("feedback"), list):
        aims["feedback"] = tuple(aims["feedback"])
    required |= {name: make_constraint(name, value, [name]) for name, value in constraints.items()}
    table = {name: settings[name] for name in TABLES["data"] if name in settings}
    if "reader" in table:
        typed = [table["reader"]] if "reader" in chosen else allow
        table["reader"] = import_place(table["reader"], "reader", typed, None if policy is None else policy.parent)
    asked = Aims(**aims, constraints=tuple(required.values()))
    return Config(table, asked, Path(settings.get("out", "advice")), settings.get("pdf", False))


def read_policy(path: Path, allow: Collection[str] = ()) -> tuple[dict[str, Any], dict[str, Constraint]]:
    """Read the settings and constraints of a policy file; its paths and modules are taken from its own folder.

    Of code that it names, only the names in `allow` are imported.
    """
    try:
        tables = parse_toml(read_bytes(path, SETTINGS).decode("utf-8"))
    except OSError as error:
        raise InputError(f"--config {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--config {path} must be TOML: {error}") from None
    settings: dict[str, Any] = {}
    required: dict[str, Constraint] = {}
    for table, entries in tables.items():
        if table == "constraints" and isinstance(entries, dict):
            required = {name: _constraint(path, name, value, allow) for name, value in entries.items()}
            continue
        if table not in TABLES or not isinstance(entries, dict):
            known = [*TABLES, "constraints"]
            raise _unknown(path, f"table [{table}]" if isinstance(entries, dict) else table, table, known)
        for name, value in entries.items():
            if name not in TABLES[table]:
                raise _unknown(path, f"{name} in [{table}]", name, TABLES[table])
            kinds = TABLES[table][name]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise InputError(f"--config {path}: {name} must be {KINDS[kinds[-1]]}, got {value!r}")
            settings[name] = value
    for name in ("file", "out"):
        if name in settings and settings[name] != "-":  # standard input
            settings[name] = str(path.parent / settings[name])
    return settings, required


def _constraint(path: Path, name: str, value: object, allow: Collection[str]) -> Constraint:
    try:
        return make_constraint(name, value, allow, path.parent)
    except InputError as error:
        raise InputError(f"--config {path}: {error}") from None


def _unknown(path: Path, what: str, name: str, known: Iterable[str]) -> InputError:
    return InputError(f"--config {path} has an unknown {what}: {nearest(name, known)}Known: {', '.join(known)}")


def parse_strengths(text: str | None) -> tuple[float, ...] | None:
    """Read strengths such as 0,0.25,0.5; none, to be told by the history."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"feedback must be {RANGE}, as in 0,0.25,0.5, got {text!r}") from None
