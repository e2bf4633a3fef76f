"""The claims ledger: every checkable sentence of the paper, judged by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial

import numpy as np

from fairgate.environments.long_run import measure_contraction
from fairgate.experiments import roots
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
    open_choices,
    paper,
    stress_settings,
    tuning_grid,
    words,
)
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS, Claim
from fairgate.experiments.tables import (
    READINGS,
    differences,
    interval,
    reward_gaps,
    select,
    spread,
    win_rate,
)
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep


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


def substantial_reward(view: View, task: str) -> Shown:
    """OFS earns at least a tenth more than the better baseline ("substantially"), or at least more."""
    *others, ofs = (view.mean(task, method, "reward") for method in METHODS)
    most = max(others)
    return ofs >= most + 0.1 * abs(most), ofs > most, f"OFS {ofs:.4f}, the better baseline {most:.4f}"


def small_gap(view: View, task: str) -> Shown:
    """OFS's gap is at most three quarters of ε ("well below"), or at least below ε."""
    gap, most = view.mean(task, "ofs", "gap"), epsilon(task)
    return gap <= 0.75 * most, gap <= most, f"{gap:.4f} against ε = {most:g}"


def dramatic_reduction(figure: str, view: View, task: str) -> Shown:
    """OFS's gap or violation is at most half of either baseline's ("dramatically"), or at least the smallest."""
    *others, ofs = (view.mean(task, method, figure) for method in METHODS)
    return ofs <= 0.5 * min(others), ofs <= min(others), view.means(task, figure, 2 if figure == "violation" else 4)


def printed_order(table: str, figure: str, view: View, task: str) -> Shown:
    """The methods come in the order of the paper's table, or at least the paper's best one is the best."""
    printed = paper()[table][task]
    sign = -1.0 if figure == "reward" else 1.0
    ours = sorted(METHODS, key=lambda method: sign * view.mean(task, method, figure))
    theirs = sorted(METHODS, key=lambda method: sign * printed[method][figure][0])
    means = view.means(task, figure, 2 if figure == "violation" else 4)
    return ours == theirs, ours[0] == theirs[0], f"{means} (paper: {', '.join(TITLES[m] for m in theirs)}, best first)"


def _ratio(one: float, other: float) -> float:
    """Divide violations; of none at all, nothing is 0 times as much."""
    return one / other if other > 0.0 else float("inf") if one > 0.0 else 0.0


def broken(view: View, task: str, method: str) -> tuple[float, float]:
    """A run's violation of parity and of the service window, mean over seeds."""
    run = view.context.run(task, method)
    residuals = (run.population if view.exact else run.batch).residuals
    parity, *service = np.maximum(residuals, 0.0).sum(axis=2).mean(axis=1)
    return float(parity), float(np.sum(service))


def severe_violations(view: View, task: str) -> Shown:
    """U violates by more than ε per round, a tenth of it by parity and a tenth by service; or at least so much."""
    parity, service = broken(view, task, "unconstrained")
    total, rounds = parity + service, view.context.plan.rounds
    severe = total / rounds > epsilon(task)
    shown = f"{total / rounds:.4f} per round (ε = {epsilon(task):g}), {_ratio(parity, total):.0%} of it parity"
    return severe and min(parity, service) >= 0.1 * total, severe, shown


def larger_violation(view: View, task: str) -> Shown:
    """PD earns more than U and violates at least twice as much as OFS, or at least violates more."""
    u, dual, _ = (view.mean(task, method, "reward") for method in METHODS)
    ratio = _ratio(view.mean(task, "primal-dual", "violation"), view.mean(task, "ofs", "violation"))
    shown = f"reward {dual:.4f}, U's {u:.4f}; violation {ratio:.1f} times OFS's"
    return dual > u and ratio >= 2.0, ratio > 1.0, shown


def service_violation(view: View, task: str) -> Shown:
    """PD violates twice as much as OFS, and half of what it violates more is service; or at least it violates more."""
    (parity, service), (mine, window) = broken(view, task, "primal-dual"), broken(view, task, "ofs")
    ratio = _ratio(parity + service, mine + window)
    more = parity + service - mine - window
    shown = (
        f"{ratio:.1f} times OFS's; parity {parity:.1f} against {mine:.1f}, service {service:.1f} against {window:.1f}"
    )
    return ratio >= 2.0 and service - window >= 0.5 * more, ratio > 1.0, shown


def service_low(view: View, task: str) -> Shown:
    """OFS's gap is below ε and its service violation a tenth of PD's, or at least less than PD's."""
    (_, theirs), (_, ours) = broken(view, task, "primal-dual"), broken(view, task, "ofs")
    gap = view.mean(task, "ofs", "gap")
    shown = f"gap {gap:.4f} (ε = {epsilon(task):g}); service violation {ours:.1f}, PD's {theirs:.1f}"
    return gap <= epsilon(task) and ours <= 0.1 * theirs, ours < theirs, shown


def rapid(view: View, task: str) -> Shown:
    """By a tenth of the rounds nine seeds in ten play a feasible threshold within 0.01 of the oracle; the gap falls."""
    run, plan = view.context.run(task, "ofs"), view.context.plan
    tenth = max(1, plan.rounds // 10)
    early = np.median(run.thresholds[:, tenth // 2 : tenth, 0], axis=1)
    reached = exact_sweep(plan.task(task), early)
    near = view.context.oracles[task].best.reward - reached.reward < 0.01
    found = float((near & is_feasible(reached.residuals)).mean())
    gaps = (run.population_gap if view.exact else run.batch_gap).mean(axis=0)
    first, last = float(gaps[:tenth].mean()), float(gaps[-tenth:].mean())
    shown = f"by round {tenth} {found:.0%} of seeds; gap {first:.4f} until then, {last:.4f} in the last {tenth} rounds"
    return found >= 0.9 and last < first, found >= 0.9, shown


def utility_by_violation(view: View, task: str) -> Shown:
    """Nine in ten of the stretches of 100 rounds in which U gains have a gap above ε, or at least a larger gap."""
    run = view.context.run(task, "unconstrained")
    found = run.population if view.exact else run.batch
    reward, gap = (stretches(each) for each in (found.reward, run.population_gap if view.exact else run.batch_gap))
    gains = np.diff(reward, axis=1) > 0.01
    if not gains.any():
        return False, False, "U never gains 0.01 from one stretch to the next"
    large, others = gap[:, 1:][gains], gap[:, 1:][~gains]
    share, usual = float((large > epsilon(task)).mean()), float(others.mean()) if others.size else 0.0
    shown = (
        f"gap above ε in {share:.0%} of {large.size} stretches in which U gains 0.01 or more; mean gap there "
        f"{large.mean():.4f}, elsewhere {usual:.4f}"
    )
    return share >= 0.9, float(large.mean()) > usual, shown


def stretches(values: Array, length: int = 100) -> Array:
    """Means over stretches of rounds, (replicates, stretches); what is left over at the end is left out."""
    length = min(length, values.shape[1])
    whole = values.shape[1] // length
    return np.asarray(values[:, : whole * length].reshape(len(values), whole, length).mean(axis=2))


def partial_control(view: View, task: str) -> Shown:
    """PD earns less than U and violates less than U but more than OFS, or at least violates less than U."""
    (u, dual, _), (most, less, least) = (
        [view.mean(task, method, figure) for method in METHODS] for figure in ("reward", "violation")
    )
    shown = f"reward {dual:.4f}, U's {u:.4f}; violation {view.means(task, 'violation', 2)}"
    return dual < u and least < less < most, less < most, shown


def strong_baselines(view: View, task: str) -> Shown:
    """Either baseline earns nine tenths of the oracle, or at least more than a threshold picked at random would."""
    oracle = view.context.oracles[task]
    rewards = [view.mean(task, method, "reward") for method in ("unconstrained", "primal-dual")]
    anyhow = float(oracle.sweep.reward.mean())
    shown = f"{rewards[0]:.4f} and {rewards[1]:.4f}; oracle {oracle.best.reward:.4f}, a random threshold {anyhow:.4f}"
    return min(rewards) >= 0.9 * oracle.best.reward, min(rewards) > anyhow, shown


def settled_on(view: View, task: str) -> tuple[float, float]:
    """Mean reward gap of OFS's settled thresholds to the oracle, and the share of them that is feasible."""
    reached = exact_sweep(view.context.plan.task(task), view.context.settled(task, "ofs", view.many))
    return float(reward_gaps(view.context, task, "ofs", view.many).mean()), float(is_feasible(reached.residuals).mean())


def near_oracle(view: View, task: str) -> Shown:
    """The reward gap is below 0.003 and nine in ten settled thresholds are feasible, or it is at least below 0.01."""
    gap, feasible = settled_on(view, task)
    return (
        gap < 0.003 and feasible >= 0.9,
        gap < 0.01,
        f"{gap:.4f} (settled threshold feasible in {feasible:.0%} of seeds)",
    )


def oracle_quality(view: View, task: str) -> Shown:
    """Nine in ten settled thresholds are feasible and the reward gap is below 0.01, or at least half of them are."""
    gap, feasible = settled_on(view, task)
    return feasible >= 0.9 and gap < 0.01, feasible > 0.5 and gap < 0.01, f"{feasible:.0%} feasible, gap {gap:.4f}"


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
    reward, violated = (float(figures[view.column(name)][part].mean()) for name in ("reward", "violation"))
    mine = view.mean(task, "ofs", "reward"), view.mean(task, "ofs", "violation")
    shown = f"reward {mine[0]:.4f}, violation {mine[1]:.1f}; tuned PD's {reward:.4f}, {violated:.1f}"
    return mine[0] >= reward and mine[1] <= violated, mine[1] <= violated, shown


def same_selection(view: View, task: str) -> Shown:
    """The printed setting is selected by the printed rule, or at least some setting by that rule."""
    printed = paper()["table4"][task]
    target = tuning_grid().index((printed["step"], printed["dual_step"])), printed["rule"]
    found = {reading: select(view.context, task, reading) for reading in READINGS}
    shown = "; ".join(f"{reading}: {tuning_grid()[index]} by {rule}" for reading, (index, rule) in found.items())
    shown += f" (paper {tuning_grid()[target[0]]} by {target[1]})"
    if view.context.roots:
        picked = roots.selections(view.context, task)
        rule = sum(each[1] == target[1] for each in picked)
        shown += f"; of {len(picked)} roots {picked.count(target)} select as printed, {rule} by the printed rule"
    index, rule = found[READINGS[0]]
    return (index, rule) == target, rule == target[1], shown


def stress_wins(view: View, task: str) -> Shown:
    """OFS's and PD's win rates are within one setting of the printed ones, or at least OFS wins most settings."""
    kind = "population" if view.exact else "batch"
    printed = paper()["table5"][task]
    rates = {method: win_rate(view.context, task, method, kind) for method in METHODS}
    one = 100.0 / len(stress_settings()) + 0.1
    shown = ", ".join(f"{TITLES[m]} {rates[m]:.1f}%" for m in METHODS)
    shown += f" (paper: PrimalDual {printed['primal-dual']:.1f}%, OFS-Grid {printed['ofs']:.1f}%)"
    if view.context.roots:
        won = 100.0 * (roots.winners(view.context, task, kind) == METHODS.index("ofs")).mean(axis=0)
        over = spread(won)
        shown += f"; over {len(won)} roots OFS-Grid {over.value:.1f}%, 90% of them {over.low:.1f}% to {over.high:.1f}%"
    near = all(abs(rates[method] - value) <= one for method, value in printed.items())
    return near, rates["ofs"] > 50.0, shown


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


def robust_metric(view: View, task: str) -> Shown:
    """A tenth of any method's violation at most is noise of the batches, or at least the methods' order is the same."""
    batch, exact = (
        [replace(view, exact=look).mean(task, method, "violation") for method in METHODS] for look in (False, True)
    )
    noise = [1.0 - _ratio(true, seen) for seen, true in zip(batch, exact, strict=True)]
    shown = ", ".join(f"{TITLES[m]} {share:.0%}" for m, share in zip(METHODS, noise, strict=True))
    return max(map(abs, noise)) <= 0.1, np.argsort(batch).tolist() == np.argsort(exact).tolist(), shown


def oscillating(view: View, task: str) -> Shown:
    """In half of the seeds the summed multipliers cross their mean four times and swing by half of it; or twice."""
    run = view.context.run(task, "primal-dual")
    price = run.traces["price"][:, run.rounds // 2 :]
    mean = price.mean(axis=1, keepdims=True)
    low, high = np.quantile(price, (0.05, 0.95), axis=1)
    swing = (high - low) / np.maximum(mean[:, 0], 1e-9)
    crossings = (np.diff(stretches(price, 10) > mean, axis=1)).sum(axis=1)
    often, seldom = (float(((crossings >= least) & (swing >= 0.5)).mean()) for least in (4, 2))
    shown = f"median swing {np.median(swing):.0%} of the mean, {np.median(crossings):.0f} crossings"
    return often >= 0.5, seldom >= 0.5, shown


def near_boundary(view: View, task: str) -> Shown:
    """While F_t is empty, thresholds beside the edge of the feasible region get twice the usual plays, or more."""
    run, sweep = view.context.run(task, "ofs"), view.context.oracles[task].sweep
    feasible = is_feasible(sweep.residuals)
    edge = np.zeros(len(feasible), dtype=bool)
    flips = np.flatnonzero(feasible[1:] != feasible[:-1])
    edge[flips] = edge[flips + 1] = True
    uncertain = run.traces["feasible"] == 0
    if not flips.size or not uncertain.any():
        return False, False, "no such rounds or no such edge"
    arms = np.searchsorted(sweep.thresholds, run.thresholds[:, :, 0][uncertain])
    share, usual = float(edge[arms].mean()), float(edge.mean())
    shown = f"{share:.1%} of the plays, {usual:.1%} of the thresholds"
    return share >= 2.0 * usual, share > usual, shown


def concentrating(view: View, task: str) -> Shown:
    """In the second half, the most played threshold's mean reward is within 0.005 of its steady state, or 0.02."""
    run = view.context.run(task, "ofs")
    half = slice(run.rounds // 2, None)
    played = run.thresholds[:, half, 0]
    most = np.median(played, axis=1)
    reward = (run.population if view.exact else run.batch).reward[:, half]
    means = np.array([values[at == best].mean() for values, at, best in zip(reward, played, most, strict=True)])
    off = float(np.abs(means - exact_sweep(view.context.plan.task(task), most).reward).max())
    return off <= 0.005, off <= 0.02, f"{off:.4f}"


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
    """One round keeps two states less far apart than they were, as declared and as measured; or only as measured."""
    environment = view.context.plan.task(task).environment
    declared, measured = environment.contraction(), measure_contraction(environment)
    return max(declared, measured) < 1.0, measured < 1.0, f"declared {declared:.3f}, measured {measured:.3f}"


ALL = (*TASKS, *STRICT)
MVE_S = ("mve-s",)
ORACLE = "exact reward of the oracle minus OFS's: "
CONTRACTION = "largest share of their distance that a round leaves two states: "
HALVES = "violation of the second half over that of the first (√T gives 0.41): "
PLAYS = "thresholds with more than 10% and more than 1% of a seed's plays: "
NOISE = "share of the violation that is sampling noise: "
SWINGS = "PD's multipliers in the second half: "
EDGE = "while F_t is empty, thresholds beside the edge of the feasible region get: "
STEADY = "largest distance over seeds: "

JUDGES: dict[str, tuple[Judge, str]] = {
    "highest-reward": (highest_reward, "many exact"),
    "substantial-reward": (by_task(substantial_reward), "many exact"),
    "small-gaps": (by_task(small_gap), "many exact"),
    "dramatic-reduction": (by_task(partial(dramatic_reduction, "violation")), "many exact"),
    "smaller-gap": (by_task(partial(dramatic_reduction, "gap"), MVE_S), "many exact"),
    "violation-order": (by_task(partial(printed_order, "table1", "violation")), "many exact"),
    "severe-violations": (by_task(severe_violations, SEMI_SYNTHETIC), "exact"),
    "baseline-violation": (by_task(larger_violation, SEMI_SYNTHETIC), "many exact"),
    "service-violation": (by_task(service_violation, SEMI_SYNTHETIC), "exact"),
    "service-low": (by_task(service_low, SEMI_SYNTHETIC), "exact"),
    "rapid": (by_task(rapid, MVE_S), "exact"),
    "unconstrained-utility": (by_task(utility_by_violation, MVE_S), "exact"),
    "partial-control": (by_task(partial_control, MVE_S), "many exact"),
    "strong-baselines": (by_task(strong_baselines), "many exact"),
    "near-oracle": (by_task(near_oracle, before=ORACLE), "many"),
    "oracle-quality": (by_task(oracle_quality, before="settled thresholds: "), "many"),
    "bootstrap": (bootstrap_excludes_zero, "many exact"),
    "after-tuning": (by_task(better_than_tuned, SEMI_SYNTHETIC), "exact"),
    "tuning-selection": (by_task(same_selection, SEMI_SYNTHETIC), ""),
    "stress": (by_task(stress_wins), "exact"),
    "strict-reward": (by_task(partial(printed_order, "table6", "reward"), STRICT), "many exact"),
    "strict-gap": (by_task(partial(printed_order, "table6", "gap"), STRICT), "many exact"),
    "strict-german": (by_task(partial(less_violation, "primal-dual", "ofs"), STRICT[:1]), "many exact"),
    "strict-compas": (by_task(partial(less_violation, "ofs", "primal-dual"), STRICT[1:]), "many exact"),
    "strict-infeasible": (by_task(infeasible, STRICT), ""),
    "robust-metric": (by_task(robust_metric, before=NOISE), "many"),
    "oscillation": (by_task(oscillating, before=SWINGS), ""),
    "boundary": (by_task(near_boundary, before=EDGE), ""),
    "contraction": (by_task(contracting, ALL, CONTRACTION), ""),
    "concentration": (by_task(concentrating, before=STEADY), "exact"),
    "sublinear": (by_task(sublinear, before=HALVES), "exact"),
    "screening": (by_task(screens_by_feasibility, before="rounds in which any threshold passes: "), ""),
    "refines": (by_task(refines_within, before=PLAYS), ""),
}
"""How each claim of ``words.toml`` is judged, and under which other views (``many`` seeds, ``exact`` figures)."""


def jobs(plan: Plan) -> list[Job]:
    """Everything the tables rest on, and the same with many seeds."""
    stress = [plan.stress(task, method) for task in TASKS for method in METHODS]
    return [*plan.jobs(ALL), *stress, *map(plan.tuning, SEMI_SYNTHETIC)]


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
        claims.append(
            Claim(
                key,
                text["sentence"],
                evidence,
                verdict,
                reason,
                others,
                section=text["section"],
                rule=text["rule"],
                in_sample=in_sample(text["rests"]),
            )
        )
    return claims


def in_sample(rests: Sequence[str]) -> bool:
    """Whether a figure of the paper that matches one of these patterns was a target of the calibration."""
    return any(_matches(key, rests) and _matches(key, calibrated()) for key in printed())


def _matches(key: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def printed() -> list[str]:
    """The stable names of the figures that the paper prints."""
    kinds = {"table2": "sampled.", "table5": "batch."}
    found = []
    for table, tasks in paper().items():
        for task, row in tasks.items():
            for name, value in row.items():
                inner = [f"{name}.{figure}" for figure in value] if isinstance(value, dict) else [name]
                found += [f"{table}.{task}.{kinds.get(table, '')}{each}" for each in inner]
    return found


def calibrated() -> list[str]:
    """The targets of every choice that was calibrated, as patterns of stable names."""
    return [
        target for choice in open_choices().values() if choice["kind"] == "calibrated" for target in choice["targets"]
    ]
