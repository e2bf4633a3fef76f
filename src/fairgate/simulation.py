"""simulate: run a learner in the closed loop, many replicates at once, and keep what happened as a Run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, draw, over_bins
from fairgate.errors import InputError
from fairgate.learners import AnyLearner
from fairgate.learners.base import check_labels, level_of
from fairgate.policy import Lottery, published
from fairgate.problem import Assessment
from fairgate.run import Run
from fairgate.settings import Array, common_replicates, described, replicates_of, rows_of, whole_number
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
    check_labels(learner, task)
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
    level = level_of(learner)
    edges = None if level == "bandit" else task.thresholds
    delayed = None if environment.label_arrival == 1.0 else DelayedLabels(environment.label_arrival, rng)
    state = learner.start(task, replicates, np.random.default_rng(own))
    world = environment.start(replicates)
    for t in range(rounds):
        policy = _checked(learner, learner.propose(state), shape[1:], edges)
        probabilities = environment.cells(world, policy, edges)
        cells = draw(probabilities, batch, rng)
        thresholds = policy.thresholds[0] if isinstance(policy, Lottery) else policy
        kept["thresholds"][t] = thresholds
        kept["counts"][t] = cells if edges is None else over_bins(cells)
        kept["probabilities"][t] = probabilities if edges is None else over_bins(probabilities)
        for name in traces:
            kept[name][t] = getattr(state, name)
        arrived = None if delayed is None else delayed.arrive(cells[..., 1])
        learner.observe(state, thresholds, problem.reveal(cells, level, arrived))
        world = environment.update(world, Counts(kept["counts"][t]), published(policy))
        if progress is not None and (t + 1) % 100 == 0:
            progress(100 * replicates)
    if progress is not None:
        progress(rounds % 100 * replicates)
    joined = {name: np.ascontiguousarray(values.swapaxes(0, 1)) for name, values in kept.items()}
    if hasattr(learner, "recommend"):
        joined["final"] = np.asarray(learner.recommend(state), dtype=np.float64)
    return joined


class DelayedLabels:
    """Labels of the accepted that have not arrived yet: each comes in any round with the same probability."""

    def __init__(self, arrival: float, rng: np.random.Generator) -> None:
        self.arrival, self.rng = arrival, rng
        self.waiting: NDArray[np.int64] | None = None

    def arrive(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add the labels of a new batch, (replicates, groups, …, 2), and return those that arrive now."""
        waiting = labels if self.waiting is None else self.waiting + labels
        arrived = self.rng.binomial(waiting, self.arrival)
        self.waiting = waiting - arrived
        return arrived


def _checked(
    learner: AnyLearner, proposed: Array | Lottery, shape: tuple[int, ...], edges: Array | None
) -> Array | Lottery:
    """Return what a learner proposes if it is of the right shape and kind, else say what is wrong."""
    if isinstance(proposed, Lottery):
        wanted = (len(proposed.weights), *shape)
        if np.shape(proposed.thresholds) != wanted or np.shape(proposed.weights) != wanted[:2]:
            raise InputError(
                f"{learner!r} must propose a lottery of thresholds {wanted} and weights {wanted[:2]}, "
                f"got {np.shape(proposed.thresholds)} and {np.shape(proposed.weights)}"
            )
        if not (proposed.weights >= 0).all() or (abs(proposed.weights.sum(axis=0) - 1.0) > 1e-9).any():
            raise InputError(f"{learner!r} must propose weights of at least 0 that sum to 1")
        thresholds = proposed.thresholds[np.isfinite(proposed.thresholds)]
        if np.isnan(proposed.thresholds).any():
            raise InputError(f"{learner!r} must propose thresholds that are numbers or ±inf, got nan")
    else:
        thresholds = proposed = np.asarray(proposed, dtype=np.float64)
        if np.shape(thresholds) != shape:
            raise InputError(f"{learner!r} must propose thresholds of shape {shape}, got {np.shape(thresholds)}")
        if not np.isfinite(thresholds).all():
            wrong = thresholds[~np.isfinite(thresholds)][0]
            raise InputError(f"{learner!r} must propose finite thresholds, got {wrong}")
    if edges is not None and not np.isin(thresholds, edges).all():
        wrong = thresholds[~np.isin(thresholds, edges)][0]
        raise InputError(f"{learner!r} sees scores in bins and must propose thresholds of the grid, got {wrong:g}")
    return proposed


def _assess(task: Task, learner: AnyLearner, kept: dict[str, Any], settings: dict[str, Any]) -> Run:
    """Read batch and population signals off everything kept."""

    def assessment(cells: Array) -> Assessment:
        found = task.problem.assess(cells.swapaxes(0, 1))  # replicates last, as settings by replicate are
        return Assessment(np.ascontiguousarray(found.reward.T), np.ascontiguousarray(found.residuals.swapaxes(1, 2)))

    basic = ("thresholds", "counts", "probabilities", "final")
    return Run(
        thresholds=kept["thresholds"],
        counts=kept["counts"],
        probabilities=kept["probabilities"],
        batch=assessment(kept["counts"]),
        population=assessment(kept["probabilities"]),
        traces={name: kept[name] for name in kept if name not in basic},
        names=task.problem.names,
        final=kept.get("final"),
        settings={"task": task.describe(), "learner": described(learner), **settings},
    )
