"""Running learners on blocks of worlds: each pair a job whose outcome is kept in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.amounts import amount
from fairgate.bench.matrix import Failure
from fairgate.bench.pairs import perform, play_all
from fairgate.bench.share import Yardsticks
from fairgate.bench.worlds import measures, yardsticks
from fairgate.bench.worlds.blocks import WorldBlock
from fairgate.bench.worlds.warm import Following, old_thresholds, rounds_before
from fairgate.bench.worlds.yardsticks import Known
from fairgate.engines import Engine
from fairgate.errors import InputError
from fairgate.learners import Learner
from fairgate.learners.base import check_level
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import Size, simulate
from fairgate.store import (
    Say,
    Work,
    code_digest,
    complete,
    file_name,
    read_table,
    table_bytes,
)
from fairgate.tasks import Task
from fairgate.together import simulate_together


@dataclass(frozen=True, repr=False)
class WorldMatrix:
    """What was found in each world (W): figures by learner, NaN where it has none.

    Attributes
    ----------
    numbers
        The worlds, in order.
    figures
        By learner and measure, (W,) each.
    truth
        Mean over rounds of each yardstick, (W,), ``feasible``: whether some threshold is feasible at the end, and
        ``hidden``: whether a constraint asks for labels of the rejected.
    words
        What each world is, by number.
    levels, policies, searched
        Feedback level of each learner, the class of policies that it says to play, and the one it searches.
    failures
        Blocks on which a learner raised an error.
    """

    numbers: Sequence[int]
    figures: Mapping[str, Mapping[str, Array]]
    truth: Mapping[str, Array]
    words: Mapping[str, Mapping[str, str]]
    levels: Mapping[str, str]
    policies: Mapping[str, str]
    searched: Mapping[str, str]
    failures: Sequence[Failure] = ()

    def __repr__(self) -> str:
        size = f"{amount(len(self.figures), 'learner')} on {amount(len(self.numbers), 'world')}"
        return f"WorldMatrix({size}, {len(self.failures)} failed)"


@dataclass(frozen=True)
class WorldPair:
    """A learner on a block of worlds."""

    name: str
    learner: Learner[Any]
    block: WorldBlock
    best: Yardsticks
    rounds: int
    seed: int
    history: int = 0  # people whom an old policy decides on before

    @property
    def key(self) -> str:
        """Name of its file."""
        return file_name(f"{self.block.name}--{self.name}")

    @property
    def task(self) -> Task:
        """All worlds of the block as one task."""
        return self.block.task

    @property
    def shared(self) -> WorldBlock | None:
        """What pairs that are played together have in common; None after an old policy, which each follows alone."""
        return None if rounds_before(self.block, self.history) else self.block

    @property
    def size(self) -> Size:
        """How much is simulated: a loop for each world and seed."""
        block = self.block
        return Size(self.rounds, len(block.numbers) * block.seeds, block.root(self.seed), block.shape.batch)

    def work(self, code: str) -> Work:
        """What there is to do for its file, with a fingerprint of all that makes it; `code` is that of the code."""
        truth = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in vars(self.best).values()))
        settings = {
            "worlds": self.block.numbers,
            "seeds": self.block.seeds,
            "rounds": self.rounds,
            "seed": self.seed,
            **({"history": self.history} if self.history else {}),
            "learner": self.learner.describe(),
            "truth": truth.hexdigest(),
            "code": code,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        shape, loops = self.block.shape, len(self.block.numbers) * self.block.seeds
        bins = 1 if self.learner.level == "bandit" else shape.size
        cost = self.rounds * (400.0 + 0.2 * loops * shape.groups * (bins + 5))  # µs, roughly
        return Work(self.key, digest, (f"{self.key}.parquet",), cost, partial(perform, self))

    def played(self) -> bytes:
        """Play and judge it, and return the file of its outcome."""
        return table_bytes(played(self))

    def judged(self, run: Run) -> bytes:
        """Judge a run of it, and return the file of its outcome."""
        return table_bytes(judged(self, run, self.task))


def played(pair: WorldPair) -> dict[str, Array]:
    """Play a block and judge it: means over the seeds of every world, (W,) each."""
    block, task, size = pair.block, pair.block.task, pair.size
    before = rounds_before(block, pair.history)
    if not before:
        return judged(pair, simulate(task, pair.learner, **asdict(size)), task)
    following = Following(pair.learner, old_thresholds(task, size.seeds).tolist(), before)
    run = simulate(task, following, **asdict(replace(size, rounds=before + size.rounds)))
    return judged(pair, run.part(slice(before, None)), task.at(run.rounds - 1))


def judged(pair: WorldPair, run: Run, task: Task) -> dict[str, Array]:
    """Judge a run on a block: means over the seeds of every world, (W,) each."""
    block = pair.block
    found = measures.measure(run, task, pair.best.repeated(block.seeds), pair.learner.searched)
    return {name: values.reshape(-1, block.seeds).mean(axis=1) for name, values in found.items()}


def fill(
    learners: Mapping[str, Learner[Any]],
    blocks: Sequence[WorldBlock],
    folder: Path,
    engine: Engine,
    say: Say,
    *,
    rounds: int,
    seed: int,
    history: int = 0,
) -> WorldMatrix:
    """Solve all worlds, then play every learner on every block that it can play on, and read what was found."""
    lengths = [rounds_before(block, history) + rounds for block in blocks]
    solving = [yardsticks.work_of(block, length) for block, length in zip(blocks, lengths, strict=True)]
    unsolved = complete(folder, solving, engine, say, noun="block")
    if unsolved:
        raise InputError(f"{unsolved[0][0].name} cannot be solved: {unsolved[0][1]}")
    known = [
        yardsticks.read(folder, block, length).after(length - rounds)
        for block, length in zip(blocks, lengths, strict=True)
    ]
    codes = {
        name: code_digest(played, simulate_together, yardsticks.solve, learner) for name, learner in learners.items()
    }

    def play(parts: Sequence[tuple[str, Known]]) -> tuple[list[WorldPair], dict[str, str]]:
        pairs = [WorldPair(name, learners[name], each.block, each.best, rounds, seed, history) for name, each in parts]
        return pairs, play_all(pairs, [pair.work(codes[pair.name]) for pair in pairs], folder, engine, say)

    whole = [(name, each) for name in learners for each in known]
    able_to = [able(learners[name], each.block) for name, each in whole]
    pairs, failed = play([part for part, can in zip(whole, able_to, strict=True) if can])
    lost = {(pair.name, pair.block) for pair in pairs if pair.key in failed}
    broken = [part for part, can in zip(whole, able_to, strict=True) if not can or (part[0], part[1].block) in lost]
    alone = [(name, one) for name, each in broken for one in each.split() if able(learners[name], one.block)]
    if alone:
        say("Playing worlds one by one where a learner failed in some of those side by side")
        singles, still = play(alone)
        pairs = [pair for pair in pairs if (pair.name, pair.block) not in lost] + singles
        failed = still
    return _read(learners, known, pairs, folder, failed)


def able(learner: Learner[Any], block: WorldBlock) -> bool:
    """Whether a learner may see what the constraints of a block ask for, and can begin there."""
    task = block.task
    try:
        check_level(learner, task.problem)
        learner.start(task.setting, len(block.numbers) * block.seeds, np.random.default_rng(0))
    except InputError:
        return False
    return True


def _read(
    learners: Mapping[str, Learner[Any]],
    known: Sequence[Known],
    pairs: Sequence[WorldPair],
    folder: Path,
    failed: Mapping[str, str],
) -> WorldMatrix:
    numbers = sorted(number for block, _, _ in known for number in block.numbers)
    place = {number: index for index, number in enumerate(numbers)}
    where = {block: np.array([place[number] for number in block.numbers]) for block, _, _ in known}
    figures: dict[str, dict[str, Array]] = {}
    for pair in pairs:
        if pair.key not in failed:
            for name, values in read_table(folder / f"{pair.key}.parquet")[0].items():
                column = figures.setdefault(pair.name, {}).setdefault(name, np.full(len(numbers), np.nan))
                column[[place[number] for number in pair.block.numbers]] = values
    with_figures = [name for name in learners if name in figures]
    return WorldMatrix(
        numbers,
        {name: figures[name] for name in with_figures},
        _truth(known, where, len(numbers)),
        {number: words for each in known for number, words in each.words.items()},
        {name: learners[name].level for name in with_figures},
        {name: learners[name].policies for name in with_figures},
        {name: learners[name].searched for name in with_figures},
        [Failure(pair.name, pair.block.name, failed[pair.key]) for pair in pairs if pair.key in failed],
    )


def _truth(known: Sequence[Known], where: Mapping[WorldBlock, NDArray[np.int64]], worlds: int) -> dict[str, Array]:
    """Return what is true of each world, (W,) each."""
    means = ("fair", "threshold", "lottery", "least")
    truth = {name: np.full(worlds, np.nan) for name in (*means, "feasible", "hidden")}
    for block, best, _ in known:
        for name in means:
            truth[name][where[block]] = getattr(best, name).mean(axis=1)
        truth["feasible"][where[block]] = ~np.isnan(best.threshold[:, -1])
        truth["hidden"][where[block]] = any(each.needs == "all-labels" for each in block.task.problem.constraints)
    return truth
