"""Strategic: people just below the threshold they believe in raise their score to it (Hardt et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairgate.environments.base import State
from fairgate.environments.believed_threshold import BelievedThreshold
from fairgate.errors import InputError
from fairgate.settings import Array

NEAR = 1e-9
"""How far below the threshold a belief may lie and still be enough, since one of rate < 1 only ever comes nearer."""


@dataclass(frozen=True)
class Strategic(BelievedThreshold):
    r"""Scores that are gamed: whoever can afford it presents just the score believed to be enough.

    Description
    -----------
    A person is of group g with probability :math:`\pi_g`, has a true score :math:`s \sim N(means_g, \sigma_g^2)` and
    label 1 with probability :math:`\mathrm{sigmoid}(slope \cdot (s - midpoint))`. Group g believes in threshold
    :math:`b_g` and presents

    .. math:: s' = \begin{cases} b_g & \text{if } b_g - budgets_g \le s < b_g \\ s & \text{else,} \end{cases}

    which changes the score but not the label. After a batch
    :math:`b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)`. In the long run :math:`b = \theta`, and whoever has
    :math:`s \ge \theta_g - budgets_g` is accepted. The scores presented have a point mass at :math:`b_g`, so a
    threshold just above what is believed accepts far fewer people than one just below, and a threshold that is raised
    loses all who game it until they believe in it (to within 1e-9).

    Action
    ------
    Thresholds, one a replicate and group: accept if :math:`s' \ge \theta_g`.

    Observation
    -----------
    Counts of the batch by group × label × decision.

    Reward
    ------
    None of its own: a :class:`~fairgate.Problem` reads reward and residuals off the counts.

    State, start and end
    --------------------
    :math:`b` (replicates, groups), started at `expected`. The loop never ends by itself. A group with nobody in the
    batch keeps its belief, and all do if no threshold is published.

    Parameters
    ----------
    means, shares, sd
        Mean and standard deviation of each group's true scores, and its share among applicants.
    slope, midpoint
        Label model.
    rate
        Share of the way to the published threshold that a belief moves in a round; 1 believes in yesterday's
        threshold. May vary by replicate.
    expected
        Threshold that everybody expects before the first is published; may vary by replicate.
    budgets
        How far each group's people can raise their score.

    Examples
    --------
    Group 1 can raise its scores by one standard deviation: in the long run half as strict a threshold.

    >>> env = Strategic(means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0,
    ...                 rate=0.5, expected=0.0, budgets=[0.0, 1.0])
    >>> thresholds = np.array([[1.0, 1.0]])
    >>> env.probabilities(env.steady_state(thresholds), thresholds)[..., 1].sum(axis=2).round(4)
    array([[0.0793, 0.25  ]])

    Version history
    ---------------
    v0: first version.
    """

    budgets: Sequence[float] | Array

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self._by_group("budgets") < 0).any():
            raise InputError(f"Strategic: budgets must be at least 0, got {self.budgets}")

    @cached_property
    def _budgets(self) -> Array:
        return np.asarray(self.budgets, dtype=np.float64)

    @property
    def reach(self) -> float:
        """True scores do not move."""
        return 1e-6

    def mean_scores(self, state: State) -> Array:
        """Return `means`: true scores do not move."""
        return np.broadcast_to(self._means, state.shape)

    def probabilities(self, state: State, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2).

        A threshold of at most b lets in all who present b, so the true score that is enough is
        min(θ, b − budget); one above b lets in nobody who raised the score.
        """
        enough = np.where(thresholds > state + NEAR, thresholds, np.minimum(thresholds, state - self._budgets))
        return super().probabilities(state, enough)

    def histogram(self, state: State, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores presented, cut at `edges` (K,)."""
        honest = super().histogram(self.start(1), edges)[0, :, :0:-1].cumsum(axis=1)[:, ::-1].swapaxes(1, 2)
        cells = super().probabilities(state, state - self._budgets)
        believed = edges <= state[..., None] + NEAR  # these edges are reached by all who raise their score
        bins = np.empty((*cells.shape[:-1], len(edges) + 1))  # label before bin, which is faster
        bins[..., 0] = cells.sum(axis=-1)
        np.multiply(believed[..., None, :], cells[..., 1, None], out=bins[..., 1:])
        np.maximum(bins[..., 1:], honest, out=bins[..., 1:])  # P(group, label, s′ ≥ edge), after everybody
        bins[..., :-1] -= bins[..., 1:]
        return np.maximum(bins, 0.0, out=bins).swapaxes(2, 3)  # differences of rounded numbers
