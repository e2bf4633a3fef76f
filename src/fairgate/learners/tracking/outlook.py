"""Outlook: what any lottery of two thresholds would do to the people who come now, and how well that is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, Decisions
from fairgate.learners.tracking.answers import Foresight
from fairgate.learners.tracking.label_curve import FittedCurves, Labels
from fairgate.learners.tracking.later import Later, by_lottery, cells_of, fill, highest_of, summed
from fairgate.learners.tracking.people_now import Now
from fairgate.problem import Problem, Utility
from fairgate.settings import Array, Index


class Mixed:
    """What lotteries do: rates, accepted and rejected positives, and their standard errors, (R, G, C) each.

    Lotteries are (3, R, C), or (3, R, W, P): P pairs of options with W weights each, so that C = W · P. The spread of a
    lottery is the variance of the probability of acceptance over a group's scores: p(1 − p) for a threshold, and 0 for
    a uniform lottery, whose rate is certain. All is worked out when it is asked for.
    """

    def __init__(self, outlook: Outlook, lotteries: Array) -> None:
        self.outlook = outlook
        low, high, self._weight = lotteries if lotteries.ndim == 4 else lotteries[:, :, None]
        replicates, groups, options = outlook.above.shape
        self._options = [side[:, :1].astype(np.int64) for side in (low, high)]  # (R, 1, P)
        first = np.arange(replicates * groups).reshape(replicates, groups).T[..., None, None] * options
        self._places = [first + side for side in self._options]  # (G, R, 1, P): what is of a group lies together

    def _flat(self, values: Array) -> Array:
        """Return (…, R, W, P) as (…, R, C)."""
        return values.reshape(*values.shape[:-2], -1)

    def _by_group(self, values: Array) -> Array:
        """Return (G, R, W, P), or (G, R, 1, P), as (R, G, C)."""
        shape = (len(values), *self._weight.shape)
        return self._flat(values if values.shape == shape else np.broadcast_to(values, shape)).swapaxes(0, 1)

    def _both(self, values: Array) -> tuple[Array, Array]:
        """Return what the higher option is in (R, G, K + 2), and how much more the lower is: (G, R, 1, P) each."""
        flat = values.ravel()
        some, always = (flat.take(places) for places in self._places)
        return always, some - always

    def _mean(self, values: Array) -> Array:
        always, more = self._both(values)
        return self._by_group(always + self._weight * more)

    @cached_property
    def _above(self) -> tuple[Array, Array]:
        return self._both(self.outlook.above)

    @property
    def pairs(self) -> tuple[NDArray[np.int64], Array]:
        """The lower and the higher option, (2, R, P), and the weights of the lower, (R, W, P)."""
        return np.stack(self._options)[:, :, 0], self._weight

    @property
    def weight(self) -> Array:
        """Weight of the lower option, (R, C)."""
        return self._flat(self._weight)

    @cached_property
    def rates(self) -> Array:
        """P(d=1 | g)."""
        always, more = self._above
        return self._by_group(always + self._weight * more)

    @cached_property
    def spread(self) -> Array:
        """Variance of the probability of acceptance over the scores of a group."""
        always, more = self._above
        left = self._by_group(
            always * (1.0 - always) + self._weight * (self._weight * (more - more**2) - 2.0 * always * more)
        )
        return at_least_0(left)

    @cached_property
    def error(self) -> Array:
        """Standard error of `rates`."""
        return np.sqrt(self.spread * self.outlook.variance[..., None])

    @property
    def noise(self) -> Array:
        """Standard error of all groups' rates together, (R, C)."""
        always, more = self._above
        parts = (always * (1.0 - always), more * (1.0 - more), 2.0 * always * more)
        variance = self.outlook.variance.T[..., None, None]
        level, square, both = (reduce(np.add, part * variance) for part in parts)
        return self._flat(np.sqrt(at_least_0(level + self._weight * (self._weight * square - both))))

    @property
    def worth(self) -> Array:
        """Reward as the mean of both options', (R, C)."""
        values = self.outlook.worth
        first = np.arange(len(values))[:, None, None] * values.shape[1]
        some, always = (values.ravel().take(first + option) for option in self._options)
        return self._flat(always + self._weight * (some - always))

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

    @cached_property
    def doubts(self) -> list[Array]:
        """Errors of positives who are always accepted, with the lottery's weight, and never: independent."""
        always, more = self._both(self.outlook.doubt)
        never = self.outlook.doubt.swapaxes(0, 1)[:, :, None, :1] - always - more
        return [self._by_group(np.sqrt(np.maximum(each, 0.0))) for each in (always, more, never)]


@dataclass(frozen=True)
class Outlook:
    """People and labels now, as sums over the scores above each option: -inf, the grid and inf.

    What depends on labels is worked out when it is asked for: whether a lottery is feasible often does not.
    """

    problem: Problem
    shares: Array  # of the groups, (R, G)
    above: Array  # P(s ≥ option | g), (R, G, K + 2)
    variance: Array  # of rates, per unit of spread, (R, G)
    labels: Labels | FittedCurves
    foresight: Foresight | None  # what people will answer, where that is known

    @classmethod
    def of(cls, problem: Problem, now: Now, moving: Array, labels: Labels | FittedCurves) -> Outlook:
        """Put people and labels together; `moving` (R,) is how much people change meanwhile."""
        return cls(problem, now.shares, now.above, now.variance + moving[:, None], labels, now.foresight)

    @cached_property
    def needs_labels(self) -> bool:
        """Whether some constraint does."""
        return any(each.needs != "decisions" for each in self.problem.constraints)

    @cached_property
    def _sums(self) -> Array:
        known = self.labels.read()
        mass = self.above[..., :-1] - self.above[..., 1:]
        return summed(np.stack((mass * known.share, mass * known.hoped, mass**2 * known.variance)))

    @property
    def positives(self) -> Array:
        """P(y=1, s ≥ option | g), (R, G, K + 2), as the next two."""
        return np.asarray(self._sums[0])

    @property
    def hoped(self) -> Array:
        """The same with the benefit of the doubt."""
        return np.asarray(self._sums[1])

    @property
    def doubt(self) -> Array:
        """Variance of `positives` that labels are to blame for."""
        return np.asarray(self._sums[2])

    @cached_property
    def worth(self) -> Array:
        """Reward of each option with the benefit of the doubt, (R, K + 2)."""
        missed = self.positives[..., :1] - self.positives
        cells = cells_of(self.shares, self.above, self.hoped, missed)
        return self.problem.utility.reward(Counts(by_lottery(cells))).T

    @cached_property
    def later(self) -> Later | None:
        """What lotteries lead to, where that is known in any replicate."""
        if self.foresight is None or not self.foresight.proved.any():
            return None
        return Later.of(self.problem, self.shares, self.foresight, self.labels.rows(self.foresight.proved).read())

    def rows(self, which: NDArray[np.bool_]) -> Outlook:
        """Return the outlook of some replicates."""
        if which.all():  # what has been worked out stays so
            return self
        return Outlook(
            self.problem.rows(np.flatnonzero(which)),
            self.shares[which],
            self.above[which],
            self.variance[which],
            self.labels.rows(which),
            None if self.foresight is None else self.foresight.rows(which),
        )

    def with_sure_labels(self) -> Outlook:
        """Return the outlook if labels were what they are thought to be."""
        share = self.labels.read().share
        return replace(self, labels=Labels(share, share, np.zeros_like(share)))

    def mix(self, lotteries: Array) -> Mixed:
        """Mix options: the lower with its weight, else the higher one; lotteries as :class:`Mixed` has them."""
        return Mixed(self, lotteries)

    def aim(self, mixed: Mixed) -> Array:
        """Return by what lotteries are compared, (C, R): their reward, or what they lead to where that is known."""
        reward = self.reward(mixed)
        if self.later is None:
            return reward
        places = self.later.places
        which: Index = slice(None) if len(places) == reward.shape[1] else places  # all of them are not copied
        aimed, (pairs, weight) = reward.copy(), mixed.pairs
        now = (each.swapaxes(0, 1)[:, which] for each in (mixed.rates, mixed.error, mixed.spread))
        aimed[:, which] = self.later.aim(pairs[:, which], weight[which], *now)
        return aimed

    def reward(self, mixed: Mixed) -> Array:
        """Return the reward, with the benefit of the doubt, (C, R)."""
        if type(self.problem.utility) is Utility:  # linear, so that a lottery's reward is the mean of its options'
            return mixed.worth.T
        cells = cells_of(self.shares, mixed.rates, mixed.hoped, mixed.missed)
        return self.problem.utility.reward(Counts(by_lottery(cells)))

    def worth_of(self, lottery: Array) -> Array:
        """Return the reward of one lottery each, (3, R): (R,)."""
        return np.asarray(self.reward(self.mix(lottery[..., None]))[0])

    def residuals(self, mixed: Mixed) -> Array:
        """Return the residuals, (J, C, R)."""
        return self._residuals(self._counts(mixed))

    def highest(self, mixed: Mixed) -> Array:
        """Return the largest residual, (C, R), -1 if there is none: faster than of all that are put together."""
        return highest_of(self.problem, self._counts(mixed), -1.0)

    def _counts(self, mixed: Mixed) -> Counts:
        """Return what residuals are read off."""
        if self.needs_labels:
            return Counts(by_lottery(cells_of(self.shares, mixed.rates, mixed.positives, mixed.missed)))
        return Decisions(self.shares, mixed.rates.transpose(2, 0, 1))

    def bounds(self, mixed: Mixed, width: float) -> tuple[Array, Array]:
        """Return the residuals and how far `width` standard errors could move them, (J, C, R) each.

        Each group's rates, and if a constraint needs labels its positives, are moved up and down by so many standard
        errors in turn; the larger effect counts, and the effects add up as independent errors do.
        """
        residual = self.residuals(mixed)
        effects = self._effects_of_labels if self.needs_labels else self._effects_of_rates
        return residual, np.sqrt(effects(mixed, residual, width))

    def _effects_of_rates(self, mixed: Mixed, residual: Array, width: float) -> Array:
        """Return the sum of squared effects of each group's rate."""
        rates, errors = mixed.rates.swapaxes(0, 1), width * mixed.error.swapaxes(0, 1)
        groups = len(rates)
        moved = np.empty((groups, groups, 2, *rates.shape[1:]))  # rates of all, if one group's is moved, down or up
        moved[:] = rates[:, None, None]
        for group, (rate, error) in enumerate(zip(rates, errors, strict=True)):
            (rate - error).clip(0.0, np.inf, out=moved[group, group, 0])
            (rate + error).clip(-np.inf, 1.0, out=moved[group, group, 1])
        effects = self._residuals(Decisions(self.shares, moved.transpose(2, 1, 4, 3, 0)), residual)
        return np.asarray(reduce(np.add, larger(effects).swapaxes(0, 1)))

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
            squared += larger(self._residuals(Counts(by_lottery(moved)), residual)).sum(axis=1)
            moved[group] = cells[group, :, :, None, None]
        return squared

    def _residuals(self, counts: Counts, usual: Array | None = None) -> Array:
        """Return the residuals (J, …, C, R) of counts, less the `usual` ones; those of a replicate lie together."""
        found = [each for constraint in self.problem.constraints for each in constraint.residuals(counts)]
        *before, lotteries, replicates = counts.shape
        stacked = np.empty((len(found), *before, replicates, lotteries)).swapaxes(-1, -2)
        for place, residual in enumerate(found):
            np.subtract(residual, 0.0 if usual is None else usual[place], out=stacked[place])
        return stacked


def at_least_0(values: Array) -> Array:
    """Return values, or 0 where they are less: with both ends, `clip` is twice as fast as the maximum of a number."""
    return values.clip(0.0, np.inf)


def larger(effects: Array) -> Array:
    """Return the larger square of two effects, (J, 2, …), of moves down and up; writes to `effects`."""
    effects *= effects
    return np.maximum(effects[:, 0], effects[:, 1])
