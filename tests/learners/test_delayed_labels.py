"""Labels know where they come from: unknown until they arrive, and then about the policy that accepted those people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.core.learners.components.smooth_response import TYPICAL_PRECISION
from fairgate.learners import LEARNERS, Learner, as_learner, epochs, load_learner
from fairgate.learners.smooth_optimist import features_of
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.problem import Arrival

EVERY = [load_learner("fixed:threshold=0" if name == "fixed" else name) for name in LEARNERS]


def test_few_people_and_many_late_labels_make_an_ordinary_reward() -> None:
    """3 people come while 200 good labels of an earlier batch of 400 arrive: half of it accepted, all of it good."""
    task = fg.load_task("interior")
    cells = np.zeros((1, 2, 2, 2), dtype=np.int64)
    cells[0, 0, 0, 1], cells[0, 1, 0, 0] = 2, 1
    earlier = Arrival(
        0,
        fg.Policy.of([[0.0, 0.0]]),
        np.array([[[0, 120], [0, 80]]]),
        np.array([[200, 200]]),
        np.array([[120, 80]]),
        last=True,
    )
    feedback = task.problem.reveal(cells, "bandit", [earlier])
    assert feedback.reward.tolist() == [0.5]
    assert feedback.credits is not None
    assert feedback.credits[0].share.tolist() == [1.0]
    assert feedback.observation.positives.tolist() == [[120, 80]]


def test_a_label_that_has_not_arrived_is_unknown_and_not_bad() -> None:
    task = fg.load_task("interior")
    cells = np.zeros((1, 2, 2, 2), dtype=np.int64)
    cells[0, :, 1, 1], cells[0, :, 1, 0] = 64, 64
    nothing = Arrival(0, fg.Policy.of([[0.0, 0.0]]), np.zeros((1, 2, 2)), np.array([[128, 128]]), np.array([[64, 64]]))
    feedback = task.problem.reveal(cells, "bandit", [nothing])
    assert np.isnan(feedback.reward).all()
    assert np.isfinite(feedback.residuals).all()  # decisions are known at once
    some = nothing._replace(labels=np.array([[[1, 3], [0, 0]]]))
    assert task.problem.reveal(cells, "bandit", [some]).reward.tolist() == [(3 - 1) / 4 * 0.5]


def test_the_shares_of_a_batch_add_up_to_its_reward() -> None:
    """However its labels are spread over rounds, a batch counts once, with the reward it would have had at once."""
    task = fg.load_task("label-delay")
    loop = Loop(task, 20, 256, Nature(3))
    policy = fg.Policy.shared(np.full(20, 0.2), 2)
    earned, known = np.zeros((20, 20)), np.zeros((20, 20))
    batches = []
    for _ in range(600):
        happened = loop.play(policy)
        batches.append(task.problem.assess(happened.counts).reward)
        for each in happened.feedback.credits or ():
            if each.round < 20:
                earned[each.round] += each.share * each.reward
                known[each.round] += each.share
    np.testing.assert_allclose(known, 1.0)
    np.testing.assert_allclose(earned, batches[:20], atol=1e-12)


def test_late_labels_are_credited_to_the_threshold_that_accepted() -> None:
    """Two thresholds, one after the other; all labels of the first arrive while the second is played."""
    task = fg.load_task("interior")
    first, second = (fg.Policy.shared([task.thresholds[arm]], 2) for arm in (18, 22))
    learner = fg.SmoothOptimist(epoch_length=1)
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    cells = np.full((1, 2, 2, 2), 32)
    later = Arrival(18, first, np.zeros((1, 2, 2)), np.array([[128, 128]]), np.array([[64, 64]]))
    for arm, policy, arrivals in (
        (18, first, [later]),
        (22, second, [later._replace(labels=np.full((1, 2, 2), 32), last=True)]),
    ):
        learner.propose(state)
        state.arm[:] = arm
        learner.observe(state, policy, task.problem.reveal(cells, "bandit", arrivals, round_number=arm))
    features = features_of(state.basis[18], np.full((2, 4), 0.5), np.zeros((), dtype=np.int64))
    weight = 64 / (TYPICAL_PRECISION * (1 - TYPICAL_PRECISION))
    np.testing.assert_allclose(state.label_evidence[0], weight * (0.5 - TYPICAL_PRECISION) * features)
    ofs = fg.OFS()
    known = ofs.start(task.setting, 1, np.random.default_rng(0))
    ofs.observe(known, first, task.problem.reveal(cells, "bandit", [later]))
    ofs.observe(known, second, task.problem.reveal(cells, "bandit", [later._replace(labels=np.array([[[0, 64]] * 2]))]))
    assert known.rewards[0, 18] == pytest.approx(0.5)
    assert known.credited[0].tolist() == [1.0 if arm == 18 else 0.0 for arm in range(41)]


@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_labels_of_a_round_before_the_first_break_nothing(learner: Learner[Any]) -> None:
    """Outcomes of people whom another rule had accepted, before the learner was put in charge, at any level."""
    task = fg.load_task("interior")
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    cells = np.full((1, 2, len(task.thresholds) + 1, 2, 2), 3)
    old = Arrival(
        -7, fg.Policy.of([[0.3, 0.3]]), cells[..., 1], np.array([[450, 450]]), np.array([[260, 260]]), last=True
    )
    seen = cells.sum(axis=2) if learner.level == "bandit" else cells
    for number in range(3):
        learner.propose(state)
        learner.observe(state, learner.propose(state), task.problem.reveal(seen, learner.level, [old], None, number))
    assert not np.isnan(learner.propose(state).thresholds).any()


@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_late_labels_break_nothing(learner: Learner[Any]) -> None:
    task = fg.load_task("label-delay")
    run = fg.simulate(task, learner, rounds=120, seeds=2, batch=30)
    assert np.isfinite(run.population.reward).all()
    assert not np.isnan(run.policies.thresholds).any()


@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_nobody_in_some_replicates_changes_nothing_there(learner: Learner[Any]) -> None:
    """Three replicates; in round 5 nobody comes in the middle one, which goes on as if the round had not been."""
    task = fg.load_task("interior")
    edges = len(task.thresholds) + 1
    rng = np.random.default_rng(4)
    batches = rng.multinomial(200, np.full(2 * edges * 4, 1 / (8 * edges)), size=(12, 3)).reshape(12, 3, 2, edges, 2, 2)
    batches[5, 1] = 0
    state = learner.start(task.setting, 3, np.random.default_rng(0))
    for cells in batches:
        seen = cells if learner.level != "bandit" else cells.sum(axis=2)
        before = learner.propose(state)
        learner.observe(state, before, task.problem.reveal(seen, learner.level))
        policy = learner.propose(state)
        assert not np.isnan(policy.thresholds).any()
        assert not np.isnan(policy.weights).any()
    recommended = learner.recommend(state)
    assert recommended is None or not np.isnan(recommended.thresholds).any()


@pytest.mark.parametrize(
    "learner",
    [
        fg.SmoothOptimist(epoch_length=2),
        fg.SafeForecast(phase_length=2, epoch_length=3),
        fg.learners.BestLottery(collect=6),
        fg.learners.RepeatedRetraining(opening=6),
        fg.learners.ThresholdOptimizer(collect=6),
    ],
    ids=repr,
)
def test_rounds_in_which_nobody_came_are_not_counted(learner: Learner[Any]) -> None:
    """Of two replicates with the same people, one has three empty rounds early on: it is three rounds behind."""
    task = fg.load_task("interior")
    edges = len(task.thresholds) + 1
    people = np.random.default_rng(4).multinomial(400, np.full(2 * edges * 4, 1 / (8 * edges)), size=24)
    people = people.reshape(24, 2, edges, 2, 2)
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    ahead, behind = [], []
    for t in range(24):
        policy = learner.propose(state)
        ahead.append(policy.accepted_share(task.thresholds)[0])
        behind.append(policy.accepted_share(task.thresholds)[1])
        late = np.zeros_like(people[t]) if 2 <= t < 5 else people[t - 3 * (t >= 5)]
        cells = np.stack((people[t], late))
        seen = cells if learner.level != "bandit" else cells.sum(axis=2)
        learner.observe(state, policy, task.problem.reveal(seen, learner.level))
    np.testing.assert_allclose(behind[5:], ahead[2:-3])
    assert (np.diff(ahead, axis=0) != 0).any()


@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_labels_that_never_come_do_not_pile_up(learner: Learner[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "LONGEST_DELAY", 20)
    task = fg.load_task("interior")
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    cells = np.full((1, 2, len(task.thresholds) + 1, 2, 2), 3)
    counts, seen = fg.Counts(cells.sum(axis=2)), cells.sum(axis=2) if learner.level == "bandit" else cells
    for number in range(50):
        policy = learner.propose(state)
        nothing = Arrival(number, policy, np.zeros_like(seen[..., 1]), counts.people, counts.accepted)
        learner.observe(state, policy, task.problem.reveal(seen, learner.level, [nothing], None, number))
    assert all(30 <= number < 50 for number in state.pending)


OVERRIDES = {
    "another threshold": lambda task: fg.Policy.shared(np.full(3, task.thresholds[-1]), 2),
    "off the grid": lambda task: fg.Policy.shared(np.full(3, 0.5 * task.thresholds[:2].sum()), 2),
    "by group": lambda task: fg.Policy.of(np.tile(task.thresholds[[0, -1]], (3, 1))),
    "a lottery": lambda task: fg.Policy.uniform(np.full(3, 0.5), 2),
}


@pytest.mark.parametrize("override", OVERRIDES)
@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_what_was_played_may_be_something_else(learner: Learner[Any], override: str) -> None:
    """A hold or an override for ten rounds: no learner breaks, and none credits its own proposal with it."""
    task = fg.load_task("interior")
    state, loop = learner.start(task.setting, 3, np.random.default_rng(0)), Loop(task, 3, 100, Nature(0), "bandit")
    loop.level = learner.level
    loop.edges = None if learner.level == "bandit" or override == "off the grid" else task.thresholds
    for t in range(40):
        proposed = learner.propose(state)
        played = OVERRIDES[override](task) if 10 <= t < 20 else proposed
        if loop.edges is None and learner.level != "bandit":
            return  # nobody can see off-grid decisions by bin
        learner.observe(state, played, loop.play(played).feedback)
    assert not np.isnan(learner.propose(state).thresholds).any()


def test_ofs_credits_what_was_played_and_not_what_it_proposed() -> None:
    task = fg.load_task("interior")
    learner = fg.OFS()
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    learner.propose(state)
    played = fg.Policy.shared([task.thresholds[30]], 2)
    learner.observe(state, played, task.problem.reveal(np.full((1, 2, 2, 2), 32)))
    assert np.flatnonzero(state.plays[0]).tolist() == [30]
    learner.observe(state, fg.Policy.uniform([0.5], 2), task.problem.reveal(np.full((1, 2, 2, 2), 32)))
    assert np.flatnonzero(state.plays[0]).tolist() == [30]


class Plain:
    """The three methods, and nothing else."""

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"grid": setting.thresholds, "shape": [replicates, setting.groups], "rng": rng, "seen": 0}

    def propose(self, state: dict[str, Any]) -> Any:
        return np.repeat(state["rng"].choice(state["grid"], state["shape"][0])[:, None], state["shape"][1], axis=1)

    def observe(self, state: dict[str, Any], played: fg.Policy, feedback: fg.Feedback) -> None:
        state["seen"] += 1


def test_a_plain_learner_has_a_name_checks_and_a_file() -> None:
    fg.learners.check_learner(Plain())
    task = fg.load_task("interior")
    run = fg.simulate(task, Plain(), rounds=5, seeds=2)
    assert run.learner == "Plain"
    learner = as_learner(Plain())
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    learner.observe(state, learner.propose(state), task.problem.reveal(np.full((2, 2, 2, 2), 9)))
    loaded = learner.load(learner.save(state), task.setting)
    np.testing.assert_array_equal(learner.propose(loaded).thresholds, learner.propose(state).thresholds)
    assert loaded.own["seen"] == 1


class PerGroup:
    """A utility of one's own: good acceptances per person of the worse-off group."""

    def reward(self, counts: fg.Counts) -> Any:
        return (counts.cells[..., 1, 1] / counts.people).min(axis=-1)


def test_a_users_own_reward_is_the_same_late_as_at_once() -> None:
    problem = fg.Problem(PerGroup(), [fg.DemographicParity(0.1)])
    cells = np.array([[[[10, 5], [20, 25]], [[30, 10], [10, 50]]]])
    at_once = problem.reveal(cells).reward
    counts = fg.Counts(cells)
    late = Arrival(0, fg.Policy.of([[0.0, 0.0]]), cells[..., 1], counts.people, counts.accepted, last=True)
    assert problem.reveal(cells, "bandit", [late]).reward == pytest.approx(at_once)


def test_more_labels_than_people_accepted_are_refused() -> None:
    task = fg.load_task("interior")
    wrong = Arrival(
        0, fg.Policy.of([[0.0, 0.0]]), np.array([[[0, 200], [0, 0]]]), np.array([[2, 1]]), np.array([[1, 0]])
    )
    with pytest.raises(
        fg.InputError, match=r"no more labels than people accepted.*got 200 labels, 1 accepted, 3 people"
    ):
        task.problem.reveal(np.full((1, 2, 2, 2), 3), "bandit", [wrong])


def test_labels_that_arrive_where_nobody_comes_are_credited() -> None:
    """Two replicates; nobody comes in the first, while 40 labels of an earlier batch arrive in either."""
    task = fg.load_task("interior")
    learner, first = fg.SmoothOptimist(), fg.Policy.shared(np.full(2, 0.0), 2)
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    cells = np.full((2, 2, 2, 2), 20)
    came = fg.Counts(cells)
    later = Arrival(0, first, np.zeros((2, 2, 2)), came.people, came.accepted)
    learner.propose(state)
    learner.observe(state, first, task.problem.reveal(cells, "bandit", [later], None, 0))
    cells = cells.copy()
    cells[0] = 0
    some = later._replace(labels=np.full((2, 2, 2), 10), last=True)
    learner.observe(state, first, task.problem.reveal(cells, "bandit", [some], None, 1))
    assert state.label_evidence.any()
    np.testing.assert_array_equal(state.label_evidence[0], state.label_evidence[1])


def test_a_scalar_rule_is_told_only_of_thresholds_it_knows() -> None:
    class Rule:
        def __init__(self, grid: list[float], rng: np.random.Generator) -> None:
            self.grid, self.told = grid, 0

        def propose(self) -> float:
            return self.grid[3]

        def observe(self, threshold: float, reward: float, residuals: list[float]) -> None:
            assert reward == reward
            self.told += 1 + self.grid.index(threshold)

    task = fg.load_task("interior")
    learner = fg.learners.scalar(Rule)
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    feedback = task.problem.reveal(np.full((1, 2, 2, 2), 9))
    for played in (learner.propose(state), fg.Policy.of([[0.0, 0.1]]), fg.Policy.uniform([0.5], 2)):
        learner.observe(state, played, feedback)
    assert vars(state.rules[0])["told"] == 4
