"""simulate: run a learner in the closed loop, many replicates at once, and keep what happened as a Run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairgate.counts import Counts, draw
from fairgate.errors import InputError
from fairgate.learners import AnyLearner
from fairgate.problem import Signals
from fairgate.run import Run
from fairgate.settings import Array, Settings, common_replicates, replicates_of, rows_of, whole_number
from fairgate.tasks import Task

BLOCK = 250
"""Replicates simulated together. Each block has its own seed, so results do not depend on the number of workers."""

Progress = Callable[[int], None]


def simulate(
    task: Task,
    learner: AnyLearner,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    workers: int = 1,
    progress: Progress | None = None,
) -> Run:
    """Run `learner` on `task` in `seeds` independent loops and return what happened.

    Parameters
    ----------
    task, learner
        What to do, and who does it. Settings of either may vary by replicate.
    rounds
        Length of each loop.
    seeds
        Number of loops (replicates). By default as many as the settings that vary by replicate have values, else 10.
    seed
        Root of all random numbers. Two learners with the same `seed` face the same draws of nature.
    batch
        People a round.
    workers
        Processes to use; the results are the same for any number.
    progress
        Called with the number of loop-rounds just finished.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=200, seeds=3)
    >>> run.thresholds.shape, run.batch.reward.shape, run.population.residuals.shape
    ((3, 200, 2), (3, 200), (1, 3, 200))
    """
    rounds = whole_number("rounds", rounds, 1)
    batch = whole_number("batch", batch, 1)
    workers = whole_number("workers", workers, 1)
    seed = whole_number("seed", seed, 0)
    varying = common_replicates({"the task": task.replicates, "the learner": replicates_of(learner)})
    replicates = whole_number("seeds", (varying or 10) if seeds is None else seeds, 1)
    if varying is not None and varying != replicates:
        raise InputError(f"seeds must be {varying}, as many as the settings that vary by replicate, got {seeds}")

    blocks = [slice(low, min(low + BLOCK, replicates)) for low in range(0, replicates, BLOCK)]
    jobs = [(task, learner, block, rounds, batch, seed, number) for number, block in enumerate(blocks)]
    if workers == 1 or len(jobs) == 1:
        parts = [_block(*job, progress) for job in jobs]
    else:
        from joblib import Parallel, delayed

        parts = []
        for part in Parallel(n_jobs=workers, return_as="generator")(delayed(_block)(*job, None) for job in jobs):
            parts.append(part)
            if progress is not None:
                progress(rounds * len(part["thresholds"]))
    joined = parts[0]
    if len(parts) > 1:
        joined = {name: np.concatenate([part[name] for part in parts]) for name in joined}
    return _assess(task, learner, joined, {"rounds": rounds, "seeds": replicates, "seed": seed, "batch": batch})


def _block(
    task: Task,
    learner: AnyLearner,
    block: slice,
    rounds: int,
    batch: int,
    seed: int,
    number: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Run the loop for one block of replicates; every array has axes (replicates, rounds, …)."""
    task, learner = task.rows(block), rows_of(learner, block)
    nature, own = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)
    rng = np.random.default_rng(nature)
    environment, problem = task.environment, task.problem
    replicates = block.stop - block.start
    shape = (rounds, replicates, environment.group_count)  # rounds first: what a round writes lies together
    traces: tuple[str, ...] = getattr(learner, "traces", ())
    kept: dict[str, Any] = {
        "thresholds": np.empty(shape),
        "counts": np.empty((*shape, 2, 2), dtype=np.int32),
        "probabilities": np.empty((*shape, 2, 2)),
        **{name: np.empty(shape[:2]) for name in traces},
    }
    memory = learner.start(task, replicates, np.random.default_rng(own))
    state = environment.start(replicates)
    for t in range(rounds):
        thresholds = np.asarray(learner.propose(memory), dtype=np.float64)
        _check_thresholds(learner, thresholds, shape[1:])
        probabilities = environment.probabilities(state, thresholds)
        counts = Counts(draw(probabilities, batch, rng))
        kept["thresholds"][t] = thresholds
        kept["counts"][t] = counts.cells
        kept["probabilities"][t] = probabilities
        for name in traces:
            kept[name][t] = getattr(memory, name)
        learner.observe(memory, thresholds, problem.assess(counts))
        state = environment.update(state, counts)
        if progress is not None and (t + 1) % 100 == 0:
            progress(100 * replicates)
    if progress is not None:
        progress(rounds % 100 * replicates)
    return {name: np.ascontiguousarray(values.swapaxes(0, 1)) for name, values in kept.items()}


def _check_thresholds(learner: AnyLearner, thresholds: Array, shape: tuple[int, ...]) -> None:
    if np.shape(thresholds) != shape:
        raise InputError(f"{learner!r} must propose thresholds of shape {shape}, got {np.shape(thresholds)}")
    if not np.isfinite(thresholds).all():
        raise InputError(f"{learner!r} must propose finite thresholds, got {thresholds[~np.isfinite(thresholds)][0]}")


def _assess(task: Task, learner: AnyLearner, kept: dict[str, Any], settings: dict[str, Any]) -> Run:
    """Read batch and population signals off everything kept."""

    def signals(cells: Array) -> Signals:
        reward, residuals = task.problem.assess(cells.swapaxes(0, 1))  # replicates last, as settings by replicate are
        return Signals(np.ascontiguousarray(reward.T), np.ascontiguousarray(residuals.swapaxes(1, 2)))

    basic = ("thresholds", "counts", "probabilities")
    described = learner.describe() if isinstance(learner, Settings) else repr(learner)
    return Run(
        thresholds=kept["thresholds"],
        counts=kept["counts"],
        probabilities=kept["probabilities"],
        batch=signals(kept["counts"]),
        population=signals(kept["probabilities"]),
        traces={name: kept[name] for name in kept if name not in basic},
        names=task.problem.names,
        settings={"task": task.describe(), "learner": described, **settings},
    )
