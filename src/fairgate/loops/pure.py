"""Pure: the pure form of each learner that users configure."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

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
from fairgate.learners import Learner
from fairgate.learners.one_loop import OneLoop
from fairgate.setting import Setting

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


def is_pure(learner: Learner[Any]) -> bool:
    """Return whether a learner has a pure form."""
    return isinstance(learner, OneLoop) or type(learner) in PURE


def pure(learner: Learner[Any], setting: Setting | None = None, replicate: int = 0) -> Any:
    """Return the pure form of a learner that has one; `setting` is that of a :class:`OneLoop`."""
    if isinstance(learner, OneLoop):
        return learner.rule(cast(Setting, setting), replicate)
    kind = PURE[type(learner)]
    return kind(**{each.name: getattr(learner, each.name) for each in dataclasses.fields(learner)})
