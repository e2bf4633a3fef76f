"""Thompson: draw a world from what is known of every threshold, and play what is best and feasible in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fairgate.learners.base import arms_of
from fairgate.learners.epochs import Epochs, EpochState, Rounds, of
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback, best_feasible
from fairgate.setting import Setting
from fairgate.settings import Array, Between, Number


@dataclass
class ThompsonState(EpochState):
    """What each threshold has shown: people of each group, how many were accepted, and their labels."""

    arm_people: Annotated[Array, "R K G"]
    arm_accepted: Annotated[Array, "R K G"]
    labels: Annotated[Array, "R K G 2"]


@dataclass(frozen=True)
class Thompson(Epochs[ThompsonState]):
    r"""Draw a world from the posterior, and play the threshold that is best among the feasible ones in that world.

    Every threshold i has, for each group g, an acceptance rate :math:`p_{gi}` and a share of positives among the
    accepted :math:`q_{gi}`, independent and with Jeffreys' prior. After :math:`a` of n people were accepted,

    .. math:: p_{gi} \sim \mathrm{Beta}\big(\tfrac12 + a / v, \; \tfrac12 + (n - a) / v\big),

    and :math:`q_{gi}` likewise by the labels that are known. v (`inflation`) counts v people as one, since people of
    one epoch share the state that they meet. Each epoch draws all :math:`p_{gi}` and :math:`q_{gi}`, each from the
    normal distribution of the posterior's mean and variance, cut to [0, 1], which costs a hundredth of a Beta draw;
    the problem reads reward and residuals off them, so any utility and any constraint on decisions or accepted labels
    will do. Played is the best threshold that is feasible in this draw, else the least violating one: a threshold is
    played as often as it is likely to be the best. [1]_ and [2]_ treat bandits whose arms have unknown rewards and
    unknown risks; here the feasibility of every residual is drawn as the reward is.

    Thresholds teach nothing about their neighbours, so each is played a few times: a grid of 201 takes long.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from. Tuned: 2 to 20.
    inflation
        How many people count as one, v. Tuned: 1 to 30.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.Thompson(), rounds=1500, seeds=5)
    >>> run.settled().single[:, 0].round(2)                     # the best threshold is 0.1
    array([0.1, 0.1, 0.1, 0.1, 0.1])

    References
    ----------
    .. [1] Chen, Gangrade, Saligrama, "Strategies for safe multi-armed bandits with logarithmic regret and risk",
       arXiv 2204.00706, 2022.
    .. [2] Saxena, Gonzalez, Jaldén, "Thompson sampling for linearly constrained bandits", 2020.
    """

    epoch_length: Rounds = 5
    burn_in: Rounds = 2
    inflation: Annotated[Number, Between(low=1.0)] = 2.0

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ThompsonState:
        """Start from the prior."""
        return fresh(ThompsonState, setting, common)

    def pick(self, state: ThompsonState, fresh: NDArray[np.bool_]) -> Array:
        """Draw a world for the replicates that begin an epoch, and pick what is best in it."""
        drawn = state.rng.random((state.replicates, *state.labels.shape[1:]))
        rows = np.flatnonzero(fresh)
        picked = state.current.copy()
        picked[rows] = state.grid[self.best(state, rows, ndtri(drawn[rows]))]
        return picked

    def best(self, state: ThompsonState, rows: NDArray[np.int64], away: Array) -> NDArray[np.int64]:
        """Return the best feasible threshold where rates and shares lie `away` (r, K, G, 2) standard deviations."""
        people, accepted, labels = state.arm_people[rows], state.arm_accepted[rows], state.labels[rows]
        inflation = of(self.inflation, rows)[..., None, None]
        rates = shifted(accepted / inflation, (people - accepted) / inflation, away[..., 0])
        shares = shifted(labels[..., 1] / inflation, labels[..., 0] / inflation, away[..., 1])
        came = people.sum(axis=1) + 1.0
        cells = np.zeros((*rates.shape, 2, 2))  # labels of the rejected are called 0: no constraint here asks for them
        cells[..., 1, 1], cells[..., 0, 1], cells[..., 0, 0] = rates * shares, rates * (1.0 - shares), 1.0 - rates
        cells *= (came / came.sum(axis=1, keepdims=True))[:, None, :, None, None]
        reward, residuals = state.problem.rows(rows).assess(cells.swapaxes(0, 1))
        return best_feasible(reward.T, residuals.swapaxes(1, 2))

    def digest(self, state: ThompsonState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Add finished epochs to what is known of the threshold they were on."""
        rows = np.flatnonzero(over)
        place = rows, np.searchsorted(state.grid, state.current[rows])
        state.arm_people[place] += state.people[rows]
        state.arm_accepted[place] += state.accepted[rows]

    def credit(self, state: ThompsonState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add labels to the threshold that accepted these people, however late they are."""
        noted = list(state.noted(credited))
        arms, known = arms_of(state.grid, [each for each, _ in noted])
        for (each, epoch), arm, ours in zip(noted, arms, known, strict=True):
            rows = np.flatnonzero(ours & (epoch >= 0))
            state.labels[rows, arm[rows]] += each.labels[rows]

    def recommend(self, state: ThompsonState) -> Policy:
        """Keep the threshold that is best by the means of the posterior."""
        everyone = np.arange(state.replicates)
        best = self.best(state, everyone, np.zeros(state.labels.shape))
        return Policy.shared(state.grid[best], state.groups)


def shifted(successes: Array, failures: Array, away: Array) -> Array:
    """Return what lies `away` standard deviations from the mean of a Beta posterior with Jeffreys' prior, in [0, 1].

    >>> shifted(np.array([0.0, 30.0]), np.array([0.0, 10.0]), np.array([0.0, -1.0])).round(3)
    array([0.5 , 0.677])
    """
    a, b = successes + 0.5, failures + 0.5
    mean = a / (a + b)
    return np.clip(mean + away * np.sqrt(mean * (1.0 - mean) / (a + b + 1.0)), 0.0, 1.0)
