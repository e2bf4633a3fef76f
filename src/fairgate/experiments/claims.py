"""The claims ledger: every checkable sentence of the paper, judged by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import (
    METHODS,
    SEMI_SYNTHETIC,
    STRICT,
    TASKS,
    TITLES,
    Context,
    Plan,
    epsilon,
    main_jobs,
    paper,
    words,
)
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS, Claim
from fairgate.experiments.table2 import reward_gaps
from fairgate.experiments.table3 import differences, interval
from fairgate.experiments.table4 import select
from fairgate.experiments.table5 import win_rate
from fairgate.oracle import exact_sweep
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import load_task


@dataclass(frozen=True)
class View:
    """A way of looking: the paper's (its seeds, batch figures), with many seeds, or with exact population figures."""

    context: Context
    many: bool = False
    exact: bool = False

    @property
    def name(self) -> str:
        """What the view is called in the ledger."""
        seeds = f"{self.context.plan.many if self.many else self.context.plan.seeds} seeds"
        return f"{seeds}, {'population' if self.exact else 'batch'} figures"

    def values(self, task: str, method: str, figure: str) -> Array:
        """One value per seed of ``reward``, ``gap`` or ``violation``."""
        job = self.context.plan.job(task, method, self.many)
        return self.context.figures(job)[f"population_{figure}" if self.exact else figure]

    def mean(self, task: str, method: str, figure: str) -> float:
        """Mean over seeds."""
        return float(self.values(task, method, figure).mean())


T = TypeVar("T")

Judged = tuple[str, str]
Judge = Callable[[View], Judged]


def graded(full: Iterable[bool], weak: Iterable[bool]) -> str:
    """Holds if all of `full`; holds in direction if more than half of `weak`; else does not hold."""
    met = list(weak)
    return HOLDS if all(full) else DIRECTION if sum(met) > len(met) / 2 else FAILS


def by_limits(
    values: Mapping[str, T], full: Callable[[T], bool], weak: Callable[[T], bool], text: Callable[[T], str]
) -> Judged:
    """Grade one value per task by what it must meet in full, or at least, and write each."""
    written = "; ".join(f"{TITLES[task]}: {text(value)}" for task, value in values.items())
    return graded(map(full, values.values()), map(weak, values.values())), written


def by_task(view: View, figure: str, tasks: Iterable[str], digits: int, methods: Iterable[str] = METHODS) -> str:
    """Write a figure's means: task by task, method by method."""
    methods = list(methods)
    return "; ".join(
        f"{TITLES[task]}: " + ", ".join(f"{TITLES[m]} {view.mean(task, m, figure):.{digits}f}" for m in methods)
        for task in tasks
    )


def highest_reward(view: View) -> Judged:
    """OFS has the highest mean tail reward, and ("consistently") the highest reward in most seeds."""
    best, often, written = [], [], []
    for task in TASKS:
        rewards = np.array([view.values(task, method, "reward") for method in METHODS])
        best.append(METHODS[int(rewards.mean(axis=1).argmax())] == "ofs")
        ahead = (rewards.argmax(axis=0) == METHODS.index("ofs")).mean()
        often.append(best[-1] and ahead > 0.5)
        written.append(f"{TITLES[task]} {ahead:.0%}")
    return graded(
        often, best
    ), f"{by_task(view, 'reward', TASKS, 4)}. Seeds in which OFS earns most: {', '.join(written)}"


def small_gaps(view: View) -> Judged:
    """OFS's gap is at most three quarters of ε ("well below"), or at least below ε."""
    gaps = {task: view.mean(task, "ofs", "gap") for task in TASKS}
    full = [gaps[task] <= 0.75 * epsilon(task) for task in TASKS]
    weak = [gaps[task] <= epsilon(task) for task in TASKS]
    return graded(full, weak), "; ".join(f"{TITLES[t]}: {gaps[t]:.4f} against ε = {epsilon(t):g}" for t in TASKS)


def dramatic_reduction(view: View) -> Judged:
    """OFS's violation is at most half of either baseline's ("dramatically"), or at least the smallest."""
    ofs = {task: view.mean(task, "ofs", "violation") for task in TASKS}
    others = {task: min(view.mean(task, m, "violation") for m in METHODS if m != "ofs") for task in TASKS}
    full = [ofs[task] <= 0.5 * others[task] for task in TASKS]
    weak = [ofs[task] <= others[task] for task in TASKS]
    return graded(full, weak), by_task(view, "violation", TASKS, 2)


def violation_order(view: View) -> Judged:
    """Violation falls from U over PD to OFS."""
    ordered = []
    for task in SEMI_SYNTHETIC:
        u, dual, ofs = (view.mean(task, method, "violation") for method in METHODS)
        ordered.append(u > dual > ofs)
    return graded(ordered, ordered), by_task(view, "violation", SEMI_SYNTHETIC, 2)


def _ratio(one: float, other: float) -> float:
    """Divide violations; of none at all, nothing is 0 times as much."""
    return one / other if other > 0.0 else float("inf") if one > 0.0 else 0.0


def baseline_window(view: View) -> Judged:
    """PD's violation is at least twice OFS's on the semi-synthetic tasks."""
    ratio = {
        t: _ratio(view.mean(t, "primal-dual", "violation"), view.mean(t, "ofs", "violation")) for t in SEMI_SYNTHETIC
    }
    return by_limits(ratio, lambda r: r >= 2.0, lambda r: r > 1.0, lambda r: f"PD's is {r:.1f} times OFS's")


def near_oracle(view: View) -> Judged:
    """The reward gap of OFS's settled thresholds is below 0.003, or at least below 0.01."""
    gaps = {}
    for task in TASKS:
        settled = view.context.figures(view.context.plan.job(task, "ofs", view.many))["settled"]
        feasible = float(is_feasible(exact_sweep(load_task(task), settled).residuals).mean())
        gaps[task] = float(reward_gaps(view.context, task, "ofs", view.many).mean()), feasible
    verdict, written = by_limits(
        gaps,
        lambda g: g[0] < 0.003,
        lambda g: g[0] < 0.01,
        lambda g: f"{g[0]:.4f} (settled threshold feasible in {g[1]:.0%} of seeds)",
    )
    return verdict, f"exact reward of the oracle minus OFS's: {written}"


def bootstrap_excludes_zero(view: View) -> Judged:
    """Every one of the nine intervals lies above 0."""
    above, written = [], []
    for task in TASKS:
        for figure in ("reward", "gap", "violation"):
            column = f"population_{figure}" if view.exact else figure
            found = interval(differences(view.context, task, column, view.many))
            above.append(found.low > 0.0)
            if not above[-1]:
                written.append(f"{TITLES[task]} {figure} {found.text(2 if figure == 'violation' else 4)}")
    rest = f"; not above 0: {', '.join(written)}" if written else ""
    return graded(above, above), f"{sum(above)} of {len(above)} intervals lie above 0{rest}"


def better_than_tuned(view: View) -> Judged:
    """OFS has more reward and less violation than the tuned PD, or at least less violation."""
    full, weak, written = [], [], []
    plan = view.context.plan
    for task in SEMI_SYNTHETIC:
        index, _ = select(view.context, task)
        part = slice(index * plan.seeds, (index + 1) * plan.seeds)
        figures = view.context.figures(plan.tuning(task))
        prefix = "population_" if view.exact else ""
        reward = float(figures[f"{prefix}reward"][part].mean())
        broken = float(figures[f"{prefix}violation"][part].mean())
        mine = view.mean(task, "ofs", "reward"), view.mean(task, "ofs", "violation")
        full.append(mine[0] >= reward and mine[1] <= broken)
        weak.append(mine[1] <= broken)
        written.append(
            f"{TITLES[task]}: reward {mine[0]:.4f}, violation {mine[1]:.1f}; tuned PD's {reward:.4f}, {broken:.1f}"
        )
    return graded(full, weak), "; ".join(written)


def stress_wins(view: View) -> Judged:
    """OFS wins at least as many stress settings as the paper prints, or at least most of them."""
    kind = "population" if view.exact else "batch"
    rates = {task: win_rate(view.context, task, "ofs", kind) for task in TASKS}
    full = [rates[task] >= paper()["table5"][task]["ofs"] - 0.1 for task in TASKS]
    weak = [rates[task] > 50.0 for task in TASKS]
    return graded(full, weak), "; ".join(
        f"{TITLES[t]}: {rates[t]:.1f}% (paper {paper()['table5'][t]['ofs']:.1f}%)" for t in TASKS
    )


def strict_least(task: str, winner: str, loser: str) -> Judge:
    """On a strict task `winner` has less violation than `loser`."""

    def judge(view: View) -> Judged:
        less = view.mean(task, winner, "violation") < view.mean(task, loser, "violation")
        return graded([less], [less]), by_task(view, "violation", [task], 2, (winner, loser))

    return judge


def strict_infeasible(view: View) -> Judged:
    """No fixed threshold keeps the strict constraints at steady state."""
    best = {task: view.context.oracles[task].refined for task in STRICT}
    full = [not point.feasible for point in best.values()]
    written = []
    for task, point in best.items():
        word = f"feasible, reward {point.reward:.4f}" if point.feasible else "infeasible"
        written.append(
            f"{TITLES[task]}: threshold {point.threshold:.3f} is {word}, worst residual {max(point.residuals):+.4f}"
        )
    return graded(full, full), "; ".join(written)


def sublinear(view: View) -> Judged:
    """Violation of the second half of the run is at most 0.6 of the first half's (√T: 0.41), or at least below 0.9."""
    ratio = {}
    for task in TASKS:
        run = view.context.run(task, "ofs")
        residuals = (run.population if view.exact else run.batch).residuals
        by_round = violation(residuals).mean(axis=0)
        half = len(by_round) // 2
        ratio[task] = _ratio(float(by_round[half:].sum()), float(by_round[:half].sum()))
    verdict, written = by_limits(ratio, lambda r: r <= 0.6, lambda r: r <= 0.9, lambda r: f"{r:.2f}")
    return verdict, f"violation of the second half over that of the first (√T gives 0.41): {written}"


def screens_by_feasibility(view: View) -> Judged:
    """In most rounds some threshold passes the feasibility test, as the rule's first branch needs."""
    share = {task: float((view.context.run(task, "ofs").traces["feasible"] > 0).mean()) for task in TASKS}
    verdict, written = by_limits(share, lambda s: s > 0.9, lambda s: s > 0.5, lambda s: f"{s:.1%}")
    return verdict, f"rounds in which any threshold passes: {written}"


def refines_within(view: View) -> Judged:
    """Apart from exploration at least two thresholds get a tenth of the plays each, or at least a hundredth."""
    counts = {}
    for task in TASKS:
        run = view.context.run(task, "ofs")
        shares = [np.unique(loop, return_counts=True)[1] / len(loop) for loop in run.thresholds[:, :, 0]]
        counts[task] = (
            float(np.mean([(share > 0.1).sum() for share in shares])),
            float(np.mean([(share > 0.01).sum() for share in shares])),
        )
    verdict, written = by_limits(
        counts, lambda c: c[0] >= 2.0, lambda c: c[1] >= 2.0, lambda c: f"{c[0]:.1f} and {c[1]:.1f}"
    )
    return verdict, f"thresholds with more than 10% and more than 1% of a seed's plays: {written}"


def contracting(view: View) -> Judged:
    """One round keeps two states less far apart than they were, under any threshold."""
    factors = {task: load_task(task).environment.contraction() for task in (*TASKS, *STRICT)}
    verdict, written = by_limits(factors, lambda f: f < 1.0, lambda f: f < 1.0, lambda f: f"{f:.3f}")
    return verdict, f"largest share of their distance that a round leaves two states: {written}"


JUDGES: dict[str, tuple[Judge, str]] = {
    "highest-reward": (highest_reward, "many exact"),
    "small-gaps": (small_gaps, "many exact"),
    "dramatic-reduction": (dramatic_reduction, "many exact"),
    "violation-order": (violation_order, "many exact"),
    "baseline-violation": (baseline_window, "many exact"),
    "near-oracle": (near_oracle, "many"),
    "bootstrap": (bootstrap_excludes_zero, "many exact"),
    "after-tuning": (better_than_tuned, "exact"),
    "stress": (stress_wins, "exact"),
    "strict-german": (strict_least("german-strict", "primal-dual", "ofs"), "many exact"),
    "strict-compas": (strict_least("compas-strict", "ofs", "primal-dual"), "many exact"),
    "strict-infeasible": (strict_infeasible, ""),
    "contraction": (contracting, ""),
    "sublinear": (sublinear, "exact"),
    "screening": (screens_by_feasibility, ""),
    "refines": (refines_within, ""),
}
"""How each claim of ``words.toml`` is judged, and under which other views (``many`` seeds, ``exact`` figures)."""


def jobs(plan: Plan) -> list[Job]:
    """Everything the tables rest on, and the same with many seeds."""
    more = [plan.more(task, method) for task in (*TASKS, *STRICT) for method in METHODS]
    stress = [plan.stress(task, method) for task in TASKS for method in METHODS]
    return [*main_jobs(plan, (*TASKS, *STRICT)), *more, *stress, *(plan.tuning(task) for task in SEMI_SYNTHETIC)]


def compute(context: Context) -> list[Claim]:
    """Judge every statement, as the paper would and under the other views that apply."""
    views = {"many": View(context, many=True), "exact": View(context, exact=True)}
    claims = []
    for key, (judge, looks) in JUDGES.items():
        verdict, evidence = judge(View(context))
        others = {}
        for view in (views[look] for look in looks.split()):
            other, proof = judge(view)
            if other != verdict:
                others[view.name] = (other, proof)
        text = words()["claims"][key]
        reason = text["reason"] if verdict == HOLDS else text.get("otherwise", text["reason"])
        claims.append(Claim(key, text["sentence"], evidence, verdict, reason, others))
    return claims
