"""Constraints: what is required of decisions. One file a constraint."""

from collections.abc import Callable

from fairgate.constraints.base import Constraint, DecisionConstraint
from fairgate.constraints.budget import Budget
from fairgate.constraints.demographic_parity import DemographicParity
from fairgate.constraints.disparate_impact import DisparateImpact
from fairgate.constraints.equal_opportunity import EqualOpportunity
from fairgate.constraints.equalised_odds import EqualisedOdds
from fairgate.constraints.group_service import GroupService
from fairgate.constraints.service_rate import ServiceRate

CONSTRAINTS: dict[str, Callable[..., Constraint]] = {
    "parity": DemographicParity,
    "service": ServiceRate,
    "equal-opportunity": EqualOpportunity,
    "equalised-odds": EqualisedOdds,
    "disparate-impact": DisparateImpact,
    "budget": Budget,
    "group-service": GroupService,
}
"""Every built-in constraint by its name in a preset, to be called with its settings."""

__all__ = [
    "CONSTRAINTS",
    "Budget",
    "Constraint",
    "DecisionConstraint",
    "DemographicParity",
    "DisparateImpact",
    "EqualOpportunity",
    "EqualisedOdds",
    "GroupService",
    "ServiceRate",
]
