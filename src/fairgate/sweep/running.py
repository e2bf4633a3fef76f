"""sweep: learners over many settings of a task, each with many seeds, on one machine or a cluster."""

from __future__ import annotations

import hashlib
import math
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.amounts import part
from fairgate.engines import open_engine
from fairgate.errors import InputError, unknown_name
from fairgate.learners import AnyLearner, Learner
from fairgate.learners.own import as_learner
from fairgate.origin import versions
from fairgate.places import find_learner, find_task
from fairgate.reading import told
from fairgate.settings import Array
from fairgate.simulation import Size
from fairgate.store import Index, Say, Work, code_digest, complete, file_hash, file_name, prepare_folder, read_table
from fairgate.sweep.cells import Cell, Plan
from fairgate.sweep.design import Range, make_design
from fairgate.sweep.figures import FIGURES, TRUTH
from fairgate.sweep.packs import MAKERS, STACK, Pack, run_file
from fairgate.sweep.parameters import Known
from fairgate.sweep.result import Failure, Sweep
from fairgate.tail import KEEPS
from fairgate.tasks import Task, load_task, presets

SHARE = 4
"""Packs per worker where there are cells enough: so that no worker waits long for the last."""

LEAST = 250
"""Loops of a pack, at least, while every worker has one: smaller ones keep the scheduler busy rather than workers."""


def sweep(
    task: Task | str,
    learners: str | AnyLearner | Sequence[str | AnyLearner] | Mapping[str, str | AnyLearner],
    over: Mapping[str, Range | Sequence[float] | Any] | None = None,
    seeds: int = 100,
    *,
    rounds: int = 3000,
    batch: int = 256,
    seed: int = 0,
    design: str = "full",
    settings: int | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    out: str | Path | None = None,
    keep: str = "summary",
    say: Say | None = None,
) -> Sweep:
    """Run learners over many settings of a task and return what each came to, beside what was attainable.

    Every cell, a learner in a setting, is exactly what :func:`~fairgate.simulate` gives for its settings with
    ``keep="summary"``, wherever and however it was computed. All cells meet the same people (the same `seed`), so
    differences between learners and settings are far more precise than each figure; and what happens by chance in one
    cell happens in its neighbours too.

    Parameters
    ----------
    task
        A task, its name, or a place such as ``"package.module:factory"``.
    learners
        Names, such as ``"ofs"`` or ``"ofs:c=0.1"``, or learners; by name if they are given as a mapping.
    over
        Values of each parameter: numbers, or a :class:`~fairgate.sweep.Range`. A parameter is any number of the
        environment (``"rate"``), the problem (``"epsilon"``, ``"false_positive_cost"``), a learner
        (``"exploration"``), the loop (``"batch"``, ``"rounds"``), the grid (``"grid.size"``), or one per group
        (``"means[0]"``); where two are called the same, say whose it is (``"parity.epsilon"``, ``"ofs.c"``).
    seeds
        Loops per cell.
    rounds, batch, seed
        As in :func:`~fairgate.simulate`.
    design
        ``"full"``: all combinations of values. ``"random"``: as many `settings`, spread between the ends of the
        ranges.
    workers
        Processes on this machine; as many as cores if None.
    cluster
        ``"local:4"`` or the address of a Dask scheduler: see the guide from laptop to cluster.
    out
        Folder in which what is done is kept, so that an interrupted or extended sweep computes only what is missing.
    keep
        ``"summary"`` keeps a line of figures per loop; ``"run"`` every round of every loop too, in `out`, each cell a
        file: see :meth:`Sweep.run`.
    say
        Told what is being done. Progress is shown on a terminal; elsewhere only if this is given.

    Examples
    --------
    >>> import fairgate as fg
    >>> found = fg.sweep("mve-s", ["ofs", "random"], over={"rate": [0.05, 0.5], "epsilon": [0.02, 0.06]}, seeds=5,
    ...                  rounds=100)
    >>> found
    Sweep(mve-s over rate, epsilon: 4 settings × 2 learners × 5 seeds)
    >>> found.mean("success").shape, found.truth["attainable"]
    ((4, 2), array([ True,  True,  True,  True]))
    """
    said: Say = say or (lambda text: None)
    chosen = find_task(task) if isinstance(task, str) else task
    if not isinstance(chosen, Task):
        raise InputError(f"task must be a Task or the name of one, got {task!r}")
    named = _named(learners, chosen)
    known = Known(chosen, {name: learner for name, (learner, _) in named.items()})
    parameters = known.find_all(over or {})
    whole = {name: any(each.whole for each in found) for name, found in parameters.items()}
    size = Size(rounds=rounds, seeds=seeds, seed=seed, batch=batch)
    plan = Plan(chosen, known.learners, size, make_design(over or {}, whole, design, settings, seed), parameters)
    commands = {
        "task": task if isinstance(task, str) else "",
        "learners": {name: text for name, (_, text) in named.items()},
    }
    code = {name: code_digest(*MAKERS, chosen, learner) for name, learner in known.learners.items()}
    if keep not in KEEPS:
        raise unknown_name("keep", keep, KEEPS)
    if out is not None:
        prepare_folder(Path(out), "out")
    elif keep == "run":
        raise InputError("keep='run' writes a file per cell and needs a folder for them: give out")
    with tempfile.TemporaryDirectory() as nowhere:
        folder = Path(nowhere if out is None else out) / "blocks"
        folder.mkdir(exist_ok=True)
        cells = list(plan.cells(code, keep))
        kept = _Kept(folder, {cell.key for cell in cells}, keep == "run")
        lost: dict[str, str] = {}
        missing = {cell.key: cell for cell in cells if cell.key not in kept.cells}
        if len(missing) < len(cells):
            done = len(cells) - sum(cell.key in missing for cell in cells)
            said(f"{part(done, len(cells), 'cell')} done already")
        if missing:
            with open_engine(workers, cluster, said) as engine:
                packing = _Packing(plan, missing.values(), engine.workers, keep == "run")
                for piece, text in complete(folder, packing.work(), engine, said, "block", quiet=say is None):
                    lost |= {cell.key: text for cell in packing.packs[piece.name].cells}
            kept.read(folder, packing.packs)
        levels = {name: learner.level for name, learner in known.learners.items()}
        made = {"commands": commands, "levels": levels, "code": code, "versions": versions(), "design": design}
        found = _assembled(plan, cells, kept, lost, made)
    if keep == "summary":
        return found
    runs: dict[tuple[int, str], list[Path]] = {}
    for cell in cells:
        runs.setdefault((cell.setting, cell.learner), []).append(folder / run_file(cell.key))
    return replace(found, runs=runs)


def _named(learners: Any, task: Task) -> dict[str, tuple[Learner[Any], str]]:
    """Return learners by name, each with the text that the command line knows it by, if any."""
    if isinstance(learners, str) or not isinstance(learners, Iterable):
        learners = [learners]
    given = learners.items() if isinstance(learners, Mapping) else [(None, each) for each in learners]
    found: dict[str, tuple[Learner[Any], str]] = {}
    for name, each in given:
        text = each if isinstance(each, str) else ""
        learner = find_learner(each, task) if text else as_learner(each)
        called = name or text or str(learner.describe()["kind"])
        if called in found:
            raise InputError(
                f"learners must have different names, but two are called {called!r}: give them as a mapping"
            )
        found[called] = learner, text
    if not found:
        raise InputError(f"learners must be at least one, got {learners!r}")
    return found


class _Packing:
    """Missing cells in packs: large ones are faster, but every worker must have some."""

    def __init__(self, plan: Plan, missing: Iterable[Cell], workers: int, keep: bool) -> None:
        self.plan, self.keep = plan, keep
        self.packs: dict[str, Pack] = {}  # by the name of their work, split ones as well
        own = plan.task.name in presets() and load_task(plan.task.name) is plan.task
        self.task: Task | str = plan.task.name if own else plan.task
        self.alike: dict[tuple[str, int], list[Cell]] = {}
        for cell in missing:
            self.alike.setdefault((cell.learner, cell.block), []).append(cell)
        total = sum(cell.seeds for cells in self.alike.values() for cell in cells)
        some = max(total / (workers * SHARE), min(total / workers, LEAST))
        self.loops = min(STACK, math.ceil(some))

    def work(self) -> list[Work]:
        """Return all packs as work."""
        found = []
        for (learner, _), cells in self.alike.items():
            per = max(1, self.loops // cells[0].seeds)
            for first in range(0, len(cells), per):
                some = cells[first : first + per]
                pack = Pack(self.task, self.plan.learners[learner], self.plan.size, some, self.keep)
                found.append(self._piece(pack))
        return found

    def _piece(self, pack: Pack) -> Work:
        keys = " ".join(cell.key for cell in pack.cells)
        name = file_name(f"{pack.cells[0].learner}-{hashlib.sha256(keys.encode()).hexdigest()[:24]}")
        self.packs[name] = pack
        weight = 1.0 if pack.learner.level == "bandit" else 8.0  # histograms of scores are drawn
        smaller = pack.split()
        split = (lambda: [self._piece(each) for each in smaller]) if smaller else None
        cost = weight * pack.loops * pack.size.rounds
        digest = uuid.uuid4().hex  # of none that is done: a pack has only cells that are missing
        return Work(name, digest, pack.files(_file(name)), cost, partial(pack.simulate, _file(name)), split)


def _file(name: str) -> str:
    return f"{name}.parquet"


class _Kept:
    """The figures of cells that are done, read from the blocks of a folder."""

    def __init__(self, folder: Path, wanted: set[str], keep: bool) -> None:
        self.wanted, self.keep = wanted, keep
        self.cells: dict[str, tuple[dict[str, Array], dict[str, Any]]] = {}
        self.failures: dict[str, str] = {}
        self.read(folder, [name for name, hashes in Index(folder).notes() if self._whole(folder, name, hashes.split())])

    def _whole(self, folder: Path, name: str, hashes: Sequence[str]) -> bool:
        """Whether the files of a block are as they were written, those of its runs too if they are wanted."""
        if file_hash(folder / _file(name)) != hashes[0]:
            return False
        if not self.keep:
            return True
        with told(f"{folder / _file(name)} is not what a sweep keeps"):
            keys = list(map(str, read_table(folder / _file(name))[1]["cells"]))
        return [file_hash(folder / run_file(key)) for key in keys] == list(hashes[1:])

    def read(self, folder: Path, names: Iterable[str]) -> None:
        """Take in the cells of some blocks that are wanted; a block that is not there was lost."""
        for name in names:
            if not (folder / _file(name)).is_file():
                continue
            with told(f"{folder / _file(name)} is not what a sweep keeps"):
                self._take(*read_table(folder / _file(name)))

    def _take(self, columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self.failures |= {key: str(text) for key, text in header["failures"].items() if key in self.wanted}
        first = 0
        for place, (key, seeds) in enumerate(zip(header["cells"], header["seeds"], strict=True)):
            if key in self.wanted:
                figures = {figure: columns[figure][first : first + seeds].astype(np.float64) for figure in FIGURES}
                if any(len(values) != seeds for values in figures.values()):
                    raise ValueError(f"it has fewer rows than its {len(header['cells'])} cells")
                self.cells[key] = figures, {each: header["truth"][each][place] for each in TRUTH}
            first += seeds


def _assembled(
    plan: Plan, cells: Sequence[Cell], kept: _Kept, lost: Mapping[str, str], made: Mapping[str, Any]
) -> Sweep:
    """Put all cells in their places."""
    names = list(plan.learners)
    shape = plan.settings, len(names), plan.size.seeds
    figures = {name: np.full(shape, np.nan) for name in FIGURES}
    truth: dict[str, NDArray[Any]] = {name: np.full(shape[0], np.nan) for name in TRUTH}
    truth["attainable"] = np.zeros(shape[0], dtype=np.bool_)
    wrong: dict[int, dict[str, str]] = {}
    first: dict[tuple[int, str], int] = {}
    for cell in cells:
        begin = first.get((cell.setting, cell.learner), 0)
        first[cell.setting, cell.learner] = begin + cell.seeds
        if cell.key not in kept.cells:
            text = lost.get(cell.key) or kept.failures.get(cell.key, "it was not computed")
            wrong.setdefault(cell.setting, {}).setdefault(cell.learner, text)
            continue
        found, exact = kept.cells[cell.key]
        for name, values in found.items():
            figures[name][cell.setting, names.index(cell.learner), begin : begin + cell.seeds] = values
        for name, value in exact.items():
            truth[name][cell.setting] = value
    failures = []
    for index, texts in sorted(wrong.items()):
        setting = plan.setting(index)
        if len(texts) == len(names) and len(set(texts.values())) == 1:
            failures.append(Failure(setting, None, next(iter(texts.values()))))
        else:
            failures += [Failure(setting, name, text) for name, text in texts.items()]
    if np.isnan(figures["reward"]).all():
        raise InputError(f"no cell of the sweep came to anything: {failures[0]}")
    return Sweep(plan.design, tuple(names), figures, truth, tuple(failures), {**plan.describe, **made}, plan)
