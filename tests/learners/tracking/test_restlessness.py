"""Restlessness: what chance does not explain of the accepted, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.learners.shapes import filled
from fairgate.learners.tracking import people_now, restlessness
from fairgate.learners.tracking.restlessness import Restlessness
from tests.learners.tracking.parts import EVERY, SIZES


def test_restlessness_is_what_chance_does_not_explain() -> None:
    rng = np.random.default_rng(9)
    part = filled(Restlessness, SIZES)
    part.expected[:] = [[0.5, 0.0], [0.5, 0.0]]  # nothing is known of the second group
    part.rounds[:] = restlessness.PAUSE
    squared, usual, seen = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(200):
        people = np.array([[100.0, 50.0], [100.0, 50.0]])
        rate = np.stack((np.full(2, 0.5), np.clip(0.5 + 0.2 * rng.normal(size=2), 0.0, 1.0)))
        accepted = rng.binomial(people.astype(int), rate).astype(float)
        part.take_in(people, accepted)
        kept = 1.0 - 1.0 / people_now.MEMORY
        for r in range(2):
            squared[r] = squared[r] * kept + (accepted[r, 0] - 50) ** 2 / 25
            usual[r] = usual[r] * kept + 1
            seen[r] = seen[r] * kept + 100
    beyond = np.maximum(squared - usual - np.sqrt(2 * usual), 0.0) / seen
    np.testing.assert_allclose(part.now(EVERY), beyond)
    assert beyond[0] < 0.003
    assert beyond[1] == pytest.approx(0.2**2 / 0.25, rel=0.4)


def test_what_people_do_when_they_are_offered_something_new_is_not_restlessness() -> None:
    part = filled(Restlessness, SIZES)
    part.rounds[:] = restlessness.PAUSE
    rates = np.full((2, 2), 0.5)
    part.expect(EVERY, rates, before=rates - np.array([[0.0, 0.1], [0.0, 0.01]]))  # far, and near
    people, accepted = np.full((2, 2), 100.0), np.full((2, 2), 80.0)
    for _ in range(restlessness.PAUSE):
        part.take_in(people, accepted)
        assert (part.now(EVERY) > 0.0).tolist() == [False, True]
    part.take_in(people, accepted)
    assert (part.now(EVERY) > 0.0).all()
