"""The rules behind the tables, on made-up figures whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgate.experiments import tables
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

    return MadeUp(Plan(seeds=SEEDS), Path("nowhere"))


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
