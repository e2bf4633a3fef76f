"""Guards: limits that no proposal goes beyond. Each that acts says so in a sentence of the log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.live.played import rounded
from fairgate.live.spec import DIGITS, Spec
from fairgate.policy import Policy
from fairgate.settings import Array

FEWEST = 20
"""People of a group, of late, from which its acceptance under a policy is judged."""


class Guarded(NamedTuple):
    """The policy that may be played, and what the guards did to the proposal."""

    policy: Policy
    notes: list[str]


def guard(
    spec: Spec, proposal: Policy, force: Policy | None, recent: NDArray[Any], last: Policy | None = None
) -> Guarded:
    """Return the policy to play for what the learner proposes.

    Guards act in this order: lotteries and thresholds per group, bounds, floor, step. So a step always holds, even if
    the floor is then reached only after several.

    Parameters
    ----------
    spec
        The gate's guards, grid and groups.
    proposal
        What the learner proposes.
    force
        The policy in force until now, if there is one: what is kept if the proposal may not be played.
    recent
        People who came of late by group and score bin, (G, K + 1), by which acceptance is predicted.
    last
        What was played last, by whomever, from which a step is counted; the policy in force if not given.

    Examples
    --------
    >>> spec = Spec(name="credit", groups=["a", "b"], grid=[0.0, 0.25, 0.5, 0.75],
    ...             start={"threshold": 0.25}, guards={"step": 0.25})
    >>> guarded = guard(spec, spec.fixed(0.75), force=spec.fixed(0.25), recent=np.zeros((2, 5)))
    >>> guarded.policy.single[0].tolist(), guarded.notes
    ([0.5, 0.5], ['step: the threshold 0.75 was proposed, the threshold 0.5 is within a step of 0.25 of ...'])
    """
    policy, notes, limits = rounded(proposal, DIGITS), [], spec.guards
    fallback = force or spec.first or Policy.shared([_middle(spec.setting.thresholds)], len(spec.groups))
    if not limits.lotteries and bool(policy.is_lottery[0]):
        notes.append("lotteries: a lottery was proposed, and lotteries are switched off: the policy in force is kept")
        policy = fallback
    if not spec.per_group and bool((policy.thresholds != policy.thresholds[..., :1]).any()):
        notes.append("per_group: thresholds that differ between groups were proposed: the policy in force is kept")
        policy = fallback
    for check in (_bounds, _floor, _step):
        policy, note = check(spec, policy, recent, last or force)
        notes += [note] if note else []
    return Guarded(policy, notes)


def _bounds(spec: Spec, policy: Policy, recent: NDArray[Any], last: Policy | None) -> tuple[Policy, str]:
    """Move thresholds that lie beyond the bounds to the nearest that does not."""
    if spec.guards.lowest is None and spec.guards.highest is None:
        return policy, ""
    low, high = spec.allowed[0], spec.allowed[-1]
    return _moved("bounds", policy, np.clip(policy.thresholds, low, high), f"within the bounds {low:g} to {high:g}")


def _step(spec: Spec, policy: Policy, recent: NDArray[Any], last: Policy | None) -> tuple[Policy, str]:
    """Move thresholds to within a step of those that were played last, group by group."""
    step, grid = spec.guards.step, spec.allowed
    if step is None or last is None:
        return policy, ""
    thresholds = policy.thresholds.copy()
    for group in range(thresholds.shape[2]):
        played = last.thresholds[:, 0, group]
        reach = min(played.min(), grid[-1]) - step - 10.0**-DIGITS, max(played.max(), grid[0]) + step + 10.0**-DIGITS
        near = grid[(grid >= reach[0]) & (grid <= reach[1])]
        if near.size:
            low = -np.inf if np.isneginf(reach[0]) else near[0]
            high = np.inf if np.isposinf(reach[1]) else near[-1]
            thresholds[..., group] = np.clip(thresholds[..., group], low, high)
    return _moved("step", policy, thresholds, f"within a step of {step:g} of what was played")


def _moved(name: str, policy: Policy, thresholds: Array, where: str) -> tuple[Policy, str]:
    """Return a policy with other thresholds, and what is said of it; nothing if they are the same."""
    if (thresholds == policy.thresholds).all():
        return policy, ""
    found = policy._replace(thresholds=thresholds)
    if bool(policy.is_lottery[0]):
        return found, f"{name}: a lottery was proposed, its thresholds were moved to lie {where}"
    return found, f"{name}: {_said(policy)} was proposed, {_said(found)} is {where}"


def _floor(spec: Spec, policy: Policy, recent: NDArray[Any], last: Policy | None) -> tuple[Policy, str]:
    """Lower thresholds until every group is expected to be accepted as often as the floor says."""
    floor, grid = spec.guards.floor, spec.setting.thresholds
    people = recent.sum(axis=1)
    judged = people >= FEWEST
    if floor is None or not judged.any():
        return policy, ""
    rates = acceptance(policy, recent, grid)
    low = judged & (rates < floor)
    if not low.any():
        return policy, ""
    above = np.cumsum(recent[:, ::-1], axis=1)[:, ::-1] / np.maximum(people, 1.0)[:, None]  # share in bin k or higher
    met = above[:, 1:] >= floor  # of threshold k: those in bin k + 1 or higher
    highest = np.array([grid[np.flatnonzero(each)[-1]] if each.any() else grid[0] for each in met])
    if not spec.per_group:
        highest = np.full(len(highest), highest[judged].min())
    highest = np.clip(highest, spec.allowed[0], spec.allowed[-1])
    now = policy.single[0]
    lowered = np.minimum(np.where(np.isnan(now), np.inf, now), highest)
    if spec.per_group:
        lowered = np.where(low | np.isnan(now), lowered, now)
    group = int(low.argmax())
    found = Policy.of(lowered[None])
    return found, (
        f"floor: {spec.groups[group]} would be accepted with {rates[group]:.3f}, below the floor {floor:g}: "
        f"{_said(found)} takes the place of {_said(policy)}"
    )


def acceptance(policy: Policy, people: NDArray[Any], grid: Array) -> Array:
    """Return the share of people (G, K + 1) that a policy accepts, by group; NaN of nobody."""
    total = people.sum(axis=1)
    taken = (people * policy.accepted_share(grid)[0]).sum(axis=1)
    return np.asarray(np.divide(taken, total, out=np.full(len(total), np.nan), where=total > 0))


def _middle(grid: Array) -> float:
    return float(grid[len(grid) // 2])


def _said(policy: Policy) -> str:
    if bool(policy.is_lottery[0]):
        return "a lottery"
    values = [f"{each:g}" for each in dict.fromkeys(policy.single[0].tolist())]
    return f"the threshold {values[0]}" if len(values) == 1 else f"the thresholds {', '.join(values)}"
