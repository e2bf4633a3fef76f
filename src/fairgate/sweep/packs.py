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
from fairgate.origin import Origin
from fairgate.settings import Array
from fairgate.simulation import Size, simulate
from fairgate.store import table_bytes
from fairgate.summary import lengths_of
from fairgate.sweep.cells import Cell, size_of
from fairgate.sweep.figures import FIGURES, TRUTH, Gathered, truth_figures
from fairgate.sweep.parameters import Parameter, changed_learner, changed_task
from fairgate.tail import tail_of
from fairgate.tasks import Task, load_task
from fairgate.truth import Truth, truth_of

STACK = 1000
"""Loops simulated side by side: more are no faster."""


@dataclass(frozen=True)
class Pack:
    """Cells of one learner that are simulated together.

    Attributes
    ----------
    task, learner, size
        What the cells' values change; a built-in task is given by name, which is less to send.
    cells
        Which.
    keep
        Whether every round of every loop is kept too.
    """

    task: Task | str
    learner: Learner[Any]
    size: Size
    cells: Sequence[Cell]
    keep: bool = False

    @property
    def loops(self) -> int:
        """Number of loops."""
        return sum(cell.seeds for cell in self.cells)

    def split(self) -> list[Pack]:
        """Return a pack for each cell; none if it has only one."""
        return [replace(self, cells=[cell]) for cell in self.cells] if len(self.cells) > 1 else []

    def files(self, name: str) -> tuple[str, ...]:
        """Return the names of its files: figures, and runs if they are kept."""
        return (name, *(run_file(cell.key) for cell in self.cells if self.keep))

    def simulate(self, name: str) -> dict[str, bytes]:
        """Return the figures of all cells as a Parquet file, one row per loop; of cells that fail, what was wrong.

        Runs that are kept are files of their own.
        """
        task = load_task(self.task) if isinstance(self.task, str) else self.task
        found: dict[str, dict[str, Array]] = {}
        failed: dict[str, str] = {}
        runs: dict[str, bytes] = {}
        ready: list[_Ready] = []
        for cell in self.cells:
            try:
                ready.append(_made(task, self.learner, self.size, cell))
            except MemoryError:  # which is the process's and not the cell's: it is tried elsewhere, or in pieces
                raise
            except Exception as error:
                failed[cell.key] = _said(error)
        for stack in [[each] for each in ready] if self.keep else _stacks(ready):
            found |= self._simulated(stack, failed, runs)
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
        return {name: table_bytes(columns, header), **runs}

    def _simulated(
        self, stack: Sequence[_Ready], failed: dict[str, str], runs: dict[str, bytes]
    ) -> dict[str, dict[str, Array]]:
        """Return the figures of cells that stand side by side; if one fails, all are tried alone to find which."""
        try:
            if not self.keep:
                return _figures(stack)
            figures, runs[run_file(stack[0].cell.key)] = _figures_and_run(stack[0])
            return {stack[0].cell.key: figures}
        except MemoryError:
            raise
        except Exception as error:
            if len(stack) == 1:
                failed[stack[0].cell.key] = _said(error)
                return {}
        found: dict[str, dict[str, Array]] = {}
        for each in stack:
            found |= self._simulated([each], failed, runs)
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

    def block(self) -> Block:
        """Return the loops of this cell alone."""
        batch = self.size["batch"]
        return Block(
            self.task,
            self.learner,
            replicates=self.cell.seeds,
            rounds=self.size["rounds"],
            batch=batch,
            seed=self.size["seed"],
            coupling="common" if batch <= COMMON else "independent",
            number=self.cell.block,
        )


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


def _figures(stack: Sequence[_Ready]) -> dict[str, dict[str, Array]]:
    """Simulate cells side by side and return their figures by key."""
    first, seeds = stack[0], stack[0].cell.seeds
    values: dict[Parameter, Any] = {
        each: np.repeat([one.cell.values[each] for one in stack], seeds) for each in first.cell.values if each.stacks
    }
    made = first.task, first.learner
    if len(stack) > 1 and values:
        made = changed_task(first.task, values), changed_learner(first.cell.learner, first.learner, values)
    block = replace(first.block(), task=made[0], learner=made[1], replicates=len(stack) * seeds, parts=len(stack))
    gathered = [Gathered(each.truth) for each in stack]
    for piece in block.pieces(lengths_of(block.rounds, tail_of(block.rounds))):
        for place, each in enumerate(gathered):
            each.add(piece.rows(slice(place * seeds, (place + 1) * seeds)))
    return {one.cell.key: each.figures() for one, each in zip(stack, gathered, strict=True)}


def _figures_and_run(ready: _Ready) -> tuple[dict[str, Array], bytes]:
    """Simulate a cell and return its figures, and every round of it as a file."""
    block, gathered = ready.block(), Gathered(ready.truth)
    (run,) = block.pieces([block.rounds])
    for length in lengths_of(run.rounds, tail_of(run.rounds)):
        gathered.add(run.part(slice(gathered.rounds, gathered.rounds + length)))
    kept = replace(run, origin=Origin(ready.task, ready.learner, simulate))
    return gathered.figures(), kept.parquet()


def run_file(key: str) -> str:
    """Name the file of a cell's whole run."""
    return f"run-{key[:32]}.parquet"


MAKERS = (_made, _figures, _figures_and_run, table_bytes)
"""The code that figures rest on, beside that of the task and the learner."""
