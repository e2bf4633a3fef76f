"""Aims: what the user wants of a threshold, and how closely to look."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from fairgate.constraints import Constraint, PlainConstraint
from fairgate.constraints.base import check_names
from fairgate.constraints.window import Window
from fairgate.errors import InputError
from fairgate.problem import Problem, Utility
from fairgate.settings import whole_number

STRENGTHS = (0.0, 0.25, 0.5, 0.8)
"""Strengths of feedback looked at if nothing is known: none, weak, medium and strong.

The paper's experiments have 0.8, about a reference of one half.
"""

RANGE = "strengths above -1 and below 1"
"""What strengths may be; below 0, accepting more draws worse applicants."""


@dataclass(frozen=True)
class Aims:
    """What is wanted and required, and how long to look.

    Parameters
    ----------
    cost, benefit
        Cost of accepting somebody whose label is 0, and what accepting somebody whose label is 1 is worth. Rewards are
        in units of the benefit.
    currency
        What `cost` and `benefit` are counted in, such as "EUR"; totals are then given in it.
    constraints
        From :mod:`fairgate.constraints`, or any objects with ``names`` and ``residuals(counts)``.
    feedback
        Strengths of feedback to look at, each above −1 and below 1; negative ones mean that accepting more draws worse
        applicants. The recommendation is made for the first. By default those that the history tells, see
        :func:`~fairgate.advice.feedback.estimate_feedback`; if there is none or it cannot tell, `STRENGTHS`.
    current
        Threshold in use when the table was made. Groups stay as they are at their acceptance rates there, unless there
        is a decision column, whose rates then count; with neither, at those of the best threshold of today.
    sure
        Probability with which a threshold that is called sure meets every constraint.
    loops
        Whether to let learners run in the closed loop on these people.
    seeds, rounds, seed
        Loops, their length, and the root of all random numbers.

    Examples
    --------
    >>> from fairgate.constraints import DemographicParity, ServiceRate
    >>> Aims(cost=2.0, constraints=[DemographicParity(0.05), ServiceRate(0.3, 0.8)]).problem.names
    ('parity', 'service-low', 'service-high')
    """

    cost: float = 1.0
    benefit: float = 1.0
    currency: str = ""
    constraints: Sequence[PlainConstraint] = ()
    feedback: tuple[float, ...] | None = None
    current: float | None = None
    sure: float = 0.9
    loops: bool = False
    seeds: int = 20
    rounds: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        keep = object.__setattr__
        keep(self, "cost", _number("cost", self.cost, 0.0))
        keep(self, "benefit", _number("benefit", self.benefit, 0.0))
        if self.benefit == 0.0:
            raise InputError("benefit must be above 0, got 0")
        keep(self, "sure", _number("sure", self.sure, 0.0))
        if not 0.5 <= self.sure < 1.0:
            raise InputError(f"sure must be a probability from 0.5 to below 1, such as 0.9, got {self.sure:g}")
        for name, kind, right in (("currency", str, "a text such as 'EUR'"), ("loops", bool, "True or False")):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"{name} must be {right}, got {getattr(self, name)!r}")
        if not isinstance(self.constraints, Sequence) or isinstance(self.constraints, str):
            raise InputError(f"constraints must be a list such as [DemographicParity(0.05)], got {self.constraints!r}")
        if self.problem.replicates is not None:
            raise InputError(f"constraints must have one number per setting, got {self.constraints!r}")
        check_names(self.problem.constraints)
        refuse_contradiction(self.problem.constraints)
        if self.feedback is not None:
            keep(self, "feedback", _strengths(self.feedback))
        if self.current is not None:
            keep(self, "current", _number("current", self.current))
        for name, least in (("seeds", 1), ("rounds", 5), ("seed", 0)):
            keep(self, name, whole_number(name, getattr(self, name), least))

    @property
    def unit_cost(self) -> float:
        """Cost of a bad acceptance in units of the benefit of a good one."""
        return self.cost / self.benefit

    @cached_property
    def problem(self) -> Problem:
        """The utility and the constraints."""
        return Problem(Utility(self.unit_cost), self.constraints)

    def describe(self) -> dict[str, Any]:
        """Return the aims as plain data, constraints as they are written in a policy file."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"constraints": [each.text for each in self.problem.constraints]}


def refuse_contradiction(constraints: Sequence[Constraint]) -> None:
    """Say so if two windows of acceptance have nothing in common, so that no score could help.

    If every group's rate lies in a window, so does everybody's.

    >>> from fairgate.constraints import Budget, GroupService
    >>> refuse_contradiction([Budget(0.3), GroupService(0.5, 0.9)])
    Traceback (most recent call last):
    ...
    fairgate.errors.InputError: budget=0.3 and group-service=0.5:0.9 contradict each other, whatever the score: one \
allows at most 30% to be accepted, the other asks for at least 50%
    """
    ends = [(*each.uniform_window(), each.text) for each in constraints if isinstance(each, Window)]
    for low, _, asking in ends:
        for _, high, allowing in ends:
            if float(np.max(low)) > float(np.min(high)):
                raise InputError(
                    f"{allowing} and {asking} contradict each other, whatever the score: one allows at most "
                    f"{100.0 * float(np.min(high)):.4g}% to be accepted, the other asks for at least "
                    f"{100.0 * float(np.max(low)):.4g}%"
                )


def strength_name(strength: float) -> str:
    """Return a word for a strength of feedback.

    >>> [strength_name(each) for each in (*STRENGTHS, -0.25)]
    ['none', 'weak', 'medium', 'strong', 'weak adverse']
    """
    size = abs(strength)
    name = "none" if size == 0.0 else "weak" if size < 0.35 else "medium" if size < 0.65 else "strong"
    return f"{name} adverse" if strength < 0.0 else name


def _strengths(given: object) -> tuple[float, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise InputError(f"feedback must be one or more {RANGE}, got {given!r}")
    strengths = tuple(_number("feedback", each) for each in given)
    strange = [each for each in strengths if not -1.0 < each < 1.0]
    if strange:
        raise InputError(f"feedback must be {RANGE}, got {strange[0]:g}")
    return tuple(dict.fromkeys(strengths))


def _number(name: str, value: object, low: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not (math.isfinite(number) and number >= low):
        within = "a finite number" if math.isinf(low) else f"at least {low:g}"
        raise InputError(f"{name} must be {within}, got {number:g}")
    return number
