"""Packs: cells that are simulated together, side by side where their settings may vary by replicate.

What a cell comes to does not depend on the pack it is in: it is what :func:`~fairgate.simulate` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairgate.block import Block
from fairgate.errors import InputError, told
from fairgate.learners import Learner
from fairgate.nature import COMMON
from fairgate.run import tail_of
from fairgate.settings import Array
from fairgate.store import table_bytes
from fairgate.summary import lengths_of
from fairgate.sweep.cells import Cell, Size, size_of
from fairgate.sweep.figures import FIGURES, TRUTH, Gathered, truth_figures
from fairgate.sweep.parameters import Parameter, changed_learner, changed_task
from fairgate.tasks import Task, load_task
from fairgate.truth import Truth, truth_of

STACK = 1000
"""Loops simulated side by side: more are no faster."""


@dataclass(frozen=True)
class Pack:
    """Cells of one learner that are simulated together; a built-in task is given by name, which is less to send."""

    task: Task | str
    learner: Learner[Any]
    size: Size
    cells: Sequence[Cell]

    @property
    def loops(self) -> int:
        """Number of loops."""
        return sum(cell.seeds for cell in self.cells)

    def split(self) -> list[Pack]:
        """Return a pack for each cell; none if it has only one."""
        return [replace(self, cells=[cell]) for cell in self.cells] if len(self.cells) > 1 else []

    def simulate(self) -> bytes:
        """Return the figures of all cells as a Parquet file, one row per loop; of cells that fail, what was wrong."""
        task = load_task(self.task) if isinstance(self.task, str) else self.task
        found: dict[str, dict[str, Array]] = {}
        failed: dict[str, str] = {}
        ready: list[_Ready] = []
        for cell in self.cells:
            try:
                ready.append(_made(task, self.learner, self.size, cell))
            except Exception as error:
                failed[cell.key] = _said(error)
        for stack in _stacks(ready):
            found |= self._simulated(task, stack, failed)
        done = [each for each in ready if each.cell.key in found]
        columns = {
            name: np.concatenate([np.zeros(0), *(found[each.cell.key][name] for each in done)]) for name in FIGURES
        }
        header = {
            "cells": [each.cell.key for each in done],
            "seeds": [each.cell.seeds for each in done],
            "truth": {name: [truth_figures(each.truth)[name] for each in done] for name in TRUTH},
            "failures": failed,
        }
        return table_bytes(columns, header)

    def _simulated(self, task: Task, stack: Sequence[_Ready], failed: dict[str, str]) -> dict[str, dict[str, Array]]:
        """Return the figures of cells that stand side by side; if one fails, all are tried alone to find which."""
        try:
            return _figures(task, self.learner, stack)
        except Exception as error:
            if len(stack) == 1:
                failed[stack[0].cell.key] = _said(error)
                return {}
        found: dict[str, dict[str, Array]] = {}
        for each in stack:
            found |= self._simulated(task, [each], failed)
        return found


@dataclass(frozen=True)
class _Ready:
    """A cell with all that was made for it."""

    cell: Cell
    task: Task
    learner: Learner[Any]
    size: Mapping[str, int]
    truth: Truth

    @property
    def apart(self) -> tuple[Any, ...]:
        """What cells must agree in to stand side by side; one that cannot is alone with its key."""
        if self.size["batch"] > COMMON:
            return (self.cell.key,)
        fixed = {each: value for each, value in self.cell.values.items() if not each.stacks}
        return (self.cell.block, self.cell.seeds, *((each.name, value) for each, value in fixed.items()))


def _made(task: Task, learner: Learner[Any], size: Size, cell: Cell) -> _Ready:
    changed, own = changed_task(task, cell.values), changed_learner(cell.learner, learner, cell.values)
    found = size_of(size, cell.values)
    return _Ready(cell, changed, own, found, truth_of(changed, found["rounds"]))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else told(error)


def _stacks(ready: Sequence[_Ready]) -> Iterator[list[_Ready]]:
    """Yield cells that can stand side by side, up to so many loops."""
    alike: dict[tuple[Any, ...], list[_Ready]] = {}
    for each in ready:
        alike.setdefault(each.apart, []).append(each)
    for members in alike.values():
        most = max(1, STACK // members[0].cell.seeds)
        yield from (members[first : first + most] for first in range(0, len(members), most))


def _figures(task: Task, learner: Learner[Any], stack: Sequence[_Ready]) -> dict[str, dict[str, Array]]:
    """Simulate cells side by side and return their figures by key."""
    first, seeds = stack[0], stack[0].cell.seeds
    values: dict[Parameter, Any] = {
        each: np.repeat([one.cell.values[each] for one in stack], seeds) for each in first.cell.values if each.stacks
    }
    made = first.task, first.learner
    if len(stack) > 1 and values:
        made = changed_task(first.task, values), changed_learner(first.cell.learner, first.learner, values)
    rounds, batch = first.size["rounds"], first.size["batch"]
    block = Block(
        *made,
        replicates=len(stack) * seeds,
        rounds=rounds,
        batch=batch,
        seed=first.size["seed"],
        coupling="common" if batch <= COMMON else "independent",
        number=first.cell.block,
        parts=len(stack),
    )
    gathered = [Gathered(each.truth) for each in stack]
    for piece in block.pieces(lengths_of(rounds, tail_of(rounds))):
        for place, each in enumerate(gathered):
            each.add(piece.rows(slice(place * seeds, (place + 1) * seeds)))
    return {one.cell.key: each.figures() for one, each in zip(stack, gathered, strict=True)}
