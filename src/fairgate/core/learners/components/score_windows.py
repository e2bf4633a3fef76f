"""Score windows: the score distribution of current applicants, from the moving average that predicts it best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.setting import Setting

LENGTHS = np.array([10.0, 60.0, 600.0])
"""Lengths of the moving averages in rounds: one for a population in motion, one for a settled one, one between."""

MEMORY = 300.0
"""Rounds over which prediction errors are averaged."""

PRIOR = 1.0
"""Number of applicants with evenly spread scores assumed in each group before the first batch."""


class Scores(NamedTuple):
    """Estimated score distribution.

    Attributes
    ----------
    above
        Share of each group at or above −inf, each threshold and inf, (groups, K + 2).
    shares
        Share of each group among all applicants, (groups,).
    variance
        Variance of a group's acceptance rate in units of that of a single applicant, (groups,).
    """

    above: Array
    shares: Array
    variance: Array


@record
class ScoreWindows:
    """Moving averages over several windows, and the error with which each predicted later batches.

    The error of a batch of n applicants is compared with the variance p(1 − p)(1/n + 1/m) expected by chance for m
    applicants in the window, averaged over the grid. The window with the smallest error is used. Error that chance does
    not explain is change of the population, and adds to the variance of the estimate.

    Attributes
    ----------
    above, people, squared
        Discounted applicants at or above each threshold (W, groups, K), all of them, and with squared weights,
        (W, groups).
    error, chance
        Discounted squared errors and their expectation by chance, (W,).
    judged
        Discounted number of applicants that the errors belong to, ().
    """

    above: Array
    people: Array
    squared: Array
    error: Array
    chance: Array
    judged: Array

    @classmethod
    def none(cls, setting: Setting) -> ScoreWindows:
        """Return windows without applicants."""
        xp, windows = namespace(setting.grid), len(LENGTHS)
        people, error = xp.zeros((windows, setting.groups)), xp.zeros(windows)
        return cls(xp.zeros((windows, setting.groups, len(setting.grid))), people, people, error, error, xp.zeros(()))

    def with_batch(self, scores: Array) -> ScoreWindows:
        """Return the windows after a batch, given as applicants by group and score bin, (groups, K + 1)."""
        xp = namespace(scores)
        people = scores.sum(axis=1)
        above = people[:, None] - xp.cumsum(scores, axis=1)[:, :-1]
        known = (people > 0) & (self.people[0] > 0)
        weight = xp.where(known, people, 0.0)
        predicted = self.above / xp.maximum(self.people, 1e-9)[..., None]
        slowest = predicted[-1]
        noise = xp.maximum(slowest * (1.0 - slowest), 0.5 / xp.maximum(self.people[-1], 1.0)[:, None])
        off = (above / xp.maximum(people, 1.0)[:, None] - predicted) ** 2 / noise
        error = (off.mean(axis=2) * weight).sum(axis=1)
        chance = (known * (1.0 + people / xp.maximum(self.worth, 1.0))).sum(axis=1)
        kept, fading = xp.asarray(1.0 - 1.0 / LENGTHS)[:, None], 1.0 - 1.0 / MEMORY
        return ScoreWindows(
            self.above * kept[..., None] + above,
            self.people * kept + people,
            self.squared * kept**2 + people,
            self.error * fading + error,
            self.chance * fading + chance,
            self.judged * fading + weight.sum(),
        )

    @property
    def worth(self) -> Array:
        """Number of equally weighted applicants that each window is worth, (W, groups)."""
        return self.people**2 / namespace(self.people).maximum(self.squared, 1e-9)

    def scores(self) -> Scores:
        """Return the score distribution by the window with the smallest error."""
        xp = namespace(self.error)
        best = self.error.argmin()
        people, chance = self.people[best], self.chance[best]
        even = xp.asarray(np.linspace(1.0, 0.0, self.above.shape[-1] + 2)[1:-1])
        inner = (self.above[best] + PRIOR * even) / (people + PRIOR)[:, None]
        ends = xp.ones((len(people), 1))
        excess = xp.maximum(self.error[best] - chance - xp.sqrt(2.0 * chance), 0.0)
        variance = 1.0 / xp.maximum(self.worth[best], 1.0) + excess / xp.maximum(self.judged, 1.0)
        shares = (people + 1e-9) / (people + 1e-9).sum()
        return Scores(xp.concatenate((ends, inner, 0.0 * ends), axis=1), shares, variance)
