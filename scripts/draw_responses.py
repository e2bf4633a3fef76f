"""The middle panels of draw_environments.py for the tasks of ResponsiveScores: what is special about each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import fairgate as fg
from fairgate.environments import ResponsiveScores
from fairgate.plots import COLOURS, FONT
from fairgate.settings import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = (30, 120)
"""The round in which the threshold is lowered for a step response, and the rounds that it is looked at."""


def draw_qualification(task: fg.Task, ax: Axes) -> None:
    """Draw the share of strong people in each group that fixed thresholds lead to."""
    thresholds = fine(task)
    draw_groups(ax, thresholds, settled(task, thresholds).quality)
    name_axes(ax, thresholds, "who becomes qualified", "share of strong people")


def draw_participation(task: fg.Task, ax: Axes) -> None:
    """Draw the share of each group among those who come that fixed thresholds lead to."""
    thresholds = fine(task)
    draw_groups(ax, thresholds, world(task).group_shares(settled(task, thresholds)))
    ax.set_ylim(0.0, 1.0)
    name_axes(ax, thresholds, "who comes", "share among those who come")


def draw_lag(task: fg.Task, ax: Axes) -> None:
    """Draw how the share of strong people answers to a threshold that is lowered once, with the lag and without."""
    moved, rounds = STEP
    best = fg.oracle(task).best.threshold
    for environment, look in ((world(task), {}), (replace(world(task), lag=0), {"linestyle": "--"})):
        groups = environment.group_count
        state, path = environment.steady_state(np.full((1, groups), best)), []
        for now in range(rounds):
            path.append(state.quality[0])
            state = environment.expected_update(state, np.full((1, groups), best - float(now >= moved)))
        draw_groups(ax, np.arange(float(rounds)), np.array(path), look, "without the lag" if look else "")
    ax.axvline(moved, color="0.6", linewidth=0.8, zorder=1)
    ax.annotate("bar down\nby 1", (moved, 1.0), (-3, -3), **NOTE, ha="right", va="top")
    name_axes(ax, np.arange(float(rounds)), "answer to a lower threshold", "share of strong people", "round")


def draw_cross(task: fg.Task, ax: Axes) -> None:
    """Draw what the threshold of one group does to both, with cross-group influence and without."""
    thresholds, best = fine(task), fg.oracle(task).best.threshold
    given = np.stack((thresholds, np.full_like(thresholds, best)), axis=1)
    draw_groups(ax, thresholds, task.environment.steady_state(given).quality)
    alone = replace(world(task), cross=0.0).steady_state(given).quality
    draw_groups(ax, thresholds, alone, {"linestyle": "--"}, "without influence")
    name_axes(ax, thresholds, f"group 1 kept at {best:g}", "share of strong people", "threshold of group 0")


def draw_inflation(task: fg.Task, ax: Axes) -> None:
    """Draw what a presented score of the first group means under a low, the best and a high bar."""
    low, high, best = task.thresholds[0], task.thresholds[-1], fg.oracle(task).best.threshold
    bars, edges = np.array([low, best, high]), np.linspace(low, high, 121)
    people = task.environment.histogram(settled(task, bars), edges)[:, 0, 1:-1]
    for bar, cells, line in zip(bars, people, (":", "-", "--"), strict=True):
        odds, middle = cells[:, 1] / cells.sum(axis=1), 0.5 * (edges[1:] + edges[:-1])
        told = f"under a bar of {bar:g}".replace("-", "−")
        ax.plot(middle, odds, color="black", linestyle=line, linewidth=1.2, label=told)
    ax.axhline(0.5, color="0.6", linewidth=0.8, zorder=1)
    ax.set_ylim(0.0, 1.0)
    name_axes(ax, edges, "what a score of group 0 means", "P(label 1 | presented score)", "presented score")


def draw_label_curves(task: fg.Task, ax: Axes) -> None:
    """Draw the label curve of each group."""
    scores, environment = fine(task), world(task)
    slope, midpoint = np.array(environment.slope), np.array(environment.midpoint)
    draw_groups(ax, scores, 1.0 / (1.0 + np.exp(-slope * (scores[:, None] - midpoint))))
    ax.axhline(0.5, color="0.6", linewidth=0.8, zorder=1)
    ax.set_ylim(0.0, 1.0)
    name_axes(ax, scores, "what a score means", "P(label 1 | score)", "score")


NOTE: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": FONT}
"""How a note stands beside an upright line."""


def world(task: fg.Task) -> ResponsiveScores:
    """Return the environment of a task, which must be of the kind drawn here."""
    if not isinstance(task.environment, ResponsiveScores):
        raise TypeError(f"{task.name} is no task of ResponsiveScores")
    return task.environment


def fine(task: fg.Task) -> Array:
    """Return thresholds over the range of a task's grid, for smooth lines."""
    return np.linspace(task.thresholds[0], task.thresholds[-1], 201)


def settled(task: fg.Task, thresholds: Array) -> Any:
    """Return the state that each fixed threshold leads to, one per replicate."""
    return task.environment.steady_state(np.repeat(thresholds[:, None], task.environment.group_count, axis=1))


def draw_groups(ax: Axes, at: Array, values: Array, look: dict[str, Any] | None = None, told: str = "") -> None:
    """Draw a line for each group of values (places, groups), in a legend only if they are told to be special."""
    for group, each in enumerate(values.T):
        label = f"group {group}, {told}" if told else None
        ax.plot(at, each, color=COLOURS[group], linewidth=1.2, label=label, **(look or {}))


def name_axes(ax: Axes, at: Array, title: str, what: str, where: str = "threshold (unit of the score)") -> None:
    """Name what a panel shows."""
    ax.set_xlim(at[0], at[-1])
    ax.set_xlabel(where, fontsize=FONT)
    ax.set_ylabel(what, fontsize=FONT)
    ax.set_title(title, fontsize=FONT)


PANELS = {
    "qualification": draw_qualification,
    "participation": draw_participation,
    "lag": draw_lag,
    "cross-group": draw_cross,
    "inflation": draw_inflation,
    "label-curves": draw_label_curves,
}
"""The panel of each task."""
