"""Labels that arrive late or never: nothing is lost but what should be, and a reward is known when its labels are."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.core import environments
from fairgate.core.labels import LabelDelay
from fairgate.core.loop import begin, play
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting, Task
from fairgate.loops.simulation import simulate
from fairgate.random import Draws

ROUNDS, BATCH = 60, 40


@dataclasses.dataclass(frozen=True)
class Wandering:
    """Play the grid's thresholds in turn, every third round as a lottery of two, and learn nothing."""

    level: str

    def init(self, setting: Setting) -> Any:
        return np.zeros(())

    def propose(self, setting: Setting, memory: Any, draws: Draws) -> Policy:
        number = int(draws.round[0])
        share = 0.5 if number % 3 == 0 else 1.0
        places = np.array([number, number + 7]) % len(setting.grid)
        return Policy.lottery(setting.grid[places], np.array([share, 1.0 - share]))

    def observe(self, setting: Setting, memory: Any, draws: Draws, played: Policy, feedback: Any) -> Any:
        return memory


class Noting(Wandering):
    """Note all feedback."""

    seen: ClassVar[list[Any]] = []

    def observe(self, setting: Setting, memory: Any, draws: Draws, played: Policy, feedback: Any) -> Any:
        self.seen.append(feedback)
        return memory


def late(arrival: float, loss: float = 0.0, name: str = "interior") -> Task:
    """Return a task whose labels arrive so late."""
    told = fg.load_task(name)
    described = dataclasses.replace(told.environment, label_arrival=arrival, label_loss=loss)
    setting = Setting(told.problem, told.thresholds, described.group_count)
    return Task(environments.pure(described), setting, LabelDelay.of(described))


def watched(task: Task, level: str, rounds: int = ROUNDS, batch: int = BATCH) -> tuple[list[Any], list[Any]]:
    """Play, and return what happened and what was seen."""
    Noting.seen.clear()
    learner = Noting(level)
    state, happened = begin(task, learner, Draws.of(5, 0, 0)), []
    for number in range(rounds):
        state, each = play(task, learner, batch, Draws.of(5, 0, number), state)
        happened.append(each)
    return happened, list(Noting.seen)


def test_shares_of_each_round_add_up_to_its_reward() -> None:
    """By the last round all labels of those before the horizon have arrived, each once."""
    task = late(0.5)
    assert task.delay is not None
    horizon = task.delay.horizon
    assert horizon == 16
    happened, seen = watched(task, "bandit")
    share, reward, labels = np.zeros(ROUNDS), np.zeros(ROUNDS), np.zeros((ROUNDS, 2, 2))
    for now, feedback in enumerate(seen):
        credited = feedback.credits
        for place in range(horizon):
            origin = now - (now - place) % horizon
            if origin < 0:
                assert credited.share[place] == 0.0
                continue
            share[origin] += credited.share[place]
            reward[origin] += credited.share[place] * credited.reward[place]
            labels[origin] += credited.labels[place]
            if credited.share[place]:
                np.testing.assert_array_equal(credited.policies.thresholds[place], happened[origin].played.thresholds)
    whole = slice(0, ROUNDS - horizon)
    np.testing.assert_allclose(share[whole], 1.0)
    problem = task.setting.problem
    exact = [float(problem.utility.reward(fg.Counts(each.counts))) for each in happened]
    np.testing.assert_allclose(reward[whole], exact[whole], atol=1e-12)
    np.testing.assert_array_equal(labels[whole], [each.counts[:, :, 1] for each in happened[whole]])


def test_labels_take_as_long_as_they_should() -> None:
    """The mean delay and the share lost of 400,000 labels, within 4 standard errors."""
    words = np.concatenate([Draws.of(seed, 0, 0).words(1, 1000) for seed in range(400)])  # type: ignore[arg-type]
    delay = LabelDelay(np.float64(0.2), np.float64(0.3), 200)
    rounds, known = delay.rounds(words)
    assert abs(known.mean() - 0.7) < 4 * np.sqrt(0.21 / len(words))
    assert abs(rounds[known].mean() - 4.0) < 4 * np.sqrt(20.0 / known.sum())
    assert abs((rounds[known] == 0).mean() - 0.2) < 4 * np.sqrt(0.16 / known.sum())


@pytest.mark.parametrize("level", ["selective-labels", "full-labels"])
def test_labels_by_score_bin_are_those_of_the_people(level: str) -> None:
    task = late(0.5)
    happened, seen = watched(task, level)
    arrived = sum(feedback.observation.labels.sum(axis=1) for feedback in seen)
    people = sum(each.counts for each in happened)
    on_their_way = sum(each.counts for each in happened[-16:])
    shown = people.sum(axis=2) if level == "full-labels" else people[:, :, 1]
    assert (arrived <= shown).all()
    assert (arrived >= shown - on_their_way[:, :, 1]).all()
    assert all((feedback.observation.labels.sum(axis=(1, 2)) >= 0).all() for feedback in seen)


def test_the_first_round_knows_no_label_of_people_accepted_later() -> None:
    _, seen = watched(late(0.05), "bandit", rounds=3)
    for now, feedback in enumerate(seen):
        assert (feedback.credits.share[now + 1 :] == 0.0).all()


def test_an_arrival_too_rare_to_wait_for_is_refused() -> None:
    with pytest.raises(fg.InputError, match=r"label_arrival must be at least 0\.0092 .* got 0\.001"):
        late(0.001)


@pytest.mark.parametrize(("arrival", "loss"), [(0.05, 0.2), (1.0, 0.3)])
def test_numpy_and_jax_play_the_same(arrival: float, loss: float) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    told = fg.load_task("interior")
    task = dataclasses.replace(
        told, environment=dataclasses.replace(told.environment, label_arrival=arrival, label_loss=loss)
    )
    compiled, plain = (simulate(task, fg.OFS(), rounds=80, seeds=2, library=each) for each in ("jax", "numpy"))
    assert isinstance(compiled, fg.Run)
    assert isinstance(plain, fg.Run)
    np.testing.assert_array_equal(compiled.thresholds, plain.thresholds)
    np.testing.assert_allclose(compiled.batch.reward, plain.batch.reward, atol=1e-12)


def test_in_law_it_is_the_loop_for_arrays() -> None:
    """Means of 500 loops each; of 8 comparisons one beyond 4.5 standard errors is a chance of 1 in 18,000."""
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    task, learner = fg.load_task("label-delay"), fg.load_learner("ofs", task="label-delay")
    found = simulate(task, learner, rounds=200, seeds=500, keep="summary", library="jax").per_replicate()
    wanted = fg.simulate(task, learner, rounds=200, seeds=500, seed=1, keep="summary").per_replicate()
    for figure, values in wanted.items():
        error = np.sqrt((values.var() + found[figure].var()) / len(values))
        assert abs(found[figure].mean() - values.mean()) <= 4.5 * error, figure


def test_a_batch_larger_than_16_bits_count_arrives_whole() -> None:
    happened, seen = watched(late(0.9), "bandit", rounds=3, batch=400_000)
    assert all(each.reward <= 1.0 for each in seen)
    arrived = seen[0].observation.positives + seen[0].observation.negatives
    assert arrived.sum() > 4 * 2**15  # of two groups and two labels
    assert (arrived <= happened[0].counts[:, :, 1].sum(axis=1)).all()
