"""Figure 1: how the three methods learn on MVE-S."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TITLES, Context, Plan, epsilon, main_jobs
from fairgate.experiments.results import Drawing
from fairgate.plots import FONT, add_legend, panels, plot_learning
from fairgate.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASK = "mve-s"
HEADINGS = {"reward": "reward", "gap": "DP gap", "violation": "cumulative violation"}
SMOOTH = 50
"""Rounds averaged in the curves of reward and gap."""

WIDTH = 7.16
"""Inches from margin to margin of a two-column page."""


def jobs(plan: Plan) -> list[Job]:
    """Every method on MVE-S."""
    return main_jobs(plan, [TASK])


def draw(context: Context) -> tuple[Drawing, Figure]:
    """Draw reward, gap and cumulative violation."""
    figure, axes = panels(1, 3, WIDTH, 2.5)
    runs = runs_of(context, TASK)
    for letter, quantity, ax in zip("abc", HEADINGS, axes, strict=True):
        learning_panel(runs, TASK, quantity, ax)
        ax.set_title(f"({letter}) {HEADINGS[quantity]}", fontsize=FONT)
    add_legend(figure, axes, columns=5)
    caption = (
        f"The three methods on MVE-S, {learning_caption(context.plan)} The violation is summed from the first round "
        "on, over all constraints, as the batches show it."
    )
    return Drawing("figure1", "Figure 1. Learning on MVE-S", caption), figure


def runs_of(context: Context, task: str) -> dict[str, Run]:
    """Read every method's run on a task, by the method's title."""
    return {TITLES[method]: context.run(task, method) for method in METHODS}


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


def learning_caption(plan: Plan) -> str:
    """Say how learning curves are drawn."""
    return (
        f"mean (line) ± one standard deviation (band) over {plan.seeds} seeds, {plan.rounds} rounds. Reward and gap "
        f"are batch figures, as in the paper, averaged over the last {SMOOTH} rounds (so drawn from round {SMOOTH} "
        "on); sampling noise biases a batch's gap upwards, so the dotted lines show the mean of the exact gap, "
        "smoothed in the same way. The black line is ε."
    )
