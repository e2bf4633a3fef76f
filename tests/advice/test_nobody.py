"""Where accepting nobody meets every constraint, no advice is worth less."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.advice import Advice, Aims, advise
from fairgate.advice.report.output import write
from fairgate.advice.report.terminal import show

QUICK: dict[str, Any] = {"feedback": (0.0,), "seeds": 2, "rounds": 20}


def table(people: int = 600, shift: float = 1.5, seed: int = 0) -> pa.Table:
    """Group b scores lower, so that only a low threshold accepts both alike; about 40% of all labels are good."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=people)
    score = (rng.normal(size=people) - shift * group).round(2)
    label = rng.random(people) < 1.0 / (1.0 + np.exp(-2.0 * score))
    return pa.table({"score": score, "label": label.astype(int), "group": np.where(group, "b", "a")})


def people(table: pa.Table, **more: Any) -> fg.Applicants:
    return fg.from_frame(table, score="score", label="label", group="group", **more)


def told(advice: Advice) -> str:
    text = io.StringIO()
    show(advice, Console(file=text, width=200))
    return text.getvalue()


@pytest.mark.parametrize("feedback", [(0.0,), (0.4, 0.0)])
def test_nobody_is_advised_where_every_threshold_that_keeps_the_ratio_loses(feedback: tuple[float, ...]) -> None:
    aims = Aims(cost=20.0, constraints=[fg.DisparateImpact(0.8)], **QUICK | {"feedback": feedback})
    advice = advise(people(table()), aims)
    made = advice.recommendation
    assert (made.status, made.rule, made.reward.value, made.acceptance.value) == ("sure", "nobody", 0.0, 0.0)
    assert (made.bolder, made.price, made.misses) == (None, 0.0, {})
    assert made.text.startswith("Accept nobody:")
    assert "keeps every constraint is worth more than accepting nobody." in made.text
    assert not [finding for finding in advice.findings if finding.key == "loss"]
    assert made.threshold > max(table()["score"].to_pylist())


def test_other_ways_that_are_worth_more_than_nobody_are_named() -> None:
    advice = advise(people(table()), Aims(cost=4.0, constraints=[fg.DisparateImpact(0.8)], **QUICK))
    made = advice.recommendation
    assert made.rule == "nobody"
    assert [each.kind for each in made.options] == ["per-group"]
    assert made.options[0].reward is not None
    assert made.options[0].reward > 0.0
    assert made.options[0].text in made.text


@pytest.mark.parametrize(
    ("constraints", "allowed"),
    [
        ([], True),
        ([fg.DemographicParity(0.05)], True),
        ([fg.DisparateImpact(0.8)], True),
        ([fg.EqualOpportunity(0.1)], True),
        ([fg.Budget(0.3)], True),
        ([fg.ServiceRate(0.0, 0.5)], True),
        ([fg.DisparateImpact(0.8), fg.ServiceRate(0.1, 1.0)], False),
        ([fg.GroupService(0.1, 1.0)], False),
    ],
)
def test_nobody_keeps_all_constraints_but_those_that_want_somebody_accepted(
    constraints: list[Any], allowed: bool
) -> None:
    """A score that tells nothing, and a cost at which everybody loses."""
    rng = np.random.default_rng(1)
    score, group = rng.random(400).round(2), rng.choice(["a", "b"], size=400)
    given = pa.table({"score": score, "label": (rng.random(400) < 0.3).astype(int), "group": group})
    advice = advise(people(given), Aims(cost=50.0, constraints=constraints, **QUICK))
    made = advice.recommendation
    assert (made.rule == "nobody") == allowed
    assert (made.reward.value < 0.0) == (not allowed)
    assert bool([finding for finding in advice.findings if finding.key == "loss"]) == (not allowed)
    if not allowed:
        assert "which breaks a constraint" in made.text or made.status == "infeasible"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cost", [1.0, 3.0, 10.0])
def test_caution_costs_no_more_than_all_there_is_to_earn(seed: int, cost: float) -> None:
    for constraint in (fg.DisparateImpact(0.8), fg.DemographicParity(0.05)):
        made = advise(people(table(300, 0.7, seed)), Aims(cost=cost, constraints=[constraint], **QUICK)).recommendation
        assert made.reward.value >= 0.0 or made.status == "infeasible"
        assert made.cost_of_surety is None or 0.0 <= made.cost_of_surety <= 1.0
        if made.bolder is not None:
            assert f"That caution costs {made.price:.4f} per person" in made.text


@pytest.mark.parametrize("descending", [False, True])
def test_everything_is_written_where_nobody_is_accepted(tmp_path: Path, descending: bool) -> None:
    """With decisions, dates, missing labels and loops, of many scores."""
    rng = np.random.default_rng(3)
    given = table(3000, seed=3)
    score = given["score"].to_numpy() + rng.normal(size=3000) / 1000.0
    label = [None if rng.random() < 0.1 else value for value in given["label"].to_pylist()]
    date = [f"2024-{1 + each % 6:02d}-01" for each in range(3000)]
    decision = (score > 0.5).astype(int)
    columns = {"score": -score if descending else score, "label": label, "group": given["group"]}
    some = pa.table(columns | {"decision": decision, "date": date})
    read = people(some, decision="decision", date="date", descending=descending)
    aims = Aims(cost=60.0, constraints=[fg.DisparateImpact(0.9)], loops=True, **QUICK)
    advice = advise(read, aims)
    assert advice.recommendation.rule == "nobody"
    assert {each.written for each in advice.backtest} == {"nobody"}
    assert all(each.advised.accepted == 0 for each in advice.backtest)
    write(advice, tmp_path, "table.csv")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["recommendation"]["test_level"] == 0.0
    assert report["change"]["everybody"]["accepted_then"] == 0.0
    page = (tmp_path / "report.html").read_text()
    assert "Accept <strong>nobody</strong>" in page
    assert "SURE  nobody" in told(advice)
    assert "By group, accepting nobody" in told(advice)


def test_one_more_threshold_changes_nothing_else() -> None:
    """Not even what is known of missing labels, at the edge of 512 scores, too."""
    rng = np.random.default_rng(0)
    for bins in (40, 512, 2000):
        score = rng.permutation(np.arange(8 * bins) % bins) / bins
        label = [None if rng.random() < 0.3 else int(rng.random() < value) for value in score]
        given = pa.table({"score": score, "label": label, "group": rng.choice(["a", "b"], size=8 * bins)})
        one = people(given)
        other = one.with_nobody()
        np.testing.assert_allclose(other.filled[:, :-1], one.filled, atol=1.0 if bins == 512 else 1e-9)
        assert not other.filled[:, -1].any()
        assert other.cuts[-1] > one.tops[-1]
