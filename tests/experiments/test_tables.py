"""The rules behind the tables, on made-up figures whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.experiments import roots, tables
from fairgate.experiments.claims import graded
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import DUAL_STEPS, METHODS, STEPS, Context, Plan, stress_settings
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS

Array = NDArray[np.float64]
SEEDS = 2


def made_up(settings: Mapping[str, Mapping[str, Array]]) -> Context:
    """Return a context with invented figures of some jobs: the same for all seeds of a setting."""

    class MadeUp(Context):
        def figures(self, job: Job) -> Mapping[str, Array]:
            return {name: np.repeat(values, SEEDS) for name, values in settings[job.name].items()}

    return MadeUp(Plan(seeds=SEEDS, many=SEEDS), Path("nowhere"))


def figures(count: int, **changes: Array | float) -> dict[str, Array]:
    base: dict[str, Array | float] = {"reward": 0.0, "gap": 0.1, "violation": 100.0}
    base |= {f"batch_residual_{j}": -0.1 for j in range(3)}
    base |= {f"population_{name}": value for name, value in {**base, **changes}.items() if "residual" not in name}
    base |= {f"population_residual_{j}": -0.1 for j in range(3)}
    return {name: np.broadcast_to(np.asarray(value, float), (count,)) for name, value in (base | changes).items()}


def test_tuning_takes_the_best_reward_among_feasible_settings() -> None:
    count = len(STEPS) * len(DUAL_STEPS)
    reward, residual = np.linspace(0.1, 0.9, count), np.full(count, 0.05)
    residual[[3, 5]] = -0.01  # only these two are feasible
    context = made_up({"german-tuning": figures(count, reward=reward, batch_residual_0=residual)})
    assert tables.select(context, "german") == (5, tables.FEASIBLE)


def test_tuning_takes_the_least_violation_where_nothing_is_feasible() -> None:
    count = len(STEPS) * len(DUAL_STEPS)
    violation = np.full(count, 50.0)
    violation[7] = 10.0
    invented = figures(count, violation=violation, batch_residual_2=0.01, reward=np.linspace(0.1, 0.9, count))
    context = made_up({"german-tuning": invented})
    assert tables.select(context, "german") == (7, tables.INFEASIBLE)


def test_other_readings_of_the_rule_select_otherwise() -> None:
    count = len(STEPS) * len(DUAL_STEPS)
    reward, violation = np.linspace(0.9, 0.1, count), np.linspace(10.0, 90.0, count)
    residual = np.full((count, SEEDS), 0.05)
    residual[[1, 5]] = [0.02, -0.03]  # feasible on average, not in every seed
    figures_of = {"reward": np.repeat(reward, SEEDS), "violation": np.repeat(violation, SEEDS)}
    figures_of |= {"batch_residual_0": residual.ravel(), "population_residual_0": np.ones(count * SEEDS)}
    found = [tables.selection(figures_of, reading) for reading in tables.READINGS]
    smallest = len(DUAL_STEPS)
    assert found == [
        (1, tables.FEASIBLE),
        (0, tables.INFEASIBLE),
        (5, tables.FEASIBLE),
        (smallest, tables.INFEASIBLE),
    ]


def test_over_many_roots_each_set_selects_and_wins_for_itself() -> None:
    """Two sets of two seeds: in the first OFS wins and one setting is feasible, in the second neither."""
    plan = Plan(seeds=2, many=4)
    one_set = np.array([1.0, 1.0, 0.0, 0.0])

    class Sets(Context):
        def figures(self, job: Job) -> Mapping[str, Array]:
            chosen = job.name.endswith(("-0.1-0.2", "-ofs-cost-2"))
            reward = 0.5 * one_set if chosen else np.full(4, 0.2)
            found = figures(4, reward=reward, violation=50.0 if "-0.03-0.1" in job.name else 90.0)
            if "tuning" in job.name:
                found["batch_residual_0"] = np.where(one_set == 1.0, -0.1 if chosen else 0.1, 0.1)
            return found

    context = Sets(plan, Path("nowhere"), roots=True)
    grid = [(step, dual) for step in STEPS for dual in DUAL_STEPS]
    assert roots.selections(context, "german") == [
        (grid.index((0.1, 0.2)), tables.FEASIBLE),
        (grid.index((0.03, 0.1)), tables.INFEASIBLE),
    ]
    won = roots.winners(context, "german", "batch")
    assert won[stress_settings().index(("cost", 2.0))].tolist() == [METHODS.index("ofs"), 0]
    rates, winners, selected = roots.tables(context)
    cell = next(row.cells["ofs"] for row in rates.rows if row.keys == ("german", "batch"))
    assert cell.roots is not None
    assert (round(cell.roots.value, 3), round(cell.roots.high, 3)) == (5.556, 10.556)
    assert winners.figures()["roots5-settings.german.batch.cost.× 2.ofs"] == {"ours": "1"}
    assert selected.figures()["roots4-grid.german.0.1.0.2.feasible-max-reward"] == {"ours": "1"}
    assert selected.figures()["roots4-grid.german.0.03.0.1.infeasible-min-violation"] == {"ours": "1"}


def test_a_sampled_oracle_that_differs_says_why() -> None:
    class Sampled(Context):
        pass

    task = fg.load_task("german")
    context = Sampled(Plan(), Path("nowhere"))
    exact = fg.oracle(task, refine=False)
    place = int(np.searchsorted(task.thresholds, exact.best.threshold))
    residuals = exact.sweep.residuals.copy()
    for change, said in ((0.0, "the same threshold"), (0.02, "breaks a constraint in the samples (parity +0.")):
        residuals[0, place] += change
        object.__setattr__(context, "oracles", {"german": exact})
        object.__setattr__(context, "sweeps", {"german": replace(exact.sweep, residuals=residuals)})
        assert said in tables.sampling(context, "german")


def test_the_stress_winner_is_feasible_and_best_or_else_least_violating() -> None:
    count = len(stress_settings())
    infeasible = np.full(count, 0.02)
    some = infeasible.copy()
    some[0] = -0.01
    last = np.where(np.arange(count) == count - 1, 1.0, 90.0)
    invented = {
        # most reward, never feasible; least violation where nobody is
        "unconstrained": figures(count, reward=0.9, violation=last, batch_residual_0=infeasible),
        "primal-dual": figures(count, reward=0.5, violation=40.0, batch_residual_0=some),
        "ofs": figures(count, reward=0.4, violation=30.0, batch_residual_0=np.where(np.arange(count) < 4, -0.01, 0.02)),
    }
    context = made_up({f"german-stress-{m}": invented[m] for m in METHODS})
    expected = ["primal-dual", *["ofs"] * 3, *["ofs"] * 4, "unconstrained"]
    assert tables.winners(context, "german") == expected
    assert tables.win_rate(context, "german", "ofs") == pytest.approx(100 * 7 / 9)


def test_the_paired_bootstrap_covers_the_mean_difference() -> None:
    """300 samples of 10 paired differences: percentile intervals cover at 80% to 98% (they are short for 10 seeds)."""
    rng = np.random.default_rng(0)
    samples = rng.normal(0.3, 1.0, (300, 10))
    found = [tables.interval(sample) for sample in samples]
    covered = np.mean(
        [number.low <= 0.3 <= number.high for number in found if number.low is not None and number.high is not None]
    )
    assert 0.80 <= covered <= 0.98
    constant = tables.interval(np.full(10, 0.2))
    assert constant.low == pytest.approx(0.2)
    assert constant.high == pytest.approx(0.2)


def test_differences_are_positive_in_favour_of_ofs() -> None:
    names = {f"german-{m}": figures(1) for m in METHODS}
    names["german-ofs"] = figures(1, reward=0.5, gap=0.01, violation=10.0)
    context = made_up(names)
    assert tables.differences(context, "german", "reward").tolist() == [0.5, 0.5]
    assert tables.differences(context, "german", "gap").tolist() == pytest.approx([0.09, 0.09])
    assert tables.differences(context, "german", "violation").tolist() == [90.0, 90.0]


def test_verdicts_follow_their_rule() -> None:
    assert graded([True, True], [True, True]) == HOLDS
    assert graded([True, False, False], [True, True, False]) == DIRECTION
    assert graded([True, False], [True, False]) == FAILS
