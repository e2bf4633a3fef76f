"""Learners of one loop."""

from __future__ import annotations

import dataclasses
from typing import Any

from fairgate import learners
from fairgate.core.learners.ofs import OFS
from fairgate.errors import InputError

PURE: dict[type, Any] = {learners.OFS: OFS}
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
