"""The rules behind the tables, on made-up figures whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgate.experiments import table3, table4, table5
from fairgate.experiments.claims import graded
from fairgate.experiments.jobs import Job, Store
from fairgate.experiments.plan import DUAL_STEPS, METHODS, STEPS, Context, Plan, stress_settings
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS

Array = NDArray[np.float64]
SEEDS = 2


class MadeUp(Store):
    """A store that invents figures: the same for all seeds of a setting."""

    def __init__(self, settings: Mapping[str, Mapping[str, Array]]) -> None:
        super().__init__(Path("nowhere"), 200)
        self.settings = settings

    def figures(self, job: Job) -> Mapping[str, Array]:
        return {name: np.repeat(values, SEEDS) for name, values in self.settings[job.name].items()}


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
    context = Context(
        Plan(seeds=SEEDS), MadeUp({"german-tuning": figures(count, reward=reward, batch_residual_0=residual)})
    )
    assert table4.select(context, "german") == (5, table4.FEASIBLE)


def test_tuning_takes_the_least_violation_where_nothing_is_feasible() -> None:
    count = len(STEPS) * len(DUAL_STEPS)
    violation = np.full(count, 50.0)
    violation[7] = 10.0
    made_up = figures(count, violation=violation, batch_residual_2=0.01, reward=np.linspace(0.1, 0.9, count))
    context = Context(Plan(seeds=SEEDS), MadeUp({"german-tuning": made_up}))
    assert table4.select(context, "german") == (7, table4.INFEASIBLE)


def test_the_stress_winner_is_feasible_and_best_or_else_least_violating() -> None:
    count = len(stress_settings())
    infeasible = np.full(count, 0.02)
    some = infeasible.copy()
    some[0] = -0.01
    last = np.where(np.arange(count) == count - 1, 1.0, 90.0)
    made_up = {
        # most reward, never feasible; least violation where nobody is
        "unconstrained": figures(count, reward=0.9, violation=last, batch_residual_0=infeasible),
        "primal-dual": figures(count, reward=0.5, violation=40.0, batch_residual_0=some),
        "ofs": figures(count, reward=0.4, violation=30.0, batch_residual_0=np.where(np.arange(count) < 4, -0.01, 0.02)),
    }
    context = Context(Plan(seeds=SEEDS), MadeUp({f"german-stress-{m}": made_up[m] for m in METHODS}))
    expected = ["primal-dual", *["ofs"] * 3, *["ofs"] * 4, "unconstrained"]
    assert table5.winners(context, "german") == expected
    assert table5.win_rate(context, "german", "ofs") == pytest.approx(100 * 7 / 9)


def test_the_paired_bootstrap_covers_the_mean_difference() -> None:
    """300 samples of 10 paired differences: percentile intervals cover at 80% to 98% (they are short for 10 seeds)."""
    rng = np.random.default_rng(0)
    samples = rng.normal(0.3, 1.0, (300, 10))
    found = [table3.interval(sample) for sample in samples]
    covered = np.mean(
        [number.low <= 0.3 <= number.high for number in found if number.low is not None and number.high is not None]
    )
    assert 0.80 <= covered <= 0.98
    constant = table3.interval(np.full(10, 0.2))
    assert constant.low == pytest.approx(0.2)
    assert constant.high == pytest.approx(0.2)


def test_differences_are_positive_in_favour_of_ofs() -> None:
    names = {f"german-{m}": figures(1) for m in METHODS}
    names["german-ofs"] = figures(1, reward=0.5, gap=0.01, violation=10.0)
    context = Context(Plan(seeds=SEEDS), MadeUp(names))
    assert table3.differences(context, "german", "reward").tolist() == [0.5, 0.5]
    assert table3.differences(context, "german", "gap").tolist() == pytest.approx([0.09, 0.09])
    assert table3.differences(context, "german", "violation").tolist() == [90.0, 90.0]


def test_verdicts_follow_their_rule() -> None:
    assert graded([True, True], [True, True]) == HOLDS
    assert graded([True, False, False], [True, True, False]) == DIRECTION
    assert graded([True, False], [True, False]) == FAILS
