"""Outlook: what any lottery of two thresholds would do to the people who come now, and how well that is known."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, Decisions, across_groups
from fairgate.learners.tracking.label_curve import Labels
from fairgate.learners.tracking.later import Later, by_lottery, cells_of, fill, summed
from fairgate.learners.tracking.people_now import Now
from fairgate.problem import Problem, Utility
from fairgate.settings import Array


class Mixed:
    """What lotteries (3, R, C) do: rates, accepted and rejected positives, and their standard errors, (R, G, C) each.

    The spread of a lottery is the variance of the probability of acceptance over a group's scores: p(1 − p) for a
    threshold, and 0 for a uniform lottery, whose rate is certain. Labels are looked up when they are asked for.
    """

    def __init__(self, outlook: Outlook, lotteries: Array) -> None:
        self.outlook = outlook
        self.options: NDArray[np.int64] = lotteries[:2].astype(np.int64)
        self.weight: Array = lotteries[2]  # (R, C)
        some, always = self._both(outlook.above)
        more = some - always
        self.rates: Array = always + self.weight[:, None] * more
        self.spread: Array = np.maximum(always + (self.weight**2)[:, None] * more - self.rates**2, 0.0)
        self.variance: Array = self.spread * outlook.variance[..., None]  # of `rates`

    @cached_property
    def _places(self) -> list[NDArray[np.int64]]:
        """Where both options are in arrays of all options; groups come first in memory, so that theirs lie together."""
        replicates, groups, options = self.outlook.above.shape
        first = np.arange(replicates * groups).reshape(replicates, groups).T[..., None] * options
        return [first + option for option in self.options]

    def _both(self, values: Array) -> list[Array]:
        """Return what is true of the lower and of the higher option, of (R, G, K + 2)."""
        flat = values.ravel()
        return [flat.take(places).swapaxes(0, 1) for places in self._places]

    def _mean(self, values: Array) -> Array:
        some, always = self._both(values)
        return np.asarray(always + self.weight[:, None] * (some - always))

    @property
    def error(self) -> Array:
        """Standard error of `rates`."""
        return np.sqrt(self.variance)

    @property
    def noise(self) -> Array:
        """Standard error of all groups' rates together, (R, C)."""
        return np.sqrt(across_groups(np.add, self.variance.swapaxes(1, 2)))

    @property
    def worth(self) -> Array:
        """Reward as the mean of both options', (R, C)."""
        first = np.arange(len(self.weight))[:, None] * self.outlook.worth.shape[1]
        some, always = (self.outlook.worth.ravel().take(first + option) for option in self.options)
        return np.asarray(always + self.weight * (some - always))

    @cached_property
    def positives(self) -> Array:
        """P(y=1, d=1 | g)."""
        return self._mean(self.outlook.positives)

    @property
    def hoped(self) -> Array:
        """Positives with the benefit of the doubt, by which rewards are compared."""
        return self._mean(self.outlook.hoped)

    @cached_property
    def missed(self) -> Array:
        """P(y=1, d=0 | g)."""
        return np.clip(self.outlook.positives[..., :1] - self.positives, 0.0, 1.0 - self.rates)

    @property
    def doubts(self) -> tuple[Array, Array, Array]:
        """Errors of positives who are always accepted, with the lottery's weight, and never: independent."""
        some, always = self._both(self.outlook.doubt)
        between, below = np.maximum(some - always, 0.0), np.maximum(self.outlook.doubt[..., :1] - some, 0.0)
        return np.sqrt(always), np.sqrt(between), np.sqrt(below)


class Outlook(NamedTuple):
    """People and labels now as sums over the scores above each option: -inf, the grid and inf."""

    problem: Problem
    shares: Array  # of the groups, (R, G)
    above: Array  # P(s ≥ option | g), (R, G, K + 2), as the next three
    positives: Array  # P(y=1, s ≥ option | g)
    hoped: Array  # the same with the benefit of the doubt
    doubt: Array  # variance of `positives` that labels are to blame for
    worth: Array  # reward with the benefit of the doubt, (R, K + 2)
    variance: Array  # of rates, per unit of spread, (R, G)
    needs_labels: bool  # whether some constraint does
    later: Later | None  # what lotteries lead to, where that is known

    @classmethod
    def of(cls, problem: Problem, now: Now, moving: Array, labels: Labels) -> Outlook:
        """Put people and labels together; `moving` (R,) is how much people change meanwhile."""
        mass = now.above[..., :-1] - now.above[..., 1:]
        parts = np.stack((mass * labels.share, mass * labels.hoped, mass**2 * labels.variance))
        positives, hoped, doubt = summed(parts)
        missed = positives[..., :1] - positives
        worth = problem.utility.reward(Counts(by_lottery(cells_of(now.shares, now.above, hoped, missed)))).T
        variance = now.variance + moving[:, None]
        needs = any(each.needs != "decisions" for each in problem.constraints)
        later = None if now.foresight is None else Later.of(problem, now.shares, now.foresight, labels)
        return cls(problem, now.shares, now.above, positives, hoped, doubt, worth, variance, needs, later)

    def rows(self, which: NDArray[np.bool_]) -> Outlook:
        """Return the outlook of some replicates."""
        return self._replace(
            problem=self.problem.rows(np.flatnonzero(which)),
            shares=self.shares[which],
            above=self.above[which],
            positives=self.positives[which],
            hoped=self.hoped[which],
            doubt=self.doubt[which],
            worth=self.worth[which],
            variance=self.variance[which],
            later=None if self.later is None else self.later.rows(which),
        )

    def mix(self, lotteries: Array) -> Mixed:
        """Mix options: the lower with its weight, else the higher one. Lotteries are (3, R, C)."""
        return Mixed(self, lotteries)

    def aim(self, mixed: Mixed, reward: Array) -> Array:
        """Return by what lotteries are compared, (C, R): their reward, or what they lead to where that is known."""
        if self.later is None:
            return reward
        which = self.later.places
        aimed = reward.copy()
        now = (mixed.rates[which], mixed.error[which], mixed.spread[which])
        aimed[:, which] = self.later.aim(mixed.options[:, which], mixed.weight[which], *now)
        return aimed

    def read(self, mixed: Mixed) -> tuple[Array, Array]:
        """Return the reward, with the benefit of the doubt, (C, R), and the residuals, (J, C, R)."""
        if type(self.problem.utility) is Utility:  # linear, so that a lottery's reward is the mean of its options'
            reward = mixed.worth.T
        else:
            cells = cells_of(self.shares, mixed.rates, mixed.hoped, mixed.missed)
            reward = self.problem.utility.reward(Counts(by_lottery(cells)))
        if self.needs_labels:
            cells = cells_of(self.shares, mixed.rates, mixed.positives, mixed.missed)
            return reward, self._residuals(Counts(by_lottery(cells)))
        return reward, self._residuals(Decisions(self.shares, mixed.rates.transpose(2, 0, 1)))

    def value(self, mixed: Mixed, width: float) -> tuple[Array, Array, Array]:
        """Return the reward (C, R), the residuals and how far `width` standard errors could move them, (J, C, R) each.

        Each group's rates, and if a constraint needs labels its positives, are moved up and down by so many standard
        errors in turn; the larger effect counts, and the effects add up as independent errors do.
        """
        reward, residual = self.read(mixed)
        effects = self._effects_of_labels if self.needs_labels else self._effects_of_rates
        return reward, residual, np.sqrt(effects(mixed, residual, width))

    def _effects_of_rates(self, mixed: Mixed, residual: Array, width: float) -> Array:
        """Return the sum of squared effects of each group's rate."""
        rates, errors = mixed.rates.swapaxes(0, 1), width * mixed.error.swapaxes(0, 1)
        groups = len(rates)
        moved = np.empty((groups, groups, 2, *rates.shape[1:]))  # rates of all, if one group's is moved, down or up
        moved[:] = rates[:, None, None]
        for group, (rate, error) in enumerate(zip(rates, errors, strict=True)):
            np.maximum(rate - error, 0.0, out=moved[group, group, 0])
            np.minimum(rate + error, 1.0, out=moved[group, group, 1])
        found = self._residuals(Decisions(self.shares, moved.transpose(1, 2, 4, 3, 0)))
        return across_groups(np.add, np.moveaxis(larger(found.swapaxes(1, 2), residual), 1, -1))

    def _effects_of_labels(self, mixed: Mixed, residual: Array, width: float) -> Array:
        """Return the sum of squared effects of each group's rate, and of its labels."""
        cells = cells_of(self.shares, mixed.rates, mixed.positives, mixed.missed)
        moved = np.empty((*cells.shape[:3], 2, 4, *cells.shape[3:]))  # cells of all, if one group's are, down or up
        moved[:] = cells[:, :, :, None, None]
        squared = np.zeros_like(residual)
        nothing = np.zeros(mixed.weight.shape)
        doubts = mixed.doubts
        for group, share in enumerate(self.shares.T):
            rate, good, bad = (each[:, group] for each in (mixed.rates, mixed.positives, mixed.missed))
            error, (always, sometimes, never) = mixed.error[:, group], (each[:, group] for each in doubts)
            accepted, rejected = good / np.maximum(rate, 1e-9), bad / np.maximum(1.0 - rate, 1e-9)
            more = np.stack((error, nothing, nothing, nothing))
            better = np.stack((accepted * error, always, mixed.weight * sometimes, nothing))
            worse = np.stack((-rejected * error, nothing, (1.0 - mixed.weight) * sometimes, never))
            for place, sign in enumerate((-width, width)):
                rates = np.minimum(np.maximum(rate + sign * more, 0.0), 1.0)
                right = np.minimum(np.maximum(good + sign * better, 0.0), rates)
                wrong = np.minimum(np.maximum(bad + sign * worse, 0.0), 1.0 - rates)
                fill(moved[group, :, :, place], rates, right, wrong, share[:, None])
            squared += larger(self._residuals(Counts(by_lottery(moved))), residual).sum(axis=1)
            moved[group] = cells[group, :, :, None, None]
        return squared

    def _residuals(self, counts: Counts) -> Array:
        """Return the residuals (J, …, C, R) of counts; those of a replicate lie together in memory."""
        found = [each for constraint in self.problem.constraints for each in constraint.residuals(counts)]
        *before, lotteries, replicates = counts.people.shape[:-1]
        stacked = np.empty((len(found), *before, replicates, lotteries)).swapaxes(-1, -2)
        for place, residual in enumerate(found):
            stacked[place] = residual
        return stacked


def larger(moved: Array, residual: Array) -> Array:
    """Return the larger of the squared effects of two moves, down and up: of (J, 2, M, …) against (J, …), (J, M, …)."""
    effects = np.abs(moved - residual[:, None, None])
    return np.asarray(np.maximum(effects[:, 0], effects[:, 1]) ** 2)
