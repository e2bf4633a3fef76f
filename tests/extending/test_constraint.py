"""A constraint added from one file outside the package works everywhere, with and without its optional parts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.advice.config import read_policy
from fairgate.advice.example import example_table, write_example
from fairgate.advice.report.output import document, write
from fairgate.advice.report.page import shown
from fairgate.constraints import as_constraint, make_constraint, parse_constraint
from fairgate.tasks import make_problem, presets
from tests.advice.people import SERVICE
from tests.command import fairgate, fairgate_here
from tests.extending.harm import FewHarmed, FewHarmedInWords

HARM = Path(__file__).with_name("harm.py")
PLACES = ("harm:FewHarmed", "harm:FewHarmedInWords")
QUICK: dict[str, Any] = {"seeds": 1, "rounds": 20, "feedback": (0.0, 0.5)}
MADE = (FewHarmed, FewHarmedInWords)


def example() -> fg.people.Applicants:
    return fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")


@pytest.mark.parametrize("kind", MADE)
def test_advice_python_page_and_words(kind: Any, tmp_path: Path) -> None:
    aims = fg.Aims(cost=1.0, constraints=[kind(0.05), fg.ServiceRate(0.2, 0.8)], **QUICK)
    advice = fg.advise(example(), aims)
    made = advice.recommendation
    assert made.status == "sure"
    assert made.residuals["harm"] < 0.0
    report = write(advice, tmp_path, "table.csv")
    residuals = [residual["name"] for each in report["constraints"] for residual in each["residuals"]]
    assert residuals == ["harm", "service-low", "service-high"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report["constraints"][0]["requirement"] in page
    assert "beyond what is allowed" in page  # a row of its own, as it limits no figure that is drawn
    assert shown(report)["limits"] == {"acceptance": [0.2, 0.8]}


@pytest.mark.parametrize("kind", MADE)
def test_options_where_no_threshold_meets_it(kind: Any) -> None:
    """Little harm and much acceptance conflict, also by group: what is said comes from the constraint."""
    aims = fg.Aims(cost=1.0, constraints=[kind(0.03), fg.ServiceRate(0.5, 0.9)], **QUICK)
    made = fg.advise(example(), aims).recommendation
    assert made.status == "infeasible"
    assert [(option.kind, option.reward) for option in made.options] == [("lottery", None), ("per-group", None)]
    if kind is FewHarmedInWords:
        assert f"where {made.misses['harm']:.4f} too many people are harmed" in made.text
        assert "To go on, allow 8.8% of harm" in made.text
    else:
        assert f"where the residual 'harm' is {made.misses['harm']:.4f} too large" in made.text
        assert "To go on, loosen the residual 'harm' by 0.0580" in made.text


@pytest.mark.parametrize("kind", MADE)
def test_a_lottery_is_searched_for_where_it_cannot_be_programmed(kind: Any) -> None:
    constraints = [kind(0.25), fg.ServiceRate(0.3, 0.7), fg.DemographicParity(0.0)]
    people = fg.from_frame(SERVICE.draw(600, np.random.default_rng(2)), score="score", label="label", group="group")
    made = fg.advise(people, fg.Aims(cost=0.5, constraints=constraints, **QUICK)).recommendation
    assert made.status == "infeasible"  # no threshold has a gap of exactly 0
    lottery, _ = made.options
    assert lottery.reward is not None
    assert np.ptp(list(lottery.rates.values())) <= 1e-9
    assert sum(weight for _, weight in lottery.weights) == pytest.approx(1.0)


@pytest.mark.parametrize("place", PLACES)
def test_command_line_and_policy_file(place: str, tmp_path: Path) -> None:
    (tmp_path / "harm.py").write_text(HARM.read_text(encoding="utf-8"), encoding="utf-8")
    write_example(tmp_path)
    names = ("--score", "risk_score", "--label", "repaid", "--group", "sex", "--seeds", "1", "--rounds", "10", "--json")
    given = ("--constraint", f"{place}=0.05", "--constraint", "service=0.2:0.8", "--ratio", "0.7")
    told = fairgate("advise", "applicants.csv", *names, *given, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    policy = (tmp_path / "policy.toml").read_text(encoding="utf-8")
    policy = policy.replace("parity = 0.10", f'"{place}" = 0.05\nratio = 0.7').replace("[0.3, 0.8]", "[0.2, 0.8]")
    policy = policy.replace("cost = 2.0", "cost = 1.0").replace("seeds = 20", "seeds = 1").replace("1000", "10")
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    again = fairgate_here("advise", "--config", "policy.toml", "--allow", place, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    one, other = json.loads(told.stdout), json.loads(again.stdout)
    assert one["recommendation"]["threshold"] == other["recommendation"]["threshold"]
    assert one["recommendation"]["residuals"] == other["recommendation"]["residuals"]
    assert {"service=0.2:0.8", "ratio=0.7"} < set(one["aims"]["constraints"])


def test_a_policy_file_finds_modules_of_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_policy.py").write_text(HARM.read_text(encoding="utf-8"), encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text('[constraints]\n"beside_the_policy:FewHarmedInWords" = 0.05\n', encoding="utf-8")
    with pytest.raises(fg.InputError, match="add --allow beside_the_policy:FewHarmedInWords"):
        read_policy(policy)
    assert "beside_the_policy" not in sys.modules
    assert str(tmp_path) not in sys.path
    _, required = read_policy(policy, ["beside_the_policy:FewHarmedInWords"])
    assert [each.text for each in required.values()] == ["beside_the_policy:FewHarmedInWords=0.05"]


@pytest.mark.parametrize("kind", MADE)
def test_a_task_has_it_and_learners_play_it(kind: Any) -> None:
    interior, name = fg.load_task("interior"), f"tests.extending.harm:{kind.__name__}"
    own = make_constraint(name, 0.1, allow=[name])
    problem = fg.Problem(interior.problem.utility, [*interior.problem.constraints, own])
    assert problem.names == ("parity", "service-low", "service-high", "harm")
    with pytest.raises(fg.InputError, match=f"add --allow {name}"):  # a preset is a file, which names no code
        make_problem(**presets()["interior"]["problem"], **{name: 0.1})
    task = fg.Task(interior.environment, problem, interior.thresholds, "mine")
    for learner in (fg.OFS(), fg.SafeForecast(), fg.learners.DoublyOptimistic(), fg.learners.BestLottery()):
        run = fg.simulate(task, learner, rounds=40, seeds=2)
        assert np.isfinite(run.summary(tail=10)["population_violation"].mean)
    assert as_constraint(kind(0.1)).needs == "accepted-labels"


def test_the_text_of_a_class_with_settings_goes_both_ways() -> None:
    allow = ["tests.extending.harm:FewHarmedInWords"]
    constraint = parse_constraint("tests.extending.harm:FewHarmedInWords=0.05", allow)
    assert constraint == FewHarmedInWords(0.05)
    assert constraint.text == "tests.extending.harm:FewHarmedInWords=0.05"
    with pytest.raises(fg.InputError, match=r"Words=2: most must be in \[0, 1\], got 2.0"):
        parse_constraint("tests.extending.harm:FewHarmedInWords=2", allow)


def test_a_page_needs_nothing_but_the_document() -> None:
    aims = fg.Aims(constraints=[FewHarmed(0.05)], **QUICK)
    drawn = shown(document(fg.advise(example(), aims), "table"))
    assert drawn["limits"] == {}
    assert [each["broken"] for each in drawn["residuals"]] == ["the residual 'harm' is {} too large"]


class Odd:
    """A constraint whose names and residuals a test chooses."""

    def __init__(self, names: Any, residuals: Any) -> None:
        self.names, self.found = names, residuals

    def residuals(self, counts: fg.Counts) -> Any:
        return self.found(counts)


@pytest.mark.parametrize(
    ("names", "residuals", "sentence"),
    [
        (("a", "b"), lambda counts: [counts.gap], r"one array of shape .* per name \('a', 'b'\), got 1"),
        (("a",), lambda counts: counts.gap, r"one array of shape .* per name \('a',\), got"),
        (("a",), lambda _: 0.1, r"per name \('a',\), in a list, got 0.1"),
        (("a",), lambda counts: [counts.rates], r"per name \('a',\), got one of shape"),
        ("a", lambda counts: [counts.gap], r"names must be a sequence of texts such as \("),
        (3, lambda counts: [counts.gap], r"names must be a sequence of texts such as \("),
        (("parity",), lambda counts: [counts.gap], "different names to tell them apart, got parity, parity"),
    ],
)
def test_residuals_that_do_not_fit_their_names_are_one_sentence(names: Any, residuals: Any, sentence: str) -> None:
    world = fg.load_task("interior")
    constraints: list[Any] = [fg.DemographicParity(0.1), Odd(names, residuals)]
    with pytest.raises(fg.InputError, match=sentence):
        fg.Task(world.environment, fg.Problem(fg.Utility(1.0), constraints), world.grid)
    with pytest.raises(fg.InputError, match=sentence):
        fg.advise(example(), fg.Aims(constraints=constraints, **QUICK))
