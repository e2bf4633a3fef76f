"""Feedback: the information on a batch that a learner of a feedback level receives."""

from __future__ import annotations

from fairgate.arrays import Array, namespace
from fairgate.core.labels import Credits
from fairgate.counts import Counts
from fairgate.problem import Assessment, Feedback, Observation, Problem


def reveal(
    problem: Problem, counts: Counts, assessed: Assessment, level: str, arrived: tuple[Credits, Array] | None = None
) -> Feedback:
    """Return reward and residuals of one loop's batch, given as `assessed`, and the counts that the level reveals.

    If labels are late, `arrived` holds the labels that arrive in this round, by policy and by score bin.

    The levels are those of :class:`~fairgate.Observation`. Residuals that depend on labels of rejected applicants are
    NaN below level ``"full-labels"``.
    """
    xp = namespace(counts.cells)
    reward, residuals = assessed
    if level != "full-labels" and any(problem.hidden):
        residuals = xp.where(xp.asarray(problem.hidden), xp.nan, residuals)
    cells = counts.cells
    seen = Observation(counts.people, counts.accepted, cells[:, 1, 1], cells[:, 0, 1])
    if level != "bandit":
        binned = counts.binned
        assert binned is not None  # the loop draws score bins for every level but "bandit"
        seen = seen._replace(scores=binned.sum(axis=(2, 3)))
        if level != "scores":
            seen = seen._replace(labels=binned.sum(axis=3) if level == "full-labels" else binned[..., 1])
    feedback = Feedback(reward, residuals, seen)
    return feedback if arrived is None else _late(feedback, level, counts, *arrived)


def _late(seen: Feedback, level: str, counts: Counts, credited: Credits, arrived: Array) -> Feedback:
    """Return the feedback if labels of the accepted arrive late; `arrived` holds this round's arrivals by score bin.

    The reward is the mean over the policies that the labels belong to, weighted by share; NaN if no label arrived.
    """
    xp = namespace(arrived)
    known, whole = arrived.sum(axis=1), credited.share.sum()
    reward = xp.where(whole > 0.0, (credited.share * credited.reward).sum() / xp.where(whole > 0.0, whole, 1.0), xp.nan)
    observation = seen.observation._replace(positives=known[:, 1], negatives=known[:, 0])
    if level in ("selective-labels", "full-labels"):
        assert counts.binned is not None
        rejected = counts.binned[..., 0] if level == "full-labels" else 0.0  # their labels are known at once
        observation = observation._replace(labels=arrived + rejected)
    return seen._replace(reward=reward, observation=observation, credits=credited)
