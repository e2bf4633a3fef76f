"""BanditGradient and PrimalDual: against a plain transcription, and on a slope they must descend."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.problem import Feedback, Observation
from tests.reference import PlainPrimalDual, step


@pytest.mark.parametrize("task", ["mve-s", "german", "compas-strict"])
@pytest.mark.parametrize(
    "settings",
    [
        {"step": 0.03, "radius": 0.3, "start_at": 0.5, "dual_step": 0.1},
        {"step": 0.2, "radius": 0.05, "start_at": 0.9, "dual_step": 0.4},
    ],
    ids=["gentle", "wild"],
)
def test_primal_dual_plays_as_its_plain_transcription(task: str, settings: dict[str, float]) -> None:
    """The same random numbers and signals, 400 rounds of 4 loops: the same threshold in every round."""
    loaded = fg.load_task(task)
    learner = fg.PrimalDual(**settings)
    low, high = loaded.thresholds[[0, -1]].tolist()
    state = learner.start(loaded.setting, 4, np.random.default_rng(5))
    same_numbers, nature = np.random.default_rng(5), np.random.default_rng(6)
    plain = [PlainPrimalDual(low, high, len(loaded.problem.names), **settings) for _ in range(4)]
    world = loaded.environment.start(4)
    priced = False
    for t in range(400):
        thresholds = learner.propose(state).single
        signs = 2.0 * same_numbers.integers(2, size=4) - 1.0
        chosen = [rule.choose(u) for rule, u in zip(plain, signs.tolist(), strict=True)]
        assert thresholds[:, 0].tolist() == chosen, f"round {t + 1}"
        world, cells = step(loaded.environment, world, thresholds, 256, nature)
        feedback = loaded.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        for r, rule in enumerate(plain):
            rule.observe(float(feedback.reward[r]), feedback.residuals[:, r].tolist())
            priced |= max(rule.multipliers) > 0
    assert priced or task == "mve-s", "the dual ascent must have been at work"


def test_unconstrained_is_primal_dual_that_never_prices_a_constraint(small_task: fg.Task) -> None:
    both = [fg.BanditGradient(step=0.05), fg.PrimalDual(step=0.05, dual_step=1e-300)]
    runs = [fg.simulate(small_task, learner, rounds=200, seeds=3) for learner in both]
    np.testing.assert_allclose(runs[0].thresholds, runs[1].thresholds)


def test_the_gradient_estimate_descends_on_average(small_task: fg.Task) -> None:
    """With reward = −θ the expected step is −η: 2,000 loops of one step, within 6 standard errors."""
    learner = fg.BanditGradient(step=0.01, radius=0.5)
    state = learner.start(small_task.setting, 2000, np.random.default_rng(0))
    before = state.centre.copy()
    thresholds = learner.propose(state).single
    nobody = Observation(*(np.ones((2000, 2)) for _ in range(4)))
    learner.observe(state, thresholds, Feedback(-thresholds[:, 0], np.zeros((3, 2000)), nobody))
    steps = state.centre - before
    assert abs(steps.mean() + 0.01) <= 6 * steps.std() / np.sqrt(2000)


def test_what_is_played_stays_within_the_grids_interval(small_task: fg.Task) -> None:
    run = fg.simulate(small_task, fg.PrimalDual(step=50.0, radius=0.7), rounds=300, seeds=5)
    assert run.thresholds.min() >= -2.0
    assert run.thresholds.max() <= 2.0
