"""oracle: the best feasible fixed policy of a class: a threshold, a lottery or thresholds per group."""

from __future__ import annotations

from typing import Literal, overload

from fairgate.errors import InputError, unknown_name
from fairgate.oracle.lottery import best_lottery
from fairgate.oracle.per_group import best_per_group
from fairgate.oracle.policies import PolicyOracle
from fairgate.oracle.threshold import Oracle, best_threshold
from fairgate.policy import CLASSES
from fairgate.tasks import Task


@overload
def oracle(task: Task, policies: Literal["threshold"] = "threshold", *, refine: bool = True) -> Oracle: ...


@overload
def oracle(task: Task, policies: Literal["lottery", "per-group"], *, refine: bool = True) -> PolicyOracle: ...


def oracle(task: Task, policies: str = "threshold", *, refine: bool = True) -> Oracle | PolicyOracle:
    """Find the best feasible fixed policy of a class in the long run: steady states are solved, not sampled.

    *Fixed* means that one policy is kept for good and judged by its steady state. A policy that changes with the
    state, or moves between several, can earn more than the best fixed one, and so can one of a larger class; nothing
    is said of these. A run can earn more than it for a while too, living off a state that another policy has left.

    Parameters
    ----------
    task
        What to solve. One whose environment changes by itself must be frozen first, with `task.at(round_number)`.
    policies
        ``"threshold"``: one threshold for everybody. The grid is swept, which is exhaustive.
        ``"lottery"``: up to three thresholds of the grid, everybody and nobody among them, of which each person is held
        to one by lottery. A lottery has a steady state of its own, in which acceptance is mixed; each that is looked at
        is solved exactly, but which are looked at is a search: all pairs at eleven weights, then around the best down
        to a weight of 1e-6, and again with any third threshold.
        ``"per-group"``: a threshold of the grid for each group. All combinations are looked at if there are up to
        300,000 (20,000 if the groups' steady states depend on each other); of more groups it is a search.
    refine
        Whether the best threshold is also looked for between those of the grid (`refined`): among the environment's
        own candidates, every distinct score or a fine grid, and then closer and closer around the best. Without, for
        environments whose steady states are slow to find, it is the best of the grid.

    Examples
    --------
    >>> import fairgate as fg
    >>> best = fg.oracle(fg.load_task("mve-s")).best
    >>> best.feasible, best.gap <= 0.06
    (True, True)

    No single threshold is feasible here, but these are.

    >>> task = fg.load_task("mean-shift")
    >>> fg.oracle(task).best.feasible
    False
    >>> lottery = fg.oracle(task, "lottery").best
    >>> lottery.policy.thresholds[:, 0, 0], lottery.policy.weights[:, 0].round(3), round(lottery.reward, 4)
    (array([-inf,  0.8,  2. ]), array([0.169, 0.031, 0.8  ]), -0.0191)
    >>> print(fg.oracle(task, "per-group").best)
    thresholds -0.1000, 0.8000: reward 0.1641, gap 0.0415, acceptance 0.3462 (feasible)
    """
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, such as fairgate.load_task('interior'), got {task!r}")
    if policies == "threshold":
        return best_threshold(task, refine=refine)
    if policies not in CLASSES:
        raise unknown_name("policies", policies, CLASSES)
    threshold = best_threshold(task, refine=refine)
    if policies == "lottery":
        best, searched = best_lottery(task)
        return PolicyOracle(task, best, threshold, searched, exhaustive=False)
    best, searched, exhaustive = best_per_group(task)
    return PolicyOracle(task, best, threshold, searched, exhaustive)
