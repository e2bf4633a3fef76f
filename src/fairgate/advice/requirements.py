"""Requirements: whether a rule keeps what is required, and by how much, in the figures that are required of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairgate.constraints import Constraint, Measure
from fairgate.counts import Counts
from fairgate.problem import ROUNDING

MINUS = "−"


@dataclass(frozen=True)
class Requirement:
    """One residual of one rule: whether it is kept, None if that cannot be told, and the figure behind it in words."""

    name: str
    met: bool | None
    value: float | None
    text: str  # such as "Gap of acceptance rates 0.0558, at most 0.1 allowed"


def requirements(constraints: Sequence[Constraint], counts: Counts, untold: str = "") -> list[Requirement]:
    """Hold the counts of one rule, (G, 2, 2), against each constraint.

    `untold` says why constraints that look at labels cannot be told, if they cannot.

    >>> from fairgate.constraints import DisparateImpact, ServiceRate
    >>> counts = Counts([[[3, 1], [1, 5]], [[1, 2], [0, 7]]])     # 60% and 90% accepted
    >>> for each in requirements([DisparateImpact(0.8), ServiceRate(0.3, 0.8)], counts):
    ...     print(each.met, each.text)
    False Ratio of acceptance rates 0.6667, at least 0.8 required, broken by 0.1333
    True Acceptance 75.0%, at least 30% required
    True Acceptance 75.0%, at most 80% allowed
    """
    found = []
    for constraint in constraints:
        told = not untold or constraint.needs == "decisions"
        residuals = constraint.residuals(counts)
        for name, measure, residual in zip(constraint.names, constraint.measures(counts), residuals, strict=True):
            value = float(measure.value)
            if not told or not np.isfinite(value):
                why = untold or "a group has nobody"
                found.append(Requirement(name, None, None, f"{measure.about}, {limit(measure)} ({why})"))
                continue
            met = bool(residual <= ROUNDING)
            broken = "" if met else f", broken by {_amount(float(measure.beyond), measure.percent)}"
            found.append(Requirement(name, met, value, f"{measure.about} {write(measure)}, {limit(measure)}{broken}"))
    return found


def write(measure: Measure) -> str:
    """Write the figure of one rule."""
    value = float(measure.value)
    text = f"{value:.1%}" if measure.percent else f"{value:.4f}"
    return text.replace("-", MINUS)


def limit(measure: Measure) -> str:
    """Write what is required of a figure.

    >>> value = np.array(0.9)
    >>> limit(Measure("Ratio", value, "at least", 0.8)), limit(Measure("Rate", value, "at most", 1.0, percent=True))
    ('at least 0.8 required', 'at most 100% allowed')
    """
    end = f"{100.0 * measure.limit:.4g}%" if measure.percent else f"{measure.limit:.4g}"
    return f"{measure.end} {end} {'required' if measure.end == 'at least' else 'allowed'}"


def verdict(found: Sequence[Requirement]) -> str:
    """Say which requirements a rule keeps and which it breaks; nothing if nothing is required.

    >>> parity = Requirement("parity", True, 0.05, "Gap of acceptance rates 0.0500, at most 0.1 allowed")
    >>> verdict([parity])
    'It keeps what is required: gap of acceptance rates 0.0500, at most 0.1 allowed.'
    """
    parts = []
    for met, says in ((False, "It breaks"), (True, "It keeps"), (None, "It leaves open")):
        texts = [f"{each.text[0].lower()}{each.text[1:]}" for each in found if each.met is met]
        if texts:
            whole = "what is required" if len(texts) == len(found) else f"{len(texts)} of {len(found)} requirements"
            parts.append(f"{says} {whole}: {'; '.join(texts)}.")
    return " ".join(parts)


def _amount(value: float, percent: bool) -> str:
    if percent:
        return f"{100.0 * value:.1f} points" if value >= 0.0005 else f"{100.0 * value:.1g} points"
    return f"{value:.4f}" if value >= 0.00005 else f"{value:.1g}"
