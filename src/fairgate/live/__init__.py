"""Live: a gate that decides, learns from outcomes that arrive late, survives, and can be audited."""

from fairgate.live.failures import ConflictError, MissingError, UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.spec import Spec

__all__ = ["ConflictError", "Gate", "MissingError", "Spec", "UnavailableError"]
