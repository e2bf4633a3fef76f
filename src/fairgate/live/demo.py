"""Demo: a made-up lender whose applicants are a task's, so that a gate can be compared with a simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, over_bins
from fairgate.errors import InputError
from fairgate.live.prediction import Record
from fairgate.live.replies import Closed, Decisions, PolicyNow, Recorded, Status
from fairgate.live.spec import DIGITS, Guards, Rounds, Spec, Start
from fairgate.policy import Policy
from fairgate.problem import Utility
from fairgate.settings import Array
from fairgate.tasks import Task

PARTS = 8
"""Scores that people may have between two thresholds of the grid, so that thresholds in between tell them apart."""


class Counter(Protocol):
    """Where a lender asks: a :class:`~fairgate.live.Gate`, or the client of one over HTTP."""

    def decide(self, ids: Sequence[str], groups: Sequence[str], scores: Sequence[float]) -> Decisions:
        """Decide on applications."""

    def outcomes(self, ids: Sequence[str], labels: Sequence[int]) -> Recorded:
        """Record labels of accepted applications."""

    def close(self, round_number: int | None = None) -> Closed:
        """Close the round."""

    def status(self) -> Status:
        """Tell what is in force."""


class Applicants(NamedTuple):
    """People who came in a round: group, score, label and how many rounds it is late, −1 if it is lost, (N,) each."""

    groups: NDArray[np.int64]
    scores: Array
    labels: NDArray[np.int64]
    delays: NDArray[np.int64]


class Population:
    """The people of a task one by one: they come independently given the state, and respond to what is decided.

    Parameters
    ----------
    task
        Whose environment it is.
    seed
        Of all that happens by chance.
    late
        Rounds that every label is late, in addition to the environment's own `label_arrival`.

    Examples
    --------
    >>> import fairgate as fg
    >>> people = Population(fg.load_task("interior"), seed=0)
    >>> came = people.come(5)
    >>> came.groups.tolist(), came.scores.round(2).tolist()
    ([1, 0, 0, 0, 1], [-0.36, 0.09, -1.39, -1.84, 0.19])
    """

    def __init__(self, task: Task, seed: int = 0, late: int = 0) -> None:
        self.environment, self.late = task.environment, late
        self.edges = task.thresholds
        self.fine = np.interp(
            np.arange((len(self.edges) - 1) * PARTS + 1) / PARTS, np.arange(len(self.edges)), self.edges
        )
        self.scores = middles(self.fine)
        self.state = self.environment.start(1)
        self.chances = np.random.default_rng(seed)

    def come(self, people: int) -> Applicants:
        """Draw so many people."""
        cells = self.environment.histogram(self.state, self.fine)[0]
        drawn = self.chances.choice(cells.size, size=people, p=cells.ravel() / cells.sum())
        groups, bins, labels = np.unravel_index(drawn, cells.shape)
        delays = self.late + self.chances.geometric(self.environment.label_arrival, people) - 1
        if self.environment.label_loss:
            delays = np.where(self.chances.random(people) < self.environment.label_loss, -1, delays)
        return Applicants(groups, self.scores[bins], labels, delays)

    def cells(self, policy: Policy) -> Array:
        """Return the exact probabilities P(group, label, decision) of the round, (1, groups, 2, 2)."""
        played = policy.thresholds[np.isfinite(policy.thresholds)]
        return over_bins(self.environment.cells(self.state, policy, np.union1d(self.edges, played)))

    def respond(self, came: Applicants, accepted: NDArray[np.bool_], policy: Policy) -> Counts:
        """Move to the next round, and return the counts of this one, hidden labels and all."""
        counts = Counts.of_people(
            came.scores,
            came.groups,
            accepted,
            came.labels,
            grid=self.edges,
            group_count=self.environment.group_count,
        )
        self.state = self.environment.update(self.state, counts, self.environment.published(policy), self.chances)
        return counts


def middles(edges: Array) -> Array:
    """Return a score inside every bin that increasing thresholds (K,) part, (K + 1,).

    >>> middles(np.array([0.0, 1.0, 3.0]))
    array([-0.5,  0.5,  2. ,  4. ])
    """
    steps = np.diff(edges) if len(edges) > 1 else np.ones(1)
    return np.concatenate(
        (edges[:1] - steps[0] / 2, edges[:-1] + steps[: len(edges) - 1] / 2, edges[-1:] + steps[-1] / 2)
    )


class Lender:
    """A made-up lender: asks a gate about everybody who comes, and sends each outcome when it is due.

    Parameters
    ----------
    gate
        The gate, or its client. A round closes when the lender says so; in a gate whose rounds close by people or by
        time, leave that to the gate with ``closes=False``.
    population
        Who comes.
    groups
        Names of the groups, in the gate's order.
    batch
        People per round.
    prefix
        What the ids of applications begin with.
    """

    def __init__(
        self,
        gate: Counter,
        population: Population,
        groups: Sequence[str],
        batch: int,
        *,
        closes: bool = True,
        prefix: str = "demo",
    ) -> None:
        self.gate, self.population, self.groups, self.batch = gate, population, list(groups), batch
        self.closes, self.prefix = closes, prefix
        self.round = 0
        self.record = Record()
        self.due: dict[int, list[tuple[str, int]]] = defaultdict(list)  # applications and labels, by round

    @property
    def awaited(self) -> int:
        """Labels that are on their way."""
        return sum(len(each) for each in self.due.values())

    def play(self) -> Policy:
        """Play a round: applications, decisions, outcomes that are due, and how people respond. Return its policy."""
        came = self.population.come(self.batch)
        ids = [f"{self.prefix}-{self.round}-{place}" for place in range(self.batch)]
        decided = self.gate.decide(ids, [self.groups[group] for group in came.groups], came.scores.tolist())
        accepted = np.array(decided.accepted)
        status = self.gate.status()
        if status.policy is None:
            raise InputError("the demo needs a gate that decides: its mode must not be shadow")
        policy = as_played(status.policy, self.groups)
        probabilities = self.population.cells(policy)
        counts = self.population.respond(came, accepted, policy)
        self.record.keep(policy, counts.cells, probabilities)
        for place in np.flatnonzero(accepted).tolist():
            if came.delays[place] >= 0:
                self.due[self.round + int(came.delays[place])].append((ids[place], int(came.labels[place])))
        arrived = self.due.pop(self.round, [])
        if arrived:
            self.gate.outcomes([each for each, _ in arrived], [label for _, label in arrived])
        if self.closes:
            self.gate.close(decided.rounds[0])
        self.round += 1
        return policy


def as_played(policy: PolicyNow, groups: Sequence[str]) -> Policy:
    """Read a gate's policy."""
    thresholds = [[[float(part.thresholds[name]) for name in groups]] for part in policy.components]
    return Policy(np.array(thresholds), np.array([[part.weight] for part in policy.components]))


def rounded(task: Task) -> Task:
    """Return the task on the grid as a gate rounds it."""
    return replace(task, grid=np.round(task.thresholds, DIGITS))


def spec_of(task: Task, learner: str, name: str = "demo", seed: int = 0, batch: int | None = None) -> Spec:
    """Return the gate that a task asks for, learning from the start; its rounds close when told, or by `batch` people.

    No guard holds the learner back, so that it plays as in a simulation.

    >>> import fairgate as fg
    >>> spec_of(fg.load_task("interior"), "safe-forecast").constraints
    {'parity': '0.05', 'service': '0.2:0.8'}
    """
    if not isinstance(task.problem.utility, Utility):
        raise InputError(f"the demo needs a task whose reward is a Utility, got {task.problem.utility!r}")
    written = [each.text.partition("=") for each in task.problem.constraints]
    return Spec.read(
        {
            "name": name,
            "groups": [f"group {chr(ord('A') + number)}" for number in range(task.environment.group_count)],
            "grid": task.thresholds.tolist(),
            "constraints": {key: value for key, _, value in written},
            "false_positive_cost": task.problem.utility.false_positive_cost,
            "learner": learner,
            "seed": seed,
            "rounds": Rounds(people=batch),
            "start": Start(mode="learn"),
            "guards": Guards(pause_if_broken=False),
        },
        allow=[key for key, _, _ in written if ":" in key],  # classes of the task, which are imported already
    )


def task_of(task: Task, spec: Spec) -> Task:
    """Return the task that a gate is in if a task's people come to it: the gate's constraints, costs and grid."""
    if task.environment.group_count != len(spec.groups):
        raise InputError(
            f"the task {task.name} has {task.environment.group_count} groups, but the gate {spec.name} has "
            f"{len(spec.groups)}: choose another task"
        )
    return replace(task, problem=spec.setting.problem, grid=spec.setting.thresholds)
