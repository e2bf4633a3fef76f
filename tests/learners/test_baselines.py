"""The baselines: each rule against a plain transcription, and what each is for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import (
    AcceptAll,
    Bayesian,
    BestLottery,
    EpsilonGreedy,
    Exp3PrimalDual,
    ExploreThenCommit,
    PessimisticOptimistic,
    ThresholdOptimizer,
    TwoPoint,
)
from fairgate.learners.baselines import threshold_optimizer as optimizer
from fairgate.learners.baselines.bayesian import safe_bayesian
from fairgate.problem import is_feasible
from fairgate.thresholds import exact_sweep
from tests.learners import plain_baselines as plain
from tests.reference import step


def interior(window: tuple[float, float] = (0.2, 0.8), cost: float = 1.0) -> fg.Task:
    """Groups that differ in spread: only thresholds near the common mean are fair, the best among them is inside."""
    environment = fg.environments.GaussianScores(
        means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 0.6], slope=2.5, midpoint=0.4, gain=0.3, rate=0.15
    )
    problem = fg.Problem(fg.Utility(cost), [fg.DemographicParity(0.05), fg.ServiceRate(*window)])
    return fg.Task(environment, problem, np.linspace(-2, 2, 41), "interior")


# ---- Each rule, line by line ----------------------------------------------------------------------------------------

LOOPS = 3
QUEUES = {"width": 0.02, "trade_off": 0.1, "tightness": 0.05, "rectified": False}
PROCESS = {"length": 0.3, "amplitude": 0.3, "noise": 0.03, "beta": 1.5, "start_at": 0.0, "safe": False}

RULES: list[tuple[Any, Any, dict[str, Any]]] = [
    (TwoPoint, plain.PlainTwoPoint, {"step": 0.3, "dual_step": 2.0, "radius": 0.1, "start_at": 0.4}),
    (PessimisticOptimistic, plain.PlainPessimisticOptimistic, QUEUES),
    (PessimisticOptimistic, plain.PlainPessimisticOptimistic, QUEUES | {"rectified": True}),
    (Exp3PrimalDual, plain.PlainExp3PrimalDual, {"rate": 20.0, "dual_step": 3.0, "largest": 1.5}),
    (ExploreThenCommit, plain.PlainExploreThenCommit, {}),
    (EpsilonGreedy, plain.PlainEpsilonGreedy, {"exploration": 0.3}),
    (Bayesian, plain.PlainBayesian, PROCESS),
    (Bayesian, plain.PlainBayesian, PROCESS | {"safe": True}),
]


def draws(learner: Any, rng: np.random.Generator, arms: int) -> list[Any]:
    """The random numbers that a learner draws when epochs begin, one set a loop."""
    if isinstance(learner, TwoPoint):
        return list(rng.integers(2, size=LOOPS))
    if isinstance(learner, Exp3PrimalDual):
        return list(rng.random(LOOPS))
    if isinstance(learner, EpsilonGreedy):
        return list(zip(rng.random(LOOPS).tolist(), rng.integers(arms, size=LOOPS).tolist(), strict=True))
    return [None] * LOOPS


@pytest.mark.parametrize("name", ["mve-s", "german", "compas-strict"])
@pytest.mark.parametrize(("kind", "reference", "settings"), RULES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_choice_is_the_one_the_plain_rule_makes(
    name: str, kind: Any, reference: Any, settings: dict[str, Any]
) -> None:
    """The same random numbers and signals, 300 rounds (scikit-learn: 120) of 3 loops: the same threshold in each."""
    task = fg.load_task(name)
    settings = {"epoch_length": 3, "burn_in": 1} | settings
    learner = kind(**settings)
    state = learner.start(task.setting, LOOPS, np.random.default_rng(5))
    same_numbers, nature = np.random.default_rng(5), np.random.default_rng(6)
    epsilons = [getattr(c, "epsilon", None) for c in task.problem.constraints for _ in c.names]
    grid = task.thresholds.tolist()
    rules = [reference(grid, epsilons, 2, **settings) for _ in range(LOOPS)]
    world = task.environment.start(LOOPS)
    drawn: list[Any] = []
    for t in range(120 if kind is Bayesian else 300):
        if t % 3 == 0:
            drawn = draws(learner, same_numbers, len(grid))
        thresholds = learner.propose(state).single
        chosen = [rule.choose(draw) for rule, draw in zip(rules, drawn, strict=True)]
        np.testing.assert_allclose(thresholds[:, 0], chosen, rtol=0, atol=1e-9, err_msg=f"round {t + 1}")
        world, cells = step(task.environment, world, thresholds, 256, nature)
        feedback = task.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        for r, rule in enumerate(rules):
            counts = feedback.observation.people[r].tolist(), feedback.observation.accepted[r].tolist()
            rule.observe(float(feedback.reward[r]), feedback.residuals[:, r].tolist(), *counts)


def test_the_posterior_is_scikit_learns(small_task: fg.Task) -> None:
    settings: dict[str, Any] = {
        "epoch_length": 2,
        "burn_in": 0,
        "length": 0.2,
        "amplitude": 0.4,
        "noise": 0.05,
        "beta": 2.0,
    }
    learner = Bayesian(**settings)
    state = learner.start(small_task.setting, 1, np.random.default_rng(0))
    rule = plain.PlainBayesian(small_task.thresholds.tolist(), [None] * 3, 2, **settings)
    rule.n, rule.r = [2, 0, 1, 0, 0, 5, 0, 0, 1], [0.1 * i for i in range(9)]
    rule.g = [[0.3, -0.1 * i, 0.0] for i in range(9)]
    state.plays[0] = rule.n
    state.means[:, 0] = np.array([rule.r, *np.array(rule.g).T]) * (np.array(rule.n) > 0)
    means, sd = learner.posterior(state, np.array([0]))
    expected_means, expected_sd = rule.posterior()
    np.testing.assert_allclose(means[:, 0], expected_means, atol=1e-9)
    np.testing.assert_allclose(sd[0], expected_sd, atol=1e-7)


# ---- Epochs ---------------------------------------------------------------------------------------------------------


def test_pooled_counts_show_a_fair_threshold_to_be_fair() -> None:
    """At θ = 0 the true gap is 0; the mean of batch gaps is 0.05, the gap of 40 pooled batches a sixth of that."""
    learner = ExploreThenCommit(epoch_length=40, burn_in=0)
    task = interior()
    fair = fg.Task(task.environment, task.problem, [0.0], "fair")
    state = learner.start(fair.setting, 50, np.random.default_rng(0))
    world, nature, seen = fair.environment.start(50), np.random.default_rng(1), []
    for _ in range(40):
        thresholds = learner.propose(state).single
        world, cells = step(fair.environment, world, thresholds, 256, nature)
        feedback = fair.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        seen.append(feedback.residuals[0])
    assert np.mean(seen) > -0.005
    assert state.means[1].mean() < -0.035


def test_epochs_may_differ_by_replicate() -> None:
    run = fg.simulate(interior(), ExploreThenCommit(epoch_length=[2, 3], burn_in=[0, 1]), rounds=6)
    low, step = -2.0, 0.1
    np.testing.assert_allclose(run.thresholds[0, :, 0], low + step * np.array([0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(run.thresholds[1, :, 0], low + step * np.array([0, 0, 0, 1, 1, 1]))


@pytest.mark.parametrize(
    "learner", [EpsilonGreedy(), fg.learners.DoublyOptimistic(epoch_length=1, burn_in=0), fg.OFS()]
)
def test_an_assessment_is_no_feedback(small_task: fg.Task, learner: Any) -> None:
    state = learner.start(small_task.setting, 1, np.random.default_rng(0))
    with pytest.raises(fg.InputError, match=r"needs the feedback of Problem\.reveal, got Assessment"):
        learner.observe(state, learner.propose(state), small_task.problem.assess(np.full((1, 2, 2, 2), 32)))


# ---- What each is for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "epochs"),
    [
        (ExploreThenCommit(epoch_length=60, burn_in=50), 42),
        (EpsilonGreedy(epoch_length=60, burn_in=50, exploration=1.0), 150),
    ],
)
def test_with_hardly_any_noise_the_best_threshold_is_found(learner: Any, epochs: int) -> None:
    """What was never tried cannot be found: of 94 random epochs of EpsilonGreedy, none is of it in a tenth of loops."""
    task = interior()
    run = fg.simulate(task, learner, rounds=60 * epochs, seeds=3, batch=10**7)
    assert run.settled().single[:, 0].tolist() == [fg.oracle(task).best.threshold] * 3


def test_committed_is_committed() -> None:
    run = fg.simulate(interior(), ExploreThenCommit(epoch_length=3, burn_in=1), rounds=400, seeds=5)
    committed = run.thresholds[:, 3 * 41 :, 0]
    assert (committed == committed[:, :1]).all()
    assert (committed[:, 0] == run.settled().single[:, 0]).all()


def test_two_point_climbs_to_where_the_constraint_binds() -> None:
    """The unconstrained optimum is at 0.4; parity allows 0.1367. Within a grid step and a half of that on average."""
    run = fg.simulate(interior(), TwoPoint(epoch_length=15, burn_in=5, step=0.1, dual_step=1.0), rounds=4000, seeds=10)
    assert abs(run.settled().single[:, 0].mean() - fg.oracle(interior()).refined.threshold) < 0.15


def test_bayesian_finds_the_oracles_neighbourhood() -> None:
    task = interior()
    best = fg.oracle(task).best.threshold
    run = fg.simulate(task, Bayesian(epoch_length=15, burn_in=5), rounds=1500, seeds=10)
    assert (abs(run.settled().single[:, 0] - best) < 0.1 + 1e-9).all()


def test_safe_bayesian_stays_feasible_from_a_feasible_start() -> None:
    task = interior()
    feasible = is_feasible(exact_sweep(task, task.thresholds).residuals)
    run = fg.simulate(task, safe_bayesian(start_at=0.5), rounds=1000, seeds=10)
    arms = np.searchsorted(task.thresholds, run.thresholds[..., 0])
    assert feasible[20]
    assert feasible[arms].all()


def test_queues_are_paid_back_unless_rectified() -> None:
    grown = []
    for rectified in (False, True):
        learner, task = PessimisticOptimistic(epoch_length=1, burn_in=0, rectified=rectified), interior()
        state = learner.start(task.setting, 1, np.random.default_rng(0))
        world, nature, queues = task.environment.start(1), np.random.default_rng(1), [np.zeros((3, 1))]
        for _ in range(100):
            thresholds = learner.propose(state).single
            world, cells = step(task.environment, world, thresholds, 256, nature)
            learner.observe(state, thresholds, task.problem.reveal(cells))
            queues.append(state.multipliers.copy())
        grown.append(bool((np.diff(queues, axis=0) >= 0).all()))
    assert grown == [False, True]


def test_exp3_prefers_what_pays() -> None:
    """COMPAS: the lower half of the grid earns more. Equal weights play 21 of 41 there."""
    task = fg.load_task("compas")
    learner = Exp3PrimalDual(epoch_length=1, burn_in=0, rate=2.0, largest=0.3)
    run = fg.simulate(task, learner, rounds=3000, seeds=5)
    lower = run.thresholds[..., 0] <= task.thresholds[20]
    assert abs(lower[:, :100].mean() - 21 / 41) < 0.1
    assert lower[:, -500:].mean() > 0.7


# ---- Controls -------------------------------------------------------------------------------------------------------


def test_accept_all_accepts_all() -> None:
    run = fg.simulate(interior(), AcceptAll(), rounds=50, seeds=2)
    assert (run.counts[..., 0] == 0).all()
    assert (run.population_gap == 0).all()


@pytest.mark.parametrize(("cost", "end"), [(0.1, 0.8), (5.0, 0.2)])
def test_the_best_lottery_goes_to_the_right_end_and_is_always_feasible(cost: float, end: float) -> None:
    run = fg.simulate(interior(cost=cost), BestLottery(), rounds=200, seeds=5)
    assert run.population_gap.max() < 1e-12
    assert is_feasible(run.population.residuals).all()
    np.testing.assert_allclose(fg.Counts(run.probabilities[:, 10:]).overall, end)
    np.testing.assert_allclose(fg.Counts(run.probabilities[:, :10]).overall, 0.5)


def test_without_a_window_the_lottery_accepts_all_or_none() -> None:
    task = fg.load_task("mve-s")
    run = fg.simulate(task, BestLottery(), rounds=50, seeds=3)
    assert set(fg.Counts(run.probabilities[:, 10:]).overall.ravel().round(9)) <= {0.0, 1.0}


# ---- fairlearn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mve-s", "german", "compas"])
def test_the_lottery_accepts_whom_fairlearn_accepts(name: str) -> None:
    """For every group and score bin, the lottery's share is the probability that fairlearn itself gives."""
    task = fg.load_task(name)
    learner = ThresholdOptimizer(collect=10)
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    world, nature = task.environment.start(2), np.random.default_rng(1)
    for _ in range(10):
        assert not state.fitted.any()
        policy = learner.propose(state)
        world, cells = step(task.environment, world, policy, 256, nature, task.thresholds)
        learner.observe(state, policy, task.problem.reveal(cells, "full-labels"))
    assert state.fitted.all()
    share = learner.propose(state).accepted_share(task.thresholds)
    people, positives = optimizer.redrawn(state.labels, state.cost)
    bins = np.arange(len(task.thresholds) + 1.0)[:, None]
    for r in range(2):
        fitted = optimizer.fit(people[r], positives[r], 200)
        for group in range(2):
            own = fitted._pmf_predict(bins, sensitive_features=np.full(len(bins), group))[:, 1]
            np.testing.assert_allclose(share[r, group], own, atol=1e-12)
        rates = (share[r] * people[r]).sum(axis=1) / people[r].sum(axis=1)
        assert abs(rates[0] - rates[1]) < 1e-9, "fairlearn's parity holds on the people it was fitted on"


@pytest.mark.parametrize("cost", [0.2, 1.0, 4.0])
def test_redrawn_labels_make_accuracy_a_measure_of_reward(cost: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 500, size=(1, 1, 12, 2)).astype(float)
    people, called = optimizer.redrawn(labels, np.array([cost]))
    correct, reward = [], []
    for first in range(13):  # accept bins from `first`
        correct.append(called[0, 0, first:].sum() + (people - called)[0, 0, :first].sum())
        reward.append((labels[0, 0, first:, 1] - cost * labels[0, 0, first:, 0]).sum() / max(1.0, cost))
    np.testing.assert_allclose(np.diff(correct), np.diff(reward), atol=1.0)  # half a person a bin is rounded
    assert (people == labels.sum(axis=-1)).all()


def test_a_group_with_one_kind_of_label_is_waited_for() -> None:
    learner, task = ThresholdOptimizer(collect=1), interior()
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    cells = np.zeros((1, 2, 42, 2, 2), dtype=np.int64)
    cells[0, :, 4, 1, 1] = 20  # only positives
    learner.observe(state, np.full((1, 2), -np.inf), task.problem.reveal(cells, "full-labels"))
    assert not state.fitted.any()
    cells[0, :, 2, 0, 1] = 20
    learner.observe(state, np.full((1, 2), -np.inf), task.problem.reveal(cells, "full-labels"))
    assert state.fitted.all()
    assert np.isfinite(learner.propose(state).thresholds[0]).all()


def test_without_fairlearn_there_is_one_sentence(small_task: fg.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fairlearn.postprocessing", None)
    with pytest.raises(fg.InputError, match=r"ThresholdOptimizer needs fairlearn: pip install 'fairgate\[fair\]'"):
        ThresholdOptimizer().start(small_task.setting, 1)


def test_a_utility_without_a_cost_is_refused(gaussian: fg.environments.GaussianScores) -> None:
    class Own:
        def reward(self, counts: fg.Counts) -> Any:
            return counts.overall

    with pytest.raises(fg.InputError, match="ThresholdOptimizer needs a Utility with a cost"):
        ThresholdOptimizer().start(fg.Task(gaussian, fg.Problem(Own()), [0.0, 1.0]).setting, 1)


# ---- Bad settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (
            ExploreThenCommit,
            {"epoch_length": 5, "burn_in": 5},
            "ExploreThenCommit: epoch_length and burn_in must be whole numbers",
        ),
        (
            TwoPoint,
            {"epoch_length": 2.5},
            "TwoPoint: epoch_length and burn_in must be whole numbers, burn_in below epoch_length, got 2.5",
        ),
        (Bayesian, {"length": 0.0}, "Bayesian: length must be a finite number above 0, got 0.0"),
        (BestLottery, {"collect": 0}, "BestLottery: collect must be a finite number of at least 1, got 0"),
    ],
)
def test_bad_settings_get_one_sentence(kind: Any, settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        kind(**settings)
