"""Where a loop leads, found by iterating the expected update: for environments that do not solve it themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.environments.state import State, combined, distance, magnitude, repeat
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.settings import Array

if TYPE_CHECKING:
    from fairgate.environments.base import Environment

STOPPED = 1e-12
"""A state has stopped when a round moves it by no more than this, relative to 1 + its largest number."""

PATIENCE = 1000
"""Rounds in which the largest move must at least halve: nothing else is on its way to a steady state."""


def iterate(environment: Environment, thresholds: Array) -> State:
    """Return the state that fixed `thresholds` (replicates, groups) lead to, by expected updates until it stops.

    Linear convergence: a contraction of ρ takes about 28 / (1 − ρ) rounds.
    """
    thresholds = np.asarray(thresholds, dtype=np.float64)
    state = _start(environment, len(thresholds))
    before = np.inf
    for rounds in count(1):
        moved = environment.expected_update(state, thresholds)
        move = distance(moved, state)
        state = moved
        if (move <= STOPPED * (1.0 + magnitude(state))).all():
            break
        slow = rounds % PATIENCE == 0 and move.max() > 0.5 * before
        if slow or not np.isfinite(move).all():
            place = int(np.argmax(move))  # NaN counts as the largest
            raise InputError(
                f"{type(environment).__name__} has no steady state for thresholds {thresholds[place].tolist()}: after "
                f"{rounds} expected rounds a round still moves the state by {move[place]:.3g}; freeze it with "
                "at(round_number) if it changes by itself, write expected_update if its people move at random"
            )
        if rounds % PATIENCE == 0:
            before = move.max()
    return state


def settle(environment: Environment, policy: Policy) -> State:
    """Return the state that a policy kept for good leads to, lottery or not: expected updates until it stops.

    Every number of the state leaps to where its last two moves point (Aitken's delta-squared process), unless leaps are
    seen to lead a replicate astray, and plain updates must then find it at rest: the state is that of :func:`iterate`,
    found in fewer rounds. `update` must not draw random numbers.
    """
    environment = environment.hastened()
    published, rng = environment.published(policy), np.random.default_rng(0)

    def moved(state: State) -> State:
        return environment.update(state, Counts(environment.cells(state, policy)), published, rng)

    state = _start(environment, policy.replicates)
    leaps, nearest, before = np.ones(policy.replicates, dtype=bool), np.full(policy.replicates, np.inf), np.inf
    for rounds in count(1):
        once = moved(state)
        twice = moved(once)
        move = distance(twice, once)
        if (move <= STOPPED * (1.0 + magnitude(twice))).all():
            break
        if rounds % PATIENCE == 0:
            if not move.max() <= 0.5 * before:
                place = int(np.argmax(move))
                raise InputError(
                    f"{type(environment).__name__} has no steady state for the lottery of thresholds "
                    f"{policy.thresholds[:, place].tolist()}: a round still moves the state by {move[place]:.3g}"
                )
            before = move.max()
        leaps &= move <= nearest
        nearest = np.minimum(nearest, move)
        state = combined(partial(_ahead, leaps), state, once, twice)
    return twice


def _ahead(leaps: NDArray[np.bool_], state: Array, once: Array, twice: Array) -> Array:
    """Return where numbers (replicates, …) that moved twice are headed; where they were, if they do not slow down."""
    first, second = once - state, twice - once
    slowing = (np.abs(second) < 0.9999 * np.abs(first)) & leaps.reshape(-1, *[1] * (state.ndim - 1))
    factor = np.divide(second, first, out=np.zeros_like(first), where=slowing)
    return np.asarray(twice + second * factor / (1.0 - factor))


def _start(environment: Environment, replicates: int) -> State:
    """Return the start of so many replicates, also of an environment whose settings are those of one."""
    alike = environment.replicates in (None, 1)
    return repeat(environment.start(1), replicates) if alike else environment.start(replicates)


def measure_contraction(environment: Environment, thresholds: Sequence[float] | Array | None = None) -> float:
    """Return the largest factor by which one expected round is seen to keep two states apart.

    The states are those after 1, 4 and 16 rounds of each of a few shared thresholds: `thresholds`, or seven that accept
    from nearly everybody to nearly nobody. Distance is the largest difference of any two numbers of the states.
    """
    grid = np.linspace(*score_range(environment), 7) if thresholds is None else np.asarray(thresholds)
    replicates = environment.replicates or 1
    shared = [np.full((replicates, environment.group_count), threshold) for threshold in grid]
    states: list[State] = [environment.start(replicates) for _ in grid]
    largest = 0.0
    for since, until in pairwise((0, 1, 4, 16)):
        for _ in range(since, until):
            states = [environment.expected_update(state, at) for state, at in zip(states, shared, strict=True)]
        for at in shared:
            moved = [environment.expected_update(state, at) for state in states]
            for one, other in combinations(range(len(grid)), 2):
                before, after = distance(states[one], states[other]), distance(moved[one], moved[other])
                apart = before > 1e-4 * (1.0 + magnitude(states[one]))  # nearer, rounding would be measured
                largest = max(largest, float(np.max(after[apart] / before[apart], initial=0.0)))
    return largest


def score_range(environment: Environment) -> tuple[float, float]:
    """Return the shared thresholds that accept 99 and 1 percent of those who come at the start."""
    replicates = environment.replicates or 1
    state = environment.start(replicates)

    def accepted(threshold: float) -> float:
        at = np.full((replicates, environment.group_count), threshold)
        return float(Counts(environment.probabilities(state, at)).overall.mean())

    ends = []
    for share in (0.99, 0.01):
        low, high = -1.0, 1.0
        while accepted(low) < share and low > -1e12:
            low *= 2.0
        while accepted(high) > share and high < 1e12:
            high *= 2.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if accepted(middle) > share else (low, middle)
        ends.append(high)
    return ends[0], ends[1]
