"""Instances played together: each as it plays alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.arrays import record, register
from fairgate.core import environments
from fairgate.core.instances import stacked
from fairgate.core.learners.ofs import OFS
from fairgate.core.loop import begin, play
from fairgate.core.setting import Setting, Task
from fairgate.errors import InputError
from fairgate.random import Draws, key_of
from fairgate.worlds.distribution import draw_world
from fairgate.worlds.loading import task_of

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")

ROUNDS, BATCH = 120, 200
KEY = key_of(3)


@record
class WithLabels(OFS):
    """OFS that sees scores and labels, so that its applicants are drawn by score bin."""

    level: ClassVar[str] = "full-labels"


def pure(task: fg.Task) -> Task:
    return Task(
        environments.pure(task.environment), Setting(task.problem, task.thresholds, task.environment.group_count)
    )


def alone(task: Task, learner: OFS) -> Any:
    """Play a task in NumPy and return counts and thresholds of each round."""
    state, happened = begin(task, learner, Draws.of(3, 0, 0)), []
    for number in range(ROUNDS):
        state, each = play(task, learner, BATCH, Draws.of(3, 0, number), state)
        happened.append((each.counts, each.played.thresholds))
    return [np.stack(part) for part in zip(*happened, strict=True)]


def together(tasks: Task, learner: OFS) -> Any:
    """Play stacked tasks, compiled, and return counts and thresholds of each instance and round."""

    def run(tasks: Task, learner: OFS) -> Any:
        def one(task: Task) -> Any:
            def step(state: Any, number: Any) -> Any:
                draws = Draws(jax.numpy.asarray(KEY), jax.numpy.zeros(1, dtype=np.uint32), number[None])
                state, happened = play(task, learner, BATCH, draws, state)
                return state, (happened.counts, happened.played.thresholds)

            zero = jax.numpy.zeros(1, dtype=np.uint32)
            start = begin(task, learner, Draws(jax.numpy.asarray(KEY), zero, zero))
            return jax.lax.scan(step, start, jax.numpy.arange(ROUNDS, dtype=np.uint32))[1]

        return jax.vmap(one)(tasks)

    register()
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(run)(tasks, jax.tree.map(np.asarray, learner)))


def test_each_instance_plays_as_it_does_alone() -> None:
    tasks = [pure(task_of([draw_world(number)])) for number in (8, 18, 38)]
    assert [int(each.environment.lag) for each in tasks] == [0, 35, 21]  # other lengths of what is kept
    counts, thresholds = together(stacked(tasks), WithLabels())
    for place, task in enumerate(tasks):
        wanted = alone(task, WithLabels())
        np.testing.assert_array_equal(counts[place], wanted[0])
        np.testing.assert_array_equal(thresholds[place], wanted[1])
    assert (counts[0] != counts[1]).any()


def test_tasks_of_other_shapes_are_refused() -> None:
    for number in (9, 3):  # another size of the grid and other constraints; another number of groups
        with pytest.raises(InputError, match="of one shape"):
            stacked([pure(task_of([draw_world(8)])), pure(task_of([draw_world(number)]))])
    with pytest.raises(InputError, match="of one shape"):
        stacked([pure(fg.load_task("lag")), pure(fg.load_task("compas"))])
