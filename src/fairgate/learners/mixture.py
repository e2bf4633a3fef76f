"""Mixture: a lottery between two thresholds, the same for all groups, that is safe in its steady state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.play import Plan
from fairgate.learners.forecast.policy_space import ForecastState, PolicySearch, PolicySpace, planned
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.forecast.steady_state import SteadyStates, fixed_point, steady
from fairgate.learners.shapes import filled
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array


@dataclass(frozen=True)
class Mixture(Forecast):
    r"""Hold everybody to the same lottery between two thresholds, one of which may accept all or nobody.

    For every person the lower threshold :math:`\theta` is used with probability w, else the higher one
    :math:`\theta'`. Between -inf and inf the lottery is uniform, and with w = 1 it is a threshold of the grid, so it
    never has to be worse than either. As :class:`~fairgate.SafeForecast` it learns from a uniform lottery how the share
    :math:`S_g(\theta; h)` of group g that scores at least :math:`\theta` responds to the moving average h of the
    group's acceptance. A lottery's acceptance rate in the steady state solves

    .. math:: \alpha_g = w S_g(\theta; \alpha_g) + (1 - w) S_g(\theta'; \alpha_g),

    and played is the lottery of highest predicted reward in the safe set, :math:`\hat g + z \sigma \le 0` with the
    confidence width z = `width`.

    Equals are treated by chance; see ``docs/learners/mixture.md``, which has the whole rule. Its settings are those of
    :class:`~fairgate.SafeForecast`, but for `lottery_share`.

    Examples
    --------
    No threshold is feasible here, but a lottery is that earns more than the best uniform one.

    >>> import fairgate as fg
    >>> for learner in (fg.learners.Mixture(), fg.learners.BestLottery()):
    ...     run = fg.simulate(fg.load_task("mean-shift"), learner, rounds=600, seeds=3)
    ...     print(f"{run.summary()['population_reward'].mean:.3f}, {run.summary()['population_violation'].mean:.3f}")
    -0.027, 0.000
    -0.058, 0.000

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Agarwal, Beygelzimer, Dudík, Langford, Wallach, "A reductions approach to fair classification", ICML 2018.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    searched: ClassVar[str] = "lottery"

    def policy_space(self, sizes: Mapping[str, int]) -> PolicySpace:
        """Plan lotteries of two."""
        return filled(LotteryOfTwo, sizes, width=self.width)


STEPS = ((3, 0.05), (2, 0.05), (1, 0.05), (2, 0.02), (1, 0.02), (1, 0.01), (1, 0.01), (1, 0.005))
"""Thresholds, and weight, by which the search moves from the best lotteries: coarse to fine."""

MOVES = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
"""Down, not at all, or up, for either threshold and the weight."""


@dataclass
class LotteryOfTwo(PolicySearch):
    """Searches lotteries of two shared thresholds, (3, …): lower and higher option, and the weight of the lower."""

    coarse: int = 10  # so many thresholds, -inf and inf among them, are paired first
    # lotteries × replicates × groups looked at together: as many as fit in a processor's cache; changes no result
    block: int = 16384

    def search(self, problem: Problem, grid: Array, states: SteadyStates, width: Array) -> Plan:
        """Return the best lottery of the safe set, searched from the best of several families."""
        replicates, count = len(width), states.fit.rates.shape[-1]
        families = self.families(count)
        limits = np.cumsum([0, *(family.shape[1] for family in families)])
        tried = np.concatenate(families, axis=1)
        infeasible, every = np.ones(replicates, dtype=bool), np.arange(replicates)
        for options, share in STEPS:
            value = self.value(problem, states, tried)
            infeasible &= value.strongly_infeasible()
            parts = [(low, Value(*(values[low:high] for values in value))) for low, high in pairwise(limits)]
            top = np.stack([low + part.best(width)[0] for low, part in parts], axis=1)  # (R, families)
            found = tried[:, top] if tried.ndim == 2 else tried[:, every[:, None], top]
            around = found[..., None] + (np.array([options, options, share]) * MOVES).T[:, None, None]
            around[0] = np.clip(around[0], 0, count - 2)
            around[1] = np.clip(around[1], around[0] + 1, count - 1)
            around[2] = np.clip(around[2], 0.0, 1.0)
            tried = around.reshape(3, replicates, -1)
            limits = np.arange(len(families) + 1) * len(MOVES)
        prediction, rates, mixed = mix(states, tried)
        value = prediction.value(problem)
        best, safe = value.best(width)
        infeasible &= value.strongly_infeasible()
        low, high, weight = tried[:, every, best]
        ends = np.concatenate(([-np.inf], grid, [np.inf]))
        thresholds = ends[np.stack((low, high)).astype(np.int64)][:, :, None]
        policy = Policy(np.repeat(thresholds, rates.shape[1], axis=2), np.stack((weight, 1.0 - weight)))
        terms = np.stack([each[every, :, :, best] for each in mixed])
        error = prediction.error[every, :, best]
        return planned(states, policy, rates[every, :, best], error, terms, safe, infeasible)

    def families(self, count: int) -> list[Array]:
        """Return families of lotteries to begin with, (3, C) each: two of `count` options, and the weight.

        The families are neighbours, pairs of few thresholds, and pairs with -inf or inf.
        """
        coarse = np.unique(np.linspace(0, count - 1, min(self.coarse, count)).round())
        inner = np.arange(1.0, count - 1.0, 2.0)
        pairs = [
            np.stack((np.arange(count - 1.0), np.arange(1.0, count))),
            np.stack([coarse[side] for side in np.triu_indices(len(coarse), 1)]),
            np.concatenate((np.stack((0.0 * inner, inner)), np.stack((inner, 0.0 * inner + count - 1.0))), axis=1),
        ]
        tenths = np.linspace(0.1, 0.9, 9)
        weights = [np.array([0.25, 0.5, 0.75, 1.0]), tenths, tenths]
        return [
            np.concatenate((np.repeat(pair, len(weight), axis=1), np.tile(weight, pair.shape[1])[None]))
            for pair, weight in zip(pairs, weights, strict=True)
        ]

    def value(self, problem: Problem, states: SteadyStates, tried: Array) -> Value:
        """Return the value of lotteries; see :func:`mix`. So many at a time as fit in a processor's cache."""
        size = max(self.block // states.shares.size, 1)
        blocks = (tried[..., low : low + size] for low in range(0, tried.shape[-1], size))
        parts = [mix(states, block)[0].value(problem) for block in blocks]
        return Value(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def recommend(self, state: ForecastState) -> None:
        """Recommend nothing plain: a lottery is the point."""


def mix(states: SteadyStates, tried: Array) -> tuple[Prediction, Array, tuple[Array, Array]]:
    """Predict what lotteries of two options and a weight lead to: the prediction, rates and terms.

    The lotteries are (3, R, C), or (3, C) if they are the same for all replicates.
    """
    low, high, weight = tried[0].astype(np.int64), tried[1].astype(np.int64), tried[2][..., None, None, :]

    def at_option(terms: Array, option: NDArray[np.int64]) -> Array:
        if option.ndim == 1:
            return terms.take(option, axis=-1)
        first = np.arange(0, terms.size, terms.shape[-1]).reshape(*terms.shape[:-1], 1)
        return terms.ravel().take(first + option[:, None, None])  # faster than np.take_along_axis

    def picked(terms: Array) -> tuple[Array, Array]:
        one, other = at_option(terms, low), at_option(terms, high)
        return np.asarray(other + weight * (one - other)), other

    (accepted, strict), (good, _) = picked(states.fit.rates), picked(states.fit.positives)
    rates, steep = fixed_point(accepted)
    certain = np.clip(steady(strict, rates), 0.0, rates)  # above both thresholds; others have probability w
    spread = np.maximum(weight[..., 0, :, :] * (rates - certain) + certain - rates**2, 0.0)
    return states.predict(rates, np.clip(steady(good, rates), 0.0, rates), steep, spread), rates, (accepted, good)
