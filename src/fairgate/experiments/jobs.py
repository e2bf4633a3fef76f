"""Jobs: every simulation the reproduction needs, by name, and the folder that keeps what is done.

A job's file is used again only if its settings, the code it ran and its bytes are the same; so an interrupted
reproduction goes on where it stopped, and a file cut short is made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
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


AROUND = ("__init__.py", "__main__.py", "cli.py", "plots.py", "progress.py", "statistics.py", "bench", "experiments")
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
    for kind, assessment in (("batch", run.batch), ("population", run.population)):
        for j, residual in enumerate(assessment.residuals):
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


@dataclass(frozen=True)
class Work:
    """A piece of work whose outcome is one file: `do` writes it and returns its hash, or nothing if that failed."""

    name: str
    digest: str
    file: Path
    cost: float
    do: Callable[[], str]

    def done(self) -> tuple[Work, str]:
        """Do it, and say what it was."""
        return self, self.do()


def complete(folder: Path, work: Iterable[Work], workers: int, say: Say) -> None:
    """Do all work whose file is not in `folder` yet, the longest first, and say which files had to be made anew.

    What is done is noted in ``index.json``; work that failed is not, and is tried again the next time.
    """
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.json"
    index = _read_index(path)
    missing: list[Work] = []
    work = list(work)
    for each in work:
        known = index.get(each.name, {})
        found = file_hash(each.file)
        if found and known.get("digest") == each.digest and known.get("sha256") == found:
            continue
        if found and known.get("sha256") != found:
            say(f"{each.file} is not what was written there: it is made anew")
        missing.append(each)
    if len(missing) < len(work):
        say(f"{len(work) - len(missing)} of {len(work)} simulations are done already")
    if not missing:
        return
    missing.sort(key=lambda each: -each.cost)
    with progress(int(sum(each.cost for each in missing))) as start:
        start(f"{len(missing)} simulations on {workers} process{'es' if workers > 1 else ''}")
        calls = (delayed(each.done)() for each in missing)
        finished = Parallel(n_jobs=workers, return_as="generator_unordered")(calls)
        for count, (each, sha256) in enumerate(finished, 1):
            if sha256:
                index[each.name] = {"digest": each.digest, "sha256": sha256}
                write_text(path, json.dumps(index, indent=1, sort_keys=True) + "\n")
            start(f"{count} of {len(missing)} simulations done: {each.name}")(int(each.cost))


def _read_index(path: Path) -> dict[str, dict[str, str]]:
    try:
        index: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return index


@dataclass
class Store:
    """The folder of outcomes, and what is read from it."""

    folder: Path
    tail: int

    def _digest(self, job: Job) -> str:
        """Fingerprint of what the file holds: lines a replicate depend on the tail, raw runs do not."""
        return job.digest() if job.raw else f"{job.digest()}-{self.tail}"

    def complete(self, jobs: Iterable[Job], workers: int, say: Say) -> None:
        """Run every job that is not done yet, the longest first, and say which files had to be made anew."""
        work = (
            Work(job.name, self._digest(job), job.file(self.folder), job.cost, partial(self._perform, job))
            for job in jobs
        )
        complete(self.folder, work, workers, say)

    def _perform(self, job: Job) -> str:
        return perform(job, self.folder, self.tail)[1]

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
