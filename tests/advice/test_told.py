"""What the terminal, the page and the PDF say: which people figures are of, today's rule, and what is not known."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.advice.advise import Advice
from fairgate.advice.money import money_of
from fairgate.advice.report.output import document
from fairgate.advice.report.page import render
from fairgate.advice.report.pdf import words as pdf_words
from fairgate.advice.report.terminal import show
from fairgate.advice.report.words import steady_table
from fairgate.advice.sensitivity import reward_bounds
from tests.advice.people import SERVICE

QUICK: dict[str, Any] = {"seeds": 1, "rounds": 20, "benefit": 120.0, "cost": 240.0, "currency": "EUR"}


def people(*, labelled_from: float | None = None) -> fg.people.Applicants:
    table = SERVICE.draw(800, np.random.default_rng(3))
    if labelled_from is not None:
        scores, labels = table["score"].to_numpy(), table["label"].to_numpy()
        labels = np.where((scores >= labelled_from) & (np.arange(800) % 9 > 0), labels, np.nan)
        table = table.set_column(1, "label", pa.array(labels, from_pandas=True))
    return fg.from_frame(table, score="score", label="label", group="group")


def told(advice: Advice) -> str:
    text = io.StringIO()
    show(advice, Console(file=text, width=80))
    return " ".join(text.getvalue().split())


def on_page(report: dict[str, Any]) -> str:
    shown = re.sub(r"<(script|style)[\s\S]*?</\1>", "", render(report))
    return " ".join(re.sub(r"<[^>]*>", " ", shown).split())


@pytest.fixture(scope="module")
def moving() -> Advice:
    aims = fg.Aims(**QUICK, constraints=[fg.DemographicParity(0.2)], feedback=(0.5,), current=0.9)
    return fg.advise(people(), aims)


def test_an_interval_holds_its_figure_or_there_is_none(moving: Advice) -> None:
    advised = document(moving, "table.csv")["recommendation"]
    assert (advised["acceptance"]["low"], advised["acceptance"]["high"]) == (None, None)
    for name in ("reward", "gap"):
        assert advised[name]["low"] <= advised[name]["value"] <= advised[name]["high"]
    still = fg.advise(people(), fg.Aims(**QUICK, constraints=[fg.DemographicParity(0.2)]))
    figure = document(still, "table.csv")["recommendation"]["acceptance"]
    assert figure["low"] <= figure["value"] <= figure["high"]


def test_figures_of_the_long_run_are_told_from_those_of_the_people_as_they_are(moving: Advice) -> None:
    report = document(moving, "table.csv")
    change = moving.change
    assert change is not None
    assert change.everybody.rate_then != pytest.approx(moving.recommendation.acceptance.value, abs=1e-3)
    for text in (told(moving), on_page(report)):
        assert "in the long run, with feedback of strength 0.5" in text
        assert "For the people as they are, against today (score ≥ 0.9), " in text
    basis = {card["title"]: card["basis"] for card in pdf_words(report)["cards"]}
    assert basis["Recommended"] == "in the long run"
    assert basis["Today"] == "for the people as they are"
    assert ("Accepted", f"{moving.recommendation.acceptance.value:.1%}", "") in pdf_words(report)["facts"]


def test_the_terminal_says_what_changes_and_whether_today_keeps_what_is_required() -> None:
    constraints = [fg.DisparateImpact(0.95), fg.ServiceRate(0.3, 0.9)]
    advice = fg.advise(people(), fg.Aims(**QUICK, constraints=constraints, current=0.9))
    text, change = told(advice), advice.change
    assert change is not None
    rates = [part.accepted_now / part.people for part in change.groups]
    ratio = f"ratio of acceptance rates {min(rates) / max(rates):.4f}, at least 0.95 required, broken by "
    assert "Today (score ≥ 0.9): it breaks " in text
    assert ratio in text
    assert f"{change.everybody.newly_accepted:,.0f} people would be newly accepted" in text
    assert text.index("would be newly accepted") < text.index("800 people (")
    assert ratio in on_page(document(advice, "table.csv"))


def test_loops_on_guessed_labels_are_ranges() -> None:
    aims = fg.Aims(**QUICK, constraints=[fg.DemographicParity(0.3)], loops=True, feedback=(0.25,))
    advice = fg.advise(people(labelled_from=0.2), aims)
    low, high = reward_bounds(advice.candidates, aims.problem, advice.steady[0].response)
    kept = {each.key: each for each in advice.loops[0.25]}["kept-advised"]
    cut = advice.recommendation.cut
    assert kept.bounds is not None
    np.testing.assert_allclose(kept.bounds, (low[cut], high[cut]))
    money = f"{120 * low[cut]:.2f} to {120 * high[cut]:.2f} EUR".replace("-", "−")
    assert money in on_page(document(advice, "table.csv"))
    assert "rewards are ranges" in told(advice)
    known = fg.advise(people(), aims)
    assert all(each.bounds is None for each in known.loops[0.25])
    mean = {each.key: each for each in known.loops[0.25]}["kept-advised"].summary["population_reward"].mean
    assert f"{120 * mean:.2f} EUR" in told(known)


def test_nothing_required_holds_with_no_probability(tmp_path: Path) -> None:
    report = document(fg.advise(people(), fg.Aims(**QUICK)), "table.csv")
    assert "Holds with probability" not in on_page(report)
    assert not any("Holds with probability" in dict(card["lines"]) for card in pdf_words(report)["cards"])
    assert "simulated loops" not in on_page(report)


def test_a_skewed_score_begins_with_the_share_accepted() -> None:
    rng = np.random.default_rng(0)
    scores = {"even": rng.random(500), "skewed": rng.random(500) ** 40}
    for name, score in scores.items():
        labels = (rng.random(500) < 0.5).astype(int)
        table = pa.table({"score": score, "label": labels, "group": rng.integers(2, size=500)})
        advice = fg.advise(fg.from_frame(table, score="score", label="label", group="group"), fg.Aims(cost=1.0))
        checked = re.search(r'value="(\w+)" checked autocomplete="off">s', render(document(advice, "table.csv")))
        assert checked is not None
        assert checked[1] == ("share" if name == "skewed" else "score")


def test_an_amount_has_one_notation_wherever_it_stands() -> None:
    """Beside 917.0 stood 1,714, and beside 0.2029 (0.0354 to 0.3705) stood 0.203 (0.035 to 0.370)."""
    aims = fg.Aims(seeds=1, rounds=20, cost=2.0, constraints=[fg.ServiceRate(0.2, 0.6)], current=0.1)
    advice = fg.advise(people(), aims)
    report = document(advice, "table.csv")
    money, reward = money_of(advice.applicants, advice.aims), advice.recommendation.reward
    figure = f"{money.per_person(reward.value)} {money.interval(reward)}"
    assert told(advice).count(figure) == 2
    assert money.interval(reward)[1:-1] in on_page(report)
    assert money.in_all(reward.value) in on_page(report)
    amounts = [cell for row in pdf_words(report)["change"] for cell in row[-2:]]
    assert all(re.fullmatch(r"−?[\d,]+\.\d", each) for each in amounts)
    assert all(each in told(advice) for each in amounts)


def test_labels_of_weighted_rows_are_what_they_stand_for_or_are_worth() -> None:
    table = SERVICE.draw(800, np.random.default_rng(3), 0.5)
    table = table.append_column("weight", pa.array(np.random.default_rng(4).lognormal(4.0, 1.0, 800)))
    made = fg.from_frame(table, score="score", label="label", group="group", weight="weight")
    advice = fg.advise(made, fg.Aims(**QUICK, constraints=[fg.ServiceRate(0.2, 0.6)]))
    report = document(advice, "table.csv")
    missing = f"{np.dot(table['weight'], np.isnan(table['label'].to_numpy(zero_copy_only=False))):,.0f}"
    total = f"{table['weight'].to_numpy().sum():,.0f}"
    worth = round(advice.groups.rules[0].groups[0].precision.of)  # type: ignore[union-attr]
    assert worth < 200
    assert f"{missing} labels missing" in told(advice)
    assert f"{missing} of {total} labels" in told(advice)
    assert f"of about {worth} Prec" not in told(advice)
    assert f"of about {worth} " in told(advice)
    assert "of so many labels' worth, each of which stands for about" in told(advice)
    assert f"of about {worth} labels' worth" in html.unescape(on_page(report))
    assert f"{missing} of {total} labels are missing" in on_page(report)
    assert pdf_words(report)["missing"] == f"{missing} of {total}"
    assert f"of about {worth} labels' worth" in pdf_words(report)["rules"][0]["rows"][0][-1][1]


def test_the_bolder_rule_is_the_most_among_the_rules_compared() -> None:
    made = people()
    advice = fg.advise(made, fg.Aims(**QUICK, constraints=[fg.ServiceRate(0.35, 0.8)]))
    assert advice.recommendation.bolder is not None
    text = f"would earn the most among the {len(made.cuts)} rules compared, of those feasible on these people, "
    assert text in advice.recommendation.bolder.text


def test_with_nothing_required_the_advice_is_the_best_and_not_sure() -> None:
    advice = fg.advise(people(), fg.Aims(**QUICK))
    report = document(advice, "table.csv")
    assert told(advice).startswith("BEST score ≥ ")
    assert "· no constraint was asked for ·" in told(advice)
    assert "best : no constraint was asked for" in on_page(report)
    head = pdf_words(report)["head"]
    assert (head["style"], head["word"], head["status"]) == ("plain", "best", "no constraint was asked for")


def test_terminal_page_and_pdf_have_one_table_of_the_long_run() -> None:
    """The advised threshold is not the best one under feedback, and breaks there what is required."""
    aims = fg.Aims(**QUICK, constraints=[fg.ServiceRate(0.5, 0.8)], feedback=(0.0, 0.8), current=0.6)
    advice = fg.advise(people(), aims)
    report = document(advice, "table.csv")
    headings, rows = steady_table(report)
    assert {row[-1].split(",")[0] for row in rows} == {"kept", "broken"}
    assert headings[-1] == f"{advice.recommendation.rule} there"
    assert pdf_words(report)["steady"] == (headings, rows)
    for row in rows:
        assert " ".join(row) in on_page(report)
        assert " ".join(row) in told(advice)
