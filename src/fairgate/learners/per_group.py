"""PerGroup: a threshold for every group, such that what they lead to together is safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.learner import Forecast
from fairgate.learners.forecast.play import Plan
from fairgate.learners.forecast.policy_space import ForecastState, PolicySearch, PolicySpace, planned
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.forecast.steady_state import SteadyStates, fixed_point, steady
from fairgate.learners.shapes import filled
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array


@dataclass(frozen=True)
class PerGroup(Forecast):
    r"""Give every group its own threshold, and hold the groups' acceptance rates where they do best together.

    As :class:`~fairgate.SafeForecast` it learns from a uniform lottery how the share :math:`S_g(\theta; h)` of group g
    that scores at least :math:`\theta` responds to the moving average h of the group's acceptance. If the group is
    accepted at rate :math:`\alpha_g` for long, its threshold solves :math:`S_g(\theta; \alpha_g) = \alpha_g`.
    Chosen are the rates of highest predicted reward in the safe set,

    .. math:: \hat g(\alpha_1, …, \alpha_G) + z \, \sigma(\alpha_1, …, \alpha_G) \le 0,

    with the confidence width z = `width`. Each round, the threshold of group g is set so that
    :math:`S_g(\theta; h_t) = \alpha_g` for the present moving average, if need be by a lottery between neighbours of
    the grid: luck in one batch does not move the next, and there is no transient after a choice.

    People with equal scores are treated differently by group, which many laws forbid; see
    ``docs/learners/per-group.md``, which has the whole rule. Its settings are those of
    :class:`~fairgate.SafeForecast`, but for `lottery_share`.

    Examples
    --------
    No shared threshold is feasible here, but two are that differ by group.

    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mean-shift"), fg.learners.PerGroup(), rounds=600, seeds=3)
    >>> run.settled().single
    array([[-0.1,  0.8],
           [-0.3,  0.7],
           [-0.2,  0.7]])
    >>> round(run.summary()["population_reward"].mean, 2), round(run.summary()["feasible"].mean, 2)
    (0.16, 1.0)

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Corbett-Davies, Pierson, Feller, Goel, Huq, "Algorithmic decision making and the cost of fairness", KDD 2017.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    policies: ClassVar[str] = "per-group"
    searched: ClassVar[str] = "per-group"

    def policy_space(self, sizes: Mapping[str, int]) -> PolicySpace:
        """Plan a threshold per group."""
        return filled(ThresholdsPerGroup, sizes, width=self.width)


LEVELS = np.linspace(0.0, 1.0, 201)
"""Acceptance rates a group may be given."""

COMMON = slice(None, None, 4)
"""Levels that are tried for all groups alike, before they may differ."""

STEPS = (32, 32, 16, 16, 8, 8, 8, 4, 4, 4, 2, 2, 2, 1, 1, 1)
"""Levels by which groups then move: one alone, all together, or all but one."""


@dataclass
class ThresholdsPerGroup(PolicySearch):
    """Searches combinations of the groups' acceptance rates, and holds those found in every round."""

    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery of so many groups has; see :func:`lottery`."""
        return groups + 1

    def search(self, problem: Problem, grid: Array, states: SteadyStates, width: Array) -> Plan:
        """Return the best levels that are safe together."""
        option, weight, rates, positives = tabulate(states)
        prediction = states.predict(rates, positives, np.zeros_like(rates))
        common = np.arange(len(LEVELS))[COMMON]
        start = np.broadcast_to(common, (*states.shares.shape, len(common)))
        places, safe, infeasible = climb(problem, prediction, width, start, STEPS)
        place = places[..., None]
        option = np.take_along_axis(option, place, axis=2)
        weight, rates, error = (np.take_along_axis(each, place, axis=2) for each in (weight, rates, prediction.error))
        terms = [between(every, option, weight)[..., 0] for every in (states.fit.rates, states.fit.positives)]
        policy = lottery(grid, option[..., 0], weight[..., 0])
        return planned(states, policy, rates[..., 0], error[..., 0], np.stack(terms), safe, infeasible)

    def hold(self, state: ForecastState) -> None:
        """Set thresholds that hold the planned rates in the present round, unless even shifted predictions failed."""
        held, play = (state.misfit < 2) & ~state.exploring, state.play
        if held.any():
            rows = slice(None) if held.all() else np.flatnonzero(held)  # all of them are not copied
            terms = self.fit.rates[rows], self.fit.positives[rows]
            above = monotone((state.response.regressors(play.speed)[rows][..., None] * terms[0]).sum(axis=2))
            option, weight = bracket(above, play.rates[rows])
            play.thresholds[:, rows], play.weights[:, rows] = lottery(state.grid, option, weight)
            play.terms[:, rows] = [between(each, option[..., None], weight[..., None])[..., 0] for each in terms]

    def recommend(self, state: ForecastState) -> Policy:
        """Return the best plain thresholds of the safe set at a third of the width there is in play."""
        grid, states = state.grid, self.steady_states(state, np.arange(state.replicates))
        rates, steep = fixed_point(states.fit.rates)
        positives = np.clip(steady(states.fit.positives, rates), 0.0, rates)
        prediction = states.predict(rates, positives, steep, fluctuating=False)
        start = np.abs(rates[..., None] - LEVELS[COMMON]).argmin(axis=2)
        steps = (4, 4, 2, 2, 1, 1, 1)  # a grid has fewer thresholds than there are levels
        places, _, _ = climb(state.problem, prediction, self.width / 3.0, np.clip(start, 1, len(grid)), steps, ends=1)
        return Policy.of(grid[places - 1])


def tabulate(states: SteadyStates) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Return what every level needs and does: option, weight, rate and positives, (R, G, L) each.

    People are held to the threshold at `option` with probability `weight`, else to the next one; after two failures,
    to the nearest plain threshold.
    """
    away = LEVELS - 0.5
    above = np.stack((np.ones_like(away), away, away * away), axis=-1) @ states.fit.rates[:, :, :3]  # (R, G, L, K + 2)
    monotone(above)
    rates = np.broadcast_to(LEVELS, above.shape[:3])
    option, weight = bracket(above, rates)
    plain = states.failures[:, None, None] == 2
    weight = np.where(plain, np.round(weight), weight)
    nearest = np.take_along_axis(above, (option + (weight < 0.5))[..., None], axis=-1)[..., 0]
    rates = np.where(plain, nearest, rates)
    positives = np.clip(steady(between(states.fit.positives, option, weight), rates), 0.0, rates)
    return option, weight, rates, positives


def monotone(above: Array) -> Array:
    """Make shares above increasing options (…, K + 2) what they must be, in place: from 1 to 0 and never rising."""
    above[..., 0], above[..., -1] = 1.0, 0.0
    np.minimum.accumulate(above, axis=-1, out=above)
    return np.maximum(above, 0.0, out=above)


def bracket(above: Array, wanted: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the option above which no less than `wanted` (…) lie, and its weight against the next to hit it."""
    option = np.clip((above >= wanted[..., None]).sum(axis=-1) - 1, 0, above.shape[-1] - 2)
    more = np.take_along_axis(above, option[..., None], axis=-1)[..., 0]
    less = np.take_along_axis(above, option[..., None] + 1, axis=-1)[..., 0]
    return option, np.clip((wanted - less) / np.maximum(more - less, 1e-12), 0.0, 1.0)


def between(terms: Array, option: NDArray[np.int64], weight: Array) -> Array:
    """Mix terms (R, G, 4, K + 2) of an option and the next one, (R, G, C), to (R, G, 4, C)."""
    here, there = (np.take_along_axis(terms, (option + step)[:, :, None], axis=-1) for step in (0, 1))
    return np.asarray(there + weight[:, :, None] * (here - there))


def lottery(grid: Array, option: NDArray[np.int64], weight: Array) -> Policy:
    """Return the lottery in which group g has the threshold at `option` with its `weight`, else the next, (R, G).

    One number drawn from [0, 1] serves all groups: group g uses its lower threshold if it is below the group's weight.

    >>> lottery(np.array([1.0, 2.0]), np.array([[1, 1]]), np.array([[0.25, 0.75]]))
    Policy(thresholds=array([[[1., 1.]],
           [[2., 1.]],
           [[2., 2.]]]), weights=array([[0.25],
           [0.5 ],
           [0.25]]))
    """
    ends = np.concatenate(([-np.inf], grid, [np.inf]))
    cuts = np.sort(np.concatenate((np.zeros((len(weight), 1)), weight), axis=1), axis=1)
    weights = np.diff(cuts, axis=1, append=1.0).T
    return Policy(np.where(cuts.T[:, :, None] < weight, ends[option], ends[option + 1]), weights)


def climb(
    problem: Problem,
    prediction: Prediction,
    width: Array,
    start: NDArray[np.int64],
    steps: tuple[int, ...],
    ends: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Search the groups' options (R, G, L) for the best combination: first in `start` (R, G, C), then around it.

    Options less than `ends` from either end are left out. Returned are the groups' places among their options, (R, G),
    whether they are safe, (R,), and whether nothing is feasible, (R,).
    """
    replicates, groups, count = prediction.rates.shape
    alone, every = np.eye(groups, dtype=np.int64), np.arange(replicates)
    ways = np.concatenate((0 * alone[:1], alone, 1 - alone, 0 * alone[:1] + 1))
    moves = np.unique(np.concatenate((ways, -ways)), axis=0).T  # (G, C)
    places, infeasible = start, np.ones(replicates, dtype=bool)
    for step in (*steps, 0):
        taken = (np.take_along_axis(values, places, axis=2) for values in prediction[1:])
        value = Prediction(prediction.shares, *taken).value(problem)
        top, safe = value.best(width)
        best = places[every, :, top]
        infeasible &= value.strongly_infeasible()
        places = np.clip(best[..., None] + step * moves, ends, count - 1 - ends)
    return best, safe, infeasible
