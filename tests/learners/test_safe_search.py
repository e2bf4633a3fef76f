"""SafeSearch: what each class plays, what it refuses, what it does with a past, and how it does on a few worlds."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench.worlds.warm import history_of, old_thresholds
from fairgate.constraints import (
    Budget,
    Constraint,
    DemographicParity,
    DisparateImpact,
    EqualisedOdds,
    EqualOpportunity,
    GroupService,
    OutcomeImprovement,
    ServiceRate,
)
from fairgate.learners import PerGroup, check_learner, load_learner
from fairgate.learners.base import Learner
from fairgate.learners.foresee_or_follow import ForeseeOrFollow
from fairgate.learners.state import encode
from fairgate.learners.tracking import experiments
from fairgate.learners.tracking.learner import Tracking
from fairgate.learners.tracking.search import PROBES, look, plain
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback, Observation
from fairgate.thresholds import exact_sweep
from fairgate.worlds.loading import load_world, solve_world, task_of
from tests.past import past_table

LOTTERY, THRESHOLD = fg.SafeSearch(policies="lottery"), fg.SafeSearch(lottery=False)


def test_each_class_is_played_by_its_rule() -> None:
    kinds = {
        policies: type(fg.SafeSearch(policies=policies).rule) for policies in ("threshold", "lottery", "per-group")
    }
    assert kinds == {"threshold": ForeseeOrFollow, "lottery": Tracking, "per-group": PerGroup}
    for learner in (THRESHOLD, fg.SafeSearch(history=past_table())):
        assert isinstance(learner.rule, Tracking)
        assert learner.rule.only_thresholds
    assert load_learner("safe-search:policies=lottery") == LOTTERY
    assert load_learner("safe-search:lottery=false") == THRESHOLD
    assert (LOTTERY.searched, THRESHOLD.searched) == ("lottery", "threshold")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"policies": "thresholds"}, "unknown policies 'thresholds': did you mean 'threshold'"),
        ({"policies": None}, "unknown policies None"),
        ({"lottery": 1}, "lottery must be True or False, got 1"),
        ({"lottery": "yes"}, "lottery must be True or False, got 'yes'"),
        ({"policies": "lottery", "lottery": False}, "policies='lottery' plays lotteries, so that lottery must be True"),
        ({"policies": "per-group", "history": past_table()}, "policies='per-group' .* history None, got lottery=True"),
        ({"policies": "per-group", "lottery": False}, "policies='per-group' .* lottery must be True .* lottery=False"),
        ({"history": []}, "history must be a table"),
        ({"history": {"score": [0.1]}}, "group"),
    ],
)
def test_bad_input_is_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence) as raised:
        fg.SafeSearch(**settings)
    assert "\n" not in str(raised.value)


def test_a_past_of_other_groups_or_replicates_is_refused() -> None:
    setting = fg.load_task("many-groups").setting
    with pytest.raises(fg.InputError, match=r"history must have the .* groups of the setting, got 2"):
        fg.SafeSearch(history=past_table()).start(setting, 1, np.random.default_rng(0))
    two = fg.SafeSearch(history=fg.History.of([past_table(), past_table(seed=1)]))
    with pytest.raises(fg.InputError, match="one for each of 3 replicates, got 2"):
        two.start(fg.load_task("interior").setting, 3, np.random.default_rng(0))


@pytest.mark.slow
def test_a_learner_with_a_past_keeps_the_contract() -> None:
    """In a world of its own: the checks of `check_learner` are of one to three groups, a past is of some."""
    task = fg.load_task("interior")
    for learner in (fg.SafeSearch(history=past_of(task)), fg.SafeSearch(policies="lottery", history=past_of(task))):
        plays = [play(learner.clone(), task, 40, save_at) for save_at in (-1, -1, 0, 25)]
        assert all(np.array_equal(plays[0], each) for each in plays[1:])


def play(learner: Learner[Any], task: fg.Task, rounds: int, save_at: int = -1) -> np.ndarray:
    """Play some rounds, and return all policies; at `save_at` go on from a JSON copy."""
    state = learner.start(task.setting, 2, np.random.default_rng(1))
    loop = Loop(task, 2, 50, Nature(1), learner.level)
    played = []
    for number in range(rounds):
        if number == save_at:
            state = learner.load(json.loads(json.dumps(learner.save(state), allow_nan=False)), task.setting)
        policy = loop.admitted(learner.propose(state), learner)
        learner.observe(state, policy, loop.play(policy).feedback)
        played.append(np.concatenate((policy.thresholds.ravel(), policy.weights.ravel())))
    return np.stack(played)


@pytest.mark.slow
def test_a_class_can_be_checked_as_any_learner_is() -> None:
    """Its rule, too: what SafeSearch passes on is all there is to it."""
    task = fg.load_task("interior")
    for learner in (LOTTERY, THRESHOLD):
        assert np.array_equal(play(learner, task, 25), play(learner.rule, task, 25))
    check_learner(Tracking(width=0.5, only_thresholds=True))


def alone(feedback: Feedback, row: slice) -> Feedback:
    """Return what one replicate is told."""

    def credit(each: Credit) -> Credit:
        played = Policy(each.played.thresholds[:, row], each.played.weights[:, row])
        return Credit(each.round, played, each.last, *(values[row] for values in each[3:]))

    seen = feedback.observation
    return feedback._replace(
        reward=feedback.reward[row],
        residuals=feedback.residuals[:, row],
        observation=Observation(
            *(values[row] for values in seen[:4]), *(None if values is None else values[row] for values in seen[4:])
        ),
        credits=None if feedback.credits is None else tuple(map(credit, feedback.credits)),
    )


def bits(state: Any) -> str:
    """Return the state as text, to the last bit, but for the random numbers."""
    saved = encode(state)["fields"]
    return json.dumps({name: value for name, value in saved.items() if name not in ("rng", "pending")})


@pytest.mark.parametrize("learner", [LOTTERY, THRESHOLD], ids=["lottery", "threshold"])
@pytest.mark.parametrize("numbers", [(4, 14, 24, 34), (8, 18, 28), (5, 15)], ids=str)
def test_worlds_side_by_side_are_played_as_alone(numbers: tuple[int, ...], learner: fg.SafeSearch) -> None:
    """Of other people, limits and costs; the second are of three groups with lost labels, the third with late ones."""
    worlds = [load_world(number) for number in numbers]
    task, row = task_of(worlds), slice(1, 2)
    loop = Loop(task, len(worlds), worlds[0].shape.batch, Nature(3), learner.level)
    whole = learner.start(task.setting, len(worlds), np.random.default_rng(0))
    single = learner.start(task.rows(row).setting, 1, np.random.default_rng(0))
    for _ in range(45):
        policy, own = learner.propose(whole), learner.propose(single)
        np.testing.assert_array_equal(policy.thresholds[:, row], own.thresholds)
        np.testing.assert_array_equal(policy.weights[:, row], own.weights)
        feedback = loop.play(loop.admitted(policy, learner)).feedback
        learner.observe(whole, policy, feedback)
        learner.observe(single, own, alone(feedback, row))


def test_pasts_side_by_side_are_absorbed_as_alone() -> None:
    """Tables of other lengths, the shortest of one batch, whose old threshold is far from the best."""
    task = fg.load_task("interior")
    setting = fg.Setting(fg.Problem(fg.Utility(1.0), [ServiceRate(0.02, 0.98)]), task.thresholds, groups=2)
    tables = [past_table(people, cut, seed) for seed, (people, cut) in enumerate([(240, 0.9), (2000, 0.4), (900, 0.7)])]
    tables = [table | {"score": 3.0 * table["score"] - 1.5} for table in tables]
    for policies in ("threshold", "lottery"):
        together = fg.SafeSearch(policies=policies, history=fg.History.of(tables))
        first = together.propose(together.start(setting, 3, np.random.default_rng(0)))
        for place, table in enumerate(tables):
            own = fg.SafeSearch(policies=policies, history=table)
            policy = own.propose(own.start(setting, 1, np.random.default_rng(0)))
            np.testing.assert_array_equal(first.thresholds[:, place : place + 1], policy.thresholds)
            np.testing.assert_array_equal(first.weights[:, place : place + 1], policy.weights)


CONSTRAINTS: list[list[Constraint]] = [
    [],
    [DemographicParity(0.1)],
    [ServiceRate(0.3, 0.7)],
    [EqualOpportunity(0.1), ServiceRate(0.2, 0.9)],
    [EqualisedOdds(0.1)],
    [DisparateImpact(0.8)],
    [Budget(0.4)],
    [GroupService(0.2, 0.8)],
    [OutcomeImprovement(0.1, 0.2, 0.0)],
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("learner", [LOTTERY, THRESHOLD], ids=["lottery", "threshold"])
def test_every_constraint_will_do(learner: fg.SafeSearch, constraints: list[Constraint], small_task: fg.Task) -> None:
    task = dataclasses.replace(small_task, problem=fg.Problem(fg.Utility(1.0), constraints))
    run = fg.simulate(task, learner, rounds=30, seeds=2, batch=100)
    assert np.isfinite(run.population.reward).all()
    assert not np.isnan(run.policies.thresholds).any()
    np.testing.assert_allclose(run.policies.weights.sum(axis=0), 1.0)
    if not constraints:
        assert (run.population.reward[:, -10:] > 0.0).all()


@pytest.mark.parametrize("learner", [LOTTERY, THRESHOLD], ids=["lottery", "threshold"])
def test_a_grid_of_one_threshold_and_a_group_that_hardly_comes(learner: fg.SafeSearch) -> None:
    """Of 20 people, every fifth batch has somebody of the smaller group."""
    environment = fg.environments.GaussianScores(
        means=[-0.2, 0.3], shares=[0.01, 0.99], sd=[1.0, 0.7], slope=2.5, midpoint=0.1, gain=0.5, rate=0.1
    )
    problem = fg.Problem(fg.Utility(1.0), [DemographicParity(0.3), EqualOpportunity(0.4)])
    for grid in ([0.0], np.linspace(-2, 2, 9)):
        run = fg.simulate(fg.Task(environment, problem, grid, "rare"), learner, rounds=50, seeds=3, batch=20)
        assert (run.counts.sum(axis=(-1, -2))[..., 0] == 0).any()
        assert not np.isnan(run.policies.thresholds).any()
        assert (run.policies.weights >= 0.0).all()


def test_nobody_in_a_replicate_leaves_it_as_it_was_but_for_labels_that_arrive() -> None:
    task = fg.load_task("interior")
    bins = len(task.thresholds) + 1
    rng = np.random.default_rng(5)
    batches = rng.multinomial(150, np.full(8 * bins, 1 / (8 * bins)), size=(40, 2)).reshape(40, 2, 2, bins, 2, 2)
    for learner in (LOTTERY, THRESHOLD):
        some = learner.start(task.setting, 2, np.random.default_rng(0))
        for number, cells in enumerate(batches):
            learner.observe(some, learner.propose(some), task.problem.reveal(cells, learner.level))
            if number % 7 == 3:
                before = bits(some)
                learner.observe(some, learner.propose(some), task.problem.reveal(0 * cells, learner.level))
                assert bits(some) == before
                first = learner.propose(some)
                half = cells * np.array([0, 1])[:, None, None, None, None]
                learner.observe(some, first, task.problem.reveal(half, learner.level))
                then = learner.propose(some)
                assert np.array_equal(then.thresholds[:, 0], first.thresholds[:, 0])
                assert np.array_equal(then.weights[:, 0], first.weights[:, 0])
        state: Any = learner.start(task.setting, 1, np.random.default_rng(0))
        late = task.problem.reveal(0 * batches[0, :1], learner.level, [], batches[0, :1, ..., 1])
        learner.observe(state, learner.propose(state), late)
        assert state.labels.sum() == batches[0, 0, ..., 1].sum()


def test_without_a_lottery_none_is_ever_played() -> None:
    """On a task in which no threshold is feasible, too."""
    for name in ("interior", "mean-shift", "label-delay"):
        run = fg.simulate(fg.load_task(name), THRESHOLD, rounds=80, seeds=3, batch=100)
        assert len(run.policies.weights) == 1
        thresholds = run.policies.thresholds[0]
        assert np.isin(thresholds, fg.load_task(name).thresholds).all()
        assert (thresholds == thresholds[..., :1]).all()  # the same for all groups


def test_a_lottery_begins_uniformly_and_then_has_a_say_of_the_score() -> None:
    run = fg.simulate(fg.load_task("interior"), LOTTERY, rounds=100, seeds=3, batch=256)
    assert np.isinf(run.policies.thresholds[:, :, 0]).all()
    assert np.isfinite(run.policies.thresholds[:, :, -1]).any(axis=(0, 2)).all()
    exploring = run.traces["exploring"]
    assert exploring[:, 0].all()
    assert not exploring[:, -1].any()
    changes = np.diff(exploring.astype(int), axis=1)
    assert (changes[:, : experiments.FIRST - 1] <= 0).all()  # nothing is spent on labels
    assert (changes[:, experiments.FIRST - 1 :] > 0).any(axis=1).all()  # and something to see how people answer


def test_labels_of_the_rejected_are_looked_for_where_a_constraint_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal opportunity: in some later rounds anybody may be accepted, which is feasible, and pays."""
    for fund in ("CREDIT", "BUDGET"):
        monkeypatch.setattr(experiments, fund, 0.0)  # nothing is spent on how people answer
    run = fg.simulate(task_of([load_world(77)]), LOTTERY, rounds=100, seeds=1, batch=500)
    probes = run.traces["exploring"][0].astype(bool)
    probes[: int((~probes).argmax())] = False  # the opening
    assert 0 < probes.sum() < 20
    thresholds, weights = run.policies
    assert np.isneginf(thresholds[0, 0, probes]).all()
    assert np.isin(weights[0, 0, probes], PROBES).all()
    assert run.population.residuals[:, 0, probes].max() <= 0.0
    last = int(np.flatnonzero(probes).max())
    assert run.population.reward[0, last + 1 :].mean() > run.population.reward[0, 3:9].mean()


def test_rounds_in_which_something_else_was_played_do_not_make_it_restless() -> None:
    """Somebody accepts everybody for twenty rounds: that people were accepted whom it did not expect is no luck."""
    task = fg.load_task("interior")
    for learner in (LOTTERY, THRESHOLD):
        state: Any = learner.start(task.setting, 3, np.random.default_rng(0))
        loop = Loop(task, 3, 256, Nature(0), learner.level)
        everybody = Policy.uniform(np.ones(3), 2)
        for number in range(60):
            played = everybody if 30 <= number < 50 else learner.propose(state)
            before = state.restlessness.squared.copy()
            learner.observe(state, played, loop.play(played).feedback)
            if played is everybody:
                assert (state.restlessness.squared <= before).all()
        assert (state.restlessness.now(np.arange(3)) < 0.01).all()


def past_of(task: fg.Task, people: int = 5000, threshold: float | None = None, seed: int = 7) -> fg.History:
    """Return decisions of the old threshold that benchmarks of worlds with a past have, or of another."""
    old = old_thresholds(task, 1) if threshold is None else np.array([threshold])
    loop = Loop(task, 1, 250, Nature(seed), "selective-labels")
    policy = Policy.shared(old, task.environment.group_count)
    seen = [loop.play(policy).feedback.observation for _ in range(people // 250)]
    return history_of(task.setting, seen, old)


@pytest.mark.parametrize("number", [200, 215, 231, 244, 259])
def test_the_first_policy_after_a_past_is_no_worse_than_the_old_one_by_what_the_past_tells(number: int) -> None:
    task = task_of([load_world(number)])
    history = past_of(task)
    for policies in ("threshold", "lottery"):
        learner = fg.SafeSearch(policies=policies, history=history)
        rule = learner.rule
        assert isinstance(rule, Tracking)
        state: Any = learner.start(task.setting, 1, np.random.default_rng(0))
        assert not state.exploring.any()
        outlook = rule.outlook(state, np.arange(1))
        options = len(task.thresholds) + 2
        old = plain(history.old_policy(task.setting).shared + 1.0, options)
        reward, upper, *_ = look(outlook, np.stack((state.lottery, old), axis=-1), rule.width)
        if upper[1, 0] <= 0.0:
            assert upper[0, 0] <= 1e-6
            assert state.safe.all()
            assert reward[0, 0] >= reward[1, 0] - 0.006  # the inertia of a lottery
        if policies == "threshold":  # nobody tosses coins where a threshold is safe
            least = look(outlook, plain(np.arange(1.0, options - 1.0)[None], options), rule.width)[1].min()
            assert learner.propose(state).is_lottery.all() == (least > 0.0) or abs(least) < 1e-3


def test_where_no_threshold_is_safe_the_refuge_is_a_lottery_if_one_may_be_played() -> None:
    task = fg.load_task("mean-shift")
    history = past_of(task)
    played = {}
    for lottery in (True, False):
        learner = fg.SafeSearch(lottery=lottery, history=history)
        run = fg.simulate(task, learner, rounds=150, seeds=3, batch=256)
        assert run.policies.thresholds.shape[0] == 1 + lottery
        played[lottery] = run
        late = Policy(run.policies.thresholds[:, :, -1], run.policies.weights[:, :, -1])
        assert late.is_lottery.all() == lottery
        assert (run.traces["safe"][:, -1] == lottery).all()
    violated = [run.per_replicate()["population_violation"].mean() for run in played.values()]
    assert violated[0] < violated[1]


def test_a_threshold_with_a_past_moves_by_small_steps() -> None:
    """While it is safe: from the old threshold on."""
    task = fg.load_task("interior")
    history = past_of(task, threshold=float(task.thresholds[18]))
    run = fg.simulate(task, fg.SafeSearch(lottery=False, history=history), rounds=150, seeds=3, batch=256)
    places = np.searchsorted(task.thresholds, run.policies.thresholds[0, ..., 0])
    old = int(history.old_policy(task.setting).shared[0])
    safe = run.traces["safe"].astype(bool)
    moved = np.abs(np.diff(places, axis=1, prepend=old))
    assert (moved[safe] <= max(len(task.thresholds) // 20, 1)).mean() > 0.98
    assert len(run.policies.weights) == 1


@pytest.mark.slow
@pytest.mark.parametrize("learner", [LOTTERY, THRESHOLD], ids=["lottery", "threshold"])
def test_where_nothing_changes_it_settles_on_what_is_feasible_and_near_the_best(learner: fg.SafeSearch) -> None:
    task = fg.load_task("interior")
    kept: dict[str, Any] = {"gain": 0.0}
    still = dataclasses.replace(task, environment=dataclasses.replace(task.environment, **kept))
    run = fg.simulate(still, learner, rounds=600, seeds=6, batch=256)
    figures = run.per_replicate()
    assert np.median(figures["feasible"]) > 0.95
    assert figures["feasible"].mean() > 0.9
    assert figures["population_reward"].mean() > exact_sweep(still, still.thresholds).best.reward - 0.02


@pytest.mark.slow
def test_on_development_worlds_much_of_what_is_at_stake_is_won_and_little_violated() -> None:
    """Worlds of two shapes; of what the best lottery earns beyond the best uniform one."""
    shares: list[float] = []
    spent: list[float] = []
    for numbers in ((5, 15, 25), (4, 14, 24, 34)):
        worlds = [load_world(number) for number in numbers]
        run = fg.simulate(task_of(worlds), LOTTERY, rounds=1000, batch=worlds[0].shape.batch)
        figures = run.per_replicate()
        for number, reward in zip(numbers, figures["population_reward"], strict=True):
            found = solve_world(number)[1]
            shares.append((reward - found.fair) / (found.lottery - found.fair))
        spent.extend(figures["population_violation"] / 1000)
    assert np.median(shares) > 0.4, shares
    assert np.mean(spent) < 0.005, spent


@pytest.mark.slow
@pytest.mark.parametrize("learner", [LOTTERY, fg.SafeSearch()], ids=["lottery", "threshold"])
def test_rounds_said_to_be_safe_are_feasible_nine_times_in_ten(learner: fg.SafeSearch) -> None:
    """What docs/learners/safe-search.md says of the trace ``safe``, on development worlds of all ten shapes."""
    said, right, wrongly = 0.0, 0.0, 0
    for first in range(200, 210):
        worlds = [load_world(number) for number in range(first, first + 40, 10)]
        run = fg.simulate(task_of(worlds), learner, rounds=400, batch=worlds[0].shape.batch)
        safe = run.traces["safe"] == 1
        feasible = run.population.residuals.max(axis=0) <= 1e-9
        said, right = said + safe.sum(), right + (safe & feasible).sum()
        if learner is LOTTERY:  # a uniform lottery is feasible everywhere
            wrongly += int((run.traces["infeasible"] == 1).any(axis=1).sum())
    assert said > 10_000
    assert right / said > 0.9, right / said
    assert wrongly <= 1
