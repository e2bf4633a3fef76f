"""Pure forms do what the environments do that they are made of, in every task."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.core.environments import pure
from fairgate.core.policy import Policy
from fairgate.environments import Environment
from fairgate.errors import InputError
from fairgate.random import Draws
from tests.core.environments.cases import numbers_of, of_many, of_one, some_case, steep
from tests.environments.worlds import WORLDS, gaussian, some_edges

TASKS = (
    "mve-s", "interior", "mean-shift", "many-groups", "delayed-impact", "strategic", "performative",
    "retraining-converges", "retraining-diverges", "drift", "shock", "fico", "fico-4",
)  # fmt: skip
TOLERANCE = 1e-8
DRAWS = Draws.of(0, 0, 0)


def described(name: str) -> tuple[Environment, np.ndarray]:
    """Return the environment of a task, or a small world of a kind, and thresholds."""
    if name in TASKS:
        task = fg.load_task(name)
        return task.environment, task.thresholds
    environment = steep() if name == "steep" else WORLDS[name]
    return environment, some_edges(environment)[1:-1]


every = pytest.mark.parametrize("name", [*TASKS, *(name for name in WORLDS if name != "ScorePools"), "steep"])


@every
def test_cells_histograms_and_updates_are_those_of_the_described(name: str) -> None:
    environment, grid = described(name)
    made = pure(environment)
    np.testing.assert_array_equal(numbers_of(made.start()), environment.start(1)[0])
    for number in range(20):
        many, policy, counts = some_case(environment, grid, number)
        state, groups = of_one(environment, many), environment.group_count
        both = of_many(policy, groups)
        cells = made.cells(state, policy)
        np.testing.assert_allclose(cells, environment.cells(many, both)[0], atol=TOLERANCE)
        np.testing.assert_allclose(cells.sum(), 1.0, atol=1e-12)
        histogram = made.histogram(state, grid)
        np.testing.assert_allclose(histogram, environment.histogram(many, grid)[0], atol=TOLERANCE)
        np.testing.assert_allclose(histogram.sum(axis=1), cells.sum(axis=2), atol=1e-12)
        if number % 5 == 3:
            continue  # a lottery with an infinite threshold: tests/core/environments/test_beliefs.py
        after = made.update(state, policy, counts, DRAWS)
        known = environment.update(many, fg.Counts(counts.cells[None]), both.published, np.random.default_rng(0))
        np.testing.assert_allclose(numbers_of(after), known[0], atol=TOLERANCE)


@every
def test_a_group_without_applicants_does_not_move(name: str) -> None:
    environment, grid = described(name)
    made, nobody = pure(environment), fg.Counts(np.zeros((environment.group_count, 2, 2)))
    state = made.start()
    after = made.update(state, Policy.at(grid[3]), nobody, DRAWS)
    moves = 1.0 if "Drift" in type(made).__name__ else 0.0  # the round number
    np.testing.assert_allclose(np.abs(numbers_of(after) - numbers_of(state)).sum(), moves)


def test_environments_that_vary_by_replicate_are_refused() -> None:
    with pytest.raises(InputError, match="gain must be one number"):
        pure(gaussian(gain=[0.1, 0.2]))
