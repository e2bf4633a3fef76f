"""DriftModels: regressions that assume different amounts of drift, with selection of the best predictor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.regression import Regression
from fairgate.core.setting import Setting

DRIFTS = np.array([0.0, 0.001, 0.003])
"""Standard deviations of what rates move by per round: none, 0.05 and 0.16 in 3000 rounds. They cover what can be told
apart from noise: less is hardly seen in a run, and faster drift leaves little to learn from earlier rounds."""

TRUST = np.array([3.0, 0.0, -3.0])
"""Log odds before any evidence: a world that does not change is likelier than one that does, by 20 to 1 a step."""

LEFT_BEHIND = 12.0
"""Log odds against a model at which it starts again from the best one: no return is to be expected."""

KEPT = 0.93
"""Share of the evidence for a model, and of its misfit, that is kept from epoch to epoch: the last 14 count."""

OUTLIER = 64.0
"""A squared error of more variances than this, 8 standard deviations, tells no more against a model than this does."""

LARGEST_MISFIT = 25.0
"""And more than this, 5 standard deviations, widens errors no more: a jump must not look like noise."""


@record
class DriftModels:
    """Regressions for D drifts and each group; :class:`fairgate.learners.drift_models.DriftModels` documents the rule.

    Attributes
    ----------
    known, expected
        Current regressions, and the coefficients' means at the start of the epoch, (D, groups, F).
    doubt, surprise
        Variance of the prediction for the epoch; sum of weight times (value − prediction) since its start, (D, groups).
    weight
        Sum of weights since the start of the epoch, (groups,).
    misfit, epochs
        Discounted sum of squared errors over variances, (D, groups), and of the number of epochs, (groups,).
    support
        Log odds against the best model, (D,).
    """

    known: Regression
    expected: Array
    doubt: Array
    surprise: Array
    weight: Array
    misfit: Array
    epochs: Array
    support: Array

    @classmethod
    def unknown(cls, setting: Setting, spread: Array) -> DriftModels:
        """Return models with coefficients of mean 0 and standard deviations `spread`, (F,)."""
        xp, shape = namespace(setting.grid), (len(DRIFTS), setting.groups)
        mean, none, some = xp.zeros((*shape, len(spread))), xp.zeros(shape), xp.zeros(setting.groups)
        covariance = xp.zeros((*shape, len(spread), len(spread))) + xp.diag(xp.asarray(spread**2))
        support = xp.asarray(TRUST - TRUST.max())
        return cls(Regression(mean, covariance), mean, none, none, some, none, some, support)

    def begun(self, features: Array, direction: Array, rounds: Array) -> DriftModels:
        """Return the models at the start of an epoch of `rounds` rounds with these features, (groups, F)."""
        xp = namespace(features)
        known = self.known.drifted(direction[None], (xp.asarray(DRIFTS**2) * rounds)[:, None])
        none = 0.0 * self.surprise
        return replace(
            self, known=known, expected=known.mean, doubt=known.variance(features), surprise=none, weight=none[0]
        )

    def with_value(self, features: Array, weight: Array, value: Array) -> DriftModels:
        """Return the models after a value of each group and its weight, (groups,)."""
        error = value - (features * self.expected).sum(axis=-1)
        known = self.known.with_value(features, weight, value)
        return replace(self, known=known, surprise=self.surprise + weight * error, weight=self.weight + weight)

    def ended(self) -> DriftModels:
        """Return the models evaluated on the epoch; a model that is far behind restarts from the best one."""
        xp, seen = namespace(self.weight), self.weight > 0.0
        noise = 1.0 / xp.where(seen, self.weight, 1.0)
        variance, factor = self.doubt + noise, self.factor.min(axis=0)  # noise common to all models
        error = xp.minimum((self.surprise * noise) ** 2 / variance, OUTLIER)
        nats = xp.where(seen, -0.5 * (error / factor + xp.log(variance * factor)), 0.0).sum(axis=-1)
        support = KEPT * self.support + (1.0 - KEPT) * xp.asarray(TRUST) + nats
        support = support - support.max()
        misfit = xp.where(seen, KEPT * self.misfit + xp.minimum(error, LARGEST_MISFIT), self.misfit)
        epochs = xp.where(seen, KEPT * self.epochs + 1.0, self.epochs)
        best, behind = support.argmax(), support < -LEFT_BEHIND
        known = Regression(_from(self.known.mean, best, behind), _from(self.known.covariance, best, behind))
        support = xp.where(behind, -0.5 * LEFT_BEHIND, support)
        judged = replace(self, known=known, misfit=_from(misfit, best, behind), epochs=epochs, support=support)
        return either(seen.any(), judged, self)

    @property
    def factor(self) -> Array:
        """Factor on variances, (D, groups): mean squared error over variance, with 5 prior values of 1; at least 1."""
        return namespace(self.misfit).maximum((self.misfit + 5.0) / (self.epochs + 5.0), 1.0)

    def believed(self) -> Regression:
        """Return the best model with its covariance widened, (groups, F)."""
        best = self.support.argmax()
        return Regression(self.known.mean[best], self.known.covariance[best] * self.factor[best][:, None, None])


def _from(values: Array, best: Array, behind: Array) -> Array:
    """Return the values of each model, or those of the `best` model for models that are `behind`."""
    wide = behind.reshape(-1, *[1] * (values.ndim - 1))
    return namespace(values).where(wide, values[best], values)
