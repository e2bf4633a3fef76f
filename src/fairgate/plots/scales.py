"""Scales of swept parameters: where values lie on an axis, which ones are log-spaced, and the edges between cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairgate.plots.looks import FONT
from fairgate.settings import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

TICKS = 24
"""Characters of a parameter's values up to which each has its own tick; else round numbers have."""


@dataclass(frozen=True)
class Scale:
    """The different values of a parameter in order (N,), and how they are spread on an axis.

    >>> Scale.of("batch", np.array([16, 256, 64, 16])).kind
    'log'
    >>> Scale.of("rate", np.array([0.1, 0.2, 0.3])).edges.round(3)
    array([0.05, 0.15, 0.25, 0.35])
    """

    name: str
    values: NDArray[Any]
    kind: str  # linear, log, or names

    @classmethod
    def of(cls, name: str, values: NDArray[Any]) -> Scale:
        """Read the scale off the values a parameter has."""
        distinct = np.unique(values)
        if not np.issubdtype(distinct.dtype, np.number):
            return cls(name, distinct, "names")
        return cls(name, distinct, "log" if is_log_spaced(distinct.astype(np.float64)) else "linear")

    @property
    def places(self) -> Array:
        """Where the values lie on the axis: at themselves, or names side by side."""
        if self.kind == "names":
            return np.arange(len(self.values), dtype=np.float64)
        return np.asarray(self.values, dtype=np.float64)

    @property
    def edges(self) -> Array:
        """Borders between cells (N + 1,), half way between values: of log-spaced ones half way between their logs."""
        places = np.log(self.places) if self.kind == "log" else self.places
        if len(places) == 1:
            step = 0.5 * (abs(places[0]) or 1.0) if self.kind == "linear" else 0.5
            edges = np.array([places[0] - step, places[0] + step])
        else:
            middle = (places[1:] + places[:-1]) / 2
            edges = np.concatenate([[2 * places[0] - middle[0]], middle, [2 * places[-1] - middle[-1]]])
        return np.exp(edges) if self.kind == "log" else edges

    def ends(self, *, cells: bool) -> tuple[float, float]:
        """Return where the axis begins and ends: with the outer cells, or a little beyond the outer points."""
        edges = self.edges[[0, -1]]
        if not cells and len(self.values) > 1:
            first, last = (np.log(self.places) if self.kind == "log" else self.places)[[0, -1]]
            edges = np.array([first, last]) + 0.04 * (last - first) * np.array([-1, 1])
            edges = np.exp(edges) if self.kind == "log" else edges
        return float(edges[0]), float(edges[1])

    @property
    def _are_few_and_short(self) -> bool:
        """Whether every value can have a tick of its own."""
        return sum(len(written(value)) for value in self.values[: TICKS + 1]) <= TICKS

    def index(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each value in their order."""
        return np.searchsorted(self.values, values)

    def dress(self, axes: Axes, direction: Literal["x", "y"], *, cells: bool) -> None:
        """Give an axis its scale, ticks and name."""
        from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

        axis: Axis = axes.xaxis if direction == "x" else axes.yaxis
        if self.kind == "log":
            axes.set(**{f"{direction}scale": "log"})
        if self.kind == "names" or self._are_few_and_short:
            axis.set_major_locator(FixedLocator(self.places.tolist()))
            texts = [written(value) for value in self.values]
            axis.set_major_formatter(FuncFormatter(lambda _, place: texts[place or 0]))
            axis.set_minor_locator(NullLocator())
        elif self.kind == "log":
            axis.set_major_locator(LogLocator(subs=(1, 3) if self.values[-1] < 1e3 * self.values[0] else (1,)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
            axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
        axis.set_label_text(self.name, fontsize=FONT)
        axes.set(**{f"{direction}lim": self.ends(cells=cells)})


def is_log_spaced(values: Array) -> bool:
    """Whether sorted different values are more even on a log scale than on a linear one.

    Evenness is how far the mean and the steps are from those of equal spacing; two values are even on either.

    >>> is_log_spaced(np.array([16.0, 64.0, 256.0])), is_log_spaced(np.array([0.1, 0.2, 0.3]))
    (True, False)
    """
    if len(values) < 3 or values[0] <= 0:
        return False

    def unevenness(x: Array) -> float:
        x = (x - x[0]) / (x[-1] - x[0])
        return float(np.abs(x - np.linspace(0, 1, len(x))).mean())

    return unevenness(np.log(values)) < 0.8 * unevenness(values)


def written(value: Any) -> str:
    """Write a value of a parameter short: whole numbers as they are, others with four digits.

    >>> written(0.041666667), written(np.float64(256)), written("ofs")
    ('0.04167', '256', 'ofs')
    """
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return str(value)
    amount = float(value)
    return f"{amount:.0f}" if amount.is_integer() and abs(amount) < 1e15 else f"{amount:.4g}"
