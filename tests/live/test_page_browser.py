"""The page in a real browser: its figures are the API's, its buttons work, it fits a phone, and nothing gets out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairgate.live.gate import Gate
from fairgate.live.keys import create_key, list_keys, revoke_key
from tests.browser import Browser, Page
from tests.live.page_figures import GROUPS, NASTY, SPEC
from tests.live.serving import Served, make_spec, service

NASTY_ID = f"a/1?&#{NASTY}"
PEOPLE = 80
ROUNDS = 24


def fill(gate: Gate) -> None:
    """Rounds in hold with a gap, labels of which half are late, one group of which nobody comes, an override."""
    rng = np.random.default_rng(3)
    for number in range(ROUNDS):
        if number == 8:
            gate.set_mode("hold", f"a stricter threshold {NASTY}", 0.6, actor=f"key:{NASTY}")
        if number == 16:
            gate.set_mode("learn", "enough is known")
        ids = [f"r{number}-{place}" for place in range(PEOPLE)]
        members = (np.arange(PEOPLE) % 4 == 0).astype(int)
        scores = np.round(np.clip(rng.normal(0.55 - 0.25 * members, 0.2), 0, 1), 3)
        done = gate.decide(ids, [GROUPS[each] for each in members], scores.tolist())
        paid = [name for name, accepted in zip(ids, done.accepted, strict=True) if accepted][::2]
        gate.outcomes(paid, (rng.random(len(paid)) < 0.8).astype(int).tolist())
    first = gate.decide(NASTY_ID, GROUPS[0], 0.2, actor=f"key:{NASTY}")
    gate.override(NASTY_ID, not first.accepted, f"an appeal {NASTY}", actor=NASTY)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    plain = SPEC.model_dump(mode="json")
    changed = {"rounds": {"people": PEOPLE}, "label_due_days": 1e-9, "learner": "safe-forecast"}
    specs = (
        type(SPEC).model_validate({**plain, **changed}),
        make_spec("fresh", per_group="a rehearsal of what counsel allows"),
    )
    with service(str(tmp_path_factory.mktemp("page") / "gates.db"), *specs) as running:
        fill(running.app.state.gates["credit"])
        yield running


def log_in(browser: Browser, served: Served, token: str, width: int = 1280, dark: bool = False) -> Page:
    page = browser.open(f"{served.url}/login", width, dark=dark)
    page.evaluate(f"document.getElementById('key').value = {json.dumps(token)}")
    page.follow("document.querySelector('main button').click()")
    return page


def path_of(page: Page) -> str:
    return str(page.evaluate("location.pathname"))


def text_of(page: Page) -> str:
    return str(page.evaluate("document.body.innerText"))


def at(figures: Any, path: str) -> Any:
    for part in path.split("."):
        figures = figures[int(part)] if isinstance(figures, list) else figures[part]
    return figures


def agrees(text: str, unit: str, value: Any) -> bool:
    """Whether a text says a value, to the digits that it has."""
    if value is None or value == "":
        return text == "–"
    if unit == "text":
        return bool(text == value)
    if unit == "time":
        return text == f"{value[:19].replace('T', ' ')} UTC"
    if value in ("inf", "-inf"):
        return text == ("accepts nobody" if value == "inf" else "accepts everybody")
    number = text.replace("−", "-").replace(",", "")
    if unit == "count":
        return bool(float(number) == value)
    if unit == "share":
        return number.endswith("%") and float(number[:-1]) == pytest.approx(100 * value, rel=0, abs=0.0501)
    return float(number) == pytest.approx(value, rel=1e-5, abs=0.000501 if unit == "number" else 0.0)


def check_figures(page: Page, served: Served, gate: str) -> int:
    """Compare every figure of the page with the API's, and return how many there are."""
    asked = {"Authorization": f"Bearer {served.keys[gate, 'read']}"}
    figures = served.http.get(f"{served.url}/v1/gates/{gate}/figures", headers=asked).json()
    script = """[...document.querySelectorAll('[data-figure]')].map(each =>
        [each.dataset.figure, each.dataset.key ?? null, each.dataset.unit, each.textContent])"""
    shown = page.evaluate(script)
    for path, key, unit, text in shown:
        value = at(figures, path) if key is None else at(figures, path)[key]
        assert agrees(text, unit, value), (path, key, unit, text, value)
    return len(shown)


def refresh(page: Page, until: str) -> None:
    """Have the script look for news now, and wait until a condition holds."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    waiting = f"""new Promise((done, fail) => {{ let left = 200; (function look() {{
        if ({until}) done(true); else if (left-- > 0) setTimeout(look, 25); else fail('never'); }})() }})"""
    assert page.evaluate(waiting)


def check_quiet(page: Page, served: Served) -> None:
    """Nothing went wrong, and nothing was asked of another host."""
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(f"{served.url}/")] == []
    assert page.evaluate("window.hurt === undefined")


def test_every_figure_is_the_apis_also_after_news(browser: Browser, served: Served) -> None:
    page = log_in(browser, served, served.keys["credit", "all"])
    assert path_of(page) == "/gates/credit"
    assert check_figures(page, served, "credit") > 250
    kinds = {"alarms.0.text", "scopes.0.gap.high", "labels.late", "missing.0", f"history.{ROUNDS - 1}.would.0"}
    assert kinds <= set(page.evaluate("[...document.querySelectorAll('[data-figure]')].map(e => e.dataset.figure)"))
    page.evaluate("document.getElementById('last-rounds').open = true")
    gate: Gate = served.app.state.gates["credit"]
    gate.close()
    gate.decide(["n-1", "n-2"], GROUPS[1:], [0.9, 0.1])
    refresh(page, f"document.querySelector('[data-figure=\"status.round\"]').textContent === '{gate.status().round}'")
    assert check_figures(page, served, "credit") > 250
    assert page.evaluate("document.getElementById('last-rounds').open"), "what was open stays open"
    check_quiet(page, served)


def test_the_drawn_thresholds_and_bounds_are_where_the_figures_are(browser: Browser, served: Served) -> None:
    page = log_in(browser, served, served.keys["credit", "all"])
    gate: Gate = served.app.state.gates["credit"]
    scope = gate.figures().scopes[0].acceptance
    drawn = page.evaluate("""(() => { const svg = document.querySelector('#scope-0 ~ table .interval');
        const edge = svg.getBoundingClientRect(), bar = svg.querySelector('.bounds').getBoundingClientRect();
        return [(bar.left - edge.left) / edge.width, (bar.right - edge.left) / edge.width] })()""")
    assert drawn == pytest.approx([scope.low, scope.high], abs=2e-3)
    steps = page.evaluate("""(() => { const line = document.querySelector('#rounds .plot path.line:not(.proposed)');
        const plot = line.closest('.plot').getBoundingClientRect(), box = line.getBoundingClientRect();
        return [(box.left - plot.left) / plot.width, (box.right - plot.left) / plot.width] })()""")
    assert steps == pytest.approx([0.0, 1.0], abs=5e-3)


@pytest.mark.parametrize("width", [375, 1280])
def test_what_is_watched_is_read_without_scrolling(browser: Browser, served: Served, width: int) -> None:
    page = log_in(browser, served, served.keys["credit", "read"], width)
    lines = page.evaluate("""[...document.querySelectorAll('#watches .kind')].map(each => {
        const text = document.createRange(); text.selectNodeContents(each);
        return new Set([...text.getClientRects()].map(line => Math.round(line.top))).size })""")
    assert set(lines) == {1}, "a word is broken"
    ends = "[...document.querySelectorAll('#watches .known')].map(each => each.getBoundingClientRect().right)"
    assert max(page.evaluate(ends)) <= width


@pytest.mark.parametrize("width", [375, 1280])
def test_labels_of_charts_do_not_overlap(browser: Browser, served: Served, width: int) -> None:
    page = log_in(browser, served, served.keys["credit", "read"], width)
    beside = page.evaluate("""[...document.querySelectorAll('#rounds .rounds svg')].flatMap(svg => {
        const boxes = [...svg.querySelectorAll('text')].map(each => each.getBoundingClientRect());
        const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom < b.top + 3 || b.bottom < a.top + 3;
        const seen = boxes.filter(box => box.width);
        return seen.flatMap((a, n) => seen.slice(n + 1).filter(b => !apart(a, b)).map(b => [a.left, b.left])) })""")
    assert beside == []
    assert page.evaluate("document.querySelectorAll('#rounds .plot').length") == 3


def test_what_somebody_writes_is_not_taken_away(browser: Browser, served: Served) -> None:
    page = log_in(browser, served, served.keys["fresh", "all"])
    page.evaluate("document.getElementById('mode-reason').value = 'half a sen'")
    served.app.state.gates["fresh"].decide("f-1", "a", 0.9)
    refresh(page, "document.querySelector('[data-figure=\"status.people\"]')?.textContent === '1'")
    assert page.evaluate("document.getElementById('mode-reason').value") == "half a sen"


@pytest.mark.slow
def test_modes_are_changed_and_proposals_approved_by_hand(browser: Browser, served: Served) -> None:
    gate: Gate = served.app.state.gates["fresh"]
    page = log_in(browser, served, create_key(gate, "anna", ["read", "admin"]))
    assert path_of(page) == "/gates/fresh"
    assert page.evaluate("!document.querySelector('main form.change').checkValidity()"), "a reason is required"
    change(page, "hold", f"a rehearsal {NASTY}", "0.6, 0.7")
    assert "The mode was changed" in text_of(page)
    by_group = page.evaluate("[...document.querySelectorAll('#in-force [data-key]')].map(each => each.textContent)")
    assert by_group == ["0.6", "0.7"]
    check_figures(page, served, "fresh")
    assert page.evaluate("document.querySelector('[data-figure=\"status.mode.mode\"]').textContent") == "hold"
    page.follow("document.querySelector('nav a[href$=\"/log\"]').click()")
    rows = page.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.innerText)")
    assert "mode changed" in rows[0]
    assert f"hold → hold: a rehearsal {NASTY}" in rows[0]
    assert "key:anna" in rows[0]
    page.follow("document.querySelector('nav a.gate').click()")
    change(page, "approve", "a person looks first")
    members = ["a", "b"] * 30
    for number in range(40):
        if gate.status().waiting:
            break
        gate.decide([f"p{number}-{n}" for n in range(60)], members, (np.arange(60) % 10 / 10 + 0.05).tolist())
        gate.close()
    waiting, proposal = gate.status().waiting, gate.status().proposal
    assert waiting
    assert proposal is not None
    refresh(page, "document.getElementById('approve-reason') !== null")
    page.evaluate("document.getElementById('approve-reason').value = 'looks well'")
    page.follow("document.querySelector('#proposal button').click()")
    assert "The proposal was approved" in text_of(page)
    (event,) = gate.log(0, 1, newest=True, kind="approved")
    assert (event.actor, event.body["reason"], event.body["waiting"]) == ("key:anna", "looks well", waiting)
    check_figures(page, served, "fresh")
    change(page, "hold", "a threshold that is none", "0.55")
    assert "Nothing was changed: threshold must be one of the grid" in text_of(page)
    assert page.evaluate("document.getElementById('mode-reason').value") == "a threshold that is none"
    page.errors.clear()  # Chromium reports the refusal
    check_quiet(page, served)


def change(page: Page, mode: str, reason: str, threshold: str = "") -> None:
    """Fill in the form of the mode, and send it."""
    page.evaluate(f"document.querySelector('input[value={mode}]').click()")
    for name, value in (("reason", reason), ("threshold", threshold)):
        page.evaluate(f"document.getElementById('mode-{name}').value = {json.dumps(value)}")
    page.follow("document.querySelector('form[action$=\"/mode\"] button').click()")


def test_a_key_that_is_revoked_ends_the_session(browser: Browser, served: Served) -> None:
    gate: Gate = served.app.state.gates["credit"]
    page = log_in(browser, served, create_key(gate, "guest", ["read"]))
    assert "may only read" in text_of(page)
    assert page.evaluate("document.querySelectorAll('main form').length") == 1, "only the search"
    (facts,) = [each for each in list_keys(gate.engine, "credit") if each.name == "guest"]
    revoke_key(gate, facts.id)
    page.follow("document.dispatchEvent(new Event('visibilitychange'))")
    assert path_of(page) == "/login"


@pytest.mark.slow
def test_a_case_is_found_from_the_log_and_by_its_id(browser: Browser, served: Served) -> None:
    page = log_in(browser, served, served.keys["credit", "all"])
    page.evaluate(f"document.getElementById('case-id').value = {json.dumps(NASTY_ID)}")
    page.follow("document.querySelector('form.search button').click()")
    done = "accepted" if served.app.state.gates["credit"].case(NASTY_ID).accepted else "rejected"
    text = text_of(page)
    assert f"Application {NASTY_ID}: {done}" in text
    assert f"an appeal {NASTY}" in text
    page.follow("document.querySelector('nav a[href$=\"/log\"]').click()")
    page.evaluate("document.getElementById('kind').value = 'overridden'")
    page.follow("document.querySelector('form.search button').click()")
    page.follow("document.querySelector('td.what a').click()")
    assert f"Application {NASTY_ID}: {done}" in text_of(page)
    page.follow("document.querySelector('dl a').click()")
    assert "/log/" in path_of(page)
    page.follow("document.querySelector('tbody th a').click()")
    assert f"Application {NASTY_ID}: {done}" in text_of(page)
    check_quiet(page, served)


LOOK = Path(__file__).with_name("readable.js").read_text()
"""Returns the width of a page, and what cannot be read or reached in it."""


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True), (390, False)])
def test_every_page_fits_and_can_be_read(browser: Browser, served: Served, width: int, dark: bool) -> None:
    page = log_in(browser, served, served.keys["credit", "all"], width, dark)
    places = [
        "/gates/credit",
        "/gates/credit/log",
        "/gates/credit/log/3",
        "/gates/credit/case?id=r0-1",
        "/gates/credit/case",
    ]
    for place in [*places, "/login"]:
        page.follow(f"location.href = {json.dumps(place)}")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        found = page.evaluate(LOOK)
        assert found.pop("width") <= width, place
        assert {name: value for name, value in found.items() if value} == {}, place
    check_quiet(page, served)


def test_a_gate_without_data_says_so(
    browser: Browser, served: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with service(str(tmp_path_factory.mktemp("empty") / "gates.db"), make_spec("empty")) as quiet:
        page = log_in(browser, quiet, quiet.keys["empty", "all"], 390)
        text = text_of(page)
        assert "No round with people in it has been closed yet" in text
        assert "No round has been closed yet" in text
        assert check_figures(page, quiet, "empty") > 10
        assert {name: value for name, value in page.evaluate(LOOK).items() if value and name != "width"} == {}
        check_quiet(page, quiet)
    refresh(page, "document.getElementById('stale').innerText.startsWith('The gate does not answer. These figures')")


def test_it_works_without_script(browser: Browser, served: Served) -> None:
    page = browser.open("about:blank", 1280)
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.call("Page.navigate", url=f"{served.url}/login")
    browser.wait(page.session)
    page.evaluate(f"document.getElementById('key').value = {json.dumps(served.keys['credit', 'all'])}")
    page.follow("document.querySelector('main button').click()")
    assert path_of(page) == "/gates/credit"
    assert check_figures(page, served, "credit") > 250
