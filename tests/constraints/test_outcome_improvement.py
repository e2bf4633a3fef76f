"""Outcome improvement: the mean change of score of each group, as a figure and as a constraint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import fairgate as fg
from fairgate.advice.example import write_example
from fairgate.constraints import parse_constraint
from fairgate.live import Gate
from tests.command import fairgate_here
from tests.constraints.people import count, sample
from tests.live.gates import make_spec, people

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


@pytest.mark.slow
def test_on_the_command_line_and_in_a_policy_file(tmp_path: Path) -> None:
    write_example(tmp_path)
    names = ("--score", "risk_score", "--label", "repaid", "--group", "sex", "--cost", "2", "--json")
    given = ("--improvement", "75:150:5", "--service", "0.3:0.8")
    told = fairgate_here("advise", "applicants.csv", *names, *given, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    policy = (tmp_path / "policy.toml").read_text(encoding="utf-8")
    policy = policy.replace("parity = 0.10 ", "improvement = [75, 150, 5] ")
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    again = fairgate_here("advise", "--config", "policy.toml", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    one, other = json.loads(told.stdout), json.loads(again.stdout)
    assert one["recommendation"]["residuals"]["improvement"] < 0.0
    assert one["recommendation"]["residuals"] == other["recommendation"]["residuals"]
    measures = {each["name"]: each["measure"] for kind in one["constraints"] for each in kind["residuals"]}
    assert measures["improvement"]["about"] == "Lowest mean score change of a group"
    assert measures["improvement"]["required"] == "at least 5 required"


def test_a_learner_that_estimates_labels_keeps_it_and_one_without_it_does_not() -> None:
    """A lender to whom a default costs little lends to so many that the black group's scores fall."""
    task = fg.load_task("fico")
    harmless = fg.OutcomeImprovement()
    for required, kept in (([harmless], True), ([fg.ServiceRate(0.5, 0.95)], False)):
        problem = fg.Problem(fg.Utility(0.25), required)
        mine = fg.Task(task.environment, problem, task.grid, "mine")
        run = fg.simulate(mine, fg.SafeForecast(), rounds=300, seeds=2)
        last = fg.Counts(run.counts[:, -100:].sum(axis=1))
        assert (harmless.residuals(last)[0] <= 0.01).all() == kept


def test_a_gate_takes_it_with_a_learner_that_estimates_labels_only(tmp_path: Path) -> None:
    with pytest.raises(fg.InputError, match=r"improvement=75\.0:150\.0:0\.0 asks for labels of the accepted, which"):
        make_spec(constraints={"improvement": [75, 150, 0]}, learner="ofs")
    spec = make_spec(constraints={"improvement": [75, 150, 0]}, learner="safe-forecast")
    gate, rng = Gate(str(tmp_path / "gate.db"), "credit", spec=spec), np.random.default_rng(0)
    for start in range(0, 90, 30):
        ids, groups, scores = people(rng, 30, start)
        accepted = gate.decide(ids, groups, scores).accepted
        taken = [(name, score) for name, score, yes in zip(ids, scores, accepted, strict=True) if yes]
        gate.outcomes([name for name, _ in taken], [int(rng.random() < score) for _, score in taken])
        gate.close()
    (known,) = gate.figures().scopes[0].constraints
    assert (known.constraint, known.status) == ("improvement=75.0:150.0:0.0", "not judged")
    assert known.text == "It depends on labels of the accepted, which come later: the learner estimates it."
    assert gate.audit().clean
    gate.shut()
