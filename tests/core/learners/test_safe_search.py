"""SafeSearch and its components: windows of scores, curves of labels, predicted worth, and the search."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.arrays import Array
from fairgate.core.learners.components import policy_search as search
from fairgate.core.learners.components.label_curve import LabelCurve
from fairgate.core.learners.components.prospects import Prospects, Rules
from fairgate.core.learners.components.score_windows import LENGTHS, Scores, ScoreWindows
from fairgate.core.learners.safe_search import Past, SafeSearch
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.learners.checks import check_learner
from fairgate.learners.one_loop import OneLoop
from fairgate.loops.simulation import simulate
from fairgate.policy import Policy as Played
from fairgate.random import Draws
from tests.core.learners.cases import empty, numbers, setting_of, told

CLASSES = ("threshold", "lottery", "per-group")


def batches(setting: Setting, rounds: int, shift: float, people: int, seed: int) -> Array:
    """Draw scores of two groups, uniform from `shift` to `shift` + 1, as counts by score bin."""
    rng = np.random.default_rng(seed)
    scores = shift + rng.random((rounds, 2, people))
    places = np.searchsorted(setting.grid, scores, side="right")
    return (places[..., None] == np.arange(len(setting.grid) + 1)).sum(axis=2)


def seen(setting: Setting, drawn: Array, windows: ScoreWindows | None = None) -> ScoreWindows:
    """Show batches to the windows."""
    windows = windows or ScoreWindows.none(setting)
    for batch in drawn:
        windows = windows.with_batch(batch)
    return windows


def test_a_settled_population_is_known_from_the_longest_window() -> None:
    setting = setting_of()
    windows = seen(setting, batches(setting, 400, 0.0, 20, seed=0))
    assert windows.error.argmin() == len(LENGTHS) - 1
    scores = windows.scores()
    np.testing.assert_allclose(scores.above[:, 1:-1], [1.0 - setting.grid] * 2, atol=0.03)
    assert (scores.variance > 1.0 / (400 * 20)).all()
    assert (scores.variance < 4.0 / (400 * 20)).all()


def test_a_population_that_moved_is_known_from_a_short_window_and_less_well() -> None:
    setting = setting_of()
    before = seen(setting, batches(setting, 300, 0.0, 200, seed=0))
    after = seen(setting, batches(setting, 30, 0.3, 200, seed=1), before)
    assert after.error.argmin() == 0
    np.testing.assert_allclose(after.scores().above[:, 3], 0.8, atol=0.05)
    assert (after.scores().variance > 5.0 * before.scores().variance).all()


def test_a_group_that_never_came_has_a_plausible_distribution() -> None:
    setting = setting_of()
    drawn = batches(setting, 50, 0.0, 20, seed=0)
    drawn[:, 1] = 0
    scores = seen(setting, drawn).scores()
    assert np.isfinite(numbers(scores)).all()
    assert scores.shares[1] == pytest.approx(0.0, abs=1e-6)
    assert (np.diff(scores.above[1]) <= 0.0).all()


def test_the_curve_finds_the_probabilities_and_says_where_it_does_not_know_them() -> None:
    setting = setting_of()
    rng, bins = np.random.default_rng(0), len(setting.grid) + 1
    truth = 1.0 / (1.0 + np.exp(-np.linspace(-2.0, 2.0, bins)))
    curve = LabelCurve.none(setting)
    for _ in range(200):
        accepted = np.where(np.arange(bins) >= 3, 20, 0)
        positive = rng.binomial(accepted, truth, size=(2, bins))
        curve = curve.with_labels(np.stack((accepted - positive, positive), axis=-1)).fitted()
    found = curve.estimate()
    error = found.error
    assert (abs(found.share - truth) <= 4.0 * error).all()
    assert (error[:, 3:] < 0.02).all()
    assert (error[:, 0] > 2.0 * error[:, 3]).all()
    np.testing.assert_allclose(found.share[:, 3:], [truth[3:]] * 2, atol=0.05)


def test_a_group_without_labels_is_taken_to_be_like_the_others() -> None:
    setting = setting_of()
    labels = np.zeros((2, len(setting.grid) + 1, 2))
    labels[0] = (5.0, 45.0)
    curve = LabelCurve.none(setting)
    for _ in range(20):
        curve = curve.with_labels(labels).fitted()
    found = curve.estimate()
    assert (found.share[1] > 0.6).all()
    assert (found.error[1] > 3.0 * found.error[0]).all()


def exact(setting: Setting) -> Prospects:
    """Return prospects that are certain of scores, uniform and 0.2 higher in one group, and of labels."""
    ends = np.concatenate(([-np.inf], setting.grid, [np.inf]))
    above = np.stack([np.clip(1.0 + shift - ends, 0.0, 1.0) for shift in (0.0, 0.2)])
    scores = Scores(above, np.array([0.4, 0.6]), np.array([0.001, 0.002]))
    return Prospects(
        scores, 0.5 * above**2, 0.0001 * above, np.stack((above, above)), np.zeros((2, 2, 2)) + 0.001 * np.eye(2)
    )


def test_worth_is_what_the_policy_leads_to_and_margins_are_its_errors() -> None:
    setting = setting_of(low=0.3, high=0.9, cost=2.0)
    problem = fg.Problem(fg.Utility(2.0), [fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.9)])
    prospects = exact(setting)
    rules = Rules(np.array([[3], [2]]), np.array([[3], [4]]), np.array([1.0, 0.25]))
    found = prospects.worth(problem, rules, 2.0)
    above = prospects.scores.above
    rates = np.stack((above[:, 3], 0.25 * above[:, 2] + 0.75 * above[:, 4]))
    good = 0.5 * np.stack((above[:, 3] ** 2, 0.25 * above[:, 2] ** 2 + 0.75 * above[:, 4] ** 2))
    shares = prospects.scores.shares
    np.testing.assert_allclose(found.reward, ((good - 2.0 * (rates - good)) * shares).sum(axis=1))
    overall = (rates * shares).sum(axis=1)
    np.testing.assert_allclose(found.residuals, [abs(rates[:, 0] - rates[:, 1]) - 0.1, 0.3 - overall, overall - 0.9])
    squares = np.stack((above[:, 3], 0.25**2 * above[:, 2] + (1.0 - 0.25**2) * above[:, 4]))
    deviation = 2.0 * np.sqrt((squares - rates**2) * prospects.scores.variance)
    np.testing.assert_allclose(found.margins[0], np.sqrt((deviation**2).sum(axis=1)))
    np.testing.assert_allclose(found.margins[1], np.sqrt(((deviation * shares) ** 2).sum(axis=1)))


def test_a_uniform_lottery_has_no_margin() -> None:
    setting = setting_of()
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1), fg.EqualOpportunity(0.1), fg.EqualisedOdds(0.1)])
    found = exact(setting).worth(problem, search.uniform(len(setting.grid)), 3.0)
    np.testing.assert_allclose(found.margins, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.residuals, -0.1)


def test_the_search_finds_the_best_of_all_lotteries_of_two_thresholds() -> None:
    setting = Setting(fg.load_task("interior").problem, np.linspace(0.0, 1.2, 21), groups=2)
    problem = fg.Problem(fg.Utility(0.3), [fg.DemographicParity(0.15), fg.ServiceRate(0.2, 0.5)])
    prospects, arms = exact(setting), 21
    low, high = np.triu_indices(arms + 2)
    weights = np.linspace(0.0, 1.0, 101)
    low, high = np.repeat(low, len(weights)), np.repeat(high, len(weights))
    every = Rules(low[:, None], high[:, None], np.resize(weights, len(low)))
    best = search.best_of(problem, prospects, every, 1.0)
    start = search.best_of(problem, prospects, search.joined(search.thresholds(arms), search.pairs(arms)), 1.0)
    rule = start.rule
    for _ in range(5):  # plans follow one another
        found = search.improved(problem, prospects, rule, 1.0, search.near_lotteries(arms))
        rule = found.rule
    assert found.excess <= 0.0
    assert found.reward >= best.reward - 0.002
    assert found.reward > start.reward


def test_groups_can_be_given_equal_rates() -> None:
    setting = Setting(fg.load_task("interior").problem, np.linspace(0.0, 1.2, 121), groups=2)
    rules, prospects = search.equal_rates(exact(setting)), exact(setting)
    rates = prospects.mixed(prospects.scores.above, rules)
    np.testing.assert_allclose(rates[:, 0], rates[:, 1], atol=0.011)
    assert (rules.low[:, 0] <= rules.low[:, 1]).all()


def classes_of(policies: Played) -> set[str]:
    """Return the kinds of policies that were played."""
    thresholds, weights = policies
    finite, used = np.isfinite(thresholds), weights[..., None] > 0.0
    kinds = set()
    if (used & ~finite).any():
        kinds.add("uniform")
    first, several = thresholds[0], (used[..., 0] & finite[..., 0]).sum(axis=0) > 1
    if (finite[0] & (first[..., :1] != first)).any():
        kinds.add("per-group")
    if (several & (thresholds[0] != thresholds[-1]).any(axis=-1)).any():
        kinds.add("lottery")
    return kinds


@pytest.mark.parametrize("policies", CLASSES)
def test_it_plays_its_class_and_keeps_the_constraints(policies: str) -> None:
    task = fg.load_task("interior")
    run = simulate(task, SafeSearch(policies), rounds=200, seeds=2, library="numpy")
    assert isinstance(run, fg.Run)
    beyond: dict[str, set[str]] = {"threshold": {"uniform"}, "lottery": {"uniform", "lottery"}}
    assert classes_of(run.policies) <= beyond.get(policies, {"uniform", "per-group"})
    assert np.maximum(run.population.residuals, 0.0).sum(axis=0).mean() < 0.002
    assert run.population.reward[:, -50:].mean() > 0.9 * fg.oracle(task).best.reward


def test_without_a_lottery_none_is_played_and_steps_are_small() -> None:
    task = fg.load_task("interior")
    run = simulate(task, SafeSearch(lottery=False), rounds=120, seeds=2, library="numpy")
    assert isinstance(run, fg.Run)
    assert classes_of(run.policies) == set()
    step = float(task.thresholds[1] - task.thresholds[0])
    assert abs(np.diff(run.thresholds[..., 0], axis=1)).max() <= step * max(1, len(task.thresholds) // 20) + 1e-9
    assert len(np.unique(run.thresholds)) > 2


def test_where_no_threshold_is_feasible_it_plays_a_uniform_lottery() -> None:
    task = fg.load_task("german-strict")
    run = simulate(task, SafeSearch("threshold"), rounds=150, seeds=2, library="numpy")
    assert isinstance(run, fg.Run)
    assert np.maximum(run.population.residuals, 0.0).max() == 0.0
    assert (run.traces["exploring"][:, -1] == 0.0).all()


@pytest.mark.parametrize("policies", CLASSES)
def test_an_empty_batch_teaches_nothing(policies: str) -> None:
    learner, setting = SafeSearch(policies), setting_of()
    before = told(learner, setting, 12)
    after = told(learner, setting, 12, empty, after=before)
    np.testing.assert_array_equal(numbers(after.memory), numbers(before.memory))


@pytest.mark.slow
@pytest.mark.parametrize("learner", [*map(SafeSearch, CLASSES), SafeSearch(lottery=False)], ids=repr)
def test_it_keeps_the_contract_of_learners(learner: SafeSearch) -> None:
    check_learner(learner)


def test_it_learns_from_whatever_is_played() -> None:
    """It sees scores and labels by bin, so that a policy played in place of its own teaches as much."""
    other: dict[int, Policy] = {number: Policy.at(np.array(0.5)) for number in range(40)}
    found = told(SafeSearch("threshold"), setting_of(), 41, override=other)
    assert found.memory.labels > 40 * 90
    assert not found.memory.opening


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policies", "name"), [("threshold", "interior"), ("lottery", "label-delay"), ("per-group", "many-groups")]
)
def test_numpy_and_jax_play_the_same(policies: str, name: str) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    task = fg.load_task(name)
    runs: list[Any] = [
        simulate(task, SafeSearch(policies), rounds=80, seeds=2, library=library) for library in ("jax", "numpy")
    ]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)
    np.testing.assert_allclose(runs[0].policies.thresholds, runs[1].policies.thresholds, atol=1e-12)
    np.testing.assert_allclose(runs[0].policies.weights, runs[1].policies.weights, atol=1e-9)


@pytest.mark.parametrize(("lottery", "begins"), [(True, 0.8), (False, 0.5)])
def test_with_past_decisions_it_begins_with_the_best_that_they_show_to_be_safe(lottery: bool, begins: float) -> None:
    """Scores are uniform, and the probability of a positive label: with a cost of 4, 0.8 is the best threshold.

    Without a lottery it takes small steps from the old threshold, 0.45.
    """
    problem = fg.Problem(fg.Utility(4.0), [fg.DemographicParity(0.1), fg.ServiceRate(0.1, 0.6)])
    setting = Setting(problem, np.linspace(0.0, 1.0, 21), groups=2)
    rng, middle = np.random.default_rng(0), (np.arange(22) - 0.5) / 20.0
    scores = np.where((middle > 0.0) & (middle < 1.0), 500.0, 0.0) * np.array([[0.6], [0.4]])
    accepted = np.where(middle > 0.45, scores, 0.0)
    positive = rng.binomial(accepted.astype(int), np.clip(middle, 0.0, 1.0))
    past = Past(scores, np.stack((accepted - positive, positive), axis=-1), np.array(9))
    learner = SafeSearch("threshold", lottery, past)
    memory = learner.init(setting)
    policy = learner.propose(setting, memory, Draws.of(0, 0, 0))
    assert bool(memory.safe)
    assert not memory.opening
    assert len(set(policy.thresholds.ravel())) == 1
    assert float(policy.thresholds[0, 0]) == pytest.approx(begins, abs=0.051 if lottery else 1e-9)


@dataclass(frozen=True)
class Searching(OneLoop):
    """SafeSearch by its rule for one loop."""

    policies: str = "lottery"  # type: ignore[misc]

    level: ClassVar[str] = "selective-labels"
    traces: ClassVar[tuple[str, ...]] = ("exploring", "safe", "infeasible")

    def rule(self, setting: fg.Setting, replicate: int = 0) -> Any:
        return SafeSearch(self.policies)


@pytest.mark.parametrize("policies", CLASSES)
@pytest.mark.parametrize("name", ["interior", "label-delay"])
def test_driven_round_by_round_it_plays_what_it_plays_alone(policies: str, name: str) -> None:
    task = fg.load_task(name)
    rule: Any = simulate(task, SafeSearch(policies), rounds=60, seeds=2, library="numpy")
    driven: Any = simulate(task, Searching(policies), rounds=60, seeds=2, library="numpy")
    np.testing.assert_array_equal(driven.counts, rule.counts)
    np.testing.assert_allclose(driven.policies.thresholds, rule.policies.thresholds)
    np.testing.assert_allclose(driven.policies.weights, rule.policies.weights, atol=1e-12)
    for trace, values in rule.traces.items():
        np.testing.assert_allclose(driven.traces[trace], values)


def test_a_saved_state_goes_on_as_if_nothing_had_happened() -> None:
    task, learner = fg.load_task("interior"), Searching()
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    population = task.environment.start(2)
    rng = np.random.default_rng(1)
    for round_number in range(30):
        policy = learner.propose(state)
        cells = task.environment.cells(population, policy, task.thresholds)
        drawn = np.stack([rng.multinomial(256, each.ravel()).reshape(each.shape) for each in cells])
        learner.observe(state, policy, task.problem.reveal(drawn, "selective-labels", round_number=round_number))
    again = learner.load(json.loads(json.dumps(learner.save(state))), task.setting)
    np.testing.assert_array_equal(numbers_of(again), numbers_of(state))
    np.testing.assert_array_equal(learner.propose(again).thresholds, learner.propose(state).thresholds)


def numbers_of(state: Any) -> Array:
    """Return all numbers that the loops remember."""
    return np.concatenate([numbers(each) for each in state.memories])
