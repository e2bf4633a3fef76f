"""The claims ledger: every checkable sentence of the paper, judged by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

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
    paper,
    words,
)
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS, Claim
from fairgate.experiments.tables import differences, interval, reward_gaps, select, win_rate
from fairgate.oracle import exact_sweep
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array


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

    def column(self, figure: str) -> str:
        """What ``reward``, ``gap`` or ``violation`` is called in a job's figures."""
        return f"population_{figure}" if self.exact else figure

    def values(self, task: str, method: str, figure: str) -> Array:
        """One value per seed."""
        return self.context.figures(self.context.plan.job(task, method, self.many))[self.column(figure)]

    def mean(self, task: str, method: str, figure: str) -> float:
        """Mean over seeds."""
        return float(self.values(task, method, figure).mean())

    def means(self, task: str, figure: str, digits: int, methods: Iterable[str] = METHODS) -> str:
        """Write a figure's means, method by method."""
        return ", ".join(f"{TITLES[m]} {self.mean(task, m, figure):.{digits}f}" for m in methods)


Judged = tuple[str, str]
"""A verdict, and what shows it."""

Judge = Callable[[View], Judged]

Shown = tuple[bool, bool, str]
"""Whether a claim is met in full on a task, whether it is at least met in direction there, and what shows it."""


def graded(full: Iterable[bool], weak: Iterable[bool]) -> str:
    """Holds if all of `full`; holds in direction if more than half of `weak`; else does not hold."""
    met = list(weak)
    return HOLDS if all(full) else DIRECTION if sum(met) > len(met) / 2 else FAILS


def by_task(judge: Callable[[View, str], Shown], tasks: Sequence[str] = TASKS, before: str = "") -> Judge:
    """Judge a claim task by task."""

    def judged(view: View) -> Judged:
        full, weak, shown = zip(*(judge(view, task) for task in tasks), strict=True)
        written = "; ".join(f"{TITLES[task]}: {text}" for task, text in zip(tasks, shown, strict=True))
        return graded(full, weak), before + written

    return judged


def highest_reward(view: View) -> Judged:
    """OFS has the highest mean tail reward, and ("consistently") the highest reward in most seeds."""
    best, often, written = [], [], []
    for task in TASKS:
        rewards = np.array([view.values(task, method, "reward") for method in METHODS])
        best.append(METHODS[int(rewards.mean(axis=1).argmax())] == "ofs")
        ahead = (rewards.argmax(axis=0) == METHODS.index("ofs")).mean()
        often.append(best[-1] and ahead > 0.5)
        written.append(f"{TITLES[task]} {ahead:.0%}")
    means = "; ".join(f"{TITLES[task]}: {view.means(task, 'reward', 4)}" for task in TASKS)
    return graded(often, best), f"{means}. Seeds in which OFS earns most: {', '.join(written)}"


def small_gap(view: View, task: str) -> Shown:
    """OFS's gap is at most three quarters of ε ("well below"), or at least below ε."""
    gap, most = view.mean(task, "ofs", "gap"), epsilon(task)
    return gap <= 0.75 * most, gap <= most, f"{gap:.4f} against ε = {most:g}"


def dramatic_reduction(view: View, task: str) -> Shown:
    """OFS's violation is at most half of either baseline's ("dramatically"), or at least the smallest."""
    *others, ofs = (view.mean(task, method, "violation") for method in METHODS)
    return ofs <= 0.5 * min(others), ofs <= min(others), view.means(task, "violation", 2)


def violation_order(view: View, task: str) -> Shown:
    """Violation falls from U over PD to OFS."""
    u, dual, ofs = (view.mean(task, method, "violation") for method in METHODS)
    return u > dual > ofs, u > dual > ofs, view.means(task, "violation", 2)


def _ratio(one: float, other: float) -> float:
    """Divide violations; of none at all, nothing is 0 times as much."""
    return one / other if other > 0.0 else float("inf") if one > 0.0 else 0.0


def baseline_window(view: View, task: str) -> Shown:
    """PD's violation is at least twice OFS's."""
    ratio = _ratio(view.mean(task, "primal-dual", "violation"), view.mean(task, "ofs", "violation"))
    return ratio >= 2.0, ratio > 1.0, f"PD's is {ratio:.1f} times OFS's"


def near_oracle(view: View, task: str) -> Shown:
    """The reward gap of OFS's settled thresholds is below 0.003, or at least below 0.01."""
    reached = exact_sweep(view.context.plan.task(task), view.context.settled(task, "ofs", view.many))
    gap = float(reward_gaps(view.context, task, "ofs", view.many).mean())
    feasible = float(is_feasible(reached.residuals).mean())
    return gap < 0.003, gap < 0.01, f"{gap:.4f} (settled threshold feasible in {feasible:.0%} of seeds)"


def bootstrap_excludes_zero(view: View) -> Judged:
    """Every one of the nine intervals lies above 0."""
    above, written = [], []
    for task in TASKS:
        for figure in ("reward", "gap", "violation"):
            found = interval(differences(view.context, task, view.column(figure), view.many))
            above.append(found.low > 0.0)
            if not above[-1]:
                written.append(f"{TITLES[task]} {figure} {found.text(2 if figure == 'violation' else 4)}")
    rest = f"; not above 0: {', '.join(written)}" if written else ""
    return graded(above, above), f"{sum(above)} of {len(above)} intervals lie above 0{rest}"


def better_than_tuned(view: View, task: str) -> Shown:
    """OFS has more reward and less violation than the tuned PD, or at least less violation."""
    index, _ = select(view.context, task)
    plan = view.context.plan
    figures = view.context.figures(plan.tuning(task))
    part = slice(index * plan.seeds, (index + 1) * plan.seeds)
    reward, broken = (float(figures[view.column(name)][part].mean()) for name in ("reward", "violation"))
    mine = view.mean(task, "ofs", "reward"), view.mean(task, "ofs", "violation")
    shown = f"reward {mine[0]:.4f}, violation {mine[1]:.1f}; tuned PD's {reward:.4f}, {broken:.1f}"
    return mine[0] >= reward and mine[1] <= broken, mine[1] <= broken, shown


def stress_wins(view: View, task: str) -> Shown:
    """OFS wins at least as many stress settings as the paper prints, or at least most of them."""
    rate = win_rate(view.context, task, "ofs", "population" if view.exact else "batch")
    printed = paper()["table5"][task]["ofs"]
    return rate >= printed - 0.1, rate > 50.0, f"{rate:.1f}% (paper {printed:.1f}%)"


def less_violation(winner: str, loser: str, view: View, task: str) -> Shown:
    """`winner` has less violation than `loser`."""
    less = view.mean(task, winner, "violation") < view.mean(task, loser, "violation")
    return less, less, view.means(task, "violation", 2, (winner, loser))


def infeasible(view: View, task: str) -> Shown:
    """No fixed threshold keeps the constraints at steady state."""
    best = view.context.oracles[task].refined
    word = f"feasible, reward {best.reward:.4f}" if best.feasible else "infeasible"
    shown = f"threshold {best.threshold:.3f} is {word}, worst residual {max(best.residuals):+.4f}"
    return not best.feasible, not best.feasible, shown


def sublinear(view: View, task: str) -> Shown:
    """Violation of the second half of the run is at most 0.6 of the first half's (√T: 0.41), or at least below 0.9."""
    run = view.context.run(task, "ofs")
    by_round = violation((run.population if view.exact else run.batch).residuals).mean(axis=0)
    half = len(by_round) // 2
    ratio = _ratio(float(by_round[half:].sum()), float(by_round[:half].sum()))
    return ratio <= 0.6, ratio <= 0.9, f"{ratio:.2f}"


def screens_by_feasibility(view: View, task: str) -> Shown:
    """In most rounds some threshold passes the feasibility test, as the rule's first branch needs."""
    share = float((view.context.run(task, "ofs").traces["feasible"] > 0).mean())
    return share > 0.9, share > 0.5, f"{share:.1%}"


def refines_within(view: View, task: str) -> Shown:
    """Apart from exploration at least two thresholds get a tenth of the plays each, or at least a hundredth."""
    loops = view.context.run(task, "ofs").thresholds[:, :, 0]
    shares = [np.unique(loop, return_counts=True)[1] / len(loop) for loop in loops]
    tenth, hundredth = (float(np.mean([(share > least).sum() for share in shares])) for least in (0.1, 0.01))
    return tenth >= 2.0, hundredth >= 2.0, f"{tenth:.1f} and {hundredth:.1f}"


def contracting(view: View, task: str) -> Shown:
    """One round keeps two states less far apart than they were, under any threshold."""
    factor = view.context.plan.task(task).environment.contraction()
    return factor < 1.0, factor < 1.0, f"{factor:.3f}"


ALL = (*TASKS, *STRICT)
ORACLE = "exact reward of the oracle minus OFS's: "
CONTRACTION = "largest share of their distance that a round leaves two states: "
HALVES = "violation of the second half over that of the first (√T gives 0.41): "
PLAYS = "thresholds with more than 10% and more than 1% of a seed's plays: "

JUDGES: dict[str, tuple[Judge, str]] = {
    "highest-reward": (highest_reward, "many exact"),
    "small-gaps": (by_task(small_gap), "many exact"),
    "dramatic-reduction": (by_task(dramatic_reduction), "many exact"),
    "violation-order": (by_task(violation_order, SEMI_SYNTHETIC), "many exact"),
    "baseline-violation": (by_task(baseline_window, SEMI_SYNTHETIC), "many exact"),
    "near-oracle": (by_task(near_oracle, before=ORACLE), "many"),
    "bootstrap": (bootstrap_excludes_zero, "many exact"),
    "after-tuning": (by_task(better_than_tuned, SEMI_SYNTHETIC), "exact"),
    "stress": (by_task(stress_wins), "exact"),
    "strict-german": (by_task(partial(less_violation, "primal-dual", "ofs"), ["german-strict"]), "many exact"),
    "strict-compas": (by_task(partial(less_violation, "ofs", "primal-dual"), ["compas-strict"]), "many exact"),
    "strict-infeasible": (by_task(infeasible, STRICT), ""),
    "contraction": (by_task(contracting, ALL, CONTRACTION), ""),
    "sublinear": (by_task(sublinear, before=HALVES), "exact"),
    "screening": (by_task(screens_by_feasibility, before="rounds in which any threshold passes: "), ""),
    "refines": (by_task(refines_within, before=PLAYS), ""),
}
"""How each claim of ``words.toml`` is judged, and under which other views (``many`` seeds, ``exact`` figures)."""


def jobs(plan: Plan) -> list[Job]:
    """Everything the tables rest on, and the same with many seeds."""
    stress = [plan.stress(task, method) for task in TASKS for method in METHODS]
    return [*plan.jobs(ALL), *plan.jobs(ALL, many=True), *stress, *map(plan.tuning, SEMI_SYNTHETIC)]


def compute(context: Context) -> list[Claim]:
    """Judge every statement, as the paper would and under the other views that apply."""
    views = {"many": View(context, many=True), "exact": View(context, exact=True)}
    claims = []
    for key, (judge, looks) in JUDGES.items():
        verdict, evidence = judge(View(context))
        seen = {views[look].name: judge(views[look]) for look in looks.split()}
        others = {name: judged for name, judged in seen.items() if judged[0] != verdict}
        text = words()["claims"][key]
        reason = text["reason"] if verdict == HOLDS else text.get("otherwise", text["reason"])
        claims.append(Claim(key, text["sentence"], evidence, verdict, reason, others))
    return claims
