"""Live: a gate that decides, learns from outcomes that arrive late, survives, and can be audited."""

from fairgate.live.client import Client
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.spec import Spec

__all__ = [
    "Client",
    "ConflictError",
    "ForbiddenError",
    "Gate",
    "MissingError",
    "Spec",
    "UnavailableError",
    "UnknownKeyError",
]
