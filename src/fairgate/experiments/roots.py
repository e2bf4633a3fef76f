"""Tables IV and V over many roots of random numbers: sets of as many loops as the paper ran."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgate.estimates import Estimate
from fairgate.experiments.plan import (
    METHODS,
    SEMI_SYNTHETIC,
    TASKS,
    TITLES,
    Context,
    paper,
    stress_settings,
    tuning_grid,
)
from fairgate.experiments.results import Cell, Row, Table
from fairgate.experiments.tables import RULES, selection, spread, winner


def tables(context: Context) -> list[Table]:
    """Tables IV and V over many roots: how often each setting is selected, and how often each method wins."""
    plan = context.plan
    rates, often = [], []
    for task in TASKS:
        for kind in ("batch", "population"):
            won = winners(context, task, kind)
            printed = paper()["table5"][task] if kind == "batch" else {}
            cells = {}
            for index, method in enumerate(METHODS):
                rate = 100.0 * (won == index).mean(axis=0)
                theirs = Estimate(printed[method]) if method in printed else None
                cells[method] = Cell(Estimate(float(rate[0])), theirs, 1, spread(rate))
                cells[f"{method}_mean"] = Cell(Estimate(float(rate.mean())), digits=1)
            rates.append(Row((task, kind), cells))
            for (varied, factor), by_root in zip(stress_settings(), won, strict=True):
                counts = {method: str(int((by_root == index).sum())) for index, method in enumerate(METHODS)}
                cells = {method: Cell(count) for method, count in counts.items()}
                often.append(Row((task, kind, varied, f"× {factor:g}"), cells))
    selected = []
    for task in SEMI_SYNTHETIC:
        found = selections(context, task)
        for index, (step, dual) in enumerate(tuning_grid()):
            found_by = [rule for best, rule in found if best == index]
            counts = {rule: str(found_by.count(rule)) for rule in RULES}
            selected.append(Row((task, f"{step:g}", f"{dual:g}"), {rule: Cell(text) for rule, text in counts.items()}))
    columns = {"unconstrained": "Unconstrained %", "primal-dual": "PrimalDual %", "ofs": "OFS-Grid %"}
    means = {f"{method}_mean": f"mean, {TITLES[method]} %" for method in METHODS}
    note = (
        f"Win rates in {plan.sets} sets of {plan.seeds} loops, each set what another root of random numbers gives: of "
        "the first set, between which values 90% of all sets lie, and the mean over sets."
    )
    settings = f"In how many of {plan.sets} sets each method wins a setting."
    tuned = f"In how many of {plan.sets} sets a setting is selected, by the rule that selects it."
    heads = ("task", "kind", "varied", "factor")
    names, rules = {method: TITLES[method] for method in METHODS}, dict(zip(RULES, RULES, strict=True))
    tuning = ("task", "η", "μ")
    return [
        Table("roots5", "Table V over many roots", note, ("task", "kind"), columns | means, rates),
        Table("roots5-settings", "Table V over many roots, setting by setting", settings, heads, names, often),
        Table("roots4-grid", "Table IV over many roots", tuned, tuning, rules, selected),
    ]


def winners(context: Context, task: str, kind: str) -> NDArray[np.int64]:
    """Which method wins each stress setting in each set of seeds, (settings, sets)."""
    jobs = zip(*(context.plan.stress_many(task, method) for method in METHODS), strict=True)
    return np.array([winner([context.sets(job) for job in setting], kind) for setting in jobs])


def selections(context: Context, task: str) -> list[tuple[int, str]]:
    """The tuning setting that each set of seeds selects, and by which rule."""
    plan = context.plan
    found = [context.figures(job) for job in plan.tuning_many(task)]
    whole = {name: np.array([each[name] for each in found]).reshape(-1, plan.sets, plan.seeds) for name in found[0]}
    return [selection({name: values[:, each].ravel() for name, values in whole.items()}) for each in range(plan.sets)]
