"""Outcome improvement: the mean change of score of each group, as a figure and as a constraint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import fairgate as fg
from fairgate.constraints import parse_constraint
from tests.constraints.people import count, sample

batches = hnp.arrays(np.int64, (1, 3, 2, 2), elements=st.integers(0, 30))


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_the_change_is_that_of_the_people_one_by_one(groups: int) -> None:
    group, label, decision = sample(groups, seed=3)
    change = fg.mean_score_change(count(group, label, decision, groups), rise=60.0, fall=100.0)[0]
    for each in range(groups):
        members = [(y, d) for g, y, d in zip(group, label, decision, strict=True) if g == each]
        moved = [0.0 if not d else 60.0 if y else -100.0 for y, d in members]
        assert change[each] == pytest.approx(sum(moved) / len(moved))


def test_the_residual_is_the_worst_group_s_shortfall_as_a_share_of_all_points() -> None:
    """+22.5 and 0 points per person; 4.5 are wanted, and 225 lie between a default and a repayment."""
    counts = fg.Counts([[[[3, 1], [1, 5]], [[1, 3], [0, 6]]]])
    (residual,) = fg.OutcomeImprovement(minimum=4.5).residuals(counts)
    assert residual[0] == pytest.approx(4.5 / 225)


@given(table=batches, points=st.floats(-40.0, 40.0))
def test_it_is_met_exactly_when_every_group_present_changes_by_the_minimum(
    table: NDArray[np.int64], points: float
) -> None:
    table[:, 0, 0, 0] += 1
    counts = fg.Counts(table)
    change = fg.mean_score_change(counts)[0]
    if np.abs(change - points).min() > 1e-9:
        met = fg.OutcomeImprovement(minimum=points).residuals(counts)[0][0] <= 0
        assert met == all(each >= points for each in change if not np.isnan(each))


def test_accepting_nobody_changes_nothing_and_a_group_with_nobody_is_left_out() -> None:
    cells = np.zeros((1, 2, 2, 2))
    cells[0, 0, :, 0] = 5
    np.testing.assert_array_equal(fg.mean_score_change(fg.Counts(cells)), [[0.0, np.nan]])
    assert fg.OutcomeImprovement().residuals(fg.Counts(cells))[0] == 0.0


def test_labels_of_rejected_people_do_not_matter_so_every_learner_may_have_it() -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.OutcomeImprovement()])
    shown = problem.reveal(np.array([[[[9, 1], [1, 5]], [[1, 3], [5, 6]]]]), level="bandit")
    assert np.isfinite(shown.residuals).all()


def test_as_text_on_the_command_line_in_a_policy_file_and_by_default() -> None:
    assert parse_constraint("improvement") == fg.OutcomeImprovement(75.0, 150.0, 0.0)
    assert parse_constraint("improvement=75:150:0") == fg.OutcomeImprovement()
    assert fg.OutcomeImprovement(rise=60, fall=90, minimum=-2).text == "improvement=60:90:-2"


def test_its_words() -> None:
    required = fg.OutcomeImprovement(minimum=-2.5)
    assert required.requirement == (
        "Every group’s mean score must change by -2.5 points or better, if an accepted person gains 75 with a good "
        "label and loses 150 with a bad one."
    )
    (measure,) = required.measures(fg.Counts([[[3, 1], [1, 5]], [[1, 3], [0, 6]]]))
    assert (measure.about, float(measure.value), measure.end) == (
        "Lowest mean score change of a group",
        0.0,
        "at least",
    )
    relaxed = fg.OutcomeImprovement(minimum=5.0).relaxed(0, fg.Counts([[[3, 1], [1, 5]], [[1, 3], [0, 6]]]))
    assert relaxed.allows(0) == "a mean score change of +0.00 points in a group"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("improvement=0:150:0", "improvement=0:150:0: rise must be a finite number above 0, got 0.0"),
        ("improvement=75:-1:0", "improvement=75:-1:0: fall must be a finite number of at least 0, got -1.0"),
        (
            "improvement=75:150:75",
            "minimum must be below rise, what everybody gains if all repay, got 75.0 and rise 75",
        ),
        ("improvement=75:150:0:1", "improvement must be written as improvement=rise:fall:minimum"),
    ],
)
def test_bad_settings_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        parse_constraint(text)
