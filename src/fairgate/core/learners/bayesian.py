"""Bayesian: constrained Bayesian optimisation over the grid (CONFIG and SafeOpt)."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import Arms, arm_at
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import best_feasible, is_feasible
from fairgate.random import Draws


@record
class Knows:
    """The arms, and the posterior covariance between them, (K, K)."""

    arms: Arms
    covariance: Array


@record
class Bayesian(Epochs):
    """Model reward and residuals as smooth functions of the threshold, and play a threshold that may be the best.

    :class:`fairgate.learners.Bayesian` documents the equations and the settings.
    """

    epoch_length: Array = 20
    burn_in: Array = 10
    length: Array = 0.2
    amplitude: Array = 0.5
    noise: Array = 0.02
    beta: Array = 1.0
    start_at: Array = 0.5
    safe: Array = False

    def begin(self, setting: Setting) -> Knows:
        """Begin with the prior."""
        xp, grid = namespace(setting.grid), setting.grid
        span = xp.where(grid[-1] > grid[0], grid[-1] - grid[0], 1.0)
        apart = (grid[:, None] - grid) / span
        return Knows(Arms.unknown(setting), self.amplitude**2 * xp.exp(-0.5 * (apart / self.length) ** 2))

    def digest(self, setting: Setting, knows: Knows, epoch: Epoch) -> Knows:
        """Add the epoch to its arm i, which reduces the covariance Σ by Σᵢ Σᵢᵀ / (Σᵢᵢ + σ²)."""
        here = arm_at(setting.grid, epoch.threshold)
        column = knows.covariance @ here
        lost = column[:, None] * column / (column @ here + self.noise**2)
        return Knows(knows.arms.with_epoch(setting, epoch), knows.covariance - lost)

    def posterior(self, knows: Knows) -> tuple[Array, Array]:
        """Return means Σ diag(n / σ²) y, (1 + J, K), and standard deviations, (K,)."""
        xp = namespace(knows.covariance)
        means = (knows.arms.shown * knows.arms.plays / self.noise**2) @ knows.covariance
        return means, xp.sqrt(xp.maximum(xp.diagonal(knows.covariance), 0.0))

    def pick(self, setting: Setting, knows: Knows, draws: Draws) -> Array:
        """Pick the best threshold by optimistic bounds, or the least certain of the safe thresholds worth exploring."""
        xp, (means, sd) = namespace(setting.grid), self.posterior(knows)
        width = self.beta * sd
        optimistic = best_feasible(means[0] + width, means[1:] - width)
        safe = self.trusted(means, width)
        found = xp.where(safe.any() & self.safe, least_known(means, width, safe), optimistic)
        return setting.grid[found]

    def trusted(self, means: Array, width: Array) -> Array:
        """Return whether each threshold is safe by its posterior, or is the start and may be feasible, (K,)."""
        xp, last = namespace(means), means.shape[1] - 1
        start = xp.rint(xp.asarray(self.start_at) * last)
        return ((xp.arange(last + 1) == start) & is_feasible(means[1:] - width)) | is_feasible(means[1:] + width)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the threshold with the best posterior means, among the safe ones if `safe`."""
        means, sd = self.posterior(memory.knows)
        safe = self.trusted(means, self.beta * sd)
        known = safe | ~(safe.any() & self.safe)
        return Policy.at(setting.grid[best_feasible(means[0], means[1:], known)])


def least_known(means: Array, width: Array, safe: Array) -> Array:
    """Return the index of the least certain safe threshold that may be best or is next to an unsafe one, ()."""
    xp = namespace(means)
    best = xp.where(safe, means[0] - width, -xp.inf).max()
    walled = xp.pad(safe, 1, constant_values=True)  # places beyond the grid count as safe
    edge = ~(walled[:-2] & walled[2:])
    worth = safe & ((means[0] + width >= best) | edge)
    return xp.where(worth, width.round(9), -xp.inf).argmax()  # mirror images are equal except for rounding
