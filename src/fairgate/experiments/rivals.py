"""What works instead: OFS beside two learners of this package, where nearly all should be accepted and where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.estimates import Estimate
from fairgate.experiments.figures import WIDTH
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import STRICT, TASKS, TITLES, Context, Plan
from fairgate.experiments.results import Cell, Drawing, Row, Table
from fairgate.learners import load_learner
from fairgate.oracle import oracle
from fairgate.plots import COLOURS, FONT, MARKERS, SHADE, add_legend, panels
from fairgate.problem import is_feasible
from fairgate.settings import Array
from fairgate.tasks import load_task
from fairgate.thresholds import exact_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIVALS = ("ofs", "smooth-optimist", "safe-search")
WORLDS = (*TASKS, *STRICT, "interior")
DRAWN = (*TASKS, "interior")


def job(plan: Plan, task: str, method: str) -> Job:
    """A learner on a task, with twice the paper's seeds."""
    name, learner = f"{task}-rival-{method}", load_learner(method, task)
    return Job(name, load_task(task), learner, plan.rounds, 2 * plan.seeds, plan.seed, plan.tail)


def jobs(plan: Plan) -> list[Job]:
    """Every rival on every task."""
    return [job(plan, task, method) for task in WORLDS for method in RIVALS]


def by_lottery(figures: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Whether a replicate accepted by lottery in most rounds of its tail, so that this is what it settled on."""
    return np.asarray(figures["lottery"] > 0.5)


def feasible_end(task: str, figures: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Whether what each replicate settled on is feasible: a threshold in its steady state, a lottery as played."""
    world, lottery = load_task(task), by_lottery(figures)
    played = is_feasible(np.array([figures[f"population_residual_{j}"] for j in range(len(world.problem.names))]))
    thresholds = np.where(lottery, world.thresholds[0], figures["settled"])  # a lottery has none to look at
    return np.where(lottery, played, is_feasible(exact_sweep(world, thresholds).residuals))


def table(context: Context) -> list[Table]:
    """Lay out what each learner earns and breaks, and whether what it settled on is feasible."""
    columns = {
        "feasible_end": "Seeds settled feasibly, %",
        "lottery": "By lottery, %",
        "regret": "Reward below the oracle's, settled",
        "population_reward": "Tail reward, exact",
        "population_gap": "DP gap, exact",
        "population_violation": "Cum. violation, exact",
        "violation": "Cum. violation, batch",
    }
    rows = []
    for task in WORLDS:
        best = oracle(load_task(task), refine=False).best
        for method in RIVALS:
            figures = context.figures(job(context.plan, task, method))
            lottery = by_lottery(figures)
            cells = {
                "feasible_end": Cell(Estimate(100.0 * float(feasible_end(task, figures).mean())), digits=0),
                "lottery": Cell(Estimate(100.0 * float(lottery.mean())), digits=0),
            }
            if best.feasible and not lottery.any():
                reward = exact_sweep(load_task(task), figures["settled"]).reward
                cells["regret"] = Cell(Estimate.of(best.reward - reward))
            for name in list(columns)[3:]:
                cells[name] = Cell(Estimate.of(figures[name]), digits=2 if "violation" in name else 4)
            rows.append(Row((task, method), cells))
    plan = context.plan
    note = (
        f"{2 * plan.seeds} seeds of {plan.rounds} rounds, mean ± sd over seeds; tails are the last {plan.tail} rounds, "
        "violations are summed over all rounds. What a seed settled on is the threshold that its learner recommends at "
        "the end (OFS: the median play of the tail), judged in its exact steady state; where most rounds of the tail "
        "are lotteries, it is these, judged as played. SmoothOptimist sees what OFS sees, by group; SafeSearch also "
        "sees all scores and the outcomes of those accepted. Interior is a task of this package whose best threshold "
        "is inside the grid."
    )
    return [Table("rivals", "What works instead", note, ("task", "method"), columns, rows)]


def figure(context: Context) -> tuple[Drawing, Figure]:
    """Draw where the seeds of each learner settled, below the steady-state reward of every threshold."""
    figure, axes = panels(2, len(DRAWN), WIDTH, 2.6)
    above, below = axes[: len(DRAWN)], axes[len(DRAWN) :]
    above[0].get_gridspec().set_height_ratios([1.6, 1.0])  # type: ignore[union-attr]
    for task, curve, ends in zip(DRAWN, above, below, strict=True):
        panel(context, task, curve, ends)
    above[0].set_ylabel("reward per person", fontsize=FONT)
    below[0].set_yticks(range(len(RIVALS)), [TITLES[method] for method in RIVALS])
    add_legend(figure, axes, columns=3)
    caption = (
        "Above: exact steady-state reward of every fixed threshold. Below: where the "
        f"{2 * context.plan.seeds} seeds of each learner settled; the area of a mark is the share of seeds. Thresholds "
        "that meet every constraint are shaded."
    )
    return Drawing("figure-rivals", "Where three learners settle", caption), figure


def panel(context: Context, task: str, curve: Axes, ends: Axes) -> None:
    """Draw one task."""
    grid, best = load_task(task).thresholds, oracle(load_task(task), refine=False).best
    sweep = exact_sweep(load_task(task), np.linspace(grid[0], grid[-1], 401))
    curve.plot(sweep.thresholds, sweep.reward, color="0.3", linewidth=1.0, label="steady-state reward")
    for index, method in enumerate(RIVALS):
        settled = context.figures(job(context.plan, task, method))["settled"]
        places, counts = np.unique(settled, return_counts=True)
        look: dict[str, Any] = {"marker": MARKERS[index], "color": COLOURS[index], "linewidths": 0, "zorder": 3}
        ends.scatter(places, np.full(len(places), index), s=6.0 + 60.0 * counts / len(settled), **look)
    for ax in (curve, ends):
        whole = ax.get_xaxis_transform()  # from the bottom of the panel to its top
        look = {"color": SHADE, "linewidth": 0, "zorder": 0, "label": "feasible"}
        ax.fill_between(sweep.thresholds, 0, 1, where=is_feasible(sweep.residuals).tolist(), transform=whole, **look)
        ax.axvline(best.threshold, color="black", linestyle="--", linewidth=0.8, label="best feasible threshold")
        margin = 0.06 * float(grid[-1] - grid[0])
        ax.set_xlim(grid[0] - margin, grid[-1] + margin)
    ends.set(ylim=(len(RIVALS) - 0.4, -0.6), yticks=[])
    ends.tick_params(axis="y", length=0)
    curve.set_xticklabels([])
    curve.set_title(TITLES[task], fontsize=FONT)
    ends.set_xlabel("threshold", fontsize=FONT)
