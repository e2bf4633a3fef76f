"""Parts of a phase map: cells or points in colour, hatching, crosses, contours and the keys to them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.plots.looks import COLOURS, FONT
from fairgate.plots.swept import View
from fairgate.settings import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.contour import ContourSet

EMPTY = "0.93"
"""Grey of cells without a value."""

SIGNIFICANT = 0.05
"""Smallest p-value of a difference that is drawn as not significant."""

PALE = 0.35
"""How much of its colour is left of a learner whose advantage is not significant."""

OTHERS = "#999999"
"""Grey of learners that have no colour of their own."""

TIED = "#F0E442"
"""Yellow of settings in which the best learners are tied; no learner has it."""

MANY = 2000
"""Cells from which on a map is drawn as an image in a PDF, which would be slow to open otherwise."""

BAR = 1.0
"""Inches that a colour bar takes with its numbers and words."""

OUTLINE: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.45", "linewidth": 0}


def draw_winners(
    axes: Axes,
    view: View,
    best: NDArray[np.int64],
    sure: NDArray[np.bool_],
    tied: NDArray[np.bool_],
    names: Sequence[str],
    style: Any,
) -> None:
    """Draw at every point the learner that is `best` (S,; −1 for none) most often, paler unless mostly `sure` (S,).

    Where most settings of a point are `tied` (S,), it has a colour of its own.
    """
    from matplotlib.colors import ListedColormap

    count = len(names)
    won = [best == place for place in range(count)]
    wins = np.array([np.nan_to_num(view.mean(each)) for each in (*won, tied)])
    significant = np.array([np.nan_to_num(view.mean(each)) for each in (*(each & sure for each in won), tied)])
    winner = wins.argmax(axis=0)
    pale = np.take_along_axis(significant, winner[None], axis=0)[0] < 0.5
    values = np.where(wins.max(axis=0) > 0, 2.0 * winner + pale, np.nan)
    colours = learner_colours(best, count)
    shades = [shade for colour in (*colours, TIED) for shade in (colour, paler(colour))]
    draw_values(axes, view, values, {"cmap": ListedColormap(shades), "vmin": -0.5, "vmax": 2 * count + 1.5, **style})
    named = {"others" if colour == OTHERS else name: colour for name, colour in zip(names, colours, strict=True)}
    if pale[np.isfinite(values)].any():
        named[f"paler: p ≥ {SIGNIFICANT:g}"] = paler("0.4")
    if (winner[np.isfinite(values)] == count).any():
        named["tie"] = TIED
    for name, colour in named.items():
        axes.scatter([], [], marker="s", s=50, color=colour, label=name)


def learner_colours(best: NDArray[np.int64], count: int) -> list[str]:
    """Return a colour for each of `count` learners, where `best` (S,) is the place of each setting's winner.

    Of more learners than there are colours, those that win most have their own and the others are grey.

    >>> learner_colours(np.array([0, 8, 8]), 9)[7:]
    ['#999999', '#E69F00']
    """
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    wins = np.bincount(best[best >= 0], minlength=count)
    front = np.sort(np.argsort(-wins, kind="stable")[: len(COLOURS) - 2])  # black is none beside grey
    found = [OTHERS] * count
    for colour, place in zip(COLOURS, front.tolist(), strict=False):
        found[place] = colour
    return found


def paler(colour: str) -> str:
    """Mix a colour with white, for a learner whose advantage is not significant."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (1 - PALE * (1 - part) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def draw_values(axes: Axes, view: View, values: Array, style: Mapping[str, Any]) -> ScalarMappable:
    """Draw a value of every point (P,): cells of a grid, or points."""
    if view.is_grid:
        axes.set_facecolor(EMPTY)
        cells = np.ma.masked_invalid(view.matrix(values))
        look = {"rasterized": cells.size > MANY, **style}
        return axes.pcolormesh(view.x.edges, view.y.edges, cells, **look)
    known = np.isfinite(values)
    x, y = _points(view)
    size = _point_size(len(values))
    axes.scatter(x[~known], y[~known], s=size, color=EMPTY, edgecolors="0.6", linewidths=0.4)
    return axes.scatter(x[known], y[known], s=size, c=values[known], edgecolors="0.3", linewidths=0.3, **style)


def _points(view: View) -> tuple[Array, Array]:
    return view.x.places[view.columns], view.y.places[view.rows]


def _point_size(count: int) -> float:
    """Area in points² such that points cover some of a panel, whatever their number."""
    return float(np.clip(6000 / max(count, 1), 6, 60))


def draw_unattainable(axes: Axes, view: View, nothing: NDArray[np.bool_]) -> None:
    """Hatch where no threshold is feasible in any setting of a point, more loosely where there is none in some."""
    share = view.mean(nothing)
    for members, hatch, name in (
        (share == 1, "////", "nothing is feasible"),
        ((share > 0) & (share < 1), "..", "nothing is feasible in some"),
    ):
        if not members.any():
            continue
        if view.is_grid:
            from matplotlib.collections import PolyCollection

            cells = [_corners(view, place) for place in np.flatnonzero(members).tolist()]
            axes.add_collection(PolyCollection(cells, hatch=hatch, label=name, **OUTLINE), autolim=False)
        else:
            x, y = (each[members] for each in _points(view))
            axes.scatter(x, y, s=_point_size(len(share)), hatch=hatch * 2, label=name, **OUTLINE)


def _corners(view: View, place: int) -> list[tuple[float, float]]:
    column, row = view.columns[place], view.rows[place]
    (left, right), (low, high) = view.x.edges[column : column + 2], view.y.edges[row : row + 2]
    return [(left, low), (right, low), (right, high), (left, high)]


def draw_failed(axes: Axes, view: View, gone: NDArray[np.bool_]) -> None:
    """Cross out points at which every cell failed, and mark those at which some of the cells averaged over did."""
    from matplotlib.patheffects import withStroke

    share = view.mean(gone)
    look: dict[str, Any] = {"color": "black", "markersize": 4, "markeredgewidth": 1, "linestyle": "none"}
    look["path_effects"] = [withStroke(linewidth=2.6, foreground="white")]  # seen on dark cells
    for members, marker, name in (
        (share == 1, "x", "failed"),
        ((share > 0) & (share < 1), "+", "some failed"),
    ):
        if members.any():
            x, y = (each[members] for each in _points(view))
            axes.plot(x, y, marker=marker, label=name, **look)


def draw_contour(axes: Axes, view: View, values: Array, levels: Array) -> None:
    """Draw the lines at which the values of the points (P,) have these levels, each with its number."""
    levels = np.unique(levels)
    look: dict[str, Any] = {"levels": levels, "colors": "white", "linewidths": 1.4}
    drawn: ContourSet
    if view.is_grid and min(len(view.x.values), len(view.y.values)) > 1:
        drawn = axes.contour(view.x.places, view.y.places, np.ma.masked_invalid(view.matrix(values)), **look)
    else:
        known = np.isfinite(values)
        x, y = (each[known] for each in _points(view))
        drawn = axes.tricontour(x, y, values[known], **look)
    _outlined(drawn)
    for text in axes.clabel(drawn, fontsize=FONT - 1, fmt="%g"):
        _outlined(text)


def _outlined(artist: Any) -> None:
    from matplotlib.patheffects import withStroke

    artist.set_path_effects([withStroke(linewidth=2.6, foreground="black")])


def colours_of(look: Mapping[str, Any]) -> ScalarMappable:
    """Return the colours of a map drawn with these `cmap`, `vmin` and `vmax`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(look["vmin"], look["vmax"]), look["cmap"])


def _room(axes: Axes) -> float:
    """Return the part of the axes' width that a bar takes with its words; a constrained layout makes room itself."""
    engine = axes.figure.get_figure(root=True).get_layout_engine()
    if engine is not None and not engine.colorbar_gridspec:
        return 0.15
    width = axes.get_window_extent().width / axes.figure.dpi
    return float(np.clip(BAR / width, 0.15, 0.45))


def add_bar(drawn: ScalarMappable, axes: Sequence[Axes], words: str, values: Array) -> None:
    """Add a colour bar beside axes, with its meaning in words, and with arrows where values lie beyond its ends."""
    low, high = drawn.get_clim()
    beyond = bool(np.nanmin(values, initial=np.inf) < low), bool(np.nanmax(values, initial=-np.inf) > high)
    ends = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
    page = axes[0].figure
    place: Any = axes if len(axes) > 1 else axes[0]  # of one, its place is split, which tight_layout() understands
    bar = page.colorbar(drawn, ax=place, aspect=25, pad=0.02, extend=ends, fraction=_room(axes[0]))
    bar.set_label(textwrap.fill(words, 26), fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT)
    bar.outline.set_visible(False)
