"""Learners: propose thresholds, observe signals. One file an algorithm."""

from fairgate.learners.bandit_gradient import BanditGradient
from fairgate.learners.base import AnyLearner, Learner
from fairgate.learners.checks import check_learner
from fairgate.learners.fixed import Fixed
from fairgate.learners.memory import Memory
from fairgate.learners.ofs import OFS
from fairgate.learners.primal_dual import PrimalDual
from fairgate.learners.random import Random
from fairgate.learners.registry import LEARNERS, load_learner
from fairgate.learners.scalar import scalar

__all__ = [
    "LEARNERS",
    "OFS",
    "AnyLearner",
    "BanditGradient",
    "Fixed",
    "Learner",
    "Memory",
    "PrimalDual",
    "Random",
    "check_learner",
    "load_learner",
    "scalar",
]
