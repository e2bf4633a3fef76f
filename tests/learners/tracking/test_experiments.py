"""Experiments: what may be spent, how long they last, and that they show answers which following never sees."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench.share import share_of, worth, yardsticks_of
from fairgate.constraints import Constraint, DemographicParity, EqualisedOdds, EqualOpportunity, ServiceRate
from fairgate.learners.shapes import filled
from fairgate.learners.tracking import experiments
from fairgate.learners.tracking.experiments import Experiments
from fairgate.learners.tracking.learner import LONGEST, Tracking
from fairgate.learners.tracking.search import Offers, best_lottery, best_uniform, offers_of
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.settings import Array
from tests.learners.tracking.parts import EVERY, SIZES, outlook_of
from tests.learners.tracking.test_search import value_of


def offered(price: Array, apart: Array, stake: float = 0.1) -> Offers:
    """Offers whose weights are their places."""
    lotteries = np.zeros((3, *price.shape))
    lotteries[2] = np.arange(price.shape[1])
    return Offers(lotteries, price, apart, np.full(2, stake))


def test_the_farthest_that_can_be_paid_for_is_tried() -> None:
    tried = filled(Experiments, SIZES)
    price, apart = np.array([[0.01, 0.1, 0.2, 0.5]] * 2), np.array([[0.05, 0.2, 0.3, 0.4]] * 2)
    begun, lotteries = tried.begin(EVERY, np.array([40, 40]), np.full(2, 0.25), offered(price, apart))
    assert tried.fund.tolist() == [experiments.CREDIT * 0.1] * 2  # 3 in all: ten rounds at 0.2, not at 0.5
    assert begun.all()
    assert lotteries[2].tolist() == [2.0, 2.0]
    assert tried.until.tolist() == tried.due.tolist() == [40 + experiments.SHORTEST] * 2
    assert tried.going(EVERY).all()
    assert tried.income.tolist() == [-0.2, -0.2]


def test_nothing_is_tried_that_cannot_be_paid_for_or_is_too_near_and_credit_is_given_once() -> None:
    tried = filled(Experiments, SIZES)
    price, apart = np.array([[0.01, np.inf]] * 2), np.array([[0.9 * experiments.APART, 0.9]] * 2)
    for _ in range(2):
        begun, _ = tried.begin(EVERY, np.array([40, 80]), np.full(2, 0.25), offered(price, apart))
        assert not begun.any()
        assert tried.fund.tolist() == [experiments.CREDIT * 0.1] * 2
    assert tried.income.tolist() == [experiments.BUDGET * 0.1] * 2
    assert tried.due.tolist() == [45, 90]
    assert not tried.recent(EVERY, np.zeros(2, dtype=np.int64)).any()  # there has been none


def test_slow_people_are_given_time_and_what_ends_early_has_ended() -> None:
    tried = filled(Experiments, SIZES)
    price, apart = np.full((2, 1), 1e-6), np.full((2, 1), 0.5)
    tried.begin(EVERY, np.array([50, 1000]), np.array([0.01, 0.01]), offered(price, apart))
    assert tried.until.tolist() == [50 + 2 * experiments.SHORTEST, 1000 + 200]
    tried.end(EVERY, np.array([60, 1100]))
    assert not tried.going(EVERY).any()
    assert tried.until.tolist() == [60, 1100]
    after = experiments.AFTER
    assert tried.recent(EVERY, np.array([60 + after - 1, 1100 + after])).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(3))
def test_offers_are_priced_as_a_loop_prices_them(seed: int) -> None:
    outlook = outlook_of([DemographicParity(0.2), ServiceRate(0.1, 0.9)], seed, variance=0.0, thresholds=7)
    played = best_lottery(outlook, 1.5, None, np.ones(2)).lottery
    offers = offers_of(outlook, 1.5, played, np.ones(2))
    shares = outlook.shares
    for r in range(2):
        mine, _ = value_of(outlook, r, tuple(played[:, r]), 1.5)
        uniform, roomy = [], []
        for c in range(offers.price.shape[1]):
            low, high, weight = offers.lotteries[:, r, c]
            reward, bound = value_of(outlook, r, (low, high, weight), 1.5)
            expected = max(mine - reward, 1e-6) if bound <= -0.002 + 1e-9 else np.inf
            assert offers.price[r, c] == pytest.approx(expected, abs=1e-9)
            rates = [
                weight * outlook.above[r, :, int(low)] + (1 - weight) * outlook.above[r, :, int(high)]
                for low, high, weight in (offers.lotteries[:, r, c], played[:, r])
            ]
            assert offers.apart[r, c] == pytest.approx(abs(((rates[0] - rates[1]) * shares[r]).sum()))
            if (low, high) == (0.0, outlook.above.shape[2] - 1.0):
                uniform += [reward] * (bound <= 1e-12)
                roomy += [reward] * (bound <= -0.002 + 1e-9)
        assert offers.stake[r] == pytest.approx(max(mine - max(roomy), 0.0), abs=1e-9)
        assert best_uniform(outlook, 1.5)[r] == pytest.approx(max(uniform), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "constraint", [EqualOpportunity(0.2), EqualisedOdds(0.25), fg.OutcomeImprovement(75, 150, -40)]
)
def test_offers_are_safe_by_the_errors_of_labels_too(constraint: Constraint, seed: int) -> None:
    outlook = outlook_of([constraint, ServiceRate(0.1, 0.9)], seed, variance=0.001, doubt=0.01, thresholds=7)
    found = best_lottery(outlook, 1.5, None, np.ones(2))
    offers = offers_of(outlook, 1.5, found.lottery, found.ratio)
    for r in range(2):
        for c in np.flatnonzero(np.isfinite(offers.price[r])):
            assert value_of(outlook, r, tuple(offers.lotteries[:, r, c]), 1.5)[1] <= -0.002 + 1e-9


def test_an_experiment_that_is_not_played_is_not_paid_for_proves_nothing_and_ends() -> None:
    task, learner = fg.load_task("world-3012"), Tracking()
    loop = Loop(task, 1, 256, Nature(0), learner.level)
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    row, before, overruled = np.zeros(1, dtype=np.int64), learner.propose(state), 0
    for _ in range(150):
        going, fund = bool(state.experiments.going(row)[0]), float(state.experiments.fund[0])
        policy = before if going else learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
        before, overruled = policy, overruled + going
        if going:
            assert not state.answers.experiment[0]
            assert state.experiments.fund[0] >= fund
    assert 0 < overruled < 150


def test_no_more_is_spent_than_may_be() -> None:
    """An experiment ends with a stretch, so that at most one stretch more is paid for."""
    task, learner = fg.load_task("world-3513"), Tracking()
    loop = Loop(task, 4, 128, Nature(0), learner.level)
    state = learner.start(task.setting, 4, np.random.default_rng(0))
    least, tried = np.zeros(4), np.zeros(4)
    for _ in range(500):
        policy = learner.propose(state)
        going = state.experiments.going(np.arange(4))
        least = np.where(going, np.minimum(least, LONGEST * state.experiments.income), least)
        tried += going
        learner.observe(state, policy, loop.play(policy).feedback)
        assert (state.experiments.fund >= least - 1e-12).all()
        assert not going.any() or state.age[0] >= experiments.FIRST
    assert (tried > 0).all()


@pytest.mark.slow
def test_experiments_find_what_following_never_sees() -> None:
    """Those who are accepted do better, and few are at first: to follow them is to stay with few for long."""
    task, rounds = fg.load_task("world-4510"), 1500
    run = fg.simulate(task, fg.SafeSearch(policies="lottery"), rounds=rounds, seeds=2)
    best = yardsticks_of(task, rounds).repeated(2)
    tail = slice(1000, None)
    assert (share_of(worth(run.population)[:, tail], best.fair[:, tail], best.lottery[:, tail]) > 0.5).all()
