"""Figures 1 to 3: how the three methods learn, and where they settle in the trade-off of fixed thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from fairgate.experiments.plan import METHODS, SEMI_SYNTHETIC, TASKS, TITLES, Context, epsilon
from fairgate.experiments.results import Drawing
from fairgate.plots import BAND, FONT, add_acceptance_bar, add_legend, panels, plot_learning, plot_tradeoff
from fairgate.run import Run
from fairgate.tasks import load_task
from fairgate.thresholds import ThresholdSweep, exact_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = tuple[Drawing, "Figure"]

SMOOTH = 50
"""Rounds averaged in the curves of reward and gap."""

WIDTH = 7.16
"""Inches from margin to margin of a two-column page."""

FLOOR = 1e-3
"""Where the log axes of gaps begin."""

HEADINGS = {"reward": "reward", "gap": "batch gap", "exact": "exact gap", "violation": "cumulative violation"}


def figure1(context: Context) -> Drawn:
    """Draw reward, violation and gaps on MVE-S."""
    figure, caption = learning(context, ["mve-s"], ("reward", "violation", "gap", "exact"), 2, 4.4)
    caption += " The violation is summed from the first round on, over all constraints, as the batches show it."
    return Drawing("figure1", "Figure 1. Learning on MVE-S", f"The three methods on MVE-S, {caption}"), figure


def figure2(context: Context) -> Drawn:
    """Draw reward and gaps on German and COMPAS, one row per task."""
    figure, caption = learning(context, SEMI_SYNTHETIC, ("reward", "gap", "exact"), 3, 4.4)
    caption = f"The three methods on German and COMPAS, {caption}"
    return Drawing("figure2", "Figure 2. Learning on German and COMPAS", caption), figure


def learning(
    context: Context, tasks: Sequence[str], quantities: Sequence[str], columns: int, height: float
) -> tuple[Figure, str]:
    """Draw learning curves, one panel per task and quantity, and say how they are drawn."""
    wanted = list(product(tasks, quantities))
    figure, axes = panels(len(wanted) // columns, columns, WIDTH, height)
    for letter, ax, (task, quantity) in zip("abcdef", axes, wanted, strict=False):
        learning_panel({TITLES[method]: context.run(task, method) for method in METHODS}, task, quantity, ax)
        where = f"{TITLES[task]}: " if len(tasks) > 1 else ""
        ax.set_title(f"({letter}) {where}{HEADINGS[quantity]}", fontsize=FONT)
    add_legend(figure, axes, columns=5)
    low, high = (round(100 * edge) for edge in BAND)
    return figure, (
        f"mean over {context.plan.seeds} seeds (line) and the {low}th to {high}th percentile of the seeds (band), "
        f"{context.plan.rounds} rounds. Reward and gaps are averaged over the last {SMOOTH} rounds (so drawn from "
        f"round {SMOOTH} on). Batch figures are those the paper shows; sampling noise biases a batch's gap upwards, "
        f"the exact gap is the population's. Gaps have log axes from {FLOOR:g}; the black line is ε."
    )


def learning_panel(runs: Mapping[str, Run], task: str, quantity: str, ax: Axes) -> None:
    """Draw one panel of learning curves; in one of a gap mark ε."""
    exact = quantity == "exact"
    plot_learning(runs, "gap" if exact else quantity, ax=ax, smooth=SMOOTH, exact=exact)
    ax.set_ylabel("reward per person" if quantity == "reward" else "DP gap", fontsize=FONT)
    if quantity == "violation":
        ax.set_ylabel("summed residuals", fontsize=FONT)
    if quantity in ("gap", "exact"):
        ax.axhline(epsilon(task), color="black", linewidth=0.8, label="ε, the gap allowed")
        ax.set(yscale="log", ylim=(FLOOR, 1.0))
        ax.yaxis.set_major_formatter("{x:g}")


def figure3(context: Context) -> Drawn:
    """Draw the trade-off of each task: all of it, and what lies around the oracle."""
    figure, axes = panels(2, len(TASKS), WIDTH, 4.8)
    whole, near = axes[: len(TASKS)], axes[len(TASKS) :]
    for letter, task, above, below in zip("abc", TASKS, whole, near, strict=True):
        settled = {TITLES[method]: context.settled(task, method) for method in METHODS}
        ends = {name: exact_sweep(load_task(task), found) for name, found in settled.items()}
        for ax, zoom in ((above, False), (below, True)):
            plot_tradeoff(context.oracles[task], epsilon(task), ends, ax=ax, zoom=zoom)
            ax.set(ylabel="")
        above.set_xscale("log", nonpositive="clip")
        above.set_xlim(FLOOR, 1.0)
        above.xaxis.set_major_formatter("{x:g}")
        above.set_xlabel("DP gap (log)", fontsize=FONT)
        above.set_title(f"({letter}) {TITLES[task]} (ε = {epsilon(task):g})", fontsize=FONT)
        below.set_title(count_seen(dict(zip(("U", "PD", "OFS"), ends.values(), strict=True)), below), fontsize=FONT)
    whole[0].set_ylabel("reward per person", fontsize=FONT)
    near[0].set_ylabel("reward per person,\naround the oracle", fontsize=FONT)
    add_acceptance_bar(whole)
    add_legend(figure, axes, columns=4)
    plan = context.plan
    caption = (
        "Reward against parity gap in the steady state of each fixed threshold of the grid, solved exactly and joined "
        "in order of the thresholds; the darker the point, the more people are accepted. Gaps up to ε are shaded, but "
        "on German and COMPAS the share accepted must lie in its window too: filled points meet every constraint, "
        f"hollow ones do not. The upper row has a log axis from {FLOOR:g} (smaller gaps lie on its edge); the lower "
        "one shows, on linear axes, what lies around the star, the filled point of highest reward. "
        f"Small coloured marks: the exact steady state of the threshold each of {plan.seeds} seeds settled on after "
        f"{plan.rounds} rounds (OFS-Grid: the median play of the last {plan.tail}; the others: the mean centre of the "
        f"last {plan.tail}, which may lie between two points of the grid). Seeds that agree lie on one another; the "
        "titles of the lower row say how many it shows (U: Unconstrained, PD: PrimalDual)."
    )
    return Drawing("figure3", "Figure 3. What fixed thresholds trade off", caption), figure


def count_seen(ends: Mapping[str, ThresholdSweep], ax: Axes) -> str:
    """Say how many seeds of each method lie in a panel, since seeds that agree lie on one another."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    seen = {
        name: int(((end.gap >= left) & (end.gap <= right) & (end.reward >= bottom) & (end.reward <= top)).sum())
        for name, end in ends.items()
    }
    return "seeds in view: " + ", ".join(f"{name} {count}" for name, count in seen.items())
