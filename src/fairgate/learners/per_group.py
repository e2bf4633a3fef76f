"""PerGroup: a threshold for every group, such that what they lead to together surely meets every constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecaster import each, present
from fairgate.learners.foresight import Foresight, ForesightState, Plan
from fairgate.learners.long_run import Response
from fairgate.learners.outlook import Outlook
from fairgate.learners.response import at, fitted
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array

LEVELS = np.linspace(0.0, 1.0, 201)
"""Acceptance rates a group may be given."""

COMMON = 4
"""Every fourth level is tried for all groups alike, before they may differ."""

STEPS = (32, 32, 16, 16, 8, 8, 8, 4, 4, 4, 2, 2, 2, 1, 1, 1)
"""Levels by which groups then move: one alone, all together, or all but one."""

GRID_STEPS = (4, 4, 2, 2, 1, 1, 1)
"""The same in thresholds of the grid, where plain thresholds are asked for."""


@dataclass(frozen=True)
class PerGroup(Foresight):
    r"""Give every group its own threshold, and hold the groups' acceptance rates where they do best together.

    **Forecast.** As :class:`~fairgate.SafeForecast` it begins with a coin that is fair by design and learns how the
    share :math:`S_g(\theta; h)` of group g that scores at least :math:`\theta` answers to the acceptance rate h that
    the group has heard of (``learners/response.py``). Group g answers to its own acceptance only. If it is accepted
    at rate :math:`\alpha_g` for long, its threshold solves :math:`S_g(\theta; \alpha_g) = \alpha_g`, and labels seen
    above :math:`\theta` tell what it earns: one table of levels :math:`\alpha` a group serves all combinations.

    **Choice.** The levels of highest forecast reward among those whose largest residual is surely met,

    .. math:: \hat g(\alpha_1, …, \alpha_G) + z \, \sigma(\alpha_1, …, \alpha_G) \le 0,

    with z = `caution`, found by a search from the best common level. While there are none, only the coin is played.

    **Holding.** Each round, the threshold of group g is set so that :math:`S_g(\theta; h_t) = \alpha_g` for what has
    been heard of by now, not for the long run only. Thus luck in one batch does not sway the next, and there is no
    transition after a choice. Between two thresholds of the grid, the right share of people is accepted at the lower
    one by a lottery, so chance decides on nobody outside one score bin a group.

    **Doubt.** If forecasts fail by more than `doubt` times their variance on average, something else than acceptance
    moves the scores. From then on plain thresholds are kept for an epoch each, and what an epoch showed beyond its
    forecast is added to all forecasts, which are believed the less the further they lead away. **Change.** If the
    same levels suddenly do otherwise, by `change` squared standard errors, all begins anew.

    People with equal scores are treated differently by group, which many laws forbid; see
    ``docs/learners/per-group.md``.

    Parameters
    ----------
    caution
        Standard errors z by which the levels must be feasible.
    swing
        Rounds of each of the coin's first four stretches.
    epoch_length
        Rounds after which forecasts are compared with what happened.
    doubt, change
        When forecasts are no longer trusted, and when all is begun anew; see above.

    Examples
    --------
    No shared threshold is feasible here, but two are that differ by group.

    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mean-shift"), fg.learners.PerGroup(), rounds=600, seeds=3)
    >>> run.settled()
    array([[-0.2,  0.7],
           [-0.2,  0.7],
           [-0.2,  0.7]])
    >>> round(run.summary()["population_reward"].mean, 2), round(run.summary()["feasible"].mean, 2)
    (0.16, 1.0)

    References
    ----------
    .. [1] Hardt, Price, Srebro, "Equality of opportunity in supervised learning", NeurIPS 2016.
    .. [2] Corbett-Davies, Pierson, Feller, Goel, Huq, "Algorithmic decision making and the cost of fairness", KDD 2017.
    .. [3] Perdomo, Zrnic, Mendler-Dünner, Hardt, "Performative prediction", ICML 2020.
    """

    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery of so many groups has."""
        return groups + 1

    def steer(self, state: ForesightState) -> None:
        """Set thresholds that hold the planned acceptance rates in the present round, where forecasts are trusted."""
        rows = np.flatnonzero((state.doubtful < 2) & ~state.coin)
        if rows.size:
            above = monotone((present(state)[rows][..., None] * state.rates[rows]).sum(axis=2))
            option, weight = bracket(above, state.near[rows])
            state.thresholds[:, rows], state.weights[:, rows] = lottery(state.grid, option, weight)
            for kind, terms in enumerate((state.rates, state.positives)):
                state.terms[kind, rows] = between(terms[rows], option[..., None], weight[..., None])[..., 0]

    def plan(self, problem: Problem, grid: Array, response: Response, caution: Array) -> Plan:
        """Return the best levels that are surely feasible together."""
        levels = tabulate(response)
        outlook = response.outlook(levels.rates, levels.positives, np.zeros_like(levels.rates))
        start = np.broadcast_to(np.arange(0, len(LEVELS), COMMON), (*outlook.shares.shape, len(LEVELS[::COMMON])))
        found = climb(problem, outlook, caution, start, STEPS)
        place = found.places[..., None]
        option = np.take_along_axis(levels.option, place, axis=2)
        weight, rates, error = (
            np.take_along_axis(values, place, axis=2) for values in (levels.weight, levels.rates, outlook.error)
        )
        terms = [between(every, option, weight)[..., 0] for every in (response.rates, response.positives)]
        policy = lottery(grid, option[..., 0], weight[..., 0])
        return Plan(policy, rates[..., 0], error[..., 0], np.stack(terms), found.lower, found.upper)

    def recommend(self, state: ForesightState) -> Policy:
        """Return the best plain thresholds that seem feasible, with a third of the caution there is in play, (R, G)."""
        rows = np.arange(state.replicates)
        response = self.response(state, rows)
        rates, steep = fitted(response.rates)
        positives = np.clip(at(response.positives, rates), 0.0, rates)
        outlook = response.outlook(rates, positives, steep, sway=False)
        start = np.abs(rates[..., None] - LEVELS[::COMMON]).argmin(axis=2)
        caution = each(self.caution, state, rows) / 3.0
        found = climb(state.problem, outlook, caution, np.clip(start, 1, len(state.grid)), GRID_STEPS, 1)
        return Policy.of(state.grid[found.places - 1])


class Levels(NamedTuple):
    """What every level needs and does: option, weight, rate and positives, (R, G, L) each.

    People are held to the threshold at `option` with chance `weight`, else to the next one.
    """

    option: NDArray[np.int64]
    weight: Array
    rates: Array
    positives: Array


class Found(NamedTuple):
    """Which of its options each group gets, (R, G), and bounds of the largest residual, (R,)."""

    places: NDArray[np.int64]
    lower: Array
    upper: Array


def tabulate(response: Response) -> Levels:
    """Find the thresholds of every level, and what they lead to; where forecasts have failed, the nearest plain one."""
    away = LEVELS - 0.5
    above = np.stack((np.ones_like(away), away, away * away), axis=-1) @ response.rates[:, :, :3]  # (R, G, L, K + 2)
    monotone(above)
    rates = np.broadcast_to(LEVELS, above.shape[:3])
    option, weight = bracket(above, rates)
    plain = response.failed[:, None, None] == 2
    weight = np.where(plain, np.round(weight), weight)
    nearest = np.take_along_axis(above, (option + (weight < 0.5))[..., None], axis=-1)[..., 0]
    rates = np.where(plain, nearest, rates)
    positives = np.clip(at(between(response.positives, option, weight), rates), 0.0, rates)
    return Levels(option, weight, rates, positives)


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
    """Return the lottery in which group g uses the threshold at `option` with chance `weight`, else the next, (R, G).

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
    outlook: Outlook,
    caution: Array,
    start: NDArray[np.int64],
    steps: tuple[int, ...],
    ends: int = 0,
) -> Found:
    """Search the groups' options (R, G, L) for the best combination: first in `start` (R, G, C), then around it.

    Options less than `ends` from either end are left out.
    """
    replicates, groups, count = outlook.rates.shape
    alone, every = np.eye(groups, dtype=np.int64), np.arange(replicates)
    ways = np.concatenate((0 * alone[:1], alone, 1 - alone, 0 * alone[:1] + 1))
    moves = np.unique(np.concatenate((ways, -ways)), axis=0).T  # (G, C)
    places, least = start, np.full(replicates, np.inf)
    for step in (*steps, 0):
        picked = Outlook(outlook.shares, *(np.take_along_axis(values, places, axis=2) for values in outlook[1:]))
        worth = picked.worth(problem)
        top, upper = worth.best(caution)
        best = places[every, :, top]
        least = np.minimum(least, worth.least())
        places = np.clip(best[..., None] + step * moves, ends, count - 1 - ends)
    return Found(best, least, upper)
