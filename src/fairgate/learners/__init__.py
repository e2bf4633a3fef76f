"""Learners: propose thresholds, observe signals. One file an algorithm."""

from fairgate.learners.accept_all import AcceptAll
from fairgate.learners.bandit_gradient import BanditGradient
from fairgate.learners.base import AnyLearner, Learner
from fairgate.learners.bayesian import Bayesian, SafeBayesian
from fairgate.learners.best_lottery import BestLottery
from fairgate.learners.checks import check_learner
from fairgate.learners.doubly_optimistic import DoublyOptimistic
from fairgate.learners.epsilon_greedy import EpsilonGreedy
from fairgate.learners.exp3_primal_dual import Exp3PrimalDual
from fairgate.learners.explore_then_commit import ExploreThenCommit
from fairgate.learners.fixed import Fixed
from fairgate.learners.mixture import Mixture
from fairgate.learners.ofs import OFS
from fairgate.learners.per_group import PerGroup
from fairgate.learners.pessimistic_optimistic import PessimisticOptimistic
from fairgate.learners.primal_dual import PrimalDual
from fairgate.learners.random import Random
from fairgate.learners.registry import LEARNERS, load_learner, recommended
from fairgate.learners.repeated_retraining import RepeatedRetraining
from fairgate.learners.safe_forecast import SafeForecast
from fairgate.learners.scalar import scalar
from fairgate.learners.smooth_optimist import SmoothOptimist
from fairgate.learners.state import State
from fairgate.learners.threshold_optimizer import ThresholdOptimizer
from fairgate.learners.two_point import TwoPoint

__all__ = [
    "LEARNERS",
    "OFS",
    "AcceptAll",
    "AnyLearner",
    "BanditGradient",
    "Bayesian",
    "BestLottery",
    "DoublyOptimistic",
    "EpsilonGreedy",
    "Exp3PrimalDual",
    "ExploreThenCommit",
    "Fixed",
    "Learner",
    "Mixture",
    "PerGroup",
    "PessimisticOptimistic",
    "PrimalDual",
    "Random",
    "RepeatedRetraining",
    "SafeBayesian",
    "SafeForecast",
    "SmoothOptimist",
    "State",
    "ThresholdOptimizer",
    "TwoPoint",
    "check_learner",
    "load_learner",
    "recommended",
    "scalar",
]
