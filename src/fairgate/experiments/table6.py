"""Table VI: the three methods under constraints that conflict."""

from __future__ import annotations

from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import STRICT, Context, Plan, main_jobs
from fairgate.experiments.results import Table
from fairgate.experiments.table1 import methods_table


def jobs(plan: Plan) -> list[Job]:
    """Every method on the strict tasks."""
    return main_jobs(plan, STRICT)


def compute(context: Context) -> list[Table]:
    """Lay out Table VI."""
    return [
        methods_table(context, "table6", "Table VI. Strict constraints (ε = 0.01, acceptance in [0.35, 0.85])", STRICT)
    ]
