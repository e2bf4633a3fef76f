"""Learners by name, as the command line and the presets know them."""

from __future__ import annotations

import dataclasses
from typing import Any

from fairgate.errors import InputError, unknown_name
from fairgate.learners.bandit_gradient import BanditGradient
from fairgate.learners.base import Learner
from fairgate.learners.fixed import Fixed
from fairgate.learners.ofs import OFS
from fairgate.learners.primal_dual import PrimalDual
from fairgate.learners.random import Random
from fairgate.tasks import load_task, presets

LEARNERS: dict[str, type[Learner[Any]]] = {
    "ofs": OFS,
    "unconstrained": BanditGradient,
    "primal-dual": PrimalDual,
    "fixed": Fixed,
    "random": Random,
}
"""Every built-in learner by its name on the command line."""


def load_learner(name: str, task: str | None = None) -> Learner[Any]:
    """Make a learner from its name, with the settings that `task`'s preset has for it.

    Settings can be given after a colon, and win over the preset's.

    >>> load_learner("ofs:c=0.1,exploration=0")
    OFS(c=0.1, delta=0.05, exploration=0.0)
    >>> load_learner("primal-dual", task="german").dual_step
    0.1
    """
    kind, _, given = name.partition(":")
    if kind not in LEARNERS:
        raise unknown_name("learner", kind, LEARNERS)
    settings: dict[str, float] = {}
    if task is not None:
        load_task(task)  # an unknown name is said so here
        settings.update(presets()[task].get("learners", {}).get(kind, {}))
    for pair in filter(None, given.split(",")):
        key, _, value = pair.partition("=")
        try:
            settings[key.strip()] = float(value)
        except ValueError:
            raise InputError(f"learner {name!r}: {pair!r} must be a setting such as c=0.1") from None
    try:
        return LEARNERS[kind](**settings)
    except TypeError:
        known = [field.name for field in dataclasses.fields(LEARNERS[kind])]
        raise InputError(f"learner {name!r} takes the settings {', '.join(known) or '(none)'}") from None
