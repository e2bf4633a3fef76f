"""Tasks: presets by name, and what a task refuses."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.tasks import presets


@pytest.mark.parametrize("name", ["mve-s", "german", "compas", "german-strict", "compas-strict"])
def test_every_preset_loads(name: str) -> None:
    task = fg.load_task(name)
    assert task.name == name
    assert task.environment.group_count == 2
    assert task.environment.contraction() < 1


def test_a_strict_task_differs_from_its_main_one_in_the_constraints_alone() -> None:
    main, strict = presets()["german"], presets()["german-strict"]
    assert strict["environment"] == main["environment"]
    assert strict["grid"] == main["grid"]
    assert strict["learners"] == main["learners"]
    assert strict["problem"] == main["problem"] | {"epsilon": 0.01, "service": [0.35, 0.85]}


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
