"""Figure 3: what fixed thresholds trade off in the long run, and where the methods settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.experiments.figure1 import WIDTH
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, TITLES, Context, Plan, epsilon, main_jobs
from fairgate.experiments.results import Drawing
from fairgate.oracle import Sweep, exact_sweep
from fairgate.plots import FONT, add_acceptance_bar, add_legend, panels, plot_tradeoff
from fairgate.tasks import load_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def jobs(plan: Plan) -> list[Job]:
    """Every method on every task."""
    return main_jobs(plan, TASKS)


def settled_points(context: Context, task: str) -> dict[str, Sweep]:
    """Exact long-run figures of the threshold each seed settled on, by the method's title."""
    settled = {method: context.figures(context.plan.main(task, method))["settled"] for method in METHODS}
    return {TITLES[method]: exact_sweep(load_task(task), settled[method]) for method in METHODS}


def draw(context: Context) -> tuple[Drawing, Figure]:
    """Draw the trade-off of each task: all of it, and what lies around the oracle."""
    figure, axes = panels(2, len(TASKS), WIDTH, 4.6)
    whole, near = axes[: len(TASKS)], axes[len(TASKS) :]
    for letter, task, above, below in zip("abc", TASKS, whole, near, strict=True):
        ends = settled_points(context, task)
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
