"""Label curve: the probability of a positive label by score, from the labels of accepted applicants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.setting import Setting
from fairgate.core.special import expit

LENGTH = 1000.0
"""Length of the moving average of labels in rounds: the meaning of a score changes more slowly than the applicants."""

STRENGTH = 10.0
"""Number of labels at which a score bin's own labels weigh as much as the curve."""

TYPICAL = np.array([0.0, 2.0])
"""Level and slope of the prior curve over a grid from −1.5 to 1.5: a higher score is better."""

PRECISION = np.array([0.5, 5.0])
"""Prior precision of the common curve around the typical one, and of a group's curve around the common one."""

STEPS = 2
"""Newton steps per fit; each fit starts from the previous one."""


class Labels(NamedTuple):
    """Estimated probability of a positive label by score bin.

    Attributes
    ----------
    share, variance
        The probability, and its variance from the labels of the bin itself, (groups, bins).
    slope
        Its derivatives by level and slope of the group's curve, (2, groups, bins).
    covariance
        Covariance of level and slope, (groups, 2, 2).
    """

    share: Array
    variance: Array
    slope: Array
    covariance: Array

    @property
    def error(self) -> Array:
        """Standard error, (groups, bins)."""
        xp = namespace(self.share)
        curve = xp.einsum("igb,gij,jgb->gb", self.slope, self.covariance, self.slope)
        return xp.sqrt(self.variance + xp.maximum(curve, 0.0))


@record
class LabelCurve:
    """Shares of positive labels by score bin, shrunk towards a logistic curve per group.

    The curve of a group is shrunk towards that of all groups, and this towards a typical one. So a rare group, or a
    score above which nobody was accepted, has a plausible share with a large error.

    Attributes
    ----------
    labels
        Discounted labels, (groups, bins, 2).
    common, curves, covariance
        Level and slope of the common curve (2,), of each group's (groups, 2), and covariance of these, (groups, 2, 2).
    """

    labels: Array
    common: Array
    curves: Array
    covariance: Array

    @classmethod
    def none(cls, setting: Setting) -> LabelCurve:
        """Return the typical curve, without labels."""
        xp, groups = namespace(setting.grid), setting.groups
        labels, common = xp.zeros((groups, len(setting.grid) + 1, 2)), xp.asarray(TYPICAL)
        covariance = xp.zeros((groups, 2, 2)) + xp.eye(2) / PRECISION[1]
        return cls(labels, common, xp.zeros((groups, 2)) + common, covariance)

    def with_labels(self, labels: Array) -> LabelCurve:
        """Return the curve with the labels of a round added, (groups, bins, 2)."""
        kept = self.labels * (1.0 - 1.0 / LENGTH) + labels
        return LabelCurve(kept, self.common, self.curves, self.covariance)

    def fitted(self) -> LabelCurve:
        """Return the curves after some Newton steps."""
        common, curves, covariance = self.common, self.curves, self.covariance
        for _ in range(STEPS):
            common = newton(common, self.labels.sum(axis=0), TYPICAL, PRECISION[0])[0]
            curves, covariance = newton(curves, self.labels, common, PRECISION[1])
        return LabelCurve(self.labels, common, curves, covariance)

    def estimate(self) -> Labels:
        """Return the share of positive labels in each score bin."""
        xp, at = namespace(self.labels), positions(self.labels.shape[-2])
        known = self.labels.sum(axis=-1)
        usual = probabilities(self.curves, at)
        share = (self.labels[..., 1] + STRENGTH * usual) / (known + STRENGTH)
        level = STRENGTH / (known + STRENGTH) * usual * (1.0 - usual)
        variance = share * (1.0 - share) / (known + STRENGTH)
        return Labels(share, variance, xp.stack((level, level * at)), self.covariance)


def positions(bins: int) -> Array:
    """Return the position of each score bin on a grid from −1.5 to 1.5.

    >>> positions(4)
    array([-2., -1.,  0.,  1.])
    """
    step = 3.0 / max(bins - 1, 1)
    return -1.5 + step * (np.arange(bins) - 0.5)


def probabilities(curves: Array, at: Array) -> Array:
    """Return the probabilities of logistic curves (…, 2) at some positions (B,), (…, B).

    >>> probabilities(np.array([0.0, 2.0]), np.array([0.0, 1.0])).round(2)
    array([0.5 , 0.88])
    """
    return expit(namespace(curves).clip(curves[..., :1] + curves[..., 1:] * at, -15.0, 15.0))


def newton(curves: Array, labels: Array, near: Array, precision: float) -> tuple[Array, Array]:
    """Move logistic curves (…, 2) a step towards the most likely ones; return them and their covariance, (…, 2, 2).

    `labels` is (…, B, 2); the prior is normal around `near` with a `precision`.
    """
    xp, at = namespace(curves, labels), positions(labels.shape[-2])
    known, share = labels.sum(axis=-1), probabilities(curves, at)
    beyond, weight = labels[..., 1] - known * share, known * share * (1.0 - share)
    slope = xp.stack((beyond.sum(axis=-1), (beyond * at).sum(axis=-1)), axis=-1) - precision * (curves - near)
    level, mixed, steep = weight.sum(axis=-1), (weight * at).sum(axis=-1), (weight * at**2).sum(axis=-1)
    level, steep = level + precision, steep + precision
    rows = xp.stack((xp.stack((steep, -mixed), axis=-1), xp.stack((-mixed, level), axis=-1)), axis=-2)
    covariance = rows / (level * steep - mixed**2)[..., None, None]
    return curves + xp.clip((covariance * slope[..., None, :]).sum(axis=-1), -1.0, 1.0), covariance
