"""Experiments: another acceptance rate for a while, to see how people answer to it, paid for by what is at stake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.tracking.search import Offers
from fairgate.settings import Array

CREDIT = 30.0
"""Rounds of what is at stake that may be spent from the beginning, before anything has been earned."""

BUDGET = 0.01
"""Part of what is at stake that may be spent later."""

FIRST = 30
"""Age of the first experiment: before, nothing is concluded of answers, and rewards are hardly known."""

SHORTEST = 10
"""Rounds of an experiment, at least; else twice as long as answers seem to take, up to 20 or a fifth of the age."""

AFTER = 30
"""Rounds after an experiment in which people are still on their way back."""

APART = 0.1
"""How far its acceptance rate must be from that of what is in play."""


@dataclass
class Experiments:
    """What may be spent, and until when an experiment goes on.

    Who follows people settles where a policy is best for the people whom it brings. Whether others would come, and be
    better, shows only if acceptance varies. At stake is what the policy in play earns beyond the best uniform lottery.
    """

    fund: Annotated[Array, "R"]  # reward that may be spent
    income: Annotated[Array, "R"]  # what a round adds to it, or takes from it during an experiment
    until: Annotated[NDArray[np.int64], "R"]  # age at which the last experiment ends
    due: Annotated[NDArray[np.int64], "R"]  # age from which on the next one is thought of
    opened: Annotated[NDArray[np.bool_], "R"]  # whether the credit has been given

    def end(self, rows: NDArray[np.int64], age: NDArray[np.int64]) -> None:
        """End what goes on in replicates `rows`."""
        rows, age = rows[self.going(rows)], age[self.going(rows)]
        self.until[rows] = np.minimum(self.until[rows], age)
        self.due[rows] = age
        self.income[rows] = 0.0

    def going(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether an experiment goes on, (rows,)."""
        return np.asarray(self.income[rows] < 0.0)

    def recent(self, rows: NDArray[np.int64], age: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether people are answering to an experiment, (rows,)."""
        return np.asarray(age < self.until[rows] + np.where(self.until[rows] > 0, AFTER, 0))

    def begin(
        self,
        rows: NDArray[np.int64],
        age: NDArray[np.int64],
        pace: Array,
        offers: Offers,
    ) -> tuple[NDArray[np.bool_], Array]:
        """Begin experiments in replicates `rows` where they can be paid for; return where, (rows,), and the lotteries.

        The one farthest from what is in play is chosen. `pace` is how fast people seem to answer, and `age` that of the
        replicates, (rows,) each.
        """
        self.fund[rows] += np.where(self.opened[rows], 0.0, CREDIT * offers.stake)
        self.opened[rows] |= offers.stake > 0.0
        length = np.clip(2.0 / pace, SHORTEST, np.maximum(age // 5, 2 * SHORTEST)).astype(np.int64)
        able = (offers.price * length[:, None] <= self.fund[rows][:, None]) & (offers.apart >= APART)
        every = np.arange(len(rows))
        best = np.where(able, offers.apart, -1.0).argmax(axis=1)
        begun = able[every, best]
        self.until[rows] = np.where(begun, age + length, self.until[rows])
        self.due[rows] = np.where(begun, self.until[rows], age + age // 8)  # as seldom as knowledge grows
        self.income[rows] = np.where(begun, -offers.price[every, best], BUDGET * offers.stake)
        return begun, offers.lotteries[:, every, best]
