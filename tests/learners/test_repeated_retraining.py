"""RepeatedRetraining does what its rule says, line by line, and follows a world that drifts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import RepeatedRetraining, check_learner
from fairgate.settings import Array
from tests.reference import step


def test_it_keeps_the_contract() -> None:
    check_learner(RepeatedRetraining())


class PlainPlugIn:
    """The rule for one loop, in plain loops over groups, bins and thresholds."""

    def __init__(self, task: fg.Task) -> None:
        self.problem, self.grid, self.groups = task.problem, task.thresholds, task.environment.group_count
        self.scores = [[0.0] * (len(self.grid) + 1) for _ in range(self.groups)]
        self.labels = [[[0.0, 0.0] for _ in range(len(self.grid) + 1)] for _ in range(self.groups)]
        self.margins = [0.0] * len(self.grid)

    def feedback(self, rates: list[float], positives: list[float], everybody: list[float]) -> tuple[float, float]:
        cells = np.zeros((1, self.groups, 2, 2))
        total = sum(sum(people) for people in self.scores)
        for group, (rate, good, every) in enumerate(zip(rates, positives, everybody, strict=True)):
            rejected = min(max(every - good, 0.0), 1.0 - rate)
            cells[0, group] = [[1.0 - rate - rejected, rate - good], [rejected, good]]
            cells[0, group] *= sum(self.scores[group]) / total
        found = self.problem.assess(cells)
        return float(found.reward[0]), float(found.residuals.max())

    def choose(self, round_number: int) -> float:
        feasible: list[tuple[float, int]] = []
        infeasible: list[tuple[float, int]] = []
        for arm in range(len(self.grid)):
            rates, positives, everybody, errors = [], [], [], []
            for people, labels in zip(self.scores, self.labels, strict=True):
                good = []
                for bad_count, good_count in labels:
                    known = bad_count + good_count + 1.0
                    share = (good_count + 0.5) / known
                    error = math.sqrt(max(share * (1.0 - share), 0.25 / known) / known)
                    good.append(min(share + error, 1.0) if known > 1.0 else 1.0)
                total = sum(people)
                rate = sum(people[arm + 1 :]) / total
                rates.append(rate)
                positives.append(sum(n * q for n, q in zip(people[arm + 1 :], good[arm + 1 :], strict=True)) / total)
                everybody.append(sum(n * q for n, q in zip(people, good, strict=True)) / total)
                weight = total * 1.97 + 1.0
                errors.append(math.sqrt(max(rate * (1.0 - rate), 1.0 / weight) / weight))
            reward, residual = self.feedback(rates, positives, everybody)
            if (round_number - 20) % 5 == 0:
                variance = 0.0
                for group in range(self.groups):
                    effects = []
                    for sign in (-1.0, 1.0):
                        moved, better = list(rates), list(positives)
                        moved[group] = min(max(rates[group] + sign * errors[group], 0.0), 1.0)
                        precision = positives[group] / max(rates[group], 1e-9)
                        better[group] = positives[group] + sign * precision * errors[group]
                        better[group] = min(max(better[group], 0.0), moved[group])
                        effects.append(abs(self.feedback(moved, better, everybody)[1] - residual))
                    variance += max(effects) ** 2
                self.margins[arm] = math.sqrt(variance)
            upper = residual + self.margins[arm]
            (feasible if upper <= 0.0 else infeasible).append((reward if upper <= 0.0 else -upper, -arm))
        return float(self.grid[-max(feasible or infeasible)[1]])

    def learn(self, scores: Array, labels: Array) -> None:
        for group in range(self.groups):
            for place in range(len(self.grid) + 1):
                self.scores[group][place] = 0.97 * self.scores[group][place] + scores[group, place]
                for label in (0, 1):
                    before = self.labels[group][place][label]
                    self.labels[group][place][label] = 0.999 * before + labels[group, place, label]


def test_it_plays_what_a_plain_reading_of_its_rule_plays() -> None:
    task, learner, rng = fg.load_task("interior"), RepeatedRetraining(), np.random.default_rng(3)
    plain, state, world = PlainPlugIn(task), learner.start(task.setting, 1, rng), task.environment.start(1)
    for t in range(200):
        policy = learner.propose(state)
        assert policy.is_lottery.all() == (t < 20)
        if t >= 20:
            assert policy.single[0, 0] == plain.choose(t), f"round {t}"
        world, cells = step(task.environment, world, policy, 256, rng, task.thresholds)
        feedback = task.problem.reveal(cells, "selective-labels")
        learner.observe(state, policy, feedback)
        scores, labels = feedback.observation.binned
        plain.learn(scores[0], labels[0])


def test_it_follows_a_drift_better_than_a_forecast_of_the_long_run() -> None:
    task = fg.load_task("drift")
    follows = fg.simulate(task, RepeatedRetraining(), rounds=1500, seeds=8)
    predicts = fg.simulate(task, fg.SafeForecast(), rounds=1500, seeds=8)
    spent = [run.per_replicate()["population_violation"].mean() for run in (follows, predicts)]
    assert spent[0] < 2.0
    assert spent[0] < 0.5 * spent[1]
    assert follows.population.reward.mean() > predicts.population.reward.mean() + 0.02
    for t in (375, 1125):
        best = fg.oracle(task.at(t)).best.threshold
        assert abs(follows.thresholds[:, t - 10 : t + 10, 0] - best).mean() < 0.15  # a step of the grid is 0.1


def test_the_coin_it_begins_with_has_no_gap() -> None:
    run = fg.simulate(fg.load_task("interior"), RepeatedRetraining(), rounds=20, seeds=5)
    assert run.population_gap.max() < 1e-12
    assert run.population.residuals.max() < 0.0


def test_it_gets_over_a_shock_within_a_hundred_rounds() -> None:
    task = fg.load_task("shock")
    run = fg.simulate(task, RepeatedRetraining(), rounds=1700, seeds=8)
    assert (run.population.residuals.max(axis=0)[:, 1600:] <= 0.0).mean() > 0.9
    assert abs(run.thresholds[:, 1600:, 0] - fg.oracle(task.at(1600)).best.threshold).mean() < 0.1


def test_it_ends_where_the_threshold_is_stable_and_not_where_it_is_best() -> None:
    """As documented: on mve-s few are accepted, so that those who come are not worth accepting."""
    task = fg.load_task("mve-s")
    run = fg.simulate(task, RepeatedRetraining(), rounds=600, seeds=5)
    assert run.summary()["population_reward"].mean < 0.2 * fg.oracle(task).best.reward


def test_where_no_threshold_is_feasible_it_says_so() -> None:
    assert (
        fg.simulate(fg.load_task("mean-shift"), RepeatedRetraining(), rounds=300, seeds=5)
        .traces["infeasible"][:, 100:]
        .all()
    )
    assert (
        not fg.simulate(fg.load_task("placebo"), RepeatedRetraining(), rounds=300, seeds=5).traces["infeasible"].any()
    )


def test_settings_may_vary_by_replicate_and_are_checked() -> None:
    run = fg.simulate(fg.load_task("drift"), RepeatedRetraining(discount=[0.9, 0.97, 0.999]), rounds=1200)
    away = run.thresholds[:, 1125, 0] - fg.oracle(fg.load_task("drift").at(1125)).best.threshold
    assert away[2] > away[1] + 0.05  # the long memory is late
    with pytest.raises(fg.InputError, match=r"RepeatedRetraining: discount must be in \(0, 1\], got 1.5"):
        RepeatedRetraining(discount=1.5)
    with pytest.raises(fg.InputError, match="RepeatedRetraining: opening must be a whole number of at least 1"):
        RepeatedRetraining(opening=0)


@pytest.mark.parametrize("opening", [20.5, [20, 30], float("inf")])
def test_the_opening_is_one_whole_number(opening: Any) -> None:
    with pytest.raises(fg.InputError, match="RepeatedRetraining: opening must be a whole number of at least 1"):
        RepeatedRetraining(opening=opening)
