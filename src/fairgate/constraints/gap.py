"""Gap: what constraints that keep the groups' acceptance rates close together have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.arrays import as_array, namespace
from fairgate.constraints.base import Constraint, Measure, Words, compare_groups, rounded
from fairgate.constraints.pieces import Pieces, differences
from fairgate.counts import Counts, across_groups, per_person
from fairgate.settings import Array, Share

RATES = {None: "acceptance rates", 1: "true positive rates", 0: "false positive rates"}
"""What the share accepted of people of a label is called."""


@dataclass(frozen=True)
class Gap(Constraint):
    """The groups' acceptance rates differ by `epsilon` at most, among everybody or among people of some labels.

    A subclass says among whom: `labels`, one per residual (None for everybody), and `among` in words.
    """

    compares_groups: ClassVar[bool] = True
    labels: ClassVar[Sequence[int | None]]
    among: ClassVar[str] = ""
    must: ClassVar[str] = "The groups’ acceptance rates{0.among} may differ by {0.epsilon:.4g} at most."
    may: ClassVar[str] = "a gap of {0.epsilon:.4f}{0.among}"

    epsilon: Share

    def gaps(self, counts: Counts) -> Sequence[Array]:
        """Return the gap between groups for each of the labels."""
        return [counts.gap if label is None else gap_among(counts, label) for label in self.labels]

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return each gap minus `epsilon`."""
        compare_groups(self, counts.group_count)
        return [gap - as_array(self.epsilon) for gap in self.gaps(counts)]

    def span(self, groups: int) -> list[tuple[float, float]]:
        """Return ends that no gap minus `epsilon` goes beyond."""
        return super().span(groups) if self.bounded else [(-1.0, 1.0)] * len(self.labels)

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the signed differences of all pairs of groups."""
        epsilon = float(np.asarray(self.epsilon))
        return [Pieces(differences(groups, label), epsilon) for label in self.labels]

    @property
    def words(self) -> Sequence[Words]:
        """Each gap in words."""
        kinds = {None: "", 0: " among people with a bad label", 1: " among people with a good label"}
        among = [kinds[label] for label in self.labels]
        return [
            Words(f"The gap{each or ' between groups'}", f"the gap between groups{each} is {{}} too large")
            for each in among
        ]

    def measures(self, counts: Counts) -> Sequence[Measure]:
        """Return each gap."""
        epsilon = float(np.asarray(self.epsilon))
        named = zip(self.labels, self.gaps(counts), strict=True)
        return [Measure(f"Gap of {RATES[label]}", gap, "at most", epsilon) for label, gap in named]

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return the same up to the gap that there is."""
        return replace(self, epsilon=rounded(self.gaps(counts)[place], 4, up=True))


def gap_among(counts: Counts, label: int) -> Array:
    """Return the gap between groups among people of a label; 0 if fewer than two groups have any.

    >>> gap_among(Counts([[[3, 1], [1, 4]], [[1, 2], [0, 7]], [[1, 0], [0, 0]]]), label=1).round(3)
    np.float64(0.2)
    """
    cells = counts.cells[..., label, :]
    rates = per_person(cells[..., 1], cells[..., 0] + cells[..., 1])
    gap = across_groups(np.fmax, rates) - across_groups(np.fmin, rates)
    xp = namespace(gap)
    return as_array(xp.where(xp.isnan(gap), 0.0, gap))
