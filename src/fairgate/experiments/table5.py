"""Table V: who wins under stress, over nine settings a task."""

from __future__ import annotations

import numpy as np

from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, Context, Plan, paper, stress_settings
from fairgate.experiments.results import Cell, Number, Row, Table
from fairgate.experiments.table4 import by_setting, tail_feasible


def jobs(plan: Plan) -> list[Job]:
    """One run a task and method holds all nine settings."""
    return [plan.stress(task, method) for task in TASKS for method in METHODS]


def winners(context: Context, task: str, kind: str = "batch") -> list[str]:
    """The winner of each setting: the feasible method of highest tail reward, else that of smallest violation.

    `kind` is ``"batch"``, as in the paper, or ``"population"``.
    """
    settings = len(stress_settings())
    prefix = "" if kind == "batch" else "population_"
    feasible, reward, violation = {}, {}, {}
    for method in METHODS:
        job = context.plan.stress(task, method)
        figures = context.figures(job)
        feasible[method] = tail_feasible(context, job, settings, kind)
        reward[method] = by_setting(figures[f"{prefix}reward"], settings)
        violation[method] = by_setting(figures[f"{prefix}violation"], settings)
    found = []
    for index in range(settings):
        able = [method for method in METHODS if feasible[method][index]]
        if able:
            found.append(max(able, key=lambda method: float(reward[method][index])))
        else:
            found.append(min(METHODS, key=lambda method: float(violation[method][index])))
    return found


def win_rate(context: Context, task: str, method: str, kind: str = "batch") -> float:
    """Percentage of settings a method wins."""
    return 100.0 * float(np.mean([winner == method for winner in winners(context, task, kind)]))


def compute(context: Context) -> list[Table]:
    """Lay out the win rates and, setting by setting, who won."""
    rates, details = [], []
    for task in TASKS:
        for kind in ("batch", "population"):
            printed = paper()["table5"][task] if kind == "batch" else {}
            cells = {
                method: Cell(
                    Number(win_rate(context, task, method, kind)),
                    Number(printed[method]) if method in printed else None,
                    1,
                )
                for method in METHODS
            }
            rates.append(Row((task, kind), cells))
        batch, population = winners(context, task), winners(context, task, "population")
        for index, (name, factor) in enumerate(stress_settings()):
            cells = {"batch": Cell(batch[index]), "population": Cell(population[index])}
            details.append(Row((task, name, f"× {factor:g}"), cells))
    columns = {"unconstrained": "Unconstrained %", "primal-dual": "PrimalDual %", "ofs": "OFS-Grid %"}
    rule = (
        "Winner: the method of highest tail reward among those whose tail residuals, averaged over seeds, are met; if "
        "none, the one of smallest cumulative violation. The nine settings are ours; the paper names only the three "
        "numbers that are varied."
    )
    return [
        Table("table5", "Table V. Win rates under stress", rule, ("task", "kind"), columns, rates),
        Table(
            "table5-settings",
            "Table V, setting by setting",
            "Winner by batch figures, as in the paper, and by the population's.",
            ("task", "varied", "factor"),
            {"batch": "Winner (batch)", "population": "Winner (exact)"},
            details,
        ),
    ]
