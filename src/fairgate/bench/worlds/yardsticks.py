"""Yardsticks: what the best fixed policies of each world earn, round by round, kept in a file per block."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np

from fairgate.bench.share import Yardsticks
from fairgate.bench.worlds.blocks import WorldBlock
from fairgate.settings import Array
from fairgate.store import Work, code_digest, read_table, table_bytes
from fairgate.worlds.loading import load_world, task_of
from fairgate.worlds.reference import Reference, moments_of, reference_of


def work_of(block: WorldBlock, rounds: int) -> Work:
    """What there is to do for the file of a block: draw its worlds and solve them at every moment."""
    known = {"worlds": block.numbers, "rounds": rounds, "code": code_digest(solve, load_world, table_bytes)}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    cost = len(block.numbers) * block.shape.groups * 1e5
    return Work(f"{block.name}-truth", digest, (file_of(block),), cost, partial(solve, block, rounds))


def file_of(block: WorldBlock) -> str:
    """Name of the file."""
    return f"{block.name}-truth.parquet"


def solve(block: WorldBlock, rounds: int) -> dict[str, bytes]:
    """Return the file: a line for each world and moment."""
    rows: list[tuple[float, ...]] = []
    for world in block.worlds:
        task = task_of([world])
        for first in moments_of(task, rounds):
            rows.append((world.number, first, *reference_of(task.at(int(first)))))
    columns = dict(zip(("world", "first", *Reference._fields), np.array(rows).T, strict=True))
    words = {str(world.number): world.words for world in block.worlds}
    return {file_of(block): table_bytes(columns, {"words": words})}


def read(folder: Path, block: WorldBlock, rounds: int) -> tuple[Yardsticks, dict[str, dict[str, str]]]:
    """Read the yardsticks of a block and what its worlds are in words."""
    columns, header = read_table(folder / file_of(block))
    found: dict[str, list[Array]] = {name: [] for name in Reference._fields}
    for number in block.numbers:
        here = columns["world"] == number
        lengths = np.diff([*columns["first"][here].astype(int), rounds])
        for name, lines in found.items():
            lines.append(np.repeat(columns[name][here], lengths))
    return Yardsticks(**{name: np.array(lines) for name, lines in found.items()}), header["words"]
