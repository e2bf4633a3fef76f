"""Watch: sums from which acceptance, gap and reward of a stretch of rounds are bounded, at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import Sums, add_batch, mean_bounds
from fairgate.constraints import Constraint
from fairgate.constraints.bounds import UNDECIDED, PairBounds, RateBounds, judge, verdict
from fairgate.settings import Array

SCOPES = 3
"""Stretches that are watched at a time: all rounds, those since the mode was set, those of the policy in force."""

NOTHING = Sums(0.0, 0.0, 0.0)


@dataclass
class Worth:
    """What applicants of a row of rounds were worth: 1 for a good label, −cost for a bad one, 0 for the rejected.

    Rounds are added in their order, each once its labels have nearly all come. Labels that are missing then count as
    bad in one sum and as good in the other, so that bounds hold whatever they are; and since they hold after any number
    of rounds, it does not matter which round was the last whose labels came.
    """

    rounds: int = 0
    estimate: float = 0.0  # sum of worth, labels that are missing taken to be as those of the same round
    lowest: Sums = NOTHING
    highest: Sums = NOTHING

    def add(self, people: float, accepted: float, bad: float, good: float, cost: float) -> None:
        """Add a round: people, how many of them were accepted, and their labels."""
        if people:
            missing, mean = accepted - bad - good, (good - cost * bad) / max(good + bad, 1.0)
            self.estimate += accepted * (mean if good + bad else (1.0 - cost) / 2.0)
            for name, low, high in (("lowest", bad + missing, good), ("highest", bad, good + missing)):
                total, squares = high - cost * low, high + cost**2 * low
                setattr(self, name, add_batch(getattr(self, name), total=total, squares=squares, people=people))
        self.rounds += 1

    def bounds(self, alpha: float, cost: float) -> tuple[float, float, float] | None:
        """Return the mean worth per applicant and its bounds; None if nothing is known."""
        people = float(np.asarray(self.lowest.people))
        if not people:
            return None
        low, _ = mean_bounds(self.lowest, low=-cost, high=1.0, alpha=alpha)
        _, high = mean_bounds(self.highest, low=-cost, high=1.0, alpha=alpha)
        return self.estimate / people, float(low), float(high)


class Verdict(NamedTuple):
    """What is known of a residual over a stretch: bounds, and whether only a changing mix of groups breaks it."""

    constraint: str
    name: str
    status: str
    low: float
    high: float
    mixed: bool


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
    rates
        Sums of acceptance: of everybody and of each group, (1 + G,).
    alike
        Sums of acceptance of each group with the weights of rounds that it shares with each other group, (G, G): see
        :func:`~fairgate.constraints.bounds.common_bounds`.
    worth
        What applicants were worth.
    """

    number: int
    first: int
    rounds: int
    rates: Sums
    alike: Sums
    worth: Worth

    @classmethod
    def begin(cls, number: int, first: int, groups: int) -> Self:
        """Return the watch of nothing yet."""
        nothing = np.zeros(1 + groups)
        pairs = np.zeros((groups, groups))
        return cls(number, first, 0, Sums(nothing, nothing, nothing), Sums(pairs, pairs, pairs), Worth())

    def look(self, people: NDArray[Any]) -> None:
        """Add a round: people rejected and accepted by group, (G, 2)."""
        self.rounds += 1
        if not people.any():
            return
        both = np.concatenate((people.sum(axis=0, keepdims=True), people)).astype(np.float64)
        hits = both[:, 1]
        self.rates = add_batch(self.rates, total=hits, squares=hits, people=both.sum(axis=1), guess=0.5)
        came, taken = both[1:].sum(axis=1)[:, None], both[1:, 1][:, None]
        weights = np.minimum(came, came.T)
        value = np.divide(weights, came, out=np.zeros(weights.shape), where=came > 0)
        total, spread, weighed = (np.asarray(each) for each in self.alike)
        predicted = (total + 0.5) / (weighed + 1.0)  # before this round
        deviation = value**2 * (taken * (1.0 - 2.0 * predicted) + came * predicted**2)
        self.alike = Sums(total + value * taken, spread + deviation, weighed + value * came)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(np.asarray(self.alike.people))

    def level(self, alpha: float) -> float:
        """Return the part of alpha for this stretch."""
        return alpha / SCOPES / (self.number * (self.number + 1) if self.number else 1)

    def _part(self, alpha: float) -> float:
        """Return the level of one figure: acceptance of everybody, that of groups twice, and the reward."""
        return self.level(alpha) / (2 * self.groups + 2)

    def bounds(self, alpha: float) -> RateBounds:
        """Bound the average acceptance of everybody and of each group; acceptance by label is not known."""
        low, high = mean_bounds(self.rates, low=0.0, high=1.0, alpha=self._part(alpha))
        came = np.asarray(self.rates.people) > 0
        return _padded(np.where(came, low, 0.0), np.where(came, high, 1.0))

    def same_weights(self, alpha: float) -> PairBounds:
        """Bound the same with equal weights of rounds in two groups, for each pair."""
        own, others = self.bounds(alpha), max(self.groups - 1, 1)
        pairs = mean_bounds(self.alike, low=0.0, high=1.0, alpha=self._part(alpha) / others)
        return PairBounds.of((own.low[0], own.high[0]), [pairs])

    def judge(self, constraints: Sequence[Constraint], alpha: float) -> Iterator[Verdict | None]:
        """Judge each residual of constraints on decisions by :func:`~fairgate.constraints.bounds.judge`.

        None for one that cannot be judged.
        """
        known, alike = self.bounds(alpha), self.same_weights(alpha)
        came = bool(np.any(self.rates.people))
        for constraint in constraints:
            judged = judge(constraint, known, alike) if constraint.needs == "decisions" else None
            for place, name in enumerate(constraint.names):
                if judged is None:
                    yield None
                    continue
                low, high, mixed = float(judged.lowest[place]), float(judged.highest[place]), bool(judged.mixed[place])
                status = verdict(low, high, mixed=mixed) if came else UNDECIDED
                yield Verdict(constraint.text, name, status, low, high, mixed)

    def reward(self, alpha: float, cost: float) -> tuple[float, float, float] | None:
        """Return the reward per applicant and its bounds."""
        return self.worth.bounds(self._part(alpha), cost)

    def save(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        worth = [self.worth.rounds, self.worth.estimate, *map(_plain, (self.worth.lowest, self.worth.highest))]
        sums = {"rates": _plain(self.rates), "alike": _plain(self.alike), "worth": worth}
        return {"number": self.number, "first": self.first, "rounds": self.rounds, **sums}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Self:
        """Return the watch that :meth:`save` gave."""
        rates, alike = (Sums(*(np.array(each) for each in saved[name])) for name in ("rates", "alike"))
        rounds, estimate, lowest, highest = saved["worth"]
        worth = Worth(rounds, estimate, Sums(*lowest), Sums(*highest))
        return cls(saved["number"], saved["first"], saved["rounds"], rates, alike, worth)


def _plain(sums: Sums) -> list[Any]:
    return [np.asarray(each).tolist() for each in sums]


def _padded(low: Array, high: Array) -> RateBounds:
    """Return bounds of rates of which those by label are not known."""
    nothing = np.zeros(2 * (len(low) - 1))
    return RateBounds(np.concatenate((low, nothing)), np.concatenate((high, nothing + 1.0)))
