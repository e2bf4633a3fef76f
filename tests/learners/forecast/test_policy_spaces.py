"""Each policy space finds the best policy of its safe set, given predictions that are exact by construction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners.forecast.play import Plan
from fairgate.learners.forecast.policy_space import PolicySearch
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.forecast.response import Fit
from fairgate.learners.forecast.steady_state import SteadyStates
from fairgate.learners.mixture import LotteryOfTwo, mix
from fairgate.learners.per_group import ThresholdsPerGroup, bracket, climb, monotone
from fairgate.learners.safe_forecast import SharedThreshold
from fairgate.learners.shapes import filled
from fairgate.settings import Array

GRID = np.linspace(0.1, 0.9, 9)
SIZES = {"R": 1, "G": 2, "K": len(GRID)}
RATES = np.array([1.0 - np.concatenate(([0.0], GRID, [1.0])), (1.0 - np.concatenate(([0.0], GRID, [1.0]))) ** 2])
"""Share above -inf, the grid and inf: group 0 has uniform scores, group 1 lower ones. (G, K + 2)"""


def exact(failures: int = 0) -> SteadyStates:
    """Scores that do not respond, known without error; repayment at score s has probability s."""
    ends = np.concatenate(([0.0], GRID, [1.0]))
    good = np.array([(1.0 - ends**2) / 2.0, (1.0 - ends) ** 2 - 2.0 * (1.0 - ends) ** 3 / 3.0])
    terms = np.zeros((2, 1, 2, 4, len(ends)))
    terms[:, 0, :, 0] = RATES, good
    fit = Fit(terms[0], terms[1], np.zeros((1, 2, 4, 4)), np.array([2]))
    nothing = np.zeros((1, 2))
    people, shift = np.full((2, 1, 2), 1e12), np.zeros((2, 1, 2))
    return SteadyStates(fit, nothing + 0.5, people, np.array([failures]), shift, nothing + 1e12, nothing + 0.5)


def lottery_of_two() -> LotteryOfTwo:
    return filled(LotteryOfTwo, SIZES, width=2.0)


def thresholds_per_group() -> ThresholdsPerGroup:
    return filled(ThresholdsPerGroup, SIZES, width=2.0)


def search(space: PolicySearch, limit: float, failures: int = 0) -> tuple[Plan, Array]:
    """Return the plan and the groups' acceptance rates under a parity limit."""
    problem = fg.Problem(fg.Utility(0.5), [fg.DemographicParity(limit), fg.ServiceRate(0.3, 0.7)])
    plan = space.search(problem, GRID, exact(failures), np.array([2.0]))
    bins = -np.diff(RATES, append=0.0)[:, :-1]
    return plan, (plan.policy.accepted_share(GRID)[0] * bins).sum(axis=1)


def test_thresholds_per_group_meet_parity_at_different_thresholds() -> None:
    plan, rates = search(thresholds_per_group(), limit=0.01)
    assert not plan.explore[0]
    assert not plan.infeasible[0]
    assert rates == pytest.approx(plan.rates[0])
    assert abs(rates[0] - rates[1]) <= 0.01
    assert plan.policy.thresholds[0, 0, 0] > plan.policy.thresholds[0, 0, 1]


def test_after_two_failures_thresholds_per_group_are_plain() -> None:
    plan, _ = search(thresholds_per_group(), limit=0.2, failures=2)
    used = plan.policy.thresholds[plan.policy.weights[:, 0] > 1e-9]
    assert (used == used[0]).all()
    assert not plan.explore[0]  # what was learned is played, safe or not


def test_a_lottery_of_two_is_the_same_for_all_groups_and_beats_the_best_threshold() -> None:
    plan, rates = search(lottery_of_two(), limit=0.1)
    assert (plan.policy.thresholds[..., 0] == plan.policy.thresholds[..., 1]).all()
    assert abs(rates[0] - rates[1]) <= 0.1 + 1e-9
    assert not plan.explore[0]
    assert abs(RATES[0] - RATES[1])[1:-1][(RATES.mean(axis=0)[1:-1] < 0.7)].max() > 0.1  # no threshold does


def test_where_nothing_is_feasible_both_say_so() -> None:
    problem = fg.Problem(fg.Utility(0.5), [fg.Budget(0.2), fg.ServiceRate(0.5, 0.9)])
    for space in (thresholds_per_group(), lottery_of_two()):
        plan = space.search(problem, GRID, exact(), np.array([2.0]))
        assert plan.infeasible.all()
        assert plan.explore.all()


def test_lotteries_mix_what_their_thresholds_do() -> None:
    prediction, rates, _ = mix(exact(), np.array([[2.0], [5.0], [0.25]]))
    assert rates[0, :, 0] == pytest.approx(0.25 * RATES[:, 2] + 0.75 * RATES[:, 5])
    assert prediction.rates[0, :, 0] == pytest.approx(rates[0, :, 0])


def test_looking_at_a_few_lotteries_at_a_time_changes_nothing() -> None:
    whole, few = (search(dataclasses.replace(lottery_of_two(), block=block), limit=0.05)[0] for block in (16384, 100))
    for one, other in zip(whole.policy, few.policy, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_rate_between_two_options_is_hit_by_a_weight() -> None:
    above = monotone(np.array([[0.9, 0.6, 0.7, 0.2, 0.1]]))
    assert above.tolist() == [[1.0, 0.6, 0.6, 0.2, 0.0]]
    option, weight = bracket(above, np.array([0.5]))
    assert option.tolist() == [2]
    assert weight == pytest.approx([0.75])


def test_climbing_finds_the_best_combination_by_enumeration() -> None:
    rng = np.random.default_rng(3)
    rates = np.sort(rng.random((1, 2, 12)), axis=2)[..., ::-1]
    zero = np.zeros_like(rates)
    prediction = Prediction(np.full((1, 2), 0.5), rates, 0.9 * rates - 0.3 * rates**2, 0.6 + zero, zero, zero)
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.15)])
    start = np.repeat(np.arange(12)[None, None], 2, axis=1)
    found = climb(problem, prediction, np.zeros(1), start, (4, 4, 2, 2, 1, 1, 1))[0][0]
    pairs = np.stack(np.meshgrid(np.arange(12), np.arange(12)), axis=-1).reshape(-1, 2).T[None]
    every = Prediction(
        prediction.shares, *(np.take_along_axis(np.asarray(values), pairs, axis=2) for values in prediction[1:])
    ).value(problem)
    assert found.tolist() == pairs[0, :, every.best(0.0)[0][0]].tolist()


def test_a_bold_candidate_may_be_infeasible_and_stays_near_after_a_failure() -> None:
    space = filled(SharedThreshold, {"R": 2, "G": 2, "K": 5}, width=1.0, lottery_share=0.1)
    residual = np.array([-0.5, -0.3, 0.1, 0.1, 0.9])[:, None].repeat(2, axis=1)
    value = Value(np.arange(5.0)[:, None].repeat(2, axis=1), residual, 0.0 * residual, np.full((5, 2), 0.15))
    cautious, bold, safe = space.candidates(value, np.array([False, True]), np.ones(2))
    assert cautious.tolist() == [1, 1]
    assert bold.tolist() == [3, 1]  # after a failure, thresholds 2 and 3 are too far away to be hoped for
    assert safe.all()
