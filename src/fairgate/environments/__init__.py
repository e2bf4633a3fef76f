"""Environments: who arrives, and how decisions change who arrives next."""

from fairgate.environments.base import Environment
from fairgate.environments.gaussian_scores import GaussianScores
from fairgate.environments.score_pools import ScorePools

__all__ = ["Environment", "GaussianScores", "ScorePools"]
