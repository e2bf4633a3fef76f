"""simulate_together: several learners played at once on one task, each with the results it has when it is alone.

Most of a round's time goes into calls and not into what they compute, and all learners of a seed meet the same people,
who are drawn once. So it pays for learners that see little of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from fairgate.block import BLOCK, Block, Kept, empty_run
from fairgate.learners import Learner
from fairgate.learners.base import check_level
from fairgate.learners.own import Own
from fairgate.loop import Loop
from fairgate.nature import COMMON, Nature, NotByRowError
from fairgate.origin import Origin
from fairgate.policy import Policy
from fairgate.problem import Feedback, Observation
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.simulation import Size, simulate
from fairgate.tasks import Task

AT_ONCE = 1_500_000
"""Loop-rounds that are kept at once: about 400 MB."""


def can_join(task: Task, learner: Learner[Any], size: Size) -> bool:
    """Whether a learner may be played together with others: it plays thresholds, sees no more than counts, and is ours.

    Labels must be known at once: whether those that arrive are the last of a batch depends on all who are played.
    """
    environment = task.environment
    at_once = environment.label_arrival == 1.0 and environment.label_loss == 0.0
    plain = learner.level == "bandit" and learner.policies == "threshold" and not isinstance(learner, Own)
    fits = size.seeds <= BLOCK and size.batch <= COMMON and learner.replicates is None
    return at_once and plain and fits and type(learner).__module__.startswith("fairgate.")


def packs(learners: int, size: Size) -> list[slice]:
    """Cut learners into those that are played together, as many as memory allows.

    >>> packs(7, Size(rounds=3000, seeds=100))
    [slice(0, 4, None), slice(4, 7, None)]
    """
    most = max(AT_ONCE // (size.rounds * size.seeds), 1)
    count = -(-learners // most)
    ends = [-(-learners * each // count) for each in range(count + 1)]
    return [slice(low, high) for low, high in pairwise(ends)]


def simulate_together(task: Task, learners: Sequence[Learner[Any]], size: Size) -> list[Run]:
    """Return the run of each learner, as :func:`~fairgate.simulate` would: all of them can join in.

    Examples
    --------
    >>> import fairgate as fg
    >>> task, size = fg.load_task("mve-s"), Size(rounds=50, seeds=3)
    >>> ofs, other = simulate_together(task, [fg.OFS(), fg.learners.EpsilonGreedy()], size)
    >>> alone = fg.simulate(task, fg.OFS(), rounds=50, seeds=3)
    >>> bool((alone.thresholds == ofs.thresholds).all()), bool((alone.batch.reward == ofs.batch.reward).all())
    (True, True)
    """
    for learner in learners:
        check_level(learner, task.problem)
    if len(learners) > 1:
        try:
            return _together(task, learners, size)
        except NotByRowError:  # this environment moves at random
            pass
    return [simulate(task, each, size.rounds, size.seeds, seed=size.seed, batch=size.batch) for each in learners]


def _together(task: Task, learners: Sequence[Learner[Any]], size: Size) -> list[Run]:
    count, rounds, seeds = len(learners), size.rounds, size.seeds
    asked: dict[str, Any] = {"rounds": rounds, "batch": size.batch, "seed": size.seed, "coupling": "common"}
    blocks = [Block(task, learner, seeds, **asked) for learner in learners]
    rows = [slice(first, first + seeds) for first in range(0, count * seeds, seeds)]
    every = np.tile(np.arange(seeds), count)
    whole = task if task.replicates is None else task.rows(every)
    loop = Loop(whole, count * seeds, size.batch, Nature(size.seed, parts=count))
    kept = Kept(empty_run(rounds, loop.shape, task.problem, (), {}))
    traces = [{name: np.empty((seeds, rounds)) for name in learner.traces} for learner in learners]
    states = [block.started() for block in blocks]
    for t in range(rounds):
        proposed = [learner.propose(state) for learner, state in zip(learners, states, strict=True)]
        policy = loop.admitted(_stacked(proposed), learners)
        happened = loop.play(policy)
        kept.keep(t, happened.played, happened.counts, happened.probabilities, {})
        for each, (learner, state) in enumerate(zip(learners, states, strict=True)):
            for name in learner.traces:
                traces[each][name][:, t] = learner.trace(state, name)
            learner.observe(state, proposed[each], _rows(happened.feedback, rows[each]))
    run = kept.run(whole.problem, None)
    return [
        replace(
            run.rows(rows[each]),
            traces=traces[each],
            final=learner.recommend(states[each]),
            settings=blocks[each].settings(),
            origin=Origin(task, learner, simulate),
        )
        for each, learner in enumerate(learners)
    ]


def _stacked(proposed: Sequence[Policy]) -> Array:
    """Return the thresholds of all learners, replicate below replicate; none may be a lottery."""
    if any(len(each.weights) > 1 for each in proposed):
        raise NotByRowError
    return np.concatenate([each.thresholds[0] for each in proposed])


def _rows(feedback: Feedback, rows: slice) -> Feedback:
    """Return the feedback of one learner's replicates."""
    people, accepted, positives, negatives = feedback.observation[:4]
    seen = Observation(people[rows], accepted[rows], positives[rows], negatives[rows])
    return Feedback(feedback.reward[rows], feedback.residuals[:, rows], seen, None, feedback.round)
