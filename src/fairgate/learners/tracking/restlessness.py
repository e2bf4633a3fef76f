"""Restlessness: how much acceptance moves from round to round beyond the luck of who comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.tracking.people_now import MEMORY
from fairgate.settings import Array

LEAST = 0.01
"""Least variance of one person's acceptance that is reckoned with: near 0 and 1, a few people tell little."""

FAR = 0.02
"""Change of a group's acceptance by which a new policy makes people move, which is not restlessness."""

PAUSE = 20
"""Rounds after such a policy that are not looked at: people who answer quickly have answered then."""


@dataclass
class Restlessness:
    """Squared differences between accepted people and those expected, in units of what chance explains.

    People who answer quickly answer to the luck of small batches too, so that their state never rests. A policy must be
    feasible by as much. How people move when they are offered something new is not counted.
    """

    expected: Annotated[Array, "R G"]  # acceptance rate of what is in play; 0 if nothing is known of it
    rounds: Annotated[NDArray[np.int64], "R"]  # since people were last offered something new
    squared: Annotated[Array, "R"]  # squared differences in units of their variance, over groups
    usual: Annotated[Array, "R"]  # how many they are: what chance explains
    people: Annotated[Array, "R"]  # people they are of

    def take_in(self, people: Array, accepted: Array) -> None:
        """Compare a round with what was expected of it."""
        rate = self.expected
        known = (people > 0) & (rate > 0.0) & (self.rounds >= PAUSE)[:, None]
        self.rounds += 1
        noise = np.maximum(rate * (1.0 - rate), LEAST) * np.maximum(people, 1.0)
        kept = 1.0 - 1.0 / MEMORY
        for total, part in (
            (self.squared, np.where(known, (accepted - people * rate) ** 2 / noise, 0.0)),
            (self.usual, known),
            (self.people, np.where(known, people, 0.0)),
        ):
            total *= kept
            total += part.sum(axis=1)

    def expect(self, rows: NDArray[np.int64], rates: Array, before: Array) -> None:
        """Expect the `rates` (rows, G) of what is in play; pause where they are far from those `before` the plan."""
        self.expected[rows] = rates
        self.rounds[rows] = np.where(np.abs(rates - before).max(axis=1) > FAR, 0, self.rounds[rows])

    def now(self, rows: NDArray[np.int64]) -> Array:
        """Return the variance of rates from round to round, per unit of p(1 − p), (rows,).

        What so many rounds could show by chance is not counted.
        """
        usual = self.usual[rows]
        beyond = np.maximum(self.squared[rows] - usual - np.sqrt(2.0 * usual), 0.0)
        return np.asarray(beyond / np.maximum(self.people[rows], 1.0))
