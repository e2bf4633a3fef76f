"""Environments: who arrives, and how decisions change who arrives next."""

from fairgate.environments.base import Environment
from fairgate.environments.checks import EnvironmentCheckError, check_environment
from fairgate.environments.credit_scores import CreditScores
from fairgate.environments.delayed_impact import DelayedImpact
from fairgate.environments.drift import Drift
from fairgate.environments.gaussian_scores import GaussianScores
from fairgate.environments.location_scale import LocationScale
from fairgate.environments.normal_scores import NormalScores
from fairgate.environments.performative import Performative
from fairgate.environments.responsive_scores import ResponsiveScores
from fairgate.environments.score_pools import ScorePools
from fairgate.environments.strategic import Strategic

ENVIRONMENTS: dict[str, type[Environment]] = {
    kind.__name__: kind
    for kind in (
        CreditScores,
        DelayedImpact,
        Drift,
        GaussianScores,
        LocationScale,
        Performative,
        ResponsiveScores,
        ScorePools,
        Strategic,
    )
}
"""Environments by the name a preset gives as its `kind`."""

__all__ = [
    "ENVIRONMENTS",
    "CreditScores",
    "DelayedImpact",
    "Drift",
    "Environment",
    "EnvironmentCheckError",
    "GaussianScores",
    "LocationScale",
    "NormalScores",
    "Performative",
    "ResponsiveScores",
    "ScorePools",
    "Strategic",
    "check_environment",
]
