"""How every figure looks: sizes, colours, panels, legends, and the bytes of a file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fairgate.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Legend = Literal["auto"] | bool
"""Whether to draw a legend; ``"auto"`` draws one where a figure is made, and none on the caller's axes."""

COLUMN = 3.5
"""Width in inches of a single panel."""

FONT = 8.0
"""Size in points of all text, so that a figure can be printed as it is."""

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart with every kind of colour vision; yellow is left out, too light for a line."""

LINES = ("--", "-.", "-", (0, (5, 1, 1, 1, 1, 1)))
"""Line styles, a second way to tell the curves apart."""

MARKERS = ("s", "^", "D", "v", "P")

SHADE = "#DDEBDD"
"""What is allowed."""

QUANTITIES = {"reward": "reward per person", "gap": "DP gap", "violation": "cumulative violation"}


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of this size in inches with a grid of axes, row by row."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05))
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for each in axes:
        each.tick_params(labelsize=FONT)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def add_legend(figure: Figure | SubFigure, axes: Sequence[Axes], columns: int) -> None:
    """Add one legend below the figure, of everything labelled in these axes, each name once."""
    found = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        fontsize=FONT,
        frameon=False,
        handlelength=2.6,
    )


def add_legend_below(axes: Axes) -> None:
    """Add a narrow legend below the name of the caller's x axis."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -3.8 * FONT / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=axes.transAxes + below,
        ncols=2,
        fontsize=FONT,
        frameon=False,
        handlelength=1.4,
        columnspacing=1,
    )


def image(figure: Figure, kind: str, dpi: float) -> bytes:
    """Draw a figure to the bytes of a ``"png"`` or ``"pdf"`` file, which are the same every time."""
    buffer = io.BytesIO()
    stamp = {"CreationDate": None} if kind == "pdf" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=stamp)
    return buffer.getvalue()


def own_or_new(ax: Axes | None) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure of one panel."""
    return panels(1, 1, COLUMN, 3.0)[1][0] if ax is None else ax


def point_look(
    marker: str, colour: str, size: float, *, edge: str = "white", width: float = 0.5, zorder: float = 3
) -> dict[str, Any]:
    """Return how points look that are joined by no line."""
    look = {"linestyle": "none", "marker": marker, "color": colour, "markersize": size, "zorder": zorder}
    return {**look, "markeredgecolor": edge, "markeredgewidth": width}


def finished(axes: Axes, x: str, y: str, *, alone: bool, legend: Legend = "auto") -> Axes:
    """Name what is drawn, and add the legend: below a panel that stands alone, or inside the caller's axes."""
    axes.set_xlabel(x, fontsize=FONT)
    axes.set_ylabel(y, fontsize=FONT)
    if shown(legend, alone=alone):
        if alone:
            add_legend(axes.figure, [axes], columns=2)
        else:
            axes.legend(fontsize=FONT, frameon=False, handlelength=2.6)
    return axes


def shown(legend: Legend, *, alone: bool) -> bool:
    """Whether a legend is wanted: of ``"auto"``, one where the figure has no other panel."""
    if legend not in (True, False, "auto"):
        raise InputError(f'legend must be True, False or "auto", got {legend!r}')
    return alone if legend == "auto" else bool(legend)


def curve_look(index: int, name: str, style: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the curve of this number looks, unless the caller's `style` says otherwise."""
    look = {"color": COLOURS[index % len(COLOURS)], "linestyle": LINES[index % len(LINES)], "linewidth": 1.2}
    return {**look, "label": name, **full_names(style)}


def full_names(style: Mapping[str, Any]) -> dict[str, Any]:
    """Write settings of a line out: lw is linewidth."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return dict(normalize_kwargs(dict(style), Line2D))
