"""Live: a gate that decides, learns from outcomes that arrive late, survives, and can be audited."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.past import PastDecisions
from fairgate.live.spec import Spec

if TYPE_CHECKING:
    from fairgate.live.audit import audit_log
    from fairgate.live.client import Client

__all__ = [
    "Client",
    "ConflictError",
    "ForbiddenError",
    "Gate",
    "MissingError",
    "PastDecisions",
    "Spec",
    "UnavailableError",
    "UnknownKeyError",
    "audit_log",
]

LATER = {"Client": "fairgate.live.client", "audit_log": "fairgate.live.audit"}
"""What is loaded when it is asked for: a service starts without it."""


def __getattr__(name: str) -> Any:
    """Load what a service does not need."""
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
