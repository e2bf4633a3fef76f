"""Packs: cells that are simulated together, side by side where their settings may vary by replicate.

What a cell comes to does not depend on the pack it is in: it is what :func:`~fairgate.simulate` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairgate.errors import InputError, told
from fairgate.learners import Learner
from fairgate.store import table_bytes
from fairgate.sweep.cells import Cell, Size
from fairgate.sweep.figures import FIGURES, truth_figures
from fairgate.tasks import Task, load_task

STACK = 1000
"""Loops simulated side by side: more are no faster."""

SHARE = 4
"""Packs per worker, at least, where there are enough cells: so that no worker waits long for the last."""


@dataclass(frozen=True)
class Pack:
    """Cells of one learner and one block of seeds; `task` is its name if it is a built-in one, which is less to send."""

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
        """Return the figures of all cells as a Parquet file, one row per loop; of cells that fail, the error."""
        base = load_task(self.task) if isinstance(self.task, str) else self.task
        found: dict[str, Any] = {}
        failed: dict[str, str] = {}
        ready: list[_Ready] = []
        for cell in self.cells:
            try:
                ready.append(_Ready.of(base, self.learner, self.size, cell))
            except InputError as error:
                failed[cell.key] = str(error)
            except Exception as error:
                failed[cell.key] = told(error)
        for stack in _stacks(ready):
            found |= _simulated(base, self.learner, stack, failed)
        done = [each for each in ready if each.cell.key in found]
        columns = {name: np.concatenate([found[each.cell.key][name] for each in done] or [[]]) for name in FIGURES}
        header = {
            "cells": [each.cell.key for each in done],
            "seeds": [each.cell.seeds for each in done],
            "truth": {each.cell.key: truth_figures(each.truth) for each in done},
            "failures": failed,
        }
        return table_bytes(columns, header)
