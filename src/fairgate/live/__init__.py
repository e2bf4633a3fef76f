"""Live: a gate that decides, learns from outcomes that arrive late, survives, and can be audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairgate.live.client import Client
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.spec import Spec

if TYPE_CHECKING:
    from fairgate.live.audit import audit_log

__all__ = [
    "Client",
    "ConflictError",
    "ForbiddenError",
    "Gate",
    "MissingError",
    "Spec",
    "UnavailableError",
    "UnknownKeyError",
    "audit_log",
]


def __getattr__(name: str) -> Any:
    """Load the audit when it is asked for: a service starts without it."""
    if name == "audit_log":
        from fairgate.live.audit import audit_log

        return audit_log
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
