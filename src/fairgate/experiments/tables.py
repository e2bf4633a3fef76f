"""Tables I to VI, ours beside the paper's, and the rules behind them that the claims rest on too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.estimates import Estimate
from fairgate.experiments.plan import (
    METHODS,
    SEMI_SYNTHETIC,
    STEPS,
    STRICT,
    TASKS,
    TITLES,
    Context,
    paper,
    stress_settings,
    tuning_grid,
)
from fairgate.experiments.results import Cell, Row, Table
from fairgate.learners import Fixed
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.thresholds import exact_sweep

FEASIBLE, INFEASIBLE = RULES = "feasible-max-reward", "infeasible-min-violation"


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
            rows.append(Row((task, method), with_roots(context, task, method, cells)))
    plan = context.plan
    note = (
        f"Tail means over the last {plan.tail} of {plan.rounds} rounds, mean ± sd over {plan.seeds} seeds; violations "
        "summed over all rounds. The paper reports batch figures; the exact ones are the population's. Feasible is the "
        "share of tail rounds in which the population meets every constraint."
    )
    if plan.sets > 1:
        note += (
            f" Roots: between which values 90% of the means over {plan.seeds} seeds lie, in {plan.sets} sets of as "
            "many loops, ours the first of them. Loops are independent, so other sets are what other roots of random "
            "numbers would have given."
        )
    return Table(key, title, note, ("task", "method"), columns, rows)


def with_roots(context: Context, task: str, method: str, cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Add between which values 90% of the sets of seeds lie, if there are several."""
    if context.plan.sets == 1:
        return dict(cells)
    found = context.sets(context.plan.job(task, method, many=True))
    scale = {"feasible": 100.0}
    return {name: replace(cell, roots=spread(scale.get(name, 1.0) * found[name])) for name, cell in cells.items()}


def spread(values: Array) -> Estimate:
    """Mean, and between which values the middle 90% lie."""
    low, high = np.quantile(values, (0.05, 0.95))
    return Estimate(float(values.mean()), float(low), float(high))


def _digits(column: str) -> int:
    return 2 if "violation" in column else 4


def _beside(ours: Mapping[str, Estimate], printed: Mapping[str, Estimate]) -> dict[str, Cell]:
    """Put the paper's figures beside ours."""
    return {column: Cell(value, printed.get(column), _digits(column)) for column, value in ours.items()}


def reward_gaps(context: Context, task: str, method: str, many: bool = False) -> Array:
    """Exact steady-state reward of the best feasible grid threshold minus that of each seed's settled threshold."""
    reached = exact_sweep(context.plan.task(task), context.settled(task, method, many))
    return context.oracles[task].best.reward - reached.reward


def sampled_gaps(context: Context, task: str) -> Array:
    """The same as the paper would measure it: the sampled sweep's best minus batch means, method by method."""
    settled = np.concatenate([context.settled(task, method) for method in METHODS])
    seed = context.plan.seed + 20_000
    run = simulate(context.plan.task(task), Fixed(settled.tolist()), 600, seed=seed, parts=len(METHODS))
    reached = run.batch.reward[:, 200:].mean(axis=1).reshape(len(METHODS), -1)
    return np.asarray(context.sweeps[task].best.reward - reached)


def sampling(context: Context, task: str) -> str:
    """Say how the oracle that was sampled and the exact one differ, and why."""
    sampled, exact = context.sweeps[task], context.oracles[task].best
    name, best = TITLES[task], sampled.best
    if best.threshold == exact.threshold:
        return (
            f"{name}: the same threshold {exact.threshold:.4f}; acceptance {best.acceptance:.4f} and "
            f"{exact.acceptance:.4f}, gap {best.gap:.4f} and {exact.gap:.4f}."
        )
    passed = sampled.point(int(np.searchsorted(sampled.thresholds, exact.threshold)))
    names = zip(context.plan.task(task).problem.names, passed.residuals, strict=True)
    broken = ", ".join(f"{which} {value:+.4f}" for which, value in names if value > 0.0)
    why = f"breaks a constraint in the samples ({broken})" if broken else "earns less in the samples"
    return f"{name}: threshold {best.threshold:.4f} instead of {exact.threshold:.4f}, which {why}."


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
        sampled = dict(zip(METHODS, sampled_gaps(context, task), strict=True))
        exact = {method: reward_gaps(context, task, method) for method in METHODS}
        for kind, best, gaps in (
            ("sampled", context.sweeps[task].best, sampled),
            ("exact", context.oracles[task].best, exact),
        ):
            printed = {column: Estimate(value) for column, value in paper()["table2"][task].items()}
            ours = {f"oracle_{name}": Estimate(getattr(best, name)) for name in ("reward", "gap", "acceptance")}
            ours |= {method: Estimate.of(gaps[method]) for method in METHODS}
            rows.append(Row((task, kind), _beside(ours, printed if kind == "sampled" else {})))
    note = (
        "Best feasible threshold of the grid, and its reward minus the steady-state reward of the threshold each seed "
        "settled on (OFS: the median play of the tail; U and PD: the mean centre of the tail). Sampled: fixed "
        "thresholds played and batches averaged, as in the paper. Exact: steady states solved, population figures. "
        "Sampled and exact acceptance and gap differ by the noise of the batches, which lifts every gap, and by which "
        "threshold then seems best. " + " ".join(sampling(context, task) for task in TASKS)
    )
    return [Table("table2", "Table II. Oracle and gaps", note, ("task", "kind"), columns, rows)]


RESAMPLES = 9999


def interval(differences: Array, seed: int = 0) -> Estimate:
    """Mean of paired differences with its 95% percentile bootstrap interval over seeds."""
    mean, count = float(differences.mean()), len(differences)
    if count < 2:
        return Estimate(mean, seeds=count)
    low, high = np.quantile(differences[_resamples(count, seed)].mean(axis=1), (0.025, 0.975))
    return Estimate(mean, float(low), float(high), seeds=count)


@cache
def _resamples(count: int, seed: int) -> NDArray[np.int64]:
    """Which seeds each resample consists of, (resamples, seeds)."""
    return np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))


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
        f"Mean and 95% paired percentile bootstrap ({RESAMPLES:,} resamples) over {context.plan.seeds} seeds. "
        "Positive is in favour of OFS."
    )
    return [Table("table3", "Table III. Differences and their intervals", note, ("task",), columns, rows)]


def by_setting(values: Array, settings: int) -> Array:
    """Mean over seeds of each setting (settings outer, seeds inner)."""
    return np.asarray(values.reshape(settings, -1).mean(axis=1))


def best_of(reward: Array, feasible: NDArray[np.bool], violation: Array) -> NDArray[np.int64]:
    """The paper's rule over the first axis: the highest reward of those that are feasible, else the least violation.

    Feasible is judged by the tail and violation over all rounds, unlike in :func:`fairgate.problem.best_feasible`.
    """
    highest = np.where(feasible, reward, -np.inf).argmax(axis=0)
    return np.asarray(np.where(feasible.any(axis=0), highest, violation.argmin(axis=0)))


READINGS = ("tail means", "every seed", "without the smallest η", "every seed, without the smallest η")
"""How "feasible" may be meant in the tuning, and a smaller grid: only the first is used elsewhere."""


def select(context: Context, task: str, reading: str = READINGS[0]) -> tuple[int, str]:
    """Index of the selected tuning setting, and the rule that selected it."""
    return selection(context.figures(context.plan.tuning(task)), reading)


def selection(figures: Mapping[str, Array], reading: str = READINGS[0]) -> tuple[int, str]:
    """Select from one line per setting and seed (settings outer)."""
    grid = tuning_grid()
    reward, violation = (by_setting(figures[name], len(grid)) for name in ("reward", "violation"))
    allowed = np.array(["without" not in reading or step > STEPS[0] for step, _ in grid])
    feasible = feasible_tail(figures, every="every seed" in reading) & allowed
    best = best_of(np.where(allowed, reward, -np.inf), feasible, np.where(allowed, violation, np.inf))
    return int(best), FEASIBLE if feasible.any() else INFEASIBLE


def feasible_tail(figures: Mapping[str, Array], every: bool = False) -> NDArray[np.bool]:
    """Whether each tuning setting meets every residual in the tail: in the mean over seeds, or in `every` one."""
    residuals = [values for name, values in figures.items() if name.startswith("batch_residual_")]
    by_seed = np.array(residuals).reshape(len(residuals), len(tuning_grid()), -1)
    return np.asarray((by_seed.max(axis=(0, 2)) if every else by_seed.mean(axis=2).max(axis=0)) <= 0.0)


def table4(context: Context) -> list[Table]:
    """Table IV: the setting of PrimalDual that the paper's rule selects, other readings of it, and the whole grid."""
    grid = tuning_grid()
    chosen, readings, everything, same = [], [], [], []
    for task in SEMI_SYNTHETIC:
        best, _ = select(context, task)
        chosen.append(Row((task,), _selected(task, *select(context, task))))
        readings += [Row((task, each), _selected(task, *select(context, task, each))) for each in READINGS]
        job = context.plan.tuning(task)
        feasible = feasible_tail(context.figures(job))
        figures = {name: values.reshape(len(grid), -1) for name, values in context.figures(job).items()}
        for index, (step, dual) in enumerate(grid):
            cells = {
                name: Cell(Estimate.of(figures[name][index]), digits=_digits(name))
                for name in ("reward", "gap", "violation")
            }
            cells["feasible"] = Cell("yes" if feasible[index] else "no")
            cells["selected"] = Cell("selected" if index == best else "")
            everything.append(Row((task, f"{step:g}", f"{dual:g}"), cells))
        same.append(_twice(context, task, figures["reward"]))
    note = (
        "Selection: the highest tail reward among settings whose tail residuals are met, else the least violation. "
        "The grid is ours; the paper prints only what it selected."
    )
    columns = {"step": "η", "dual_step": "μ", "rule": "Selection rule"}
    other = (
        "The paper does not say when a setting is feasible. Tail means: each residual's mean over the tail and the "
        "seeds is met, which is used everywhere else here. Every seed: its tail mean is met in each seed. The last two "
        f"leave η = {STEPS[0]:g} out of our grid."
    )
    epsilon = ", ".join(f"{TITLES[task]}: {context.plan.task(task).problem.constraints}" for task in SEMI_SYNTHETIC)
    details = {
        "reward": "Reward",
        "gap": "DP gap (batch)",
        "violation": "Cum. violation",
        "feasible": "Feasible tail",
        "selected": "Selected",
    }
    whole = f"Batch figures, mean ± sd over seeds. {epsilon}. {' '.join(same)}"
    return [
        Table("table4", "Table IV. PrimalDual tuning", note, ("task",), columns, chosen),
        Table("table4-rules", "Table IV, other readings of the rule", other, ("task", "feasible"), columns, readings),
        Table("table4-grid", "Table IV, the whole grid", whole, ("task", "η", "μ"), details, everything),
    ]


def _selected(task: str, index: int, rule: str) -> dict[str, Cell]:
    """The selected setting and its rule, beside the paper's."""
    printed, (step, dual) = paper()["table4"][task], tuning_grid()[index]
    return {
        "step": Cell(Estimate(step), Estimate(printed["step"]), 2),
        "dual_step": Cell(Estimate(dual), Estimate(printed["dual_step"]), 2),
        "rule": Cell(rule, printed["rule"]),
    }


def _twice(context: Context, task: str, rewards: Array) -> str:
    """Say that the setting of Table I reads the same in the grid, and how much ten other loops of it may differ."""
    learner: Any = context.plan.learner("primal-dual", task)  # a variant may have another that is tuned alike
    setting = float(np.asarray(learner.step)), float(np.asarray(learner.dual_step))
    if setting not in tuning_grid():
        return ""
    here = float(rewards[tuning_grid().index(setting)].mean())
    job = context.plan.job(task, "primal-dual", many=True)
    there = float(context.figures(context.plan.job(task, "primal-dual"))["reward"].mean())
    said = (
        f"{TITLES[task]} at Table I's setting {setting}: reward {here:.4f} here and {there:.4f} in Table I, since "
        "every setting meets the people of Table I"
    )
    if context.plan.sets == 1:
        return said + "."
    other = spread(context.sets(job)["reward"])
    return f"{said}; with other people the same setting gives {other.low:.4f} to {other.high:.4f} (90% of roots)."


def winners(context: Context, task: str, kind: str = "batch") -> list[str]:
    """The winner of each stress setting: the feasible method of highest tail reward, else that of smallest violation.

    `kind` is ``"batch"``, as in the paper, or ``"population"``.
    """
    jobs = [context.plan.stress(task, method) for method in METHODS]
    count = len(stress_settings())
    figures = [{name: by_setting(each, count) for name, each in context.figures(job).items()} for job in jobs]
    return [METHODS[index] for index in winner(figures, kind)]


def winner(figures: Sequence[Mapping[str, Array]], kind: str) -> NDArray[np.int64]:
    """Which method wins, from each method's means over seeds (any number of settings)."""
    prefix = "" if kind == "batch" else "population_"
    kept = [np.max([each[name] for name in each if name.startswith(f"{kind}_residual_")], axis=0) for each in figures]
    reward, violation = (np.array([each[f"{prefix}{name}"] for each in figures]) for name in ("reward", "violation"))
    return best_of(reward, np.array(kept) <= 0.0, violation)


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
