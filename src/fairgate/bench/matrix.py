"""The matrix: every learner on every task, each pair a job whose outcome is kept in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate import truth
from fairgate.bench import measures
from fairgate.engines import Engine
from fairgate.errors import told
from fairgate.learners import Learner
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import Size, simulate
from fairgate.statistics import iqm
from fairgate.store import (
    Bundle,
    Say,
    Work,
    code_digest,
    complete,
    file_name,
    one_by_one,
    read_table,
    table_bytes,
)
from fairgate.tasks import Task
from fairgate.together import can_join, packs, simulate_together


@dataclass(frozen=True)
class Pair:
    """A learner on a task."""

    name: str
    learner: Learner[Any]
    task: Task
    size: Size

    @property
    def key(self) -> str:
        """Name of its file; characters a file name cannot have are replaced."""
        return file_name(f"{self.task.name}--{self.name}")

    def work(self) -> Work:
        """What there is to do for its file, with a fingerprint of the settings and of the code they are judged by."""
        settings = {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "size": asdict(self.size),
            "code": code_digest(judge, simulate_together, table_bytes, self.task, self.learner),
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        cost = self.size.rounds * (150.0 + self.size.seeds * self.task.environment.group_count)  # µs, roughly
        if self.learner.level != "bandit":
            cost *= 8.0  # histograms of scores are drawn
        return Work(self.key, digest, (f"{self.key}.parquet",), cost, partial(perform, self))


@dataclass(frozen=True, repr=False)
class Outcome:
    """What is kept of a pair: measures (seeds,), a learning curve, and the truth it was judged by."""

    learner: str
    task: str
    level: str
    figures: Mapping[str, Array]
    curve: Mapping[str, NDArray[Any]]
    truth: Mapping[str, Any]
    settings: Any

    @property
    def success(self) -> float:
        """Share of seeds that meet the target of the learner's level."""
        return float(self.figures[measures.TARGET[self.level]].mean())

    @property
    def shortfall(self) -> float:
        """Interquartile mean of the shortfall over seeds."""
        return float(iqm(self.figures["shortfall"]))


@dataclass(frozen=True)
class Failure:
    """A pair whose learner raised an error."""

    learner: str
    task: str
    error: str

    def __str__(self) -> str:
        return f"learner {self.learner!r} failed on {self.task}: {self.error}"


@dataclass(frozen=True, repr=False)
class Matrix:
    """All outcomes by learner and task, and what failed."""

    outcomes: Mapping[tuple[str, str], Outcome]
    failures: Sequence[Failure] = ()

    @property
    def learners(self) -> list[str]:
        """Names of all learners with an outcome, in the order given."""
        return list(dict.fromkeys(learner for learner, _ in self.outcomes))

    @property
    def tasks(self) -> list[str]:
        """Names of all tasks with an outcome, in the order given."""
        return list(dict.fromkeys(task for _, task in self.outcomes))

    def of(self, learner: str) -> dict[str, Outcome]:
        """Return a learner's outcomes by task."""
        return {task: self.outcomes[learner, task] for task in self.tasks if (learner, task) in self.outcomes}

    def shared(self, *learners: str) -> list[Array]:
        """Return the shortfalls of learners on the tasks that all of them have, (seeds, tasks) each; none if none."""
        found = [self.of(learner) for learner in learners]
        tasks = [task for task in found[0] if all(task in other for other in found)]
        return [np.stack([each[task].figures["shortfall"] for task in tasks], axis=1) for each in found if tasks]


def fill(pairs: Sequence[Pair], folder: Path, engine: Engine, say: Say) -> Matrix:
    """Run every pair that is not done yet, the longest first, on an engine, and read all outcomes."""
    for pair in pairs:
        (folder / f"{pair.key}.error").unlink(missing_ok=True)
    lost = complete(folder, [pair.work() for pair in pairs], engine, say, bundled=partial(bundled, pairs))
    died = {work.name: text for work, text in lost}
    outcomes: dict[tuple[str, str], Outcome] = {}
    failures: list[Failure] = []
    for pair in pairs:
        names = pair.name, pair.task.name
        failed = folder / f"{pair.key}.error"
        if failed.is_file():
            died[pair.key] = failed.read_text(encoding="utf-8")
        if pair.key in died:
            failures.append(Failure(*names, died[pair.key]))
            continue
        figures, header = read_table(folder / f"{pair.key}.parquet")
        header["curve"] = {name: np.asarray(values) for name, values in header["curve"].items()}
        outcomes[names] = Outcome(*names, figures=figures, **header)
    return Matrix(outcomes, failures)


def bundled(pairs: Sequence[Pair], works: Sequence[Work]) -> list[Bundle]:
    """Bundle the learners of a task that can be played together."""
    by_key = {pair.key: pair for pair in pairs}
    together: dict[tuple[str, Size], list[Work]] = {}
    alone: list[Work] = []
    for work in works:
        pair = by_key[work.name]
        join = can_join(pair.task, pair.learner, pair.size)
        (together.setdefault((pair.task.name, pair.size), []) if join else alone).append(work)
    found = one_by_one(alone)
    for (_, size), each in together.items():
        for some in packs(len(each), size):
            found.append(Bundle(each[some], partial(perform_together, [by_key[work.name] for work in each[some]])))
    return found


def perform_together(pairs: Sequence[Pair]) -> list[dict[str, bytes]]:
    """Return the files of pairs that have their task in common; if one fails, each is done alone."""
    try:
        runs = simulate_together(pairs[0].task, [pair.learner for pair in pairs], pairs[0].size)
    except Exception:  # said by the one that fails
        return [perform(pair) for pair in pairs]
    return [_file(pair, partial(judge, run, pair.task, pair.learner)) for pair, run in zip(pairs, runs, strict=True)]


def perform(pair: Pair) -> dict[str, bytes]:
    """Run and judge a pair and return the file of its outcome; of one that fails, one with the error instead."""
    return _file(pair, partial(outcome, pair.task, pair.learner, pair.size))


def _file(pair: Pair, judged: Callable[[], tuple[dict[str, Array], dict[str, Any]]]) -> dict[str, bytes]:
    try:
        return {f"{pair.key}.parquet": table_bytes(*judged())}
    except Exception as error:
        return {f"{pair.key}.error": told(error).encode()}


def outcome(task: Task, learner: Learner[Any], size: Size) -> tuple[dict[str, Array], dict[str, Any]]:
    """Run and judge a pair: its measures, and its curve, level, settings and truth as plain data."""
    run = simulate(task, learner, size.rounds, size.seeds, seed=size.seed, batch=size.batch)
    return judge(run, task, learner)


def judge(run: Run, task: Task, learner: Learner[Any]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Judge a run: its measures, and its curve, level, settings and truth as plain data."""
    known = truth.truth_of(task, run.rounds)
    judged = run.against(known)
    header = {
        "level": learner.level,
        "settings": learner.describe(),
        "curve": {name: values.tolist() for name, values in measures.curve(run, judged).items()},
        "truth": {
            "feasible": known.last.feasible,
            "best": vars(known.last.sweep.best),
            "least_violation": known.last.least,
            "moments": len(known.moments),
        },
    }
    return measures.measure(run, known, judged), header
