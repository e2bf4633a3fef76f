"""Table II: the best feasible fixed threshold, and how far each method's settled threshold is from it."""

from __future__ import annotations

import numpy as np

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, Context, Plan, main_jobs, paper
from fairgate.experiments.results import Cell, Row, Table
from fairgate.learners import Fixed
from fairgate.oracle import exact_sweep
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.tasks import load_task

COLUMNS = {
    "oracle_reward": "Oracle reward",
    "oracle_gap": "Oracle DP gap",
    "oracle_acceptance": "Oracle acceptance",
    "unconstrained": "Gap (U)",
    "primal-dual": "Gap (PD)",
    "ofs": "Gap (OFS)",
}


def jobs(plan: Plan) -> list[Job]:
    """Every method on every task."""
    return main_jobs(plan, TASKS)


def reward_gaps(context: Context, task: str, method: str, many: bool = False) -> Array:
    """Exact steady-state reward of the best feasible grid threshold minus that of each seed's settled threshold."""
    settled = context.figures(context.plan.job(task, method, many))["settled"]
    return context.oracles[task].best.reward - exact_sweep(load_task(task), settled).reward


def sampled_gaps(context: Context, task: str, method: str) -> Array:
    """The same as the paper would measure it: the sampled sweep's best minus batch means of the settled threshold."""
    settled = context.figures(context.plan.main(task, method))["settled"]
    run = simulate(load_task(task), Fixed(settled.tolist()), 600, seed=context.plan.seed + 20_000)
    return np.asarray(context.sweeps[task].best.reward - run.batch.reward[:, 200:].mean(axis=1))


def compute(context: Context) -> list[Table]:
    """Lay out Table II: sampled as in the paper, and exact."""
    rows = []
    for task in TASKS:
        printed = paper()["table2"][task]
        for kind, best in (("sampled", context.sweeps[task].best), ("exact", context.oracles[task].best)):
            gaps = sampled_gaps if kind == "sampled" else reward_gaps
            ours = {
                "oracle_reward": Estimate(best.reward),
                "oracle_gap": Estimate(best.gap),
                "oracle_acceptance": Estimate(best.acceptance),
                **{method: Estimate.of(gaps(context, task, method)) for method in METHODS},
            }
            cells = {
                column: Cell(ours[column], Estimate(printed[column]) if kind == "sampled" else None)
                for column in COLUMNS
            }
            rows.append(Row((task, kind), cells))
    note = (
        "Best feasible threshold of the grid, and its reward minus the steady-state reward of the threshold each seed "
        "settled on (OFS: the median play of the tail; U and PD: the mean centre of the tail). Sampled: fixed "
        "thresholds played and batches averaged, as in the paper. Exact: steady states solved, population figures."
    )
    return [Table("table2", "Table II. Oracle and gaps", note, ("task", "kind"), COLUMNS, rows)]
