"""Tasks: presets by name, and what a task refuses."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.tasks import presets


@pytest.mark.parametrize("name", presets())
def test_every_preset_loads_and_a_learner_plays_it(name: str) -> None:
    task = fg.load_task(name)
    assert task.name == name
    assert type(task.environment).__name__ == presets()[name]["kind"]
    late = getattr(task.environment, "lag", 0)  # what is on its way is handed on whole from round to round
    assert task.environment.contraction() < 1 or late
    run = fg.simulate(task, fg.OFS(), rounds=5, seeds=2)
    np.testing.assert_allclose(run.probabilities.sum(axis=(2, 3, 4)), 1.0)


def test_a_task_frozen_at_a_round_has_an_oracle() -> None:
    task = fg.load_task("shock")
    with pytest.raises(fg.InputError, match="freeze it first"):
        fg.oracle(task)
    before, after = (fg.oracle(task.at(t)).best.threshold for t in (1499, 1500))
    assert (round(before, 9), round(after, 9)) == (0.1, -0.2)
    assert fg.load_task("interior").at(7).environment is fg.load_task("interior").environment


def test_a_strict_task_differs_from_its_main_one_in_the_constraints_alone() -> None:
    main, strict = presets()["german"], presets()["german-strict"]
    assert strict["environment"] == main["environment"]
    assert strict["grid"] == main["grid"]
    assert strict["learners"] == main["learners"]
    assert strict["problem"] == main["problem"] | {"parity": 0.01, "service": [0.35, 0.85]}


def test_an_unknown_task_is_named_with_the_nearest() -> None:
    with pytest.raises(fg.InputError, match="unknown task 'germann': did you mean 'german'"):
        fg.load_task("germann")


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ([], "grid must be a non-empty array"),
        ([0.0, 0.0], "grid must be strictly increasing"),
        ([1.0, 0.0], "grid must be strictly increasing"),
        ([0.0, np.nan], "grid must be finite, got nan at position 1"),
        ([[0.0], [1.0]], r"grid must be a non-empty array of 1 axes, got shape \(2, 1\)"),
    ],
)
def test_a_grid_that_is_none_is_refused(small_task: fg.Task, grid: list[float], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        fg.Task(small_task.environment, small_task.problem, grid)


def test_a_grid_of_one_threshold_is_enough(small_task: fg.Task) -> None:
    single = fg.Task(small_task.environment, small_task.problem, [0.3])
    for learner in (fg.OFS(), fg.PrimalDual(), fg.BanditGradient()):
        assert (fg.simulate(single, learner, rounds=5, seeds=2).thresholds == 0.3).all()
    assert fg.oracle(single).refined.threshold == 0.3
