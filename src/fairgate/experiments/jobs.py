"""Jobs: every simulation the reproduction needs, by name, and what is kept of each in a file.

A job's file is used again only if its settings, the code that made it and its bytes are the same; so an interrupted
reproduction goes on where it stopped, and a file cut short is made again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairgate.learners import Learner
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.store import Work, code_digest, table_bytes
from fairgate.tail import TAIL
from fairgate.tasks import Task


@dataclass(frozen=True)
class Job:
    """One simulation of `seeds` replicates, of which one line each is kept, with means over the tail.

    Of the first `raw` replicates every round is kept too. `parts` are settings that stand side by side and meet the
    same people. `first` is how many replicates a table looks at, all if None; the files do not depend on it.
    """

    name: str
    task: Task
    learner: Learner[Any]
    rounds: int
    seeds: int
    seed: int
    tail: int = TAIL
    raw: int = 0
    parts: int = 1
    first: int | None = None

    @property
    def makers(self) -> tuple[object, ...]:
        """What makes its files: a function, and the task and the learner it is called with."""
        return keep, self.task, self.learner

    def digest(self) -> str:
        """Fingerprint of the settings and of the code that makes its files; a whole raw run needs no tail."""
        settings = {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "size": (self.rounds, self.seeds, self.seed, self.raw, self.parts),
            "tail": None if self.raw == self.seeds else self.tail,
            "code": code_digest(*self.makers),
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    @property
    def file(self) -> str:
        """File in which every round of the raw replicates is kept, or the lines if there are none."""
        return f"{self.name}.parquet"

    @property
    def lines(self) -> str | None:
        """File in which one line per replicate is kept; none if every round of every replicate is."""
        if not self.raw:
            return self.file
        return f"{self.name}-{self.seeds}-seeds.parquet" if self.raw < self.seeds else None

    def work(self) -> Work:
        """What there is to do for its files."""
        cost = self.rounds * (150.0 + 2.0 * self.seeds)  # µs, roughly: a round has a fixed part and one per replicate
        files = (self.file, self.lines) if self.raw and self.lines else (self.file,)
        return Work(self.name, self.digest(), files, cost, partial(keep, self))


def keep(job: Job) -> dict[str, bytes]:
    """Run a job and return its files."""
    run = simulate(job.task, job.learner, job.rounds, job.seeds, seed=job.seed, parts=job.parts)
    found = {job.file: run.rows(slice(job.raw)).parquet()} if job.raw else {}
    if job.lines:
        found[job.lines] = table_bytes(figures(run, job.tail))
    return found


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
