"""What a committee reads: money and people, options, charts by pointer and keyboard, two axes, and the printed page."""

from __future__ import annotations

import base64
import io
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pypdf
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.advice import Advice, Aims, advise
from fairgate.advice.report.output import FORMAT, document
from fairgate.advice.report.page import render
from fairgate.advice.report.pdf import words as pdf_words
from fairgate.advice.report.terminal import show
from tests.advice.committee import counted, loans
from tests.browser import Browser, Page


@pytest.fixture(scope="module")
def advice() -> Advice:
    aims = Aims(
        cost=900.0,
        benefit=120.0,
        currency="EUR",
        constraints=[fg.DemographicParity(0.05), fg.ServiceRate(0.3, 0.8)],
        current=0.6,
        feedback=(0.0, 0.5),
    )
    table = loans()
    table.loc[table["score"] < 0.3, "repaid"] = None
    return advise(counted(table, decided=True), aims)


@pytest.fixture(scope="module")
def report(advice: Advice) -> dict[str, Any]:
    return document(advice, "loans.csv")


@pytest.fixture(scope="module")
def path(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("committee") / "report.html"
    found.write_text(render(report), encoding="utf-8")
    return found


def words(html: str) -> str:
    """The text of a page, without its script, blanks joined."""
    body = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


# ---- what is written -------------------------------------------------------------------------------------------------


def test_the_report_has_money_and_changes_and_no_loops(report: dict[str, Any], advice: Advice) -> None:
    assert report["format"] == FORMAT == 3
    assert (advice.loops, report["loop"]) == ({}, [])
    assert report["money"]["terms"] == (
        "Accepting somebody with repaid = yes is worth 120 EUR; with repaid = no it costs 900 EUR."
    )
    change = report["change"]
    assert change["everybody"]["newly_accepted"] == pytest.approx(
        sum(part["newly_accepted"] for part in change["groups"])
    )
    assert {point["kind"] for point in report["frontier"][0]["points"]} >= {"recommended", "current"}
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_page_and_terminal_speak_of_money_people_and_groups_by_name(report: dict[str, Any], advice: Advice) -> None:
    console = Console(file=io.StringIO(), width=80, color_system=None)
    show(advice, console)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    total = f"{advice.recommendation.reward.value * 120.0 * 3000:,.0f} EUR".replace("-", "−")
    assert told.startswith(f" {advice.recommendation.status.upper()}  {advice.recommendation.rule} · ")
    assert max(len(line) for line in told.splitlines()) <= 80
    assert told.index("Recommendation") < told.index("Required: ") < told.index("By group")
    page = words(render(report))
    for text in (re.sub(r"\s+", " ", told), page):
        assert total in text
        assert "with repaid = no it costs 900 EUR" in text
        assert "sex = f: " in text
        assert "label is 0" not in text
    newly = f"{advice.change.everybody.newly_accepted:,.0f} people" if advice.change else ""
    assert f"{newly} would be newly accepted" in page


def test_the_status_is_a_coloured_badge(advice: Advice) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    show(advice, console)
    assert console.file.getvalue().startswith("\x1b[")  # type: ignore[attr-defined]


def test_a_promise_that_is_not_exact_is_called_approximate(report: dict[str, Any]) -> None:
    more = deepcopy(report)
    for exact in (True, False):
        more["recommendation"] |= {"status": "sure", "sure": 0.9, "exact": exact}
        assert ("with probability at least 90%, approximately" in words(render(more))) is not exact


def test_figures_that_are_added_later_are_shown_and_absent_ones_are_left_out(report: dict[str, Any]) -> None:
    more = deepcopy(report)
    more["recommendation"] |= {
        "status": "sure",
        "sure": 0.9,
        "test_level": 0.07,
        "misses": {},
        "bolder": {"rule": "score ≥ 0.41", "reward": 0.05, "test_level": 0.29},
        "price": 0.0125,
        "cost_of_surety": 0.125,
        "options": [
            {"kind": "nearest", "text": "The nearest of all.", "reward": 0.01, "test_level": None},
            {"kind": "unlabelled", "rule": "score ≥ 0.2", "text": "", "reward": None, "bounds": [-0.2, 0.1]},
        ],
        "reward_bounds": [-0.25, 0.125],
        "flips_at": 1.75,
    }
    more["feedback"] = {"strength": 0.3, "low": 0.1, "high": 0.5, "verdict": "feedback", "text": "History tells 0.3."}
    more["reference"] = {"text": "A group stays as it is at its share accepted."}
    done: dict[str, Any] = {"people": 200, "accepted": 50, "gap": 0.125, "reward_low": 0.1, "reward_high": 0.2}
    done["met"] = {"parity": False}
    month = {"period": "2024-05", "threshold": 0.5, "written": "0.5", "status": "sure"}
    more["backtest"] = [month | {"advised": done | {"reward_high": 0.1, "met": {"parity": True}}, "done": done}]
    page, before = words(render(more)), words(render(report))
    for text in (
        "sure : meets every requirement with probability at least 90%",
        "Test of all requirements passes at level 7% 10% asked for",
        "Cost of being sure, per person 1.50 EUR 12.5% of the best reward",
        "Where labels do not tell score ≥ 0.2 In all −72,000 to 36,000 EUR",
        "Bolder score ≥ 0.41 In all 18,000 EUR Per person 6.00 EUR Test passes at level 29%",
        "The nearest of all.",
        "−90,000 to 45,000 EUR",
        "History tells 0.3.",
        "A group stays as it is at its share accepted.",
        "2024-05 0.5 sure 25.0% 0.1250 12.00 EUR kept 25.0% 0.1250 12.00 to 24.00 EUR broken",
        "As advised, 0 of 1 period break a requirement; as decided then, 1, 0 by more than chance.",
    ):
        assert text in page, text
        assert text not in before
    assert "None" not in page
    told = pdf_words(more)
    assert told["backtest"][1][0][-2:] == ["12.00 to 24.00 EUR", "broken"]
    assert ["Test of requirements", "passes at level 7%", "10% asked for"] in [list(each) for each in told["facts"]]
    lean = deepcopy(report)
    del lean["change"]
    for name in ("options", "text"):
        lean["recommendation"][name] = [] if name == "options" else ""
    assert "Today against the recommendation" not in words(render(lean))


# ---- in the browser --------------------------------------------------------------------------------------------------


def text(page: Page, query: str) -> str:
    return str(page.evaluate(f"document.querySelector('{query}').textContent"))


def box(page: Page, chart: str) -> list[float]:
    page.evaluate(f"document.getElementById('{chart}').scrollIntoView({{block: 'center'}})")
    rectangle = f"document.getElementById('{chart}').getBoundingClientRect()"
    found: list[float] = page.evaluate(f"(r => [r.left, r.top, r.width, r.height])({rectangle})")
    return found


def hover(page: Page, chart: str, across: float) -> str:
    left, top, width, height = box(page, chart)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + across * width, y=top + height / 2)
    assert page.evaluate("document.getElementById('tip').hidden") is False
    return text(page, "#tip")


def press(page: Page, key: str, code: int) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


CHARTS = ("acceptance", "gap", "reward", "frontier", "scores", "calibration")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_pointer_shows_values_on_every_chart_and_moves_nothing(path: Path, browser: Browser, width: int) -> None:
    page = browser.open(path, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = text(page, "#rule")
    for name in CHARTS:
        shown = hover(page, f"chart-{name}", 0.5)
        assert ("EUR" if name in ("reward", "frontier") else "gap" if name == "gap" else "%") in shown
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        edges = page.evaluate("(r => [r.left, r.right])(document.getElementById('tip').getBoundingClientRect())")
        assert edges[0] >= 0
        assert edges[1] <= width
    assert text(page, "#rule") == before
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert page.evaluate("document.getElementById('tip').hidden") is True
    assert page.errors == []


def test_values_under_the_pointer_are_the_reports(path: Path, browser: Browser, report: dict[str, Any]) -> None:
    page = browser.open(path, 1280)
    hover(page, "chart-acceptance", 0.4)
    rule = text(page, "#tip strong")
    place = report["today"]["written"].index(rule.removeprefix("score ≥ "))
    values = page.evaluate("[...document.querySelectorAll('#tip dd')].map(e => e.firstChild.textContent)")
    names = ["acceptance f", "acceptance m", "acceptance x", "acceptance"]
    assert values == [f"{100 * report['today'][name][place]:.1f}%" for name in names]
    hover(page, "chart-reward", 0.7)
    place = report["today"]["written"].index(text(page, "#tip strong").removeprefix("score ≥ "))
    reward = report["today"]["reward"][place]
    values = page.evaluate("[...document.querySelectorAll('#tip dd')].map(e => e.firstChild.textContent)")
    wanted = [f"{120 * reward:,.2f} EUR", f"{120 * 3000 * reward:,.0f} EUR"]
    assert values == [each.replace("-", "−") for each in wanted]


def test_arrow_keys_move_along_every_chart(path: Path, browser: Browser) -> None:
    page = browser.open(path, 1280)
    for name in CHARTS:
        page.evaluate(f"document.getElementById('chart-{name}').focus()")
        press(page, "Home", 36)
        first = text(page, "#tip strong") + text(page, "#tip dl")
        press(page, "End", 35)
        last = text(page, "#tip strong") + text(page, "#tip dl")
        assert first != last, name
        press(page, "ArrowLeft", 37)
        assert page.evaluate("document.getElementById('tip').hidden") is False
        press(page, "Escape", 27)
        assert page.evaluate("document.getElementById('tip').hidden") is True
    page.evaluate("document.getElementById('chart-gap').focus()")
    press(page, "Home", 36)
    assert int(page.evaluate("document.getElementById('threshold').value")) == 0
    assert page.errors == []


def test_the_axis_can_be_the_share_accepted(path: Path, browser: Browser, report: dict[str, Any]) -> None:
    page = browser.open(path, 1280)
    names = "[...document.querySelectorAll('#chart-gap text.axis')].map(e => e.textContent)"
    assert page.evaluate(names) == ["threshold of score"]
    score = float(page.evaluate("document.querySelector('#chart-gap .cursor').getAttribute('x1')"))
    page.evaluate("document.querySelector('input[name=axis][value=share]').click()")
    assert page.evaluate(names) == ["share of everybody accepted"]
    share = float(page.evaluate("document.querySelector('#chart-gap .cursor').getAttribute('x1')"))
    ticks = page.evaluate(
        "[...document.querySelectorAll('#chart-gap .tick')].map(e => parseFloat(e.getAttribute('x1')))"
    )
    place = report["today"]["threshold"].index(report["recommendation"]["threshold"])
    accepted = report["today"]["acceptance"][place]
    assert share == pytest.approx(ticks[0] + accepted * (ticks[-1] - ticks[0]), abs=0.1)
    assert share != score
    assert page.errors == []


def test_the_old_cut_off_and_the_unknown_labels_are_marked(path: Path, browser: Browser) -> None:
    page = browser.open(path, 1280)
    marks = "[...document.querySelectorAll('#chart-reward text.word')].map(e => e.textContent)"
    assert {"in use", "labels unknown"} < set(page.evaluate(marks))
    assert page.evaluate("document.querySelectorAll('#chart-reward rect.unknown').length") == 1
    page.evaluate("document.querySelector('[data-jump=current]').click()")
    assert text(page, "#rule") == "score ≥ 0.6"
    place = page.evaluate("document.querySelector('#chart-reward .mark.in-use').getAttribute('x1')")
    assert float(place) == pytest.approx(
        float(page.evaluate("document.querySelector('#chart-reward .cursor').getAttribute('x1')")), abs=0.1
    )


@pytest.mark.slow
def test_the_printed_page_has_what_is_folded(path: Path, browser: Browser) -> None:
    page = browser.open(path, 1280)
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") >= 3
    printed = base64.b64decode(page.call("Page.printToPDF")["data"])
    told = " ".join(sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(printed)).pages)
    for folded in ("What was asked, and how it was worked out", "Best threshold in the long run", "seed of the random"):
        assert folded in re.sub(r"\s+", " ", told)
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") >= 3
