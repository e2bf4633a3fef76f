"""Watch: sums from which acceptance, gap and reward of a stretch of rounds are bounded, at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import Sums, add_batch, mean_bounds
from fairgate.constraints.bounds import RateBounds
from fairgate.settings import Array

SCOPES = 3
"""Stretches that are watched at a time: all rounds, those since the mode was set, those of the policy in force."""


@dataclass
class Watch:
    """Sums of a stretch of rounds, looked at whenever a round closes.

    Attributes
    ----------
    number
        0 for all rounds; stretches of a kind are counted from 1, and stretch k has 1/(k (k + 1)) of its kind's level,
        which add up to 1 however many come.
    first
        Number of the first round.
    """

    number: int
    first: int
    rounds: int
    rates: Sums  # of acceptance: of everybody and of each group, (1 + G,)
    worth: Sums  # of labels that arrived: 1 for a good one, −cost for a bad one

    @classmethod
    def begin(cls, number: int, first: int, groups: int) -> Self:
        """Return the watch of nothing yet."""
        nothing = np.zeros(1 + groups)
        return cls(number, first, 0, Sums(nothing, nothing, nothing), Sums(0.0, 0.0, 0.0))

    def look(self, people: NDArray[Any], labels: NDArray[Any], cost: float) -> None:
        """Add a round: people rejected and accepted by group (G, 2), and labels 0 and 1 of rounds of this stretch."""
        both = np.concatenate((people.sum(axis=0, keepdims=True), people)).astype(np.float64)
        hits = both[:, 1]
        if both.any():
            self.rates = add_batch(self.rates, total=hits, squares=hits, people=both.sum(axis=1), guess=0.5)
        bad, good = (float(each) for each in labels)
        if bad + good:
            self.worth = add_batch(self.worth, total=good - cost * bad, squares=good + cost**2 * bad, people=bad + good)
        self.rounds += 1

    def level(self, alpha: float) -> float:
        """Return the part of alpha for this stretch."""
        return alpha / SCOPES / (self.number * (self.number + 1) if self.number else 1)

    def bounds(self, alpha: float) -> RateBounds:
        """Bound the average acceptance of everybody and of each group; acceptance by label is not known."""
        groups = np.size(self.rates.people) - 1
        level = self.level(alpha) / (2 + groups)  # one part is the reward's
        low, high = mean_bounds(self.rates, low=0.0, high=1.0, alpha=level)
        came = np.asarray(self.rates.people) > 0
        low, high = np.where(came, low, 0.0), np.where(came, high, 1.0)
        return RateBounds(np.pad(low, (0, 2 * groups)), np.pad(high, (0, 2 * groups), constant_values=1.0))

    def reward(self, alpha: float, cost: float) -> tuple[float | None, float | None, float | None]:
        """Return the reward per applicant and its bounds: the mean worth of arrived labels times the acceptance."""
        known = self.bounds(alpha)
        count, came = float(np.asarray(self.worth.people)), float(np.asarray(self.rates.people)[0])
        if not count or not came:
            return None, None, None
        worth = float(np.asarray(self.worth.total)) / count
        level = self.level(alpha) / (1 + np.size(self.rates.people))
        low, high = (float(each) for each in mean_bounds(self.worth, low=-cost, high=1.0, alpha=level))
        rates = float(known.low[0]), float(known.high[0])
        ends = [worth_end * rate for worth_end in (low, high) for rate in rates]
        return worth * float(np.asarray(self.rates.total)[0]) / came, min(ends), max(ends)

    def save(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        sums = {name: [np.asarray(each).tolist() for each in getattr(self, name)] for name in ("rates", "worth")}
        return {"number": self.number, "first": self.first, "rounds": self.rounds, **sums}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Self:
        """Return the watch that :meth:`save` gave."""
        rates: list[Array] = [np.array(each) for each in saved["rates"]]
        return cls(saved["number"], saved["first"], saved["rounds"], Sums(*rates), Sums(*saved["worth"]))
