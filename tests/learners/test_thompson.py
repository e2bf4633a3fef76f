"""Thompson sampling: the rule against a plain transcription, and what it is for."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import Thompson, check_learner
from fairgate.learners.baselines.thompson import shifted
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.problem import is_feasible
from fairgate.thresholds import exact_sweep
from tests.learners.plain_baselines import PlainDwell
from tests.reference import step

LOOPS = 3


class PlainThompson(PlainDwell):
    """One loop, threshold by threshold; `draw` has (K, G, 2) numbers below 1."""

    def __init__(self, task: fg.Task, **settings: Any) -> None:
        groups = task.environment.group_count
        super().__init__([None] * len(task.problem.names), groups, **settings)
        self.task, self.grid = task, task.thresholds.tolist()
        self.known = [[{"people": 0, "accepted": 0, "good": 0, "bad": 0} for _ in range(groups)] for _ in self.grid]

    def draw_share(self, successes: float, failures: float, number: float) -> float:
        a, b = 0.5 + successes / self.settings["inflation"], 0.5 + failures / self.settings["inflation"]
        mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
        return float(min(max(mean + NormalDist().inv_cdf(number) * math.sqrt(variance), 0.0), 1.0))

    def pick(self, draw: Any) -> float:
        came = [1.0 + sum(arm[group]["people"] for arm in self.known) for group in range(self.groups)]
        feasible: list[tuple[float, int]] = []
        others: list[tuple[float, int]] = []
        for i, arm in enumerate(self.known):
            cells = np.zeros((1, self.groups, 2, 2))
            for group, seen in enumerate(arm):
                rate = self.draw_share(seen["accepted"], seen["people"] - seen["accepted"], draw[i][group][0])
                good = self.draw_share(seen["good"], seen["bad"], draw[i][group][1])
                cells[0, group] = [[1.0 - rate, rate * (1.0 - good)], [0.0, rate * good]]
                cells[0, group] *= came[group] / sum(came)
            found = self.task.problem.assess(cells)
            worst = found.residuals[:, 0].tolist()
            if max(worst) <= 1e-12:
                feasible.append((float(found.reward[0]), -i))
            others.append((-sum(max(g, 0.0) for g in worst), -i))
        self.arm = -max(feasible or others)[1]
        return float(self.grid[self.arm])

    def count_labels(self, good: list[int], bad: list[int]) -> None:
        """Labels of a round, which is counted as the epoch says; before it is observed."""
        if self.age >= self.burn_in:
            for group, seen in enumerate(self.known[self.arm]):
                seen["good"] += good[group]
                seen["bad"] += bad[group]

    def digest(self, reward: float, residuals: list[float]) -> None:
        for group, seen in enumerate(self.known[self.arm]):
            seen["people"] += self.people[group]
            seen["accepted"] += self.accepted[group]


@pytest.mark.parametrize("name", ["mve-s", "compas-strict"])
def test_every_choice_is_the_one_the_plain_rule_makes(name: str) -> None:
    task, settings = fg.load_task(name), {"epoch_length": 3, "burn_in": 1, "inflation": 4.0}
    learner = Thompson(**settings)
    state = learner.start(task.setting, LOOPS, np.random.default_rng(5))
    same_numbers, nature = np.random.default_rng(5), np.random.default_rng(6)
    rules = [PlainThompson(task, **settings) for _ in range(LOOPS)]
    world, drawn = task.environment.start(LOOPS), np.zeros(LOOPS)
    for t in range(90):
        if t % 3 == 0:
            drawn = same_numbers.random((LOOPS, len(task.thresholds), 2, 2))
        thresholds = learner.propose(state).single
        assert thresholds[:, 0].tolist() == [rule.choose(draw) for rule, draw in zip(rules, drawn, strict=True)], t
        world, cells = step(task.environment, world, thresholds, 256, nature)
        feedback = task.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        seen = feedback.observation
        for r, rule in enumerate(rules):
            rule.count_labels(seen.positives[r].tolist(), seen.negatives[r].tolist())
            none = [0.0] * len(task.problem.names)
            rule.observe(0.0, none, seen.people[r].tolist(), seen.accepted[r].tolist())


def test_it_keeps_the_contract_with_other_settings() -> None:
    check_learner(Thompson(epoch_length=2, burn_in=0, inflation=1.0))


def test_draws_have_the_mean_and_variance_of_the_posterior() -> None:
    """40,000 draws: five standard errors, and the normal distribution is hardly cut here."""
    away = np.random.default_rng(0).normal(size=40_000)
    drawn = shifted(np.full(40_000, 30.0), np.full(40_000, 20.0), away)
    mean, variance = 30.5 / 51.0, 30.5 * 20.5 / (51.0**2 * 52.0)
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / 40_000)
    assert abs(drawn.var() / variance - 1.0) < 5 * math.sqrt(2.0 / 40_000)


def test_infeasible_thresholds_are_played_less_and_less() -> None:
    task = fg.load_task("interior")
    feasible = is_feasible(exact_sweep(task, task.thresholds).residuals)
    run = fg.simulate(task, Thompson(), rounds=1200, seeds=5)
    fine = feasible[np.searchsorted(task.thresholds, run.thresholds[..., 0])]
    assert fine[:, :150].mean() < 0.4
    assert fine[:, -300:].mean() > 0.7


def test_late_labels_belong_to_the_threshold_that_accepted_these_people() -> None:
    """All labels arrive in the end, so each threshold knows as many as it accepted in rounds that count."""
    task = fg.load_task("label-delay")
    learner = Thompson(epoch_length=2, burn_in=1)
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    loop = Loop(task, 2, 60, Nature(0), "bandit")
    for _ in range(200):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    known = state.labels.sum(axis=-1)
    assert (known <= state.arm_accepted).all()
    assert known.sum() > 0.7 * state.arm_accepted.sum()
    assert (known > 0).any(axis=2).sum(axis=1).min() > 20  # thresholds that know labels
