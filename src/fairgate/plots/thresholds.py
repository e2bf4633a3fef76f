"""What thresholds do: in a task in the long run, and to the people of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError, unknown_name
from fairgate.plots.looks import QUANTITIES, SHADE, Legend, curve_look, finished, own_or_new
from fairgate.policy import Policy
from fairgate.problem import is_feasible
from fairgate.settings import Array, whole_number
from fairgate.tasks import Task
from fairgate.thresholds import exact_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_acceptance(
    task: Task, ax: Axes | None = None, points: int = 401, legend: Legend = "auto", **style: Any
) -> Axes:
    """Draw what each fixed threshold leads to in the long run: every group's acceptance rate, the gap and the reward.

    `points` thresholds are drawn, between the ends of the task's grid. Those that meet every constraint are shaded.

    Examples
    --------
    >>> import fairgate as fg
    >>> axes = plot_acceptance(fg.load_task("compas"))
    >>> [line.get_label() for line in axes.lines]
    ['accepted, group 0', 'accepted, group 1', 'DP gap', 'reward per person']
    """
    thresholds = np.linspace(task.thresholds[0], task.thresholds[-1], whole_number("points", points, 2))
    sweep = exact_sweep(task, thresholds)
    shared = np.repeat(thresholds[:, None], task.environment.group_count, axis=1)
    rates = Counts(task.environment.long_run_cells(Policy.of(shared))).rates
    curves = {f"accepted, group {group}": rate for group, rate in enumerate(rates.T)}
    curves |= {"DP gap": sweep.gap, "reward per person": sweep.reward}
    axes = own_or_new(ax)
    for index, (name, values) in enumerate(curves.items()):
        axes.plot(thresholds, values, **curve_look(index, name, style))
    _shade_feasible(axes, thresholds, is_feasible(sweep.residuals))
    axes.set_xlim(thresholds[0], thresholds[-1])
    return finished(
        axes, "threshold (unit of the score)", "share or reward per person", alone=ax is None, legend=legend
    )


def plot_thresholds(
    advice: Any, figure: str = "reward", ax: Axes | None = None, legend: Legend = "auto", **style: Any
) -> Axes:
    """Draw what every threshold does to the people of a table, with 95% intervals, and which one is recommended.

    `advice` is what :func:`fairgate.advice.advise` found; `figure` is ``"reward"``, ``"gap"`` or ``"acceptance"``, the
    last for every group. Thresholds that meet every constraint on these people are shaded.

    Examples
    --------
    >>> import fairgate as fg
    >>> from fairgate.advice.example import example_table
    >>> people = fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    >>> aims = fg.Aims(cost=2.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.8)], seeds=1, rounds=5)
    >>> axes = plot_thresholds(fg.advise(people, aims), "acceptance")
    >>> [line.get_label() for line in axes.lines]
    ['accepted, f', 'accepted, m', 'recommended']
    """
    if not all(hasattr(advice, name) for name in ("today", "applicants", "recommendation")):
        raise InputError(f"advice must be what fairgate.advice.advise returns, got {type(advice).__name__}")
    titles = {**QUANTITIES, "acceptance": "share accepted"}
    del titles["violation"]
    if figure not in titles:
        raise unknown_name("figure", figure, titles)
    today, chosen = advice.today, advice.recommendation
    names = [f"accepted, {name}" for name in advice.applicants.groups] if figure == "acceptance" else [titles[figure]]
    drawn = {"acceptance": today.rates, "gap": today.gap, "reward": today.reward}[figure]
    middle, low, high = (np.atleast_2d(values) for values in drawn)
    if figure == "reward":  # where labels do not tell, nothing is drawn
        middle, low, high = (np.where(today.known, values, np.nan) for values in (middle, low, high))
    axes = own_or_new(ax)
    order = np.argsort(today.thresholds)
    at = today.thresholds[order]
    for index, name in enumerate(names):
        (line,) = axes.plot(at, middle[index, order], **curve_look(index, name, style))
        axes.fill_between(at, low[index, order], high[index, order], color=line.get_color(), alpha=0.2, linewidth=0)
    axes.axvline(
        chosen.threshold, color="0.3", linewidth=1, label="nearest" if chosen.status == "infeasible" else "recommended"
    )
    # a threshold accepts the same people down to the next lower score (or, descending, up to the next higher one)
    ends = np.append(at, at[-1]) if advice.applicants.descending else np.append(at[0], at)
    _shade_feasible(axes, np.repeat(ends, 2)[1:-1], np.repeat(today.feasible[order], 2))
    axes.set_xlim(at[0], at[-1])
    return finished(
        axes, f"threshold of {advice.applicants.columns.score}", titles[figure], alone=ax is None, legend=legend
    )


def _shade_feasible(axes: Axes, thresholds: Array, feasible: NDArray[np.bool_]) -> None:
    whole = axes.get_xaxis_transform()  # from the bottom of the panel to its top
    look: dict[str, Any] = {"color": SHADE, "linewidth": 0, "zorder": 0, "label": "feasible"}
    axes.fill_between(thresholds, 0, 1, where=feasible.tolist(), transform=whole, **look)
