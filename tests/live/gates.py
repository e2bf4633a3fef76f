"""Gates for tests: a small spec, a clock that is set by hand, and people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from fairgate.live import Spec

GRID = [0.0, 0.25, 0.5, 0.75, 1.0]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        self.now += timedelta(**amount)


def make_spec(**changes: Any) -> Spec:
    """A spec of two groups and five thresholds that closes rounds when it is told to."""
    plain: dict[str, Any] = {
        "name": "credit",
        "groups": ["women", "men"],
        "grid": GRID,
        "constraints": {"parity": 0.1, "service": [0.2, 0.8]},
        "learner": "ofs",
        "rounds": {"people": None},
        "start": {"mode": "learn", "threshold": 0.5},
        "guards": {"pause_if_broken": False},
    }
    return Spec.read(plain | changes)


def people(rng: np.random.Generator, count: int, start: int = 0) -> tuple[list[str], list[str], list[float]]:
    """Ids, groups and scores of made-up applications."""
    groups = rng.integers(2, size=count)
    scores = rng.beta(2.0 + groups, 2.0)
    return [f"a-{start + place}" for place in range(count)], [["women", "men"][g] for g in groups], scores.tolist()
