"""Jobs: every simulation the reproduction needs, by name, and what is kept of each in a file.

A job's file is used again only if its settings, the code that made it and its bytes are the same; so an interrupted
reproduction goes on where it stopped, and a file cut short is made again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.learners import Learner
from fairgate.run import TAIL, Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.store import Work, code_digest, write_table
from fairgate.tasks import Task


@dataclass(frozen=True)
class Job:
    """One simulation: `raw` ones keep every round, the others one line per replicate, with means over the tail."""

    name: str
    task: Task
    learner: Learner[Any]
    rounds: int
    seeds: int
    seed: int
    tail: int = TAIL
    raw: bool = False

    @property
    def makers(self) -> tuple[object, ...]:
        """What makes its file: a function, and the task and the learner it is called with."""
        return keep_run if self.raw else keep_figures, self.task, self.learner

    def digest(self) -> str:
        """Fingerprint of the settings and of the code that makes its file; a raw run does not depend on the tail."""
        settings = {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "size": (self.rounds, self.seeds, self.seed, self.raw),
            "tail": None if self.raw else self.tail,
            "code": code_digest(*self.makers),
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def file(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        return folder / f"{self.name}.parquet"

    def work(self, folder: Path) -> Work:
        """What there is to do for its file."""
        cost = self.rounds * (150.0 + 2.0 * self.seeds)  # µs, roughly: a round has a fixed part and one per replicate
        path = self.file(folder)
        return Work(self.name, self.digest(), path, cost, partial(keep_run if self.raw else keep_figures, self, path))


def keep_run(job: Job, path: Path) -> None:
    """Run a job and keep every round."""
    simulate(job.task, job.learner, job.rounds, job.seeds, seed=job.seed).save(path)


def keep_figures(job: Job, path: Path) -> None:
    """Run a job and keep one line per replicate."""
    run = simulate(job.task, job.learner, job.rounds, job.seeds, seed=job.seed)
    write_table(path, figures(run, job.tail))


def settled(run: Run, tail: int) -> Array:
    """The threshold each replicate settled on: a gradient learner's mean centre in the tail, else what it recommends.

    A learner that recommends nothing, as OFS, settled on its median play of the tail.
    """
    if "centre" in run.traces:
        return np.asarray(run.traces["centre"][:, -tail:].mean(axis=1))
    return run.settled(tail).single[:, 0]


def figures(run: Run, tail: int) -> dict[str, Array]:
    """Return one line per replicate: the summary figures, tail means of every residual, and the settled threshold."""
    found = {**run.per_replicate(tail), "settled": settled(run, tail)}
    found["lottery"] = np.isnan(run.thresholds[:, -tail:, 0]).mean(axis=1)  # share of rounds without one threshold
    for kind, assessment in (("batch", run.batch), ("population", run.population)):
        for j, residual in enumerate(assessment.residuals):
            found[f"{kind}_residual_{j}"] = residual[:, -tail:].mean(axis=1)
    return found
