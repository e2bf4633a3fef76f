"""Performative: the scores follow the threshold itself (Perdomo et al. 2020); what is stable is not what is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairgate.environments.base import State
from fairgate.environments.believed_threshold import BelievedThreshold
from fairgate.settings import Array

FARTHEST = 4.0
"""Standard deviations from `means` up to which beliefs are tabulated; what lies beyond is integrated, which is slow."""


@dataclass(frozen=True)
class Performative(BelievedThreshold):
    r"""A bar that people rise to: each group's mean score follows the threshold it believes in.

    Description
    -----------
    A person is of group g with probability :math:`\pi_g`, has score :math:`s \sim N(\mu_g, \sigma_g^2)` with

    .. math:: \mu_g = means_g + response_g \cdot b_g,

    where :math:`b_g` is the threshold the group believes in, and label 1 with probability
    :math:`\mathrm{sigmoid}(slope \cdot (s - midpoint))`: whoever scores higher is better, not just better dressed.
    After a batch :math:`b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)`; in the long run :math:`b = \theta`.

    A threshold is *performatively stable* if it is the best answer to the scores it brings about, where learners end
    that answer the present scores again and again. The best threshold of all may be another one, since it is chosen
    with an eye on the scores it brings about.

    Action
    ------
    Thresholds, one a replicate and group: accept if :math:`s \ge \theta_g`.

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
        Mean score of each group at a believed threshold of 0, its share among applicants, and the standard
        deviation of its scores.
    slope, midpoint
        Label model.
    rate
        Share of the way to the published threshold that a belief moves in a round; may vary by replicate.
    expected
        Threshold that everybody expects before the first is published; may vary by replicate.
    response
        How far each group's mean moves with a believed threshold of 1.

    Examples
    --------
    >>> env = Performative(means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0,
    ...                    rate=0.5, expected=0.0, response=[0.0, 0.5])
    >>> thresholds = np.array([[1.0, 1.0]])
    >>> env.mean_scores(env.steady_state(thresholds))
    array([[0. , 0.5]])

    Version history
    ---------------
    v0: first version.
    """

    response: Sequence[float] | Array

    def __post_init__(self) -> None:
        super().__post_init__()
        self._by_group("response")

    @cached_property
    def _response(self) -> Array:
        return np.asarray(self.response, dtype=np.float64)

    @cached_property
    def reach(self) -> float:
        """How far a belief of at most `FARTHEST` standard deviations from any group's mean moves a mean."""
        farthest = float((np.abs(self._means) + FARTHEST * self._sd).max())
        return float(np.abs(self._response).max()) * farthest + 1e-6

    def mean_scores(self, state: State) -> Array:
        """Return the means that beliefs lead to, (replicates, groups)."""
        return np.asarray(self._means + self._response * state)
