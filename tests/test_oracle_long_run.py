"""Long runs that the oracle tells of a user's own environment, against updates repeated one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import (
    DelayedImpact,
    Environment,
    EnvironmentCheckError,
    GaussianScores,
    ResponsiveScores,
    check_environment,
    long_run,
)
from fairgate.environments.state import repeat
from fairgate.errors import NoSteadyStateError
from fairgate.oracle.lottery import QUICK, best_lottery
from fairgate.policy import Policy
from fairgate.settings import Array

LEVELS = np.linspace(0.1, 0.9, 5)


@dataclass(frozen=True)
class CreditLevels(Environment):
    """People on five credit levels: acceptance moves a group up or down, and pushes a part of it together."""

    up: tuple[float, ...] = (0.3, 0.05)
    down: tuple[float, ...] = (0.1, 0.2)
    rate: float = 0.5

    @property
    def group_count(self) -> int:
        return len(self.up)

    def start(self, replicates: int = 1) -> Array:
        return np.full((replicates, self.group_count, len(LEVELS)), 1.0 / len(LEVELS))

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        accepted = thresholds[..., None] <= LEVELS
        cells = np.empty((*thresholds.shape, 2, 2))
        for decision in (0, 1):
            here = state * (accepted == decision)
            cells[..., 1, decision] = (here * LEVELS).sum(axis=-1)
            cells[..., 0, decision] = (here * (1.0 - LEVELS)).sum(axis=-1)
        return cells / self.group_count

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        people = np.maximum(counts.people, 1e-300)
        good, bad = counts.cells[..., 1, 1] / people, counts.cells[..., 0, 1] / people
        rise, fall = np.asarray(self.up) * good + 0.1, np.asarray(self.down) * bad + 0.2
        flow_up, flow_down = rise[..., None] * state[..., :-1], fall[..., None] * state[..., 1:]
        moved = state.copy()
        moved[..., :-1] += self.rate * (flow_down - flow_up)
        moved[..., 1:] += self.rate * (flow_up - flow_down)
        return np.where(counts.people[..., None] > 0, moved, state)


def plainly(environment: Environment, policy: Policy, rounds: int) -> Array:
    """Cells after so many expected rounds of the environment itself."""
    state, rng = environment.start(1), np.random.default_rng(0)
    state = repeat(state, policy.replicates)
    for _ in range(rounds):
        counts = Counts(environment.cells(state, policy))
        state = environment.update(state, counts, environment.published(policy), rng)
    return environment.cells(state, policy)


def some_policies(groups: int, count: int, low: float, high: float, seed: int) -> Policy:
    """Lotteries of two thresholds per group, some of them of everybody or of nobody."""
    rng = np.random.default_rng(seed)
    thresholds = rng.uniform(low, high, (2, count, groups))
    thresholds[0, ::4] = -np.inf
    thresholds[1, 1::4] = np.inf
    weights = rng.uniform(size=count)
    return Policy(thresholds, np.stack((weights, 1.0 - weights)))


def test_a_world_of_credit_levels_keeps_the_contract_and_is_solved_as_it_is_played() -> None:
    environment = CreditLevels()
    check_environment(environment, np.linspace(0.2, 0.8, 4))
    lotteries = some_policies(2, 300, 0.0, 1.0, seed=1)
    found = environment.long_run_cells(lotteries)
    np.testing.assert_allclose(found, plainly(environment, lotteries, 3_000), atol=1e-7)
    per_group = Policy.of(np.random.default_rng(2).uniform(0.0, 1.0, (100, 2)))
    found = environment.long_run_cells(per_group)
    np.testing.assert_allclose(found, plainly(environment, per_group, 3_000), atol=1e-7)


def test_no_lottery_of_it_earns_more_than_is_possible() -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    task = fg.Task(CreditLevels(), problem, np.linspace(0.2, 0.8, 4), name="levels")
    best = best_lottery(task, QUICK)[0]
    found = problem.assess(plainly(task.environment, best.policy, 3_000))
    assert best.reward <= 1.0
    assert best.reward == pytest.approx(found.reward[0], abs=1e-7)
    np.testing.assert_allclose(best.residuals, found.residuals[:, 0], atol=1e-7)


class Restless(CreditLevels):
    """Where about half are accepted, all go from the highest level to the lowest and back."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        moved, about_half = super().update(state, counts, thresholds, rng), np.abs(counts.overall - 0.5) < 0.1
        swung = np.where(state[..., -1:] > 0.5, np.eye(len(LEVELS))[0], np.eye(len(LEVELS))[-1])
        return np.where(about_half[:, None, None], swung, moved)


def test_a_lottery_that_comes_to_no_rest_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "PATIENCE", 250)
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    task = fg.Task(Restless(), problem, np.array([0.1, 0.9]), name="restless")
    with pytest.raises(fg.InputError, match="Restless has no steady state for the lottery of thresholds"):
        task.environment.long_run_cells(Policy.uniform([0.5], groups=2))
    best = best_lottery(task, QUICK)[0]
    once, again = (plainly(task.environment, best.policy, rounds) for rounds in (3_000, 3_001))
    np.testing.assert_allclose(once, again, atol=1e-9)


def test_a_lottery_that_is_only_slow_is_not_left_out_as_if_it_led_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "PATIENCE", 250)
    slow = CreditLevels(rate=0.005)
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    task = fg.Task(slow, problem, np.array([0.1, 0.9]), name="slow")
    for solve in (lambda: slow.long_run_cells(Policy.uniform([0.5], groups=2)), lambda: best_lottery(task, QUICK)):
        with pytest.raises(fg.InputError, match=r"CreditLevels is still on its way under the lottery .* or write hast"):
            solve()
    monkeypatch.undo()
    patient = slow.long_run_cells(Policy.uniform([0.5], groups=2))
    np.testing.assert_allclose(patient, CreditLevels().long_run_cells(Policy.uniform([0.5], groups=2)), atol=1e-6)


@settings(max_examples=15)
@given(
    up=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    down=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    rate=st.floats(0.1, 0.5),
    seed=st.integers(0, 1000),
)
def test_any_levels_are_solved_as_they_are_played(
    up: tuple[float, float], down: tuple[float, float], rate: float, seed: int
) -> None:
    environment = CreditLevels(up, down, rate)
    policies = some_policies(2, 8, 0.0, 1.0, seed)
    earlier, reference = (plainly(environment, policies, rounds) for rounds in (2_000, 2_500))
    assume(np.abs(reference - earlier).max() <= 1e-9)  # a reference that is still on its way proves nothing
    np.testing.assert_allclose(environment.long_run_cells(policies), reference, atol=1e-6)


@settings(max_examples=15)
@given(gain=st.floats(-1.5, 1.5), rate=st.floats(0.05, 1.0), seed=st.integers(0, 1000))
def test_built_in_environments_are_solved_as_they_are_played(gain: float, rate: float, seed: int) -> None:
    gaussian = GaussianScores([0.0, 0.5], [0.6, 0.4], [1.0, 1.0], 2.0, 0.0, gain=gain, rate=rate)
    impact = DelayedImpact([0.0, 0.5], [0.5, 0.5], [1.0, 1.0], 0.5, 0.0, rate=rate, carry=0.3, rise=0.5, fall=1.0)
    policies = some_policies(2, 4, -1.0, 2.0, seed)
    for environment in (gaussian, impact):
        np.testing.assert_allclose(
            environment.long_run_cells(policies), plainly(environment, policies, 3_000), atol=1e-8
        )


def responsive(gain: float, rate: float, lag: int, **more: Any) -> ResponsiveScores:
    return ResponsiveScores(
        weak=[-1, -1], strong=[1, 1], sd=[0.5, 0.5], shares=[0.5, 0.5], slope=[2, 2], midpoint=[0, 0],
        quality=[0.5, 0.5], quality_gain=[gain, gain], rate=rate, lag=lag, **more,
    )  # fmt: skip


@settings(max_examples=15)
@given(gain=st.floats(-3.0, 3.0), rate=st.floats(0.05, 0.3), lag=st.integers(0, 2), seed=st.integers(0, 1000))
def test_strong_responses_are_solved_as_they_are_played(gain: float, rate: float, lag: int, seed: int) -> None:
    """Also where the gain leaves two steady states, or where an immediate response would swing for ever."""
    environment = responsive(gain, rate, lag)
    policies = some_policies(2, 4, -1.5, 1.5, seed)
    try:
        found = environment.long_run_cells(policies)
    except NoSteadyStateError:
        before, after = (plainly(environment, policies, rounds) for rounds in (2_000, 2_003))
        assert np.abs(before - after).max() > 1e-9
    else:
        np.testing.assert_allclose(found, plainly(environment, policies, 3_000), atol=1e-7)


def test_of_two_steady_states_the_one_that_the_start_leads_to_is_told() -> None:
    policy = Policy.shared(np.zeros(1), groups=2)
    ends = []
    for first in (0.05, 0.95):
        environment = responsive(3.0, 0.05, 0, first_quality=[first, first])
        assert environment.feedback() > 1.0
        ends.append(environment.long_run_cells(policy))
        np.testing.assert_allclose(ends[-1], plainly(environment, policy, 3_000), atol=1e-8)
    assert np.abs(ends[0] - ends[1]).max() > 0.2


class Leaking(CreditLevels):
    """A part of the people is lost in every round in which a lottery of everybody is played."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        moved = super().update(state, counts, thresholds, rng)
        return np.where(np.isnan(thresholds)[..., None], 0.9 * moved + 0.05 * moved.mean(), moved)


class Unheard(CreditLevels):
    """The state follows a threshold that is not published under a uniform lottery."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        return super().update(state, counts, thresholds, rng) + 0.0 * thresholds[..., None]


def test_what_goes_wrong_under_lotteries_alone_is_found_and_not_told_as_a_reward() -> None:
    grid = np.linspace(0.2, 0.8, 4)
    with pytest.raises(EnvironmentCheckError, match=r"probabilities sum to 0.*under acceptance of everybody"):
        check_environment(Leaking(), grid)
    with pytest.raises(EnvironmentCheckError, match=r"update under acceptance of everybody.* not finite"):
        check_environment(Unheard(), grid)
    with pytest.raises(
        fg.InputError, match=r"Leaking: probabilities must be at least 0 and sum to 1, but .* they sum to .*e-11"
    ):
        Leaking().long_run_cells(Policy.uniform([0.5], groups=2))
