"""The matrix: every learner on every task, each pair a job whose outcome is kept in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate import truth
from fairgate.amounts import amount
from fairgate.bench import measures
from fairgate.bench.pairs import perform, play_all
from fairgate.engines import Engine
from fairgate.learners import Learner
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import Size, simulate
from fairgate.statistics import iqm
from fairgate.store import (
    Say,
    Work,
    code_digest,
    file_name,
    read_table,
    table_bytes,
)
from fairgate.tasks import Task
from fairgate.together import simulate_together


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

    @property
    def shared(self) -> tuple[str, Size]:
        """What pairs that are played together have in common."""
        return self.task.name, self.size

    def played(self) -> bytes:
        """Play and judge it, and return the file of its outcome."""
        return table_bytes(*outcome(self.task, self.learner, self.size))

    def judged(self, run: Run) -> bytes:
        """Judge a run of it, and return the file of its outcome."""
        return table_bytes(*judge(run, self.task, self.learner))

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

    def __repr__(self) -> str:
        return f"Outcome({self.learner} on {self.task}: {self.success:.0%} of seeds succeed)"

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

    def __repr__(self) -> str:
        size = f"{amount(len(self.learners), 'learner')} on {amount(len(self.tasks), 'task')}"
        return f"Matrix({size}, {len(self.failures)} failed)"

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
    failed = play_all(pairs, [pair.work() for pair in pairs], folder, engine, say)
    outcomes: dict[tuple[str, str], Outcome] = {}
    failures: list[Failure] = []
    for pair in pairs:
        names = pair.name, pair.task.name
        if pair.key in failed:
            failures.append(Failure(*names, failed[pair.key]))
            continue
        figures, header = read_table(folder / f"{pair.key}.parquet")
        header["curve"] = {name: np.asarray(values) for name, values in header["curve"].items()}
        outcomes[names] = Outcome(*names, figures=figures, **header)
    return Matrix(outcomes, failures)


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
