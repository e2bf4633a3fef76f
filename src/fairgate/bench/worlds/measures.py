"""Measures: what a learner is judged by in a world, from what it plays: reward, violation and statements."""

from __future__ import annotations

import numpy as np

from fairgate.against import SUCCESS, largest
from fairgate.bench.share import PRICE, Yardsticks, share_of, worth
from fairgate.policy import Policy
from fairgate.problem import is_feasible, violation
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.tail import tail_of
from fairgate.tasks import Task


def measure(run: Run, task: Task, best: Yardsticks, searched: str = "threshold") -> dict[str, Array]:
    """Judge each replicate of a run on worlds, (R,) per measure; `searched` is what statements of infeasibility are of.

    A share of 1 is what the best fixed lottery earns in the long run, and 0 what the best fair one does, which accepts
    everybody with the same probability; :func:`~fairgate.bench.share.worth` says what a round is worth that breaks a
    constraint.

    ``share`` is of all rounds, ``tail_share`` of the last, ``unpriced`` of all rounds without regard to constraints,
    and ``priced`` what their violation comes to at a price of 1: at any price, the share is ``unpriced`` less so many
    times ``priced``. ``share_threshold``, ``unpriced_threshold`` and ``priced_threshold`` are the same with the best
    fixed threshold in place of the lottery, NaN where none is feasible.
    ``violation`` is the mean per round, ``feasible`` and ``feasible_tail`` are shares of rounds without any.
    ``settled_share`` judges the policy that was settled on, in its steady state at the end, and ``settled`` is whether
    that is within 0.01 of the best threshold in reward and constraints, NaN where none is feasible. ``claimed_right``
    and ``claimed_wrong`` are whether it said at the end that no policy of that class is feasible where that is so, and
    at any time where it is not; NaN where the truth is not known or is the other, or it never says anything. ``played``
    is the widest class of policies that was played in any round, and ``played_by_score`` the same with lotteries that
    do not look at the score counted as one threshold: those earn no more than share 0.
    """
    tail = slice(run.rounds - tail_of(run.rounds), None)
    reward, broken = run.population.reward, violation(run.population.residuals)
    met = is_feasible(run.population.residuals)
    here = ~np.isnan(best.threshold)
    fair, threshold = (np.where(here, each, 0.0) for each in (best.fair, best.threshold))
    kept, paid = (np.where(here, each, 0.0) for each in (reward, broken))
    found = {
        "unpriced": share_of(reward, best.fair, best.lottery),
        "priced": share_of(best.fair + broken, best.fair, best.lottery),
        "tail_share": share_of(worth(run.population)[:, tail], best.fair[:, tail], best.lottery[:, tail]),
        "unpriced_threshold": share_of(kept, fair, threshold),
        "priced_threshold": share_of(fair + paid, fair, threshold),
        "violation": broken.mean(axis=1),
        "feasible": met.mean(axis=1),
        "feasible_tail": met[:, tail].mean(axis=1),
    }
    for name in ("", "_threshold"):
        found[f"share{name}"] = found[f"unpriced{name}"] - PRICE * found[f"priced{name}"]
    return found | _settled(run, task, best) | _claims(run, best, tail, searched) | _played(run.policies)


def _played(policies: Policy) -> dict[str, Array]:
    """Judge the widest class that was played: 0 one threshold, 1 lotteries, 2 thresholds that differ by group."""
    thresholds, weights = policies
    used = weights[..., None] > 0.0
    low, high = np.where(used, thresholds, np.inf).min(axis=3), np.where(used, thresholds, -np.inf).max(axis=3)
    differs = ((low < high) & used[..., 0]).any(axis=(0, 2))
    several = used[..., 0].sum(axis=0) > 1
    by_score = (used & np.isfinite(thresholds)).any(axis=(0, 3))
    return {
        "played": np.where(differs, 2.0, several.any(axis=1).astype(np.float64)),
        "played_by_score": np.where(differs, 2.0, (several & by_score).any(axis=1).astype(np.float64)),
    }


def _settled(run: Run, task: Task, best: Yardsticks) -> dict[str, Array]:
    """Judge what each replicate settled on, in its steady state at the end."""
    found = task.problem.assess(task.environment.at(run.rounds - 1).long_run_cells(run.settled()))
    over = largest(found.residuals)
    fair, lottery, threshold = (each[:, -1:] for each in (best.fair, best.lottery, best.threshold))
    near = (threshold[:, 0] - found.reward <= SUCCESS[0]) & (over <= SUCCESS[1])
    return {
        "settled_share": share_of(worth(found)[:, None], fair, lottery),
        "settled": np.where(np.isnan(threshold[:, 0]), np.nan, near.astype(np.float64)),
    }


def _claims(run: Run, best: Yardsticks, tail: slice, searched: str) -> dict[str, Array]:
    """Judge statements that no policy of a class is feasible."""
    said = np.asarray(run.traces.get("infeasible", np.full(best.fair.shape, np.nan))) == 1
    truth = {"threshold": np.isnan(best.threshold), "lottery": np.isnan(best.lottery)}.get(searched)
    unknown = np.full(run.replicates, np.nan)
    if truth is None or "infeasible" not in run.traces:
        return {"claimed_right": unknown, "claimed_wrong": unknown}
    right = said[:, tail].mean(axis=1) >= 0.5
    return {
        "claimed_right": np.where(truth[:, -1], right.astype(np.float64), np.nan),
        "claimed_wrong": np.where(truth.all(axis=1), np.nan, (said & ~truth).any(axis=1).astype(np.float64)),
    }
