"""Cells: a learner in a setting, with some seeds; what each is known by, so that it is found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairgate.block import BLOCK, blocks_of
from fairgate.errors import InputError
from fairgate.learners import Learner
from fairgate.learners.base import check_level
from fairgate.settings import described, whole_number
from fairgate.simulation import Size
from fairgate.sweep.design import Column
from fairgate.sweep.parameters import Parameter, changed_learner, changed_task
from fairgate.tail import tail_of
from fairgate.tasks import Task


@dataclass(frozen=True)
class Cell:
    """A learner in a setting, with one block of the seeds.

    Attributes
    ----------
    setting, learner
        Which setting of the design, and the learner's name.
    values
        The parameters that matter to it.
    block
        Number of the block of seeds.
    seeds
        How many seeds the block has.
    key
        Fingerprint of all that makes its figures: task, learner, values, size and code.
    """

    setting: int
    learner: str
    values: Mapping[Parameter, Any]
    block: int
    seeds: int
    key: str


@dataclass(frozen=True)
class Plan:
    """What there is to do: a task and learners, over the settings of a design.

    Attributes
    ----------
    design
        Values of each parameter, (settings,).
    parameters
        What each name of the design stands for.
    """

    task: Task
    learners: Mapping[str, Learner[Any]]
    size: Size
    design: Mapping[str, Column]
    parameters: Mapping[str, Sequence[Parameter]]

    def __post_init__(self) -> None:
        for name, learner in self.learners.items():
            try:
                check_level(learner, self.task.problem)
            except InputError as error:
                raise InputError(f"learner {name!r}: {error}") from None

    @property
    def settings(self) -> int:
        """Number of settings."""
        return len(next(iter(self.design.values()))) if self.design else 1

    def setting(self, index: int) -> dict[str, Any]:
        """Return a setting's values by name."""
        return {name: column[index].item() for name, column in self.design.items()}

    def values(self, index: int, learner: str) -> dict[Parameter, Any]:
        """Return the values of a setting that matter to a learner."""
        return {
            each: value
            for name, value in self.setting(index).items()
            for each in self.parameters[name]
            if each.owner == learner or each.owner not in self.learners
        }

    def check(self, index: int) -> None:
        """Refuse what is no setting's number."""
        if not isinstance(index, (int, np.integer)) or not 0 <= index < self.settings:
            raise InputError(f"setting must be a whole number from 0 to {self.settings - 1}, got {index!r}")

    def objects(self, index: int, learner: str) -> tuple[Task, Learner[Any], dict[str, Any]]:
        """Return task, learner, and the rounds, seeds, seed and batch of a cell, for :func:`~fairgate.simulate`."""
        self.check(index)
        values = self.values(index, learner)
        changed = changed_task(self.task, values), changed_learner(learner, self.learners[learner], values)
        return *changed, size_of(self.size, values)

    def cells(self, code: Mapping[str, str], keep: str = "summary") -> Iterator[Cell]:
        """Yield every cell, block by block of its seeds; `code` is a fingerprint of each learner's code."""
        blocks = [index.stop - index.start for index in blocks_of(self.size.seeds, BLOCK)]
        task = _digest(self.task.describe())
        for learner, made in self.learners.items():
            own = _digest(described(made))
            for index in range(self.settings):
                values = self.values(index, learner)
                told = sorted((_role(each, learner), repr(value)) for each, value in values.items())
                for number, seeds in enumerate(blocks):
                    known = [task, own, told, asdict(self.size) | {"seeds": seeds}, number, code[learner]]
                    known += [keep] * (keep != "summary")
                    yield Cell(index, learner, values, number, seeds, _digest(known))

    @cached_property
    def describe(self) -> dict[str, Any]:
        """All that was asked for, as plain data."""
        return {
            "task": self.task.describe(),
            "learners": {name: learner.describe() for name, learner in self.learners.items()},
            **asdict(self.size),
            "parameters": {
                name: [[each.owner, each.short] for each in found] for name, found in self.parameters.items()
            },
            "tail": tail_of(self.size.rounds),
            "over": {name: sorted(set(column.tolist())) for name, column in self.design.items()},
            "settings": {name: column.tolist() for name, column in self.design.items()},
        }


def size_of(size: Size, values: Mapping[Parameter, Any]) -> dict[str, Any]:
    """Return the rounds, seeds, seed and batch of a cell."""
    loop = {
        each.field: whole_number(each.field, int(value), 1) for each, value in values.items() if each.owner == "loop"
    }
    return {**asdict(size), **loop}


def _role(parameter: Parameter, learner: str) -> str:
    """Name a parameter apart from what the learner is called."""
    return f"learner.{parameter.short}" if parameter.owner == learner else parameter.name


def _digest(known: Any) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
