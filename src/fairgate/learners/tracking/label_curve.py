"""The label curve: how likely a label 1 is at each score, by group, from the labels of the accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.tracking.people_now import MEMORY
from fairgate.settings import Array, Index

WINDOWS = np.array([50.0, 300.0, 3000.0])
"""Rounds that labels are remembered for, of which the data choose: who repays at a score changes more slowly than who
comes."""

STRENGTH = 10.0
"""Labels of a score bin at which they count as much as the logistic curve through all bins."""

TYPICAL = np.array([0.0, 2.0])
"""Level and slope of the curve before there are labels, over a grid from −1.5 to 1.5: higher scores do better."""

APART = np.array([0.5, 5.0])
"""Precision with which the curve of all is near the typical one, and that of each group near that of all."""


class Labels(NamedTuple):
    """What is known of labels at each score bin, (R, G, K + 1) each."""

    share: Array  # probability of a label 1
    hoped: Array  # the same, with the benefit of the doubt
    variance: Array  # of `share`

    def read(self) -> Labels:
        """Return them as they are."""
        return self

    def rows(self, which: NDArray[np.bool_]) -> Labels:
        """Return the labels of some replicates."""
        return Labels(*(values[which] for values in self))


class FittedCurves(NamedTuple):
    """Curves as they are fitted, and the labels that shares are drawn towards them from: read where they are needed."""

    labels: Array  # (R, G, K + 1, 2)
    curves: Array  # level and slope, (R, G, 2)
    doubt: Array  # their covariance, (R, G, 2, 2)
    benefit: float  # standard errors of the curve that are hoped for

    def rows(self, which: NDArray[np.bool_]) -> FittedCurves:
        """Return the curves of some replicates."""
        return FittedCurves(self.labels[which], self.curves[which], self.doubt[which], self.benefit)

    def read(self) -> Labels:
        """Return what the curves say of labels."""
        at = LabelCurve.positions(self.labels.shape[-2])
        known = self.labels[..., 0] + self.labels[..., 1]
        level, mixed, _, steep = np.moveaxis(self.doubt.reshape(*known.shape[:2], 4, 1), 2, 0)
        spread = np.sqrt(np.maximum(level + at * (2.0 * mixed + at * steep), 0.0))
        usual, high, hoped = (sigmoid(self.curves, at, shift) for shift in (0.0, spread, self.benefit * spread))
        share = drawn(self.labels, usual)
        weight = STRENGTH / (known + STRENGTH)
        variance = share * (1.0 - share) / (known + STRENGTH) + (weight * (high - usual)) ** 2
        return Labels(share, drawn(self.labels, hoped), variance)


@dataclass
class LabelCurve:
    """Shares of positives by score bin, drawn towards a logistic curve where labels are few.

    The group's curve is itself drawn towards that of all groups. So a rare group, or a score at which nobody has been
    accepted for long, has a plausible share, and an error that says how little it is known.
    """

    labels: Annotated[Array, "L R G K+1 2"]  # discounted
    error: Annotated[Array, "L R"]  # squared errors of prediction
    common: Annotated[Array, "R 2"]  # level and slope of all groups' curve
    curves: Annotated[Array, "R G 2"]  # and of each group's
    doubt: Annotated[Array, "R G 2 2"]  # covariance of the latter

    @staticmethod
    def positions(bins: int) -> Array:
        """Return where each score bin lies, between −1.5 and 1.5.

        >>> LabelCurve.positions(4)
        array([-2., -1.,  0.,  1.])
        """
        step = 3.0 / max(bins - 1, 1)
        return np.asarray(-1.5 + step * (np.arange(bins) - 0.5))

    def copy(self) -> LabelCurve:
        """Return one whose fits are its own."""
        return replace(self, common=self.common.copy(), curves=self.curves.copy(), doubt=self.doubt.copy())

    def take_in(self, rows: Index, rounds: Array, labels: Array) -> None:
        """Compare the labels that arrived in a stretch of `rounds` (rows,) with their predictions, and add them."""
        usual = sigmoid(self.curves[rows], self.positions(labels.shape[-2]))
        known = self.labels[:, rows]
        share = drawn(known, usual)
        wrong = labels[..., 1] * (1.0 - share) ** 2 + labels[..., 0] * share**2
        fading = (1.0 - 1.0 / MEMORY) ** rounds
        self.error[:, rows] = self.error[:, rows] * fading + wrong.sum(axis=(2, 3))
        kept = (1.0 - 1.0 / WINDOWS)[:, None] ** rounds
        self.labels[:, rows] = known * kept[..., None, None, None] + labels

    def now(self, rows: NDArray[np.int64], benefit: float) -> FittedCurves:
        """Fit the curves once more, and return them, with the `benefit` of so many standard errors."""
        labels = self.labels[self.error[:, rows].argmin(axis=0), rows]
        at, together = self.positions(labels.shape[-2]), labels.sum(axis=1)
        common, curves = self.common[rows], self.curves[rows]
        for _ in range(2):  # a fit begins where the last one ended
            common = newton(common, together, at, TYPICAL, APART[0])[0]
            curves, doubt = newton(curves, labels, at, common[:, None], APART[1])
        self.common[rows], self.curves[rows], self.doubt[rows] = common, curves, doubt
        return FittedCurves(labels, curves, doubt, benefit)


def sigmoid(curves: Array, at: Array, shift: Array | float = 0.0) -> Array:
    """Return the probabilities of logistic curves (…, 2) at positions (B,), (…, B).

    >>> sigmoid(np.array([0.0, 2.0]), np.array([0.0, 100.0]))
    array([0.5       , 0.99999969])
    """
    score = curves[..., :1] + curves[..., 1:] * at + shift
    return np.asarray(1.0 / (1.0 + np.exp(-score.clip(-15.0, 15.0))))


def drawn(labels: Array, usual: Array) -> Array:
    """Return the share of positives among labels (…, 2), drawn towards what is usual."""
    return np.asarray((labels[..., 1] + STRENGTH * usual) / (labels[..., 0] + labels[..., 1] + STRENGTH))


def newton(curves: Array, labels: Array, at: Array, near: Array, precision: float) -> tuple[Array, Array]:
    """Move logistic curves (…, 2) a step towards the likeliest, given labels (…, B, 2) and a normal prior.

    Also returned is their covariance, (…, 2, 2).
    """
    known, share = labels[..., 0] + labels[..., 1], sigmoid(curves, at)
    expected = known * share
    beyond = labels[..., 1] - expected
    slope = np.stack((beyond.sum(axis=-1), (beyond * at).sum(axis=-1)), axis=-1) - precision * (curves - near)
    weight = expected * (1.0 - share)
    tilted = weight * at
    level, mixed, steep = weight.sum(axis=-1), tilted.sum(axis=-1), (tilted * at).sum(axis=-1)
    level, steep = level + precision, steep + precision
    scale = 1.0 / (level * steep - mixed * mixed)
    covariance = np.stack((np.stack((steep, -mixed), -1), np.stack((-mixed, level), -1)), -2) * scale[..., None, None]
    return curves + np.clip((covariance * slope[..., None, :]).sum(axis=-1), -1.0, 1.0), covariance
