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
from fairgate.errors import InputError, unknown_name
from fairgate.learners.base import is_pure as written_pure
from fairgate.problem import LEVELS

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
    return type(learner) in PURE or written_pure(learner)


def checked(learner: Any) -> Any:
    """Return a learner in pure form if it has all that a simulation needs; else say what it lacks."""
    name = type(learner).__name__
    for part in ("init", "propose", "observe"):
        if not callable(getattr(learner, part, None)):
            raise InputError(f"{name} must have the methods init, propose and observe, it has no {part}")
    level = getattr(learner, "level", None)
    if level not in LEVELS:
        raise unknown_name(f"level of {name}", level, LEVELS)
    return learner


def pure(learner: Any) -> Any:
    """Return the pure form of a learner; a learner already in pure form is returned unchanged."""
    kind = PURE.get(type(learner))
    if kind is None:
        return learner
    return kind(**{each.name: getattr(learner, each.name) for each in dataclasses.fields(learner)})
