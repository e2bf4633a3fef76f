"""EpsilonGreedy: the threshold that seems best and feasible, and now and then any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.dwelling import Arms, ArmsMemory, Rounds, best_arm
from fairgate.learners.memory import Memory
from fairgate.settings import Array, Positive
from fairgate.tasks import Task


@dataclass(frozen=True)
class EpsilonGreedy(Arms[ArmsMemory]):
    r"""Play what seems best among what seems feasible, and explore less and less.

    In dwell m play any of the K thresholds with probability :math:`\min(1, e K / m)`; else, of those played before,
    the one of highest mean reward :math:`\hat r_i` among those with every :math:`\hat g_{ij} \le 0`, or, if there is
    none, the one of least :math:`\sum_j \max(\hat g_{ij}, 0)`. Residuals on decisions are read off a threshold's
    summed counts, since a mean of batch gaps is biased upwards.

    Parameters
    ----------
    exploration
        How much to explore, :math:`e`: about :math:`e (1 + \log(m / e K))` random dwells a threshold up to dwell m.
    dwell, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.EpsilonGreedy(), rounds=2000, seeds=5)
    >>> reward = run.population.reward.mean(axis=0)
    >>> reward[:200].mean().round(2), reward[-200:].mean().round(2)      # the oracle's is 0.11
    (np.float64(0.06), np.float64(0.1))

    References
    ----------
    .. [1] Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47,
       2002.
    """

    dwell: Rounds = 5  # tuned: scripts/tune.py
    burn_in: Rounds = 2  # tuned: scripts/tune.py
    exploration: Positive = 0.1  # tuned: scripts/tune.py

    memory_type: ClassVar[type[Memory]] = ArmsMemory

    def remember(self, task: Task, common: Mapping[str, Any]) -> ArmsMemory:
        """Start knowing nothing."""
        return ArmsMemory(**self.arms(task, common))

    def pick_arm(self, memory: ArmsMemory, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pick any threshold, or the best known."""
        arms = len(memory.grid)
        explore = memory.rng.random(memory.replicates) < np.asarray(self.exploration) * arms / (memory.dwells + 1.0)
        anywhere = memory.rng.integers(arms, size=memory.replicates)
        return np.where(explore | (memory.dwells == 0), anywhere, best_arm(memory.means, memory.plays > 0))

    def recommend(self, memory: ArmsMemory) -> Array:
        """Keep the best threshold so far."""
        best = memory.grid[best_arm(memory.means, memory.plays > 0)]
        return np.repeat(best[:, None], memory.groups, axis=1)
