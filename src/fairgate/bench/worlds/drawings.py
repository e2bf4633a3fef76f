"""Figures of the board of random worlds: how a learner's shares are spread, and shares against violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.bench.worlds.board import WorldBoard
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.bench.worlds.traits import shares_of
from fairgate.plots import COLOURS, FONT, add_legend, panels, point_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Width in inches of a figure, which a phone can still show."""

DOT = COLOURS[5]
MIDDLE = COLOURS[1]
MEAN = COLOURS[0]

LEAST = 0.0001
"""Lower violations per round are drawn as this one."""


def spread(matrix: WorldMatrix, board: WorldBoard, level: str) -> Figure:
    """Draw every learner of a level as a row: a dot for each world, a box from quartile to quartile, and the mean."""
    rows, worlds = board.levels[level], board.worlds[level]
    figure, (axes,) = panels(1, 1, WIDTH, 0.9 + 0.42 * len(rows))
    rng = np.random.default_rng(0)
    faint = float(np.clip(40.0 / len(worlds), 0.12, 0.7))
    for place, row in enumerate(rows):
        shares = shares_of(matrix, board, row.learner)[worlds]
        beside = place + rng.uniform(-0.3, 0.3, len(shares))
        axes.plot(shares, beside, **point_look("o", DOT, 3.0, width=0.0, zorder=1), alpha=faint)
        low, median, high = np.quantile(shares, [0.25, 0.5, 0.75])
        axes.barh(place, high - low, 0.44, low, facecolor="none", edgecolor=MIDDLE, linewidth=1.1, zorder=2)
        axes.plot([median, median], [place - 0.22, place + 0.22], color=MIDDLE, linewidth=2.0, label="median", zorder=3)
        look = point_look("D", MEAN, 6.0, zorder=4)
        axes.plot(row.share.value, place, **look, label="mean, which ranks")
    for edge, line in ((0.0, "-"), (1.0, "--")):
        axes.axvline(edge, color="0.6", linewidth=0.8, linestyle=line, zorder=0)
    axes.set_yticks(range(len(rows)), [_named(row.rank, row.learner) for row in rows], fontsize=FONT + 1)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-1.06, 1.06)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["≤ −1", "−0.5", "0\nbest fair lottery", "0.5", f"≥ 1\n{_best(board)}"])
    axes.set_xlabel("share of the reward that can be had, one dot per world", fontsize=FONT + 1)
    add_legend(figure, [axes], columns=2)
    return figure


def _best(board: WorldBoard) -> str:
    return "best threshold" if board.allowed == "threshold" else "best lottery"


def _named(rank: int | None, learner: str) -> str:
    shown = learner if len(learner) <= 26 else f"{learner[:12]}…{learner[-13:]}"
    return f"{rank}. {shown}" if rank else f"({shown})"


def plane(board: WorldBoard) -> Figure:
    """Draw every learner by its mean share and its mean violation per round, a panel for each level."""
    levels = board.levels
    columns = min(2, len(levels))
    count = -(-len(levels) // columns)
    figure, axes = panels(count, columns, WIDTH if columns == 1 else 9.6, 4.3 * count)
    for spare in axes[len(levels) :]:
        spare.set_visible(False)
    highest = max(row.violation for rows in levels.values() for row in rows)
    for (level, rows), ax in zip(levels.items(), axes, strict=False):
        for place, row in reversed(list(enumerate(rows))):  # the best on top
            colour, (x, y) = COLOURS[place % len(COLOURS)], (row.share, max(row.violation, LEAST))
            if not np.isnan(x.low):
                ax.plot([x.low, x.high], [y, y], color=colour, linewidth=0.9, zorder=2)
            ax.plot(x.value, y, **point_look("o", colour, 11.0), label=_named(row.rank, row.learner))
            ax.annotate(str(row.rank or "–"), (x.value, y), color="white", fontsize=FONT - 2, ha="center", va="center")
        ax.set_title(f"feedback level {level}", fontsize=FONT + 1)
        _finish(ax, highest)
        drawn = ax.get_legend_handles_labels()
        ax.legend(
            *(each[::-1] for each in drawn),
            fontsize=FONT,
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=2,
            markerscale=0.6,
            handlelength=1.2,
        )
    return figure


def _finish(axes: Axes, highest: float) -> None:
    """Set scales, the same in all panels: shares from −1 to 1, violations logarithmic down to the least."""
    axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    axes.axvline(1.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_xlim(-1.06, 1.06)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    axes.set_yscale("log")
    axes.set_ylim(0.6 * LEAST, 2.0 * max(highest, 0.1))
    ticks = [LEAST, 0.001, 0.01, 0.1, 1.0][: 4 + (highest > 0.5)]
    axes.set_yticks(ticks, [f"≤ {LEAST}", *(f"{tick:g}" for tick in ticks[1:])])
    axes.minorticks_off()
    axes.set_xlabel("mean share of the reward that can be had", fontsize=FONT)
    axes.set_ylabel("violation per round", fontsize=FONT)
