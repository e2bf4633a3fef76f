"""Paired comparisons of two learners: against enumeration, and at the level they promise."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.against import State
from fairgate.comparison import compared
from fairgate.statistics import EXACT, sign_flip_test


def test_few_runs_are_tested_exactly() -> None:
    values = np.random.default_rng(1).normal(0.4, 1.0, size=(8, 3))
    found = sign_flip_test(values, rng=np.random.default_rng(0))
    for task in range(3):
        column = values[:, task]
        sums = [abs(np.dot(signs, column)) for signs in product((-1.0, 1.0), repeat=8)]
        assert found[task] == pytest.approx(np.mean(np.array(sums) >= abs(column.sum()) - 1e-12))


def test_equal_differences_and_none_at_all() -> None:
    rng = np.random.default_rng(0)
    assert sign_flip_test(np.full((6, 1), 0.1), rng=rng)[0] == 2 / 2**6
    assert sign_flip_test(np.zeros((6, 1)), rng=rng)[0] == 1.0
    assert sign_flip_test(np.zeros((40, 1)), rng=rng)[0] == 1.0
    assert sign_flip_test(np.full((40, 1), 0.1), rng=rng, flips=99)[0] == 0.01


def test_many_runs_are_tested_as_few_are() -> None:
    values = np.random.default_rng(2).normal(0.5, 1.0, size=(EXACT, 4))
    exact = sign_flip_test(values, rng=np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairgate.statistics.EXACT", 2)
        drawn = sign_flip_test(values, rng=np.random.default_rng(0), flips=20_000)
    error = np.sqrt(exact * (1 - exact) / 20_000)
    assert (np.abs(drawn - exact) <= 5 * error + 1e-4).all()  # a false alarm in a million


@pytest.mark.parametrize("runs", [10, 40])
def test_no_difference_is_found_in_five_of_a_hundred(runs: int) -> None:
    """Heavy tails, no mean: rejected at 5% in 5% of 4000 trials, give or take five standard errors."""
    values = np.random.default_rng(3).standard_t(2, size=(runs, 4000))
    p_values = sign_flip_test(values, rng=np.random.default_rng(4), flips=999)
    rejected = (p_values <= 0.05).mean()
    assert abs(rejected - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_difference_is_found_and_its_interval_holds_it() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        shared = rng.normal(size=30)
        found = compared(shared + rng.normal(0.5, 0.3, 30), shared + rng.normal(0.0, 0.3, 30))
        assert found.p_value < 0.01
        held += found.difference.low <= 0.5 <= found.difference.high
    assert held >= 175  # 95% but for the few seeds, and five standard errors


def test_runs_are_compared_seed_by_seed() -> None:
    task = fg.load_task("mve-s")
    ours, theirs = (fg.simulate(task, fg.Fixed(at), 40, 6) for at in (0.0, 0.5))
    found = fg.compare(ours, theirs, "reward", tail=20)
    gap = ours.per_replicate(20)["reward"] - theirs.per_replicate(20)["reward"]
    assert found.difference.value == pytest.approx(gap.mean())
    assert found.above == (gap > 0).mean()
    assert (found.difference.low, found.difference.high) == pytest.approx((gap.mean(),) * 2, abs=3 * gap.std())
    regret = fg.compare(ours, theirs, "regret", oracle=fg.oracle(task, refine=False))
    assert regret.p_value == 2 / 2**6
    assert fg.compare(ours, ours).p_value == 1.0
    one, other = (fg.simulate(task, fg.Fixed(at), 40, 6, keep="summary") for at in (0.0, 0.5))
    summed = fg.compare(one, other, "violation")
    assert summed.difference == pytest.approx(fg.compare(ours, theirs, "violation").difference)
    with pytest.raises(fg.InputError, match="keeps none"):
        fg.compare(one, other, oracle=fg.oracle(task, refine=False))


def test_figures_of_different_tails_are_not_compared() -> None:
    size: dict[str, Any] = {"rounds": 50, "seeds": 3}
    run = fg.simulate("mve-s", fg.Fixed(0.0), **size)
    usual = fg.simulate("mve-s", fg.Fixed(0.0), **size, keep="summary")
    longer = fg.simulate("mve-s", fg.Fixed(0.0), **size, keep="summary", tail=20)
    assert fg.compare(run, usual, "reward").difference.value == pytest.approx(0.0, abs=1e-12)
    assert fg.compare(run, longer, "reward", tail=20).difference.value == pytest.approx(0.0, abs=1e-12)
    for ours, theirs, told in ((run, longer, "10 rounds in ours"), (longer, usual, "20 rounds in ours")):
        with pytest.raises(fg.InputError, match=f"must have the same tail to be compared, but it is the last {told}"):
            fg.compare(ours, theirs, "reward")
    for ours in (usual, run):
        with pytest.raises(fg.InputError, match=r"tail must be 10, the rounds that the summary of .* is of, got 30"):
            fg.compare(ours, usual, "reward", tail=30)
    with pytest.raises(fg.InputError, match="tail is the last 51 rounds, but the run has 50"):
        fg.compare(run, run, "reward", tail=51)


def test_regret_is_judged_in_the_state_that_is_asked_for() -> None:
    task = fg.load_task("interior")
    best = fg.oracle(task, refine=False)
    ours, theirs = (fg.simulate(task, fg.Fixed(at), 40, 4) for at in (0.1, 0.5))
    states: tuple[State, ...] = ("steady", "actual")
    found = {}
    for state in states:
        gap = (ours.against(best, state=state).regret - theirs.against(best, state=state).regret).sum(axis=1).mean()
        found[state] = fg.compare(ours, theirs, "regret", oracle=best, state=state).difference.value
        assert found[state] == pytest.approx(gap)
        frame = ours.frame(oracle=best, state=state)
        np.testing.assert_array_equal(frame["regret"], ours.against(best, state=state).regret.ravel())
    assert abs(found["steady"] - found["actual"]) > 0.01
    with pytest.raises(fg.InputError, match="state is 'actual', but there is no oracle"):
        fg.compare(ours, theirs, state="actual")
    with pytest.raises(fg.InputError, match="unknown state 'stedy': did you mean 'steady'"):
        ours.frame(state="stedy")  # type: ignore[arg-type]


def test_runs_that_are_no_pairs_are_refused() -> None:
    task = fg.load_task("mve-s")
    run = fg.simulate(task, fg.Fixed(0.0), 20, 3)
    for change, told in (
        ({"seed": 1}, "seed is 0 in ours and 1 in theirs"),
        ({"seeds": 4}, "seeds is 3 in ours and 4 in theirs"),
        ({"batch": 8}, "batch is 256 in ours and 8 in theirs"),
    ):
        size = {"seeds": 3, "seed": 0, "batch": 256, **change}
        other = fg.simulate(task, fg.Fixed(0.0), 20, size["seeds"], seed=size["seed"], batch=size["batch"])
        with pytest.raises(fg.InputError, match=told):
            fg.compare(run, other)
    with pytest.raises(fg.InputError, match="task is 'mve-s' in ours and 'interior' in theirs"):
        fg.compare(run, fg.simulate(fg.load_task("interior"), fg.Fixed(0.0), 20, 3))
    apart = fg.simulate(task, fg.Fixed(0.0), 20, 3, coupling="independent")
    with pytest.raises(fg.InputError, match="simulate with coupling='common'"):
        fg.compare(apart, run)
    with pytest.raises(fg.InputError, match="unknown figure 'regret'"):
        fg.compare(run, run, "regret")
