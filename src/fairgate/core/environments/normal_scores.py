"""Normal scores: P(group, label, score ≥ threshold) of normal scores with logistic labels, from cubic splines.

The tables are those of :class:`fairgate.environments.NormalScores`: coefficients of B-splines for P(y = 1, s ≥ θ). The
error is below 1e-8. Table sizes are rounded up, so that one compilation serves many tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.thresholded import Thresholded, per_group
from fairgate.core.special import ndtr
from fairgate.environments.normal_scores import PADDING, NormalScores

ROWS, COLUMNS = 64, 512
"""The numbers of means and of thresholds in a table are multiples of these."""


@record
class MovingScores:
    """Tables of normal scores whose means move.

    Attributes
    ----------
    means, shares, sd
        Mean scores at the start, shares of the groups among applicants, standard deviations, (groups,).
    reach
        Largest distance from `means` that is tabulated, (). Means beyond it count as the last tabulated one.
    across, along
        Spacing of the tabulated means and thresholds, ().
    lowest, last
        The first tabulated threshold and the index of the last one, (). All scores lie between the two.
    table
        Coefficients of P(y = 1, s ≥ θ), (groups, means, 1 + thresholds).
    good
        Coefficients of P(y = 1), (groups, means).
    """

    means: Array
    shares: Array
    sd: Array
    reach: Array
    across: Array
    along: Array
    lowest: Array
    last: Array
    table: Array
    good: Array

    @classmethod
    def of(cls, described: NormalScores) -> MovingScores:
        """Return the tables of an environment."""
        lowest, across, along, table = described.table
        groups, columns = described.group_count, table.shape[1]
        table = _mirrored(table.reshape(groups, -1, columns))
        good = (table[..., :3] * np.array([1.0, 4.0, 1.0]) / 6.0).sum(axis=-1)
        reach = described.reach
        numbers = {"reach": reach, "across": across, "along": along, "lowest": lowest, "last": columns - 1.0}
        return cls(
            table=_rounded_up(table, ROWS, COLUMNS),
            good=_rounded_up(good, 1, ROWS),
            **{name: per_group(described, name) for name in ("means", "shares", "sd")},
            **{name: np.asarray(value) for name, value in numbers.items()},
        )

    def above(self, means: Array, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        group, row, by_row = self._rows(means)
        column, by_column = _columns(self, thresholds)
        found = self.table[group[..., None], row[..., None], column[..., None, :]]  # (N, groups, 4 means, 4 thresholds)
        positives = ((found * by_column[..., None, :]).sum(axis=-1) * by_row).sum(axis=-1)
        return _labelled(self.shares, self._accepted(means, thresholds), positives)

    def above_edges(self, means: Array, edges: Array) -> Array:
        """Return the values of :meth:`above` at edges (K,), which are the same for all groups.

        The table of all means at these edges is computed first. It does not depend on the state, so a compiled loop
        computes it once.
        """
        column, by_column = _columns(self, edges)
        tabled = (self.table[:, :, column] * by_column).sum(axis=-1)  # (groups, means, K)
        group, row, by_row = self._rows(means)
        positives = (tabled[group, row] * by_row[..., None]).sum(axis=1).T
        return _labelled(self.shares, self._accepted(means, edges[:, None]), positives)

    def everybody(self, means: Array) -> Array:
        """Return P(group, label), (groups, 2)."""
        group, row, by_row = self._rows(means)
        return _labelled(self.shares, namespace(means).ones_like(means), (self.good[group, row] * by_row).sum(axis=-1))

    def _accepted(self, means: Array, thresholds: Array) -> Array:
        return ndtr((means - thresholds) / self.sd)

    def _rows(self, means: Array) -> tuple[Array, Array, Array]:
        """Return groups (groups, 1), and rows of the table with their weights, (groups, 4)."""
        xp = namespace(means)
        moved = xp.clip(means - self.means, -self.reach, self.reach)
        return xp.arange(len(means))[:, None], *_taps((moved + self.reach) / self.across + PADDING)


class Moving(Thresholded):
    """An environment of normal scores whose means move."""

    scores: MovingScores

    def means(self, state: Any) -> Array:
        """Return the groups' mean scores, (groups,), in a state; by default the state itself."""
        return state

    def above(self, state: Any, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        return self.scores.above(self.means(state), thresholds)

    def above_edges(self, state: Any, edges: Array) -> Array:
        """Return P(group, label, score ≥ edge), (K, groups, 2), at edges (K,) that stay the same for many rounds."""
        return self.scores.above_edges(self.means(state), edges)

    def everybody(self, state: Any) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self.scores.everybody(self.means(state))


@record
class FixedScores:
    """Tables of normal scores whose means are fixed.

    Attributes
    ----------
    means, shares, sd, along, lowest, last
        See :class:`MovingScores`.
    table
        Coefficients of P(y = 1, s ≥ θ), (groups, 1 + thresholds).
    good
        P(y = 1), (groups,).
    """

    means: Array
    shares: Array
    sd: Array
    along: Array
    lowest: Array
    last: Array
    table: Array
    good: Array

    @classmethod
    def of(cls, described: NormalScores) -> FixedScores:
        """Return the tables of an environment."""
        moving = MovingScores.of(described)
        group, row, by_row = moving._rows(moving.means)
        table = (moving.table[group, row] * by_row[..., None]).sum(axis=1)
        good = (moving.good[group, row] * by_row).sum(axis=1)
        return cls(moving.means, moving.shares, moving.sd, moving.along, moving.lowest, moving.last, table, good)

    def above(self, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        column, by_column = _columns(self, thresholds)
        found = self.table[namespace(thresholds).arange(len(self.means))[:, None], column]
        accepted = ndtr((self.means - thresholds) / self.sd)
        return _labelled(self.shares, accepted, (found * by_column).sum(axis=-1))

    def everybody(self) -> Array:
        """Return P(group, label), (groups, 2)."""
        return _labelled(self.shares, namespace(self.good).ones_like(self.good), self.good)


def _columns(scores: MovingScores | FixedScores, thresholds: Array) -> tuple[Array, Array]:
    """Return columns of a table for each threshold, and their weights, (…, 4) each."""
    place = namespace(thresholds).clip((thresholds - scores.lowest) / scores.along, 0.0, scores.last)
    return _taps(place + 1.0)


def _taps(places: Array) -> tuple[Array, Array]:
    """Return the indices of the four cubic B-spline coefficients that apply at each place, and their weights, (…, 4).

    Places are in units of the spacing. The first of the four coefficients is the one before the place.
    """
    xp = namespace(places)
    whole = xp.floor(places)
    past = (places - whole)[..., None]
    left = 1.0 - past
    weights = (left**3, 4.0 - 3.0 * past**2 * (1.0 + left), 4.0 - 3.0 * left**2 * (1.0 + past), past**3)
    first = xp.astype(whole, xp.int32)[..., None] - 1
    return first + xp.arange(4, dtype=xp.int32), xp.concatenate(weights, axis=-1) / 6.0


def _labelled(shares: Array, people: Array, positives: Array) -> Array:
    """Return P(group, label), (…, groups, 2), from P(people) and P(people, y = 1) within each group."""
    xp = namespace(people, positives)
    positives = xp.clip(positives, 0.0, people)  # a spline near 0 may fall just below it
    return shares[:, None] * xp.stack((people - positives, positives), axis=-1)


def _mirrored(table: Array) -> Array:
    """Add mirrored coefficients beyond the first and the last threshold: one before, two after."""
    return np.pad(table, ((0, 0), (0, 0), (1, 2)), mode="reflect")


def _rounded_up(table: Array, rows: int, columns: int) -> Array:
    """Pad the last two axes with zeros to multiples of `rows` and `columns`; the padding is never read."""
    more = [-length % multiple for length, multiple in zip(table.shape[-2:], (rows, columns), strict=True)]
    return np.pad(table, [(0, 0)] * (table.ndim - 2) + [(0, each) for each in more])
