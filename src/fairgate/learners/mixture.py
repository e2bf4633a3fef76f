"""Mixture: a lottery between two thresholds, the same for all groups, that surely meets every constraint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.foresight import Foresight, Plan
from fairgate.learners.long_run import Response
from fairgate.learners.outlook import Outlook, Worth
from fairgate.learners.response import at, fitted
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array

COARSE = 10
"""So many thresholds, -inf and inf among them, are paired first."""

WEIGHTS = np.linspace(0.1, 0.9, 9)
"""Weights of the lower threshold tried with every pair."""

STEPS = tuple(
    (size, size, share)
    for size, share in ((3, 0.05), (2, 0.05), (1, 0.05), (2, 0.02), (1, 0.02), (1, 0.01), (1, 0.01), (1, 0.005))
)
"""Thresholds and weight by which the best pairs then move."""

MOVES = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
"""Down, not at all, or up, for either threshold and the weight."""

BLOCK = 16384
"""Lotteries × replicates × groups looked at together."""


@dataclass(frozen=True)
class Mixture(Foresight):
    r"""Hold everybody to the same lottery between two thresholds, one of which may accept all or nobody.

    **Policy.** For every person the lower threshold :math:`\theta` is used with chance w, else the higher one
    :math:`\theta'`, whatever the group. What a single threshold cannot do, two may: between -inf and inf the lottery
    is a fair coin, so that every constraint on acceptance can be met where no threshold is feasible; between
    neighbours of the grid it is a threshold in between; and with w = 1 it is a threshold of the grid. So it never has
    to be worse than any of these.

    **Forecast.** As :class:`~fairgate.SafeForecast` it begins with a coin and learns how the share
    :math:`S_g(\theta; h)` of group g that scores at least :math:`\theta` answers to the acceptance rate h that the
    group has heard of (``learners/response.py``). A lottery mixes them with weights w and 1 - w, and its acceptance
    rate in the long run solves

    .. math:: \alpha_g = w S_g(\theta; \alpha_g) + (1 - w) S_g(\theta'; \alpha_g).

    **Choice.** The lottery of highest forecast reward among those whose largest residual is surely met,
    :math:`\hat g + z \sigma \le 0` with z = `caution`. The error :math:`\sigma` is the fit's, and how much the state
    sways with the luck of the batches: the less, the more chance there is in a lottery. The search begins at
    neighbours, pairs of a coarse grid, and pairs with -inf or inf, and goes on around the best of each. While none is
    sure, only the coin is played.

    **Doubt.** If forecasts fail by more than `doubt` times their variance on average, what an epoch showed beyond its
    forecast is added to all forecasts, which are believed the less the further they lead away. **Change.** If the
    same lottery suddenly does otherwise, by `change` squared standard errors, all begins anew.

    Equals are treated by chance; see ``docs/learners/mixture.md``.

    Parameters
    ----------
    caution
        Standard errors z by which a lottery must be feasible.
    swing
        Rounds of each of the coin's first four stretches.
    epoch_length
        Rounds after which forecasts are compared with what happened.
    doubt, change
        When forecasts are no longer trusted, and when all is begun anew; see above.

    Examples
    --------
    No threshold is feasible here, but a lottery is that earns more than the coin.

    >>> import fairgate as fg
    >>> for learner in (fg.learners.Mixture(), fg.learners.BestLottery()):
    ...     run = fg.simulate(fg.load_task("mean-shift"), learner, rounds=600, seeds=3)
    ...     print(f"{run.summary()['population_reward'].mean:.3f}, {run.summary()['population_violation'].mean:.3f}")
    -0.026, 0.009
    -0.058, 0.000

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Agarwal, Beygelzimer, Dudík, Langford, Wallach, "A reductions approach to fair classification", ICML 2018.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery has: two."""
        return 2

    def plan(self, problem: Problem, grid: Array, response: Response, caution: Array) -> Plan:
        """Return the best lottery of two shared thresholds that is surely feasible."""
        replicates, count = len(caution), response.rates.shape[-1]
        families = beginnings(count)
        limits = np.cumsum([0, *(family.shape[1] for family in families)])
        tried = np.concatenate(families, axis=1)
        least, every = np.full(replicates, np.inf), np.arange(replicates)
        for step in STEPS:
            worth = appraise(problem, response, tried)
            least = np.minimum(least, worth.least())
            parts = [(low, Worth(*(values[low:high] for values in worth))) for low, high in pairwise(limits)]
            top = np.stack([low + part.best(caution)[0] for low, part in parts], axis=1)  # (R, starts)
            found = tried[:, top] if tried.ndim == 2 else tried[:, every[:, None], top]
            around = found[..., None] + (np.array(step) * MOVES).T[:, None, None]
            around[0] = np.clip(around[0], 0, count - 2)
            around[1] = np.clip(around[1], around[0] + 1, count - 1)
            around[2] = np.clip(around[2], 0.0, 1.0)
            tried = around.reshape(3, replicates, -1)
            limits = np.arange(len(families) + 1) * len(MOVES)
        outlook, rates, mixed = mix(response, tried)
        worth = outlook.worth(problem)
        best, upper = worth.best(caution)
        low, high, weight = tried[:, every, best]
        ends = np.concatenate(([-np.inf], grid, [np.inf]))
        thresholds = ends[np.stack((low, high)).astype(np.int64)][:, :, None]
        policy = Policy(np.repeat(thresholds, rates.shape[1], axis=2), np.stack((weight, 1.0 - weight)))
        terms = np.stack([each[every, :, :, best] for each in mixed])
        least = np.minimum(least, worth.least())
        return Plan(policy, rates[every, :, best], outlook.error[every, :, best], terms, least, upper)


def beginnings(count: int) -> list[Array]:
    """Return families of lotteries to begin with, (3, C) each: lower and higher of `count` options, and the weight.

    The families are neighbours, pairs of few thresholds, and pairs with -inf or inf.
    """
    coarse = np.unique(np.linspace(0, count - 1, min(COARSE, count)).round())
    inner = np.arange(1.0, count - 1.0, 2.0)
    pairs = [
        np.stack((np.arange(count - 1.0), np.arange(1.0, count))),
        np.stack([coarse[side] for side in np.triu_indices(len(coarse), 1)]),
        np.concatenate((np.stack((0.0 * inner, inner)), np.stack((inner, 0.0 * inner + count - 1.0))), axis=1),
    ]
    weights = [np.array([0.25, 0.5, 0.75, 1.0]), WEIGHTS, WEIGHTS]
    return [
        np.concatenate((np.repeat(pair, len(weight), axis=1), np.tile(weight, pair.shape[1])[None]))
        for pair, weight in zip(pairs, weights, strict=True)
    ]


def appraise(problem: Problem, response: Response, tried: Array) -> Worth:
    """Return what lotteries are worth; see :func:`mix`. So many at a time as fit in a processor's cache."""
    size = max(BLOCK // response.near.size, 1)
    blocks = (tried[..., low : low + size] for low in range(0, tried.shape[-1], size))
    parts = [mix(response, block)[0].worth(problem) for block in blocks]
    return Worth(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def mix(response: Response, tried: Array) -> tuple[Outlook, Array, tuple[Array, Array]]:
    """Foretell what lotteries of two options and a weight lead to: the outlook, rates and terms.

    The lotteries are (3, R, C), or (3, C) if they are the same for all replicates.
    """
    low, high, weight = tried[0].astype(np.int64), tried[1].astype(np.int64), tried[2][..., None, None, :]

    def at_option(terms: Array, option: NDArray[np.int64]) -> Array:
        return terms[..., option] if option.ndim == 1 else np.take_along_axis(terms, option[:, None, None], axis=-1)

    def picked(terms: Array) -> tuple[Array, Array]:
        one, other = at_option(terms, low), at_option(terms, high)
        return np.asarray(other + weight * (one - other)), other

    (accepted, strict), (good, _) = picked(response.rates), picked(response.positives)
    rates, steep = fitted(accepted)
    surely = np.clip(at(strict, rates), 0.0, rates)  # above both thresholds; others are accepted with chance w
    spread = np.maximum(weight[..., 0, :, :] * (rates - surely) + surely - rates**2, 0.0)
    return response.outlook(rates, np.clip(at(good, rates), 0.0, rates), steep, spread), rates, (accepted, good)
