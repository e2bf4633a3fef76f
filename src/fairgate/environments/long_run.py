"""Where a loop leads, found by iterating the expected update: for environments that do not solve it themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.environments.state import State, change, distance, join, magnitude, repeat, take
from fairgate.errors import InputError, NoSteadyStateError
from fairgate.policy import Policy
from fairgate.settings import Array

if TYPE_CHECKING:
    from fairgate.environments.base import Environment

Rows = NDArray[np.intp]
Move = Callable[[State], State]

STOPPED = 1e-12
"""A state has stopped when a round changes each of its numbers by at most this, relative to 1 + its own size."""

ROUNDING = 1e-14
"""Part of the largest number of a state by which rounding alone may move the others in every round."""

LOOK = 10
"""Rounds from one look at the moves to the next: looking costs as much as moving."""

PATIENCE = 250 * LOOK
"""Rounds after which a move is looked at, and after 4, 16, … times as many, when it must be half of the last at most.

So a loop that slows down on its way is not taken for one that goes on for ever."""

SLOWER = 0.99
"""A loop whose moves shrink from look to look, to this share since the last check at most, may well come to rest."""


def iterate(environment: Environment, thresholds: Array) -> State:
    """Return the state that fixed `thresholds` (replicates, groups) lead to, by expected updates until it stops.

    Linear convergence: a contraction of ρ takes about 28 / (1 − ρ) rounds.
    """
    thresholds = np.asarray(thresholds, dtype=np.float64)

    def mover(rows: Rows) -> Move:
        cut, own = _cut(environment, rows), thresholds[rows]
        return lambda state: cut.expected_update(state, own)

    return _at_rest(environment, mover, thresholds[None])


def settle(environment: Environment, policy: Policy) -> State:
    """Return the state that a policy, randomised or not, leads to: expected updates until the state stops.

    Only updates lead there. A state that is extrapolated from a few of them can leave the domain, where an environment
    may stand still. `update` must not draw random numbers.
    """
    rng = np.random.default_rng(0)

    def mover(rows: Rows) -> Move:
        cut, own = _cut(environment, rows), policy.rows(rows)
        published = cut.published(own)
        return lambda state: cut.update(state, Counts(cut.cells(state, own)), published, rng)

    return _at_rest(environment, mover, policy.thresholds)


def _at_rest(environment: Environment, mover: Callable[[Rows], Move], thresholds: Array) -> State:
    """Move every replicate from the start until a move changes nothing; `thresholds` (options, replicates, groups)."""
    left = np.arange(thresholds.shape[1])
    state, moved = _start(environment, len(left)), mover(left)
    earlier, check = np.full(len(left), np.inf), PATIENCE
    last, shrinks = earlier, np.ones(len(left), dtype=bool)  # the move at the last look, and whether none was larger
    places: list[Rows] = []
    ends: list[State] = []
    for rounds in count(1):
        before, state = state, moved(state)
        if rounds % LOOK:
            continue
        move, moves = distance(before, state), ~(change(before, state) <= STOPPED)  # NaN moves
        lost = ~np.isfinite(move)
        last, shrinks = move, shrinks & (move <= last)
        if rounds == check:
            late = moves & (move > 0.5 * earlier)
            rounded = late & (move <= ROUNDING * magnitude(state))
            late, moves = late & ~rounded, moves & ~rounded
            slow = late & shrinks & (move < SLOWER * earlier)
            if slow.any():
                raise _too_slow(environment, thresholds, left[slow], rounds, move[slow])
            lost |= late
            earlier, check, shrinks = move, 4 * check, np.ones_like(shrinks)
        if lost.any():
            raise _no_rest(environment, thresholds, left[lost], rounds, move[lost])
        if 2 * moves.sum() <= len(left):  # half have stopped: the others go on without them
            rest, going = np.flatnonzero(~moves), np.flatnonzero(moves)
            places.append(left[rest])
            ends.append(take(state, rest))
            left, state, earlier = left[going], take(state, going), earlier[going]
            last, shrinks = last[going], shrinks[going]
            if not len(left):
                break
            moved = mover(left)
    return take(join(ends), np.argsort(np.concatenate(places)))


def _no_rest(environment: Environment, thresholds: Array, lost: Rows, rounds: int, moves: Array) -> NoSteadyStateError:
    return NoSteadyStateError(
        f"{type(environment).__name__} has no steady state for {_which(thresholds, lost)}: after {rounds} expected "
        f"rounds a round still moves the state by {moves[0]:.3g}; freeze it with at(round_number) if it changes by "
        "itself, write expected_update if its people move at random",
        lost,
    )


def _too_slow(environment: Environment, thresholds: Array, slow: Rows, rounds: int, moves: Array) -> InputError:
    """Refuse: where it leads is not known, so that nothing may be left out as if it led nowhere."""
    return InputError(
        f"{type(environment).__name__} is still on its way under {_which(thresholds, slow)} after {rounds} expected "
        f"rounds: a round moves the state by {moves[0]:.3g}, less and less. If it is only slow, say where it ends with "
        "steady_state, or write hastened, which ends there in fewer rounds"
    )


def _which(thresholds: Array, places: Rows) -> str:
    options = thresholds[:, places[0]].tolist()
    return f"thresholds {options[0]}" if len(options) == 1 else f"the lottery of thresholds {options}"


def _cut(environment: Environment, rows: Rows) -> Environment:
    """Return the environment of these replicates; one whose settings are those of all is theirs too."""
    return environment if environment.replicates in (None, 1) else environment.rows(rows)


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
