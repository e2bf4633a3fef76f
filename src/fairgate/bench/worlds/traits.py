"""Traits: what worlds have in common, to tell in which of them a learner fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.bench.worlds.board import WorldBoard, shares_at
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.settings import Array
from fairgate.worlds.distribution import ANSWERS, CHANGES, SIGNALS
from fairgate.worlds.shapes import CONSTRAINTS, Shape, shape_of


@dataclass(frozen=True, repr=False)
class Trait:
    """A trait of worlds: its values in order, and which of them each world has (W,), by place; −1 if none."""

    key: str
    title: str
    values: Sequence[str]
    of: NDArray[np.int64]

    def members(self, place: int, worlds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of these worlds that have the value at a place."""
        return np.asarray(worlds[self.of[worlds] == place])


def traits_of(matrix: WorldMatrix) -> list[Trait]:
    """Return the traits of all worlds that were played; values that no world has are left out."""
    shapes = [shape_of(number) for number in matrix.numbers]
    words = [matrix.words[str(number)] for number in matrix.numbers]
    heard = [each["signal"] if each["answers"] != "nothing" else "" for each in words]
    found = [
        _trait("answers", "What answers", list(ANSWERS), [each["answers"] for each in words]),
        _trait("signal", "What it answers to", list(SIGNALS), heard),
        _trait("changes", "What changes by itself", list(CHANGES), [each["changes"] for each in words]),
    ]
    for key, (title, name, order) in SHAPED.items():
        found.append(_trait(key, title, order, [name(shape) for shape in shapes]))
    feasible = ["yes" if each else "no" for each in matrix.truth["feasible"]]
    return [*found, _trait("feasible", "Is a threshold feasible at the end?", ["yes", "no"], feasible)]


def _trait(key: str, title: str, order: Sequence[str], of: Sequence[str]) -> Trait:
    values = [value for value in order if value in set(of)]
    return Trait(key, title, values, np.array([values.index(value) if value in values else -1 for value in of]))


def constraints_text(shape: Shape) -> str:
    """Return the constraints of a shape in words.

    >>> constraints_text(shape_of(10_003))
    'equalised-odds, budget'
    """
    return ", ".join(shape.constraints)


def labels_text(shape: Shape) -> str:
    """Return when labels come, in words.

    >>> labels_text(shape_of(10_003)) in SHAPED["labels"][2]
    True
    """
    late, lost = shape.label_arrival < 1.0, shape.label_loss > 0.0
    return {(0, 0): "at once", (1, 0): "late", (0, 1): "some lost", (1, 1): "late, some lost"}[late, lost]


def _groups(shape: Shape) -> str:
    return "2" if shape.groups == 2 else "3–4" if shape.groups <= 4 else "5–8"


def _batch(shape: Shape) -> str:
    return "32–128" if shape.batch <= 128 else "256" if shape.batch <= 256 else "500–10,000"


SHAPED: Mapping[str, tuple[str, Callable[[Shape], str], Sequence[str]]] = {
    "groups": ("Groups", _groups, ("2", "3–4", "5–8")),
    "constraints": ("Constraints", constraints_text, list(dict.fromkeys(", ".join(each) for each in CONSTRAINTS))),
    "labels": ("Labels come", labels_text, ("at once", "late", "some lost", "late, some lost")),
    "batch": ("People per round", _batch, ("32–128", "256", "500–10,000")),
}
"""Traits of a shape: title, what a shape has, and all that there are, in order."""


def shares_of(matrix: WorldMatrix, board: WorldBoard, learner: str) -> Array:
    """Return what a learner's rank is the mean of: its share in every world (W,), cut to [−1, 1]."""
    return np.clip(shares_at(matrix.figures[learner], board.allowed), -1.0, 1.0)
