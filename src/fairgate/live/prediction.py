"""Prediction: what a simulation says a gate will do on a task, also where every label is some rounds late."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.delayed_labels import DelayedLabels
from fairgate.learners import Learner
from fairgate.loop import Loop
from fairgate.nature import Nature, Strided
from fairgate.policy import Policy
from fairgate.problem import Assessment
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.tasks import Task


class Record:
    """Rounds as they were played, (replicates, …) each, and the :class:`~fairgate.Run` that they make."""

    def __init__(self) -> None:
        self.policies: list[Policy] = []
        self.counts: list[NDArray[Any]] = []
        self.probabilities: list[Array] = []

    def keep(self, policy: Policy, counts: NDArray[Any], probabilities: Array) -> None:
        """Keep a round."""
        self.policies.append(policy)
        self.counts.append(counts)
        self.probabilities.append(probabilities)

    def run(self, task: Task, last: int = 0, **settings: Any) -> Run:
        """Return the rounds so far, or the `last` of them, as a simulation would."""
        policies = self.policies[-last:]
        counts, probabilities = (np.stack(each[-last:], axis=1) for each in (self.counts, self.probabilities))
        parts = max(len(each.weights) for each in policies)
        wide = [_widened(each, parts) for each in policies]

        def assessed(cells: NDArray[Any]) -> Assessment:
            found = task.problem.assess(cells.swapaxes(0, 1))
            return Assessment(found.reward.T, found.residuals.swapaxes(1, 2))

        return Run(
            policies=Policy(*(np.stack([each[part] for each in wide], axis=2) for part in range(2))),
            counts=counts,
            probabilities=probabilities,
            batch=assessed(counts),
            population=assessed(probabilities),
            traces={},
            names=task.problem.names,
            settings={"task": task.describe(), **settings},
        )


def _widened(policy: Policy, parts: int) -> Policy:
    """Return the same policy with so many parts, those added of no weight."""
    more = parts - len(policy.weights)
    thresholds = np.concatenate((policy.thresholds, *[policy.thresholds[-1:]] * more))
    return Policy(thresholds, np.concatenate((policy.weights, np.zeros((more, policy.replicates)))))


class LateNature(Nature):
    """Nature in which every label is some rounds late, in addition to what is usual."""

    def __init__(self, seed: int, late: int) -> None:
        super().__init__(seed)
        self.late = late

    def delays(self, accepted: NDArray[np.int64], people: int, arrival: float, loss: float = 0.0) -> NDArray[np.int64]:
        """Draw the usual delays and add to them."""
        usual = super().delays(accepted, people, arrival, loss)
        return np.where(usual < 0, usual, usual + self.late)


def predict(
    task: Task, learner: Learner[Any], rounds: int, seeds: int, *, batch: int, late: int = 0, seed: int = 0
) -> Run:
    """Return what `fg.simulate` says of a task; where every label is `late`, the same loop with such labels."""
    if not late:
        return simulate(task, learner, rounds, seeds, seed=seed, batch=batch)
    nature = LateNature(seed, late)
    loop = Loop(task, seeds, batch, nature, learner.level)
    loop.delayed = DelayedLabels(task.environment.label_arrival, nature, task.environment.label_loss)
    state = learner.start(task.setting, seeds, Strided(np.random.SeedSequence(seed, spawn_key=(0, 1))))
    record = Record()
    for _ in range(rounds):
        policy = loop.admitted(learner.propose(state), learner)
        happened = loop.play(policy)
        record.keep(policy, happened.counts, happened.probabilities)
        learner.observe(state, policy, happened.feedback)
    sizes = {"rounds": rounds, "seeds": seeds, "seed": seed, "batch": batch, "late": late}
    return record.run(task, learner=learner.describe(), **sizes)
