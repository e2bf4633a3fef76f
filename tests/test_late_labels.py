"""DelayedLabels: what arrives, counted all at once, is what a plain loop over batches counts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.delayed_labels import DelayedLabels
from fairgate.learners.base import arm_of, arms_of
from fairgate.nature import Nature
from fairgate.problem import Arrival, Arrivals, Credit


class Plain:
    """Keeps everybody accepted in a list by the round in which the label arrives."""

    def __init__(self, arrival: float, nature: Nature) -> None:
        self.arrival, self.nature = arrival, nature
        self.waiting: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        self.batches: dict[int, tuple[fg.Policy, Any, Any]] = {}
        self.left: dict[int, int] = {}

    def arrive(self, now: int, played: fg.Policy, cells: NDArray[np.int64]) -> tuple[list[Arrival], Any]:
        accepted = cells[..., 1]
        others = tuple(range(2, cells.ndim))
        people, taken = cells.sum(axis=others), accepted.sum(axis=others[:-1])
        places = [place for place in np.ndindex(accepted.shape) for _ in range(accepted[place])]
        delays = self.nature.delays(taken.sum(axis=1), int(people.sum(axis=1).max()), self.arrival)
        for place, late in zip(places, delays.tolist(), strict=True):
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


@pytest.mark.parametrize("bins", [0, 5])
def test_arrivals_are_those_of_a_plain_loop(bins: int) -> None:
    rng = np.random.default_rng(bins)
    fast, plain = DelayedLabels(0.3, Nature(1)), Plain(0.3, Nature(1))
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
