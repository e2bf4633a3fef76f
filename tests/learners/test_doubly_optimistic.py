"""DoublyOptimistic: against the rule line by line, what it says of feasibility, and its coverage."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import fairgate as fg
from fairgate.confidence import Sums, mean_bounds, rate_bounds
from fairgate.learners import DoublyOptimistic
from scripts.draw_theory import misses
from tests.reference import step

Array = NDArray[np.float64]

FALSE_ALARM = 1e-4
"""How rarely a test of frequencies may fail though all is well; the seeds are fixed, so it never does by chance."""


class PlainRule:
    """The rule for one loop and two groups, line by line: parity ε, window [low, high], reward 1, −c or 0 a person."""

    def __init__(self, arms: int, c: float, epsilon: float, window: tuple[float, float] | None, **settings: Any):
        self.arms, self.c, self.epsilon, self.window = arms, c, epsilon, window
        self.delta, self.epoch_length = settings["delta"], settings["epoch_length"]
        self.burn_in, self.bias = settings["burn_in"], settings["bias"]
        self.visits, self.rounds = [0] * arms, [0] * arms
        self.people = [[0, 0] for _ in range(arms)]
        self.accepted = [[0, 0] for _ in range(arms)]
        self.total, self.spread, self.count = [0.0] * arms, [0.0] * arms, [0] * arms
        self.lower, self.upper, self.v = [-np.inf] * arms, [np.inf] * arms, [-np.inf] * arms
        self.arm, self.left, self.age, self.infeasible = 0, 0, 0, False

    def choose(self) -> int:
        if self.left == 0:
            s = max(0.0, min(self.v))
            self.infeasible = s > 1e-6
            candidates = [i for i in range(self.arms) if self.v[i] <= s + 1e-6]
            highest = max(self.upper[i] for i in candidates)
            tied = [i for i in candidates if self.upper[i] == highest]
            fewest = min(self.visits[i] for i in tied)
            self.arm = next(i for i in tied if self.visits[i] == fewest)
            self.left, self.age = self.epoch_length * 2 ** self.visits[self.arm], 0
        return self.arm

    def observe(self, cells: NDArray[np.int64]) -> None:
        i = self.arm
        self.left, self.age = self.left - 1, self.age + 1
        if self.age > self.burn_in:
            self.rounds[i] += 1
            guess = self.total[i] / (self.count[i] + 1)
            for group in range(2):
                for label in range(2):
                    for decision in range(2):
                        number = int(cells[group, label, decision])
                        reward = 0.0 if decision == 0 else (1.0 if label == 1 else -self.c)
                        self.people[i][group] += number
                        self.accepted[i][group] += number * decision
                        self.total[i] += number * reward
                        self.spread[i] += number * (reward - guess) ** 2
                        self.count[i] += number
        if self.left == 0:
            self.visits[i] += 1
            self.bound(i)

    def bound(self, i: int) -> None:
        alpha = self.delta / self.arms / 2  # half for the reward, half for the three rates
        wider = self.bias * self.visits[i] / self.rounds[i]
        sums = Sums(self.total[i], self.spread[i], float(self.count[i]))
        low, high = mean_bounds(sums, -self.c, 1.0, alpha)
        self.lower[i], self.upper[i] = float(low) - wider, float(high) + wider
        bounds = []
        taken, came = [*self.accepted[i], sum(self.accepted[i])], [*self.people[i], sum(self.people[i])]
        for hits, tries in zip(taken, came, strict=True):
            low, high = rate_bounds(hits, tries, alpha / 3)
            bounds.append((max(float(low) - wider, 0.0), min(float(high) + wider, 1.0)))
        first, second, everybody = bounds
        self.v[i] = max(0.0, first[0] - second[1], second[0] - first[1]) - self.epsilon
        if self.window:
            self.v[i] = max(self.v[i], self.window[0] - everybody[1], everybody[0] - self.window[1])


@pytest.mark.parametrize("task", ["interior", "german", "mean-shift", "mve-s"])
@pytest.mark.parametrize(
    "learner",
    [
        DoublyOptimistic(),
        DoublyOptimistic(delta=0.3, epoch_length=2, burn_in=0, bias=0.02),
        DoublyOptimistic(epoch_length=3, burn_in=2),
    ],
    ids=repr,
)
def test_every_choice_is_the_one_the_rule_makes(task: str, learner: DoublyOptimistic) -> None:
    """The same batches, 600 rounds of 4 loops: the same threshold and the same word on feasibility in every round."""
    loaded, loops = fg.load_task(task), 4
    parity, *service = loaded.problem.constraints
    assert isinstance(parity, fg.DemographicParity)
    assert isinstance(loaded.problem.utility, fg.Utility)
    window = (service[0].low, service[0].high) if service and isinstance(service[0], fg.ServiceRate) else None
    state = learner.start(loaded.setting, loops, np.random.default_rng(0))
    settings: dict[str, Any] = {name: getattr(learner, name) for name in ("delta", "epoch_length", "burn_in", "bias")}
    cost: Any = loaded.problem.utility.false_positive_cost
    limits: Any = (parity.epsilon, window)
    plain = [PlainRule(len(loaded.thresholds), cost, *limits, **settings) for _ in range(loops)]
    environment, nature = loaded.environment, np.random.default_rng(1)
    world = environment.start(loops)
    for t in range(600):
        thresholds = learner.propose(state).single
        assert state.arm.tolist() == [rule.choose() for rule in plain], f"round {t + 1}"
        assert state.infeasible.tolist() == [int(rule.infeasible) for rule in plain]
        np.testing.assert_array_equal(thresholds[:, 0], loaded.thresholds[state.arm])
        world, cells = step(environment, world, thresholds, 256, nature)
        learner.observe(state, thresholds, loaded.problem.reveal(cells))
        for rule, batch in zip(plain, cells, strict=True):
            rule.observe(batch)
    assert (state.visits.max(axis=1) >= 3).all(), "visits of doubled length must be among those checked"
    np.testing.assert_allclose(state.upper, [rule.upper for rule in plain], rtol=1e-9)
    np.testing.assert_allclose(state.lower, [rule.lower for rule in plain], rtol=1e-9)
    np.testing.assert_allclose(state.worst, [rule.v for rule in plain], atol=1e-7)  # as exact as the root finder is


def test_infeasibility_is_stated_in_every_loop_where_no_threshold_is_feasible() -> None:
    run = fg.simulate(fg.load_task("mean-shift"), DoublyOptimistic(), rounds=1500, seeds=200)
    assert set(np.unique(run.traces["infeasible"])) == {0.0, 1.0}
    assert (run.traces["infeasible"][:, -1] == 1).all()
    assert (run.traces["infeasible"][:, 0] == 0).all()


@pytest.mark.parametrize("task", ["interior", "german", "mve-s", "performative"])
def test_infeasibility_is_never_stated_where_a_threshold_is_feasible(task: str) -> None:
    """At most δ of 200 loops, as good as none."""
    run = fg.simulate(fg.load_task(task), DoublyOptimistic(), rounds=800, seeds=200)
    assert run.traces["infeasible"].mean() == 0


@functools.cache
def on_interior() -> fg.Run:
    return fg.simulate(fg.load_task("interior"), DoublyOptimistic(), rounds=3000, seeds=20)


def test_the_best_threshold_of_interior_is_found_and_kept() -> None:
    run, best = on_interior(), fg.oracle(fg.load_task("interior")).best
    summary = run.summary()
    np.testing.assert_allclose(run.settled().single, best.threshold, atol=1e-9)
    assert summary["population_reward"].mean > best.reward - 0.002
    assert summary["feasible"].mean > 0.97
    assert summary["population_violation"].mean < 75  # the printed rule's is above 500


def test_the_bounds_miss_and_the_best_is_excluded_in_at_most_delta_of_the_runs() -> None:
    """On interior, where the state settles fast. Were the chance above δ, so few misses would be seen with 1e-4."""
    runs, delta = 250, 0.05
    missed, against = misses(fg.load_task("interior"), DoublyOptimistic(delta=delta), rounds=2000, seeds=runs)
    assert missed * runs <= binom.ppf(1 - FALSE_ALARM, runs, delta)
    assert against == 0.0


def test_a_slow_state_makes_the_bounds_miss_and_bias_mends_it() -> None:
    """The bias of performative's first visits is far larger than the bounds are wide."""
    task = fg.load_task("performative")
    assert misses(task, DoublyOptimistic(), rounds=400, seeds=40)[0] > 0.9
    assert misses(task, DoublyOptimistic(bias=2.0), rounds=400, seeds=40)[0] == 0.0


class Loans:
    """A user's own reward: loans repaid a person, which lies in [0, 1]."""

    def reward(self, counts: fg.Counts) -> Array:
        return np.asarray(counts.cells[..., 1, 1].sum(axis=-1) / counts.total)


class HalfAccepted:
    """A user's own constraint: at most half are accepted."""

    names: Sequence[str] = ("half",)

    def residuals(self, counts: fg.Counts) -> Sequence[Array]:
        return (counts.overall - 0.5,)


def test_a_users_own_reward_and_constraint_are_judged_by_the_means_of_batches(
    gaussian: fg.environments.GaussianScores,
) -> None:
    """The best is the lowest threshold that accepts at most half; the others are known to be worse or to break it."""
    task = fg.Task(gaussian, fg.Problem(Loans(), [HalfAccepted()]), np.linspace(-1.5, 1.5, 7), "own")
    best = fg.oracle(task).best
    run = fg.simulate(task, DoublyOptimistic(), rounds=2000, seeds=10)
    np.testing.assert_allclose(run.settled().single[:, 0], best.threshold)
    assert (run.thresholds[:, -200:, 0] == best.threshold).mean() > 0.95


def test_constraints_with_and_without_bounds_of_their_own_go_together(
    gaussian: fg.environments.GaussianScores,
) -> None:
    """The window alone would let the threshold be lower, half accepted alone higher."""
    problem = fg.Problem(fg.Utility(0.1), [fg.DemographicParity(0.4), HalfAccepted(), fg.ServiceRate(0.3, 0.9)])
    task = fg.Task(gaussian, problem, np.linspace(-1.5, 1.5, 13), "both")
    run = fg.simulate(task, DoublyOptimistic(), rounds=2000, seeds=10)
    assert run.settled().single[:, 0].tolist() == [fg.oracle(task).best.threshold] * 10


def test_without_constraints_the_best_reward_is_found(gaussian: fg.environments.GaussianScores) -> None:
    task = fg.Task(gaussian, fg.Problem(fg.Utility(1.0)), np.linspace(-1.5, 1.5, 7), "free")
    run = fg.simulate(task, DoublyOptimistic(), rounds=1500, seeds=5)
    assert run.settled().single[:, 0].tolist() == [fg.oracle(task).best.threshold] * 5
    assert not run.traces["infeasible"].any()


@pytest.mark.parametrize("name", ["label-delay", "many-groups", "drift", "strategic", "delayed-impact"])
def test_it_runs_where_nothing_is_promised(name: str) -> None:
    """Late labels, groups missing from batches, worlds that change: no bound is undefined."""
    run = fg.simulate(fg.load_task(name), DoublyOptimistic(), rounds=700, seeds=3)
    assert np.isfinite(run.settled().single).all()


def test_settings_of_problem_and_learner_may_differ_by_replicate(small_task: fg.Task) -> None:
    """A sweep is one run, and each of its loops is what it would have been alone."""
    problems = [fg.Problem(fg.Utility(1.5), [fg.DemographicParity(e), fg.ServiceRate(0.3, 0.9)]) for e in (0.01, 0.2)]
    together = fg.Problem(fg.Utility([1.5, 1.5]), [fg.DemographicParity([0.01, 0.2]), fg.ServiceRate(0.3, 0.9)])
    learner = DoublyOptimistic(delta=[0.05, 0.2], epoch_length=[4, 6], burn_in=[2, 1], bias=[0.0, 0.01])
    both = fg.Task(small_task.environment, together, small_task.grid)
    nature = np.random.default_rng(3)
    batches = nature.multinomial(200, np.full(8, 1 / 8), size=(300, 2)).reshape(300, 2, 2, 2, 2)
    state = learner.start(both.setting, 2)
    for cells in batches:
        learner.observe(state, learner.propose(state), together.reveal(cells))
    for row, problem in enumerate(problems):
        one = learner.rows(slice(row, row + 1))
        alone = one.start(fg.Setting(problem, small_task.grid, 2), 1)
        for cells in batches:
            one.observe(alone, one.propose(alone), problem.reveal(cells[row : row + 1]))
        for name in ("upper", "lower", "worst", "visits", "arm", "infeasible"):
            np.testing.assert_allclose(getattr(state, name)[row], getattr(alone, name)[0], atol=1e-7)
        np.testing.assert_array_equal(learner.recommend(state).single[row], one.recommend(alone).single[0])


def test_a_loaded_state_recommends_the_same(small_task: fg.Task) -> None:
    learner = DoublyOptimistic()
    state, nature = learner.start(small_task.setting, 3), np.random.default_rng(0)
    world = small_task.environment.start(3)
    for _ in range(200):
        policy = learner.propose(state)
        world, cells = step(small_task.environment, world, policy, 100, nature)
        learner.observe(state, policy, small_task.problem.reveal(cells))
    loaded = learner.load(json.loads(json.dumps(learner.save(state), allow_nan=False)), small_task.setting)
    np.testing.assert_array_equal(learner.recommend(loaded).single, learner.recommend(state).single)


def test_the_recommendation_is_the_least_violating_threshold_if_none_seems_feasible(small_task: fg.Task) -> None:
    learner = DoublyOptimistic()
    state = learner.start(small_task.setting, 1)
    known: list[tuple[int, int]] = [(10, 90), (30, 90), (50, 90)]  # accepted of 100 in either group
    for arm, accepted in enumerate(known):
        state.visits[0, arm], state.people[0, arm], state.accepted[0, arm] = 1, 100.0, accepted
        state.lower[0, arm] = -arm
    assert learner.recommend(state).single[0].tolist() == [small_task.thresholds[2]] * 2
    state.accepted[0, 0], state.accepted[0, 1] = (60, 60), (60, 70)  # both feasible; the first earns more for sure
    assert learner.recommend(state).single[0].tolist() == [small_task.thresholds[0]] * 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"delta": 1.0}, r"DoublyOptimistic: delta must be in \(0, 1\), got 1.0"),
        (
            {"epoch_length": 4, "burn_in": 4},
            "epoch_length and burn_in must be whole numbers, burn_in below epoch_length, got 4 and 4",
        ),
        ({"epoch_length": 4.5}, "epoch_length and burn_in must be whole numbers"),
        ({"bias": -1.0}, "DoublyOptimistic: bias must be a finite number of at least 0, got -1.0"),
    ],
)
def test_bad_settings_get_one_sentence(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        DoublyOptimistic(**settings)
