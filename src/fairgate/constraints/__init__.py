"""Constraints: what is required of decisions. One file per constraint."""

from fairgate.constraints.base import Constraint, Limit, Needs, PlainConstraint, Words, as_constraint
from fairgate.constraints.budget import Budget
from fairgate.constraints.demographic_parity import DemographicParity
from fairgate.constraints.disparate_impact import DisparateImpact
from fairgate.constraints.equal_opportunity import EqualOpportunity
from fairgate.constraints.equalised_odds import EqualisedOdds
from fairgate.constraints.group_service import GroupService
from fairgate.constraints.service_rate import ServiceRate
from fairgate.constraints.text import CONSTRAINTS, make_constraint, parse_constraint

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
    "Needs",
    "PlainConstraint",
    "ServiceRate",
    "Words",
    "as_constraint",
    "make_constraint",
    "parse_constraint",
]
