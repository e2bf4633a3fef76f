"""What holds in every environment: probabilities, the law of a batch, histograms, steady states, who does not move."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import chisquare

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import ENVIRONMENTS, Drift, Environment
from tests.environments.worlds import RNG, WORLDS, some_edges, some_states, some_thresholds, unit
from tests.reference import people, tabulate

FALSE_ALARM = 1e-4

every = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
frozen = pytest.mark.parametrize("world", [world.at(700) for world in WORLDS.values()], ids=WORLDS)


def test_there_is_a_world_of_every_kind() -> None:
    """But for the one whose state is no array, which has tests of its own."""
    assert set(WORLDS) | {"ResponsiveScores"} == set(ENVIRONMENTS)
    for name, world in WORLDS.items():
        assert type(world) is ENVIRONMENTS[name]


@every
def test_cells_sum_to_one_and_acceptance_falls_with_the_threshold(world: Environment) -> None:
    rng = np.random.default_rng(0)
    state, thresholds = some_states(world, 200, rng), some_thresholds(world, 200, rng)
    cells = world.probabilities(state, thresholds)
    assert (cells >= 0).all()
    np.testing.assert_allclose(cells.sum(axis=(1, 2, 3)), 1.0, atol=1e-12)
    higher = world.probabilities(state, thresholds + rng.random((200, 1)) * unit(world)[1])
    assert (Counts(higher).accepted <= Counts(cells).accepted + 1e-9).all()


@every
@pytest.mark.parametrize("row", [0, 1, 2])
def test_people_drawn_one_by_one_fall_into_the_cells_and_bins_as_often(world: Environment, row: int) -> None:
    """Chi-square over group × label × decision, and over group × bin × label."""
    rng = np.random.default_rng(row)
    size, edges = 20_000, some_edges(world, 9)
    state, thresholds = some_states(world, 3, rng)[[row]], some_thresholds(world, 3, rng)[[row]]
    groups, scores, labels = people(world, state[0], size, rng)
    decisions = (scores >= thresholds[0, groups]).astype(np.int64)
    bins = np.zeros((2, len(edges) + 1, 2))
    np.add.at(bins, (groups, np.searchsorted(edges, scores, side="right"), labels), 1)
    for drawn, expected in (
        (tabulate(groups, labels, decisions, 2), world.probabilities(state, thresholds)[0]),
        (bins, world.histogram(state, edges)[0]),
    ):
        often = size * expected >= 5  # those below are pooled, so that the chi-square approximation holds
        counted, wanted = (np.append(each[often], each[~often].sum()) for each in (drawn, size * expected))
        some = wanted > 1e-6
        assert counted[~some].sum() == 0
        assert chisquare(counted[some], wanted[some] * size / wanted[some].sum()).pvalue > FALSE_ALARM


@every
def test_the_fast_histogram_is_the_slow_one(world: Environment) -> None:
    rng = np.random.default_rng(1)
    state, edges = some_states(world, 100, rng), some_edges(world)
    bins = world.histogram(state, edges)
    assert bins.shape == (100, 2, len(edges) + 1, 2)
    assert (bins >= 0).all()
    np.testing.assert_allclose(bins, Environment.histogram(world, state, edges), atol=1e-8)
    np.testing.assert_allclose(bins.sum(axis=(1, 2, 3)), 1.0, atol=1e-11)
    for place in (1, 17, 25):
        cells = world.probabilities(state, np.full((100, 2), edges[place]))
        np.testing.assert_allclose(bins[:, :, place + 1 :].sum(axis=2), cells[..., 1], atol=1e-8)
        np.testing.assert_allclose(bins[:, :, : place + 1].sum(axis=2), cells[..., 0], atol=1e-8)


@every
def test_a_histogram_survives_pickling(world: Environment) -> None:
    state, edges = some_states(world, 5, np.random.default_rng(2)), some_edges(world)
    before = world.histogram(state, edges)
    copy = pickle.loads(pickle.dumps(world))
    np.testing.assert_array_equal(copy.histogram(state, edges), before)
    np.testing.assert_array_equal(
        copy.probabilities(state, np.zeros((5, 2))), world.probabilities(state, np.zeros((5, 2)))
    )


@frozen
def test_the_steady_state_stands_still_and_a_long_loop_arrives_there(world: Environment) -> None:
    thresholds = some_thresholds(world, 20, np.random.default_rng(3))
    state = world.steady_state(thresholds)
    tolerance = 1e-8 * unit(world)[1]
    expected = Counts(world.probabilities(state, thresholds))
    np.testing.assert_allclose(world.update(state, expected, thresholds, RNG), state, atol=tolerance)
    wandering = world.start(20)
    for _ in range(600):
        wandering = world.expected_update(wandering, thresholds)
    np.testing.assert_allclose(wandering, state, atol=10 * tolerance)
    np.testing.assert_allclose(world.probabilities(wandering, thresholds), expected.cells, atol=1e-7)


@every
def test_two_states_come_closer_at_least_as_fast_as_the_contraction_says(world: Environment) -> None:
    rng = np.random.default_rng(4)
    one, other, thresholds = (
        some_states(world, 200, rng),
        some_states(world, 200, rng),
        some_thresholds(world, 200, rng),
    )
    other[:, 2:] = one[:, 2:]  # the round is no part of it
    moved = [world.expected_update(s, thresholds) for s in (one, other)]
    pairs = ((moved[0], moved[1]), (one, other))
    apart, before = (np.abs(a - b)[:, :2].reshape(200, 2, -1).max(axis=-1) for a, b in pairs)
    assert world.contraction() < 1
    assert (apart <= world.contraction() * before + 1e-6 * unit(world)[1]).all()


@every
def test_a_group_absent_from_a_batch_does_not_move(world: Environment) -> None:
    state = some_states(world, 1, np.random.default_rng(5))
    moved = world.update(state, Counts([[[[1, 2], [3, 4]], [[0, 0], [0, 0]]]]), np.full((1, 2), 3.0), RNG)
    assert np.array_equal(moved[0, 1], state[0, 1])
    assert not np.isclose(moved[0, 0], state[0, 0]).any()


@every
def test_a_round_without_a_threshold_to_hear_of_leaves_a_state_of_numbers(world: Environment) -> None:
    state = some_states(world, 1, np.random.default_rng(6))
    moved = world.update(state, Counts([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]), np.full((1, 2), np.nan), RNG)
    assert np.isfinite(moved).all()


@every
def test_frozen_at_a_round_it_changes_no_more(world: Environment) -> None:
    still = world.at(3)
    assert still.at(500) is still
    assert (still is world) == (not isinstance(world, Drift))


@every
@pytest.mark.parametrize("arrival", [0.0, 1.5, float("nan")])
def test_labels_must_arrive_some_day(world: Environment, arrival: float) -> None:
    settings = {name: value for name, value in vars(world).items() if name in type(world).__dataclass_fields__}
    settings = {name: value for name, value in settings.items() if not name.startswith("_")}
    with pytest.raises(fg.InputError, match=f"{type(world).__name__}: label_arrival must be"):
        type(world)(**(settings | {"label_arrival": arrival}))
