"""Performative: means follow beliefs, and answering the present scores again and again misses the best threshold."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.problem import is_feasible
from fairgate.thresholds import exact_sweep
from tests.environments.worlds import performative


def test_the_means_follow_what_is_believed() -> None:
    np.testing.assert_allclose(performative().mean_scores(np.array([[1.0, 1.0]])), [[0.3, 0.0]])


def test_a_belief_beyond_the_tables_is_integrated() -> None:
    world, thresholds = performative(), np.array([[8.0, -8.0]])
    cells = world.probabilities(np.array([[20.0, 20.0]]), thresholds)
    wide = performative(means=[9.8, -5.7], response=[0.0, 0.0]).probabilities(world.start(1), thresholds)
    np.testing.assert_allclose(cells, wide, atol=1e-8)
    bins = world.histogram(np.array([[20.0, 20.0]]), np.array([-8.0, 8.0]))
    np.testing.assert_allclose(bins[0, 0, 2], cells[0, 0, :, 1], atol=1e-12)


def best_answer(task: fg.Task, believed: float) -> float:
    """Return the best feasible threshold if the scores stayed what they are under this belief."""
    thresholds = np.repeat(task.thresholds[:, None], 2, axis=1)
    found = task.problem.assess(task.environment.probabilities(np.full_like(thresholds, believed), thresholds))
    return float(task.thresholds[np.argmax(np.where(is_feasible(found.residuals), found.reward, -np.inf))])


@pytest.mark.parametrize("first", [-2.0, -0.5, 0.9, 2.0])
def test_repeated_best_answers_settle_on_a_threshold_that_is_not_the_best(first: float) -> None:
    """The two rewards that docs/environments.md gives."""
    task = fg.load_task("performative")
    stable = first
    for _ in range(20):
        stable = best_answer(task, stable)
    assert best_answer(task, stable) == stable == pytest.approx(0.4)
    settled, best = exact_sweep(task, np.array([stable])).point(0), fg.oracle(task).best
    assert settled.feasible
    assert round(settled.reward, 4) == 0.2405
    assert round(best.reward, 4) == 0.2817


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"response": [0.5]}, r"Performative: response must have one value per group, 2, got \[0.5\]"),
        ({"response": [0.5, float("nan")]}, "Performative: response must be finite, got nan at position 1"),
        ({"rate": 0.0}, r"Performative: rate must be in \(0, 1\], got 0.0"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        performative(**changes)
