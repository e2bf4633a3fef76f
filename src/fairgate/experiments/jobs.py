"""Jobs: every simulation the reproduction needs, by name, and the folder that keeps what is done.

A job's file is used again only if its settings, the code it ran and its bytes are the same; so an interrupted
reproduction goes on where it stopped, and a file cut short is made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.experiments.output import write_text
from fairgate.learners import Learner
from fairgate.progress import progress
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.tasks import Task

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One simulation: `raw` ones keep every round, the others one line a replicate."""

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

    def digest(self) -> str:
        """Fingerprint of the settings and of the code they run."""
        settings = {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "size": (self.rounds, self.seeds, self.seed, self.raw),
            "code": code_digest(),
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def file(self, folder: Path) -> Path:
        """Where its outcome is kept."""
        return folder / f"{self.name}.parquet"


AROUND = ("__init__.py", "__main__.py", "cli.py", "plots.py", "progress.py", "experiments")
"""What no simulation depends on."""


@cache
def code_digest(leave_out: tuple[str, ...] = AROUND) -> str:
    """Fingerprint of the numerical libraries and of every file of the package but those in `leave_out`."""
    root = Path(__file__).parents[1]
    seen = hashlib.sha256(" ".join(metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")).encode())
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if path.suffix in (".py", ".toml", ".csv", ".j2") and place.parts[0] not in leave_out:
            seen.update(place.as_posix().encode() + path.read_bytes())
    return seen.hexdigest()


def settled(run: Run, tail: int) -> Array:
    """The threshold each replicate settled on: a gradient learner's mean centre in the tail, else the median play."""
    if "centre" in run.traces:
        return np.asarray(run.traces["centre"][:, -tail:].mean(axis=1))
    return np.asarray(np.median(run.thresholds[:, -tail:, 0], axis=1))


def figures(run: Run, tail: int) -> dict[str, Array]:
    """Return one line a replicate: the summary figures, tail means of every residual, and the settled threshold."""
    found = {**run.per_replicate(tail), "settled": settled(run, tail)}
    for kind, signals in (("batch", run.batch), ("population", run.population)):
        for j, residual in enumerate(signals.residuals):
            found[f"{kind}_residual_{j}"] = residual[:, -tail:].mean(axis=1)
    return found


def perform(job: Job, folder: Path, tail: int) -> tuple[Job, str]:
    """Run a job, keep its outcome in `folder`, and return it with the hash of the file."""
    run = simulate(job.task, job.learner, job.rounds, job.seeds, seed=job.seed)
    path = job.file(folder)
    if job.raw:
        run.save(path)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        unfinished = path.with_name(path.name + ".part")
        pq.write_table(pa.table(figures(run, tail)), unfinished)
        unfinished.replace(path)
    return job, file_hash(path)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, or nothing if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


@dataclass
class Store:
    """The folder of outcomes, and what is read from it."""

    folder: Path
    tail: int

    @property
    def _index(self) -> Path:
        return self.folder / "index.json"

    def _read_index(self) -> dict[str, dict[str, str]]:
        try:
            index: dict[str, dict[str, str]] = json.loads(self._index.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return index

    def _digest(self, job: Job) -> str:
        """Fingerprint of what the file holds: lines a replicate depend on the tail, raw runs do not."""
        return job.digest() if job.raw else f"{job.digest()}-{self.tail}"

    def complete(self, jobs: Iterable[Job], workers: int, say: Say) -> None:
        """Run every job that is not done yet, the longest first, and say which files had to be made anew."""
        from joblib import Parallel, delayed

        self.folder.mkdir(parents=True, exist_ok=True)
        index = self._read_index()
        missing: list[Job] = []
        jobs = list(jobs)
        for job in jobs:
            known = index.get(job.name, {})
            found = file_hash(job.file(self.folder))
            if known.get("digest") == self._digest(job) and known.get("sha256") == found:
                continue
            if found and known.get("sha256") != found:
                say(f"{job.file(self.folder)} is not what was written there: it is made anew")
            missing.append(job)
        if len(missing) < len(jobs):
            say(f"{len(jobs) - len(missing)} of {len(jobs)} simulations are done already")
        if not missing:
            return
        missing.sort(key=lambda job: -job.cost)
        with progress(int(sum(job.cost for job in missing))) as start:
            start(f"{len(missing)} simulations on {workers} process{'es' if workers > 1 else ''}")
            work = (delayed(perform)(job, self.folder, self.tail) for job in missing)
            finished = Parallel(n_jobs=workers, return_as="generator_unordered")(work)
            for count, (job, sha256) in enumerate(finished, 1):
                index[job.name] = {"digest": self._digest(job), "sha256": sha256}
                write_text(self._index, json.dumps(index, indent=1, sort_keys=True) + "\n")
                start(f"{count} of {len(missing)} simulations done: {job.name}")(int(job.cost))

    def run(self, job: Job) -> Run:
        """Read every round of a raw job."""
        return Run.load(job.file(self.folder))

    def figures(self, job: Job) -> Mapping[str, Array]:
        """Read one line a replicate."""
        if job.raw:
            return figures(self.run(job), self.tail)
        import pyarrow.parquet as pq

        table = pq.read_table(job.file(self.folder))
        return {name: table[name].to_numpy() for name in table.column_names}
