"""A run beside the exact truth, against plain loops, whole and in pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

import fairgate as fg
from fairgate.against import Against
from fairgate.problem import Assessment

ROUNDS = 90


def piece(run: fg.Run, part: slice) -> fg.Run:
    """Some rounds of a run, as a run of its own."""

    def cut(found: Assessment) -> Assessment:
        return Assessment(found.reward[:, part], found.residuals[:, :, part])

    return replace(
        run,
        policies=fg.Policy(run.policies.thresholds[:, :, part], run.policies.weights[:, :, part]),
        counts=run.counts[:, part],
        probabilities=run.probabilities[:, part],
        batch=cut(run.batch),
        population=cut(run.population),
    )


@pytest.mark.parametrize("name", ["mve-s", "mean-shift", "drift"])
def test_every_round_is_what_a_loop_says(name: str) -> None:
    task = fg.load_task(name)
    run = fg.simulate(task, fg.OFS(), ROUNDS, 2, batch=64)
    found = run.against(fg.truth_of(task, ROUNDS))
    for t in (0, 30, ROUNDS - 1):
        now = task.at(t // 25 * 25)
        sweep = fg.oracle(now, refine=False).sweep
        attainable = sweep.reward[(sweep.residuals <= 1e-9).all(axis=0)]
        for replicate in range(2):
            at = run.thresholds[replicate, t][None]
            cells = now.environment.probabilities(now.environment.steady_state(at), at)
            reward, residuals = (each[..., 0] for each in now.problem.assess(cells))
            violation = np.maximum(residuals, 0.0).sum()
            assert found.violation[replicate, t] == pytest.approx(violation, abs=1e-9)
            if attainable.size:
                regret = attainable.max() - reward
                short = max(regret, residuals.max(), 0.0)
                assert found.regret[replicate, t] == pytest.approx(regret, abs=1e-9)
                assert found.excess[replicate, t] == pytest.approx(violation, abs=1e-9)
                assert found.shortfall[replicate, t] == pytest.approx(short, abs=1e-9)
                assert found.success[replicate, t] == (regret <= 0.01 and residuals.max() <= 0.01)
            else:
                least = np.maximum(sweep.residuals, 0.0).sum(axis=0).min()
                assert np.isnan(found.regret[replicate, t])
                assert found.shortfall[replicate, t] == pytest.approx(max(violation - least, 0.0), abs=1e-9)


@pytest.mark.parametrize("name", ["mve-s", "shock", "drift"])
def test_pieces_are_judged_as_the_whole_is(name: str) -> None:
    task = fg.load_task(name)
    if name == "shock":  # in the middle of these rounds
        task = replace(task, environment=replace(cast(fg.environments.Drift, task.environment), jump_round=60))
    run, truth = fg.simulate(task, fg.OFS(), ROUNDS, 3, batch=64), fg.truth_of(task, ROUNDS)
    whole = run.against(truth)
    parts = [piece(run, slice(low, high)).against(truth, first=low) for low, high in ((0, 10), (10, 70), (70, ROUNDS))]
    for field in ("regret", "violation", "excess", "shortfall", "success"):
        joined = np.concatenate([getattr(part, field) for part in parts], axis=1)
        np.testing.assert_array_equal(joined, getattr(whole, field))
    assert [part.frame()["round"].min() for part in parts] == [1, 11, 71]


def test_an_oracle_judges_a_task_that_stays_as_its_truth_does() -> None:
    task = fg.load_task("mve-s")
    run = fg.simulate(task, fg.learners.BanditGradient(), ROUNDS, 2, batch=64)
    one, other = run.against(fg.oracle(task, refine=False)), run.against(fg.truth_of(task, ROUNDS))
    np.testing.assert_array_equal(one.regret, other.regret)
    np.testing.assert_array_equal(one.shortfall, other.shortfall)


def test_the_best_threshold_succeeds_and_figures_add_up() -> None:
    task = fg.load_task("mve-s")
    best = fg.oracle(task, refine=False)
    found = fg.simulate(task, fg.Fixed(best.best.threshold), 40, 3).against(best)
    assert found.success.all()
    assert (found.cumulative_regret[:, -1] == 0.0).all()
    figures = found.summary(tail=10)
    assert figures["success"].mean == figures["tail_success"].mean == 1.0
    assert figures["regret"].mean == figures["shortfall"].mean == 0.0
    low = fg.simulate(task, fg.Fixed(float(task.thresholds[-1])), 40, 3).against(best)
    regret = best.best.reward - best.sweep.reward[-1]
    np.testing.assert_allclose(low.cumulative_regret[:, -1], 40 * regret)
    assert low.summary()["regret"].mean == pytest.approx(40 * regret)
    assert not low.success.any()
    assert low.within(2 * regret, 1.0).all()


def test_lotteries_and_actual_states_are_judged_by_the_population() -> None:
    task = fg.load_task("mve-s")
    best = fg.oracle(task, refine=False)
    lottery = fg.simulate(task, fg.learners.BestLottery(), 30, 2)
    np.testing.assert_array_equal(lottery.against(best).regret, best.best.reward - lottery.population.reward)
    fixed = fg.simulate(task, fg.Fixed(best.best.threshold), 30, 2)
    actual = fixed.against(best, state="actual")
    np.testing.assert_array_equal(actual.regret, best.best.reward - fixed.population.reward)
    assert not np.array_equal(actual.regret, fixed.against(best).regret)


def test_a_tidy_table_has_the_oracle_as_columns() -> None:
    task = fg.load_task("mve-s")
    run, best = fg.simulate(task, fg.OFS(), 30, 2), fg.oracle(task, refine=False)
    found: Against = run.against(best)
    tidy = run.frame(oracle=best)
    np.testing.assert_array_equal(tidy["regret"], found.regret.ravel())
    np.testing.assert_array_equal(tidy["success"], found.success.ravel())
    assert set(found.frame(backend="polars").columns) > {"cumulative_regret", "shortfall", "excess", "replicate"}
    assert "regret" not in run.frame().columns


def test_what_cannot_be_judged_is_said() -> None:
    task, other = fg.load_task("mve-s"), fg.load_task("interior")
    run = fg.simulate(task, fg.OFS(), 30, 2)
    with pytest.raises(fg.InputError, match="that of task 'interior', but the run is of 'mve-s'"):
        run.against(fg.oracle(other, refine=False))
    with pytest.raises(fg.InputError, match="oracle must be fairgate"):
        run.against(task)  # type: ignore[arg-type]
    with pytest.raises(fg.InputError, match="truth is that of 20 rounds, but a run goes to round 30"):
        run.against(fg.truth_of(task, 20))
    with pytest.raises(fg.InputError, match="unknown state 'stedy': did you mean 'steady'"):
        run.against(fg.oracle(task, refine=False), state="stedy")  # type: ignore[arg-type]
    with pytest.raises(fg.InputError, match="by must be 'round'"):
        run.frame(by="group", oracle=fg.oracle(task, refine=False))
