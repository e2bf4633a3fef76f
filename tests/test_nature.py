"""Nature: the law of a batch, and what it depends on: seed, replicate and round, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

import fairgate as fg
from fairgate import simulation
from fairgate.learners.state import decode, encode
from fairgate.nature import Nature, Strided, tally, tally_by_blocks

FALSE_ALARM = 1e-4


@pytest.mark.parametrize("coupling", ["common", "independent"])
def test_people_are_multinomial(coupling: str) -> None:
    """20,000 batches of 5 people over 8 cells: the counts of whole batches are those of numpy's own draws."""
    probabilities = np.array([0.3, 0.05, 0.1, 0.05, 0.2, 0.1, 0.15, 0.05]).reshape(1, 2, 2, 2)
    nature = Nature(5, coupling=coupling)
    drawn = nature.draw(np.repeat(probabilities, 20_000, axis=0), people=5).reshape(20_000, 8)
    assert (drawn.sum(axis=1) == 5).all()
    expected = 5 * 20_000 * probabilities.ravel()
    assert chisquare(drawn.sum(axis=0), expected).pvalue > FALSE_ALARM
    other = np.random.default_rng(6).multinomial(5, probabilities.ravel(), size=20_000)
    pairs = [
        np.bincount(np.minimum(each[:, 0], 4) * 5 + np.minimum(each[:, 4], 4), minlength=25) for each in (drawn, other)
    ]
    seen = np.array(pairs)[:, np.sum(pairs, axis=0) > 20]
    assert chi2_contingency(seen).pvalue > FALSE_ALARM


def test_cells_of_no_probability_stay_empty() -> None:
    probabilities = np.zeros((50, 2, 3, 2, 2))
    probabilities[:, :, 1, 1, 0] = 0.5
    drawn = Nature(1).draw(probabilities, people=301)
    assert drawn.sum() == drawn[:, :, 1, 1, 0].sum() == 50 * 301


def test_score_bins_do_not_change_who_comes() -> None:
    rng = np.random.default_rng(0)
    fine = rng.dirichlet(np.ones(2 * 7 * 4), size=30).reshape(30, 2, 7, 2, 2)
    binned = Nature(3).draw(fine, people=200)
    np.testing.assert_array_equal(binned.sum(axis=2), Nature(3).draw(fine.sum(axis=2), people=200))


@pytest.mark.parametrize("name", ["interior", "label-delay", "compas"])
@pytest.mark.parametrize("learner", [fg.OFS(), fg.BanditGradient(), fg.SafeForecast(), fg.Random()], ids=repr)
def test_more_seeds_and_rounds_begin_with_the_same(name: str, learner: Any) -> None:
    task = fg.load_task(name)
    short = fg.simulate(task, learner, rounds=60, seeds=3, seed=4)
    long = fg.simulate(task, learner, rounds=90, seeds=5, seed=4)
    np.testing.assert_array_equal(short.counts, long.counts[:3, :60])
    np.testing.assert_array_equal(short.policies.thresholds, long.policies.thresholds[:, :3, :60])


def test_blocks_of_replicates_do_not_change_a_replicate(small_task: fg.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """The 251st replicate begins a new block, with random numbers of its own."""
    run = fg.simulate(small_task, fg.OFS(), rounds=5, seeds=252)
    assert not (run.counts[0] == run.counts[250]).all()
    np.testing.assert_array_equal(run.counts[:250], fg.simulate(small_task, fg.OFS(), rounds=5, seeds=250).counts)


class Constant:
    """Holds everybody to one threshold, and sees what it is told to."""

    def __init__(self, level: str, arm: int) -> None:
        self.level, self.arm = level, arm

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> Any:
        return np.full((replicates, setting.groups), setting.thresholds[self.arm])

    def propose(self, state: Any) -> Any:
        return state

    def observe(self, state: Any, played: fg.Policy, feedback: fg.Feedback) -> None:
        pass


@pytest.mark.parametrize("name", ["german", "compas"])
def test_the_same_policy_meets_the_same_people_at_every_feedback_level(name: str) -> None:
    runs = [
        fg.simulate(fg.load_task(name), Constant(level, 12), rounds=50, seeds=4)
        for level in ("bandit", "scores", "selective-labels", "full-labels")
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.counts, runs[0].counts)


@pytest.mark.parametrize(("name", "thresholds"), [("interior", (0.1, 0.2)), ("compas", (-1.0, -0.8))])
def test_a_paired_difference_has_little_of_the_unpaired_variance(name: str, thresholds: tuple[float, float]) -> None:
    """At most 0.3 of it, for the reward and the gap of two fixed thresholds (independent draws have all of it)."""
    runs = [fg.simulate(fg.load_task(name), fg.Fixed(each), rounds=150, seeds=300) for each in thresholds]
    for one, other in (
        (runs[0].batch.reward, runs[1].batch.reward),
        (runs[0].batch_gap, runs[1].batch_gap),
    ):
        a, b = one[:, 50:].mean(axis=1), other[:, 50:].mean(axis=1)
        assert np.var(a - b) <= 0.3 * (np.var(a) + np.var(b))


def test_independent_draws_are_not_paired() -> None:
    task = fg.load_task("interior")
    runs = [fg.simulate(task, fg.Fixed(each), 50, 300, coupling="independent") for each in (0.1, 0.2)]
    rewards = [run.batch.reward - run.batch.reward.mean() for run in runs]
    assert runs[0].settings["coupling"] == "independent"
    assert np.isclose(runs[0].batch.reward.mean(), runs[0].population.reward.mean(), atol=0.002)
    assert not np.array_equal(rewards[0], rewards[1])


def test_large_batches_are_drawn_as_counts_unless_told_otherwise(small_task: fg.Task) -> None:
    assert fg.simulate(small_task, fg.Random(), rounds=2, seeds=1, batch=1000).settings["coupling"] == "common"
    assert fg.simulate(small_task, fg.Random(), rounds=2, seeds=1, batch=10**6).settings["coupling"] == "independent"
    with pytest.raises(fg.InputError, match="unknown coupling 'comon': did you mean 'common'"):
        fg.simulate(small_task, fg.Random(), rounds=2, seeds=1, coupling="comon")


def test_delays_are_geometric() -> None:
    """40,000 delays at 0.05 per round: mean 19 rounds within 6 standard errors, and 5% at once."""
    delays = Nature(2).delays(np.full(400, 100), 150, 0.05)
    assert abs(delays.mean() - 19.0) <= 6 * np.sqrt(0.95) / 0.05 / np.sqrt(40_000)
    assert abs((delays == 0).mean() - 0.05) <= 6 * np.sqrt(0.05 * 0.95 / 40_000)


def test_a_strided_generator_survives_files_and_copies() -> None:
    rng = Strided(np.random.SeedSequence(3))
    rng.random(7)
    copies = [copy.deepcopy(rng), decode(json.loads(json.dumps(encode(rng))))]
    expected = rng.integers(100, size=5)
    for each in copies:
        np.testing.assert_array_equal(each.integers(100, size=5), expected)


@pytest.mark.parametrize(
    ("replicates", "people", "groups", "parts"), [(7, 256, 2, 1), (3, 50, 3, 2), (1, 1, 1, 1), (4, 16, 2, 3)]
)
def test_looking_at_blocks_counts_what_searching_does(replicates: int, people: int, groups: int, parts: int) -> None:
    rng = np.random.default_rng(3)
    numbers = np.sort(rng.integers(2**32, size=(replicates, people), dtype=np.uint32), axis=1)
    numbers[0, -1], numbers[0, 0] = 2**32 - 1, 0  # at either end
    cells = rng.dirichlet(np.ones(4 * groups) / 4, size=replicates * parts).reshape(-1, groups, 2, 2)
    cells[0], cells[-1] = 0.0, 0.0
    cells[0, 0, 0, 0], cells[-1, -1, 1, 1] = 1.0, 1.0  # all of one kind: the others are empty
    ties = np.searchsorted(np.linspace(0.0, 1.0, 9), cells) / 8.0  # ends that lie exactly on numbers
    numbers[-1, people // 2 :] = 2**31
    for each in (cells, ties / ties.sum(axis=(1, 2, 3), keepdims=True)):
        by_blocks = tally_by_blocks(each, numbers)
        np.testing.assert_array_equal(by_blocks, tally(each, np.tile(numbers, (parts, 1))))
        assert by_blocks.dtype == np.int64


def test_stacked_blocks_are_what_each_is_alone(small_task: fg.Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(at_once: int, learner: Any, batch: int) -> fg.Run:
        monkeypatch.setattr(simulation, "STACK", at_once)
        return fg.simulate(small_task, learner, rounds=12, seeds=10, batch=batch)

    monkeypatch.setattr(simulation, "BLOCK", 4)
    for learner, batch in ((fg.OFS(), 30), (fg.OFS(), 2000), (Gaussian(), 30)):
        one, other = run(4, learner, batch), run(12, learner, batch)
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.policies.thresholds, other.policies.thresholds)
        np.testing.assert_array_equal(one.batch.residuals, other.batch.residuals)


class Gaussian:
    """A learner that draws numbers which no stack has row by row."""

    def start(self, setting: Any, replicates: int, rng: np.random.Generator) -> Any:
        return replicates, setting.groups, rng

    def propose(self, state: Any) -> Any:
        replicates, groups, rng = state
        return rng.normal(size=(replicates, groups))

    def observe(self, state: Any, played: Any, feedback: Any) -> None:
        pass
