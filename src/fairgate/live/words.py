"""Words: a policy and a decision, said so that a person can check them."""

from __future__ import annotations

import numpy as np

from fairgate.live.replies import Component, PolicyNow, Threshold
from fairgate.live.spec import Spec
from fairgate.policy import Policy
from fairgate.settings import Array


def policy_now(spec: Spec, policy: Policy, since_round: int, since: str) -> PolicyNow:
    """Return a policy in words and numbers."""
    components = [
        Component(weight=weight, thresholds=dict(zip(spec.groups, map(threshold_of, row), strict=True)))
        for weight, row in zip(policy.weights[:, 0].tolist(), policy.thresholds[:, 0].tolist(), strict=True)
    ]
    return PolicyNow(text=policy_text(spec, policy), components=components, since_round=since_round, since=since)


def threshold_of(value: float) -> Threshold:
    """Return a threshold as JSON has it."""
    return value if np.isfinite(value) else "inf" if value > 0 else "-inf"


def policy_text(spec: Spec, policy: Policy) -> str:
    """Say whom a policy accepts.

    >>> spec = Spec(name="credit", groups=["women", "men"], grid=[0.25, 0.5, 0.75], start={"threshold": 0.5})
    >>> policy_text(spec, spec.fixed(0.5)), policy_text(spec, Policy.uniform([0.7], groups=2))
    ('accept scores of 0.5 or more', 'lottery: accept everybody with probability 0.7, nobody with probability 0.3')
    """
    rows = [rule_text(spec, row) for row in policy.thresholds[:, 0]]
    if len(rows) == 1:
        return f"accept {rows[0]}"
    weights = policy.weights[:, 0].tolist()
    parts = [f"{row} with probability {weight:.3g}" for row, weight in zip(rows, weights, strict=True)]
    return f"lottery: accept {', '.join(parts)}"


def rule_text(spec: Spec, thresholds: Array) -> str:
    """Say who is accepted by one threshold per group."""
    if len(set(thresholds.tolist())) == 1:
        return _who(float(thresholds[0]))
    return " and ".join(f"{name}: {_who(each)}" for name, each in zip(spec.groups, thresholds.tolist(), strict=True))


def _who(threshold: float) -> str:
    if not np.isfinite(threshold):
        return "nobody" if threshold > 0 else "everybody"
    return f"scores of {threshold:g} or more"


def bin_text(grid: Array, place: int) -> str:
    """Say which scores a bin holds.

    >>> bin_text(np.array([0.25, 0.5]), 1), bin_text(np.array([0.25, 0.5]), 2)
    ('0.25 or more and below 0.5', '0.5 or more')
    """
    low = f"{grid[place - 1]:g} or more" if place > 0 else ""
    high = f"below {grid[place]:g}" if place < len(grid) else ""
    return " and ".join(filter(None, (low, high)))


def policy_name(policy: Policy) -> str:
    """Name a policy in short, each by a name of its own.

    >>> policy_name(Policy.of([[0.5, 0.5]])), policy_name(Policy.of([[0.25, 0.5]]))
    ('≥ 0.5', '≥ 0.25 / 0.5')
    >>> policy_name(Policy.uniform([0.7], groups=2))
    'lottery: 0.7 all, 0.3 none'
    """
    rows = [_short(row.tolist()) for row in policy.thresholds[:, 0]]
    if len(rows) == 1:
        return rows[0]
    return "lottery: " + ", ".join(f"{w:g} {row}" for w, row in zip(policy.weights[:, 0].tolist(), rows, strict=True))


def _short(thresholds: list[float]) -> str:
    found = [f"{each:.10g}" for each in (thresholds[:1] if len(set(thresholds)) == 1 else thresholds)]
    return {"inf": "none", "-inf": "all"}.get(" / ".join(found), f"≥ {' / '.join(found)}")
