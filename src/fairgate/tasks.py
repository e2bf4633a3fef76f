"""Tasks: a setting with an environment and a name.

The paper's five are read from ``presets.toml`` beside this file, those that tell learners apart from ``suite.toml``.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module, resources
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairgate.constraints import make_constraint
from fairgate.constraints.base import check_residuals
from fairgate.counts import Counts
from fairgate.data import Dataset, load_dataset, load_fico, scores
from fairgate.environments import ENVIRONMENTS, Environment
from fairgate.errors import InputError, unknown_name
from fairgate.problem import Problem, Utility
from fairgate.recipe import pack, unpack
from fairgate.setting import Setting
from fairgate.settings import Array, Index, Settings, common_replicates


@dataclass(frozen=True, eq=False, repr=False)
class Task(Settings):
    """A setting with an environment and a name: what a simulation needs.

    Parameters
    ----------
    environment
        Who arrives, and how decisions change who arrives next.
    problem
        What is wanted and what is required.
    grid
        Thresholds to choose from, increasing. Learners that search an interval use its two ends.
    name
        For tables and files.

    Examples
    --------
    >>> import fairgate as fg
    >>> env = fg.environments.ScorePools([0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 1, 1])
    >>> fg.Task(environment=env, problem=fg.Problem(fg.Utility(1.0)), grid=[0.0, 1.5, 3.0], name="mine")
    Task(mine: ScorePools(4 people, 2 groups, split=0.5, floor=0.1, ceiling=0.9, rate=0.1), 3 thresholds)
    """

    environment: Environment
    problem: Problem
    grid: ArrayLike
    name: str = "custom"

    def __post_init__(self) -> None:
        thresholds = self.setting.thresholds
        replicates = self.replicates or 1
        start = self.environment.start(replicates)
        middle = np.full((replicates, self.environment.group_count), thresholds[len(thresholds) // 2])
        counts = Counts(self.environment.probabilities(start, middle))
        check_residuals(self.problem.constraints, counts)
        self.problem.assess(counts)  # problem and environment must fit

    def __repr__(self) -> str:
        return f"Task({self.name}: {self.environment}, {np.size(self.grid)} thresholds)"

    @functools.cached_property
    def setting(self) -> Setting:
        """What a learner is told of the task."""
        return Setting(self.problem, self.grid, self.environment.group_count)

    @property
    def thresholds(self) -> Array:
        """The grid as an array (K,)."""
        return self.setting.thresholds

    @property
    def replicates(self) -> int | None:
        """How many replicates the settings are for, or None if they fit any number."""
        return common_replicates(
            {"the environment": self.environment.replicates, "the problem": self.problem.replicates}
        )

    def rows(self, index: Index) -> Self:
        """Return the same task for these replicates only."""
        return replace(self, environment=self.environment.rows(index), problem=self.problem.rows(index))

    def at(self, round_number: int) -> Self:
        """Return the task with its environment frozen as it stands in a round, so that it has an oracle."""
        return replace(self, environment=self.environment.at(round_number))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON with everything the task is made of, arrays bit by bit; see :meth:`from_json`."""
        plain: dict[str, Any] = pack(self)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any], *own: type) -> Task:
        """Return the task that :meth:`to_json` gave: simulated again, it gives the same numbers.

        Only classes of fairgate are made. Pass those of your `own` that are part of it.

        >>> task = load_task("compas")
        >>> Task.from_json(task.to_json())
        Task(compas: ScorePools(6172 people, 2 groups, split=0.9, floor=0.1, ceiling=0.94, rate=0.1), 41 thresholds)
        """
        found = unpack(plain, own)
        if not isinstance(found, Task):
            raise InputError(f"this is no task that to_json gave, but a {type(found).__name__}")
        return found


PRESETS = ("presets.toml", "suite.toml")
"""Files of numbers: the paper's tasks, and those that tell learners apart."""


@functools.cache
def presets(files: tuple[str, ...] = PRESETS) -> dict[str, Any]:
    """Read every number chosen for the tasks, by task name, from these files of the package.

    >>> list(presets(("presets.toml",)))
    ['mve-s', 'german', 'compas', 'german-strict', 'compas-strict']
    """
    tables: dict[str, Any] = {}
    for file in files:
        tables |= tomllib.loads(resources.files("fairgate").joinpath(file).read_text(encoding="utf-8"))
    return {name: _inherit(tables, name) for name in tables}


def _inherit(tables: dict[str, Any], name: str) -> dict[str, Any]:
    """Fill a preset from the one it is `like`; its own numbers win."""
    own = tables[name]
    if "like" not in own:
        return dict(own)
    merged = _inherit(tables, own["like"])
    for key, value in own.items():
        merged[key] = {**merged[key], **value} if isinstance(value, dict) and key in merged else value
    return merged


def load_task(name: str) -> Task:
    """Load a task by its name: one of the paper's or of the suite's (``fairgate list`` prints them all).

    ``world-`` and a number, such as ``world-10003``, is a random world: see :func:`~fairgate.worlds.load_world`.

    >>> load_task("german").problem.constraints
    [DemographicParity(epsilon=0.02), ServiceRate(low=0.3, high=0.99)]
    >>> load_task("world-10003").problem.names
    ('tpr', 'fpr', 'budget')
    """
    if name.startswith("world-"):
        world: Task = import_module("fairgate.worlds").world_named(name)  # worlds are solved, and need all of the rest
        return world
    return _preset_task(name)


@functools.cache
def _preset_task(name: str) -> Task:
    if name not in presets():
        raise unknown_name("task", name, presets())
    return make_task(name, presets()[name])


def make_task(name: str, preset: Mapping[str, Any], score: Callable[[Dataset], Array] = scores) -> Task:
    """Make the task that a preset describes; `score` gives the people of its dataset, if it has one, their scores."""
    settings, grid = dict(preset["environment"]), preset["grid"]
    if "dataset" in preset:
        dataset = load_dataset(preset["dataset"], features=preset["features"])
        settings |= {"scores": score(dataset), "labels": dataset.labels, "groups": dataset.groups}
    if "fico" in preset:
        table = load_fico(preset["fico"])
        settings |= {"scores": table.scores, "pdf": table.pdf, "repay": table.repay, "shares": table.shares}
    environment = ENVIRONMENTS[preset["kind"]](**settings)
    return Task(
        environment, make_problem(**preset["problem"]), np.linspace(grid["low"], grid["high"], grid["size"]), name
    )


def make_problem(false_positive_cost: float, **constraints: Any) -> Problem:
    """Make the problem that a preset writes: a cost, and any constraints by name with their settings.

    >>> make_problem(1.0, **{"budget": 0.4, "ratio": 0.8}).names
    ('budget', 'ratio')
    """
    made = [make_constraint(name, settings) for name, settings in constraints.items()]
    return Problem(Utility(false_positive_cost), made)
