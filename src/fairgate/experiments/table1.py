"""Table I: tail reward, tail gap and cumulative violation of the three methods on the three tasks."""

from __future__ import annotations

from collections.abc import Sequence

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, Context, Plan, main_jobs, paper
from fairgate.experiments.results import Cell, Row, Table

COLUMNS = {
    "reward": "Reward",
    "gap": "DP gap",
    "violation": "Cum. violation",
    "population_gap": "DP gap, exact",
    "population_violation": "Cum. violation, exact",
    "feasible": "Feasible, %",
}


def jobs(plan: Plan) -> list[Job]:
    """Every method on every task."""
    return main_jobs(plan, TASKS)


def compute(context: Context) -> list[Table]:
    """Lay out Table I."""
    return [methods_table(context, "table1", "Table I. Main results", TASKS)]


def methods_table(context: Context, key: str, title: str, tasks: Sequence[str]) -> Table:
    """Lay out the three methods on some tasks, beside what the paper prints under `key`."""
    rows = []
    for task in tasks:
        for method in METHODS:
            ours, printed = context.figures(context.plan.main(task, method)), paper()[key][task][method]
            cells = {
                column: Cell(
                    Estimate.of(ours[column]),
                    Estimate(printed[column][0], sd=printed[column][1]) if column in printed else None,
                    digits=2 if "violation" in column else 4,
                )
                for column in COLUMNS
            }
            cells["feasible"] = Cell(Estimate(100.0 * float(ours["feasible"].mean())), digits=0)
            rows.append(Row((task, method), cells))
    plan = context.plan
    note = (
        f"Tail means over the last {plan.tail} of {plan.rounds} rounds, mean ± sd over {plan.seeds} seeds; violations "
        "summed over all rounds. The paper reports batch figures; the exact ones are the population's. Feasible is the "
        "share of tail rounds in which the population meets every constraint."
    )
    return Table(key, title, note, ("task", "method"), COLUMNS, rows)
