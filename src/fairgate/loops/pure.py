"""Pure: the pure form of each learner that users configure."""

from __future__ import annotations

import dataclasses
from typing import Any

from fairgate import learners
from fairgate.core.learners.bayesian import Bayesian
from fairgate.core.learners.best_lottery import BestLottery
from fairgate.core.learners.conformal_tracker import ConformalTracker
from fairgate.core.learners.controls import AcceptAll, Fixed, Random
from fairgate.core.learners.doubly_optimistic import DoublyOptimistic
from fairgate.core.learners.epoch_zeroth_order import EpochZerothOrder
from fairgate.core.learners.epsilon_greedy import EpsilonGreedy
from fairgate.core.learners.explore_then_commit import ExploreThenCommit
from fairgate.core.learners.gradient import BanditGradient, PrimalDual
from fairgate.core.learners.ofs import OFS
from fairgate.core.learners.performative_gradient import PerformativeGradient
from fairgate.core.learners.pessimistic_optimistic import PessimisticOptimistic
from fairgate.core.learners.smooth_optimist import SmoothOptimist
from fairgate.core.learners.thompson import Thompson
from fairgate.core.learners.two_point import TwoPoint

PURE: dict[type, Any] = {
    learners.AcceptAll: AcceptAll,
    learners.BanditGradient: BanditGradient,
    learners.Bayesian: Bayesian,
    learners.BestLottery: BestLottery,
    learners.ConformalTracker: ConformalTracker,
    learners.DoublyOptimistic: DoublyOptimistic,
    learners.EpochZerothOrder: EpochZerothOrder,
    learners.EpsilonGreedy: EpsilonGreedy,
    learners.ExploreThenCommit: ExploreThenCommit,
    learners.Fixed: Fixed,
    learners.OFS: OFS,
    learners.PerformativeGradient: PerformativeGradient,
    learners.PessimisticOptimistic: PessimisticOptimistic,
    learners.PrimalDual: PrimalDual,
    learners.Random: Random,
    learners.SmoothOptimist: SmoothOptimist,
    learners.Thompson: Thompson,
    learners.TwoPoint: TwoPoint,
}
"""The pure form of each learner that users configure, with the same settings."""


def is_pure(learner: Any) -> bool:
    """Return whether a learner is in pure form, or has one."""
    return type(learner) in PURE or (hasattr(learner, "init") and not hasattr(learner, "start"))


def pure(learner: Any) -> Any:
    """Return the pure form of a learner; a learner already in pure form is returned unchanged."""
    kind = PURE.get(type(learner))
    if kind is None:
        return learner
    return kind(**{each.name: getattr(learner, each.name) for each in dataclasses.fields(learner)})
