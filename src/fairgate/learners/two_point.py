"""TwoPoint: two-point gradient ascent on the Lagrangian with dwells (SPSA), with dual ascent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.dwelling import Dwelling, DwellMemory, Rounds
from fairgate.learners.memory import Memory
from fairgate.settings import Array, Positive, Share
from fairgate.tasks import Task


@dataclass
class TwoPointMemory(DwellMemory):
    """The search of each replicate.

    Attributes
    ----------
    centre
        Where in the grid's interval it is, from 0 to 1, (R,).
    sign, first
        Side (R,) played first in this pair, and what that showed (1 + J, R).
    multipliers
        Price of each residual, (J, R).
    """

    centre: Array
    sign: Array
    first: Array
    multipliers: Array


@dataclass(frozen=True)
class TwoPoint(Dwelling[TwoPointMemory]):
    r"""Dwell a little above the centre, dwell a little below it, and step to the better side.

    One-point methods step by the size of the loss; the difference of two points is of the size of the slope. With the
    grid's interval as [0, 1], :math:`u = \pm 1` at random and :math:`L = r - \sum_j \lambda_j g_j`, pair m of dwells
    is played at :math:`x \pm u \delta_m` and followed by

    .. math::
        x &\leftarrow \Pi\big(x + a_m \, u \, (L_+ - L_-) / (2 \delta_m)\big), \\
        \lambda_j &\leftarrow \max\big(0, \lambda_j + b_m (g_{j+} + g_{j-}) / 2\big),

    with :math:`\delta_m = \delta m^{-0.101}` and :math:`a_m = a m^{-0.602}` (Spall's exponents) and
    :math:`b_m = b m^{-0.5}`.

    Parameters
    ----------
    step
        First step size :math:`a`, as a share of the grid's interval.
    dual_step
        First step size :math:`b` of the multipliers.
    radius
        First distance :math:`\delta` from the centre, as a share of the grid's interval; at most one half is used.
    start_at
        Where in the grid's interval the centre starts.
    dwell, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.TwoPoint(), rounds=3000, seeds=5)
    >>> run.final[:, 0].round(1)                     # parity binds at 0.14
    array([0.2, 0.2, 0.2, 0.2, 0.1])

    References
    ----------
    .. [1] Spall, "Multivariate stochastic approximation using a simultaneous perturbation gradient approximation",
       IEEE Transactions on Automatic Control 37, 1992.
    .. [2] Agarwal, Dekel, Xiao, "Optimal algorithms for online convex optimization with multi-point bandit feedback",
       COLT 2010.
    """

    dwell: Rounds = 30  # tuned: scripts/tune.py
    burn_in: Rounds = 15  # tuned: scripts/tune.py
    step: Positive = 0.3  # tuned: scripts/tune.py
    dual_step: Positive = 2.0  # tuned: scripts/tune.py
    radius: Positive = 0.05
    start_at: Share = 0.5

    memory_type: ClassVar[type[Memory]] = TwoPointMemory
    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, task: Task, common: Mapping[str, Any]) -> TwoPointMemory:
        """Start at `start_at`, with multipliers 0."""
        fields = self.dwelling(task, common)
        replicates = common["replicates"]
        memory = TwoPointMemory(
            **fields,
            centre=np.broadcast_to(np.asarray(self.start_at, dtype=np.float64), replicates),
            sign=np.ones(replicates),
            first=np.zeros_like(fields["sums"]),
            multipliers=np.zeros((len(fields["sums"]) - 1, replicates)),
        )
        reach = self.reach(memory)
        memory.centre = np.clip(memory.centre, reach, 1.0 - reach)
        return memory

    def reach(self, memory: TwoPointMemory) -> Array:
        """Distance δ_m from the centre that is played in this pair, (R,)."""
        return np.asarray(np.minimum(0.5, np.asarray(self.radius) * (memory.dwells // 2 + 1.0) ** -0.101))

    def pick(self, memory: TwoPointMemory, fresh: NDArray[np.bool_]) -> Array:
        """Play one side of the centre, drawn at random, and then the other."""
        opening = memory.dwells % 2 == 0
        drawn = np.where(memory.rng.integers(2, size=memory.replicates) == 1, 1.0, -1.0)
        memory.sign = np.where(fresh & opening, drawn, memory.sign)
        at = memory.centre + np.where(opening, memory.sign, -memory.sign) * self.reach(memory)
        return np.asarray(memory.grid[0] + at * (memory.grid[-1] - memory.grid[0]))

    def digest(self, memory: TwoPointMemory, over: NDArray[np.bool_], table: Array) -> None:
        """Keep what the first side showed; after the second, move the centre and then the multipliers."""
        closing = over & (memory.dwells % 2 == 1)
        difference = memory.first - table
        memory.first = np.where(over & ~closing, table, memory.first)
        pair, reach = memory.dwells // 2 + 1.0, self.reach(memory)
        slope = memory.sign * (difference[0] - (memory.multipliers * difference[1:]).sum(axis=0)) / (2.0 * reach)
        moved = np.clip(memory.centre + np.asarray(self.step) * pair**-0.602 * slope, reach, 1.0 - reach)
        memory.centre = np.where(closing, moved, memory.centre)
        mean = 0.5 * (memory.first + table)[1:]
        raised = np.maximum(0.0, memory.multipliers + np.asarray(self.dual_step) * pair**-0.5 * mean)
        memory.multipliers = np.where(closing, raised, memory.multipliers)

    def recommend(self, memory: TwoPointMemory) -> Array:
        """Keep the centre."""
        threshold = memory.grid[0] + memory.centre * (memory.grid[-1] - memory.grid[0])
        return np.repeat(threshold[:, None], memory.groups, axis=1)
