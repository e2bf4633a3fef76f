"""Yardsticks: what the best fixed policies of each world earn, round by round, kept in a file per block."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairgate.bench.share import Yardsticks
from fairgate.bench.worlds.blocks import WorldBlock
from fairgate.settings import Array
from fairgate.store import Work, code_digest, read_table, table_bytes
from fairgate.worlds.loading import solve_world, task_of
from fairgate.worlds.reference import Reference, moments_of, reference_of


def work_of(block: WorldBlock, rounds: int) -> Work:
    """What there is to do for the file of a block: draw its worlds and solve them at every moment."""
    known = {"worlds": block.numbers, "rounds": rounds, "code": code_digest(solve, solve_world, table_bytes)}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    cost = len(block.numbers) * block.shape.groups * 1e5
    return Work(f"{block.name}-truth", digest, (file_of(block),), cost, partial(solve, block, rounds))


def file_of(block: WorldBlock) -> str:
    """Name of the file."""
    return f"{block.name}-truth.parquet"


def solve(block: WorldBlock, rounds: int) -> dict[str, bytes]:
    """Return the file: a line for each world and moment."""
    rows: list[tuple[float, ...]] = []
    words: dict[str, dict[str, str]] = {}
    attempts: list[int] = []
    for number in block.numbers:
        world, at_first = solve_world(number)
        task = task_of([world])
        moments = moments_of(task, rounds).tolist()
        found = [at_first, *(reference_of(task.at(int(first))) for first in moments[1:])]
        rows += [(number, first, *each) for first, each in zip(moments, found, strict=True)]
        words[str(number)] = world.words
        attempts.append(world.attempt)
    columns = dict(zip(("world", "first", *Reference._fields), np.array(rows).T, strict=True))
    return {file_of(block): table_bytes(columns, {"words": words, "attempts": attempts})}


class Known(NamedTuple):
    """A block whose worlds are found, its yardsticks, and what each world is in words, by number."""

    block: WorldBlock
    best: Yardsticks
    words: dict[str, dict[str, str]]

    def after(self, rounds: int) -> Known:
        """Return the same without the first rounds of the yardsticks."""
        return self._replace(best=self.best.after(rounds))

    def split(self) -> list[Known]:
        """Return the worlds of the block one by one."""
        found = []
        for place, number in enumerate(self.block.numbers):
            block = replace(self.block, numbers=(number,), attempts=self.block.attempts[place : place + 1])
            here = Yardsticks(*(getattr(self.best, name)[place : place + 1] for name in Reference._fields))
            found.append(Known(block, here, {str(number): self.words[str(number)]}))
        return found


def read(folder: Path, block: WorldBlock, rounds: int) -> Known:
    """Read what is known of a block."""
    columns, header = read_table(folder / file_of(block))
    found: dict[str, list[Array]] = {name: [] for name in Reference._fields}
    for number in block.numbers:
        here = columns["world"] == number
        lengths = np.diff([*columns["first"][here].astype(int), rounds])
        for name, lines in found.items():
            lines.append(np.repeat(columns[name][here], lengths))
    best = Yardsticks(**{name: np.array(lines) for name, lines in found.items()})
    return Known(replace(block, attempts=tuple(header["attempts"])), best, header["words"])
