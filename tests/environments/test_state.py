"""States, arrays or dataclasses of arrays: replicates, rows, copies, distance, names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.environments.state import distance, flatten, magnitude, repeat, replicates_in, take


@dataclass(frozen=True)
class Town:
    scores: NDArray[np.float64]
    groups: NDArray[np.int64]


TOWN = Town(np.array([[0.5, -2.0, 1.0], [0.0, 0.0, 0.25]]), np.array([[0, 1, 1], [1, 0, 0]]))


def test_an_array_and_a_dataclass_of_arrays_are_cut_and_copied_alike() -> None:
    assert replicates_in(TOWN) == replicates_in(TOWN.scores) == 2
    second = take(TOWN, slice(1, 2))
    assert isinstance(second, Town)
    np.testing.assert_array_equal(second.scores, take(TOWN.scores, slice(1, 2)))
    assert second.groups.tolist() == [[1, 0, 0]]
    copies = repeat(second, 3)
    assert copies.scores.shape == copies.groups.shape == (3, 3)
    assert (copies.groups == second.groups).all()
    assert take(TOWN, np.array([1, 1, 0])).scores.tolist() == TOWN.scores[[1, 1, 0]].tolist()


def test_distance_is_the_largest_difference_per_replicate() -> None:
    other = Town(TOWN.scores + np.array([[0.1], [0.0]]), TOWN.groups + np.array([[0], [3]]))
    np.testing.assert_allclose(distance(TOWN, other), [0.1, 3.0])
    np.testing.assert_allclose(magnitude(TOWN), [2.0, 1.0])
    flags = np.array([[True, False]])
    assert distance(flags, ~flags).tolist() == [1.0]


def test_the_arrays_go_by_the_names_of_their_fields() -> None:
    assert list(flatten(TOWN)) == ["scores", "groups"]
    assert flatten(TOWN)["scores"] is TOWN.scores
    assert list(flatten(TOWN.scores)) == ["state"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (3.0, "a state must be an array or a dataclass of arrays, replicates first, got state = 3.0"),
        (np.array(3.0), r"got state = array\(3.\)"),
        (Town(TOWN.scores, [0, 1]), r"got groups = \[0, 1\]"),  # type: ignore[arg-type]
        (Town(TOWN.scores, TOWN.groups[:1]), r"equally many replicates, got scores \(2, 3\), groups \(1, 3\)"),
    ],
)
def test_what_is_no_state_is_refused(state: Any, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        flatten(state)
