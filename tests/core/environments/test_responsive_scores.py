"""ResponsiveScores of one loop: what the environment for arrays does, in random states, under any policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate import policy as for_arrays
from fairgate.core.environments.responsive_scores import Responses, ResponsiveScores
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.environments.responsive_scores import ResponsiveState
from fairgate.errors import InputError
from fairgate.loops.simulation import simulate
from fairgate.random import Draws
from fairgate.worlds.distribution import draw_world
from fairgate.worlds.loading import task_of

WORLDS = (0, 1, 2, 3, 5, 7, 14, 15, 18, 37, 39, 58)
DRAWS = Draws.of(seed=0, loop=0, round_number=0)

Array = Any


def described(name: str | int) -> tuple[fg.environments.ResponsiveScores, Array]:
    """Return an environment and its grid, of a task or of a world by number."""
    task = task_of([draw_world(name)]) if isinstance(name, int) else fg.load_task(name)
    assert isinstance(task.environment, fg.environments.ResponsiveScores)
    return task.environment, task.thresholds


def a_state(environment: fg.environments.ResponsiveScores, rng: np.random.Generator) -> Responses:
    """Return a random state, some shares beyond 0 and 1; numbers of people that respond to nothing stay 1."""
    groups, kept = environment.group_count, max(int(np.max(environment.lag)), 1)
    quality, inflation, relabelled = rng.uniform(-0.1, 1.1, (3, groups))
    comes = environment.by_group["participation_gain"].any()
    size = np.exp(rng.normal(0.0, 1.0, groups)) if comes else np.ones(groups)
    heard = rng.uniform(0.0, 1.0, (kept, groups))
    return Responses(quality, inflation, relabelled, size, heard, np.asarray(float(rng.integers(3000))))


def policies(grid: Array, groups: int, rng: np.random.Generator) -> Iterator[Policy]:
    """Return one threshold, one per group, with infinite ones, and lotteries of both kinds."""
    anywhere = [*rng.normal(0.0, 2.0, 5), -np.inf, np.inf]
    yield Policy.at(rng.choice(grid))
    yield Policy.per_group(rng.normal(0.0, 2.0, groups))
    yield Policy.per_group(rng.choice([-np.inf, np.inf, -7.0, 7.0], groups))
    for options in (2, 4):
        yield Policy(rng.choice([*grid, -np.inf, np.inf], (options, 1)), rng.dirichlet(np.ones(options)))
        yield Policy(rng.choice(anywhere, (options, groups)), rng.dirichlet(np.ones(options)))


@pytest.mark.parametrize("name", [*WORLDS, "lag", "inflation", "cross-group"])
def test_it_does_what_the_environment_for_arrays_does(name: str | int) -> None:
    environment, grid = described(name)
    pure, rng, groups = ResponsiveScores.of(environment), np.random.default_rng(1), environment.group_count
    late = int(np.max(environment.lag))
    for _ in range(2):
        state = a_state(environment, rng)
        before = ResponsiveState(
            state.quality[None], state.inflation[None], state.relabelled[None], state.size[None],
            state.heard[None, :late], state.round[None],
        )  # fmt: skip
        found, wanted = pure.histogram(state, grid), environment.histogram(before, grid)[0]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        for policy in policies(grid, groups, rng):
            thresholds = np.broadcast_to(policy.thresholds, (len(policy.weights), groups))[:, None]
            other = for_arrays.Policy(thresholds, policy.weights[:, None])
            cells = pure.cells(state, policy)
            np.testing.assert_allclose(cells, environment.cells(before, other)[0], atol=1e-12)
            for people in (0, 3, 200):  # nobody, some groups, most groups
                batch = rng.multinomial(people, (cells / cells.sum()).ravel()).reshape(cells.shape)
                moved = pure.update(state, policy, Counts(batch), DRAWS)
                after = environment.update(before, Counts(batch[None]), environment.published(other), rng)
                for field in ("quality", "inflation", "relabelled", "size"):
                    np.testing.assert_allclose(getattr(moved, field), getattr(after, field)[0], atol=1e-12)
                np.testing.assert_allclose(moved.heard[:late], after.heard[0], atol=1e-12)


@pytest.mark.parametrize("name", ["qualification", 2])
def test_it_starts_where_the_environment_for_arrays_starts(name: str | int) -> None:
    environment, grid = described(name)
    pure = ResponsiveScores.of(environment)
    np.testing.assert_allclose(
        pure.histogram(pure.start(), grid), environment.histogram(environment.start(), grid)[0], atol=1e-12
    )


def test_people_hear_of_a_lottery_its_mean_height() -> None:
    environment, _ = described("inflation")  # scores from -6 to 6, so that heights go from -3 to 3
    pure = ResponsiveScores.of(environment)
    ends = Policy.lottery(np.array([-np.inf, np.inf]), np.array([0.25, 0.75]))
    np.testing.assert_allclose(pure.height(ends), 0.75)
    finite = Policy.lottery(np.array([0.0, 9.0]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(pure.height(finite), 0.75)  # 9 is as high as 3; the mean threshold, 4.5, would be 1


def test_signals_are_heard_after_the_lag_and_of_rounds_with_applicants_only() -> None:
    environment, grid = described("lag")
    pure, policy = ResponsiveScores.of(environment), Policy.at(grid[0])
    first = state = pure.start()
    everybody = np.array([[[0.0, 5.0], [0.0, 5.0]], [[0.0, 5.0], [0.0, 5.0]]])
    absent = everybody * np.array([1.0, 0.0])[:, None, None]
    for number in range(31):
        np.testing.assert_array_equal(state.quality, first.quality)
        state = pure.update(state, policy, Counts(absent if number == 7 else everybody), DRAWS)
    assert (state.quality > first.quality).tolist() == [True, False]  # the second group missed a round
    state = pure.update(state, policy, Counts(everybody), DRAWS)
    assert (state.quality > first.quality).all()


def test_numpy_and_jax_play_the_same() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    task, learner = task_of([draw_world(5)]), fg.OFS()  # with ties and a lag
    compiled = simulate(task, learner, rounds=150, seeds=3, batch=64, library="jax")
    plain = simulate(task, learner, rounds=150, seeds=3, batch=64, library="numpy")
    assert isinstance(compiled, fg.Run)
    assert isinstance(plain, fg.Run)
    np.testing.assert_array_equal(compiled.counts, plain.counts)
    np.testing.assert_allclose(compiled.probabilities, plain.probabilities, atol=1e-12)


def test_several_replicates_are_refused() -> None:
    environment = task_of([draw_world(8), draw_world(18)]).environment
    assert isinstance(environment, fg.environments.ResponsiveScores)
    with pytest.raises(InputError, match="one replicate here, got 2"):
        ResponsiveScores.of(environment)
    alone, _ = described(18)
    np.testing.assert_array_equal(
        ResponsiveScores.of(environment.rows(slice(1, 2))).above, ResponsiveScores.of(alone).above
    )
