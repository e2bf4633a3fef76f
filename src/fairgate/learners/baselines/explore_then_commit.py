"""ExploreThenCommit: every threshold for a while, then the best for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Arms, ArmsState, Epochs, Late, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array


@dataclass(frozen=True)
class ExploreThenCommit(Arms, Epochs[ArmsState]):
    r"""Play every threshold for one epoch, from the lowest to the highest; from then on, play the best of them.

    The best is the one of highest mean reward :math:`\hat r_i` among those with every :math:`\hat g_{ij} \le 0`, or,
    if there is none, the one of least :math:`\sum_j \max(\hat g_{ij}, 0)`. Residuals on
    decisions are read off the epoch's summed counts, since a mean of batch gaps is biased upwards. Nothing is learnt
    after the commitment.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from. Exploring takes
        `epoch_length` rounds for each threshold.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.ExploreThenCommit(), rounds=1000, seeds=5)
    >>> sorted(set(run.thresholds[:, 3 * 41 :, 0].ravel().round(2).tolist()))      # the oracle is at 0.1
    [0.0, 0.1, 0.2, 0.3]

    References
    ----------
    .. [1] Robbins, "Some aspects of the sequential design of experiments", Bulletin of the AMS 58, 1952.
    .. [2] Lattimore, Szepesvári, "Bandit algorithms", chapter 6, Cambridge University Press 2020.
    """

    epoch_length: Rounds = 3  # tuned: scripts/tune.py
    burn_in: Rounds = 1  # tuned: scripts/tune.py

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ArmsState:
        """Start with the lowest threshold."""
        return fresh(ArmsState, setting, common)

    def pick(self, state: ArmsState, fresh: NDArray[np.bool_]) -> Array:
        """Pick the next threshold, or, after the last, the best."""
        last = len(state.grid) - 1
        return state.grid[np.where(state.epochs <= last, np.minimum(state.epochs, last), state.best())]

    def digest(self, state: ArmsState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Learn from the first epoch on each threshold only."""
        super().digest(state, over & (state.epochs < len(state.grid)), table, share)

    def late(self, state: ArmsState, labels: Late) -> None:
        """Add late labels of these first epochs."""
        first = labels.epoch < len(state.grid)
        if first.any():
            super().late(state, labels.only(first))

    def recommend(self, state: ArmsState) -> Policy:
        """Keep the best threshold so far."""
        return Policy.shared(state.grid[state.best()], state.groups)
