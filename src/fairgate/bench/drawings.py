"""Figures of the benchmark: regret against violation, and how learners progress, task by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.bench.leaderboard import Leaderboard
from fairgate.bench.matrix import Matrix
from fairgate.bench.measures import TARGET, TARGETS
from fairgate.plots import COLOURS, FONT, LINES, MARKERS, SHADE, add_legend, panels, point_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
"""Panels side by side."""

SHOWN = 6
"""Learners of a level that are drawn in colour; the others are grey."""

GREY = "0.75"


def plane(matrix: Matrix, board: Leaderboard, rounds: int) -> Figure:
    """Draw every learner by its regret and violation per round, means over the tasks that have a feasible threshold."""
    figure, (axes,) = panels(1, 1, 7.2, 5.4)
    for learner, look in _looks(board).items():
        known = [outcome.figures for outcome in matrix.of(learner).values() if outcome.truth["feasible"]]
        if known:
            x, y = (float(np.mean([each[name].mean() for each in known])) / rounds for name in ("regret", "violation"))
            axes.plot(x, y, label=learner, **point_look(look["marker"], look["color"], 8))
    _finish_plane(axes)
    axes.set_xlabel("regret per round (long-run reward per person)", fontsize=FONT + 1)
    axes.set_ylabel("violation per round", fontsize=FONT + 1)
    add_legend(figure, [axes], columns=4)
    return figure


def planes(matrix: Matrix, board: Leaderboard, rounds: int) -> Figure:
    """Draw the same for each task that has a feasible threshold: medians over seeds, and lines between quartiles."""
    known = {task: outcome.truth["feasible"] for (_, task), outcome in matrix.outcomes.items()}
    figure, axes = _multiples([task for task in matrix.tasks if known[task]])
    for task, ax in axes.items():
        there = {learner: look for learner, look in _looks(board).items() if (learner, task) in matrix.outcomes}
        for learner, look in there.items():
            figures = matrix.outcomes[learner, task].figures
            left, x, right = np.quantile(figures["regret"] / rounds, [0.25, 0.5, 0.75])
            down, y, up = np.quantile(figures["violation"] / rounds, [0.25, 0.5, 0.75])
            ax.plot([left, right], [y, y], color=look["color"], linewidth=0.8, zorder=2)
            ax.plot([x, x], [down, up], color=look["color"], linewidth=0.8, zorder=2)
            ax.plot(x, y, label=learner, **point_look(look["marker"], look["color"], 5))
        _finish_plane(ax)
    return _finished(figure, axes, "regret per round", "violation per round")


def curves(matrix: Matrix, board: Leaderboard, level: str, quantity: str) -> Figure:
    """Draw how a level's learners progress on each task: the interquartile mean over seeds in a band of quartiles.

    `quantity` is ``"shortfall"``, the mean of all rounds so far, or ``"violation"``, summed up to a round. The best
    baseline of the level is drawn in any case.
    """
    members = [row.learner for row in board.levels[level]]
    figure, axes = _multiples([task for task in matrix.tasks if level in board.best[task]])
    looks = _looks(board)
    black = [learner for learner in members if learner == board.references[level]]
    front = [learner for learner in members if learner not in black][:SHOWN]
    rest = [learner for learner in members if learner not in (*front, *black)]
    for task, ax in axes.items():
        for learner in [*rest, *black, *reversed(front)]:
            if (learner, task) not in matrix.outcomes:
                continue
            curve = matrix.outcomes[learner, task].curve
            middle, low, high = (curve[f"{quantity}_{end}"] for end in ("iqm", "low", "high"))
            if learner in rest:
                ax.plot(curve["round"], middle, color=GREY, linewidth=0.9, label="others of the level", zorder=1)
                continue
            look = {**looks[learner], "marker": ""}
            ax.plot(curve["round"], middle, linewidth=1.3, label=learner, zorder=3, **look)
            ax.fill_between(curve["round"], low, high, color=look["color"], alpha=0.15, linewidth=0)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=TARGETS[TARGET[level]][0] if quantity == "shortfall" else 1.0)
        if quantity == "shortfall":
            ax.axhspan(0.0, TARGETS[TARGET[level]][0], color=SHADE, linewidth=0, zorder=0)
        ax.set_ylim(bottom=0.0)
        ax.set_xlim(1, curve["round"][-1])
        _plain_ticks(ax)
    words = {"shortfall": "shortfall per round, so far", "violation": "violation, summed"}
    return _finished(figure, axes, "round", words[quantity])


def _looks(board: Leaderboard) -> dict[str, dict[str, Any]]:
    """Colour, line and marker of each learner, the same in every figure; the best baseline of each level is black."""
    *colours, black = COLOURS
    baselines = [name for name in board.references.values() if name is not None]
    looks: dict[str, dict[str, Any]] = {
        learner: {"color": black, "linestyle": ":", "marker": MARKERS[place % len(MARKERS)]}
        for place, learner in enumerate(baselines)
    }
    for index, learner in enumerate(learner for learner in board.order if learner not in baselines):
        turn, place = divmod(index, len(colours))
        line, marker = LINES[place % len(LINES)], MARKERS[turn % len(MARKERS)]
        looks[learner] = {"color": colours[place], "linestyle": line, "marker": marker}
    return looks


def _multiples(tasks: Sequence[str]) -> tuple[Figure, dict[str, Axes]]:
    """Make a figure with a panel per task."""
    rows = max(1, math.ceil(len(tasks) / COLUMNS))
    figure, axes = panels(rows, COLUMNS, 3.2 * COLUMNS, 2.3 * rows + 0.9)
    for spare in axes[len(tasks) :]:
        spare.set_visible(False)
    return figure, dict(zip(tasks, axes, strict=False))


def _finished(figure: Figure, axes: Mapping[str, Axes], x: str, y: str) -> Figure:
    """Name the panels, and their axes once per column and row of panels."""
    for index, (task, ax) in enumerate(axes.items()):
        ax.set_title(task, fontsize=FONT + 1)
        if index + COLUMNS >= len(axes):
            ax.set_xlabel(x, fontsize=FONT)
        if index % COLUMNS == 0:
            ax.set_ylabel(y, fontsize=FONT)
    add_legend(figure, list(axes.values()), columns=4)
    return figure


def _finish_plane(axes: Axes) -> None:
    """Set scales that are linear up to the target and logarithmic beyond, and shade the target."""
    regret, residual = TARGETS["success"]
    drawn = np.concatenate([np.asarray(line.get_xdata(), dtype=np.float64) for line in axes.lines])
    axes.set_xscale("symlog", linthresh=regret)
    axes.set_yscale("symlog", linthresh=residual)
    low, high = min(1.5 * drawn.min(), -0.2 * regret), max(1.5 * drawn.max(), 3 * regret)
    axes.fill_between([low, regret], -residual, residual, color=SHADE, linewidth=0, zorder=0)
    axes.axvline(0.0, color="0.6", linewidth=0.6, zorder=1)
    axes.set_xlim(low, high)
    axes.set_ylim(-0.05 * residual, max(axes.get_ylim()[1], 3 * residual))
    _plain_ticks(axes)


def _plain_ticks(axes: Axes) -> None:
    """Write numbers as numbers, not as powers of ten; no small ticks, which take long to draw."""
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
