"""Table III: paired bootstrap intervals of the differences between PrimalDual and OFS."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import bootstrap

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import TASKS, Context, Plan, main_jobs, paper
from fairgate.experiments.results import Cell, Row, Table
from fairgate.settings import Array

COLUMNS = {
    "reward": "Δ reward (OFS − PD)",
    "gap": "Δ DP gap (PD − OFS)",
    "violation": "Δ violation (PD − OFS)",
    "population_reward": "Δ reward, exact",
    "population_gap": "Δ DP gap, exact",
    "population_violation": "Δ violation, exact",
}


def jobs(plan: Plan) -> list[Job]:
    """The two methods on every task."""
    return main_jobs(plan, TASKS, ("primal-dual", "ofs"))


def interval(differences: Array, seed: int = 0) -> Estimate:
    """Mean of paired differences with its 95% percentile bootstrap interval over seeds."""
    mean = float(differences.mean())
    if len(differences) < 2:
        return Estimate(mean, seeds=len(differences))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal differences make a degenerate interval, which is what it should be
        found = bootstrap((differences,), np.mean, n_resamples=9999, method="percentile", rng=seed).confidence_interval
    return Estimate(mean, float(found.low), float(found.high), seeds=len(differences))


def differences(context: Context, task: str, column: str, many: bool = False) -> Array:
    """Differences by seed in the direction of the table: positive is in favour of OFS."""
    ofs, dual = (context.figures(context.plan.job(task, m, many))[column] for m in ("ofs", "primal-dual"))
    return ofs - dual if column.endswith("reward") else dual - ofs


def compute(context: Context) -> list[Table]:
    """Lay out Table III."""
    rows = []
    for task in TASKS:
        printed = paper()["table3"][task]
        cells = {}
        for column in COLUMNS:
            theirs = None
            if column in printed:
                theirs = Estimate(*printed[column])
            digits = 2 if "violation" in column else 4
            cells[column] = Cell(interval(differences(context, task, column)), theirs, digits)
        rows.append(Row((task,), cells))
    note = (
        f"Mean and 95% paired percentile bootstrap (9,999 resamples) over {context.plan.seeds} seeds. "
        "Positive is in favour of OFS."
    )
    return [Table("table3", "Table III. Differences and their intervals", note, ("task",), COLUMNS, rows)]
