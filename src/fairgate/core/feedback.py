"""What a learner of a feedback level gets to know of a batch."""

from __future__ import annotations

from fairgate.arrays import namespace
from fairgate.counts import Counts
from fairgate.problem import Feedback, Observation, Problem


def reveal(problem: Problem, counts: Counts, level: str) -> Feedback:
    """Return the reward and the residuals of a batch of one loop, and as much of its counts as the level shows.

    The levels are those of :class:`~fairgate.Observation`. Residuals that depend on labels of rejected applicants are
    NaN below level ``"full-labels"``.
    """
    xp = namespace(counts.cells)
    reward, residuals = problem.assess(counts)
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
    return Feedback(reward, residuals, seen)
