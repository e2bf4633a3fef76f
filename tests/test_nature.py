"""Nature: the law of a batch, and what it depends on: seed, replicate and round, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

import fairgate as fg
from fairgate.learners.state import decode, encode
from fairgate.nature import Nature, Strided

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
