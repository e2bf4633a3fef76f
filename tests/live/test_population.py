"""The demo's people have the law of the simulation's, and their labels are as late as they are said to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

import fairgate as fg
from fairgate.live.demo import Population, rounded, spec_of
from fairgate.live.prediction import predict
from fairgate.tasks import presets

FALSE_ALARM = 1e-6
"""How often a right program fails a test of chance, each."""


@pytest.mark.parametrize("name", ["interior", "german", "many-groups"])
def test_people_of_a_round_have_the_law_of_the_loop(name: str) -> None:
    task = rounded(fg.load_task(name))
    people = Population(task, seed=1)
    middle = task.thresholds[len(task.thresholds) // 2]
    groups = task.environment.group_count
    policy = fg.Policy(np.array([[[middle] * groups], [[-np.inf] * groups]]), np.array([[0.7], [0.3]]))
    came = people.come(40_000)
    draws = np.random.default_rng(2).random(40_000)
    accepted = policy.decide(came.scores, came.groups, draws)
    expected = people.environment.cells(people.state, policy, people.edges)[0] * 40_000
    counts = people.respond(came, accepted, policy)
    assert counts.binned is not None
    enough = expected >= 5
    rest = [counts.binned[0][~enough].sum(), expected[~enough].sum()]
    found, wanted = (
        np.append(each[enough], last) for each, last in zip((counts.binned[0], expected), rest, strict=True)
    )
    distance = float(((found - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum())
    assert distance < chi2.isf(FALSE_ALARM, len(found) - 1)


def test_people_respond_to_decisions_as_in_the_loop() -> None:
    task = rounded(fg.load_task("interior"))
    people = Population(task, seed=1)
    policy = fg.Policy.of([[-np.inf, -np.inf]])
    for _ in range(60):
        came = people.come(2_000)
        people.respond(came, policy.decide(came.scores, came.groups), policy)
    shared = np.full((1, 2), -9.0)  # which everybody meets
    steady = task.environment.probabilities(task.environment.steady_state(shared), shared)
    assert people.cells(policy) == pytest.approx(steady, abs=0.005)
    assert people.cells(policy) != pytest.approx(Population(task).cells(policy), abs=0.02)


@pytest.mark.parametrize("name", presets())
def test_every_bins_score_lies_in_it(name: str) -> None:
    people = Population(rounded(fg.load_task(name)))
    assert np.searchsorted(people.fine, people.scores, side="right").tolist() == list(range(len(people.fine) + 1))
    assert np.isin(people.edges, people.fine).all()  # so that bins of the grid have people of their own


def test_labels_are_late_by_what_was_asked_for_and_by_what_the_environment_adds() -> None:
    task = rounded(fg.load_task("interior"))
    assert set(Population(task, late=30).come(100).delays) == {30}
    slow = replace(task, environment=replace(task.environment, label_arrival=0.25))
    delays = Population(slow, late=2).come(20_000).delays
    assert delays.min() == 2
    assert delays.mean() - 2 == pytest.approx(3.0, abs=0.13)  # geometric: sd 3.5; 5 standard errors


def test_labels_are_lost_as_often_as_the_environment_says() -> None:
    task = rounded(fg.load_task("interior"))
    lossy = replace(task, environment=replace(task.environment, label_loss=0.3))
    delays = Population(lossy, late=2).come(20_000).delays
    assert set(delays) == {-1, 2}
    assert (delays < 0).mean() == pytest.approx(0.3, abs=0.017)  # 5 standard errors


class Watching:
    """Plays one threshold, and keeps how many labels came in each round."""

    level = "bandit"

    def __init__(self) -> None:
        self.labels: list[int] = []
        self.origins: list[list[int]] = []

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> list[float]:
        return [float(setting.thresholds[0])] * setting.groups

    def propose(self, state: list[float]) -> list[list[float]]:
        return [state]

    def observe(self, state: list[float], played: fg.Policy, feedback: fg.Feedback) -> None:
        self.labels.append(int((feedback.observation.positives + feedback.observation.negatives).sum()))
        self.origins.append([each.round for each in feedback.credits or () if each.share.any()])


def test_the_prediction_of_late_labels_has_them_exactly_so_late() -> None:
    task = fg.load_task("interior")
    watching = Watching()
    run = predict(task, fg.learners.as_learner(watching), rounds=12, seeds=1, batch=50, late=5)
    accepted = run.counts[0, ..., 1].sum(axis=(1, 2)).tolist()
    assert watching.labels == [0] * 5 + accepted[:7]
    assert watching.origins == [[]] * 5 + [[origin] for origin in range(7)]


def test_without_late_labels_the_prediction_is_the_simulation() -> None:
    task = fg.load_task("interior")
    one, other = predict(task, fg.OFS(), 20, 3, batch=50, seed=4), fg.simulate(task, fg.OFS(), 20, 3, batch=50, seed=4)
    assert (one.counts == other.counts).all()
    late = predict(task, fg.OFS(), 20, 3, batch=50, seed=4, late=1)
    assert (late.counts[:, 0] == other.counts[:, 0]).all()  # the same people come in the first round


def test_the_spec_of_a_task_says_what_the_task_asks_for() -> None:
    task = rounded(fg.load_task("german"))
    spec = spec_of(task, "mixture")
    assert spec.setting.problem.describe() == task.problem.describe()
    assert spec.setting.thresholds.tolist() == task.thresholds.tolist()
    assert spec.setting.groups == task.environment.group_count
    assert spec.start.mode == "learn"


def test_a_threshold_between_two_of_the_grid_is_judged_where_it_is() -> None:
    people = Population(rounded(fg.load_task("interior")), seed=1)
    shared = np.full((1, 2), 0.338)
    exact = people.environment.probabilities(people.state, shared)
    assert people.cells(fg.Policy.of(shared)) == pytest.approx(exact, abs=1e-9)
    came = people.come(100_000)
    accepted = (came.scores >= 0.338).mean()
    assert accepted == pytest.approx(exact[..., 1].sum(), abs=0.01)  # 6 standard errors, and an eighth of a step
