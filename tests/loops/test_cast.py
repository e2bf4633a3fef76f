"""Cast: other tasks and learners in each loop, each as it plays alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.arrays import record
from fairgate.core import environments
from fairgate.core.learners.ofs import OFS
from fairgate.core.loop import begin, play
from fairgate.core.setting import Setting, Task
from fairgate.errors import InputError
from fairgate.loops.cast import Cast
from fairgate.loops.simulation import Size, _compiled
from fairgate.random import Draws, key_of
from fairgate.worlds.distribution import draw_world
from fairgate.worlds.loading import task_of

pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")

ROUNDS, BATCH = 120, 200


@record
class WithLabels(OFS):
    """OFS that sees scores and labels, so that its applicants are drawn by score bin."""

    level: ClassVar[str] = "full-labels"


def pure(task: fg.Task) -> Task:
    return Task(
        environments.pure(task.environment), Setting(task.problem, task.thresholds, task.environment.group_count)
    )


def alone(task: Task, learner: OFS, loop: int) -> Any:
    """Play a loop in NumPy and return counts and thresholds of each round."""
    state, happened = begin(task, learner, Draws.of(3, loop, 0)), []
    for number in range(ROUNDS):
        state, each = play(task, learner, BATCH, Draws.of(3, loop, number), state)
        happened.append((each.counts, each.played.thresholds))
    return [np.stack(part) for part in zip(*happened, strict=True)]


def test_each_loop_plays_as_it_does_alone() -> None:
    tasks = [pure(task_of([draw_world(number)])) for number in (8, 18, 38)]
    assert [int(each.environment.lag) for each in tasks] == [0, 35, 21]  # other lengths of what is kept
    pairs = [(task, WithLabels(c=c)) for task, c in zip(tasks, (0.1, 0.4, 1.0), strict=True)]
    size = Size(together=2)  # the last block is filled up
    found, _ = _compiled(Cast.of(pairs), BATCH, key_of(3), rounds=ROUNDS, loops=3, first=0, whole=True, size=size)
    for loop, pair in enumerate(pairs):
        counts, thresholds = alone(*pair, loop)
        np.testing.assert_array_equal(found.counts[loop], counts)
        np.testing.assert_array_equal(found.thresholds[loop], thresholds)


def test_what_is_the_same_in_all_loops_is_kept_once() -> None:
    task = pure(fg.load_task("compas"))
    leaves = Cast.of([(task, OFS(c=c)) for c in (0.1, 0.2, 0.3)]).leaves()
    varying = [array for array, axis in zip(leaves.arrays, leaves.axes, strict=True) if axis is not None]
    np.testing.assert_array_equal(varying, [[0.1, 0.2, 0.3]])


def test_tasks_of_other_shapes_are_refused() -> None:
    for number in (9, 3):  # another size of the grid and other constraints; another number of groups
        with pytest.raises(InputError, match="of one shape"):
            Cast.of([(pure(task_of([draw_world(world)])), WithLabels()) for world in (8, number)]).leaves()
    with pytest.raises(InputError, match="of one shape"):
        Cast.of([(pure(fg.load_task(name)), WithLabels()) for name in ("lag", "compas")]).leaves()
