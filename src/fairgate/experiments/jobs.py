"""Jobs: every simulation the reproduction needs, by name, and the folder that keeps what is done.

A job's file is used again only if its settings, the code that made it and its bytes are the same; so an interrupted
reproduction goes on where it stopped, and a file cut short is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.learners import Learner
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.store import Say, Work, code_digest, complete, read_table, write_table
from fairgate.tasks import Task


@dataclass(frozen=True)
class Job:
    """One simulation: `raw` ones keep every round, the others one line per replicate."""

    name: str
    task: Task
    learner: Learner[Any]
    rounds: int
    seeds: int
    seed: int
    raw: bool = False

    @property
    def cost(self) -> float:
        """Roughly how long it takes, in µs: a round has a fixed part and one for each replicate."""
        return self.rounds * (150.0 + 2.0 * self.seeds)

    def file(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        return folder / f"{self.name}.parquet"

    def digest(self, tail: int) -> str:
        """Fingerprint of the settings and of the code that makes its file; a raw run does not depend on the tail."""
        settings = {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "size": (self.rounds, self.seeds, self.seed, self.raw),
            "tail": None if self.raw else tail,
            "code": code_digest(*self.makers),
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    @property
    def makers(self) -> tuple[object, ...]:
        """What makes its file: a function, and the task and the learner it is called with."""
        return keep_run if self.raw else keep_figures, self.task, self.learner

    def make(self, folder: Path, tail: int) -> Callable[[], None]:
        """Return the call that makes its file."""
        size = {"rounds": self.rounds, "seeds": self.seeds, "seed": self.seed}
        if self.raw:
            return partial(keep_run, self.file(folder), self.task, self.learner, **size)
        return partial(keep_figures, self.file(folder), self.task, self.learner, tail=tail, **size)


def keep_run(path: Path, task: Task, learner: Learner[Any], rounds: int, seeds: int, seed: int) -> None:
    """Run a job and keep every round."""
    simulate(task, learner, rounds, seeds, seed=seed).save(path)


def keep_figures(
    path: Path, task: Task, learner: Learner[Any], rounds: int, seeds: int, seed: int, *, tail: int
) -> None:
    """Run a job and keep one line per replicate."""
    write_table(path, figures(simulate(task, learner, rounds, seeds, seed=seed), tail))


def settled(run: Run, tail: int) -> Array:
    """The threshold each replicate settled on: a gradient learner's mean centre in the tail, else the median play."""
    if "centre" in run.traces:
        return np.asarray(run.traces["centre"][:, -tail:].mean(axis=1))
    return np.asarray(np.median(run.thresholds[:, -tail:, 0], axis=1))


def figures(run: Run, tail: int) -> dict[str, Array]:
    """Return one line per replicate: the summary figures, tail means of every residual, and the settled threshold."""
    found = {**run.per_replicate(tail), "settled": settled(run, tail)}
    for kind, assessment in (("batch", run.batch), ("population", run.population)):
        for j, residual in enumerate(assessment.residuals):
            found[f"{kind}_residual_{j}"] = residual[:, -tail:].mean(axis=1)
    return found


@dataclass(frozen=True)
class Store:
    """The folder of outcomes, and what is read from it."""

    folder: Path
    tail: int

    def complete(self, jobs: Iterable[Job], workers: int, say: Say) -> None:
        """Run every job that is not done yet, the longest first, and say which files had to be made again."""
        work = [
            Work(job.name, job.digest(self.tail), job.file(self.folder), job.cost, job.make(self.folder, self.tail))
            for job in jobs
        ]
        complete(self.folder, work, workers, say)

    def run(self, job: Job) -> Run:
        """Read every round of a raw job."""
        return Run.load(job.file(self.folder))

    def figures(self, job: Job) -> Mapping[str, Array]:
        """Read one line per replicate."""
        return figures(self.run(job), self.tail) if job.raw else read_table(job.file(self.folder))[0]
