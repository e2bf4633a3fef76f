"""Play designs of the recommended learners on development worlds, and print how each does.

    python -m scripts.designs safe-search                           # worlds 0 to 99
    python -m scripts.designs smooth-optimist 0:200 300:500         # others
    python -m scripts.designs safe-search --write                   # and write docs/learners/safe-search.md

A design is a learner with its settings, and constants or a method other than they are in the code. Figures are those of
`fairgate bench --worlds`. Worlds for judging are refused: designs are not chosen by them.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # numpy reads it once

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from fairgate.bench.worlds.benchmark import entrant
from fairgate.bench.worlds.blocks import blocks_of, parse_worlds, purpose
from fairgate.bench.worlds.board import WorldRow, rank
from fairgate.bench.worlds.running import fill
from fairgate.engines import InProcess
from fairgate.learners import (
    Learner,
    Mixture,
    SafeForecast,
    SafeSearch,
    SmoothOptimist,
    drift_models,
    foresee_or_follow,
)
from fairgate.learners.foresee_or_follow import BothState, ForeseeOrFollow
from fairgate.learners.tracking import experiments, learner, restlessness, search
from fairgate.learners.tracking.answers import Answers
from fairgate.learners.tracking.learner import Tracking
from fairgate.learners.tracking.outlook import Outlook
from fairgate.settings import Array
from scripts.passages import rewrite
from scripts.worlds_board import signed

Changes = Mapping[tuple[ModuleType | type, str], Any]
"""What stands instead of what, by module or class and name."""


@dataclass(frozen=True)
class Design:
    """A learner, and what of the code it is played with instead: constants or methods."""

    learner: Learner[Any]
    instead: Changes = field(default_factory=dict)


def always(self: Answers, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count answers as proved from the start."""
    return np.ones(len(rows), dtype=np.bool_)


def never(self: Answers, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count answers as proved at no time."""
    return np.zeros(len(rows), dtype=np.bool_)


def nothing(*given: Any) -> None:
    """Leave out what a method does."""


def nothing_earned(outlook: Outlook, width: float) -> Array:
    """Suppose that uniform lotteries earn nothing at all."""
    return np.full(len(outlook.shares), -np.inf)


SPENDING: Changes = {(experiments, "CREDIT"): 0.0, (experiments, "BUDGET"): 0.0}
KEPT: Changes = {(foresee_or_follow, "best_uniform"): nothing_earned, (learner, "best_uniform"): nothing_earned}


DESIGNS: dict[str, dict[str, Design]] = {
    "safe-search": {
        "Mixture": Design(Mixture()),
        "answers always foreseen": Design(Tracking(), {(Answers, "proved"): always}),
        "following only": Design(Tracking(), {(Answers, "proved"): never}),
        "width 1 in place of 1.5": Design(Tracking(width=1.0)),
        "foresight never on trial": Design(Tracking(), {(Answers, "judge"): nothing}),
        "labels not looked for": Design(Tracking(), {(Tracking, "look_for_labels"): nothing}),
        "restlessness without a pause": Design(Tracking(), {(restlessness, "PAUSE"): 0}),
        "no experiments": Design(Tracking(), SPENDING),
        "no room beyond the margin": Design(Tracking(), {(search, "ROOM"): 0.0, (learner, "ROOM"): 0.0}),
        "**following, answers foreseen once proved**": Design(Tracking()),
        "one threshold: SafeForecast alone": Design(SafeForecast()),
        "one threshold: following alone": Design(Tracking(only_thresholds=True, refuge=True)),
        "one threshold: wrong forecasts go on": Design(SafeSearch(), {(ForeseeOrFollow, "look_now"): nothing}),
        "one threshold: kept, though a uniform lottery earns more": Design(SafeSearch(), KEPT),
        "one threshold: foreseen, though constraints look at labels": Design(
            SafeSearch(), {(BothState, "foresees"): True}
        ),
        "**one threshold: foresee or follow**": Design(SafeSearch()),
    },
    "smooth-optimist": {
        "`bayesian`": Design(entrant("bayesian")),
        "no price": Design(SmoothOptimist(price=0.0)),
        "optimism 1 in place of 2": Design(SmoothOptimist(optimism=1.0)),
        "no model of drift": Design(
            SmoothOptimist(), {(drift_models, "DRIFTS"): np.zeros(1), (drift_models, "TRUST"): np.zeros(1)}
        ),
        "faster drifts (up to 0.006 per round)": Design(
            SmoothOptimist(), {(drift_models, "DRIFTS"): np.array([0.0, 0.002, 0.006])}
        ),
        "models that are never restarted": Design(SmoothOptimist(), {(drift_models, "LEFT_BEHIND"): math.inf}),
        "**as it is**": Design(SmoothOptimist()),
    },
}
"""Designs of each page of docs/learners, the present ones in bold."""

HEADER = (
    "| design | worlds | share | median | worst tenth | violation | feasible in the tail | settled "
    "| “none is feasible”: wrongly, rightly |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def line(name: str, row: WorldRow) -> str:
    """Return the line of a design."""
    told = (row.settled, row.claimed_wrong, row.claimed_right)
    settled, wrong, right = ("–" if each is None else f"{each:.1%}" for each in told)
    return signed(
        f"| {name} | {row.worlds} | {row.share._replace(sd=math.nan).text(2)} | {row.median:.2f} "
        f"| {row.worst_tenth:.2f} | {row.violation:.4f} | {row.feasible_tail:.1%} | {settled} | {wrong}, {right} |"
    )


def rows_of(designs: Mapping[str, Design], numbers: Sequence[int], rounds: int, folder: Path) -> Iterator[str]:
    """Play designs in the same worlds, which are solved once, and yield the line of each."""
    for name, design in designs.items():
        with ExitStack() as changed:
            for (home, name_there), value in design.instead.items():
                changed.enter_context(mock.patch.object(home, name_there, value))
            entrants = {name: design.learner}
            matrix = fill(entrants, blocks_of(numbers), folder, InProcess(), lambda text: None, rounds=rounds, seed=0)
        if matrix.failures:
            raise SystemExit(str(matrix.failures[0]))
        yield line(name, rank(matrix).levels[design.learner.level][0])


def main() -> None:
    """Play, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", choices=DESIGNS)
    parser.add_argument("worlds", nargs="*", default=["0:100"])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    numbers = sorted({number for each in given.worlds for number in parse_worlds(each)})
    if purpose(numbers) != "development":
        raise SystemExit(f"worlds must be below 10,000, which are for development, got {' '.join(given.worlds)}")
    found = list(HEADER)
    print(*found, sep="\n")
    with TemporaryDirectory() as folder:
        for each in rows_of(DESIGNS[given.page], numbers, given.rounds, Path(folder)):
            print(each, flush=True)
            found.append(each)
    if given.write:
        command = f"`python -m scripts.designs {given.page} {' '.join(given.worlds)}`"
        rewrite(f"learners/{given.page}.md", "designs", [f"{command}, {given.rounds:,} rounds each:", "", *found])


if __name__ == "__main__":
    main()
