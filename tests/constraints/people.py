"""Random people for the tests of constraints, and boxes with rates inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from fairgate.confidence import Box
from fairgate.counts import Counts
from tests.reference import tabulate

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def sample(groups: int, seed: int, size: int = 400, shares: list[float] | None = None) -> tuple[Whole, Whole, Whole]:
    """Draw groups, labels and decisions of people whose groups differ in both."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, size, p=shares)
    label = (rng.random(size) < 0.3 + 0.4 * group / groups).astype(np.int64)
    decision = (rng.random(size) < 0.2 + 0.3 * label + 0.3 * group / groups).astype(np.int64)
    return group, label, decision


def count(group: Whole, label: Whole, decision: Whole, groups: int) -> Counts:
    """Count them, one replicate."""
    return Counts(tabulate(group, label, decision, groups)[None])


def rates(*accepted: float, people: float = 1000.0) -> Counts:
    """Counts of one replicate with these acceptance rates, all labels 1; NaN is a group with nobody in it."""
    cells = np.zeros((1, len(accepted), 2, 2))
    for group, rate in enumerate(accepted):
        if not np.isnan(rate):
            cells[0, group, 1] = [people * (1 - rate), people * rate]
    return Counts(cells)


def known(low: Any, high: Any, overall: tuple[float, float] = (0.0, 1.0)) -> Box:
    """A box of one replicate."""
    return Box(*(np.asarray([value], dtype=np.float64) for value in (low, high, *overall)))


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Counts, Box]:
    """Draw 2 to 5 groups with shares and rates, and a box around the rates; two replicates."""
    groups = draw(st.integers(2, 5))
    unit = hnp.arrays(np.float64, (2, groups), elements=st.floats(0, 1))
    below, above, inside = draw(unit), draw(unit), draw(unit)
    low, high = np.minimum(below, above), np.maximum(below, above)
    inner = np.clip(low + inside * (high - low), low, high)
    shares = draw(hnp.arrays(np.float64, (2, groups), elements=st.floats(0.01, 1)))
    shares /= shares.sum(axis=1, keepdims=True)
    cells = np.zeros((2, groups, 2, 2))
    cells[..., 1, 1], cells[..., 1, 0] = shares * inner, shares * (1 - inner)
    margin = draw(hnp.arrays(np.float64, (2, 2), elements=st.floats(0, 0.5)))
    overall = (shares * inner).sum(axis=1)
    return Counts(cells), Box(low, high, np.maximum(overall - margin[0], 0), np.minimum(overall + margin[1], 1))
