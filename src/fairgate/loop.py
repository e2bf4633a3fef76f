"""Loop: one round of the closed loop, propose → draw → decide → reveal → update. Written here and nowhere else."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.nature import Nature
from fairgate.policy import Policy, as_policy
from fairgate.problem import Arrival, Feedback
from fairgate.settings import Array
from fairgate.tasks import Task


class Round(NamedTuple):
    """What happened in a round.

    Attributes
    ----------
    played
        The policy.
    counts
        People by group × label × decision, (replicates, groups, 2, 2).
    probabilities
        The same cells' exact probabilities in the state of the round.
    feedback
        What a learner of the loop's level gets to know.
    """

    played: Policy
    counts: NDArray[np.int64]
    probabilities: Array
    feedback: Feedback


class Loop:
    """A task in motion: plays policies round by round, in as many replicates as there are.

    Parameters
    ----------
    task
        Environment, problem and grid.
    replicates
        Independent loops, played together.
    batch
        People per round.
    nature
        The random numbers of whatever is not the learner.
    level
        How much the feedback shows.

    Examples
    --------
    >>> import fairgate as fg
    >>> loop = Loop(fg.load_task("interior"), replicates=3, batch=256, nature=Nature(seed=0))
    >>> happened = loop.play(Policy.shared([0.0, 0.1, 0.2], groups=2))
    >>> happened.feedback.reward.shape, happened.counts.shape, loop.round
    ((3,), (3, 2, 2, 2), 1)
    """

    def __init__(
        self,
        task: Task,
        replicates: int,
        batch: int,
        nature: Nature,
        level: str = "bandit",
    ) -> None:
        self.task, self.replicates, self.batch, self.nature, self.level = task, replicates, batch, nature, level
        environment = task.environment
        self.edges = None if level == "bandit" else task.thresholds
        self.shape = (replicates, environment.group_count)
        self.delayed = None if environment.label_arrival == 1.0 else DelayedLabels(environment.label_arrival, nature)
        self.state = environment.start(replicates)
        self.round = 0

    def admitted(self, proposed: Any, owner: object) -> Policy:
        """Return what `owner` proposes as a policy that can be played here, else say what is wrong."""
        return as_policy(proposed).checked(owner, self.shape, self.edges)

    def play(self, policy: Policy) -> Round:
        """Draw a batch, decide on it, reveal what came of it, and let the world move."""
        environment, edges = self.task.environment, self.edges
        if edges is None:
            probabilities = environment.cells(self.state, policy)
            cells = self.nature.draw(probabilities, self.batch)
            counts = Counts(cells)
        else:
            labelled = environment.histogram(self.state, edges)
            cells, probabilities = self.nature.draw_bins(labelled, policy, edges, self.batch)
            counts = Counts.of_bins(cells)
        arrivals, labels = (None, None) if self.delayed is None else self.delayed.arrive(self.round, policy, cells)
        feedback = self.task.problem.reveal(counts, self.level, arrivals, labels, self.round)
        self.state = environment.update(self.state, counts, policy.published, self.nature.world())
        self.nature.round += 1
        self.round += 1
        return Round(policy, counts.cells, probabilities, feedback)


class DelayedLabels:
    """Labels of accepted people on their way: each arrives in any round with the same probability."""

    def __init__(self, arrival: float, nature: Nature) -> None:
        self.arrival, self.nature = arrival, nature
        self.batches: dict[int, Arrival] = {}  # where labels come from, while any is on its way
        self.open: dict[int, int] = {}  # labels of each of these that are
        self.due: dict[int, list[tuple[int, NDArray[np.int64]]]] = defaultdict(list)  # batch and places, by arrival

    def arrive(self, now: int, played: Policy, cells: NDArray[np.int64]) -> tuple[list[Arrival], NDArray[np.int64]]:
        """Send the labels of a batch on their way, and return those that arrive now: by batch, and all by score bin."""
        accepted = cells[..., 1]
        people, by_group = (each.reshape(*each.shape[:2], -1).sum(axis=2) for each in (cells, accepted))
        taken = by_group.sum(axis=1)
        begun = Arrival(now, played.copy(), np.zeros(0), people, by_group)
        known = (taken == 0)[:, None]  # of nobody accepted all is known at once
        self.batches[now] = begun._replace(people=np.where(known, 0, people))
        self.open[now] = int(taken.sum())
        place = np.repeat(np.arange(accepted.size), accepted.ravel())
        delay = self.nature.delays(taken, int(people.sum(axis=1).max()), self.arrival)
        order = np.argsort(delay, kind="stable")
        rounds, first = np.unique(delay[order], return_index=True)
        for late, members in zip(rounds.tolist(), np.split(place[order], first)[1:], strict=True):
            self.due[now + late].append((now, members))
        arrived = dict(self.due.pop(now, ()))
        found = []
        for origin in sorted({now, *arrived}):
            members = arrived.get(origin, place[:0])
            self.open[origin] -= len(members)
            batch = begun if origin == now else self.batches[origin]
            last = self.open[origin] == 0
            found.append(batch._replace(labels=_tally(members, accepted.shape, coarse=True), last=last))
            if last:
                del self.batches[origin], self.open[origin]
        return found, _tally(np.concatenate([place[:0], *arrived.values()]), accepted.shape)


def _tally(places: NDArray[np.int64], shape: tuple[int, ...], coarse: bool = False) -> NDArray[np.int64]:
    """Count places in an array (replicates, groups, …, 2); `coarse` sums over score bins, if there are any."""
    if coarse and len(shape) == 4:
        group, label = places // (shape[2] * 2), places % 2
        places, shape = group * 2 + label, (*shape[:2], 2)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape)
