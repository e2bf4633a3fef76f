"""Failures: why a request to a gate is refused, beside plain bad input."""

from __future__ import annotations

from fairgate.errors import InputError


class ConflictError(InputError):
    """The request contradicts what the log already has: another body under the same key, a closed round."""


class MissingError(InputError):
    """There is no such gate, case or round."""


class UnknownKeyError(InputError):
    """The key is unknown, revoked, expired or of another gate."""


class ForbiddenError(InputError):
    """The key, of this name if it is known, does not have the scope that the request needs."""

    def __init__(self, sentence: str, key: str = "") -> None:
        super().__init__(sentence)
        self.key = key


class UnavailableError(RuntimeError):
    """The database cannot be reached or written; nothing was recorded, and the request may be sent again."""
