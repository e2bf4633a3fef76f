"""Compiled environments live through the rounds that NumPy plays, with the same counts: all in one compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairgate.arrays import Array, register
from fairgate.core.environments import pure
from fairgate.core.people import draw_binned
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws
from tests.core.environments.cases import numbers_of
from tests.environments.worlds import WORLDS, some_edges, unit

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")

NAMES = tuple(name for name in WORLDS if name != "ScorePools")
ROUNDS, BATCH = 100, 256
DRAWS = Draws.of(0, 0, 0)  # none of these updates draws anything


def some_policies(name: str) -> Policy:
    """Return a lottery for each round, of two thresholds per group, some of which are infinite."""
    rng = np.random.default_rng(5)
    middle, width = unit(WORLDS[name])
    thresholds = middle + width * rng.uniform(-2.0, 2.0, (ROUNDS, 2, 2))
    thresholds[::7, 0], thresholds[::11, 1] = -np.inf, np.inf
    weights = rng.random(ROUNDS)
    return Policy(thresholds, np.stack((weights, 1.0 - weights), axis=1))


def live(environments: tuple[Any, ...], states: tuple[Any, ...], given: Any) -> tuple[tuple[Any, ...], list[Array]]:
    """Return the states of all environments after one round, and the counts in it."""
    words, policies = given
    counts = [
        Counts(draw_binned(each.cells(state, policy)[:, None], words)[:, 0])
        for each, state, policy in zip(environments, states, policies, strict=True)
    ]
    moving = zip(environments, states, policies, counts, strict=True)
    after = tuple(each.update(state, policy, batch, DRAWS) for each, state, policy, batch in moving)
    return after, [batch.cells for batch in counts]


def test_counts_and_states_are_those_of_numpy() -> None:
    environments = tuple(pure(WORLDS[name]) for name in NAMES)
    edges = tuple(some_edges(WORLDS[name]) for name in NAMES)
    policies = tuple(some_policies(name) for name in NAMES)
    words = np.random.default_rng(6).integers(2**32, size=(ROUNDS, BATCH), dtype=np.uint32)

    states, plain = tuple(each.start() for each in environments), []
    for number in range(ROUNDS):
        now = tuple(Policy(each.thresholds[number], each.weights[number]) for each in policies)
        states, counts = live(environments, states, (words[number], now))
        plain.append(counts)

    register()
    with jax.enable_x64(True):

        def lived(environments: Any, edges: Any, given: Any) -> Any:
            start = tuple(each.start() for each in environments)
            last, counts = jax.lax.scan(lambda states, now: live(environments, states, now), start, given)
            found = zip(environments, last, edges, strict=True)
            return last, counts, [each.histogram(state, ends) for each, state, ends in found]

        known = jax.tree.map(jax.numpy.asarray, (environments, edges, (words, policies)))
        last, counted, histograms = jax.tree.map(np.asarray, jax.jit(lived)(*known))

    for place, name in enumerate(NAMES):
        np.testing.assert_array_equal(counted[place], [each[place] for each in plain], err_msg=name)
        np.testing.assert_allclose(numbers_of(last[place]), numbers_of(states[place]), rtol=1e-12, err_msg=name)
        wanted = environments[place].histogram(states[place], edges[place])
        np.testing.assert_allclose(histograms[place], wanted, atol=1e-12, err_msg=name)
