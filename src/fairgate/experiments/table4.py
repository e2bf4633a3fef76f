"""Table IV: PrimalDual's tuning grid, and the setting the paper's rule selects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import DUAL_STEPS, SEMI_SYNTHETIC, STEPS, Context, Plan, paper
from fairgate.experiments.results import Cell, Row, Table
from fairgate.settings import Array
from fairgate.tasks import load_task

FEASIBLE, INFEASIBLE = "feasible-max-reward", "infeasible-min-violation"


def jobs(plan: Plan) -> list[Job]:
    """One run per task holds its whole grid."""
    return [plan.tuning(task) for task in SEMI_SYNTHETIC]


def by_setting(values: Array, settings: int) -> Array:
    """Mean over seeds of each setting (settings outer, seeds inner)."""
    return np.asarray(values.reshape(settings, -1).mean(axis=1))


def tail_feasible(context: Context, job: Job, settings: int, kind: str = "batch") -> Array:
    """Whether the tail means of every residual, averaged over seeds, are met, by setting."""
    figures = context.figures(job)
    count = len(job.task.problem.names)
    residuals = [by_setting(figures[f"{kind}_residual_{j}"], settings) for j in range(count)]
    return np.asarray(np.max(residuals, axis=0) <= 0.0)


def best_of(reward: Array, feasible: Array, violation: Array) -> NDArray[np.int64]:
    """The paper's rule over the first axis: the highest reward of those that are feasible, else the least violation.

    Feasible is judged by the tail and violation over all rounds, unlike in :func:`fairgate.problem.best_feasible`.
    """
    highest = np.where(feasible, reward, -np.inf).argmax(axis=0)
    return np.asarray(np.where(feasible.any(axis=0), highest, violation.argmin(axis=0)))


def select(context: Context, task: str) -> tuple[int, str]:
    """Index of the selected setting and the rule that selected it: best feasible tail reward, else least violation."""
    job, settings = context.plan.tuning(task), len(STEPS) * len(DUAL_STEPS)
    reward, violation = (by_setting(context.figures(job)[name], settings) for name in ("reward", "violation"))
    feasible = tail_feasible(context, job, settings)
    return int(best_of(reward, feasible, violation)), FEASIBLE if feasible.any() else INFEASIBLE


def compute(context: Context) -> list[Table]:
    """Lay out the selected settings and the whole grid."""
    grid = [(step, dual) for step in STEPS for dual in DUAL_STEPS]
    chosen, everything = [], []
    for task in SEMI_SYNTHETIC:
        best, rule = select(context, task)
        printed = paper()["table4"][task]
        cells = {
            "step": Cell(Estimate(grid[best][0]), Estimate(printed["step"]), 2),
            "dual_step": Cell(Estimate(grid[best][1]), Estimate(printed["dual_step"]), 2),
            "rule": Cell(rule, printed["rule"]),
        }
        chosen.append(Row((task,), cells))
        figures = context.figures(context.plan.tuning(task))
        feasible = tail_feasible(context, context.plan.tuning(task), len(grid))
        for index, (step, dual) in enumerate(grid):
            part = slice(index * context.plan.seeds, (index + 1) * context.plan.seeds)
            cells = {
                "reward": Cell(Estimate.of(figures["reward"][part])),
                "gap": Cell(Estimate.of(figures["gap"][part])),
                "violation": Cell(Estimate.of(figures["violation"][part]), digits=2),
                "feasible": Cell("yes" if feasible[index] else "no"),
                "selected": Cell("selected" if index == best else ""),
            }
            everything.append(Row((task, f"{step:g}", f"{dual:g}"), cells))
    epsilon = ", ".join(f"{task}: {load_task(task).problem.constraints}" for task in SEMI_SYNTHETIC)
    rule = "Selection: the highest tail reward among settings whose tail residuals are met, else the least violation."
    columns = {"step": "η", "dual_step": "μ", "rule": "Selection rule"}
    details = {"reward": "Reward", "gap": "DP gap (batch)", "violation": "Cum. violation", "feasible": "Feasible tail"}
    return [
        Table(
            "table4",
            "Table IV. PrimalDual tuning",
            f"{rule} The grid is ours; the paper prints only what it selected.",
            ("task",),
            columns,
            chosen,
        ),
        Table(
            "table4-grid",
            "Table IV, the whole grid",
            f"Batch figures, mean ± sd over seeds. {epsilon}.",
            ("task", "η", "μ"),
            {**details, "selected": "Selected"},
            everything,
        ),
    ]
