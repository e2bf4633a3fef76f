"""Table V: who wins under stress, over nine settings per task."""

from __future__ import annotations

import numpy as np

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, Context, Plan, paper, stress_settings
from fairgate.experiments.results import Cell, Row, Table
from fairgate.experiments.table4 import best_of, by_setting, tail_feasible


def jobs(plan: Plan) -> list[Job]:
    """One run per task and method holds all nine settings."""
    return [plan.stress(task, method) for task in TASKS for method in METHODS]


def winners(context: Context, task: str, kind: str = "batch") -> list[str]:
    """The winner of each setting: the feasible method of highest tail reward, else that of smallest violation.

    `kind` is ``"batch"``, as in the paper, or ``"population"``.
    """
    settings = len(stress_settings())
    prefix = "" if kind == "batch" else "population_"
    jobs = [context.plan.stress(task, method) for method in METHODS]
    feasible = np.array([tail_feasible(context, job, settings, kind) for job in jobs])
    reward, violation = (
        np.array([by_setting(context.figures(job)[f"{prefix}{name}"], settings) for job in jobs])
        for name in ("reward", "violation")
    )
    return [METHODS[index] for index in best_of(reward, feasible, violation)]


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
                    Estimate(win_rate(context, task, method, kind)),
                    Estimate(printed[method]) if method in printed else None,
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
