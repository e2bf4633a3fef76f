"""BanditGradient: one-point bandit gradient descent on the reward alone (the paper's "Unconstrained")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.memory import Memory
from fairgate.problem import Signals
from fairgate.settings import Array, Positive, Share
from fairgate.tasks import Task


@dataclass
class GradientMemory(Memory):
    """The centre (R,) searched around, the sign (R,) of the last step aside, and multipliers (J, R) if any."""

    centre: Array
    sign: Array
    multipliers: Array


@dataclass(frozen=True)
class BanditGradient(Learner[GradientMemory]):
    r"""Play a little above or below a centre, and move the centre against the loss seen there.

    With :math:`u_t = \pm 1` at random, play :math:`x_t = y_t + \rho u_t`, see the loss :math:`\ell_t = -r_t`, and

    .. math:: y_{t+1} = \Pi\big(y_t - \eta \, \ell_t u_t / \rho\big),

    where :math:`\Pi` projects to the grid's interval, narrowed by :math:`\rho` so that what is played lies in
    it. The estimator is unbiased for a smoothed loss, but its size is that of the loss, not of the slope: it
    wanders wherever the reward is large and rests where the reward is near 0.

    Parameters
    ----------
    step
        Step size :math:`\eta`.
    radius
        Distance :math:`\rho` from the centre that is played.
    start_at
        Where in the grid's interval the centre starts: 0 is the lowest threshold, 1 the highest.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.BanditGradient(), rounds=500, seeds=3)
    >>> run.thresholds.shape
    (3, 500, 2)

    References
    ----------
    .. [1] Flaxman, Kalai, McMahan, "Online convex optimization in the bandit setting: gradient descent
       without a gradient", SODA 2005.
    """

    step: Positive = 0.03
    radius: Positive = 0.3
    start_at: Share = 0.5

    memory_type: ClassVar[type[Memory]] = GradientMemory
    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, task: Task, common: Mapping[str, Any]) -> GradientMemory:
        """Start at `start_at`, with multipliers 0."""
        low, high = task.thresholds[0], task.thresholds[-1]
        centre = np.broadcast_to(low + np.asarray(self.start_at) * (high - low), (common["replicates"],))
        multipliers = np.zeros((len(task.problem.names), len(centre)))
        memory = GradientMemory(**common, centre=centre, sign=np.zeros(len(centre)), multipliers=multipliers)
        memory.centre = self.project(memory, memory.centre)
        return memory

    def reach(self, memory: GradientMemory) -> Array:
        """Distance from the centre that is played: `radius`, or half the grid's interval if that is less."""
        return np.asarray(np.minimum(self.radius, 0.5 * (memory.grid[-1] - memory.grid[0])))

    def project(self, memory: GradientMemory, centre: Array) -> Array:
        """Bring the centre back to where both points played around it lie in the grid's interval."""
        reach = self.reach(memory)
        return np.clip(centre, memory.grid[0] + reach, memory.grid[-1] - reach)

    def choose(self, memory: GradientMemory) -> Array:
        """Play to a random side of the centre."""
        memory.sign = np.where(memory.rng.integers(2, size=memory.replicates) == 1, 1.0, -1.0)
        return np.asarray(memory.centre + self.reach(memory) * memory.sign)

    def loss(self, memory: GradientMemory, signals: Signals) -> Array:
        """Return what is to be made small."""
        return -signals.reward

    def learn(self, memory: GradientMemory, thresholds: Array, signals: Signals) -> None:
        """Move the centre against the one-point gradient estimate."""
        gradient = self.loss(memory, signals) * memory.sign / np.asarray(self.radius)
        memory.centre = self.project(memory, memory.centre - np.asarray(self.step) * gradient)
