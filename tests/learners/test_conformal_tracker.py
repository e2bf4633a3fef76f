"""The conformal tracker: the rule against a plain transcription, its long-run mean, and what it cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import ConformalTracker, check_learner
from fairgate.problem import violation
from tests.learners.plain_baselines import PlainDwell
from tests.reference import step

LOOPS = 3


class PlainTracker(PlainDwell):
    """One loop, in plain Python."""

    def __init__(self, grid: list[float], *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.low, self.high, self.scanned = grid[0], grid[-1], list[tuple[bool, float, float]]()
        self.slope_of_reward = self.slope_of_residual = 0.0
        self.before: tuple[float, float] | None = None

    def pick(self, draw: Any) -> float:
        if self.m <= self.settings["scan"]:
            self.x = (self.m - 0.5) / self.settings["scan"]
            return float(self.low + self.x * (self.high - self.low))
        if self.m == self.settings["scan"] + 1:
            _, _, self.x = max(self.scanned, key=lambda each: each[:2])  # the first of equals
            self.x = min(max(self.x, self.settings["radius"]), 1 - self.settings["radius"])
        self.u = 1.0 if (self.m - self.settings["scan"]) % 2 == 1 else -1.0
        return float(self.low + (self.x + self.u * self.settings["radius"]) * (self.high - self.low))

    def digest(self, reward: float, residuals: list[float]) -> None:
        worst, memory = max(residuals), self.settings["memory"]
        if self.m <= self.settings["scan"]:
            self.scanned.append((worst <= 0, reward if worst <= 0 else -worst, self.x))
            return
        last_reward, last_worst = self.before or (reward, worst)
        self.slope_of_reward = memory * self.slope_of_reward + self.u * (reward - last_reward)
        self.slope_of_residual = memory * self.slope_of_residual + self.u * (worst - last_worst)
        self.before = reward, worst
        slope = self.slope_of_residual if worst > 0 else self.slope_of_reward
        sign = (slope > 0) - (slope < 0)
        moved = self.x - self.settings["step"] * sign * worst
        self.x = min(max(moved, self.settings["radius"]), 1 - self.settings["radius"])


@pytest.mark.parametrize("name", ["mve-s", "german", "compas-strict"])
def test_every_choice_is_the_one_the_plain_rule_makes(name: str) -> None:
    task = fg.load_task(name)
    settings: dict[str, Any] = {"epoch_length": 3, "burn_in": 1, "step": 0.3, "radius": 0.05, "memory": 0.8, "scan": 4}
    learner = ConformalTracker(**settings)
    state = learner.start(task.setting, LOOPS, np.random.default_rng(5))
    epsilons = [getattr(c, "epsilon", None) for c in task.problem.constraints for _ in c.names]
    rules = [PlainTracker(task.thresholds.tolist(), epsilons, 2, **settings) for _ in range(LOOPS)]
    world, nature = task.environment.start(LOOPS), np.random.default_rng(6)
    for t in range(240):
        thresholds = learner.propose(state).single
        chosen = [rule.choose(None) for rule in rules]
        np.testing.assert_allclose(thresholds[:, 0], chosen, rtol=0, atol=1e-9, err_msg=f"round {t + 1}")
        world, cells = step(task.environment, world, thresholds, 256, nature)
        feedback = task.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        for r, rule in enumerate(rules):
            counts = feedback.observation.people[r].tolist(), feedback.observation.accepted[r].tolist()
            rule.observe(float(feedback.reward[r]), feedback.residuals[:, r].tolist(), *counts)


def test_it_keeps_the_contract_with_other_settings() -> None:
    check_learner(ConformalTracker(epoch_length=1, burn_in=0, radius=0.7, scan=1))


def budgeted(name: str, high: float) -> fg.Task:
    """A task in which accepting pays and only a budget forbids it: reward and residual grow on the same side."""
    task = fg.load_task(name)
    problem = fg.Problem(fg.Utility(0.0), [fg.Budget(high)])
    return fg.Task(task.environment, problem, task.thresholds, "budgeted")


@pytest.mark.parametrize("name", ["interior", "drift"])
def test_a_budget_is_kept_in_the_long_run_whatever_people_do(name: str) -> None:
    """The steps telescope: over M epochs the mean residual is at most 1 / (γ M), here 0.02, after the first signs."""
    learner = ConformalTracker(epoch_length=2, burn_in=0, step=0.2)
    run = fg.simulate(budgeted(name, 0.3), learner, rounds=1000, seeds=3)
    later = run.counts[:, 200:]
    residual = fg.Counts(later).overall.mean(axis=1) - 0.3
    assert (abs(residual) <= 1.0 / (0.2 * 400)).all()
    assert (fg.Counts(later).overall > 0.3).mean() > 0.3  # kept in the mean, not in every round


@pytest.mark.parametrize("high", [0.2, 0.7])
def test_it_goes_to_the_edge_on_which_the_reward_is_higher(high: float) -> None:
    """In the middle of the grid, where it starts, half are accepted; it ends where the budget is used up."""
    run = fg.simulate(budgeted("interior", high), ConformalTracker(scan=1), rounds=1000, seeds=5)
    assert abs(fg.Counts(run.probabilities[:, -200:]).overall.mean() - high) < 0.05


def test_the_scan_finds_the_feasible_interval() -> None:
    """COMPAS is feasible at low thresholds alone; from the middle some loops go the wrong way."""
    broken = []
    for scan in (1, 5):
        run = fg.simulate("compas", ConformalTracker(scan=scan), rounds=400, seeds=10)
        broken.append(violation(run.population.residuals)[:, -100:].mean())
    assert broken[0] > 0.05
    assert broken[1] < 0.005


def test_without_a_constraint_it_wanders_around_the_best_threshold() -> None:
    task = fg.load_task("interior")
    free = fg.Task(task.environment, fg.Problem(fg.Utility(1.0)), task.thresholds, "free")
    run = fg.simulate(free, ConformalTracker(step=0.02, memory=0.8), rounds=1000, seeds=4)
    best = fg.oracle(free).best.threshold
    settled = run.traces["centre"][:, -500:] * 4.0 - 2.0
    assert abs(settled.mean() - best) < 0.4
    assert settled.std() > 0.02
