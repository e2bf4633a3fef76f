"""Summary: what a simulation came to, one figure per replicate each, gathered while it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.estimates import Estimate
from fairgate.frames import Backend, frame_of
from fairgate.problem import violation
from fairgate.run import Run
from fairgate.settings import Array

PIECE = 100
"""Rounds that are looked at together: few enough to stay in a processor's cache, enough for NumPy to pay."""


@dataclass(frozen=True, repr=False)
class Summary:
    """What a simulation came to. Its size does not depend on the number of rounds.

    Attributes
    ----------
    figures
        As :meth:`Run.per_replicate`, (R,) each.
    settings
        As those of a :class:`Run`, and the tail.
    """

    figures: Mapping[str, Array]
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        name, rounds = self.settings["task"]["name"], self.settings["rounds"]
        return f"Summary({name}: {self.replicates} replicates × {rounds} rounds)"

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return len(next(iter(self.figures.values())))

    def per_replicate(self) -> dict[str, Array]:
        """Return each figure for every replicate, (R,)."""
        return dict(self.figures)

    def summary(self) -> dict[str, Estimate]:
        """Return mean ± sd over replicates of every figure."""
        return {name: Estimate.of(values) for name, values in self.figures.items()}

    def frame(self, backend: Backend = "pandas") -> Any:
        """Return a tidy table, one row per replicate.

        >>> import fairgate as fg
        >>> found = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=300, seeds=5, keep="summary")
        >>> found, found.frame()["reward"].shape
        (Summary(mve-s: 5 replicates × 300 rounds), (5,))
        """
        keys = {"task": self.settings["task"]["name"], "learner": self.settings["learner"]["kind"]}
        columns: dict[str, Any] = {name: np.full(self.replicates, value) for name, value in keys.items()}
        return frame_of({**columns, "replicate": np.arange(self.replicates), **self.figures}, backend)


def lengths_of(rounds: int, tail: int) -> list[int]:
    """Return the rounds of each piece of a run; the tail is the last piece.

    >>> lengths_of(450, 200)
    [100, 100, 50, 200]
    """
    before = rounds - tail
    return [PIECE] * (before // PIECE) + [before % PIECE] * (before % PIECE > 0) + [tail]


def gather(pieces: Iterable[Run]) -> dict[str, Array]:
    """Return what :meth:`Run.per_replicate` does of a run in pieces, whose last is the tail."""
    violations: dict[str, Array | float] = {"violation": 0.0, "population_violation": 0.0}
    for piece in pieces:
        for name, assessment in zip(violations, (piece.batch, piece.population), strict=True):
            violations[name] = violations[name] + violation(assessment.residuals).sum(axis=1)
    return piece.per_replicate(piece.rounds) | {name: np.asarray(values) for name, values in violations.items()}
