"""Learners: propose thresholds, observe signals. One file an algorithm."""

from fairgate.learners.base import AnyLearner, Learner
from fairgate.learners.baselines.bayesian import Bayesian
from fairgate.learners.baselines.best_lottery import BestLottery
from fairgate.learners.baselines.conformal_tracker import ConformalTracker
from fairgate.learners.baselines.controls import AcceptAll, Fixed, Random
from fairgate.learners.baselines.epoch_zeroth_order import EpochZerothOrder
from fairgate.learners.baselines.epsilon_greedy import EpsilonGreedy
from fairgate.learners.baselines.exp3_primal_dual import Exp3PrimalDual
from fairgate.learners.baselines.explore_then_commit import ExploreThenCommit
from fairgate.learners.baselines.exploring_policy import ExploringPolicy
from fairgate.learners.baselines.gradient import BanditGradient, PrimalDual
from fairgate.learners.baselines.performative_gradient import PerformativeGradient
from fairgate.learners.baselines.pessimistic_optimistic import PessimisticOptimistic
from fairgate.learners.baselines.repeated_retraining import RepeatedRetraining
from fairgate.learners.baselines.retraining_lottery import RetrainingLottery
from fairgate.learners.baselines.thompson import Thompson
from fairgate.learners.baselines.threshold_optimizer import ThresholdOptimizer
from fairgate.learners.baselines.two_point import TwoPoint
from fairgate.learners.checks import check_learner
from fairgate.learners.doubly_optimistic import DoublyOptimistic
from fairgate.learners.mixture import Mixture
from fairgate.learners.ofs import OFS
from fairgate.learners.own import as_learner
from fairgate.learners.per_group import PerGroup
from fairgate.learners.registry import LEARNERS, load_learner, recommended
from fairgate.learners.safe_forecast import SafeForecast
from fairgate.learners.safe_search import SafeSearch
from fairgate.learners.scalar import scalar
from fairgate.learners.smooth_optimist import SmoothOptimist
from fairgate.learners.state import State

__all__ = [
    "LEARNERS",
    "OFS",
    "AcceptAll",
    "AnyLearner",
    "BanditGradient",
    "Bayesian",
    "BestLottery",
    "ConformalTracker",
    "DoublyOptimistic",
    "EpochZerothOrder",
    "EpsilonGreedy",
    "Exp3PrimalDual",
    "ExploreThenCommit",
    "ExploringPolicy",
    "Fixed",
    "Learner",
    "Mixture",
    "PerGroup",
    "PerformativeGradient",
    "PessimisticOptimistic",
    "PrimalDual",
    "Random",
    "RepeatedRetraining",
    "RetrainingLottery",
    "SafeForecast",
    "SafeSearch",
    "SmoothOptimist",
    "State",
    "Thompson",
    "ThresholdOptimizer",
    "TwoPoint",
    "as_learner",
    "check_learner",
    "load_learner",
    "recommended",
    "scalar",
]
