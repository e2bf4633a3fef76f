"""Figures 1 to 3: how the three methods learn, and where they settle in the trade-off of fixed thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from fairgate.experiments.plan import METHODS, SEMI_SYNTHETIC, TASKS, TITLES, Context, epsilon
from fairgate.experiments.results import Drawing
from fairgate.oracle import exact_sweep
from fairgate.plots import FONT, add_acceptance_bar, add_legend, panels, plot_learning, plot_tradeoff
from fairgate.run import Run
from fairgate.tasks import load_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = tuple[Drawing, "Figure"]

SMOOTH = 50
"""Rounds averaged in the curves of reward and gap."""

WIDTH = 7.16
"""Inches from margin to margin of a two-column page."""

HEADINGS = {"reward": "reward", "gap": "DP gap", "violation": "cumulative violation"}


def figure1(context: Context) -> Drawn:
    """Draw reward, gap and cumulative violation on MVE-S."""
    figure, caption = learning(context, ["mve-s"], ("reward", "gap", "violation"), 2.5)
    caption += " The violation is summed from the first round on, over all constraints, as the batches show it."
    return Drawing("figure1", "Figure 1. Learning on MVE-S", f"The three methods on MVE-S, {caption}"), figure


def figure2(context: Context) -> Drawn:
    """Draw reward and gap on German and COMPAS, one row per task."""
    figure, caption = learning(context, SEMI_SYNTHETIC, ("reward", "gap"), 4.4)
    caption = f"The three methods on German and COMPAS, {caption}"
    return Drawing("figure2", "Figure 2. Learning on German and COMPAS", caption), figure


def learning(context: Context, tasks: Sequence[str], quantities: Sequence[str], height: float) -> tuple[Figure, str]:
    """Draw learning curves, one panel per task and quantity, and say how they are drawn."""
    figure, axes = panels(len(tasks), len(quantities), WIDTH, height)
    for letter, ax, (task, quantity) in zip("abcd", axes, product(tasks, quantities), strict=False):
        learning_panel({TITLES[method]: context.run(task, method) for method in METHODS}, task, quantity, ax)
        where = f"{TITLES[task]}: " if len(tasks) > 1 else ""
        ax.set_title(f"({letter}) {where}{HEADINGS[quantity]}", fontsize=FONT)
    add_legend(figure, axes, columns=5)
    return figure, (
        f"mean (line) ± one standard deviation (band) over {context.plan.seeds} seeds, {context.plan.rounds} rounds. "
        f"Reward and gap are batch figures, as in the paper, averaged over the last {SMOOTH} rounds (so drawn from "
        f"round {SMOOTH} on); sampling noise biases a batch's gap upwards, so the dotted lines show the mean of the "
        "exact gap, smoothed in the same way. The black line is ε."
    )


def learning_panel(runs: Mapping[str, Run], task: str, quantity: str, ax: Axes) -> None:
    """Draw one panel of learning curves; in one of the gap mark ε and add the exact gap's mean, in a darker shade."""
    from matplotlib.colors import to_rgb

    plot_learning(runs, quantity, ax=ax, smooth=SMOOTH)
    if quantity == "gap":
        label = ax.get_ylabel()
        plot_learning(
            runs, "gap", ax=ax, smooth=SMOOTH, exact=True, band=False, linestyle=":", linewidth=0.9, label="_exact"
        )
        ax.set_ylabel(label, fontsize=FONT)
        for line in ax.lines[len(runs) :]:
            red, green, blue = to_rgb(line.get_color())
            line.set_color((0.65 * red, 0.65 * green, 0.65 * blue))
        ax.axhline(epsilon(task), color="black", linewidth=0.8, label="ε, the gap allowed")
        ax.plot([], [], color="0.3", linestyle=":", linewidth=0.9, label="exact gap (mean)")
        ax.set_ylim(bottom=0)


def figure3(context: Context) -> Drawn:
    """Draw the trade-off of each task: all of it, and what lies around the oracle."""
    figure, axes = panels(2, len(TASKS), WIDTH, 4.6)
    whole, near = axes[: len(TASKS)], axes[len(TASKS) :]
    for letter, task, above, below in zip("abc", TASKS, whole, near, strict=True):
        ends = {TITLES[m]: exact_sweep(load_task(task), context.settled(task, m)) for m in METHODS}
        for ax, zoom in ((above, False), (below, True)):
            plot_tradeoff(context.oracles[task], epsilon(task), ends, ax=ax, zoom=zoom)
            ax.set(ylabel="")
        above.set_xlabel("")
        above.set_title(f"({letter}) {TITLES[task]} (ε = {epsilon(task):g})", fontsize=FONT)
    whole[0].set_ylabel("reward per person", fontsize=FONT)
    near[0].set_ylabel("reward per person,\naround the oracle", fontsize=FONT)
    add_acceptance_bar(whole)
    add_legend(figure, axes, columns=4)
    plan = context.plan
    caption = (
        "Reward against parity gap in the steady state of each fixed threshold of the grid, solved exactly and joined "
        "in order of the thresholds; the darker the point, the more people are accepted. Gaps up to ε are shaded, but "
        "on German and COMPAS the share accepted must lie in its window too: filled points meet every constraint, "
        "hollow ones do not. The star is the filled point of highest reward; the lower row shows what lies around it. "
        f"Small coloured marks: the exact steady state of the threshold each of {plan.seeds} seeds settled on after "
        f"{plan.rounds} rounds (OFS-Grid: the median play of the last {plan.tail}; the others: the mean centre of the "
        f"last {plan.tail}, which may lie between two points of the grid). Seeds that agree lie on one another."
    )
    return Drawing("figure3", "Figure 3. What fixed thresholds trade off", caption), figure
