"""Parameters: the numbers of a task, its problem, its learners and its loop, by name, and how each is changed."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.constraints import Constraint
from fairgate.errors import InputError, unknown_name
from fairgate.learners import Learner
from fairgate.learners.own import Own
from fairgate.learners.scalar import Scalar
from fairgate.problem import Problem
from fairgate.settings import Settings
from fairgate.tasks import Task

LOOP = ("batch", "rounds")
"""Numbers of the loop itself."""

GRID = ("low", "high", "size")
"""Numbers of the grid of thresholds."""


@dataclass(frozen=True)
class Parameter:
    """A number that can be swept.

    Attributes
    ----------
    owner
        Whose it is: ``"loop"``, ``"grid"``, ``"environment"``, ``"utility"``, or the name of a constraint or learner.
    field
        Its name there.
    place
        Which number of several, such as that of a group; None if it is one.
    whole
        Whether it must be a whole number.
    stacks
        Whether it may vary by replicate and one value is nothing to the others, so that several are simulated
        together.
    """

    owner: str
    field: str
    place: int | None = None
    whole: bool = False
    stacks: bool = False

    @property
    def short(self) -> str:
        """Its name without its owner's, such as ``rate`` or ``means[0]``."""
        return self.field if self.place is None else f"{self.field}[{self.place}]"

    @property
    def name(self) -> str:
        """Its whole name, such as ``environment.rate``."""
        return f"{self.owner}.{self.short}"


@dataclass(frozen=True)
class Known:
    """All parameters of a task and some learners, by name."""

    task: Task
    learners: Mapping[str, Learner[Any]]

    def __post_init__(self) -> None:
        if self.task.replicates is not None:
            raise InputError(
                f"task must have one setting, which the sweep changes, but it has {self.task.replicates}: cut it by "
                "rows, or give the values as over={…}"
            )
        for name, learner in self.learners.items():
            if learner.replicates is not None:
                raise InputError(f"learner {name!r} must have one setting, got {learner.replicates}: give them as over")

    def of_task(self) -> Iterator[Parameter]:
        """Yield the parameters that all learners share."""
        for name in LOOP:
            yield Parameter("loop", name, whole=True)
        for name in GRID:
            yield Parameter("grid", name, whole=name == "size")
        yield from _fields("environment", self.task.environment)
        yield from _fields("utility", self.task.problem.utility)
        for constraint in self.task.problem.constraints:
            yield from _fields(_called(constraint), constraint)

    def find(self, text: str) -> list[Parameter]:
        """Return what a name stands for: one number, or one of each learner that has it.

        Parts of the grid are found by their whole name only, such as ``grid.size``.
        """
        shared = [each for each in self.of_task() if text == each.name or (each.owner != "grid" and text == each.short)]
        owned = [
            each
            for name, learner in self.learners.items()
            for each in _fields(name, learner)
            if text in (each.short, each.name, f"learner.{each.short}")
        ]
        if len(shared) > 1 or (shared and owned):
            names = ", ".join(each.name for each in shared + owned)
            raise InputError(f"parameter {text!r} could be any of {names}: write one of these")
        if not shared and not owned:
            raise unknown_name("parameter", text, self.names())
        return shared or owned

    def find_all(self, texts: Iterable[str]) -> dict[str, list[Parameter]]:
        """Return what each of some names stands for."""
        return {text: self.find(text) for text in texts}

    def names(self) -> list[str]:
        """Return all names, short where that is enough."""
        found: dict[str, str] = {}
        for each in self.of_task():
            found[each.name] = each.short if each.owner != "grid" else each.name
        for name, learner in self.learners.items():
            found |= {each.name: each.short for each in _fields(name, learner)}
        owners: dict[str, set[str]] = {}
        for whole, short in found.items():
            owner = whole.partition(".")[0]
            owners.setdefault(short, set()).add("learner" if owner in self.learners else owner)
        return sorted({short if len(owners[short]) == 1 else whole for whole, short in found.items()})


def _called(constraint: Any) -> str:
    return str(getattr(constraint, "name", "") or type(constraint).__name__)


def _fields(owner: str, settings: Any) -> Iterator[Parameter]:
    """Yield the numbers of some settings; of one's own learner or constraint, if it is a dataclass, its fields."""
    inner = _inner(settings)
    if inner is not None:
        yield from _fields(owner, settings=getattr(settings, inner))
        return
    if isinstance(settings, Scalar):
        for name, value in settings.options.items():
            if isinstance(value, numbers.Real) and not isinstance(value, bool):
                yield Parameter(owner, name, whole=isinstance(value, numbers.Integral))
        return
    if not dataclasses.is_dataclass(settings):
        return
    own = type(settings).__module__.partition(".")[0] == __name__.partition(".")[0]  # others may not vary by replicate
    ranges = settings._numbers() if isinstance(settings, Settings) and own else {}
    stacks = ranges.keys() - settings._tabled if isinstance(settings, Settings) else set()
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if not field.init or isinstance(value, (bool, str)):
            continue
        if isinstance(value, numbers.Real):
            typical = value if field.default is dataclasses.MISSING else field.default
            whole = isinstance(typical, int) and not (field.name in ranges and field.default is dataclasses.MISSING)
            yield Parameter(owner, field.name, whole=whole, stacks=field.name in stacks)
        elif _is_row(value):
            yield from (Parameter(owner, field.name, place) for place in range(len(value)))


def _is_row(value: Any) -> bool:
    """Whether these are a few numbers, such as one per group, and no table of people."""
    array = np.asarray(value) if isinstance(value, (list, tuple, np.ndarray)) else np.zeros((0, 0))
    return array.ndim == 1 and array.size <= 64 and bool(np.issubdtype(array.dtype, np.number))


Values = Mapping[Parameter, Any]
"""A number for each parameter; or, for some that may vary by replicate, (replicates,)."""


def with_values(
    task: Task, learners: Mapping[str, Learner[Any]], given: Sequence[str]
) -> tuple[Task, dict[str, Learner[Any]]]:
    """Return a task and learners with other numbers, each given as text such as ``rate=0.2``.

    >>> from fairgate.learners import OFS
    >>> from fairgate.tasks import load_task
    >>> task, learners = with_values(load_task("mve-s"), {"ofs": OFS()}, ["epsilon=0.1", "c=0.2"])
    >>> task.problem.constraints, learners["ofs"].c
    ([DemographicParity(epsilon=0.1)], 0.2)
    """
    known = Known(task, learners) if given else None
    values: dict[Parameter, Any] = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            raise InputError(f"--set {text!r} must be a parameter and a number, such as rate=0.2") from None
        for each in known.find(name.strip()) if known else ():
            if each.owner == "loop":
                raise InputError(f"--set {text!r}: give it as --{each.field} instead")
            values[each] = int(value) if each.whole and value.is_integer() else value
    changed = {name: changed_learner(name, learner, values) for name, learner in learners.items()}
    return changed_task(task, values) if values else task, changed


def changed_task(task: Task, values: Values) -> Task:
    """Return a task with other numbers; those of learners and of the loop are left out."""
    environment = _changed(task.environment, "environment", values)
    utility = _changed(task.problem.utility, "utility", values)
    constraints = [_changed(each, _called(each), values) for each in task.problem.constraints]
    grid: Any = task.grid
    ends = {each.field: value for each, value in values.items() if each.owner == "grid"}
    if ends:
        low, high = (float(ends.get(name, task.thresholds[place])) for name, place in (("low", 0), ("high", -1)))
        grid = np.linspace(low, high, int(ends.get("size", len(task.thresholds))))
    return dataclasses.replace(task, environment=environment, problem=Problem(utility, constraints), grid=grid)


def changed_learner(name: str, learner: Learner[Any], values: Values) -> Learner[Any]:
    """Return the learner of this name with other numbers."""
    made: Learner[Any] = _changed(learner, name, values)
    return made


def _changed(settings: Any, owner: str, values: Values) -> Any:
    changes: dict[str, Any] = {}
    for each, value in values.items():
        if each.owner != owner:
            continue
        if each.place is None:
            changes[each.field] = value
        else:
            holder = getattr(settings, _inner(settings) or "", settings)
            several = changes.get(each.field, np.array(getattr(holder, each.field), dtype=np.float64)).copy()
            several[each.place] = value
            changes[each.field] = several
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in changes.items()}
    if not plain:
        return settings
    if isinstance(settings, Scalar):
        return dataclasses.replace(settings, options={**settings.options, **plain})
    inner = _inner(settings)
    if inner is not None:
        return dataclasses.replace(settings, **{inner: dataclasses.replace(getattr(settings, inner), **plain)})
    return dataclasses.replace(settings, **plain)


def _inner(settings: Any) -> str | None:
    """Return where what adapts one's own learner or constraint has it."""
    if isinstance(settings, Own):
        return "own"
    return "inner" if isinstance(settings, Constraint) and hasattr(settings, "inner") else None
