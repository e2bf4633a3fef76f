"""DriftModels: regressions that suppose more or less drift, of which the one that predicts best is believed."""

from __future__ import annotations

from dataclasses import replace

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.regression import Regression
from fairgate.core.setting import Setting
from fairgate.learners.drift_models import DRIFTS, KEPT, LARGEST_MISFIT, LEFT_BEHIND, OUTLIER, TRUST


@record
class DriftModels:
    """Regressions of each drift D and group; :class:`fairgate.learners.drift_models.DriftModels` has the rule.

    Attributes
    ----------
    known, expected
        What they know now, and what they knew when the epoch began, (D, groups, F).
    doubt, surprise
        Variance of what they predicted for the epoch; sum of weight times (value − prediction) since, (D, groups).
    weight
        Sum of weights since, (groups,).
    misfit, epochs
        Squared errors over variances, (D, groups), summed over so many epochs, (groups,).
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
        """Return the models at the beginning of an epoch of so many rounds, whose features (groups, F) are these."""
        xp = namespace(features)
        known = self.known.drifted(direction[None], (xp.asarray(DRIFTS**2) * rounds)[:, None])
        none = 0.0 * self.surprise
        return replace(
            self, known=known, expected=known.mean, doubt=known.variance(features), surprise=none, weight=none[0]
        )

    def with_value(self, features: Array, weight: Array, value: Array) -> DriftModels:
        """Return the models with a value of each group and its weight, (groups,)."""
        error = value - (features * self.expected).sum(axis=-1)
        known = self.known.with_value(features, weight, value)
        return replace(self, known=known, surprise=self.surprise + weight * error, weight=self.weight + weight)

    def ended(self) -> DriftModels:
        """Return the models judged by the epoch; one that is left behind starts again from the best."""
        xp, seen = namespace(self.weight), self.weight > 0.0
        noise = 1.0 / xp.where(seen, self.weight, 1.0)
        variance, factor = self.doubt + noise, self.factor.min(axis=0)  # noise that all models see is the world's
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
        """By how much variances are widened, (D, groups): mean squared error over variance, with 5 of 1; at least 1."""
        return namespace(self.misfit).maximum((self.misfit + 5.0) / (self.epochs + 5.0), 1.0)

    def believed(self) -> Regression:
        """Return the best model, with its covariance widened, (groups, F)."""
        best = self.support.argmax()
        return Regression(self.known.mean[best], self.known.covariance[best] * self.factor[best][:, None, None])


def _from(values: Array, best: Array, behind: Array) -> Array:
    """Return the values of each model, or those of the `best` for models that are left `behind`."""
    wide = behind.reshape(-1, *[1] * (values.ndim - 1))
    return namespace(values).where(wide, values[best], values)
