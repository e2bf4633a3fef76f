"""States are made from what their fields declare: shapes, types of numbers, and parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

import fairgate as fg
from fairgate.learners.shapes import filled, sizes_of
from fairgate.settings import Array


@dataclass
class Part:
    plays: Annotated[NDArray[np.int64], "R K+1"]


@dataclass
class Whole:
    name: str
    part: Part
    means: Annotated[Array, "2 1+J R"]
    known: Annotated[NDArray[np.bool_], "R"]
    most: int = 3


def test_arrays_are_zero_or_the_number_given_and_parts_are_made() -> None:
    made = filled(Whole, {"R": 2, "K": 3, "J": 0}, name="a", known=True, means=[0.5, 1.5])
    assert made.means.tolist() == [[[0.5, 1.5]], [[0.5, 1.5]]]
    assert (made.known.dtype, made.known.tolist()) == (np.dtype(bool), [True, True])
    assert (made.part.plays.dtype, made.part.plays.shape) == (np.dtype(np.int64), (2, 4))
    assert made.most == 3
    made.part.plays[0, 0] = 1  # every array is one of its own
    assert filled(Part, {"R": 2, "K": 3}).plays.sum() == 0


def test_sizes_are_those_of_the_setting() -> None:
    task = fg.load_task("interior")
    assert sizes_of(task.setting, 5) == {"R": 5, "G": 2, "K": 41, "J": len(task.problem.names)}
