"""Corrections: what epochs showed beyond their predictions, and what is made of it once predictions have failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.monitor import apart
from fairgate.learners.forecast.play import Play
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.gaussian_process import posterior
from fairgate.settings import Array

Comparison = tuple[Array, NDArray[np.bool_], Array]
"""What an epoch showed, for R replicates: the mean squared error of its prediction in units of its variance, whether it
is a test of the prediction, and how far :func:`~fairgate.learners.forecast.monitor.apart` it is from earlier ones."""

LEAST_NOISE = 0.01
"""Least variance of one person's acceptance: near 0 and 1, a few people tell little about it."""


@dataclass
class GridCorrection:
    """A Gaussian process over the grid: an early prediction is its prior mean, what thresholds showed its data."""

    # people, accepted, positives, and accepted by prediction, in each threshold's settled rounds
    counts: Annotated[Array, "4 R G K"]
    prior: Annotated[Array, "2 R G K"]  # rates and positives predicted at the end of the exploration phases
    excess: Annotated[Array, "R"]  # sum of squared errors beyond their variance
    trials: Annotated[Array, "R"]  # how many
    length: float = 0.2  # share of the grid over which errors of prediction go together
    # least standard deviation of errors of prediction: those of few trials may have been small by luck
    least_spread: float = 0.06

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget what was counted in some replicates."""
        self.counts[:, rows] = 0.0
        self.excess[rows] = self.trials[rows] = 0.0

    def keep_prior(self, rows: NDArray[np.int64], early: NDArray[np.bool_], prediction: Prediction) -> None:
        """Keep the prediction as prior mean in those of replicates `rows` that are `early` in their run."""
        self.prior[:, rows[early]] = np.stack((prediction.rates, prediction.positives))[:, early]

    def apply(self, rows: NDArray[np.int64], failed: NDArray[np.bool_], prediction: Prediction) -> Prediction:
        """Return the posterior in those of replicates `rows` where predictions have `failed`, else the prediction."""
        if not failed.any():
            return prediction
        which, arms = rows[failed], self.counts.shape[-1]
        steps = np.arange(arms) / max(arms - 1, 1)
        related = np.exp(-0.5 * ((steps[:, None] - steps) / self.length) ** 2) + 1e-8 * np.eye(arms)
        variance = np.maximum(self.excess[which] / np.maximum(self.trials[which], 1.0), self.least_spread**2)
        rates, positives = self.prior[:, which]
        people, accepted, accepted_positives = self.counts[:3, which]
        noise = np.where(people > 0, np.maximum(rates * (1.0 - rates), LEAST_NOISE) / np.maximum(people, 1e-9), 1e6)
        seen = np.stack((accepted - people * rates, accepted_positives - people * positives), axis=-1)
        seen /= np.maximum(people, 1.0)[..., None]
        shift, left = posterior(variance[:, None, None, None] * related, noise, seen)

        new = Prediction(prediction.shares, *(values.copy() for values in prediction[1:]))
        new.rates[failed] = np.clip(rates + shift[..., 0], 0.0, 1.0)
        new.positives[failed] = np.clip(positives + shift[..., 1], 0.0, new.rates[failed])
        new.error[failed] = new.label_error[failed] = np.sqrt(np.maximum(left, 0.0))
        return new

    def compare(
        self, rows: NDArray[np.int64], arm: NDArray[np.int64], play: Play, failures: NDArray[np.int64]
    ) -> Comparison:
        """Compare the epoch of thresholds `arm` (rows,) with its prediction and with all earlier ones, and count it.

        Only the first epoch on a threshold is a test of its prediction: later ones have gone into it.
        """
        people, accepted, positives, predicted, _ = play.shown(rows)
        new, trusted = play.transient[rows], failures[rows][:, None] == 0
        earlier, accepted_then, _, predicted_then = self.counts[:, rows, :, arm].swapaxes(0, 1)
        for total, part in zip(self.counts, (people, accepted, positives, predicted), strict=True):
            total[rows, :, arm] += part
        people = np.maximum(people, 1.0)
        now = (accepted - trusted * predicted) / people
        then = (accepted_then - trusted * predicted_then) / np.maximum(earlier, 1.0)
        share = (accepted + accepted_then + 1.0) / (people + earlier + 2.0)

        error = ((accepted - predicted) / people) ** 2
        usual = np.maximum(play.rates[rows] * (1.0 - play.rates[rows]), LEAST_NOISE) / people + play.variance[rows]
        self.excess[rows] = np.maximum(self.excess[rows] + np.where(new, (error - usual).mean(axis=1), 0.0), 0.0)
        self.trials[rows] += new
        before = np.where(new[:, None], 0.0, earlier)
        return (error / usual).mean(axis=1), new, apart(now, people, then, before, share * (1.0 - share))


@dataclass
class ShiftCorrection:
    """The misfit of the latest epochs, to be added to all predictions: only differences are believed then."""

    amount: Annotated[Array, "2 R G"]  # latest errors of prediction for rates and positives
    weight: Annotated[Array, "R G"]  # people they are from
    # people of the last epoch, and accepted beyond prediction, if nothing has changed since
    before: Annotated[Array, "2 R G"]
    discount: float = 0.5  # what an epoch leaves of the weight of earlier ones

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget everything in some replicates."""
        self.weight[rows] = 0.0
        self.before[:, rows] = self.amount[:, rows] = 0.0

    def shift(self, rows: NDArray[np.int64], failures: NDArray[np.int64]) -> Array:
        """Return what to add to rates and positives in replicates `rows`, (2, rows, G): 0 unless they have failed."""
        return np.where(failures[:, None] > 0, self.amount[:, rows], 0.0)

    def compare(self, rows: NDArray[np.int64], play: Play, failures: NDArray[np.int64]) -> Comparison:
        """Compare an epoch with its prediction, and with the epoch before if that was on the same policy."""
        people, accepted, positives, predicted, predicted_positives = play.shown(rows)
        people = np.maximum(people, 1.0)
        error = (accepted - predicted) / people
        share = (accepted + 1.0) / (people + 2.0)
        noise = np.maximum(share * (1.0 - share), LEAST_NOISE)
        before, extra = self.before[:, rows]

        corrected = error - self.shift(rows, failures[rows])[0]
        squared = corrected**2 / (noise / people + play.variance[rows])
        fading = self.discount * self.weight[rows]
        latest = np.stack((error, (positives - predicted_positives) / people))
        self.amount[:, rows] = (fading * self.amount[:, rows] + people * latest) / (fading + people)
        self.weight[rows] = fading + people
        self.before[:, rows] = np.stack((people, accepted - predicted))
        changed = apart(error, people, extra / np.maximum(before, 1.0), before, noise)
        return squared.mean(axis=1), np.ones(len(rows), dtype=bool), changed
