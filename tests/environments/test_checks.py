"""check_environment: passes whatever keeps the contract, names the breach of whatever does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import Environment, EnvironmentCheckError, check_environment
from fairgate.environments.base import joint
from fairgate.settings import Array, PositiveShare
from fairgate.tasks import presets
from tests.environments.worlds import WORLDS, gaussian, strategic


@dataclass(frozen=True)
class Uniform(Environment):
    """The least that makes an environment: scores uniform on [x, x + 1], x following acceptance."""

    gain: float = 0.3
    rate: PositiveShare = 0.2

    group_count = 2

    def start(self, replicates: int = 1) -> Array:
        return np.zeros((replicates, 2))

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        accepted = np.clip(1.0 - (thresholds - state), 0.0, 1.0)
        return joint(np.array([0.5, 0.5]), accepted, np.full_like(accepted, 0.5), accepted - accepted**2 / 2.0)

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        target = np.where(counts.people > 0, self.gain * counts.rates, state)
        return np.asarray(state + np.reshape(self.rate, (-1, 1)) * (target - state))


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_package_keeps_its_own_contract(world: Environment) -> None:
    check_environment(world)


@pytest.mark.parametrize("name", ["mve-s", "german", "many-groups", "shock"])
def test_tasks_keep_it_on_their_grids(name: str) -> None:
    assert name in presets()
    task = fg.load_task(name)
    check_environment(task.environment, task.thresholds)


def test_settings_by_replicate_and_the_least_environment_keep_it() -> None:
    check_environment(Uniform())
    check_environment(Uniform(rate=[0.1, 0.9]))
    check_environment(gaussian(gain=[0.5, -0.5, 0.1, 0.2]))
    check_environment(strategic(expected=[0.0, 1.0], rate=[1.0, 0.5]))


class NineTenths(Uniform):
    def probabilities(self, state: Array, thresholds: Array) -> Array:
        return np.asarray(0.9 * super().probabilities(state, thresholds))


class BelowZero(Uniform):
    def probabilities(self, state: Array, thresholds: Array) -> Array:
        return np.asarray(super().probabilities(state, thresholds) + np.array([[-0.5, 0.0], [0.5, 0.0]]))


class FlatProbabilities(Uniform):
    def probabilities(self, state: Array, thresholds: Array) -> Array:
        return np.asarray(super().probabilities(state, thresholds).sum(axis=1))


class Fickle(Uniform):
    def probabilities(self, state: Array, thresholds: Array) -> Array:
        return super().probabilities(state + np.random.default_rng().random(), thresholds)


class UpsideDown(Uniform):
    def probabilities(self, state: Array, thresholds: Array) -> Array:
        return super().probabilities(state, thresholds)[..., ::-1]


class ThresholdDraws(Uniform):
    """Whoever arrives depends on the threshold in play rather than on the state."""

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        share = np.clip(0.4 + 0.2 * thresholds[:, 0], 0.0, 1.0)
        weights = np.stack((share, 1.0 - share), axis=1) * 2.0
        return super().probabilities(state, thresholds) * weights[..., None, None]


class ShiftedHistogram(Uniform):
    def histogram(self, state: Array, edges: Array) -> Array:
        return super().histogram(state, np.asarray(edges) + 0.01)


class OneStart(Uniform):
    def start(self, replicates: int = 1) -> Array:
        return np.zeros((1, 2))


class InPlace(Uniform):
    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        state += 0.1 * (0.2 * counts.rates - state)
        return state


class OwnRandomness(Uniform):
    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        return super().update(state, counts, thresholds, rng) + 1e-3 * np.random.default_rng().random()


class AbsentMove(Uniform):
    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        return np.asarray(state + np.reshape(self.rate, (-1, 1)) * (self.gain * np.nan_to_num(counts.rates) - state))


class WrongSteadyState(Uniform):
    def steady_state(self, thresholds: Array) -> Array:
        return np.full_like(thresholds, 0.1)


class Creeping(Uniform):
    """No contraction: it moves up for ever, and does not say so."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        return np.where(counts.people > 0, state + 1e-3, state)


class BoldContraction(Uniform):
    def contraction(self) -> float:
        return 0.5


class UnlikeItsMean(Uniform):
    """Random steps, expected to be half as large as they are."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        moved = super().update(state, counts, thresholds, rng)
        return np.where(rng.random(state.shape) < 0.5, moved, state)

    def expected_update(self, state: Array, thresholds: Array) -> Array:
        counts = Counts(self.probabilities(state, thresholds))
        return state + 0.25 * (super().update(state, counts, thresholds, np.random.default_rng(0)) - state)


@dataclass(frozen=True)
class Unpicklable(Uniform):
    shape: Callable[[float], float] = field(default=lambda score: score)


@dataclass(frozen=True)
class OneRate(Uniform):
    """Says that its rate may vary by replicate, and takes it for a number."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        target = np.where(counts.people > 0, self.gain * counts.rates, state)
        return np.asarray(state + np.asarray(self.rate) * (target - state))


@dataclass(frozen=True)
class FirstRateForAll(Uniform):
    """Takes the first replicate's rate for all of them."""

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        target = np.where(counts.people > 0, self.gain * counts.rates, state)
        return np.asarray(state + np.ravel(self.rate)[0] * (target - state))


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (NineTenths(), "NineTenths: probabilities sum to 0.9, not to 1, at threshold 0"),
        (BelowZero(), "a probability is -.*, below 0 or not a number"),
        (FlatProbabilities(), r"probabilities have shape \(3, 2, 2\), not \(3, 2, 2, 2\)"),
        (Fickle(), "probabilities differ from one call to the next"),
        (UpsideDown(), "a higher threshold accepts more people"),
        (ThresholdDraws(), "who arrives in a state depends on the threshold"),
        (ShiftedHistogram(), "histogram and probabilities differ by 0.00"),
        (OneStart(), r"start\(3\) gives state of shape \(1, 2\), not \(3, …\)"),
        (InPlace(), "update changes the state that it is given"),
        (OwnRandomness(), "update differs between two generators of the same seed"),
        (AbsentMove(), "group 0 moves although nobody of it is in the batch"),
        (WrongSteadyState(), "steady_state of threshold .* is .* away from where expected updates lead"),
        (Creeping(), "Creeping has no steady state for thresholds .* a round still moves the state by 0.001"),
        (BoldContraction(), "contraction is 0.5, but a round is seen to keep two states apart by 0.8"),
        (UnlikeItsMean(), "expected_update moves state otherwise than update does on average"),
        (Unpicklable(), "Unpicklable: cannot be pickled: "),
        (OneRate(), "OneRate: fails if rate varies by replicate, as it is declared to do: operands could not be"),
        (FirstRateForAll(rate=[0.2, 0.5]), "rows cuts the settings to one replicate, which then moves otherwise"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Environment) else "",
)
def test_what_breaks_the_contract_is_named(broken: Environment, sentence: str) -> None:
    with pytest.raises(EnvironmentCheckError, match=sentence):
        check_environment(broken, np.linspace(0.0, 1.2, 13))
