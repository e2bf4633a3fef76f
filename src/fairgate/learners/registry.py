"""Learners by name, as the command line and the presets know them."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import Any, cast

from fairgate.errors import InputError, unknown_name
from fairgate.history import History
from fairgate.learners.base import Learner, check_level
from fairgate.learners.baselines.bayesian import Bayesian, safe_bayesian
from fairgate.learners.baselines.best_lottery import BestLottery
from fairgate.learners.baselines.conformal_tracker import ConformalTracker
from fairgate.learners.baselines.controls import AcceptAll, Fixed, Random
from fairgate.learners.baselines.epoch_zeroth_order import EpochZerothOrder
from fairgate.learners.baselines.epsilon_greedy import EpsilonGreedy
from fairgate.learners.baselines.exp3_primal_dual import Exp3PrimalDual
from fairgate.learners.baselines.explore_then_commit import ExploreThenCommit
from fairgate.learners.baselines.exploring_policy import exploring_dr, exploring_ips
from fairgate.learners.baselines.gradient import BanditGradient, PrimalDual
from fairgate.learners.baselines.performative_gradient import PerformativeGradient
from fairgate.learners.baselines.pessimistic_optimistic import PessimisticOptimistic
from fairgate.learners.baselines.repeated_retraining import RepeatedRetraining
from fairgate.learners.baselines.retraining_lottery import RetrainingLottery
from fairgate.learners.baselines.thompson import Thompson
from fairgate.learners.baselines.threshold_optimizer import ThresholdOptimizer
from fairgate.learners.baselines.two_point import TwoPoint
from fairgate.learners.doubly_optimistic import DoublyOptimistic
from fairgate.learners.mixture import Mixture
from fairgate.learners.ofs import OFS
from fairgate.learners.per_group import PerGroup
from fairgate.learners.safe_forecast import SafeForecast
from fairgate.learners.safe_search import SafeSearch
from fairgate.learners.smooth_optimist import SmoothOptimist
from fairgate.problem import LEVELS
from fairgate.tasks import Task, load_task, presets

LEARNERS: dict[str, Callable[..., Learner[Any]]] = {
    "ofs": OFS,
    "unconstrained": BanditGradient,
    "primal-dual": PrimalDual,
    "fixed": Fixed,
    "random": Random,
    "smooth-optimist": SmoothOptimist,
    "safe-search": SafeSearch,
    "safe-search-lottery": functools.partial(SafeSearch, policies="lottery"),
    "safe-search-no-lottery": functools.partial(SafeSearch, lottery=False),
    "safe-forecast": SafeForecast,
    "per-group": PerGroup,
    "mixture": Mixture,
    "repeated-retraining": RepeatedRetraining,
    "retraining-lottery": RetrainingLottery,
    "two-point": TwoPoint,
    "epoch-zeroth-order": EpochZerothOrder,
    "performative-gradient": PerformativeGradient,
    "pessimistic-optimistic": PessimisticOptimistic,
    "exp3-primal-dual": Exp3PrimalDual,
    "explore-then-commit": ExploreThenCommit,
    "epsilon-greedy": EpsilonGreedy,
    "bayesian": Bayesian,
    "safe-bayesian": safe_bayesian,
    "thompson": Thompson,
    "conformal-tracker": ConformalTracker,
    "exploring-ips": exploring_ips,
    "exploring-dr": exploring_dr,
    "threshold-optimizer": ThresholdOptimizer,
    "accept-all": AcceptAll,
    "best-lottery": BestLottery,
    "doubly-optimistic": DoublyOptimistic,
}
"""Every built-in learner by its name on the command line."""


TRUTH = {"true": True, "1": True, "false": False, "0": False}
"""How a setting that is true or false is written, in any case."""


def kind_of(name: str) -> type[Learner[Any]]:
    """Return the class of a built-in learner; some names are a class with settings of their own."""
    made: Any = LEARNERS[name]
    kind: Any = made.func if isinstance(made, functools.partial) else made
    return cast(type[Learner[Any]], kind)


def load_learner(name: str, task: str | None = None) -> Learner[Any]:
    """Make a learner from its name, with the settings that `task`'s preset has for it.

    Settings can be given after a colon, and win over the preset's.

    >>> load_learner("ofs:c=0.1,exploration=0")
    OFS(c=0.1, delta=0.05, exploration=0.0)
    >>> load_learner("primal-dual", task="german").dual_step
    0.1
    >>> load_learner("exploring-dr:estimate=ips").estimate, load_learner("bayesian:safe=True").safe
    ('ips', True)
    """
    kind, colon, given = name.partition(":")
    if kind not in LEARNERS:
        raise unknown_name("learner", kind, LEARNERS)
    if colon and not given.strip():
        raise InputError(f"learner {name!r}: after the colon must come a setting such as c=0.1")
    settings: dict[str, Any] = {}
    if task is not None:
        load_task(task)  # an unknown name is said so here
        settings.update(presets().get(task, {}).get("learners", {}).get(kind, {}))
    hints = typing.get_type_hints(kind_of(kind))
    for pair in filter(None, given.split(",")):
        key, equals, value = (each.strip() for each in pair.partition("="))
        if not equals or not value:
            raise InputError(f"learner {name!r}: {pair!r} must be a setting such as c=0.1")
        settings[key] = _read(f"learner {name!r}: {pair!r}", value, hints.get(key, str))
    try:
        return LEARNERS[kind](**settings)
    except TypeError:
        fields = dataclasses.fields(kind_of(kind))
        needed = [each.name for each in fields if each.default is dataclasses.MISSING and each.name not in settings]
        if needed:
            raise InputError(f"learner {name!r} needs {needed[0]}, as in {kind}:{needed[0]}=0.1") from None
        known = ", ".join(each.name for each in fields) or "(none)"
        raise InputError(f"learner {name!r} takes the settings {known}") from None


def _read(what: str, value: str, hint: Any) -> Any:
    """Read the text of a setting as what its type says: true or false, text, or else a number."""
    told = typing.get_args(hint) or (hint,)
    if bool in told:
        if value.lower() not in TRUTH:
            raise InputError(f"{what} must be True or False")
        return TRUTH[value.lower()]
    if typing.get_origin(hint) is typing.Literal:
        if value not in told:
            raise InputError(f"{what} must be one of {', '.join(map(str, told))}")
        return value
    if hint is Any or str in told or History in told:
        return value
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{what} must be a setting such as c=0.1") from None


OWN = (
    "smooth-optimist",
    "safe-search",
    "safe-search-lottery",
    "safe-search-no-lottery",
    "safe-forecast",
    "per-group",
    "mixture",
    "doubly-optimistic",
)
"""Learners that were made here; all others are the field's."""

BASELINES = frozenset(LEARNERS) - frozenset(OWN)
"""What the field has: the best of these is what others are compared with."""


def is_baseline(name: str) -> bool:
    """Whether a name, with or without settings, is that of a built-in learner that was not made here.

    >>> is_baseline("ofs"), is_baseline("ofs:c=0.1"), is_baseline("mixture"), is_baseline("random:Mine")
    (True, True, False, False)
    """
    kind, _, settings = name.partition(":")
    return kind in BASELINES and (not settings or (":" not in settings and "=" in settings))


RECOMMENDED = {"bandit": "smooth-optimist", "selective-labels": "safe-search"}
"""The learner to use if nothing else is known, by what may be seen; docs/learners/index.md has the evidence."""


def recommended(
    task: Task | None = None, level: str = "selective-labels", *, policies: str = "threshold", **settings: Any
) -> Learner[Any]:
    """Return the learner to begin with on `task`.

    Parameters
    ----------
    task
        What it is for. The same learner with the same settings is recommended for all tasks; given one, what it
        requires is checked against what the level may see.
    level
        "bandit" if only the batch's counts under the played threshold are seen, "selective-labels" if also the scores
        of all and the labels of the accepted. "scores" gets what "bandit" does, and "full-labels" what
        "selective-labels" does.
    policies
        The class of policies that may be played: "threshold", "lottery" or "per-group". At level "bandit" there are
        thresholds alone.
    settings
        Further settings of the learner, such as ``lottery=False`` or ``history="past.csv"``.

    Examples
    --------
    >>> recommended(load_task("compas"))
    SafeSearch(policies='threshold', lottery=True, history=None)
    >>> recommended(policies="lottery")
    SafeSearch(policies='lottery', lottery=True, history=None)
    >>> recommended(level="bandit", lottery=False).lottery
    False
    """
    if level not in LEVELS:
        raise unknown_name("level", level, LEVELS)
    labels = level in ("selective-labels", "full-labels")
    if labels:
        settings = {"policies": policies, **settings}
    elif policies != "threshold":
        raise InputError(f"policies must be 'threshold' at level {level!r}, got {policies!r}")
    kind = LEARNERS[RECOMMENDED["selective-labels" if labels else "bandit"]]
    try:
        learner = kind(**settings)
    except TypeError:
        known = ", ".join(each.name for each in dataclasses.fields(cast(Any, kind)))
        raise InputError(f"the learner recommended at level {level!r} takes the settings {known}") from None
    if task is not None:
        check_level(learner, task.problem)
    return learner
