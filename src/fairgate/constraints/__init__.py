"""Constraints: what is required of decisions, one file per constraint, and how each is made from its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fairgate.constraints.base import Constraint, Limit, Measure, Needs, PlainConstraint, Words, as_constraint
from fairgate.constraints.budget import Budget
from fairgate.constraints.demographic_parity import DemographicParity
from fairgate.constraints.disparate_impact import DisparateImpact
from fairgate.constraints.equal_opportunity import EqualOpportunity
from fairgate.constraints.equalised_odds import EqualisedOdds
from fairgate.constraints.group_service import GroupService
from fairgate.constraints.outcome_improvement import OutcomeImprovement, mean_score_change
from fairgate.constraints.service_rate import ServiceRate
from fairgate.errors import InputError, unknown_name
from fairgate.importing import import_place

__all__ = [
    "CONSTRAINTS",
    "Budget",
    "Constraint",
    "DemographicParity",
    "DisparateImpact",
    "EqualOpportunity",
    "EqualisedOdds",
    "GroupService",
    "Limit",
    "Measure",
    "Needs",
    "OutcomeImprovement",
    "PlainConstraint",
    "ServiceRate",
    "Words",
    "as_constraint",
    "make_constraint",
    "mean_score_change",
    "parse_constraint",
]

CONSTRAINTS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        DemographicParity,
        ServiceRate,
        EqualOpportunity,
        EqualisedOdds,
        DisparateImpact,
        Budget,
        GroupService,
        OutcomeImprovement,
    )
}
"""Every built-in constraint by its name."""


def parse_constraint(text: str, allow: Collection[str] = ()) -> Constraint:
    """Read a constraint such as ``parity=0.05`` or ``service=0.3:0.8``.

    A class of one's own, ``mypackage.mine:Harm=0.2``, is imported if `allow` has ``mypackage.mine:Harm``.

    >>> parse_constraint("service=0.3:0.8"), parse_constraint("ratio")
    (ServiceRate(low=0.3, high=0.8), DisparateImpact(ratio=0.8))
    >>> parse_constraint("service=0.3:0.8").text
    'service=0.3:0.8'
    """
    name, equals, settings = text.partition("=")
    return make_constraint(name.strip(), settings.strip() if equals else None, allow)


def make_constraint(
    name: str, settings: object = None, allow: Collection[str] = (), folder: Path | None = None
) -> Constraint:
    """Make the constraint called `name`, or the class at ``package.module:Class``, with these settings.

    `settings` are a number, a list of them, text such as ``"0.3:0.8"``, a table by setting, or None for the defaults.
    A class is imported only if `allow` has its place; its module is looked for in the current folder, then in `folder`.

    >>> make_constraint("parity", 0.05), make_constraint("service", [0.3, 0.8])
    (DemographicParity(epsilon=0.05), ServiceRate(low=0.3, high=0.8))
    >>> make_constraint("service", 0.8)
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: service must be written as service=low:high, got service=0.8
    """
    if ":" in name:
        kind = import_place(name, "constraint", allow, folder)
    elif name in CONSTRAINTS:
        kind = CONSTRAINTS[name]
    else:
        raise unknown_name("constraint", name, CONSTRAINTS)
    given = ":".join(map(str, settings)) if isinstance(settings, list) else settings
    said = name if settings is None else f"{name}={given}"
    try:
        if isinstance(settings, dict):
            made = kind(**settings)
        elif settings is None:
            made = kind()
        else:
            values = settings if isinstance(settings, list) else str(settings).split(":")
            made = kind(*map(_number, values))
    except InputError as error:
        raise InputError(f"{said}: {str(error).removeprefix(f'{kind.__name__}: ')}") from None
    except TypeError:
        fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
        settings = ":".join(field.name for field in fields if field.init) or "…"
        raise InputError(f"{name} must be written as {name}={settings}, got {said}") from None
    return as_constraint(made)


def _number(value: object) -> Any:
    """Return the number that a text stands for; anything else as it is, for the constraint to refuse."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
