"""Loop: one round of the closed loop, propose → draw → decide → reveal → update. Written here and nowhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.delayed_labels import DelayedLabels
from fairgate.nature import Nature
from fairgate.policy import Policy, as_policy
from fairgate.problem import Feedback
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
        arrival, loss = environment.label_arrival, environment.label_loss
        self.delayed = None if arrival == 1.0 and loss == 0.0 else DelayedLabels(arrival, nature, loss)
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
        self.state = environment.update(self.state, counts, environment.published(policy), self.nature.world())
        self.nature.round += 1
        self.round += 1
        return Round(policy, counts.cells, probabilities, feedback)
