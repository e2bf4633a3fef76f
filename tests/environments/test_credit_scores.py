"""CreditScores: what a record does to a score, one step of Liu et al., steady states, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from fairgate.data import load_fico
from fairgate.environments import CreditScores, check_environment
from fairgate.environments.long_run import iterate, settle
from fairgate.policy import Policy
from tests.environments.worlds import RNG, credit_scores
from tests.reference import borrowers, tabulate


def test_a_batch_moves_the_records_as_the_equation_says() -> None:
    """Group 0: of 10 people 4 repay and 2 default; group 1: of 2 people 1 repays."""
    world = credit_scores(rate=0.5, carry=0.8)
    state = np.array([[[0.2, 0.1], [0.0, 0.3]]])
    moved = world.update(state, Counts([[[[3, 2], [1, 4]], [[1, 0], [0, 1]]]]), np.zeros((1, 2)), RNG)
    np.testing.assert_allclose(moved, [[[0.1 + 0.4 * 0.4, 0.05 + 0.4 * 0.2], [0.4 * 0.5, 0.15]]])


def test_scores_stay_on_the_scale_and_repayment_goes_by_the_moved_score() -> None:
    """Nobody is above 850 or below 300; everybody on record as repaid has a score of at least 375."""
    world = credit_scores()
    for state, ends in (([1.0, 0.0], (375.0, 850.0)), ([0.0, 1.0], (300.0, 700.0)), ([0.0, 0.0], (300.0, 850.0))):
        full = np.full((1, 2, 2), state)
        low, high = (Counts(world.probabilities(full, np.full((1, 2), end))).overall[0] for end in ends)
        assert low == pytest.approx(1.0)
        assert 0.0 < high < 1.0
        assert Counts(world.probabilities(full, np.full((1, 2), ends[1] + 0.01))).overall[0] == 0.0
    repaid = world.probabilities(np.tile([1.0, 0.0], (1, 2, 1)), np.full((1, 2), 850.0))[0, 0, :, 1]
    assert repaid[1] / repaid.sum() == pytest.approx(np.asarray(world.repay)[0, -1])


def test_with_rate_and_carry_1_a_round_is_liu_s_one_step() -> None:
    """The mean score moves by the mean change of score, but for people whom the scale's ends stop."""
    world = credit_scores(rate=1.0, carry=1.0, low=-1000.0, high=2000.0)
    thresholds = np.array([[560.0, 600.0]])
    cells = Counts(world.probabilities(world.start(1), thresholds))
    moved = world.update(world.start(1), cells, thresholds, RNG)
    change = world.mean_scores(moved) - world.mean_scores(world.start(1))
    np.testing.assert_allclose(change, fg.mean_score_change(cells), atol=1e-9)


def test_a_loop_of_people_one_by_one_settles_where_the_equations_say() -> None:
    """150 rounds of 400 people, of which the last 120 are averaged; 5 standard errors are about 0.02."""
    world, rng = credit_scores(), np.random.default_rng(5)
    thresholds = np.array([[520.0, 600.0]])
    state, seen = world.start(1), []
    for _ in range(150):
        groups, scores, labels = borrowers(world, state[0], 400, rng)
        decisions = (scores >= thresholds[0, groups]).astype(np.int64)
        state = world.update(state, Counts(tabulate(groups, labels, decisions, 2)[None]), thresholds, rng)
        seen.append(state[0])
    np.testing.assert_allclose(np.mean(seen[30:], axis=0), world.steady_state(thresholds)[0], atol=0.02)


def test_steady_states_are_solved_exactly_of_thresholds_and_found_of_lotteries() -> None:
    world = fg.load_task("fico").environment
    thresholds = np.array([[500.0, 500.0], [650.0, 480.0], [-np.inf, np.inf]])
    np.testing.assert_allclose(world.steady_state(thresholds), iterate(world, thresholds), atol=1e-10)
    lottery = Policy(np.array([[[500.0, 500.0]], [[np.inf, np.inf]]]), np.array([[0.3], [0.7]]))
    state = settle(world, lottery)
    expected = Counts(world.cells(state, lottery))
    np.testing.assert_allclose(world.update(state, expected, lottery.published, RNG), state, atol=1e-10)


@pytest.mark.parametrize("name", ["fico", "fico-4"])
def test_the_tasks_keep_the_contract(name: str) -> None:
    check_environment(fg.load_task(name).environment)


def test_carry_and_rate_may_differ_by_replicate() -> None:
    both = credit_scores(carry=[0.2, 0.8], rate=[0.1, 0.5])
    thresholds = np.array([[520.0, 600.0], [520.0, 600.0]])
    together = both.steady_state(thresholds)
    np.testing.assert_allclose(together[0], credit_scores(carry=0.2).steady_state(thresholds[:1])[0])
    np.testing.assert_allclose(together[1], both.rows(slice(1, 2)).steady_state(thresholds[:1])[0])


def test_a_task_is_made_again_from_its_recipe() -> None:
    task = fg.load_task("fico")
    again = fg.Task.from_json(task.to_json())
    assert fg.oracle(again, "per-group").best.reward == fg.oracle(task, "per-group").best.reward


def test_the_start_is_the_table_itself() -> None:
    table = load_fico(["white", "black"])
    world = fg.load_task("fico").environment
    for score in (480.0, 613.8, 761.0):
        cells = Counts(world.probabilities(world.start(1), np.full((1, 2), score)))
        above = table.scores >= score
        np.testing.assert_allclose(cells.rates[0], table.pdf[:, above].sum(axis=1), atol=1e-12)
        repaid = (table.pdf * table.repay)[:, above].sum(axis=1)
        np.testing.assert_allclose(cells.cells[0, :, 1, 1], table.shares * repaid, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"carry": 1.1}, r"CreditScores: carry must be in \[0, 1\], got 1.1"),
        ({"rate": 0.0}, r"CreditScores: rate must be in \(0, 1\], got 0.0"),
        ({"fall": -1.0}, "CreditScores: fall must be a finite number of at least 0, got -1.0"),
        ({"shares": [0.7, 0.2]}, r"CreditScores: shares must sum to 1, got \[0\.8999"),
        ({"shares": [1.0]}, r"CreditScores: pdf must have one row per group and one number per score, \(1, 200\)"),
        ({"scores": np.arange(200.0)[::-1] + 400}, "CreditScores: scores must increase"),
        ({"low": 350.0}, "CreditScores: scores must lie between low and high, 350 and 850, got 300 to 850"),
        ({"repay": np.full((2, 200), 1.2)}, r"CreditScores: repay must be in \[0, 1\], got 1.2 to 1.2"),
        ({"pdf": np.full((2, 200), 0.1)}, "CreditScores: pdf must sum to 1"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        credit_scores(**changes)


def test_records_that_states_could_answer_too_strongly_are_refused() -> None:
    """Nobody repays at 600 and all do at 400, where a loan that is repaid lifts them from: the state would swing."""
    jumpy: dict[str, Any] = {
        "scores": [400.0, 600.0],
        "pdf": [[1.0, 0.0]],
        "repay": [[1.0, 0.0]],
        "shares": [1.0],
        "rate": 1.0,
    }
    with pytest.raises(fg.InputError, match=r"CreditScores: carry must be below 0\.5 .*got 0\.9"):
        CreditScores(**jumpy, carry=0.9, rise=200.0, fall=50.0, low=300.0)
