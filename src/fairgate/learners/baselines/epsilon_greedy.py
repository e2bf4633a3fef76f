"""EpsilonGreedy: the threshold that seems best and feasible, and now and then any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Arms, ArmsState, Epochs, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array, Positive


@dataclass(frozen=True)
class EpsilonGreedy(Arms, Epochs[ArmsState]):
    r"""Play what seems best among what seems feasible, and explore less and less.

    In epoch m play any of the K thresholds with probability :math:`\min(1, e K / m)`; else, of those played before,
    the one of highest mean reward :math:`\hat r_i` among those with every :math:`\hat g_{ij} \le 0`, or, if there is
    none, the one of least :math:`\sum_j \max(\hat g_{ij}, 0)`. Residuals on decisions are read off a threshold's
    summed counts, since a mean of batch gaps is biased upwards.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    exploration
        How much to explore, :math:`e`: about :math:`e (1 + \log(m / e K))` random epochs per threshold up to epoch m.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.EpsilonGreedy(), rounds=2000, seeds=5)
    >>> reward = run.population.reward.mean(axis=0)
    >>> reward[:200].mean().round(2), reward[-200:].mean().round(2)      # the oracle's is 0.11
    (np.float64(0.04), np.float64(0.1))

    References
    ----------
    .. [1] Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47,
       2002.
    """

    epoch_length: Rounds = 5  # tuned: scripts/tune.py
    burn_in: Rounds = 2  # tuned: scripts/tune.py
    exploration: Positive = 0.1  # tuned: scripts/tune.py

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ArmsState:
        """Start knowing nothing."""
        return fresh(ArmsState, setting, common)

    def pick(self, state: ArmsState, fresh: NDArray[np.bool_]) -> Array:
        """Pick any threshold, or the best known."""
        arms = len(state.grid)
        explore = state.rng.random(state.replicates) < np.asarray(self.exploration) * arms / (state.epochs + 1.0)
        anywhere = state.rng.integers(arms, size=state.replicates)
        return state.grid[np.where(explore | (state.epochs == 0), anywhere, state.best())]

    def recommend(self, state: ArmsState) -> Policy:
        """Keep the best threshold so far."""
        return Policy.shared(state.grid[state.best()], state.groups)
