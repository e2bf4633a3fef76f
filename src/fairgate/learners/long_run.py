"""The long run of any policy: what acceptance rates it leads to, and how well that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.outlook import Outlook
from fairgate.learners.response import RATES, leverage, value
from fairgate.settings import Array

LOOSE = 0.2
"""Error of a failed forecast per unit of acceptance between what is played and what is asked about."""


class Response(NamedTuple):
    """What is known of R replicates' answer to acceptance.

    Attributes
    ----------
    rates, positives, inverse, chosen
        The regression; see :class:`~fairgate.learners.response.Fit`.
    shares
        Share of each group, (R, G).
    people
        People of each group so far, and in a batch, (2, R, G).
    failed
        How often forecasts have failed, (R,): 0, 1 or 2.
    shift, weight, near
        Where forecasts have failed: what to add to rates and to positives (2, R, G), the people that is known from
        (R, G), and the forecast rate of what was played meanwhile (R, G).
    """

    rates: Array
    positives: Array
    inverse: Array
    chosen: NDArray[np.int64]
    shares: Array
    people: Array
    failed: NDArray[np.int64]
    shift: Array
    weight: Array
    near: Array

    def outlook(
        self, rates: Array, positives: Array, steep: Array, spread: Array | None = None, sway: bool = True
    ) -> Outlook:
        """Make an outlook (R, G, C) of forecast rates, positives, and slopes of S in acceptance.

        `spread` is the variance, over the scores of a group, of the chance of acceptance: p(1 − p) for a threshold, and
        by default; 0 for a coin, whose rate is certain. The error of a rate has two parts: that of the fit, and the
        swaying of the state as batches differ,

            var(h) = ρ² · p(1 − p) / n / (1 − (1 − ρ(1 − S′))²),

        which moves rates by S′ times as much; without `sway` only the first counts. Where forecasts have failed, the
        first is that of the correction.
        """
        everybody, batch = self.people[..., None]
        noise = np.maximum(rates * (1.0 - rates), 1.0 / np.maximum(everybody, 1.0))
        spread = noise if spread is None else spread
        fitted = spread * leverage(self.inverse, rates) / (1.0 - steep) ** 2
        failed = self.failed[:, None, None] > 0
        away = LOOSE * (rates - self.near[..., None])
        variance = np.where(failed, noise / np.maximum(self.weight[..., None], 1.0) + away**2, fitted)
        speed = RATES[self.chosen][:, None, None]
        moved = speed**2 * noise / np.maximum(batch, 1.0) / (1.0 - (1.0 - speed * (1.0 - steep)) ** 2)
        whole = value(self.positives[..., :1].swapaxes(2, 3), rates)
        shifted = np.clip(rates + self.shift[0][..., None], 0.0, 1.0)
        good = np.clip(positives + self.shift[1][..., None], 0.0, shifted)
        label_error = np.where(failed, np.sqrt(variance), 0.0)
        error = np.sqrt(variance + steep**2 * moved) if sway else np.sqrt(variance)
        return Outlook(self.shares, shifted, good, np.clip(whole, good, 1.0), error, label_error)
