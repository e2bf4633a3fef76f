"""The truth of random worlds against people who are drawn one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairgate.counts import Counts
from fairgate.environments import ResponsiveScores, check_environment
from fairgate.environments.long_run import settle
from fairgate.policy import Policy
from fairgate.worlds.distribution import draw_world
from fairgate.worlds.loading import task_of
from tests.worlds.plain_world import PlainWorld

PEOPLE, LATER = 20_000, 25


def played(number: int, threshold: float, lottery: float | None) -> None:
    """Play a policy person by person from its exact steady state on, and see whether people stay there.

    They are made to answer fast, which leaves steady states as they are: one that is wrong is soon left. Tables are of
    cells of 0.023, within which the label curve is taken as flat: an error of up to 0.001.
    """
    task = task_of([draw_world(number)]).at(0)
    drawn: Any = task.environment
    groups = drawn.group_count
    environment: ResponsiveScores = replace(drawn, rate=max(drawn.rate, 0.2))
    if lottery is None:
        policy = Policy.shared([threshold], groups)
    else:
        ends = np.full((2, 1, groups), -np.inf)
        ends[1] = threshold
        policy = Policy(ends, np.array([[lottery], [1.0 - lottery]]))
    steady = settle(environment, policy)
    bar = float(environment.published(policy)[0, 0])
    exact = environment.cells(steady, policy)[0]
    world = PlainWorld(environment, np.random.default_rng(number))
    for name in ("quality", "inflation", "relabelled", "size"):
        setattr(world, name, getattr(steady, name)[0].tolist())
    signal = environment.signal(Counts(exact[None]), environment.published(policy))[0].tolist()
    world.heard = [list(signal) for _ in world.heard]
    cells = []
    for _ in range(int(np.max(environment.lag)) + 40 + LATER):
        group, score, label = world.people(PEOPLE)
        if lottery is None:
            accepted = score >= threshold
        else:
            accepted = (score >= threshold) | (world.rng.random(PEOPLE) < lottery)
        counted = np.zeros((environment.group_count, 2, 2))
        np.add.at(counted, (group, label, accepted.astype(int)), 1)
        cells.append(counted / PEOPLE)
        world.move(group, label, accepted, bar)
    found = np.mean(cells[-LATER:], axis=0)
    within = 5.0 * np.sqrt(exact / (PEOPLE * LATER)) + 0.004  # the state's own noise is a few thousandths
    assert (np.abs(found - exact) <= within).all(), np.abs(found - exact).max()
    reward = task.problem.assess(found[None]).reward - task.problem.assess(exact[None]).reward
    assert abs(reward[0]) <= 0.01


@pytest.mark.parametrize("number", [0, 13])
def test_steady_states_are_what_people_come_to(number: int) -> None:
    played(number, 0.25, None)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_the_truth_of_twenty_worlds(number: int) -> None:
    played(number, 0.25, None)
    played(number, 0.5, 0.2)


@pytest.mark.parametrize("number", [102, 138, 10022, 10317])
def test_the_long_run_of_lotteries_is_where_plain_updates_lead(number: int) -> None:
    """Groups that stay away, from a far start, are where extrapolated states once became negative and stood still."""
    environment = task_of([draw_world(number)]).at(0).environment
    weights = np.linspace(0.05, 0.95, 7)
    thresholds = np.full((2, 7, environment.group_count), np.inf)
    thresholds[0] = np.linspace(-2.25, 1.0, 7)[:, None]
    policy = Policy(thresholds, np.stack((weights, 1.0 - weights)))
    plain = environment.cells(settle(environment, policy), policy)
    assert environment.hastened is not environment
    np.testing.assert_allclose(environment.long_run_cells(policy), plain, atol=1e-8)


@pytest.mark.parametrize("number", [0, 8, 52])
def test_what_people_hear_of_a_lottery_changes_little_by_little(number: int) -> None:
    """A lottery that has a threshold with a weight of one in a million is not another world than one without."""
    environment = task_of([draw_world(number)]).at(0).environment
    ends = np.repeat(np.array([-np.inf, np.inf, 2.5])[:, None, None], environment.group_count, axis=2)
    lotteries = [Policy(ends, np.array([[0.4], [0.6 - small], [small]])) for small in (0.0, 1e-6)]
    cells = [environment.cells(settle(environment, each), each) for each in lotteries]
    assert np.abs(cells[0] - cells[1]).max() <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("number", range(30, 38))
def test_every_world_keeps_the_contract(number: int) -> None:
    world = draw_world(number)
    environment: Any = task_of([world]).environment
    if not environment.lag:
        check_environment(environment, world.shape.grid)
