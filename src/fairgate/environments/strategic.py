"""Strategic: people just below the threshold they believe in raise their score to it (Hardt et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.environments.beliefs import Beliefs
from fairgate.environments.normal_scores import NormalScores
from fairgate.errors import InputError
from fairgate.settings import Array

NEAR = 1e-9
"""How far below the threshold a belief may lie and still be enough, since one of rate < 1 only ever comes nearer."""


@dataclass(frozen=True)
class Strategic(Beliefs, NormalScores):
    r"""Scores that are gamed: whoever can afford it presents just the score believed to be enough.

    True scores :math:`s \sim N(means_g, \sigma_g^2)` and labels are those of :class:`NormalScores`. Group g believes in
    threshold :math:`b_g` and presents

    .. math:: s' = \begin{cases} b_g & \text{if } b_g - budgets_g \le s < b_g \\ s & \text{else,} \end{cases}

    which changes the score but not the label. After a batch
    :math:`b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)`. In the long run :math:`b = \theta`, and whoever has
    :math:`s \ge \theta_g - budgets_g` is accepted. The scores presented have a point mass at :math:`b_g`, so a
    threshold just above what is believed accepts far fewer people than one just below, and a threshold that is raised
    loses all who game it until they believe in it (to within 1e-9).

    The state is :math:`b` (replicates, groups), from `expected`. Nobody learns of a threshold that is not published.

    Parameters
    ----------
    means, shares, sd, slope, midpoint
        See :class:`NormalScores`, for true scores.
    rate
        Share of the way to the published threshold that a belief moves per round; 1 believes in yesterday's
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
    """

    per_group: ClassVar[tuple[str, ...]] = (*NormalScores.per_group, "budgets")

    budgets: Sequence[float] | Array

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self._by_group["budgets"] < 0).any():
            raise InputError(f"Strategic: budgets must be at least 0, got {self.budgets}")

    @property
    def reach(self) -> float:
        """True scores do not move."""
        return 1e-6

    def mean_scores(self, state: Array) -> Array:
        """Return `means`: true scores do not move."""
        return np.broadcast_to(self._by_group["means"], state.shape)

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2).

        A threshold of at most b lets in all who present b, so the true score that is enough is
        min(θ, b − budget); one above b lets in nobody who raised the score.
        """
        raised = np.minimum(thresholds, state - self._by_group["budgets"])
        return super().probabilities(state, np.where(thresholds > state + NEAR, thresholds, raised))

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores presented, cut at `edges` (K,)."""
        honest = super().histogram(state[:1], edges)[0, :, :0:-1].cumsum(axis=1)[:, ::-1].swapaxes(1, 2)
        cells = super().probabilities(state, state - self._by_group["budgets"])
        believed = edges <= state[..., None] + NEAR  # these edges are reached by all who raise their score
        bins = np.empty((*cells.shape[:-1], len(edges) + 1))  # label before bin, which is faster
        bins[..., 0] = cells.sum(axis=-1)
        np.multiply(believed[..., None, :], cells[..., 1, None], out=bins[..., 1:])
        np.maximum(bins[..., 1:], honest, out=bins[..., 1:])  # P(group, label, s′ ≥ edge), after everybody
        bins[..., :-1] -= bins[..., 1:]
        return np.maximum(bins, 0.0, out=bins).swapaxes(2, 3)  # differences of rounded numbers
