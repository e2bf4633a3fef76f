"""RetrainingLottery: repeated retraining over lotteries of two thresholds, the best one for recent people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.baselines.repeated_retraining import RENEW, RepeatedRetraining, RetrainingState
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.shapes import bins_last, fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array

PAIRED = 8
"""So many thresholds, -inf and inf among them, are paired at the beginning of a search."""

WEIGHTS = np.linspace(0.1, 0.9, 9)
"""Weights of the lower one of a pair."""

STEPS = ((3, 0.1), (2, 0.05), (1, 0.05), (1, 0.02), (1, 0.01), (1, 0.005))
"""Thresholds, and weight, by which the search moves from the best of each family: coarse to fine."""

MOVES = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3).T
"""Down, not at all, or up, for either threshold and the weight, (3, 27)."""


@dataclass
class RetrainingLotteryState(RetrainingState):
    """What is known of recent people, and the lottery in play: lower and higher option, and weight of the lower."""

    lottery: Annotated[Array, "3 R"]


@dataclass(frozen=True)
class RetrainingLottery(RepeatedRetraining):
    r"""Repeated risk minimisation over lotteries: play the lottery of two thresholds that is best for recent people.

    As :class:`~fairgate.learners.RepeatedRetraining` it keeps discounted histograms of scores and labels, and does not
    know that people answer. For every person the lower threshold, or -inf, is used with probability w, else the higher
    one, or inf. With the rates :math:`\hat p_g` of either, a lottery's is

    .. math:: \hat p_g = w \hat p_{gi} + (1 - w) \hat p_{gj}, \qquad
              \sigma_g^2 = \frac{w^2 (\hat p_{gi} - \hat p_{gj}) + \hat p_{gj} - \hat p_g^2}{(1 + \gamma) n_g},

    and played is the highest reward with the largest residual plus `width` standard errors at most 0, else the smallest
    upper bound. It is chosen again every fifth round, by a search from the best single threshold, from the best pairs
    of a few options and from the lottery in play. Settings are those of
    :class:`~fairgate.learners.RepeatedRetraining`.

    Examples
    --------
    No threshold is feasible here, but a lottery is.

    >>> import fairgate as fg
    >>> for name in ("repeated-retraining", "retraining-lottery"):
    ...     run = fg.simulate(fg.load_task("mean-shift"), fg.load_learner(name), rounds=300, seeds=3)
    ...     print(f"{name:20} {run.summary()['population_violation'].mean / 300:.2f}")
    repeated-retraining  0.19
    retraining-lottery   0.00
    """

    searched: ClassVar[str] = "lottery"
    version: ClassVar[int] = 1

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> RetrainingLotteryState:
        """Start having seen nobody."""
        state = fresh(RetrainingLotteryState, setting, common)
        state.labels = bins_last(state.labels)
        return state

    def propose(self, state: RetrainingState) -> Policy:
        """Return the lottery that is best for recent people; at the beginning, the uniform one."""
        assert isinstance(state, RetrainingLotteryState)
        opening = state.seen < self.opening
        due = ~opening & ((state.seen - self.opening) % RENEW == 0)
        if due.any():
            lottery, infeasible = self.search(state)
            state.lottery = np.where(due, lottery, state.lottery)
            state.infeasible = np.where(due, infeasible, state.infeasible)
        ends = np.concatenate(([-np.inf], state.grid, [np.inf]))
        thresholds = np.repeat(ends[state.lottery[:2].astype(np.int64)][:, :, None], state.groups, axis=2)
        weights = np.stack((state.lottery[2], 1.0 - state.lottery[2]))
        window = acceptance_window(state.problem, state.groups)
        uniform = Policy.uniform(np.broadcast_to(window.mean(axis=0), state.replicates), state.groups)
        return Policy(
            np.where(opening[:, None], uniform.thresholds, thresholds), np.where(opening, uniform.weights, weights)
        )

    def search(self, state: RetrainingLotteryState) -> tuple[Array, NDArray[np.bool_]]:
        """Return the best lottery (3, R), and whether there is strong evidence that nothing looked at is feasible."""
        options, every = len(state.grid) + 2, np.arange(state.replicates)
        families = [state.lottery[..., None]]
        families += [np.repeat(family[:, None], state.replicates, axis=1) for family in _families(options)]
        infeasible = np.ones(state.replicates, dtype=bool)
        for step in (*STEPS, None):
            limits = np.cumsum([0, *(family.shape[2] for family in families)])
            tried = np.concatenate(families, axis=2)
            value = self.mixed(state, tried).value(state.problem)
            infeasible &= value.strongly_infeasible()
            if step is None:
                break
            parts = [(low, Value(*(values[low:high] for values in value))) for low, high in pairwise(limits)]
            best = [low + part.best(np.asarray(self.width))[0] for low, part in parts]
            families = [_around(tried[:, every, each], *step, options) for each in best]
        return tried[:, every, value.best(np.asarray(self.width))[0]], infeasible

    def mixed(self, state: RetrainingState, tried: Array) -> Prediction:
        """Return what lotteries (3, R, C) would do to recent people."""
        people, rates, positives = self.recent(state)
        low, high = (np.repeat(each.astype(np.int64)[:, None], state.groups, axis=1) for each in tried[:2])
        share, weight = tried[2][:, None], self.weight(people)[..., None]

        def picked(values: Array) -> tuple[Array, Array]:
            ends = np.concatenate((values, np.zeros_like(values[..., :1])), axis=-1)  # inf accepts nobody
            return np.take_along_axis(ends, low, axis=-1), np.take_along_axis(ends, high, axis=-1)

        (lower, higher), (good, better) = picked(rates), picked(positives)
        rate = share * lower + (1.0 - share) * higher
        spread = share**2 * (lower - higher) + higher - rate**2
        error = np.sqrt(np.maximum(spread, 1.0 / weight) / weight)
        everybody = np.broadcast_to(positives[..., :1], error.shape)
        shares = people / people.sum(axis=1, keepdims=True)
        return Prediction(shares, rate, share * good + (1.0 - share) * better, everybody, error, np.zeros_like(error))


def _families(options: int) -> list[Array]:
    """Return families of lotteries to begin with, (3, C) each: single thresholds, and pairs of a few options.

    Pairs are those with -inf, those with inf, and the others.

    >>> [family.shape[1] for family in _families(20)]
    [18, 63, 54, 135]
    """
    single = np.arange(1.0, options - 1.0)
    alone = np.stack((single, np.full_like(single, options - 1.0), np.ones_like(single)))
    few = np.unique(np.linspace(0, options - 1, min(PAIRED, options)).round())
    low, high = (np.repeat(few[side], len(WEIGHTS)) for side in np.triu_indices(len(few), 1))
    pairs = np.stack((low, high, np.tile(WEIGHTS, len(low) // len(WEIGHTS))))
    kind = np.where(low == 0, 0, np.where(high == options - 1, 1, 2))
    found = [alone, *(pairs[:, kind == each] for each in range(3))]
    return [family for family in found if family.shape[1]]


def _around(found: Array, options: int, share: float, count: int) -> Array:
    """Return lotteries (3, R, 27) around those found, (3, R), themselves among them."""
    tried = np.asarray(found[..., None] + (np.array([options, options, share])[:, None] * MOVES)[:, None])
    tried[0] = np.clip(tried[0], 0, count - 2)
    tried[1] = np.clip(tried[1], tried[0] + 1, count - 1)
    tried[2] = np.clip(tried[2], 0.0, 1.0)
    return tried
