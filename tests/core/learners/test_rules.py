"""The rule of each learner of counts, seen in a world without luck or memory."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.core.learners.bayesian import Bayesian
from fairgate.core.learners.best_lottery import BestLottery, uniform_window
from fairgate.core.learners.conformal_tracker import ConformalTracker
from fairgate.core.learners.controls import AcceptAll, Fixed, Random
from fairgate.core.learners.doubly_optimistic import DoublyOptimistic
from fairgate.core.learners.epoch_zeroth_order import EpochZerothOrder
from fairgate.core.learners.epsilon_greedy import EpsilonGreedy
from fairgate.core.learners.explore_then_commit import ExploreThenCommit
from fairgate.core.learners.gradient import BanditGradient, PrimalDual
from fairgate.core.learners.performative_gradient import PerformativeGradient
from fairgate.core.learners.pessimistic_optimistic import PessimisticOptimistic
from fairgate.core.learners.smooth_optimist import SmoothOptimist
from fairgate.core.learners.thompson import Thompson
from fairgate.core.learners.two_point import TwoPoint
from fairgate.core.policy import Policy
from fairgate.random import Draws
from tests.core.learners.cases import ARMS, setting_of, shown, told, uniform

ANYTHING = np.array(0.9)


def test_controls_play_what_they_are_told() -> None:
    setting = setting_of()
    assert set(told(Fixed(0.3), setting, 3).thresholds) == {0.3}
    assert set(told(AcceptAll(), setting, 3).thresholds) == {-np.inf}
    assert set(told(Random(), setting, 60).thresholds) == set(setting.grid)


@pytest.mark.parametrize(("cost", "end"), [(0.5, 0.6), (2.0, 0.2)])
def test_best_lottery_plays_the_middle_and_then_an_end_by_the_sign_of_the_reward(cost: float, end: float) -> None:
    found = told(BestLottery(collect=4), setting_of(cost=cost), 6).played
    assert [float(each.weights[0]) for each in found] == pytest.approx([0.4] * 4 + [end] * 2)


def test_best_lottery_learns_from_uniform_lotteries_only() -> None:
    other = {number: Policy.at(ANYTHING) for number in range(6)}
    assert told(BestLottery(), setting_of(), 6, override=other).memory.earned == 0.0


def test_the_window_of_uniform_lotteries_is_what_all_constraints_allow() -> None:
    constraints = [fg.ServiceRate(0.2, 0.9), fg.Budget(0.5), fg.OutcomeImprovement(minimum=30.0)]
    assert uniform_window(fg.Problem(fg.Utility(1.0), constraints)) == (0.4, 0.5)
    assert uniform_window(fg.Problem(fg.Utility(1.0))) == (0.0, 1.0)


def test_bandit_gradient_steps_by_the_loss_seen_on_its_side() -> None:
    setting, learner = setting_of(), BanditGradient(step=0.1, radius=0.2)
    found = told(learner, setting, 1)
    side = np.sign(found.thresholds[0] - 0.5)
    assert found.thresholds[0] == 0.5 + 0.2 * side
    reward = shown(setting, uniform(found.played[0])).reward
    assert found.memory.centre == pytest.approx(0.5 + 0.1 * reward * side / 0.2)


@pytest.mark.parametrize("learner", [BanditGradient(), PrimalDual()])
def test_the_centre_stays_where_it_is_if_the_gradient_is_overridden(learner: BanditGradient) -> None:
    found = told(learner, setting_of(), 3, override={number: Policy.at(ANYTHING) for number in range(3)})
    assert found.memory.centre == 0.5


def test_primal_dual_prices_what_is_violated() -> None:
    found = told(
        PrimalDual(dual_step=0.5), setting_of(), 2, override={number: Policy.at(ANYTHING) for number in (0, 1)}
    )
    assert found.memory.multipliers == pytest.approx([0.1, 0.0])  # 10% are accepted, 20% must be


def test_explore_then_commit_plays_each_threshold_for_an_epoch_and_then_the_best_feasible_one() -> None:
    found = told(ExploreThenCommit(epoch_length=3, burn_in=1), setting_of(), 3 * ARMS + 9)
    assert found.thresholds == [0.0] * 3 + [0.25] * 3 + [0.5] * 3 + [0.75] * 3 + [1.0] * 3 + [0.5] * 9


def test_explore_then_commit_plays_the_least_violating_one_if_none_is_feasible() -> None:
    assert told(ExploreThenCommit(), setting_of(0.35, 0.4), 3 * ARMS + 1).thresholds[-1] == 0.75 - 0.25


def test_rounds_before_the_burn_in_and_overridden_ones_do_not_count() -> None:
    learner, setting = ExploreThenCommit(epoch_length=4, burn_in=2), setting_of()
    overridden = told(learner, setting, 3, override={2: Policy.at(ANYTHING)})
    assert overridden.memory.epoch.rounds == 0
    assert told(learner, setting, 3).memory.epoch.rounds == 1
    ended = told(learner, setting, 1, after=overridden)
    assert ended.memory.knows.plays.tolist() == [1, 0, 0, 0, 0]
    assert ended.memory.knows.people[0].tolist() == [100, 100]  # of one round, the last
    forgotten = told(learner, setting, 4, override={number: Policy.at(ANYTHING) for number in (2, 3)})
    assert forgotten.memory.knows.plays.sum() == 0
    assert forgotten.memory.epoch.threshold == 0.0  # so it is played again


def test_epsilon_greedy_explores_at_first_and_then_plays_the_best() -> None:
    found = told(EpsilonGreedy(epoch_length=1, burn_in=0, exploration=2.0), setting_of(), 1000).thresholds
    assert len(set(found[:10])) > 3
    assert found[-100:].count(0.5) > 90


def test_pessimistic_optimistic_plays_each_threshold_once_and_then_by_queues() -> None:
    found = told(PessimisticOptimistic(epoch_length=1, burn_in=0), setting_of(), 60)
    assert found.thresholds[:ARMS] == setting_of().grid.tolist()
    assert set(found.thresholds[-20:]) == {0.5}
    assert found.memory.knows.queues == pytest.approx([0.2, 0.4 + 0.15])  # of 1, and of 0 and 0.25


def test_two_point_plays_both_sides_and_steps_by_their_difference() -> None:
    setting, learner = setting_of(0.0, 1.0), TwoPoint(epoch_length=2, burn_in=1, radius=0.1, step=0.2)
    found = told(learner, setting, 5)
    first, second = found.thresholds[0], found.thresholds[2]
    assert sorted((first, second)) == pytest.approx([0.4, 0.6])
    gained = [shown(setting, uniform(found.played[number])).reward for number in (1, 3)]
    slope = (gained[0] - gained[1]) / (first - second)
    assert found.memory.knows.centre == pytest.approx(0.5 + 0.2 * slope)
    assert abs(found.thresholds[4] - found.memory.knows.centre) == pytest.approx(0.1 * 2.0**-0.101)


def test_two_point_goes_to_the_edge_of_what_is_feasible() -> None:
    found = told(TwoPoint(epoch_length=1, burn_in=0), setting_of(0.2, 0.3), 600)
    assert found.memory.knows.centre == pytest.approx(0.7, abs=0.03)  # the best alone is at 0.5


def test_thompson_draws_at_first_and_is_sure_in_the_end() -> None:
    found = told(Thompson(epoch_length=1, burn_in=0), setting_of(), 200)
    assert len(set(found.thresholds[:20])) > 2
    assert found.thresholds[-50:].count(0.5) > 45
    assert Thompson().recommend(setting_of(), found.memory).thresholds == 0.5


def test_thompson_draws_other_worlds_in_other_loops() -> None:
    setting, learner = setting_of(), Thompson()
    drawn = {float(learner.pick(setting, learner.begin(setting), Draws.of(0, loop, 0))) for loop in range(40)}
    assert drawn == set(setting.grid)


def test_the_tracker_scans_and_then_stays_where_the_residual_is_0() -> None:
    found = told(ConformalTracker(epoch_length=1, burn_in=0, scan=4), setting_of(0.2, 0.3), 400)
    assert found.thresholds[:4] == [0.125, 0.375, 0.625, 0.875]
    assert found.thresholds[4:6] == pytest.approx([0.65, 0.6])  # above and below the least violating
    assert found.memory.knows.centre == pytest.approx(0.7, abs=0.03)


def test_bayesian_has_the_posterior_of_a_gaussian_process() -> None:
    setting, learner = setting_of(), Bayesian(epoch_length=1, burn_in=0, noise=0.1)
    knows = told(learner, setting, 12).memory.knows
    means, sd = learner.posterior(knows)
    seen = knows.arms.plays > 0
    prior = 0.25 * np.exp(-0.5 * ((setting.grid[:, None] - setting.grid) / 0.2) ** 2)
    gain = prior[:, seen] @ np.linalg.inv(prior[np.ix_(seen, seen)] + np.diag(0.01 / knows.arms.plays[seen]))
    np.testing.assert_allclose(means, (gain @ knows.arms.shown[:, seen].T).T, atol=1e-9)
    np.testing.assert_allclose(sd**2, np.diag(prior - gain @ prior[seen]), atol=1e-9)


def test_bayesian_finds_the_best_feasible_threshold() -> None:
    found = told(Bayesian(epoch_length=1, burn_in=0), setting_of(), 40)
    assert set(found.thresholds[-10:]) == {0.5}
    assert Bayesian().recommend(setting_of(), found.memory).thresholds == 0.5


def test_safe_bayesian_plays_nothing_that_is_infeasible() -> None:
    bold, careful = (Bayesian(epoch_length=1, burn_in=0, safe=safe, beta=2.0, length=0.4) for safe in (False, True))
    setting = setting_of(0.2, 0.8)
    assert set(told(bold, setting, 40).thresholds) & {0.0, 1.0}
    assert set(told(careful, setting, 40).thresholds) <= {0.25, 0.5, 0.75}


def test_epochs_of_the_zeroth_order_grow_with_what_the_world_remembers() -> None:
    learner = EpochZerothOrder(epoch_length=3, burn_in=2, memory=4.0, points=1)
    found = np.array(told(learner, setting_of(), 3 + 5 + 6 + 6 + 1).thresholds)
    changes = np.flatnonzero(np.diff(found) != 0.0) + 1
    assert changes.tolist() == [3, 8, 14, 20]  # 2, 2 + ⌈2 log 2⌉, 2 + ⌈2 log 3⌉, 2 + ⌈2 log 4⌉ and a look


def test_zeroth_order_steps_by_the_difference_of_two_points() -> None:
    setting, learner = setting_of(0.0, 1.0), EpochZerothOrder(epoch_length=1, burn_in=0, radius=0.1)
    found = told(learner, setting, 2)
    gained = [shown(setting, uniform(each)).reward for each in found.played]
    slope = (gained[0] - gained[1]) / (found.thresholds[0] - found.thresholds[1])
    assert found.memory.knows.centre == pytest.approx(0.5 + 0.3 * slope)


def test_doubly_optimistic_goes_up_the_grid_and_then_stays_at_the_best_feasible() -> None:
    learner, setting = DoublyOptimistic(epoch_length=2, burn_in=1), setting_of()
    found = told(learner, setting, 3000)
    assert found.thresholds[: 2 * ARMS] == np.repeat(setting.grid, 2).tolist()
    assert set(found.thresholds[-300:]) == {0.5}
    assert learner.recommend(setting, found.memory).thresholds == 0.5
    assert learner.traces(found.memory)["infeasible"] == 0.0


def test_doubly_optimistic_says_if_nothing_is_feasible() -> None:
    learner, setting = DoublyOptimistic(), setting_of(0.35, 0.4)
    assert learner.traces(told(learner, setting, 3000).memory)["infeasible"] == 1.0


def test_a_visit_begins_again_if_it_is_overridden() -> None:
    learner = DoublyOptimistic(epoch_length=4, burn_in=1)
    found = told(learner, setting_of(), 7, override={2: Policy.at(ANYTHING)})
    assert found.thresholds == [0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0]
    assert found.memory.visits.tolist() == [1, 0, 0, 0, 0]
    assert found.memory.evidence.people[0].tolist() == [400, 400]  # of rounds 1, 4, 5 and 6


def test_smooth_optimist_finds_the_best_feasible_threshold() -> None:
    learner, setting = SmoothOptimist(), setting_of()
    found = told(learner, setting, 300)
    assert set(found.thresholds[-50:]) == {0.5}
    assert learner.recommend(setting, found.memory).thresholds[0, 0] == 0.5
    assert learner.traces(found.memory)["infeasible"] == 0.0


def test_epochs_of_smooth_optimist_grow_with_the_age() -> None:
    learner = SmoothOptimist(epoch_length=6)
    assert [learner.rounds(np.array(age)) for age in (0.0, 61.0, 81.0, 1000.0)] == [3, 4, 5, 6]
    assert told(learner, setting_of(), 62).memory.ends == 60 + 3
    assert told(learner, setting_of(), 63).memory.ends == 63 + 4


def test_smooth_optimist_rests_on_a_uniform_lottery_where_nothing_is_feasible() -> None:
    setting = setting_of(0.35, 0.4)  # between the third threshold and the fourth
    found = told(SmoothOptimist(), setting, 400)
    assert SmoothOptimist().traces(found.memory)["infeasible"] == 1.0
    assert found.thresholds[-1] == -np.inf
    assert found.played[-1].weights == pytest.approx([0.36, 0.64])  # nobody is worth accepting on average
    tried = told(SmoothOptimist(lottery=False), setting, 400)
    assert set(tried.thresholds[-50:]) <= {0.5, 0.75}


def test_performative_gradient_plays_around_its_centre_and_moves_it_by_no_more_than_it_trusts() -> None:
    learner = PerformativeGradient(epoch_length=1, burn_in=0, radius=0.25, trust=0.05)
    found = told(learner, setting_of(), 2)
    assert sorted(found.thresholds) == [0.25, 0.75]
    assert 0.0 < abs(found.memory.knows.centre - 0.5) <= 0.05 + 1e-12
    assert found.memory.knows.model.people == pytest.approx([198.0, 198.0])  # two epochs of 100, the first discounted


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_performative_gradient_plays_both_sides_at_the_end_of_the_grid(end: float) -> None:
    learner = PerformativeGradient(epoch_length=1, burn_in=0, radius=0.25, start_at=end)
    for seed in range(6):
        assert sorted(told(learner, setting_of(), 2, seed=seed).thresholds) == sorted((end, abs(end - 0.25)))
