"""Every built-in constraint in ``advise``: figures, words, options, page and terminal come from its own file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.advice.report.output import write
from fairgate.advice.report.terminal import show
from fairgate.constraints import CONSTRAINTS, parse_constraint
from fairgate.people.labels import LabelModel
from tests.advice.people import SERVICE

QUICK: dict[str, Any] = {"seeds": 1, "rounds": 10, "feedback": (0.0, 0.5)}
EASY = {
    "parity": "0.2",
    "service": "0.2:0.9",
    "opportunity": "0.25",
    "equalised-odds": "0.3",
    "ratio": "0.6",
    "budget": "0.8",
    "group-service": "0.15:0.9",
    "improvement": "75:150:5",
}
HARD = {
    "parity": "0",
    "service": "0.997:0.998",
    "opportunity": "0",
    "equalised-odds": "0",
    "ratio": "1",
    "budget": "0",
    "group-service": "0.997:0.998",
    "improvement": "75:150:70",
}


def example() -> fg.people.Applicants:
    return fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_each_is_kept_by_a_margin_and_shown(name: str, tmp_path: Path) -> None:
    constraint = parse_constraint(f"{name}={EASY[name]}")
    advice = fg.advise(example(), fg.Aims(cost=2.0, constraints=[constraint], **QUICK))
    made = advice.recommendation
    assert made.status == "sure"
    assert list(made.residuals) == list(constraint.names)
    assert max(made.residuals.values()) < 0.0
    report = write(advice, tmp_path, "table.csv")
    assert report["aims"]["constraints"] == [constraint.text]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert constraint.requirement in page
    for each, held in zip(report["constraints"][0]["residuals"], report["recommendation"]["requirements"], strict=True):
        row = f'<th scope="row">{each["measure"]["about"]}</th>'
        assert (row in page) == (not constraint.limits())
        assert held["met"]
        assert f"<li>{held['text']}</li>" in page
    told = io.StringIO()
    show(advice, Console(file=told, width=80))
    assert constraint.requirement in " ".join(told.getvalue().split())


@pytest.mark.parametrize("name", [name for name in CONSTRAINTS if name != "budget"])
def test_what_is_too_hard_is_said_and_how_to_loosen_it(name: str) -> None:
    """With a window of service besides, so that accepting nobody will not do; relaxed as told, some threshold will."""
    constraint = parse_constraint(f"{name}={HARD[name]}")
    others = [] if name in ("service", "group-service") else [fg.ServiceRate(0.2, 0.7)]
    people = fg.from_frame(SERVICE.draw(600, np.random.default_rng(2)), score="score", label="label", group="group")
    made = fg.advise(people, fg.Aims(constraints=[constraint, *others], **QUICK)).recommendation
    assert made.status == "infeasible"
    words = dict(zip(constraint.names, constraint.words, strict=True))
    broken = [words[miss].broken.replace("{}", f"{value:.4f}") for miss, value in made.misses.items() if miss in words]
    assert all(each in made.text for each in broken)
    assert broken
    lottery, per_group = made.options
    for option in (lottery, per_group):
        if option.reward is not None:
            overall = np.average(list(option.rates.values()), weights=people.sizes)
            assert 0.2 - 1e-9 <= overall <= 0.998 + 1e-9


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            [fg.ServiceRate(0.6, 0.9), fg.GroupService(0.1, 0.4)],
            r"group-service=0\.1:0\.4 and service=0\.6:0\.9 contradict each other, whatever the score",
        ),
        ([fg.ServiceRate(0.6, 0.9), fg.Budget(0.5)], "one allows at most 50% to be accepted, the other asks for at"),
    ],
)
def test_constraints_that_contradict_each_other_are_refused(asked: list[Any], told: str) -> None:
    with pytest.raises(fg.InputError, match=told):
        fg.Aims(constraints=asked)
    fg.Aims(constraints=[fg.ServiceRate(0.6, 0.9), fg.GroupService(0.1, 0.6), fg.Budget(0.6)])


def test_a_lottery_under_equal_opportunity_is_a_linear_program() -> None:
    people = fg.from_frame(SERVICE.draw(600, np.random.default_rng(2)), score="score", label="label", group="group")
    aims = fg.Aims(constraints=[fg.EqualOpportunity(0.0), fg.ServiceRate(0.3, 0.7)], **QUICK)
    lottery, _ = fg.advise(people, aims).recommendation.options
    assert lottery.reward is not None
    table = SERVICE.draw(600, np.random.default_rng(2)).to_pandas()
    chance = sum(w * (table["score"] >= (np.inf if cut is None else cut)) for cut, w in lottery.weights)
    good = table["label"] == 1.0
    rates = chance[good].groupby(table["group"][good]).mean()
    assert rates.max() - rates.min() <= 1e-9
    assert 0.3 - 1e-9 <= chance.mean() <= 0.7 + 1e-9


@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_what_is_known_of_labels_is_worked_out_once(missing: float, tmp_path: Path) -> None:
    table = SERVICE.draw(3000, np.random.default_rng(0), missing)
    people = fg.from_frame(table, score="score", label="label", group="group")
    aims = fg.Aims(constraints=[fg.DemographicParity(0.0), fg.ServiceRate(0.3, 0.6)], **QUICK)
    with patch.object(LabelModel, "fit", side_effect=LabelModel.fit) as fit:
        write(fg.advise(people, aims), tmp_path, "table")
    assert sum(call.args[0].sum() == 3000 for call in fit.call_args_list) == 1  # besides that of the pilot
