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
    exact = environment.cells(steady, policy)[0]
    world = PlainWorld(environment, np.random.default_rng(number))
    for name in ("quality", "inflation", "relabelled", "size"):
        setattr(world, name, getattr(steady, name)[0].tolist())
    signal = environment.signal(Counts(exact[None]), policy.published)[0].tolist()
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
        world.move(group, label, accepted, threshold)  # which is published, also as part of a lottery
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


@pytest.mark.slow
@pytest.mark.parametrize("number", range(30, 50))
def test_every_world_keeps_the_contract(number: int) -> None:
    world = draw_world(number)
    environment: Any = task_of([world]).environment
    if not environment.lag:
        check_environment(environment, world.shape.grid)
