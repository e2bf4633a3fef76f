"""check_environment: what every environment must do, built-in or a user's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairgate.counts import Counts
from fairgate.environments.base import Environment
from fairgate.environments.long_run import iterate, measure_contraction, score_range, settle
from fairgate.environments.state import State, change, distance, flatten, take
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.settings import Array

EXACT = 1e-9
"""How far probabilities that must sum to 1 may be off."""

CLOSE = 1e-6
"""How far numbers got in two ways may be apart, relative to 1 + their size: tables and root finders err by 1e-8."""


class EnvironmentCheckError(AssertionError):
    """An environment does not keep the contract; the message says which part."""


def check_environment(environment: Environment, grid: ArrayLike | None = None) -> None:
    """Run an environment through the contract and raise :class:`EnvironmentCheckError` at the first breach.

    Checked, in states that a few thresholds lead to: shapes of the state; probabilities that are non-negative, sum to
    1, and move people from accepted to rejected as the threshold rises; a histogram that agrees with them; an update
    that leaves its argument alone, gives the same from the same random numbers and does not move a group with nobody in
    the batch; a steady state that agrees with iterating the expected update; the same under randomised policies and
    thresholds per group; a contraction, where one is declared, no smaller than measured; settings cut by `rows`;
    pickling. An environment that changes by itself has no steady state: where the loop leads is then checked as it
    stands in round 0.

    `grid` are thresholds to try, by default some of the environment's own `candidates` between those that accept 99 and
    1 percent of the people.

    >>> import fairgate as fg
    >>> fg.environments.check_environment(fg.load_task("interior").environment)
    """
    try:
        _Check(environment, grid).run()
    except InputError as error:
        raise EnvironmentCheckError(f"{type(environment).__name__}: {error}") from error


class _Check:
    """One check of one environment: the thresholds and states it is tried in."""

    def __init__(self, environment: Environment, grid: ArrayLike | None) -> None:
        self.environment = environment
        self.groups, self.replicates = environment.group_count, environment.replicates or 3
        self.check_start()
        self.check_probabilities(environment.start(self.replicates), [0.0])  # before they are relied on
        tried = environment.candidates(*score_range(environment)) if grid is None else np.asarray(grid, dtype=float)
        self.grid = np.unique(tried[np.linspace(0, len(tried) - 1, 7).astype(int)])

    def shared(self, threshold: float) -> Array:
        return np.full((self.replicates, self.groups), threshold)

    def cells(self, state: State, threshold: float) -> Array:
        return self.environment.probabilities(state, self.shared(threshold))

    def require(self, kept: bool | np.bool_, breach: str) -> None:
        if not kept:
            raise EnvironmentCheckError(f"{type(self.environment).__name__}: {breach}")

    def run(self) -> None:
        states = self.states()
        for state in states:
            self.check_probabilities(state, self.grid)
            self.check_histogram(state)
            self.check_update(state)
        self.check_copies(states[1])
        self.check_rows(states[1])
        still = self.environment.at(0)
        check = self if still is self.environment else _Check(still, self.grid)
        for state in check.states():
            check.check_absent_groups(state)
        check.check_long_run()
        check.check_policies()
        self.check_contraction()

    def states(self) -> list[State]:
        """Return the start, and where a few rounds of the lowest, a middle and the highest threshold lead."""
        found = [self.environment.start(self.replicates)]
        for threshold in self.grid[[0, len(self.grid) // 2, -1]]:
            state, rng = found[0], np.random.default_rng(1)
            for _ in range(5):
                people = self.cells(state, threshold)
                counts = Counts(rng.multinomial(500, people.reshape(len(people), -1)).reshape(people.shape))
                state = self.environment.update(state, counts, self.shared(threshold), rng)
            self.check_shapes(state, found[0], "update")
            found.append(state)
        return found

    def check_start(self) -> None:
        for replicates in {self.replicates, self.environment.replicates or 1}:
            for name, values in flatten(self.environment.start(replicates)).items():
                told = f"start({replicates}) gives {name}"
                self.require(len(values) == replicates, f"{told} of shape {values.shape}, not ({replicates}, …)")
                self.require(np.isfinite(values).all(), f"{told} that is not finite")

    def check_shapes(self, state: State, like: State, what: str) -> None:
        wanted, got = ({name: values.shape for name, values in flatten(each).items()} for each in (like, state))
        self.require(got == wanted, f"{what} gives a state of shapes {got}, not {wanted}")
        for name, values in flatten(state).items():
            self.require(np.isfinite(values).all(), f"{what} gives {name} that is not finite")

    def check_probabilities(self, state: State, grid: Sequence[float] | Array) -> None:
        """They are shares of the same people, of whom a higher threshold accepts fewer."""
        wanted = (self.replicates, self.groups, 2, 2)
        found = []
        for threshold in grid:
            cells, where = self.cells(state, threshold), f"at threshold {threshold:g}"
            self.require(np.shape(cells) == wanted, f"probabilities have shape {np.shape(cells)}, not {wanted}")
            self.check_cells(cells, where)
            same = np.array_equal(cells, self.cells(state, threshold))
            self.require(same, f"probabilities differ from one call to the next, {where}")
            found.append(cells)
        accepted, people = np.stack(found)[..., 1], np.sum(found, axis=-1)
        self.require(abs(people - people[0]).max() <= CLOSE, "who arrives in a state depends on the threshold")
        self.require((np.diff(accepted, axis=0) <= CLOSE).all(), "a higher threshold accepts more people")

    def check_cells(self, cells: Array, where: str) -> None:
        self.require((cells >= 0.0).all(), f"a probability is {np.min(cells):g}, below 0 or not a number, {where}")
        total = _farthest_from_1(cells)
        self.require(abs(total - 1.0) <= EXACT, f"probabilities sum to {total:.6g}, not to 1, {where}")

    def check_histogram(self, state: State) -> None:
        bins = self.environment.histogram(state, self.grid)
        wanted = (self.replicates, self.groups, len(self.grid) + 1, 2)
        self.require(np.shape(bins) == wanted, f"histogram has shape {np.shape(bins)}, not {wanted}")
        self.require((bins >= 0.0).all(), f"a number of the histogram is {np.min(bins):g}, below 0 or not a number")
        total = _farthest_from_1(bins)
        self.require(abs(total - 1.0) <= CLOSE, f"histogram sums to {total:.6g}, not to 1")
        for place, edge in enumerate(self.grid):
            apart = np.abs(bins[:, :, place + 1 :].sum(axis=2) - self.cells(state, edge)[..., 1]).max()
            self.require(apart <= CLOSE, f"histogram and probabilities differ by {apart:.3g} above {edge:g}")

    def check_update(self, state: State) -> None:
        thresholds = self.shared(self.grid[len(self.grid) // 2])
        counts = Counts(np.round(1000 * self.environment.probabilities(state, thresholds)))
        before = copy.deepcopy(state)
        one, other = (self.environment.update(state, counts, thresholds, np.random.default_rng(2)) for _ in range(2))
        self.require(_same(state, before), "update changes the state that it is given")
        self.check_shapes(one, state, "update")
        self.require(_same(one, other), "update differs between two generators of the same seed")
        self.check_shapes(self.environment.expected_update(state, thresholds), state, "expected_update")
        if self.draws(state, Policy.of(thresholds)):
            self.check_expected(state, thresholds)

    def draws(self, state: State, policy: Policy) -> bool:
        """Whether `update` uses its random numbers."""
        rng, untouched = np.random.default_rng(3), np.random.default_rng(3)
        published = self.environment.published(policy)
        self.environment.update(state, Counts(self.environment.cells(state, policy)), published, rng)
        return bool(rng.bit_generator.state != untouched.bit_generator.state)

    def check_expected(self, state: State, thresholds: Array) -> None:
        """Random updates are on average the expected one, in the mean of each array of the state."""
        exact, rng = Counts(self.environment.probabilities(state, thresholds)), np.random.default_rng(4)
        drawn = [_means(self.environment.update(state, exact, thresholds, rng)) for _ in range(100)]
        for name, wanted in _means(self.environment.expected_update(state, thresholds)).items():
            values = np.array([each[name] for each in drawn])
            errors = values.std(axis=0) / np.sqrt(len(values))
            off = np.abs(values.mean(axis=0) - wanted) - CLOSE * (1.0 + np.abs(wanted))
            kept = (off <= 6.0 * errors).all()  # a false alarm in 1e9
            self.require(kept, f"expected_update moves {name} otherwise than update does on average")

    def check_copies(self, state: State) -> None:
        try:
            copied = pickle.loads(pickle.dumps(self.environment))
        except Exception as error:
            raise EnvironmentCheckError(f"{type(self.environment).__name__}: cannot be pickled: {error}") from error
        at = self.shared(self.grid[0])
        same = np.array_equal(copied.probabilities(state, at), self.environment.probabilities(state, at))
        self.require(same, "a pickled copy has other probabilities")

    def check_rows(self, state: State) -> None:
        """Settings may vary by replicate; cut to one replicate, it does there what the whole does."""
        whole, at = self.environment, self.shared(self.grid[len(self.grid) // 2])
        if whole.replicates is None:
            numbers: dict[str, Any] = {name: [getattr(whole, name)] * self.replicates for name in whole._numbers()}
            try:
                whole = dataclasses.replace(whole, **numbers)
                whole.start(self.replicates)
                whole.expected_update(state, at)
            except (TypeError, ValueError) as error:
                names = " or ".join(numbers)
                self.require(False, f"fails if {names} varies by replicate, as it is declared to do: {error}")
        one = slice(self.replicates - 1, self.replicates)
        part = whole.rows(one)
        cut = "rows cuts the settings to one replicate, which then"
        self.require(part.replicates in (None, 1), f"{cut} are for {part.replicates}")
        start = take(whole.start(self.replicates), one)
        self.require(_same(part.start(1), start), f"{cut} starts elsewhere than in the whole")
        apart = part.probabilities(take(state, one), at[one]) - whole.probabilities(state, at)[one]
        self.require(np.abs(apart).max() <= EXACT, f"{cut} has other probabilities than in the whole")
        if not self.draws(state, Policy.of(at)):
            alone = part.expected_update(take(state, one), at[one])
            there = take(whole.expected_update(state, at), one)
            self.require(_near(alone, there), f"{cut} moves otherwise than in the whole")

    def check_absent_groups(self, state: State) -> None:
        """The people of a group with nobody in the batch stay the same, and of all groups in an empty batch.

        Their share among all may change, as others come or stay away.
        """
        at = self.shared(self.grid[len(self.grid) // 2])
        everybody = np.round(1000 * self.environment.probabilities(state, at))
        for absent in [*([group] for group in range(self.groups)), list(range(self.groups))]:
            cells = everybody.copy()
            cells[:, absent] = 0.0
            moved = self.environment.update(state, Counts(cells), at, np.random.default_rng(5))
            who = f"group {absent[0]} moves" if len(absent) < self.groups else "groups move"
            for threshold in self.grid:
                before, after = (self.cells(each, threshold)[:, absent] for each in (state, moved))
                apart = before / before.sum(axis=(2, 3), keepdims=True) - after / after.sum(axis=(2, 3), keepdims=True)
                self.require(np.abs(apart).max() <= EXACT, f"{who} although nobody of it is in the batch")

    def check_long_run(self) -> None:
        for threshold in self.grid:
            at = self.shared(threshold)
            claimed, found = self.environment.steady_state(at), iterate(self.environment, at)
            self.check_shapes(claimed, found, "steady_state")
            apart = float(distance(claimed, found).max())
            told = f"steady_state of threshold {threshold:g} is {apart:.3g} away from where expected updates lead"
            self.require(_near(claimed, found), told)

    def check_policies(self) -> None:
        """Randomised policies and thresholds per group keep all probabilities and the state, and lead to a rest."""
        for name, policy in self.policies():
            state, rng = self.environment.start(self.replicates), np.random.default_rng(6)
            for _ in range(20):
                cells = self.environment.cells(state, policy)
                self.check_cells(cells, f"under {name}")
                state = self.environment.update(state, Counts(cells), self.environment.published(policy), rng)
                self.check_shapes(state, self.environment.start(self.replicates), f"update under {name}")
            if len(policy.weights) == 1 or not self.draws(state, policy):
                self.check_rest(name, policy)

    def policies(self) -> Iterator[tuple[str, Policy]]:
        low, middle, high = self.grid[[0, len(self.grid) // 2, -1]]
        own = np.where(np.arange(self.groups) % 2, high, low)
        yield f"thresholds {own.tolist()}", Policy.of(np.tile(own, (self.replicates, 1)))
        for probability in (0.1, 0.5, 0.9):
            uniform = Policy.uniform(np.full(self.replicates, probability), self.groups)
            yield f"acceptance of everybody with probability {probability}", uniform
        for one, other in ((low, high), (-np.inf, middle), (middle, np.inf)):
            thresholds = np.stack([self.shared(one), self.shared(other)])
            weights = np.repeat([[0.3], [0.7]], self.replicates, axis=1)
            yield f"the lottery of thresholds {one:g} and {other:g}", Policy(thresholds, weights)

    def check_rest(self, name: str, policy: Policy) -> None:
        """The long run that the oracle takes is the one that expected updates lead to."""
        claimed = self.environment.long_run_cells(policy)
        if len(policy.weights) == 1:
            found = self.environment.probabilities(
                iterate(self.environment, policy.thresholds[0]), policy.thresholds[0]
            )
        else:
            found = self.environment.cells(settle(self.environment, policy), policy)
        apart = float(np.abs(claimed - found).max())
        self.require(apart <= CLOSE, f"the long run of {name} is {apart:.3g} away from where expected updates lead")

    def check_contraction(self) -> None:
        if type(self.environment).contraction is not Environment.contraction:
            claimed, measured = self.environment.contraction(), measure_contraction(self.environment, self.grid)
            told = f"contraction is {claimed:.4g}, but a round is seen to keep two states apart by {measured:.4g}"
            self.require(measured <= claimed + 1e-3, told)


def _farthest_from_1(masses: Array) -> float:
    """Return the sum, of those of all replicates, that is farthest from 1."""
    totals = masses.sum(axis=(1, 2, 3))
    return float(totals[np.argmax(abs(totals - 1.0))])


def _means(state: State) -> dict[str, Array]:
    return {name: values.reshape(len(values), -1).mean(axis=1) for name, values in flatten(state).items()}


def _same(one: State, other: State) -> bool:
    pairs = zip(flatten(one).values(), flatten(other).values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _near(one: State, other: State) -> bool:
    return bool((change(one, other) <= CLOSE).all())
