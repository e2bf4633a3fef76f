"""Warm: which learners can start from past decisions, and how they are given them."""

from __future__ import annotations

import dataclasses
from typing import Any

from fairgate.errors import InputError
from fairgate.history import History
from fairgate.learners.base import Learner
from fairgate.learners.safe_search import SafeSearch


def takes_history(learner: Learner[Any]) -> bool:
    """Whether a learner can start from past decisions: it has a setting `history`, and allows for one.

    >>> import fairgate as fg
    >>> takes_history(fg.OFS()), takes_history(fg.SafeSearch()), takes_history(fg.SafeSearch(policies="per-group"))
    (False, True, False)
    """
    refuses = isinstance(learner, SafeSearch) and learner.policies == "per-group"
    return not refuses and any(each.name == "history" for each in dataclasses.fields(learner))


def with_history(learner: Learner[Any], history: History, name: str = "") -> Learner[Any]:
    """Return the same learner, which starts from past decisions; refuse one that cannot, by its `name` if it has one.

    >>> import fairgate as fg
    >>> past = {"score": [0.2, 0.7], "group": ["f", "m"], "accepted": [0, 1], "outcome": [None, 1]}
    >>> with_history(fg.OFS(), fg.History.of(past), "ofs")
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: learner 'ofs' takes no history: choose one that does, such as safe-search
    """
    if not takes_history(learner):
        told = repr(name) if name else repr(learner)
        raise InputError(f"learner {told} takes no history: choose one that does, such as safe-search")
    given: dict[str, Any] = {"history": history}
    return dataclasses.replace(learner, **given)
