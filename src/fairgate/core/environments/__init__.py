"""Environments: the applicants of one loop, and how decisions change later applicants."""

from __future__ import annotations

from typing import Any

from fairgate import environments
from fairgate.core.environments.credit_scores import CreditScores
from fairgate.core.environments.delayed_impact import DelayedImpact
from fairgate.core.environments.drift import Drift
from fairgate.core.environments.gaussian_scores import GaussianScores
from fairgate.core.environments.location_scale import LocationScale
from fairgate.core.environments.performative import Performative
from fairgate.core.environments.responsive_scores import ResponsiveScores
from fairgate.core.environments.score_pools import ScorePools
from fairgate.core.environments.strategic import Strategic

PURE: dict[type, Any] = {
    environments.CreditScores: CreditScores,
    environments.DelayedImpact: DelayedImpact,
    environments.Drift: Drift,
    environments.GaussianScores: GaussianScores,
    environments.LocationScale: LocationScale,
    environments.Performative: Performative,
    environments.ResponsiveScores: ResponsiveScores,
    environments.ScorePools: ScorePools,
    environments.Strategic: Strategic,
}
"""The pure form of each environment that users describe."""


def is_pure(described: environments.Environment) -> bool:
    """Return whether an environment has a pure form."""
    return type(described) in PURE


def pure(described: environments.Environment) -> Any:
    """Return the pure form of an environment."""
    return PURE[type(described)].of(described)
