"""LocationScale: scores shift and spread with the threshold; retraining converges or diverges (Perdomo et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from fairgate.environments.base import bins_between, joint
from fairgate.environments.beliefs import Beliefs
from fairgate.environments.normal_scores import NormalScores
from fairgate.settings import Array

NARROWEST = 0.1
"""Least factor by which a belief can narrow the scores: people differ, whatever they believe."""


@dataclass(frozen=True)
class LocationScale(Beliefs, NormalScores):
    r"""Scores that inflate without quality: a location-scale family in the threshold that people believe in.

    Quality :math:`z \sim N(means_g, \sigma_g^2)` and labels, :math:`P(y = 1 \mid z)`, are those of
    :class:`NormalScores` and never change. Group g believes in threshold :math:`b_g` and presents the score

    .. math:: s = means_g + w_g (z - means_g) + location_g \, b_g, \qquad w_g = \max(1 + scale_g \, b_g, 0.1),

    so a threshold :math:`\theta` asks for quality :math:`z \ge means_g + (\theta - means_g - location_g b_g) / w_g`.
    After a batch :math:`b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)`; in the long run :math:`b = \theta`.

    *Retraining.* Let all groups have the mean m, location :math:`\ell` and scale c. What a threshold does to the people
    who come, reward and every constraint, then depends only on the quality :math:`\zeta` that it asks for. Let
    :math:`\zeta^*` be the best. As long as :math:`w > 0.1`, the best answer to the scores under belief b is

    .. math:: A(b) = m + (1 + c b)(\zeta^* - m) + \ell b = \zeta^* + \kappa b, \qquad
              \kappa = \ell + c \, (\zeta^* - m).

    Repeated risk minimisation, :math:`\theta_{k+1} = A(\theta_k)` with time to settle between, has errors
    :math:`\theta_k - \theta^\circ = \kappa^k (\theta_0 - \theta^\circ)` from the one stable threshold
    :math:`\theta^\circ = \zeta^* / (1 - \kappa)`: it converges if :math:`|\kappa| < 1`, and diverges, to the end of the
    grid or in growing swings, if :math:`|\kappa| > 1`. Retraining in every round moves beliefs by the factor
    :math:`1 - rate (1 - \kappa)`: whoever waits less converges for :math:`1 - 2 / rate < \kappa < 1`, but nobody for
    :math:`\kappa > 1`. A long memory of past scores acts as a smaller rate. :math:`\theta^\circ` is also the best
    threshold of all: it asks for :math:`\zeta^*` in the long run. The question is only whether retraining gets there.

    The state is :math:`b` (replicates, groups), from `expected`. Nobody learns of a threshold that is not published.

    Parameters
    ----------
    means, shares, sd, slope, midpoint
        See :class:`NormalScores`, for quality.
    rate, expected
        See :class:`Strategic`.
    location
        How far each group's scores shift with a believed threshold of 1.
    scale
        By how much of their spread each group's scores widen with a believed threshold of 1.

    Examples
    --------
    A bar raised by 1 raises group 1's scores by 1.5: in the long run a higher threshold accepts more of them.

    >>> env = LocationScale(means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0,
    ...                     rate=0.5, expected=0.0, location=[0.5, 1.5], scale=[0.0, 0.0])
    >>> thresholds = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> env.probabilities(env.steady_state(thresholds), thresholds)[..., 1].sum(axis=2).round(4)
    array([[0.25  , 0.25  ],
           [0.1543, 0.3457]])

    References
    ----------
    .. [1] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    .. [2] Miller, Perdomo, Zrnic, "Outside the echo chamber: optimizing the performative risk", ICML 2021.
    """

    per_group: ClassVar[tuple[str, ...]] = (*NormalScores.per_group, "location", "scale")

    location: Sequence[float] | Array
    scale: Sequence[float] | Array

    @property
    def reach(self) -> float:
        """Quality does not move."""
        return 1e-6

    def mean_scores(self, state: Array) -> Array:
        """Return the mean scores presented, (replicates, groups)."""
        return np.asarray(self._by_group["means"] + self._by_group["location"] * state)

    def quality_of(self, state: Array, scores: Array) -> Array:
        """Return the quality behind scores (…, replicates, groups) that are presented in a state."""
        spread = np.maximum(1.0 + self._by_group["scale"] * state, NARROWEST)
        return np.asarray(self._by_group["means"] + (scores - self.mean_scores(state)) / spread)

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2)."""
        accepted, positives = self._above(self.quality_of(state, thresholds))
        return joint(self._by_group["shares"], accepted, np.broadcast_to(self._good, accepted.shape), positives)

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores presented, cut at `edges` (K,)."""
        at_edges = self.quality_of(state, np.reshape(np.asarray(edges, dtype=np.float64), (-1, 1, 1)))
        accepted, positives = (np.moveaxis(each, 0, -1) for each in self._above(at_edges))
        shares = self._by_group["shares"]
        above = shares[:, None, None] * np.stack((accepted - positives, positives), axis=-1)
        everybody = shares[:, None] * np.stack((1.0 - self._good, self._good), axis=-1)
        return bins_between(above, np.broadcast_to(everybody, (*above.shape[:2], 2)))

    def _above(self, quality: Array) -> tuple[Array, Array]:
        """Return P(z ≥ quality) and P(y=1, z ≥ quality) of each group, for qualities (…, groups)."""
        along, theta = self._scores
        steps = len(theta) - 1
        place = np.clip((quality - theta[0]) / along, 0.0, steps)
        row = np.minimum(place.astype(np.intp), steps - 1)
        part = place - row
        row += steps * np.arange(self.group_count)
        positives = self._cubics[0].take(row)
        for coefficients in self._cubics[1:]:
            positives *= part
            positives += coefficients.take(row)
        accepted = ndtr((self._by_group["means"] - quality) / self._by_group["sd"])
        return accepted, np.clip(positives, 0.0, accepted)  # a spline near 0 may fall just below it

    @cached_property
    def _good(self) -> Array:
        """P(y=1) of each group, (groups,)."""
        return np.asarray(self._cubics[-1].reshape(self.group_count, -1)[:, 0])

    @cached_property
    def _cubics(self) -> Array:
        """Cubics of P(y=1, z ≥ θ) between tabulated θ, the highest power first, (4, groups · steps)."""
        from scipy.interpolate import CubicSpline  # slow to import, and not needed by all

        theta = self._scores[1]
        groups = zip(self._by_group["means"], self._by_group["sd"], strict=True)
        exact = [self._masses(np.array([mean]), theta, sd)[0] for mean, sd in groups]
        return np.asarray(np.concatenate([CubicSpline(np.arange(len(theta)), each).c for each in exact], axis=1))
