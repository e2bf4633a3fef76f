"""Who comes now: windows and their errors against a loop over replicates, groups and thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.learners.shapes import filled
from fairgate.learners.tracking import people_now
from fairgate.learners.tracking.answers import Answers
from fairgate.learners.tracking.people_now import PeopleNow
from fairgate.settings import Array
from tests.learners.tracking.parts import EVERY, SIZES, above_of, still


def stretches(rng: np.random.Generator, count: int) -> list[tuple[Array, Array]]:
    """Return rounds and people by score bin, (2,) and (2, 2, 5); the second group of the first misses some."""
    found = []
    for number in range(count):
        scores = rng.integers(0, 30, size=(2, 2, 5)).astype(float)
        if number % 3 == 0:
            scores[0, 1] = 0.0
        found.append((rng.integers(1, 11, size=2).astype(float), scores))
    return found


def test_windows_and_their_errors_of_prediction_are_as_a_loop_reckons_them() -> None:
    people, replies = filled(PeopleNow, SIZES), filled(Answers, SIZES)
    taken: list[tuple[Array, Array]] = []
    error = np.zeros((SIZES["W"], 2))
    chance = np.zeros((SIZES["W"], 2))
    judged = np.zeros(2)
    for rounds, scores in stretches(np.random.default_rng(1), 8):
        above = above_of(scores)
        for r in range(2):
            fading = (1.0 - 1.0 / people_now.MEMORY) ** rounds[r]
            error[:, r] *= fading
            chance[:, r] *= fading
            judged[r] *= fading
            for w, length in enumerate(people_now.WINDOWS):
                for g in range(2):
                    count = scores[r, g].sum()
                    mass, worth, share = window_of(taken, r, g, length)
                    quickest = window_of(taken, r, g, people_now.WINDOWS[0])
                    if not count or not quickest[0]:
                        continue
                    for k in range(4):
                        noise = max(quickest[2][k] * (1 - quickest[2][k]), 0.5 / max(quickest[0], 1.0))
                        error[w, r] += count * (above[r, g, k] / count - share[k]) ** 2 / noise / 4
                    chance[w, r] += 1.0 + count / max(worth, 1.0)
                    judged[r] += count if w == 0 else 0.0
        people.take_in(EVERY, rounds, above, scores.sum(axis=2), replies)
        taken.append((rounds, scores))
    np.testing.assert_allclose(people.error, error)
    np.testing.assert_allclose(people.usual, chance)
    np.testing.assert_allclose(people.judged, judged)
    np.testing.assert_allclose(people.answered, people.error)  # nothing has been fitted, so that answers say nothing
    now = people.now(EVERY, replies, np.full(2, 40))
    for r in range(2):
        best = int(error[:, r].argmin())
        assert people.window(EVERY, np.zeros(2, dtype=bool))[r] == best
        masses = []
        for g in range(2):
            mass, worth, share = window_of(taken, r, g, people_now.WINDOWS[best])
            masses.append(mass)
            assert now.variance[r, g] == pytest.approx(1.0 / max(worth, 1.0))
            for k in range(4):
                even = 1.0 - (k + 1) / 5
                smoothed = (mass * share[k] + people_now.PRIOR * even) / (mass + people_now.PRIOR)
                assert now.above[r, g, k + 1] == pytest.approx(smoothed)
        np.testing.assert_allclose(now.shares[r], np.array(masses) / sum(masses))
        beyond = error[best, r] - chance[best, r] - np.sqrt(2 * chance[best, r])
        assert now.moving[r] == pytest.approx(max(beyond, 0.0) / judged[r])
    assert (now.above[..., 0] == 1.0).all()
    assert (now.above[..., -1] == 0.0).all()
    assert (np.diff(now.above) <= 0.0).all()


def window_of(taken: list[tuple[Array, Array]], r: int, g: int, length: float) -> tuple[float, float, Array]:
    """Return the people of a window, how many it is worth, and their shares above each threshold."""
    mass = squared = 0.0
    above = np.zeros(4)
    for rounds, scores in taken:
        kept = (1.0 - 1.0 / length) ** rounds[r]
        mass = mass * kept + scores[r, g].sum()
        squared = squared * kept**2 + scores[r, g].sum()
        above = above * kept + above_of(scores)[r, g]
    return mass, mass**2 / max(squared, 1e-9), above / max(mass, 1e-9)


def test_a_short_window_is_used_while_people_change_and_a_long_one_while_they_do_not() -> None:
    rng = np.random.default_rng(3)
    people, replies = filled(PeopleNow, SIZES), filled(Answers, SIZES)
    for number in range(300):
        later = 0.5 + 0.4 * np.sin(number / 5.0)
        scores = np.stack([rng.multinomial(200, still(share), size=2) for share in (0.5, later)]).astype(float)
        people.take_in(EVERY, np.ones(2), above_of(scores), scores.sum(axis=2), replies)
    calm, changing = people_now.WINDOWS[people.window(EVERY, np.zeros(2, dtype=bool))]
    assert calm >= 200.0
    assert changing <= 20.0
    now = people.now(EVERY, replies, np.full(2, 300))
    assert now.moving[0] < 0.001 < now.moving[1]
