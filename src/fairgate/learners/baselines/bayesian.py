"""Bayesian and safe_bayesian: constrained Bayesian optimisation over the grid (CONFIG and SafeOpt)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Arms, ArmsState, Epochs, Rounds, of
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.problem import best_feasible, is_feasible
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, Share


@dataclass(frozen=True)
class Bayesian(Arms, Epochs[ArmsState]):
    r"""Model reward and residuals as smooth functions of the threshold, and play where they may be best.

    Reward and every residual get a Gaussian process over the grid's interval [0, 1] with mean 0 and covariance
    :math:`k(x, x') = a^2 \exp(-(x - x')^2 / 2 \ell^2)`, seen with noise of standard deviation :math:`\sigma` in every
    epoch. They share one posterior standard deviation :math:`s_i` and differ in their means :math:`\mu^r_i` and
    :math:`\mu^g_{ij}`. The next epoch plays

    .. math:: \arg\max_i \; \mu^r_i + \beta s_i \quad \text{subject to} \quad \mu^g_{ij} - \beta s_i \le 0 \; \forall j,

    or, if no threshold passes, the one of least :math:`\sum_j \max(\mu^g_{ij} - \beta s_i, 0)`. This is CONFIG.

    With `safe` it is SafeOpt: only thresholds with :math:`\mu^g_{ij} + \beta s_i \le 0` for all j may be played, and
    the one at `start_at`, which is trusted until some :math:`\mu^g_{ij} - \beta s_i > 0` there. Among these, the least
    known is played of those that may be best (:math:`\mu^r_i + \beta s_i \ge \max (\mu^r - \beta s)`) and those beside
    an unsafe one. While none is safe, because the start was not, it searches as CONFIG does.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    length
        Length scale :math:`\ell`, as a share of the grid's interval.
    amplitude
        Standard deviation :math:`a` of a signal over thresholds.
    noise
        Standard deviation :math:`\sigma` of what one epoch shows.
    beta
        Width :math:`\beta` of the confidence bounds.
    start_at
        Where in the grid the safe search starts.
    safe
        Whether to play only what its posterior counts as safe.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.Bayesian(), rounds=1000, seeds=5)
    >>> run.settled().single[:, 0].round(2)                     # the oracle is at 0.1
    array([0.1, 0.1, 0.1, 0.1, 0.1])

    SafeOpt starts in the middle of the grid, and cannot make sure of its neighbours to within the 0.05 that parity
    allows:

    >>> run = fg.simulate(fg.load_task("interior"), fg.load_learner("safe-bayesian"), rounds=1000, seeds=5)
    >>> set(run.thresholds[:, :, 0].ravel().round(2).tolist())
    {0.0}

    References
    ----------
    .. [1] Xu, Jiang, Svetozarevic, Jones, "Constrained efficient global optimization of expensive black-box functions",
       ICML 2023.
    .. [2] Sui, Gotovos, Burdick, Krause, "Safe exploration for optimization with Gaussian processes", ICML 2015.
    .. [3] Rasmussen, Williams, "Gaussian processes for machine learning", section 3.4.3, MIT Press 2006.
    """

    epoch_length: Rounds = 20  # tuned: scripts/tune.py
    burn_in: Rounds = 10  # tuned: scripts/tune.py
    length: Positive = 0.2  # tuned: scripts/tune.py
    amplitude: Positive = 0.5
    noise: Positive = 0.02
    beta: NonNegative = 1.0  # tuned: scripts/tune.py
    start_at: Share = 0.5
    safe: bool = False

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ArmsState:
        """Start from the prior."""
        return fresh(ArmsState, setting, common)

    def posterior(self, state: ArmsState, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        r"""Return means (1 + J, r, K) and standard deviations (r, K) of some replicates.

        With :math:`S = \mathrm{diag}(\sqrt{n_i} / \sigma)` both come from solving with :math:`I + S k S`, which is well
        conditioned, thresholds never played included: one batched call for all replicates.
        """
        length, amplitude, noise = (
            of(each, rows)[..., None, None] for each in (self.length, self.amplitude, self.noise)
        )
        span = state.grid[-1] - state.grid[0]
        apart = (state.grid[:, None] - state.grid) / (span if span > 0 else 1.0)
        prior = amplitude**2 * np.exp(-0.5 * (apart / length) ** 2)
        scale = np.sqrt(state.plays[rows])[:, :, None] / noise
        seen = scale * prior
        system = np.eye(len(state.grid)) + seen * scale.swapaxes(1, 2)
        values = scale * np.moveaxis(state.means[:, rows], 0, -1)
        solved = np.linalg.solve(system, np.concatenate((seen, values), axis=2))
        inverted, weights = np.split(solved, [len(state.grid)], axis=2)
        means = np.moveaxis(seen.swapaxes(1, 2) @ weights, -1, 0)
        variances = amplitude[..., 0] ** 2 - (seen * inverted).sum(axis=1)
        return means, np.sqrt(np.maximum(variances, 0.0))

    def pick(self, state: ArmsState, fresh: NDArray[np.bool_]) -> Array:
        """Pick by the posterior of the replicates that begin an epoch."""
        rows = np.flatnonzero(fresh)
        means, sd = self.posterior(state, rows)
        width = of(self.beta, rows)[..., None] * sd
        optimistic = np.concatenate((means[:1] + width, means[1:] - width))
        found = best_feasible(optimistic[0], optimistic[1:])
        if self.safe:
            safe = self._safe(state, means, width, rows)
            found = np.where(safe.any(axis=1), self._least_known(means, width, safe), found)
        picked = state.current.copy()
        picked[rows] = state.grid[found]
        return picked

    def _safe(self, state: ArmsState, means: Array, width: Array, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each threshold is safe by its posterior, or trusted to be, (r, K)."""
        last = len(state.grid) - 1
        start = np.rint(of(self.start_at, rows) * last)
        trusted = (np.arange(last + 1) == start[..., None]) & is_feasible(means[1:] - width)
        return np.asarray(trusted | is_feasible(means[1:] + width))

    def _least_known(self, means: Array, width: Array, safe: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pick the least known of the safe thresholds that may be best or lie beside an unsafe one."""
        best = np.where(safe, means[0] - width, -np.inf).max(axis=1, keepdims=True)
        walled = np.pad(safe, ((0, 0), (1, 1)), constant_values=True)  # beyond the grid there is nothing to find
        edge = ~(walled[:, :-2] & walled[:, 2:])
        worth = safe & ((means[0] + width >= best) | edge)
        return np.asarray(np.where(worth, width, -np.inf).argmax(axis=1))

    def recommend(self, state: ArmsState) -> Policy:
        """Keep the threshold whose posterior means are best, among the safe ones if `safe`."""
        everyone = np.arange(state.replicates)
        means, sd = self.posterior(state, everyone)
        known = np.ones(sd.shape, dtype=np.bool_)
        if self.safe:
            safe = self._safe(state, means, of(self.beta, everyone)[..., None] * sd, everyone)
            known = safe | ~safe.any(axis=1, keepdims=True)
        return Policy.shared(state.grid[best_feasible(means[0], means[1:], known)], state.groups)


safe_bayesian = functools.partial(Bayesian, safe=True, length=0.4, beta=2.0)  # tuned: scripts/tune.py
"""SafeOpt: :class:`Bayesian` that plays only what its posterior counts as safe, with settings of its own."""
