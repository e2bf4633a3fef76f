"""Statement: when a learner may say that nothing is feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array

STRONG = 3.0
"""Standard errors by which everything must be infeasible before a learner says that nothing is feasible.

That is strong evidence and no certificate: errors are estimated, and looked at again and again.
"""

LEAST = 100
"""Rounds for which the evidence must have been strong, whatever the age: people may still be on their way."""

SHARE = 0.25
"""The same as a share of the rounds so far."""


@dataclass
class Statement:
    """How long the evidence that nothing is feasible has been strong: a single plan may be off, or people on the move.

    Rounds with strong evidence count for it, and those without twice against it. Until it has stood for a quarter of
    the run, the learner is unsure and says nothing.
    """

    held: Annotated[Array, "R"]

    def stands(
        self, rows: NDArray[np.int64], strong: NDArray[np.bool_], rounds: Array, age: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Take in whether the evidence is `strong` for so many `rounds` (rows,), and return whether to say so."""
        self.held[rows] = np.where(strong, self.held[rows] + rounds, np.maximum(self.held[rows] - 2.0 * rounds, 0.0))
        return np.asarray(strong & (self.held[rows] >= np.maximum(LEAST, SHARE * age)))
