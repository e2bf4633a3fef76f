"""Config: what ``gate.toml`` says, the gate's spec and how it is served."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairgate.errors import InputError, nearest
from fairgate.importing import allowed_names
from fairgate.live.database import read_url
from fairgate.live.past import Column, PastDecisions
from fairgate.live.spec import Guards, Name, Part, Rounds, Scores, Spec, Start, Subjects, first_fault
from fairgate.reading import SETTINGS, parse_toml, read_bytes

Port = Annotated[int, Field(ge=0, le=65535)]
MaxBody = Annotated[int, Field(ge=1000)]
LogForm = Literal["text", "json"]
SlowSeconds = Annotated[float, Field(gt=0)]


class ServiceSettings(BaseModel):
    """How gates are served."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str  # a file of SQLite, or the URL of a PostgreSQL database
    gates: list[Spec]
    host: str = "127.0.0.1"
    port: Port = 8000
    max_body: MaxBody = 8_000_000  # bytes of a request
    session_secret: Path | None = None  # file of what log-ins of the page are signed with; none: of the process alone
    behind_proxy: bool = False  # whether a proxy in front ends TLS and says who asks
    allow: frozenset[str] = frozenset()  # code that specs may name: said by a person, never read from a file
    folder: Path | None = None  # that of the file, from which specs see paths
    log: LogForm = "text"
    slow_seconds: SlowSeconds = 1.0  # after which a request is in the log


class GateTable(Part):
    """The table [gate]."""

    name: Name
    groups: list[str]
    learner: str = "safe-forecast"
    cost: Annotated[float, Field(ge=0)] = 1.0
    store: Literal["cases", "counts"] = "cases"
    seed: Annotated[int, Field(ge=0)] = 0
    per_group: str = ""


class ScoresTable(Scores):
    """The table [scores]: the thresholds to choose from, and the scores that are decided on."""

    low: float | None = None
    high: float | None = None
    steps: Annotated[int, Field(ge=2, le=1000)] | None = None
    grid: list[float] | None = None

    @property
    def thresholds(self) -> list[float]:
        """The grid, given or made of equal steps."""
        spaced = (self.low, self.high, self.steps)
        if (self.grid is None) != (None not in spaced) or (self.grid is not None and spaced != (None, None, None)):
            named = ("low", "high", "steps", "grid")
            given = ", ".join(name for name in named if name in self.model_fields_set) or "nothing"
            raise InputError(f"[scores] must have low, high and steps, or grid = [...] alone, got {given}")
        if self.grid is not None:
            return self.grid
        if self.low is None or self.high is None or self.steps is None or self.low >= self.high:
            raise InputError(f"low in [scores] must be below high, got {self.low} and {self.high}")
        return [float(each) for each in np.linspace(self.low, self.high, self.steps)]


class LearnerTable(Part):
    """The table [learner]: what it starts from."""

    history: str | None = None  # table of past decisions
    columns: dict[Column, str] = Field(
        default={}
    )  # of its columns, those that are not called score, group, accepted, outcome
    threshold: float | list[float] | None = None  # the cut-off of those decisions, if it is known

    def past(self, groups: list[str], folder: Path) -> PastDecisions | None:
        """Return what a spec has of the table; it must be there, and fit the groups."""
        if self.history is not None:
            try:
                named: dict[str, Any] = {"columns": self.columns, "threshold": self.threshold}
                return PastDecisions.of(self.history, groups, **named, folder=folder)
            except InputError as error:
                raise InputError(f"[learner] history: {error}") from None
        if self.columns or self.threshold is not None:
            raise InputError("[learner] must have history, the table of past decisions that its other entries are of")
        return None


class LabelsTable(Part):
    """The table [labels]."""

    due_days: Annotated[float, Field(gt=0)] = 30.0


class DatabaseTable(Part):
    """The table [database]."""

    url: str


class ServiceTable(Part):
    """The table [service]."""

    host: str = "127.0.0.1"
    port: Port = 8000
    max_body: MaxBody = 8_000_000
    session_secret: str = "session.key"
    behind_proxy: bool = False
    log: LogForm = "text"
    slow_seconds: SlowSeconds = 1.0


TABLES: dict[str, type[Part]] = {
    "gate": GateTable,
    "scores": ScoresTable,
    "subjects": Subjects,
    "learner": LearnerTable,
    "rounds": Rounds,
    "start": Start,
    "guards": Guards,
    "labels": LabelsTable,
    "database": DatabaseTable,
    "service": ServiceTable,
}
"""The tables of a file but for [constraints], which has any constraint by its name."""


def read_config(path: Path, allow: Collection[str] = ()) -> ServiceSettings:
    """Read a ``gate.toml``; paths in it are seen from its folder. What is wrong is one sentence with file and entry.

    Constraints of one's own are imported if `allow` has their names.
    """
    try:
        text = read_bytes(path, SETTINGS).decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: write one with fairgate live init NAME, or name another") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return parse_config(text, path, allow)


def parse_config(text: str, path: Path, allow: Collection[str] = ()) -> ServiceSettings:
    """Return the settings that the text of a ``gate.toml`` gives."""
    try:
        plain = parse_toml(text)
    except ValueError as error:
        raise InputError(f"{path} must be TOML: {error}") from None
    try:
        return settings_of(plain, path.parent, allow)
    except InputError as error:
        said = str(error).removeprefix("the gate's ")
        raise InputError(f"{path}: {said}") from None


def settings_of(plain: dict[str, Any], folder: Path, allow: Collection[str] = ()) -> ServiceSettings:
    """Return the settings of tables as plain data."""
    known = [*TABLES, "constraints"]
    for name, entries in plain.items():
        if name not in known:
            home = [f"[{table}]" for table, kind in TABLES.items() if name in kind.model_fields]
            if home and not isinstance(entries, dict):
                raise InputError(f"the entry {name!r} must be in the table {home[0]}, below its line")
            raise InputError(f"unknown table {name!r}: {nearest(name, known)}The tables are {', '.join(known)}")
    lacking = [name for name in ("gate", "scores", "database") if name not in plain]
    if lacking:
        raise InputError(f"the table [{lacking[0]}] is missing")
    tables = {name: read_table(name, plain.get(name, {})) for name in TABLES}
    service = tables["service"].model_dump()
    secret = folder / service.pop("session_secret")
    return ServiceSettings(
        database=place_in(folder, tables["database"].model_dump()["url"]),
        gates=[spec_of(tables, plain, folder, allow)],
        session_secret=secret,
        allow=allowed_names(allow),
        folder=folder,
        **service,
    )


def read_table(name: str, entries: object) -> Part:
    """Check the entries of a table."""
    kind = TABLES[name]
    if not isinstance(entries, dict):
        raise InputError(f"{name} must be a table, [{name}] and lines below it, got {entries!r}")
    for entry in entries:
        if entry not in kind.model_fields:
            known = ", ".join(kind.model_fields)
            raise InputError(f"unknown entry {entry!r} in [{name}]: {nearest(entry, kind.model_fields)}Known: {known}")
    try:
        return kind.model_validate(entries, strict=True)
    except ValidationError as error:
        raise InputError(f"[{name}] {first_fault(error)}") from None


def spec_of(tables: dict[str, Part], plain: dict[str, Any], folder: Path, allow: Collection[str]) -> Spec:
    """Return the spec that tables describe; paths are seen from a folder."""
    scores, learner = tables["scores"], tables["learner"]
    about = tables["gate"].model_dump()
    rounds = {"people": None, **plain["rounds"]} if "rounds" in plain else {}
    spec = Spec.read(
        {
            **{name: about[name] for name in ("name", "groups", "learner", "store", "seed", "per_group")},
            "grid": scores.thresholds if isinstance(scores, ScoresTable) else [],
            "constraints": plain.get("constraints", {}),
            "false_positive_cost": about["cost"],
            "rounds": rounds,
            "start": plain.get("start", {}),
            "guards": plain.get("guards", {}),
            "label_due_days": tables["labels"].model_dump()["due_days"],
            "scores": scores.model_dump(include=set(Scores.model_fields)),
            "subjects": tables["subjects"].model_dump() if "subjects" in plain else None,
            "history": learner.past(about["groups"], folder) if isinstance(learner, LearnerTable) else None,
        },
        allow,
        folder,
    )
    rehearse(spec)
    return spec


def rehearse(spec: Spec) -> None:
    """Refuse a spec whose constraints cannot be computed for its groups, or whose learner cannot begin with them.

    Both would show only at a gate that is made already.
    """
    some = np.ones((1, len(spec.groups), 2, 2))  # people of each group, decision and label
    try:
        spec.setting.problem.assess(some)
        spec.make_learner().start(spec.setting, 1, np.random.default_rng(spec.seed))
    except InputError as error:
        raise InputError(f"[constraints] {error}") from None


def place_in(folder: Path, url: str) -> str:
    """Return a database's URL, checked; the path of a file is seen from a folder."""
    place = url if "://" in url else str(folder.absolute() / url)
    read_url(place)
    return place
