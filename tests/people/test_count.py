"""A batch of people as counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.people import count_people


def test_counts_are_those_of_counting_one_by_one() -> None:
    rng = np.random.default_rng(0)
    grid = np.array([-1.0, 0.0, 1.5])
    scores, groups, labels = rng.normal(size=300), rng.integers(3, size=300), rng.integers(2, size=300)
    scores[:5] = 0.0  # who scores a threshold is above it
    decisions = scores >= 0.0
    cells = np.zeros((1, 3, 4, 2, 2), dtype=int)
    arrived = np.zeros((1, 3, 4, 2), dtype=int)
    for score, group, label, decision in zip(scores, groups, labels, decisions, strict=True):
        place = sum(score >= threshold for threshold in grid)
        cells[0, group, place, label, int(decision)] += 1
        arrived[0, group, place, label] += 1
    common: dict[str, Any] = {"grid": grid, "group_count": 3}
    np.testing.assert_array_equal(count_people(scores, groups, **common, labels=labels, decisions=decisions), cells)
    np.testing.assert_array_equal(count_people(scores, groups, **common, labels=labels), arrived)
    unlabelled = count_people(scores, groups, **common, decisions=decisions)
    np.testing.assert_array_equal(unlabelled[..., 0, :], cells.sum(axis=-2))
    assert unlabelled[..., 1, :].sum() == 0
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    feedback = problem.reveal(unlabelled, "selective-labels", arrived)
    assert feedback.observation.people.sum() == 300


def test_nobody_is_counted_as_nobody() -> None:
    assert count_people([], [], grid=[0.0], group_count=2, labels=[]).sum() == 0


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"groups": [0, 2]}, "groups must be whole numbers from 0 to 1, got 2"),
        ({"labels": [0.5, 1]}, "labels must be whole numbers from 0 to 1, got 0.5"),
        ({"decisions": [True]}, r"decisions must have one value per score, got shape \(1,\) for \(2,\)"),
        ({"labels": None}, "labels or decisions must be given, got neither"),
    ],
)
def test_what_cannot_be_counted_is_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"scores": [0.1, 0.9], "groups": [0, 1], "grid": [0.5], "group_count": 2, "labels": [0, 1]}
    with pytest.raises(fg.InputError, match=sentence):
        count_people(**(given | changed))
