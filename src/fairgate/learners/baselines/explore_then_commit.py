"""ExploreThenCommit: every threshold for a while, then the best for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Arms, ArmsState, Rounds, best_arm
from fairgate.learners.state import State
from fairgate.settings import Array
from fairgate.tasks import Task


@dataclass(frozen=True)
class ExploreThenCommit(Arms[ArmsState]):
    r"""Epoch once on every threshold, from the lowest to the highest; then play the best of them for ever.

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
    [0.1, 0.2]

    References
    ----------
    .. [1] Robbins, "Some aspects of the sequential design of experiments", Bulletin of the AMS 58, 1952.
    .. [2] Lattimore, Szepesvári, "Bandit algorithms", chapter 6, Cambridge University Press 2020.
    """

    epoch_length: Rounds = 3  # tuned: scripts/tune.py
    burn_in: Rounds = 1  # tuned: scripts/tune.py

    state_type: ClassVar[type[State]] = ArmsState

    def remember(self, task: Task, common: Mapping[str, Any]) -> ArmsState:
        """Start with the lowest threshold."""
        return ArmsState(**self.arms(task, common))

    def pick_arm(self, state: ArmsState, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Pick the next threshold, or, after the last, the best."""
        last = len(state.grid) - 1
        best = best_arm(state.means, state.plays > 0)
        return np.where(state.epochs <= last, np.minimum(state.epochs, last), best)

    def digest(self, state: ArmsState, over: NDArray[np.bool_], table: Array) -> None:
        """Learn from the first epoch on each threshold only."""
        super().digest(state, over & (state.epochs < len(state.grid)), table)

    def recommend(self, state: ArmsState) -> Array:
        """Keep the best threshold so far."""
        best = state.grid[best_arm(state.means, state.plays > 0)]
        return np.repeat(best[:, None], state.groups, axis=1)
