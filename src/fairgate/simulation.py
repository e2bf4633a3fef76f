"""simulate: run a learner in the closed loop, many replicates at once, and keep what happened as a Run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np

from fairgate.block import BLOCK, Block, Progress, blocks_of, empty_run, joined
from fairgate.core.setting import Task as PureTask
from fairgate.engines import Processes
from fairgate.errors import InputError, unknown_name
from fairgate.learners import AnyLearner
from fairgate.learners.base import AnyPure, check_level
from fairgate.learners.one_loop import OneLoop
from fairgate.learners.own import as_learner
from fairgate.nature import COMMON, Nature, NotByRowError
from fairgate.origin import Origin
from fairgate.run import Run
from fairgate.settings import Array, common_replicates, loops_asked, whole_number
from fairgate.summary import Summary, gather, lengths_of
from fairgate.tail import kept_tail
from fairgate.tasks import Task

STACK = 1000
"""Replicates played at once, of several blocks if need be: Python's own time is shared by more of them."""

RECORDS = ("state",)
"""What a simulation can record in addition to what a Run always has."""


@dataclass(frozen=True)
class Size:
    """How much is simulated: rounds per loop, loops (seeds), root of random numbers, people per round."""

    rounds: int = 3000
    seeds: int = 100
    seed: int = 0
    batch: int = 256

    def __post_init__(self) -> None:
        for name, low in (("rounds", 1), ("seeds", 1), ("seed", 0), ("batch", 1)):
            whole_number(name, getattr(self, name), low)


@overload
def simulate(
    task: Task | PureTask | str,
    learner: AnyLearner | AnyPure,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    workers: int = 1,
    coupling: str | None = None,
    parts: int = 1,
    record: Sequence[str] = (),
    keep: Literal["run"] = "run",
    tail: None = None,
    progress: Progress | None = None,
    library: str | None = None,
) -> Run: ...


@overload
def simulate(
    task: Task | PureTask | str,
    learner: AnyLearner | AnyPure,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    workers: int = 1,
    coupling: str | None = None,
    parts: int = 1,
    record: Sequence[str] = (),
    keep: Literal["summary"],
    tail: int | None = None,
    progress: Progress | None = None,
    library: str | None = None,
) -> Summary: ...


def simulate(
    task: Task | PureTask | str,
    learner: AnyLearner | AnyPure,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    workers: int = 1,
    coupling: str | None = None,
    parts: int = 1,
    record: Sequence[str] = (),
    keep: str = "run",
    tail: int | None = None,
    progress: Progress | None = None,
    library: str | None = None,
) -> Run | Summary:
    """Run `learner` on `task` in `seeds` independent loops and return what happened.

    Parameters
    ----------
    task, learner
        What to do, or the name of a built-in task, and who does it. Settings of either may vary by replicate. A task
        in pure form (:class:`fairgate.core.setting.Task`) is played by the core.
    rounds
        Length of each loop.
    seeds
        Number of loops (replicates). By default as many as the settings that vary by replicate have values, else 10.
    seed
        Root of all random numbers. What nature does depends on nothing but the seed, the replicate and the round, so
        the first replicates and rounds of a longer simulation are those of a shorter one.
    batch
        People per round.
    workers
        Processes to use; the results are the same for any number.
    coupling
        ``"common"``: two learners with the same seed meet the same people, as far as the states they bring about allow,
        which makes comparisons far more precise. ``"independent"``: other people, drawn at a cost that does not grow
        with the batch. By default common for batches of up to 1000 people.
    parts
        Equal parts of the replicates, such as one per setting: each part meets the people of the first and draws the
        same random numbers, as if it were simulated alone.
    record
        What else to keep: ``"state"`` is the state of the environment in each round, before its batch.
    keep
        ``"run"`` keeps every round of every loop. ``"summary"`` keeps a line of figures per loop, gathered while it
        runs, so that memory does not grow with the rounds.
    tail
        Rounds at the end whose means a summary has; 200 by default, or the last fifth of a shorter run.
    progress
        Called with the number of loop-rounds just finished.
    library
        ``"jax"`` compiles the loop: one loop is about thirty times as fast, and a hundred are half as fast again.
        ``"numpy"`` plays the same without JAX, slowly. By default all loops are played together as arrays, with other
        random numbers. `record`, `parts` and ``coupling="independent"`` need arrays.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=200, seeds=3)
    >>> run.thresholds.shape, run.batch.reward.shape, run.population.residuals.shape
    ((3, 200, 2), (3, 200), (1, 3, 200))
    """
    if isinstance(task, str):  # found when asked for, so that no kept run of a task rests on the code of all presets
        task = import_module("fairgate.tasks").load_task(task)
    if not isinstance(task, (Task, PureTask)):
        raise InputError(f"task must be a Task or the name of one, such as 'interior', got {task!r}")
    record = (record,) if isinstance(record, str) else record
    rounds = whole_number("rounds", rounds, 1)
    batch = whole_number("batch", batch, 1)
    workers = whole_number("workers", workers, 1)
    seed = whole_number("seed", seed, 0)
    chosen = as_learner(learner)
    if library is not None or isinstance(task, PureTask) or isinstance(chosen, OneLoop):
        _need_no_arrays(record=tuple(record), parts=parts, coupling=coupling)
        core = import_module("fairgate.loops.simulation")  # found when asked for, as all learners are named there
        found: Run | Summary = core.simulate(
            task, chosen, rounds, seeds, seed=seed, batch=batch, keep=keep, tail=tail, library=library,
            size=core.Size(workers=workers),
        )  # fmt: skip
        if progress is not None:
            progress(rounds * found.settings["seeds"])
        return found
    assert isinstance(task, Task)  # one in pure form was played above
    for name in record:
        if name not in RECORDS:
            raise unknown_name("record", name, RECORDS)
    check_level(chosen, task.problem)
    coupled = coupling or ("common" if batch <= COMMON else "independent")
    Nature(seed, coupling=coupled)  # refuses what is no coupling
    varying = common_replicates({"the task": task.replicates, "the learner": chosen.replicates})
    replicates = loops_asked(seeds, varying)
    parts = whole_number("parts", parts, 1)
    if replicates % parts or (parts > 1 and (replicates // parts > BLOCK or coupled != "common")):
        raise InputError(f"{replicates} replicates cannot be {parts} parts of up to {BLOCK} that meet the same people")
    last = kept_tail(rounds, tail, keep)
    play: Any = partial(_summary, tail=last) if keep == "summary" else Block.whole
    size: dict[str, Any] = {"rounds": rounds, "batch": batch, "seed": seed, "coupling": coupled, "record": record}
    whole = Block(task, chosen, replicates, **size, parts=parts)
    settings = {**whole.settings(), **({"parts": parts} if parts > 1 else {})}
    room = None
    if workers > 1 and replicates > BLOCK:
        done = _on_workers(whole, play, workers, progress)
    else:
        if keep == "run":
            shape = replicates, task.environment.group_count
            room = empty_run(rounds, shape, task.problem, chosen.traces, settings)
        done = _here(whole, play, room, progress)
    if keep == "summary":
        figures = {name: np.concatenate([each[name] for each in done]) for name in done[0]}
        return Summary(figures, {**settings, "tail": last})
    return replace(joined(done, room), settings=settings, origin=Origin(task, chosen, simulate))


def _need_no_arrays(**asked: Any) -> None:
    """Refuse what only a simulation by arrays can do."""
    plain = {"record": ((),), "parts": (1,), "coupling": (None, "common")}
    for name, value in asked.items():
        if value not in plain[name]:
            raise InputError(f"{name} must not be given with library, which needs arrays for it, got {value!r}")


def _summary(block: Block, progress: Progress | None = None, room: Run | None = None, *, tail: int) -> dict[str, Array]:
    """Play a block and keep a line per replicate, for which there is no `room` to write to."""
    return gather(block.pieces(lengths_of(block.rounds, tail), progress))


def _here(whole: Block, play: Any, room: Run | None, progress: Progress | None) -> list[Any]:
    """Play in this process: as many replicates at once as pays."""

    def played(at_once: int) -> list[Any]:
        rooms = ((None if room is None else room.rows(index)) for index in _slices(whole, at_once))
        return [play(block, progress, each) for block, each in zip(_blocks(whole, at_once), rooms, strict=True)]

    try:
        return played(max(BLOCK, STACK // BLOCK * BLOCK) if whole.learner.level == "bandit" else BLOCK)
    except NotByRowError:
        if whole.parts > 1:
            raise InputError(
                f"parts must be 1 for {whole.learner!r} on {whole.task.name}, which draws random numbers that are not "
                f"one row per replicate, got {whole.parts}"
            ) from None
        return played(BLOCK)


def _on_workers(whole: Block, play: Any, workers: int, progress: Progress | None) -> list[Any]:
    """Play on several processes, block by block."""
    blocks, found = _blocks(whole, BLOCK), {}
    for place, result in Processes(workers).run([partial(play, block) for block in blocks]):
        found[place] = result
        if progress is not None:
            progress(whole.rounds * blocks[place].replicates)
    return [found[place] for place in sorted(found)]


def _slices(whole: Block, at_once: int) -> list[slice]:
    part = whole.replicates // whole.parts
    return blocks_of(whole.replicates, at_once if whole.parts == 1 else at_once // part * part)


def _blocks(whole: Block, at_once: int) -> list[Block]:
    """Cut replicates into what is played at once, with the same results for any number of them.

    Parts all have the random numbers of block 0; other replicates have those of a block for each :data:`BLOCK` of them.
    """
    found = []
    for index in _slices(whole, at_once):
        count = index.stop - index.start
        cut = whole
        if count < whole.replicates:  # else it keeps the tables it may have made
            cut = replace(whole, task=whole.task.rows(index), learner=whole.learner.rows(index), replicates=count)
        if whole.parts > 1:
            found.append(replace(cut, parts=count * whole.parts // whole.replicates))
        else:
            sizes = [each.stop - each.start for each in blocks_of(count, BLOCK)]
            found.append(replace(cut, number=index.start // BLOCK, stacked=sizes if len(sizes) > 1 else ()))
    return found
