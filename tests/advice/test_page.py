"""``report.html`` in a real browser: the slider's figures are the library's, by mouse and by keyboard, at any width."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fairgate as fg
from fairgate.advice import Advice, Aims, advise
from fairgate.advice.example import example_table
from fairgate.advice.report.output import write
from fairgate.advice.report.page import render
from fairgate.people import from_frame
from tests.browser import Browser, Page

NASTY = ("<script>alert(1)</script>", "__proto__", "a \"quoted\" 'name' & more", "", "ü" * 30, "b", "c")


def nasty_table(people: int = 1400) -> pa.Table:
    """Lower is better, labels are missing, scores have a far outlier, and seven groups have names to stumble over."""
    rng = np.random.default_rng(0)
    group = np.arange(people) % len(NASTY)
    score = rng.normal(0.4 * group, 1.0)
    label = np.where(rng.random(people) < 0.3, np.nan, rng.random(people) < 1.0 / (1.0 + np.exp(score)))
    score[0] = 1e6
    names = [NASTY[each] or "none" for each in group]
    return pa.table({"risk": score, "good": pa.array(label, from_pandas=True), "group <b>": names})


@pytest.fixture(scope="module")
def advices() -> dict[str, Advice]:
    plain = from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    nasty = from_frame(nasty_table(), score="risk", label="good", group="group <b>", descending=True)
    quick = partial(Aims, seeds=2, rounds=20, feedback=(0.0, 0.5))
    return {
        "plain": advise(plain, quick(cost=2.0, constraints=[fg.DemographicParity(0.05), fg.ServiceRate(0.3, 0.8)])),
        "nasty": advise(nasty, quick(cost=0.5, constraints=[fg.DemographicParity(0.0), fg.ServiceRate(0.4, 0.6)])),
        "free": advise(plain, Aims(cost=2.0, seeds=1, rounds=5, feedback=(0.3,))),
    }


@pytest.fixture(scope="module")
def folder(advices: dict[str, Advice], tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    for name, advice in advices.items():
        write(advice, found / name, "table.csv")
    return found


def text(page: Page, name: str) -> str:
    return str(page.evaluate(f"document.getElementById('{name}').textContent"))


def slide(page: Page, place: int) -> None:
    script = f"(slider => {{ slider.value = {place}; slider.dispatchEvent(new Event('input')) }})"
    page.evaluate(f"{script}(document.getElementById('threshold'))")


def choose(page: Page, view: int) -> None:
    page.evaluate(f"document.querySelectorAll('input[name=view]')[{view}].click()")


def press(page: Page, key: str, code: int) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def minus(value: str) -> str:
    return value.replace("-", "−")


@pytest.mark.parametrize("name", ["plain", "nasty", "free"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_opens_by_itself_and_fits(folder: Path, browser: Browser, name: str, width: int, dark: bool) -> None:
    page = browser.open(folder / name / "report.html", width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('#chart-reward path.line').length") >= 1
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    texts = "[...document.querySelectorAll('p, td, th, li, label, svg text')]"
    assert page.evaluate(f"Math.min(...{texts}.map(each => parseFloat(getComputedStyle(each).fontSize)))") >= 12
    assert page.errors == []
    assert [each for each in page.requests if not each.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("name", ["plain", "nasty"])
def test_the_slider_shows_what_the_library_says(
    advices: dict[str, Advice], folder: Path, browser: Browser, name: str
) -> None:
    advice = advices[name]
    page = browser.open(folder / name / "report.html", 1280)
    last = int(page.evaluate("document.getElementById('threshold').max"))
    shown = page.evaluate("JSON.parse(document.getElementById('data').textContent).views[0].columns.threshold")
    assert shown == sorted(shown)
    assert shown[int(page.evaluate("document.getElementById('threshold').value"))] == advice.recommendation.threshold
    table = advice.thresholds()
    for place in (0, 1, last // 3, last // 2, last, shown.index(advice.recommendation.threshold)):
        choose(page, 0)
        slide(page, place)
        row = int(np.flatnonzero(table["threshold"] == shown[place])[0])
        for index, group in enumerate(advice.applicants.groups):
            assert text(page, f"group-{index}-value") == f"{100 * table[f'acceptance {group}'][row]:.1f}%"
            ends = [f"{100 * table[f'acceptance_{end} {group}'][row]:.1f}%" for end in ("low", "high")]
            assert text(page, f"group-{index}-range") == " to ".join(ends)
        for figure in ("gap", "reward"):
            known = not np.isnan(table[figure][row])
            assert text(page, f"{figure}-value") == (minus(f"{table[figure][row]:.4f}") if known else "not known")
            ends = [minus(f"{table[f'{figure}_{end}'][row]:.4f}") for end in ("low", "high")]
            assert text(page, f"{figure}-range") == (" to ".join(ends) if known else "–")
        assert (text(page, "verdict") == "meets every constraint") == bool(table["feasible"][row])
        if name == "nasty":
            bounds = [minus(f"{table[f'reward_if_missing_{label}'][row]:.4f}") for label in (0, 1)]
            assert text(page, "bounds-value") == " to ".join(dict.fromkeys(bounds))
        choose(page, 1)
        steady = advice.steady[1]
        cut = int(np.flatnonzero(steady.sweep.thresholds == shown[place])[0])
        assert text(page, "gap-value") == f"{steady.sweep.gap[cut]:.4f}"
        assert text(page, "group-1-value") == f"{100 * steady.counts.rates[cut, 1]:.1f}%"
        assert text(page, "acceptance-range") == "–"
        assert (text(page, "verdict") == "meets every constraint") == steady.sweep.point(cut).feasible
    assert page.errors == []


def test_a_curve_passes_through_the_figures(advices: dict[str, Advice], folder: Path, browser: Browser) -> None:
    """The dot on the gap's curve lies where the axis says its value is."""
    page = browser.open(folder / "plain" / "report.html", 1280)
    slide(page, 60)
    gap = float(text(page, "gap-value"))
    lines = page.evaluate(
        "[...document.querySelectorAll('#chart-gap .grid')].map(e => parseFloat(e.getAttribute('y1')))"
    )
    labels = page.evaluate(
        "[...document.querySelectorAll('#chart-gap text')].map(e => parseFloat(e.textContent.replace('−', '-')))"
    )
    (low, high), (bottom, top) = labels[:2], lines[:2]
    dot = float(page.evaluate("document.querySelector('#chart-gap .dot').getAttribute('cy')"))
    assert low + (bottom - dot) / (bottom - top) * (high - low) == pytest.approx(gap, abs=2e-4)


def test_everything_can_be_reached_and_moved_by_keyboard(
    advices: dict[str, Advice], folder: Path, browser: Browser
) -> None:
    page = browser.open(folder / "plain" / "report.html", 1280)
    reached = []
    for _ in range(20):
        press(page, "Tab", 9)
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)")
        )
        if reached[-1] == "threshold":
            break
    assert reached[-1] == "threshold", reached
    before = int(page.evaluate("document.activeElement.value"))
    rule = text(page, "rule")
    press(page, "ArrowRight", 39)
    assert int(page.evaluate("document.activeElement.value")) == before + 1
    assert text(page, "rule") != rule
    assert text(page, "rule") in page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    press(page, "Home", 36)
    assert text(page, "rule") == f"risk_score ≥ {advices['plain'].applicants.cuts[0]:g}"
    press(page, "Tab", 9)
    assert page.evaluate("document.activeElement.dataset.jump") == "advised"
    for kind in ("rawKeyDown", "char", "keyUp"):
        extra = {"text": "\r"} if kind == "char" else {}
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, **extra)
    assert text(page, "rule") == advices["plain"].recommendation.rule
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.errors == []


def test_the_chart_follows_the_pointer_and_the_buttons_jump(
    advices: dict[str, Advice], folder: Path, browser: Browser
) -> None:
    page = browser.open(folder / "plain" / "report.html", 1280)
    page.evaluate("document.getElementById('chart-gap').scrollIntoView({block: 'center'})")
    box = page.evaluate(
        "(r => [r.left, r.top, r.width, r.height])(document.getElementById('chart-gap').getBoundingClientRect())"
    )
    place = {"x": box[0] + box[2] - 14, "y": box[1] + 50, "button": "left", "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type="mousePressed", **place)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", **place)
    last = int(page.evaluate("document.getElementById('threshold').max"))
    assert int(page.evaluate("document.getElementById('threshold').value")) >= last - 1
    for view, steady in enumerate(advices["plain"].steady):
        choose(page, view)
        page.evaluate("document.querySelector('[data-jump=best]').click()")
        assert text(page, "rule") == f"risk_score ≥ {steady.best.threshold:g}"
        assert text(page, "reward-value") == f"{steady.best.reward:.4f}"


def test_the_page_says_what_the_report_says(folder: Path) -> None:
    for name in ("plain", "nasty", "free"):
        document = json.loads((folder / name / "report.json").read_text(encoding="utf-8"))
        page = (folder / name / "report.html").read_text(encoding="utf-8")
        assert page == render(document)
        assert "<script>alert" not in page
        assert "{{" not in page
        assert "None" not in page
    assert "no threshold is feasible" in (folder / "nasty" / "report.html").read_text(encoding="utf-8")


def test_figures_are_rounded_as_python_rounds_them(folder: Path, browser: Browser) -> None:
    page = browser.open(folder / "plain" / "report.html", 1280)
    source = page.evaluate("[...document.scripts].at(-1).textContent")
    function = source[source.index("function signed") : source.index("const share =")]
    values = [0.00375, 56.25, 56.35, 0.5, 1.5, 2.5, -0.125, 0.375, -2.0, 0.0, 1234567.0625, 1e-9, 0.99995]
    for digits in (0, 1, 2, 3, 4):
        found = page.evaluate(f"(() => {{ {function}; return {values}.map(each => signed(each, {digits})) }})()")
        assert found == [minus(f"{value:.{digits}f}") for value in values]
