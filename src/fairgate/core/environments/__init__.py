"""Environments of one loop: who applies, and how decisions change who applies next."""

from __future__ import annotations

from typing import Any

from fairgate import environments
from fairgate.core.environments.responsive_scores import ResponsiveScores
from fairgate.core.environments.score_pools import ScorePools
from fairgate.errors import InputError

PURE: dict[type, Any] = {
    environments.ResponsiveScores: ResponsiveScores,
    environments.ScorePools: ScorePools,
}
"""The pure form of each environment that users describe."""


def pure(described: environments.Environment) -> Any:
    """Return the pure form of an environment."""
    kind = type(described)
    if kind not in PURE:
        names = ", ".join(each.__name__ for each in PURE)
        raise InputError(f"environment must be one with a pure form ({names}), got {kind.__name__}")
    return PURE[kind].of(described)
