"""DriftModels: linear regressions that suppose more or less drift, of which the one that predicts best is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.core.learners.components.drift_models import DRIFTS, KEPT, LARGEST_MISFIT, LEFT_BEHIND, OUTLIER, TRUST
from fairgate.learners.shapes import filled
from fairgate.settings import Array


@dataclass
class DriftModels:
    """Regressions of R replicates and G groups on F features, one for each drift B; and how well each predicts.

    An epoch's mean is predicted when the epoch begins; the squared error over its variance says how badly a model
    fits. Its mean over epochs, at least 1, widens all errors: they include lack of fit, and that the state fluctuates.
    """

    information: Annotated[Array, "B R G F F"]  # inverse covariance of the coefficients
    evidence: Annotated[Array, "B R G F"]  # information times the coefficients' means
    expected: Annotated[Array, "B R G F"]  # coefficients when the epoch began
    doubt: Annotated[Array, "B R G"]  # variance of what they predicted for it
    surprise: Annotated[Array, "B R G"]  # sum of weight times (observation - prediction) since
    weight: Annotated[Array, "R G"]  # sum of weights since
    misfit: Annotated[Array, "B R G"]  # squared errors over variances, summed over epochs
    epochs: Annotated[Array, "R G"]  # number of epochs in that sum
    support: Annotated[Array, "B R"]  # log odds against the best model

    @classmethod
    def of(cls, sizes: Mapping[str, int], spread: Array) -> Self:
        """Start with coefficients of mean 0 and standard deviations `spread` (F,)."""
        sizes = {**sizes, "B": len(DRIFTS), "F": len(spread)}
        return filled(cls, sizes, information=np.diag(spread**-2.0), support=TRUST[:, None] - TRUST.max())

    def begin(self, rows: NDArray[np.bool_], features: Array, direction: Array, rounds: NDArray[np.int64]) -> None:
        """Let coefficients drift for `rounds` (R,), and predict the epochs that begin in `rows` (R,) by `features`.

        Drift adds its variance along `direction` (R, G, F) to the covariance; by the formula of Sherman and Morrison
        that takes a matrix of rank 1 from the information.
        """
        step = DRIFTS[:, None, None] ** 2 * rounds[:, None]
        moved = (self.information @ direction[..., None])[..., 0]
        loss = np.where(rows[:, None], step / (1.0 + step * (moved * direction).sum(axis=-1)), 0.0)
        self.evidence -= (loss * (self.evidence * direction).sum(axis=-1))[..., None] * moved
        self.information -= (loss[..., None] * moved)[..., None] * moved[..., None, :]
        known = np.stack((self.evidence, np.broadcast_to(features, self.evidence.shape)), axis=-1)
        solved = np.linalg.solve(self.information, known)
        self.expected = np.where(rows[:, None, None], solved[..., 0], self.expected)
        self.doubt = np.where(rows[:, None], (features * solved[..., 1]).sum(axis=-1), self.doubt)
        self.surprise[:, rows] = self.weight[rows] = 0.0

    def add(self, features: Array, weight: Array, value: Array) -> None:
        """Take in values (R, G) with their weight, 1 over variance."""
        weighted = weight[..., None] * features
        self.information += weighted[..., None] * features[..., None, :]
        self.evidence += weighted * value[..., None]
        self.surprise += weight * (value - (features * self.expected).sum(axis=-1))
        self.weight += weight

    def end(self, rows: NDArray[np.bool_]) -> None:
        """Judge the models by the epoch that ends in `rows` (R,)."""
        seen = rows[:, None] & (self.weight > 0.0)
        noise = 1.0 / np.where(seen, self.weight, 1.0)
        variance = self.doubt + noise
        error = np.minimum((self.surprise * noise) ** 2 / variance, OUTLIER)
        factor = self.factor.min(axis=0)  # noise that all models see is the world's
        nats = np.where(seen, -0.5 * (error / factor + np.log(variance * factor)), 0.0).sum(axis=-1)
        judged = seen.any(axis=1)
        support = KEPT * self.support + (1.0 - KEPT) * TRUST[:, None] + nats
        self.support = np.where(judged, support - support.max(axis=0), self.support)
        self.misfit = np.where(seen, KEPT * self.misfit + np.minimum(error, LARGEST_MISFIT), self.misfit)
        self.epochs = np.where(seen, KEPT * self.epochs + 1.0, self.epochs)
        best = self.best
        for model in range(len(DRIFTS)):
            behind = np.flatnonzero(judged & (self.support[model] < -LEFT_BEHIND))
            for field in (self.information, self.evidence, self.misfit):
                field[model, behind] = field[best[behind], behind]
            self.support[model, behind] = -0.5 * LEFT_BEHIND

    @property
    def best(self) -> NDArray[np.int64]:
        """The model that predicts best, (R,)."""
        return np.asarray(self.support.argmax(axis=0))

    @property
    def factor(self) -> Array:
        """By how much variances are widened, (B, R, G): squared errors over variances, and 5 that are 1; at least 1."""
        return np.maximum((self.misfit + 5.0) / (self.epochs + 5.0), 1.0)

    def solved(self) -> tuple[Array, Array]:
        """Return means (R, G, F) and widened covariance (R, G, F, F) of the best model's coefficients."""
        chosen = self.best, np.arange(self.support.shape[1])
        covariance = np.linalg.inv(self.information[chosen])
        means = (covariance @ self.evidence[chosen][..., None])[..., 0]
        return means, covariance * self.factor[chosen][..., None, None]
