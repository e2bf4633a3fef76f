"""Figure 2: how the three methods learn on German and COMPAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.experiments.figure1 import WIDTH, learning_caption, learning_panel, runs_of
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import TITLES, Context, Plan, main_jobs
from fairgate.experiments.results import Drawing
from fairgate.plots import FONT, add_legend, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = ("german", "compas")
HEADINGS = {"reward": "reward", "gap": "DP gap"}


def jobs(plan: Plan) -> list[Job]:
    """Every method on German and COMPAS."""
    return main_jobs(plan, TASKS)


def draw(context: Context) -> tuple[Drawing, Figure]:
    """Draw reward and gap, one row per task."""
    figure, axes = panels(len(TASKS), len(HEADINGS), WIDTH, 4.4)
    letters, places = iter("abcd"), iter(axes)
    for task in TASKS:
        runs = runs_of(context, task)
        for quantity, heading in HEADINGS.items():
            ax = next(places)
            learning_panel(runs, task, quantity, ax)
            ax.set_title(f"({next(letters)}) {TITLES[task]}: {heading}", fontsize=FONT)
    add_legend(figure, axes, columns=5)
    caption = f"The three methods on German and COMPAS, {learning_caption(context.plan)}"
    return Drawing("figure2", "Figure 2. Learning on German and COMPAS", caption), figure
