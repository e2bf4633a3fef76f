"""Every rule of the ledger, on made-up outcomes for which it holds, holds in direction and does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.experiments import claims
from fairgate.experiments.claims import View
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, Context, Plan, stress_settings, tuning_grid, words
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS
from fairgate.settings import Array

U, PD, OFS = METHODS
SEEDS, ROUNDS = 4, 400
MET = {HOLDS: (True, True), DIRECTION: (False, True), FAILS: (False, False)}


class MadeUp(Context):
    """A context whose jobs have invented figures (by the job's name) and runs (by the method)."""

    lines: Mapping[str, Mapping[str, Any]]
    runs: Mapping[str, Any]
    ends: Any
    oracles: Any

    def figures(self, job: Job) -> Mapping[str, Array]:
        return {name: np.broadcast_to(value, job.first or job.seeds) for name, value in self.lines[job.name].items()}

    def run(self, task: str, method: str) -> Any:
        return self.runs[method]

    def settled(self, task: str, method: str, many: bool = False) -> Array:
        return np.broadcast_to(np.asarray(self.ends, dtype=np.float64), SEEDS)


def view(exact: bool = False, plan: Plan | None = None, **invented: Any) -> View:
    made = MadeUp(plan or Plan(rounds=ROUNDS, seeds=SEEDS, many=SEEDS), Path("nowhere"))
    for name, value in invented.items():
        object.__setattr__(made, name, value)
    return View(made, exact=exact)


def outcomes(task: str, **figures: tuple[Any, Any, Any]) -> dict[str, dict[str, Any]]:
    """Figures of U, PD and OFS on a task, the same for every seed unless an array is given."""
    lines: dict[str, dict[str, Any]] = {f"{task}-{method}": {} for method in METHODS}
    for name, values in figures.items():
        for method, value in zip(METHODS, values, strict=True):
            lines[f"{task}-{method}"] |= {name: value, f"population_{name}": value}
    return lines


def happened(residuals: Any = (-0.1, -0.1, -0.1), reward: Any = 0.0, gap: Any = 0.0, threshold: Any = 0.0) -> Any:
    """A run whose batch and population show the same."""
    rounds = (SEEDS, ROUNDS)
    seen = SimpleNamespace(
        reward=np.broadcast_to(reward, rounds),
        residuals=np.array([np.broadcast_to(each, rounds) for each in residuals]),
    )
    gaps = np.broadcast_to(gap, rounds)
    return SimpleNamespace(
        batch=seen,
        population=seen,
        batch_gap=gaps,
        population_gap=gaps,
        rounds=ROUNDS,
        thresholds=np.broadcast_to(threshold, rounds)[..., None],
        traces={"feasible": np.zeros(rounds)},
    )


def trace(run: Any, feasible: Any) -> Any:
    run.traces["feasible"] = np.broadcast_to(feasible, (SEEDS, ROUNDS))
    return run


T = np.arange(ROUNDS)

FIGURES: list[tuple[Callable[[View, str], claims.Shown], str, dict[str, dict[str, Any]]]] = [
    (
        claims.substantial_reward,
        "german",
        {
            HOLDS: {"reward": (0.1, 0.4, 0.45)},
            DIRECTION: {"reward": (0.1, 0.44, 0.45)},
            FAILS: {"reward": (0.5, 0.4, 0.45)},
        },
    ),
    (
        claims.small_gap,
        "german",
        {HOLDS: {"gap": (1, 1, 0.01)}, DIRECTION: {"gap": (1, 1, 0.019)}, FAILS: {"gap": (1, 1, 0.021)}},
    ),
    (
        partial(claims.dramatic_reduction, "violation"),
        "german",
        {
            HOLDS: {"violation": (9.0, 4.0, 2.0)},
            DIRECTION: {"violation": (9.0, 4.0, 3.0)},
            FAILS: {"violation": (9.0, 4.0, 5.0)},
        },
    ),
    (
        partial(claims.printed_order, "table6", "gap"),
        "german-strict",  # printed: OFS, U, PD
        {HOLDS: {"gap": (2.0, 3.0, 1.0)}, DIRECTION: {"gap": (3.0, 2.0, 1.0)}, FAILS: {"gap": (1.0, 2.0, 3.0)}},
    ),
    (
        partial(claims.printed_order, "table6", "reward"),
        "compas-strict",
        {HOLDS: {"reward": (1.0, 2.0, 3.0)}, DIRECTION: {"reward": (2.0, 1.0, 3.0)}, FAILS: {"reward": (3.0, 2, 1)}},
    ),
    (
        claims.larger_violation,
        "german",
        {
            HOLDS: {"reward": (0.1, 0.4, 0.5), "violation": (9, 4, 1)},
            DIRECTION: {"reward": (0.1, 0.4, 0.5), "violation": (9, 4, 3)},
            FAILS: {"reward": (0.1, 0.4, 0.5), "violation": (9, 4, 5)},
        },
    ),
    (
        claims.partial_control,
        "mve-s",
        {
            HOLDS: {"reward": (0.1, 0.0, 0.3), "violation": (9, 4, 1)},
            DIRECTION: {"reward": (0.1, 0.2, 0.3), "violation": (9, 4, 1)},
            FAILS: {"reward": (0.1, 0.0, 0.3), "violation": (4, 9, 1)},
        },
    ),
    (
        partial(claims.less_violation, PD, OFS),
        "german-strict",
        {HOLDS: {"violation": (9, 1, 2)}, FAILS: {"violation": (9, 3, 2)}},
    ),
]


@pytest.mark.parametrize(("judge", "task", "cases"), FIGURES)
def test_rules_on_the_methods_figures(
    judge: Callable[[View, str], claims.Shown], task: str, cases: dict[str, dict[str, Any]]
) -> None:
    for verdict, figures in cases.items():
        for exact in (False, True):
            *met, shown = judge(view(exact, lines=outcomes(task, **figures)), task)
            assert tuple(met) == MET[verdict], (verdict, shown)


def stretch(gaps: Any) -> Array:
    """Repeat a value for every stretch of 100 rounds."""
    return np.repeat(np.asarray(gaps, dtype=np.float64), 100)


def split(parity: float, service: float) -> Any:
    """A run that violates parity and the service window by so much a round."""
    return happened((parity, service, -0.5))


def swings(*levels: float) -> Any:
    """A run whose summed multipliers move from level to level in equal stretches."""
    run, price = happened(), np.interp(T, np.linspace(0, ROUNDS - 1, len(levels)), levels)
    run.traces["price"] = np.broadcast_to(price, (SEEDS, ROUNDS))
    return run


UP_AND_DOWN = (0, 10, 10, *[10, 1] * 6, 10)

RUNS: list[tuple[Callable[[View, str], claims.Shown], str, dict[str, dict[str, Any]]]] = [
    (
        claims.severe_violations,
        "german",
        {
            HOLDS: {U: split(0.1, 0.2)},
            DIRECTION: {U: split(0.001, 0.2)},
            FAILS: {U: split(0.005, 0.005)},
        },
    ),
    (
        claims.service_violation,
        "german",
        {
            HOLDS: {PD: split(0.1, 0.4), OFS: split(0.05, 0.1)},
            DIRECTION: {PD: split(0.4, 0.1), OFS: split(0.05, 0.05)},
            FAILS: {PD: split(0.01, 0.01), OFS: split(0.05, 0.05)},
        },
    ),
    (
        claims.utility_by_violation,
        "mve-s",
        {
            HOLDS: {U: happened(reward=stretch([0, 0.1, 0.1, 0.2]), gap=stretch([0, 0.2, 0, 0.2]))},
            DIRECTION: {U: happened(reward=stretch([0, 0.1, 0.1, 0.2]), gap=stretch([0, 0.2, 0, 0.05]))},
            FAILS: {U: happened(reward=stretch([0, 0.1, 0.1, 0.2]), gap=stretch([0, 0, 0.2, 0]))},
        },
    ),
    (
        claims.oscillating,
        "german",
        {
            HOLDS: {PD: swings(*UP_AND_DOWN)},
            DIRECTION: {PD: swings(0, 10, 10, 10, 1, 10)},
            FAILS: {PD: swings(0, 10, 10, 10, 9.9, 10)},
        },
    ),
    (
        claims.near_boundary,
        "german",  # the first threshold is infeasible, the second feasible, one in ten lies beside such an edge
        {
            HOLDS: {OFS: trace(happened(threshold=-2.1), 0)},
            DIRECTION: {OFS: trace(happened(threshold=np.where(T % 8 == 0, -2.1, 1.0)), 0)},
            FAILS: {OFS: trace(happened(threshold=1.0), 0)},
        },
    ),
    (
        claims.sublinear,
        "german",
        {
            HOLDS: {OFS: split(np.where(T < 200, 0.1, 0.05), 0.0)},  # type: ignore[arg-type]
            DIRECTION: {OFS: split(np.where(T < 200, 0.1, 0.08), 0.0)},  # type: ignore[arg-type]
            FAILS: {OFS: split(0.1, 0.0)},
        },
    ),
    (
        claims.screens_by_feasibility,
        "german",
        {
            HOLDS: {OFS: trace(happened(), 3)},
            DIRECTION: {OFS: trace(happened(), T % 4)},
            FAILS: {OFS: trace(happened(), 0)},
        },
    ),
    (
        claims.refines_within,
        "german",
        {
            HOLDS: {OFS: happened(threshold=T % 2)},
            DIRECTION: {OFS: happened(threshold=T % 20 == 0)},
            FAILS: {OFS: happened(threshold=1.0)},
        },
    ),
]


@pytest.mark.parametrize(("judge", "task", "cases"), RUNS)
def test_rules_on_runs(judge: Callable[[View, str], claims.Shown], task: str, cases: dict[str, dict[str, Any]]) -> None:
    oracles = {task: fg.oracle(fg.load_task(task), refine=False)}
    for verdict, runs in cases.items():
        *met, shown = judge(view(runs=runs, oracles=oracles), task)
        assert tuple(met) == MET[verdict], (verdict, shown)


@pytest.mark.parametrize(
    ("verdict", "gap", "ofs"),
    [(HOLDS, 0.01, 0.01), (DIRECTION, 0.01, 0.1), (DIRECTION, 0.03, 0.01), (FAILS, 0.01, 0.3)],
)
def test_service_violations_are_low_beside_primal_duals(verdict: str, gap: float, ofs: float) -> None:
    runs = {PD: split(0.0, 0.2), OFS: split(0.0, ofs)}
    *met, shown = claims.service_low(view(lines=outcomes("german", gap=(0, 0, gap)), runs=runs), "german")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(
    ("verdict", "threshold", "gap"), [(HOLDS, -1.8, 0.1 - 1e-4 * T), (DIRECTION, -1.8, 0.1), (FAILS, 2.0, 0.1)]
)
def test_a_good_threshold_is_found_rapidly(verdict: str, threshold: float, gap: Any) -> None:
    oracles = {"mve-s": fg.oracle(fg.load_task("mve-s"), refine=False)}
    *met, shown = claims.rapid(view(runs={OFS: happened(gap=gap, threshold=threshold)}, oracles=oracles), "mve-s")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("near", "quality", "threshold"), [
    (HOLDS, HOLDS, -1.9325), (DIRECTION, DIRECTION, [-1.9325] * 3 + [-2.1]), (DIRECTION, FAILS, -2.1), (FAILS, FAILS, 3)
])  # fmt: skip
def test_near_oracle_needs_feasible_thresholds(near: str, quality: str, threshold: Any) -> None:
    made = view(ends=threshold, oracles={"german": fg.oracle(fg.load_task("german"), refine=False)})
    for judge, verdict in ((claims.near_oracle, near), (claims.oracle_quality, quality)):
        *met, shown = judge(made, "german")
        assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "u"), [(HOLDS, 0.46), (DIRECTION, 0.3), (FAILS, 0.1)])
def test_strong_baselines_are_near_the_oracle(verdict: str, u: float) -> None:
    oracles = {"german": fg.oracle(fg.load_task("german"), refine=False)}
    *met, shown = claims.strong_baselines(
        view(lines=outcomes("german", reward=(u, 0.46, 0.47)), oracles=oracles), "german"
    )
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "exact"), [(HOLDS, (9.0, 4.0, 2.0)), (DIRECTION, (9, 4, 1)), (FAILS, (3, 4, 2))])
def test_a_robust_metric_does_not_count_noise(verdict: str, exact: tuple[float, ...]) -> None:
    lines = outcomes("german", violation=(9.5, 4.2, 2.1))
    for method, value in zip(METHODS, exact, strict=True):
        lines[f"german-{method}"]["population_violation"] = value
    *met, shown = claims.robust_metric(view(lines=lines), "german")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "off"), [(HOLDS, 0.001), (DIRECTION, 0.01), (FAILS, 0.05)])
def test_samples_concentrate_where_the_steady_state_is(verdict: str, off: float) -> None:
    best = fg.oracle(fg.load_task("german"), refine=False).best
    run = happened(reward=best.reward + off, threshold=best.threshold)
    *met, shown = claims.concentrating(view(runs={OFS: run}), "german")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(
    ("verdict", "declared", "measured"), [(HOLDS, 0.9, 0.8), (DIRECTION, 1.1, 0.8), (FAILS, 1.1, 1.05)]
)
def test_contraction_is_declared_and_measured(
    verdict: str, declared: float, measured: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Plan):
        def task(self, name: str) -> Any:
            return SimpleNamespace(environment=SimpleNamespace(contraction=lambda: declared))

    monkeypatch.setattr(claims, "measure_contraction", lambda environment: measured)
    *met, shown = claims.contracting(view(plan=Elsewhere()), "mve-s")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "feasible"), [(HOLDS, False), (FAILS, True)])
def test_no_threshold_may_be_feasible(verdict: str, feasible: bool) -> None:
    best = SimpleNamespace(feasible=feasible, reward=0.3, threshold=1.0, residuals=(0.1 - feasible,))
    *met, shown = claims.infeasible(view(oracles={"german-strict": SimpleNamespace(refined=best)}), "german-strict")
    assert tuple(met) == MET[verdict], shown


def tuned(reward: Any, violation: Any, residual: Any) -> dict[str, dict[str, Any]]:
    figures = {"reward": reward, "violation": violation, "population_reward": reward, "population_violation": violation}
    figures |= {f"batch_residual_{j}": -0.1 for j in range(2)}
    count = len(tuning_grid())
    lines = {name: np.repeat(np.broadcast_to(value, count), SEEDS) for name, value in figures.items()}
    return {"german-tuning": lines | {"batch_residual_2": np.repeat(np.broadcast_to(residual, count), SEEDS)}}


LEAST = np.where(np.arange(16) == tuning_grid().index((0.03, 0.1)), 1.0, 9.0)


@pytest.mark.parametrize(
    ("verdict", "violation", "residual"), [(HOLDS, LEAST, 0.1), (DIRECTION, 10.0 - LEAST, 0.1), (FAILS, LEAST, -0.1)]
)
def test_the_printed_setting_is_selected_by_the_printed_rule(verdict: str, violation: Any, residual: float) -> None:
    *met, shown = claims.same_selection(view(lines=tuned(0.1, violation, residual)), "german")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "reward", "violation"), [(HOLDS, 0.5, 1), (DIRECTION, 0.3, 1), (FAILS, 0.5, 20)])
def test_ofs_beats_the_tuned_primal_dual(verdict: str, reward: float, violation: float) -> None:
    lines = outcomes("german", reward=(0, 0, reward), violation=(0, 0, violation)) | tuned(0.4, 9.0, 0.1)
    *met, shown = claims.better_than_tuned(view(lines=lines), "german")
    assert tuple(met) == MET[verdict], shown


@pytest.mark.parametrize(("verdict", "won"), [(HOLDS, 8), (DIRECTION, 6), (FAILS, 3)])
@pytest.mark.parametrize("exact", [False, True])
def test_win_rates_are_near_the_printed_ones(verdict: str, won: int, exact: bool) -> None:
    count = len(stress_settings())
    reward = np.repeat(np.where(np.arange(count) < won, 0.5, 0.1), SEEDS)
    lines = {}
    for method, earned in zip(METHODS, (0.0, 0.3, reward), strict=True):
        figures = {"reward": earned, "violation": 1.0, "population_reward": earned, "population_violation": 1.0}
        figures |= {f"{kind}_residual_{j}": -0.1 for kind in ("batch", "population") for j in range(3)}
        lines[f"german-stress-{method}"] = figures
    *met, shown = claims.stress_wins(view(exact, lines=lines), "german")
    assert tuple(met) == MET[verdict], shown


def rewards(**ofs: Any) -> dict[str, dict[str, Any]]:
    """Figures of all tasks, by which OFS is best; its reward may be another on tasks named by their first letter."""
    lines: dict[str, dict[str, Any]] = {}
    for task in TASKS:
        lines |= outcomes(task, reward=(0.1, 0.4, ofs.get(task[0], 0.5)), gap=(2, 2, 1), violation=(2, 2, 1))
    return lines


SELDOM = np.array([0.39, 0.39, 0.39, 0.5])
"""OFS's reward in four seeds: most on average, but not in most."""


@pytest.mark.parametrize(("verdict", "ofs"), [
    (HOLDS, {}), (DIRECTION, {"g": SELDOM}), (DIRECTION, {"c": 0.3}), (FAILS, {"g": 0.3, "c": 0.2}),
])  # fmt: skip
def test_the_highest_reward_is_had_consistently(verdict: str, ofs: dict[str, Any]) -> None:
    assert claims.highest_reward(view(lines=rewards(**ofs)))[0] == verdict


@pytest.mark.parametrize(("verdict", "ofs"), [(HOLDS, {}), (DIRECTION, {"g": SELDOM, "c": 0.3}), (FAILS, {})])
def test_bootstrap_intervals_lie_above_zero(verdict: str, ofs: dict[str, Any]) -> None:
    lines = rewards(**ofs)
    if verdict == FAILS:
        lines |= {f"{task}-ofs": dict.fromkeys(("reward", "gap", "violation"), 3.0) for task in TASKS}
    assert claims.bootstrap_excludes_zero(view(lines=lines))[0] == verdict


def test_the_price_is_the_sum_of_the_multipliers_before_each_round(small_task: fg.Task) -> None:
    run = fg.simulate(small_task, fg.PrimalDual(dual_step=0.3), rounds=50, seeds=3)
    multipliers = np.zeros((len(small_task.problem.names), 3))
    for t in range(50):
        np.testing.assert_allclose(run.traces["price"][:, t], multipliers.sum(axis=0), atol=1e-12)
        multipliers = np.maximum(0.0, multipliers + 0.3 * run.batch.residuals[:, :, t])
    assert multipliers.any()


def test_every_claim_has_words_a_rule_and_a_place() -> None:
    assert list(words()["claims"]) == list(claims.JUDGES)
    for text in words()["claims"].values():
        quoted = text["sentence"].startswith("“") and text["sentence"].endswith("”")
        assert quoted != text["section"].startswith("our summary")
        assert text["rule"].endswith(".")
        for pattern in text["rests"]:
            assert any(claims._matches(key, [pattern]) for key in claims.printed()), pattern


def test_a_claim_is_in_sample_if_a_figure_behind_it_was_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "calibrated", lambda: ["table1.*.ofs.violation", "table2.german.sampled.oracle_gap"])
    assert claims.in_sample(["table1.german.*"])
    assert claims.in_sample(["table2.*"])
    assert not claims.in_sample(["table1.*.reward", "table6.*"])
    assert not claims.in_sample([])
