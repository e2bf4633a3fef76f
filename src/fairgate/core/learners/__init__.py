"""Learners of one loop."""

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
from fairgate.errors import InputError

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


def pure(configured: Any) -> Any:
    """Return the pure form of a learner; one that is pure already is returned as it is."""
    kind = type(configured)
    if kind in PURE.values():
        return configured
    if kind not in PURE:
        names = ", ".join(each.__name__ for each in PURE)
        raise InputError(f"learner must be one with a pure form ({names}), got {kind.__name__}")
    return PURE[kind](**{each.name: getattr(configured, each.name) for each in dataclasses.fields(configured)})
