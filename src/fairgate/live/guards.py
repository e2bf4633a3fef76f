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


def guard(spec: Spec, proposal: Policy, force: Policy | None, recent: NDArray[Any]) -> Guarded:
    """Return the policy to play for what the learner proposes.

    Parameters
    ----------
    spec
        The gate's guards, grid and groups.
    proposal
        What the learner proposes.
    force
        The policy in force until now, if there is one.
    recent
        People who came of late by group and score bin, (G, K + 1), by which acceptance is predicted.

    Examples
    --------
    >>> spec = Spec(name="credit", groups=["a", "b"], grid=[0.0, 0.25, 0.5, 0.75],
    ...             start={"threshold": 0.25}, guards={"step": 0.25})
    >>> guarded = guard(spec, spec.fixed(0.75), force=spec.fixed(0.25), recent=np.zeros((2, 5)))
    >>> guarded.policy.single[0].tolist(), guarded.notes
    ([0.5, 0.5], ['step: the threshold 0.75 was proposed, 0.5 is as far as a step of 0.25 goes from 0.25'])
    """
    policy, notes, limits = rounded(proposal, DIGITS), [], spec.guards
    fallback = force or spec.first or Policy.shared([_middle(spec.setting.thresholds)], len(spec.groups))
    if not limits.lotteries and bool(policy.is_lottery[0]):
        notes.append("lotteries: a lottery was proposed, and lotteries are switched off: the policy in force is kept")
        policy = fallback
    if not spec.per_group and bool((policy.thresholds != policy.thresholds[..., :1]).any()):
        notes.append("per_group: thresholds that differ between groups were proposed: the policy in force is kept")
        policy = fallback
    for check in (_bounds, _step, _floor):
        policy, note = check(spec, policy, force, recent)
        notes += [note] if note else []
    return Guarded(policy, notes)


def _bounds(spec: Spec, policy: Policy, force: Policy | None, recent: NDArray[Any]) -> tuple[Policy, str]:
    allowed = spec.allowed
    if spec.guards.lowest is None and spec.guards.highest is None:
        return policy, ""
    bounded = policy._replace(thresholds=_snapped(policy.thresholds, allowed))
    if (bounded.thresholds == policy.thresholds).all():
        return policy, ""
    given = f"{allowed[0]:g} to {allowed[-1]:g}"
    if bool(policy.is_lottery[0]):
        return bounded, f"bounds: a lottery beyond the bounds {given} was proposed, its thresholds were moved to them"
    return bounded, f"bounds: {_said(policy)} was proposed, {_said(bounded)} is within the bounds {given}"


def _step(spec: Spec, policy: Policy, force: Policy | None, recent: NDArray[Any]) -> tuple[Policy, str]:
    """Keep a threshold near the one in force; a lottery has no threshold to compare."""
    step = spec.guards.step
    if step is None or force is None or bool(policy.is_lottery[0]) or bool(force.is_lottery[0]):
        return policy, ""
    now, wanted = force.single[0], policy.single[0]
    if not np.isfinite(now).all():
        return policy, ""
    grid, moved = spec.allowed, wanted.copy()
    for group, (here, there) in enumerate(zip(now, wanted, strict=True)):
        near = grid[abs(grid - here) <= step + 10.0**-DIGITS]
        if near.size and not abs(there - here) <= step + 10.0**-DIGITS:
            moved[group] = near[-1] if there > here else near[0]
    if (moved == wanted).all():
        return policy, ""
    group = int((moved != wanted).argmax())
    numbers = f"the threshold {wanted[group]:g} was proposed, {moved[group]:g} is as far as"
    return Policy.of(moved[None]), f"step: {numbers} a step of {step:g} goes from {now[group]:g}"


def _floor(spec: Spec, policy: Policy, force: Policy | None, recent: NDArray[Any]) -> tuple[Policy, str]:
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
    allowed = spec.allowed
    met = above[:, 1:] >= floor  # of threshold k: those in bin k + 1 or higher
    highest = np.array([grid[np.flatnonzero(each)[-1]] if each.any() else grid[0] for each in met])
    if not spec.per_group:
        highest = np.full(len(highest), highest[judged].min())
    highest = _snapped(highest, allowed)
    lowered = np.minimum(np.where(np.isnan(policy.single[0]), np.inf, policy.single[0]), highest)
    lowered = lowered if not spec.per_group else np.where(low, lowered, _or(policy.single[0], lowered))
    group = int(low.argmax())
    found = Policy.of(lowered[None])
    return found, (
        f"floor: {spec.groups[group]} would be accepted with {rates[group]:.3f}, below the floor {floor:g}: "
        f"{_said(found)} is played in place of {_said(policy)}"
    )


def acceptance(policy: Policy, people: NDArray[Any], grid: Array) -> Array:
    """Return the share of people (G, K + 1) that a policy accepts, by group; NaN of nobody."""
    total = people.sum(axis=1)
    taken = (people * policy.accepted_share(grid)[0]).sum(axis=1)
    return np.asarray(np.divide(taken, total, out=np.full(len(total), np.nan), where=total > 0))


def _or(values: Array, others: Array) -> Array:
    return np.where(np.isnan(values), others, values)


def _snapped(thresholds: Array, allowed: Array) -> Array:
    """Return thresholds that lie beyond the allowed ones as the nearest of these."""
    return np.clip(thresholds, allowed[0], allowed[-1])


def _middle(grid: Array) -> float:
    return float(grid[len(grid) // 2])


def _said(policy: Policy) -> str:
    if bool(policy.is_lottery[0]):
        return "a lottery"
    values = [f"{each:g}" for each in dict.fromkeys(policy.single[0].tolist())]
    return f"the threshold {values[0]}" if len(values) == 1 else f"the thresholds {', '.join(values)}"
