"""Thompson: sample the rates of every threshold from their posterior, and play the best feasible threshold."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import arm_at
from fairgate.core.learners.components.chance import normal
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import best_feasible
from fairgate.random import Draws, Purpose


@record
class Seen:
    """People of each threshold, accepted people, and those of label 1, (K, groups) each."""

    people: Array
    accepted: Array
    positives: Array


@record
class Thompson(Epochs):
    """Sample rates and shares of positives from their posterior, and play the best threshold under the sample.

    :class:`fairgate.learners.Thompson` documents the equations and the settings.
    """

    epoch_length: Array = 5
    burn_in: Array = 2
    inflation: Array = 2.0

    def begin(self, setting: Setting) -> Seen:
        """Begin with the prior."""
        none = namespace(setting.grid).zeros((len(setting.grid), setting.groups))
        return Seen(none, none, none)

    def pick(self, setting: Setting, knows: Seen, draws: Draws) -> Array:
        """Sample rates and shares, and pick the best threshold under the sample."""
        shape = 2, *knows.people.shape
        away = normal(draws.words(Purpose.LEARNER, knows.people.size * 2)).reshape(shape)
        return setting.grid[self.best(setting, knows, away)]

    def best(self, setting: Setting, knows: Seen, away: Array) -> Array:
        """Return the best feasible threshold if rates and shares lie `away` standard deviations from their means."""
        xp, (people, accepted, positives) = namespace(away), (knows.people, knows.accepted, knows.positives)
        rates = shifted(accepted / self.inflation, (people - accepted) / self.inflation, away[0])
        shares = shifted(positives / self.inflation, (accepted - positives) / self.inflation, away[1])
        good, bad = rates * shares, rates * (1.0 - shares)
        rejected = 1.0 - rates  # counted as label 0: no constraint for learners of counts uses their labels
        by_label = xp.stack((xp.stack((rejected, bad), axis=-1), xp.stack((xp.zeros_like(good), good), axis=-1)), -2)
        came = people.sum(axis=0) + 1.0
        reward, residuals = setting.problem.assess(by_label * (came / came.sum())[:, None, None])
        return best_feasible(reward, residuals)

    def digest(self, setting: Setting, knows: Seen, epoch: Epoch) -> Seen:
        """Add the epoch to its threshold."""
        here = arm_at(setting.grid, epoch.threshold)[:, None]
        return Seen(
            knows.people + here * epoch.people,
            knows.accepted + here * epoch.accepted,
            knows.positives + here * epoch.positives,
        )

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the threshold that is best at the posterior means."""
        nowhere = namespace(setting.grid).zeros((2, *memory.knows.people.shape))
        return Policy.at(setting.grid[self.best(setting, memory.knows, nowhere)])


def shifted(successes: Array, failures: Array, away: Array) -> Array:
    """Return the value `away` standard deviations from the mean of a Beta posterior with Jeffreys' prior, in [0, 1]."""
    xp, a, b = namespace(successes), successes + 0.5, failures + 0.5
    mean = a / (a + b)
    return xp.clip(mean + away * xp.sqrt(mean * (1.0 - mean) / (a + b + 1.0)), 0.0, 1.0)
