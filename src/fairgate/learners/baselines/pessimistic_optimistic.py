"""PessimisticOptimistic: optimistic estimates and tightened virtual queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Arms, ArmsState, Epochs, Rounds
from fairgate.learners.shapes import fresh
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive


@dataclass(frozen=True)
class PessimisticOptimistic(Arms, Epochs[ArmsState]):
    r"""Play the best optimistic reward minus optimistic residuals, each priced by a queue of past violations.

    With :math:`n_i` epochs on threshold i and :math:`b_i = w \sqrt{\log(1 + m) / n_i}` in epoch m, play

    .. math:: \arg\max_i \; \hat r_i + b_i - \sum_j \frac{Q_j}{v \sqrt m} (\hat g_{ij} - b_i),

    every threshold once first, and let the queues grow by what the epoch showed, tightened by a little that fades:

    .. math:: Q_j \leftarrow \max\big(0, Q_j + g_j + \epsilon / \sqrt m\big).

    The estimates are optimistic, the tightening is pessimistic. A queue is paid back by residuals below 0, so
    thresholds that break a constraint can take turns with thresholds that keep it by a wide margin. With `rectified`,
    only the positive parts of :math:`g_j` and of :math:`\hat g_{ij} - b_i` count, as in [2]_: nothing is paid back.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    width
        Width :math:`w` of the confidence radius after one epoch.
    trade_off
        Weight :math:`v` of the reward against the queues.
    tightness
        First tightening :math:`\epsilon`.
    rectified
        Whether violations cannot be paid back.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.learners.PessimisticOptimistic(), rounds=1000, seeds=5)
    >>> len(set(run.thresholds[0, :205, 0])), len(set(run.thresholds[0, -200:, 0]))
    (41, 1)

    References
    ----------
    .. [1] Liu, Li, Shi, Ying, "An efficient pessimistic-optimistic algorithm for stochastic linear bandits with general
       constraints", NeurIPS 2021.
    .. [2] Guo, Zhu, Liu, "Rectified pessimistic-optimistic learning for stochastic continuum-armed bandit with
       constraints", arXiv 2211.14720, 2022.
    """

    epoch_length: Rounds = 5  # tuned: scripts/tune.py
    burn_in: Rounds = 2  # tuned: scripts/tune.py
    width: Positive = 0.02
    trade_off: Positive = 0.03  # tuned: scripts/tune.py
    tightness: NonNegative = 0.0
    rectified: bool = True  # tuned: scripts/tune.py

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ArmsState:
        """Start with empty queues."""
        return fresh(ArmsState, setting, common)

    def pick(self, state: ArmsState, fresh: NDArray[np.bool_]) -> Array:
        """Pick the first threshold never played, or the best Lagrangian of optimistic estimates."""
        m = state.epochs + 1.0
        radius = (np.asarray(self.width) * np.sqrt(np.log(1.0 + m)))[:, None] / np.sqrt(np.maximum(1.0, state.plays))
        lower = state.means[1:] - radius
        if self.rectified:
            lower = np.maximum(lower, 0.0)
        price = state.multipliers / (np.asarray(self.trade_off) * np.sqrt(m))
        score = state.means[0] + radius - (price[:, :, None] * lower).sum(axis=0)
        return np.asarray(state.grid[np.where(state.plays == 0, np.inf, score).argmax(axis=1)])

    def digest(self, state: ArmsState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Add finished epochs to the estimates and the queues."""
        super().digest(state, over, table, share)
        grown = np.maximum(table[1:], 0.0) if self.rectified else table[1:]
        grown = grown + np.asarray(self.tightness) / np.sqrt(state.epochs + 1.0)
        state.multipliers = np.where(over, np.maximum(0.0, state.multipliers + grown), state.multipliers)
