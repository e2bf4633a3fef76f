"""Tables I to VI, ours beside the paper's, and the rules behind them that the claims rest on too."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

from fairgate.estimates import Estimate
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import (
    METHODS,
    SEMI_SYNTHETIC,
    STRICT,
    TASKS,
    Context,
    paper,
    stress_settings,
    tuning_grid,
)
from fairgate.experiments.results import Cell, Row, Table
from fairgate.learners import Fixed
from fairgate.oracle import exact_sweep
from fairgate.settings import Array
from fairgate.simulation import simulate

FEASIBLE, INFEASIBLE = "feasible-max-reward", "infeasible-min-violation"


def table1(context: Context) -> list[Table]:
    """Table I: the three methods on the three tasks."""
    return [methods_table(context, "table1", "Table I. Main results", TASKS)]


def table6(context: Context) -> list[Table]:
    """Table VI: the three methods under constraints that conflict."""
    title = "Table VI. Strict constraints (ε = 0.01, acceptance in [0.35, 0.85])"
    return [methods_table(context, "table6", title, STRICT)]


def methods_table(context: Context, key: str, title: str, tasks: Sequence[str]) -> Table:
    """Lay out tail reward, tail gap and cumulative violation of the three methods on some tasks."""
    columns = {
        "reward": "Reward",
        "gap": "DP gap",
        "violation": "Cum. violation",
        "population_gap": "DP gap, exact",
        "population_violation": "Cum. violation, exact",
        "feasible": "Feasible, %",
    }
    rows = []
    for task in tasks:
        for method in METHODS:
            figures = context.figures(context.plan.job(task, method))
            ours = {column: Estimate.of(figures[column]) for column in columns}
            printed = {column: Estimate(mean, sd=sd) for column, (mean, sd) in paper()[key][task][method].items()}
            cells = _beside(ours, printed)
            cells["feasible"] = Cell(Estimate(100.0 * float(figures["feasible"].mean())), digits=0)
            rows.append(Row((task, method), cells))
    plan = context.plan
    note = (
        f"Tail means over the last {plan.tail} of {plan.rounds} rounds, mean ± sd over {plan.seeds} seeds; violations "
        "summed over all rounds. The paper reports batch figures; the exact ones are the population's. Feasible is the "
        "share of tail rounds in which the population meets every constraint."
    )
    return Table(key, title, note, ("task", "method"), columns, rows)


def _digits(column: str) -> int:
    return 2 if "violation" in column else 4


def _beside(ours: Mapping[str, Estimate], printed: Mapping[str, Estimate]) -> dict[str, Cell]:
    """Put the paper's figures beside ours."""
    return {column: Cell(value, printed.get(column), _digits(column)) for column, value in ours.items()}


def reward_gaps(context: Context, task: str, method: str, many: bool = False) -> Array:
    """Exact steady-state reward of the best feasible grid threshold minus that of each seed's settled threshold."""
    reached = exact_sweep(context.plan.task(task), context.settled(task, method, many))
    return context.oracles[task].best.reward - reached.reward


def sampled_gaps(context: Context, task: str, method: str) -> Array:
    """The same as the paper would measure it: the sampled sweep's best minus batch means of the settled threshold."""
    settled = Fixed(context.settled(task, method).tolist())
    run = simulate(context.plan.task(task), settled, 600, seed=context.plan.seed + 20_000)
    return np.asarray(context.sweeps[task].best.reward - run.batch.reward[:, 200:].mean(axis=1))


def table2(context: Context) -> list[Table]:
    """Table II: the best feasible fixed threshold, and how far each method's settled threshold is from it."""
    columns = {
        "oracle_reward": "Oracle reward",
        "oracle_gap": "Oracle DP gap",
        "oracle_acceptance": "Oracle acceptance",
        "unconstrained": "Gap (U)",
        "primal-dual": "Gap (PD)",
        "ofs": "Gap (OFS)",
    }
    rows = []
    for task in TASKS:
        for kind, best in (("sampled", context.sweeps[task].best), ("exact", context.oracles[task].best)):
            printed = {column: Estimate(value) for column, value in paper()["table2"][task].items()}
            gaps = sampled_gaps if kind == "sampled" else reward_gaps
            ours = {f"oracle_{name}": Estimate(getattr(best, name)) for name in ("reward", "gap", "acceptance")}
            ours |= {method: Estimate.of(gaps(context, task, method)) for method in METHODS}
            rows.append(Row((task, kind), _beside(ours, printed if kind == "sampled" else {})))
    note = (
        "Best feasible threshold of the grid, and its reward minus the steady-state reward of the threshold each seed "
        "settled on (OFS: the median play of the tail; U and PD: the mean centre of the tail). Sampled: fixed "
        "thresholds played and batches averaged, as in the paper. Exact: steady states solved, population figures."
    )
    return [Table("table2", "Table II. Oracle and gaps", note, ("task", "kind"), columns, rows)]


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
    """Differences by seed in the direction of Table III: positive is in favour of OFS."""
    ofs, dual = (context.figures(context.plan.job(task, m, many))[column] for m in ("ofs", "primal-dual"))
    return ofs - dual if column.endswith("reward") else dual - ofs


def table3(context: Context) -> list[Table]:
    """Table III: paired bootstrap intervals of the differences between PrimalDual and OFS."""
    columns = {
        "reward": "Δ reward (OFS − PD)",
        "gap": "Δ DP gap (PD − OFS)",
        "violation": "Δ violation (PD − OFS)",
        "population_reward": "Δ reward, exact",
        "population_gap": "Δ DP gap, exact",
        "population_violation": "Δ violation, exact",
    }
    rows = []
    for task in TASKS:
        printed = {column: Estimate(*values) for column, values in paper()["table3"][task].items()}
        ours = {column: interval(differences(context, task, column)) for column in columns}
        rows.append(Row((task,), _beside(ours, printed)))
    note = (
        f"Mean and 95% paired percentile bootstrap (9,999 resamples) over {context.plan.seeds} seeds. "
        "Positive is in favour of OFS."
    )
    return [Table("table3", "Table III. Differences and their intervals", note, ("task",), columns, rows)]


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
    """Index of the selected tuning setting, and the rule that selected it."""
    job, settings = context.plan.tuning(task), len(tuning_grid())
    reward, violation = (by_setting(context.figures(job)[name], settings) for name in ("reward", "violation"))
    feasible = tail_feasible(context, job, settings)
    return int(best_of(reward, feasible, violation)), FEASIBLE if feasible.any() else INFEASIBLE


def table4(context: Context) -> list[Table]:
    """Table IV: the setting of PrimalDual that the paper's rule selects, and the whole grid."""
    grid = tuning_grid()
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
        job = context.plan.tuning(task)
        feasible = tail_feasible(context, job, len(grid))
        figures = {name: values.reshape(len(grid), -1) for name, values in context.figures(job).items()}
        for index, (step, dual) in enumerate(grid):
            cells = {
                name: Cell(Estimate.of(figures[name][index]), digits=_digits(name))
                for name in ("reward", "gap", "violation")
            }
            cells["feasible"] = Cell("yes" if feasible[index] else "no")
            cells["selected"] = Cell("selected" if index == best else "")
            everything.append(Row((task, f"{step:g}", f"{dual:g}"), cells))
    note = (
        "Selection: the highest tail reward among settings whose tail residuals are met, else the least violation. "
        "The grid is ours; the paper prints only what it selected."
    )
    columns = {"step": "η", "dual_step": "μ", "rule": "Selection rule"}
    epsilon = ", ".join(f"{task}: {context.plan.task(task).problem.constraints}" for task in SEMI_SYNTHETIC)
    details = {
        "reward": "Reward",
        "gap": "DP gap (batch)",
        "violation": "Cum. violation",
        "feasible": "Feasible tail",
        "selected": "Selected",
    }
    whole = f"Batch figures, mean ± sd over seeds. {epsilon}."
    return [
        Table("table4", "Table IV. PrimalDual tuning", note, ("task",), columns, chosen),
        Table("table4-grid", "Table IV, the whole grid", whole, ("task", "η", "μ"), details, everything),
    ]


def winners(context: Context, task: str, kind: str = "batch") -> list[str]:
    """The winner of each stress setting: the feasible method of highest tail reward, else that of smallest violation.

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


def table5(context: Context) -> list[Table]:
    """Table V: how often each method wins under stress, and setting by setting who won."""
    rates, details = [], []
    for task in TASKS:
        for kind in ("batch", "population"):
            printed = paper()["table5"][task] if kind == "batch" else {}
            cells = {}
            for method in METHODS:
                theirs = Estimate(printed[method]) if method in printed else None
                cells[method] = Cell(Estimate(win_rate(context, task, method, kind)), theirs, 1)
            rates.append(Row((task, kind), cells))
        pairs = zip(stress_settings(), winners(context, task), winners(context, task, "population"), strict=True)
        for (name, factor), batch, population in pairs:
            cells = {"batch": Cell(batch), "population": Cell(population)}
            details.append(Row((task, name, f"× {factor:g}"), cells))
    rule = (
        "Winner: the method of highest tail reward among those whose tail residuals, averaged over seeds, are met; if "
        "none, the one of smallest cumulative violation. The nine settings are ours; the paper names only the three "
        "numbers that are varied."
    )
    columns = {"unconstrained": "Unconstrained %", "primal-dual": "PrimalDual %", "ofs": "OFS-Grid %"}
    kinds = {"batch": "Winner (batch)", "population": "Winner (exact)"}
    note = "Winner by batch figures, as in the paper, and by the population's."
    return [
        Table("table5", "Table V. Win rates under stress", rule, ("task", "kind"), columns, rates),
        Table("table5-settings", "Table V, setting by setting", note, ("task", "varied", "factor"), kinds, details),
    ]
