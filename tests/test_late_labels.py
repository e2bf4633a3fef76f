"""Labels that come late or never: what arrives is what a plain loop over batches counts, and is credited rightly."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import fairgate as fg
from fairgate.delayed_labels import DelayedLabels
from fairgate.learners.base import arm_of, arms_of
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.problem import Arrival, Arrivals, Credit


class Plain:
    """Keeps everybody accepted in a list by the round in which the label arrives, unless it is lost."""

    def __init__(self, arrival: float, nature: Nature, loss: float) -> None:
        self.arrival, self.nature, self.loss = arrival, nature, loss
        self.waiting: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        self.batches: dict[int, tuple[fg.Policy, Any, Any]] = {}
        self.left: dict[int, int] = {}

    def arrive(self, now: int, played: fg.Policy, cells: NDArray[np.int64]) -> tuple[list[Arrival], Any]:
        accepted = cells[..., 1]
        others = tuple(range(2, cells.ndim))
        people, taken = cells.sum(axis=others), accepted.sum(axis=others[:-1])
        places = [place for place in np.ndindex(accepted.shape) for _ in range(accepted[place])]
        delays = self.nature.delays(taken.sum(axis=1), int(people.sum(axis=1).max()), self.arrival, self.loss)
        for place, late in zip(places, delays.tolist(), strict=True):
            if late >= 0:
                self.waiting[now + late].append((now, place))
        known = np.where(taken.sum(axis=1, keepdims=True) == 0, 0, people)
        self.batches[now], self.left[now] = (played, known, taken), len(places)
        arrived, everything = self.waiting.pop(now, []), np.zeros(accepted.shape, dtype=np.int64)
        found = []
        for origin in sorted({now, *(each for each, _ in arrived)}):
            labels = np.zeros((*accepted.shape[:2], 2), dtype=np.int64)
            for _, place in [each for each in arrived if each[0] == origin]:
                labels[place[0], place[1], place[-1]] += 1
                everything[place] += 1
                self.left[origin] -= 1
            policy, came, by_group = self.batches[origin]
            came = people if origin == now else came
            found.append(Arrival(origin, policy, labels, came, by_group, self.left[origin] == 0))
        return found, everything


@pytest.mark.parametrize("loss", [0.0, 0.4])
@pytest.mark.parametrize("arrival", [0.3, 1.0])
@pytest.mark.parametrize("bins", [0, 5])
def test_arrivals_are_those_of_a_plain_loop(bins: int, arrival: float, loss: float) -> None:
    rng = np.random.default_rng(bins)
    fast, plain = DelayedLabels(arrival, Nature(1), loss), Plain(arrival, Nature(1), loss)
    for now in range(25):
        cells = rng.integers(0, 4, size=(3, 2, *([bins] if bins else []), 2, 2))
        if now % 7 == 3:
            cells[1, ..., 1] = 0  # nobody is accepted in one replicate
        played = fg.Policy.shared(rng.random(3), 2)
        (found, labels), (expected, everything) = (each.arrive(now, played, cells) for each in (fast, plain))
        fast.nature.round, plain.nature.round = now + 1, now + 1
        np.testing.assert_array_equal(labels, everything)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert (one.round, one.last) == (other.round, other.last)
            np.testing.assert_array_equal(one.played.thresholds, other.played.thresholds)
            for name in ("labels", "people", "accepted"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_stacked_arrivals_reveal_what_single_ones_do() -> None:
    task = fg.load_task("label-delay")
    late = DelayedLabels(0.3, Nature(1))
    rng = np.random.default_rng(0)
    for now in range(6):
        cells = rng.integers(1, 9, size=(4, 2, 2, 2))
        found, _ = late.arrive(now, fg.Policy.shared(np.zeros(4), 2), cells)
    stacked, single = (task.problem.reveal(cells, "bandit", each) for each in (found, list(found)))
    assert isinstance(found, Arrivals)
    assert [each.round for each in found[1:]] == list(found.rounds[1:])
    np.testing.assert_array_equal(stacked.reward, single.reward)
    assert stacked.credits is not None
    assert single.credits is not None
    for one, other in zip(stacked.credits, single.credits, strict=True):
        for name in ("labels", "reward", "share", "people"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_policies_of_many_credits_are_looked_up_as_one_by_one() -> None:
    grid, nothing = np.linspace(0.0, 1.0, 5), np.zeros((3, 2, 2))
    played = [fg.Policy.of([[0.25, 0.25], [0.5, 0.75], [0.3, 0.3]]), fg.Policy.uniform([0.5, 1.0, 0.0], 2)]
    credited = [Credit(0, each, False, nothing, *np.zeros((3, 3))) for each in played]
    arms, known = arms_of(grid, credited)
    for place, each in enumerate(played):
        arm, seen = arm_of(grid, each)
        np.testing.assert_array_equal(known[place], seen)
        np.testing.assert_array_equal(arms[place][seen], arm[seen])
    assert arms_of(grid, [])[0].shape == (0, 0)


def lossy(name: str = "interior", **changes: Any) -> fg.Task:
    """A task some of whose labels are lost."""
    task = fg.load_task(name)
    return replace(task, environment=replace(task.environment, **changes), name=f"lossy {name}")


def test_labels_are_lost_as_often_as_told_and_the_others_come_as_ever() -> None:
    """Chi-square over the delays, at a false-alarm rate of 1 in 10,000."""
    arrival, loss, people = 0.25, 0.3, 20_000
    delays = Nature(seed=1).delays(np.array([people, people]), people, arrival, loss)
    seen = np.bincount(np.minimum(delays, 15) + 1, minlength=17)
    geometric = arrival * (1.0 - arrival) ** np.arange(16)
    geometric[-1] = (1.0 - arrival) ** 15
    expected = 2 * people * np.concatenate(([loss], (1.0 - loss) * geometric))
    assert chisquare(seen, expected).pvalue > 1e-4


def test_first_replicates_lose_the_same_labels_however_many_there_are() -> None:
    few, many = (Nature(seed=1).delays(np.full(rows, 30), 50, 0.25, 0.3) for rows in (2, 5))
    np.testing.assert_array_equal(few, many[: len(few)])


def test_shares_of_a_batch_add_up_to_what_is_not_lost_and_nothing_is_ever_the_last() -> None:
    task, late = fg.load_task("interior"), DelayedLabels(0.2, Nature(1), loss=0.3)
    cells = np.full((1, 2, 2, 2), 250)
    nobody = np.zeros_like(cells)
    shares, ends = 0.0, []
    for now in range(150):
        arrivals, _ = late.arrive(now, fg.Policy.shared([0.0], 2), nobody if now else cells)
        credited = task.problem.reveal(nobody if now else cells, "bandit", arrivals).credits or ()
        shares += sum(each.share[0] for each in credited if each.round == 0)
        ends += [each.last for each in credited if each.round == 0]
        late.nature.round = now + 1
    assert shares == pytest.approx(0.7, abs=5 * np.sqrt(0.3 * 0.7 / 1000))
    assert len(ends) > 5
    assert not any(ends)
    assert 0 not in late.batches  # what waits for nothing takes no memory


def test_a_batch_that_loses_nothing_ends() -> None:
    late = DelayedLabels(1.0, Nature(1), loss=1e-9)
    arrivals, _ = late.arrive(0, fg.Policy.shared([0.0], 2), np.full((1, 2, 2, 2), 20))
    assert [each.last for each in arrivals] == [True]


@pytest.mark.parametrize("coupling", ["common", "independent"])
@pytest.mark.parametrize("arrival", [0.2, 1.0])
def test_a_lost_label_is_unknown_and_no_bad_outcome(coupling: str, arrival: float) -> None:
    """Rewards told by the labels that come are, in the mean, those of the population."""
    task = lossy(label_arrival=arrival, label_loss=0.6)
    loop = Loop(task, 40, 256, Nature(2, coupling=coupling))
    told, known, accepted, exact = [], 0, 0, []
    for now in range(60):
        played = loop.play(fg.Policy.shared(np.zeros(40), 2))
        if now >= 30:
            told.append(played.feedback.reward)
            seen = played.feedback.observation
            known += int(seen.positives.sum() + seen.negatives.sum())
            accepted += int(played.counts[..., 1].sum())
            exact.append(task.problem.assess(played.probabilities).reward)
    assert known / accepted == pytest.approx(0.4, abs=0.02)
    assert np.nanmean(told) == pytest.approx(np.mean(exact), abs=5 * np.nanstd(told) / np.sqrt(40 * 30))


def test_the_same_people_come_whether_their_labels_are_lost_or_not() -> None:
    whole, lost = (
        fg.simulate(lossy(label_loss=loss), fg.learners.Fixed(0.1), rounds=20, seeds=3).counts for loss in (0.0, 0.5)
    )
    np.testing.assert_array_equal(whole, lost)


@pytest.mark.parametrize("coupling", ["common", "independent"])
def test_replicates_with_lost_labels_are_as_alone(coupling: str) -> None:
    task = lossy(label_arrival=0.3, label_loss=0.4)
    few, many = (fg.simulate(task, fg.OFS(), rounds=30, seeds=seeds, coupling=coupling).counts for seeds in (2, 5))
    np.testing.assert_array_equal(few, many[:2])


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["smooth-optimist", "safe-forecast"])
def test_a_learner_still_learns(learner: str) -> None:
    task = lossy(label_arrival=0.2, label_loss=0.5)
    best = fg.oracle(task).best
    run = fg.simulate(task, fg.load_learner(learner), rounds=600, seeds=12)
    reward = run.population.reward[:, -200:].mean()
    first = fg.simulate(task, fg.load_learner("random"), rounds=600, seeds=4).population.reward.mean()
    assert reward > best.reward - 0.2 * (best.reward - first)
    assert run.population.residuals[:, :, -200:].mean(axis=2).max() < 0.02


@pytest.mark.parametrize("loss", [1.0, -0.1, float("nan")])
def test_a_loss_that_cannot_be_is_named(loss: float) -> None:
    with pytest.raises(fg.InputError, match=r"GaussianScores: label_loss must be"):
        lossy(label_loss=loss)
