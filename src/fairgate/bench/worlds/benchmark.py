"""run_worlds: learners on random worlds, the board, and the files that tell of it."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.bench.entrants import LEFT_OUT, checked_own
from fairgate.bench.share import PRICE, PRICES
from fairgate.bench.worlds.blocks import blocks_of, purpose, which
from fairgate.bench.worlds.board import WorldBoard, rank
from fairgate.bench.worlds.running import WorldMatrix, fill
from fairgate.engines import open_engine
from fairgate.errors import InputError, unknown_name
from fairgate.learners import LEARNERS, AnyLearner, Learner
from fairgate.learners.registry import kind_of
from fairgate.learners.warm import takes_history
from fairgate.origin import versions
from fairgate.places import find_learner, own_learner
from fairgate.policy import CLASSES as POLICIES
from fairgate.problem import LEVELS
from fairgate.settings import whole_number
from fairgate.store import Say, plain, prepare_folder, write_table, write_text
from fairgate.tasks import load_task
from fairgate.worlds.shapes import JUDGING, shape_of

FORMAT = 2
"""Version of ``worlds.json``."""

LIBRARIES = ("fairgate", "numpy", "scipy")


@dataclass(frozen=True, repr=False)
class WorldBench:
    """What a benchmark on worlds found: all figures, the board, and the document that ``worlds.json`` holds."""

    matrix: WorldMatrix
    board: WorldBoard
    document: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"WorldBench({self.matrix!r})"


def run_worlds(
    out: str | Path,
    worlds: Sequence[int] = range(JUDGING, JUDGING + 500),
    learners: Sequence[str] | None = None,
    *,
    own: Mapping[str, AnyLearner] | Sequence[str] = (),
    levels: Sequence[str] = (),
    policies: str = "per-group",
    rounds: int = 3000,
    seeds: int = 1,
    seed: int = 0,
    history: int = 0,
    workers: int = 1,
    cluster: str | None = None,
    say: Say = lambda text: None,
) -> WorldBench:
    """Play learners on random worlds, rank them by what they play, and write ``worlds.json``, a table and a page.

    Parameters
    ----------
    out
        Folder to write to. What is already done there is kept, so an interrupted benchmark goes on where it stopped.
    worlds
        Numbers of worlds: those below 10,000 are for development, the others for judging. 500 for judging, if not
        given.
    learners
        Names, as ``fairgate list`` tells them; if not given, all but those that see the labels of the rejected, which
        nobody has who decides. An empty list leaves only `own`.
    own
        Your own learners: by name, or as places such as ``"package.module:Class"``.
    levels
        Only learners of these feedback levels.
    policies
        Policies that may be played: "threshold", "lottery" (of shared thresholds) or "per-group", which is all.
        Learners that play others are listed without a rank; ranks are within a class in any case. A share of 1 is the
        best fixed threshold with "threshold", else the best fixed lottery.
    rounds, seeds, seed
        Length of a run, runs per world, and root of random numbers. Batches are those of each world.
    history
        People whom an old policy decides on in every world before the run, see :mod:`fairgate.bench.worlds.warm`:
        a threshold in the middle of what the constraints allow, for as many rounds as make so many people. Learners
        that have the setting ``history`` start from the table of these decisions, others from nothing, all in the state
        that the old policy has led to, and are judged by what follows.
    workers, cluster
        As in :func:`~fairgate.bench.run_bench`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run_worlds(folder, range(3), ["best-lottery", "random"], rounds=40)
    >>> [row.learner for row in found.board.levels["bandit"]], found.document["settings"]["purpose"]
    (['best-lottery', 'random'], 'development')
    """
    numbers = [whole_number("worlds", number, 0) for number in worlds]
    if not numbers:
        raise InputError("worlds must be at least one number, got none")
    if policies not in POLICIES:
        raise unknown_name("policies", policies, POLICIES)
    for level in levels:
        if level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
    for name, value in (("rounds", rounds), ("seeds", seeds)):
        whole_number(name, value, 1)
    whole_number("history", history, 0)
    entrants = gather(learners, own, levels)
    folder = Path(out)
    prepare_folder(folder)
    blocks = blocks_of(numbers, seeds)
    with open_engine(workers, cluster, say) as engine:
        matrix = fill(entrants, blocks, folder / "runs", engine, say, rounds=rounds, seed=seed, history=history)
    if not matrix.figures:
        why = matrix.failures[0] if matrix.failures else "none may see what their constraints ask for"
        raise InputError(f"no learner got through any world: {why}")
    board = rank(matrix, policies)
    if not board.levels:
        raise InputError(
            "none of these learners can be judged in any of these worlds: constraints ask for labels that their levels "
            "do not see, or nothing allowed is feasible there"
        )
    size = {"rounds": rounds, "seeds": seeds, "seed": seed, **({"history": history} if history else {})}
    bench = WorldBench(matrix, board, describe(matrix, board, size, entrants))
    write(bench, folder)
    return bench


def gather(
    learners: Sequence[str] | None, own: Mapping[str, AnyLearner] | Sequence[str], levels: Sequence[str]
) -> dict[str, Learner[Any]]:
    """Return the learners that take part, with the settings they have everywhere."""
    found: dict[str, Learner[Any]] = {}
    if learners is None:
        for name in LEARNERS:
            seen = kind_of(name).level
            if name not in LEFT_OUT and (seen in levels if levels else seen != "full-labels"):
                try:
                    found[name] = entrant(name)
                except InputError:  # it needs a library that is not there
                    continue
    else:
        found = {name: find_learner(name, load_task("interior")) for name in learners}
        found |= {name: entrant(name) for name in learners if name in LEARNERS}
    mine = own if isinstance(own, Mapping) else {place: own_learner(place) for place in own}
    found |= {name: checked_own(name, learner, load_task("interior")) for name, learner in mine.items()}
    wanted = {name: learner for name, learner in found.items() if not levels or learner.level in levels}
    if not wanted:
        raise InputError(f"no learner is left of {', '.join(sorted(found)) or 'none'}: name some")
    return wanted


@functools.cache
def tuned() -> dict[str, dict[str, float]]:
    """Return the settings that baselines have on worlds, tuned with one budget on development worlds."""
    text = resources.files("fairgate.worlds").joinpath("tuned.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def entrant(name: str) -> Learner[Any]:
    """Make a built-in learner as it takes part: a baseline with its tuned settings, others as they are.

    >>> entrant("mixture") == LEARNERS["mixture"]()
    True
    """
    return LEARNERS[name](**tuned().get(name, {}))


def describe(
    matrix: WorldMatrix, board: WorldBoard, size: Mapping[str, int], entrants: Mapping[str, Learner[Any]]
) -> dict[str, Any]:
    """Return all numbers and settings as plain data for JSON."""
    numbers = matrix.numbers
    warm = {"warm": [name for name in matrix.figures if takes_history(entrants[name])]} if "history" in size else {}
    document: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "settings": {
                **size,
                **warm,
                "worlds": len(numbers),
                "which": which(numbers),
                "purpose": purpose(numbers),
                "policies": board.allowed,
                "price": PRICE,
                "prices": PRICES,
                "shapes": board.shapes,
                "versions": versions(LIBRARIES),
            },
            "threshold_share": board.threshold,
            "no_feasible_threshold": float(1.0 - matrix.truth["feasible"].mean()),
            "learners": {name: entrants[name].describe() for name in matrix.figures},
            "best_baseline": board.baselines,
            "board": {level: [row.known() for row in rows] for level, rows in board.levels.items()},
            "failures": [asdict(failure) for failure in matrix.failures],
        }
    )
    return document


def write(bench: WorldBench, folder: Path) -> None:
    """Write every file."""
    from fairgate.bench.worlds.page import render

    text = json.dumps(bench.document, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / "worlds.json", text + "\n")
    write_table(folder / "worlds.parquet", table(bench.matrix))
    write_text(folder / "worlds.html", render(bench.matrix, bench.board, bench.document))


def table(matrix: WorldMatrix) -> dict[str, Any]:
    """Return one row per learner and world, with what the world is."""
    count, shapes = len(matrix.numbers), [shape_of(number) for number in matrix.numbers]
    world = {
        "world": np.array(matrix.numbers),
        **{
            name: np.array([getattr(shape, name) for shape in shapes])
            for name in ("groups", "size", "batch", "label_arrival", "label_loss")
        },
        "constraints": np.array(["+".join(shape.constraints) for shape in shapes]),
        **{
            name: np.array([matrix.words[str(number)][name] for number in matrix.numbers])
            for name in next(iter(matrix.words.values()))
        },
        **{f"best_{name}": values for name, values in matrix.truth.items()},
    }
    learners = list(matrix.figures)
    columns = {name: np.tile(values, len(learners)) for name, values in world.items()}
    own = {"learner": np.repeat(learners, count), "level": np.repeat([matrix.levels[each] for each in learners], count)}
    measures = next(iter(matrix.figures.values()))
    played = {name: np.concatenate([matrix.figures[each][name] for each in learners]) for name in measures}
    return own | columns | played
