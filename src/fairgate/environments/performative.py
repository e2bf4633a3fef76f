"""Performative: the scores follow the threshold itself (Perdomo et al. 2020); what is stable is not what is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fairgate.environments.beliefs import Beliefs
from fairgate.environments.normal_scores import NormalScores
from fairgate.settings import Array

FARTHEST = 4.0
"""Standard deviations from `means` up to which beliefs are tabulated; what lies beyond is integrated, which is slow."""


@dataclass(frozen=True)
class Performative(Beliefs, NormalScores):
    r"""A bar that people rise to: each group's mean score follows the threshold it believes in.

    Scores and labels are those of :class:`NormalScores` with

    .. math:: \mu_g = means_g + response_g \cdot b_g,

    where :math:`b_g` is the threshold the group believes in: whoever scores higher is better, not just better dressed.
    After a batch :math:`b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)`; in the long run :math:`b = \theta`.

    A threshold is *performatively stable* if it is the best answer to the scores it brings about, where learners end
    that answer the present scores again and again. The best threshold of all may be another one, since it is chosen
    with an eye on the scores it brings about.

    The state is :math:`b` (replicates, groups), from `expected`. Nobody learns of a threshold that is not published.

    Parameters
    ----------
    means
        Mean score of each group at a believed threshold of 0.
    shares, sd, slope, midpoint
        See :class:`NormalScores`.
    rate, expected
        See :class:`Strategic`.
    response
        How far each group's mean moves with a believed threshold of 1.

    Examples
    --------
    >>> env = Performative(means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0,
    ...                    rate=0.5, expected=0.0, response=[0.0, 0.5])
    >>> thresholds = np.array([[1.0, 1.0]])
    >>> env.mean_scores(env.steady_state(thresholds))
    array([[0. , 0.5]])
    """

    per_group: ClassVar[tuple[str, ...]] = (*NormalScores.per_group, "response")

    response: Sequence[float] | Array

    @cached_property
    def reach(self) -> float:
        """How far a belief of at most `FARTHEST` standard deviations from any group's mean moves a mean."""
        farthest = float((np.abs(self._by_group["means"]) + FARTHEST * self._by_group["sd"]).max())
        return float(np.abs(self._by_group["response"]).max()) * farthest + 1e-6

    def mean_scores(self, state: Array) -> Array:
        """Return the means that beliefs lead to, (replicates, groups)."""
        return np.asarray(self._by_group["means"] + self._by_group["response"] * state)
