"""run_bench: every learner on every task, the leaderboard, and the files that tell of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.bench.entrants import pair_up
from fairgate.bench.leaderboard import ALPHA, Leaderboard, rank
from fairgate.bench.matrix import Matrix, fill, outcome
from fairgate.bench.measures import TARGET, TARGETS
from fairgate.engines import open_engine
from fairgate.errors import InputError
from fairgate.learners import AnyLearner
from fairgate.learners.registry import RECOMMENDED
from fairgate.origin import versions
from fairgate.simulation import Size
from fairgate.statistics import RESAMPLES, iqm
from fairgate.store import Say, code_digest, plain, prepare_folder, write_table, write_text
from fairgate.tail import tail_of
from fairgate.tasks import Task, presets

FORMAT = 2
"""Version of ``bench.json``."""

LIBRARIES = ("fairgate", "numpy", "scipy", "scikit-learn", "pyarrow", "joblib")


@dataclass(frozen=True, repr=False)
class Bench:
    """What a benchmark found: all outcomes, the leaderboard, and the document that ``bench.json`` holds."""

    matrix: Matrix
    board: Leaderboard
    document: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Bench({self.matrix!r})"


def run_bench(
    out: str | Path,
    learners: Sequence[str] | None = None,
    tasks: Sequence[str | Task] | None = None,
    size: Size | None = None,
    *,
    own: Mapping[str, AnyLearner] | Sequence[str] = (),
    levels: Sequence[str] = (),
    workers: int = 1,
    cluster: str | None = None,
    say: Say = lambda text: None,
) -> Bench:
    """Run learners on tasks, rank them, and write ``bench.json``, two Parquet files and ``bench.html`` under `out`.

    Parameters
    ----------
    out
        Folder to write to. What is already done there is kept, so an interrupted benchmark goes on where it stopped.
    learners
        Names, as ``fairgate list`` tells them; all if not given. An empty list leaves only `own`.
    tasks
        Names, `Task` objects, or places such as ``"package.module:factory"``; all built-in ones if not given.
    own
        Your own learners: by name, or as places such as ``"package.module:Class"``.
    levels
        Only learners of these feedback levels.
    workers
        Processes; the results do not depend on it.
    cluster
        A Dask cluster in place of processes, such as ``"tcp://10.0.0.1:8786"`` or ``"local:4"``; see
        :func:`fairgate.engines.open_engine`. The results are the same.

    Examples
    --------
    >>> import tempfile
    >>> size = Size(rounds=60, seeds=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run_bench(folder, ["ofs", "random"], ["mve-s"], size)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['bench.html', 'bench.json', 'bench.parquet', 'curves.parquet', 'runs']
    >>> [row.learner for row in found.board.levels["bandit"]]
    ['ofs', 'random']
    """
    size = Size() if size is None else size
    folder = Path(out)
    pairs = pair_up(learners, tasks, size, own, levels)
    prepare_folder(folder)
    with open_engine(workers, cluster, say) as engine:
        matrix = fill(pairs, folder / "runs", engine, say)
    if not matrix.outcomes:
        raise InputError(f"no learner got through any task: {matrix.failures[0]}")
    say("Leaderboard")
    board = rank(matrix, size.seed)
    bench = Bench(matrix, board, describe(matrix, board, size))
    write(bench, folder)
    return bench


def describe(matrix: Matrix, board: Leaderboard, size: Size) -> dict[str, Any]:
    """Return all numbers and settings as plain data for JSON."""
    titles = {name: preset["title"] for name, preset in presets().items()}
    tasks = {task: outcome.truth for (_, task), outcome in matrix.outcomes.items()}
    learners = {name: outcome for (name, _), outcome in matrix.outcomes.items()}
    document: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "settings": {
                **asdict(size),
                "tail": tail_of(size.rounds),
                "reference": board.references,
                "targets": {name: {"regret": most[0], "residual": most[1]} for name, most in TARGETS.items()},
                "levels": TARGET,
                "resamples": RESAMPLES,
                "alpha": ALPHA,
                "code": code_digest(outcome, rank),
                "versions": versions(LIBRARIES),
            },
            "tasks": {task: {"title": titles.get(task, task), **truth} for task, truth in tasks.items()},
            "learners": {
                name: {
                    "level": outcome.level,
                    "recommended": name in RECOMMENDED.values(),
                    "settings": {task: each.settings for task, each in matrix.of(name).items()},
                }
                for name, outcome in learners.items()
            },
            "leaderboard": {level: [row.known() for row in rows] for level, rows in board.levels.items()},
            "best": {task: {level: each.learner for level, each in best.items()} for task, best in board.best.items()},
            "against_reference": board.against,
            "probability_of_improvement": board.comparison,
            "results": {
                learner: {
                    task: {name: _spread(values) for name, values in each.figures.items()}
                    for task, each in matrix.of(learner).items()
                }
                for learner in matrix.learners
            },
            "failures": [asdict(failure) for failure in matrix.failures],
        }
    )
    return document


def _spread(values: NDArray[Any]) -> dict[str, float]:
    """Summarise a measure over seeds."""
    return {
        "mean": float(values.mean()),
        "iqm": float(iqm(values)),
        "sd": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        "min": float(values.min()),
        "max": float(values.max()),
    }


def write(bench: Bench, folder: Path) -> None:
    """Write every file of a benchmark, the page last."""
    from fairgate.bench.page import render

    write_text(folder / "bench.json", json.dumps(bench.document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    _write_table(folder / "bench.parquet", bench.matrix, curves=False)
    _write_table(folder / "curves.parquet", bench.matrix, curves=True)
    write_text(folder / "bench.html", render(bench.matrix, bench.board, bench.document))


def _write_table(path: Path, matrix: Matrix, curves: bool) -> None:
    """Write one row per learner, task and seed; or, for curves, per learner, task and round."""
    parts: list[dict[str, NDArray[Any]]] = []
    for (learner, task), found in matrix.outcomes.items():
        columns = dict(found.curve if curves else found.figures)
        count = len(next(iter(columns.values())))
        names = {"learner": learner, "level": found.level, "task": task}
        seeds = {} if curves else {"seed": np.arange(count, dtype=np.int32)}
        parts.append({name: np.full(count, text) for name, text in names.items()} | seeds | columns)
    write_table(path, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
