"""simulate: run a learner in the closed loop, many replicates at once, and keep what happened as a Run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgate.environments.state import flatten
from fairgate.errors import InputError, unknown_name
from fairgate.learners import AnyLearner, Learner
from fairgate.learners.base import as_learner, check_level
from fairgate.loop import Loop, Round
from fairgate.nature import COMMON, Nature, Repeated, Strided
from fairgate.policy import Policy
from fairgate.problem import Assessment
from fairgate.run import Run
from fairgate.settings import Array, common_replicates, whole_number
from fairgate.tasks import Task

BLOCK = 250
"""Replicates simulated together. Each block has its own seed, so results do not depend on the number of workers."""

Progress = Callable[[int], None]

RECORDS = ("state",)
"""What a simulation can record in addition to what a Run always has."""


def simulate(
    task: Task,
    learner: AnyLearner,
    rounds: int = 3000,
    seeds: int | None = None,
    *,
    seed: int = 0,
    batch: int = 256,
    workers: int = 1,
    coupling: str | None = None,
    parts: int = 1,
    record: Sequence[str] = (),
    progress: Progress | None = None,
) -> Run:
    """Run `learner` on `task` in `seeds` independent loops and return what happened.

    Parameters
    ----------
    task, learner
        What to do, or the name of a built-in task, and who does it. Settings of either may vary by replicate.
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
    progress
        Called with the number of loop-rounds just finished.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=200, seeds=3)
    >>> run.thresholds.shape, run.batch.reward.shape, run.population.residuals.shape
    ((3, 200, 2), (3, 200), (1, 3, 200))
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, such as fairgate.load_task('interior'), got {task!r}")
    record = (record,) if isinstance(record, str) else record
    rounds = whole_number("rounds", rounds, 1)
    batch = whole_number("batch", batch, 1)
    workers = whole_number("workers", workers, 1)
    seed = whole_number("seed", seed, 0)
    for name in record:
        if name not in RECORDS:
            raise unknown_name("record", name, RECORDS)
    chosen = as_learner(learner)
    check_level(chosen, task.problem)
    coupled = coupling or ("common" if batch <= COMMON else "independent")
    Nature(seed, coupling=coupled)  # refuses what is no coupling
    varying = common_replicates({"the task": task.replicates, "the learner": chosen.replicates})
    replicates = whole_number("seeds", (varying or 10) if seeds is None else seeds, 1)
    if varying is not None and varying != replicates:
        raise InputError(f"seeds must be {varying}, as many as the settings that vary by replicate, got {seeds}")

    parts = whole_number("parts", parts, 1)
    if replicates % parts or (parts > 1 and (replicates // parts > BLOCK or coupled != "common")):
        raise InputError(f"{replicates} replicates cannot be {parts} parts of up to {BLOCK} that meet the same people")
    part = replicates // parts
    blocks = blocks_of(replicates, BLOCK if parts == 1 else BLOCK // part * part)
    jobs = [
        (task, chosen, block, rounds, batch, seed, number if parts == 1 else 0, coupled, record)
        for number, block in enumerate(blocks)
    ]
    repeated = part if parts > 1 else None
    if workers == 1 or len(jobs) == 1:
        done = [_block(*job, progress, repeated) for job in jobs]
    else:
        from joblib import Parallel, delayed

        done = []
        calls = (delayed(_block)(*job, None, repeated) for job in jobs)
        for block in Parallel(n_jobs=workers, return_as="generator")(calls):
            done.append(block)
            if progress is not None:
                progress(rounds * len(block["counts"]))
    kept = _joined(done)

    def assessed(cells: Array) -> Assessment:
        found = task.problem.assess(cells.swapaxes(0, 1))  # replicates last, as settings by replicate are
        return Assessment(np.ascontiguousarray(found.reward.T), np.ascontiguousarray(found.residuals.swapaxes(1, 2)))

    return Run(
        policies=Policy(kept["thresholds"], kept["weights"]),
        counts=kept["counts"],
        probabilities=kept["probabilities"],
        batch=assessed(kept["counts"]),
        population=assessed(kept["probabilities"]),
        traces={name: kept[f"trace {name}"] for name in chosen.traces},
        names=task.problem.names,
        final=Policy(kept["final thresholds"], kept["final weights"]) if "final weights" in kept else None,
        states={name.removeprefix("state "): kept[name] for name in kept if name.startswith("state ")},
        settings={
            "task": task.describe(),
            "learner": chosen.describe(),
            "rounds": rounds,
            "seeds": replicates,
            "seed": seed,
            "batch": batch,
            "coupling": coupled,
        },
    )


def blocks_of(replicates: int, size: int = BLOCK) -> list[slice]:
    """Return the replicates that are simulated together."""
    return [slice(low, min(low + size, replicates)) for low in range(0, replicates, size)]


def _block(
    task: Task,
    learner: Learner[Any],
    block: slice,
    rounds: int,
    batch: int,
    seed: int,
    number: int,
    coupling: str,
    record: Sequence[str],
    progress: Progress | None,
    repeated: int | None = None,
) -> dict[str, Any]:
    """Run the loop for one block of replicates and return what is kept of it, replicates and rounds first.

    The random numbers of the first `repeated` replicates are repeated for the others, so many at a time.
    """
    task, learner = task.rows(block), learner.rows(block)
    replicates = block.stop - block.start
    parts = replicates // repeated if repeated else 1
    loop = Loop(task, replicates, batch, Nature(seed, number, coupling, parts), learner.level)
    source = np.random.SeedSequence(seed, spawn_key=(number, 1))
    own = Strided(source) if parts == 1 else Repeated(source, parts)
    state = learner.start(task.setting, replicates, own)
    kept = _Kept(rounds, loop.shape, learner.traces)
    for t in range(rounds):
        policy = loop.admitted(learner.propose(state), learner)
        if record:
            kept.keep_state(t, loop.state)
        happened = loop.play(policy)
        kept.keep(t, happened, {name: learner.trace(state, name) for name in learner.traces})
        learner.observe(state, policy, happened.feedback)
        if progress is not None and (t + 1) % 100 == 0:
            progress(100 * replicates)
    if progress is not None:
        progress(rounds % 100 * replicates)
    return kept.arrays(learner.recommend(state))


class _Kept:
    """What is kept of a block while it runs: rounds first, so that what a round writes lies together."""

    def __init__(self, rounds: int, shape: tuple[int, int], traces: Sequence[str]) -> None:
        self.rounds, self.shape = rounds, shape
        self.thresholds = np.empty((1, rounds, *shape))
        self.weights = np.ones((1, rounds, shape[0]))
        self.counts = np.empty((rounds, *shape, 2, 2), dtype=np.int32)
        self.probabilities = np.empty((rounds, *shape, 2, 2))
        self.by_round: dict[str, Array] = {f"trace {name}": np.empty((rounds, shape[0])) for name in traces}

    def keep(self, t: int, happened: Round, traces: Mapping[str, Array]) -> None:
        thresholds, weights = happened.played
        more = len(weights) - len(self.weights)
        if more > 0:  # a lottery of more thresholds than any before: others have weight 0
            self.thresholds = np.concatenate((self.thresholds, np.full((more, self.rounds, *self.shape), np.inf)))
            self.weights = np.concatenate((self.weights, np.zeros((more, self.rounds, self.shape[0]))))
        self.thresholds[: len(weights), t], self.weights[: len(weights), t] = thresholds, weights
        if more < 0:
            self.thresholds[more:, t], self.weights[more:, t] = np.inf, 0.0
        self.counts[t], self.probabilities[t] = happened.counts, happened.probabilities
        for name, values in traces.items():
            self.by_round[f"trace {name}"][t] = values

    def keep_state(self, t: int, world: Any) -> None:
        for name, values in flatten(world).items():
            if t == 0:
                self.by_round[f"state {name}"] = np.empty((self.rounds, *values.shape))
            self.by_round[f"state {name}"][t] = values

    def arrays(self, final: Policy | None) -> dict[str, Any]:
        by_replicate: dict[str, Any] = {"counts": self.counts, "probabilities": self.probabilities, **self.by_round}
        found = {name: np.ascontiguousarray(values.swapaxes(0, 1)) for name, values in by_replicate.items()}
        found |= {"thresholds": self.thresholds.swapaxes(1, 2), "weights": self.weights.swapaxes(1, 2)}
        found = {name: np.ascontiguousarray(values) for name, values in found.items()}
        if final is not None:
            found |= {"final thresholds": final.thresholds, "final weights": final.weights}
        return found


def _joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put the blocks of replicates together; lotteries of fewer thresholds get more of weight 0."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for name in parts[0]:
        values = [part[name] for part in parts]
        if name.endswith(("thresholds", "weights")):
            most, fill = max(map(len, values)), np.inf if name.endswith("thresholds") else 0.0
            values = [
                np.concatenate((each, np.full((most - len(each), *each.shape[1:]), fill))) if len(each) < most else each
                for each in values
            ]
            joined[name] = np.concatenate(values, axis=1)
        else:
            joined[name] = np.concatenate(values)
    return joined
