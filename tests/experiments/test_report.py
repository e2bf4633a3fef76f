"""The report page, read as its readers will: in a browser, wide and narrow, light, dark and printed."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib import image
from matplotlib.figure import Figure

from fairgate.estimates import Estimate
from fairgate.experiments import choices
from fairgate.experiments.plan import Plan
from fairgate.experiments.report import render
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS, Cell, Claim, Drawing, Finding, Results, Row
from fairgate.experiments.results import Table as ResultTable
from tests.browser import Browser, Page

WIDTHS = (1280, 390)
NASTY = "<script>alert('x')</script> & \"quotes\" {{ 7 * 7 }} ε ≤ 0.06"


def main_table() -> ResultTable:
    columns = {
        "reward": "Reward",
        "gap": "DP gap (batch)",
        "violation": "Cum. violation (batch)",
        "population_gap": "DP gap (exact)",
        "population_violation": "Cum. violation (exact)",
    }
    rows = []
    for i, task in enumerate(("mve-s", "german", "compas")):
        for j, method in enumerate(("unconstrained", "primal-dual", "ofs")):
            cells = {
                "reward": Cell(Estimate(0.12 * (i + j) - 0.05, sd=0.0373), Estimate(0.1 * (i + j), sd=0.03)),
                "gap": Cell(Estimate(0.0953 / (j + 1), sd=0.023), Estimate(0.09 / (j + 1), sd=0.02)),
                "violation": Cell(
                    Estimate(1121.37 / (j + 1), sd=12.37, seeds=10), Estimate(921.37 / (j + 1), sd=9.1), 2
                ),
                "population_gap": Cell(Estimate(0.0102, sd=0.002)),
                "population_violation": Cell(Estimate(812.4, sd=2.25), digits=2),
            }
            rows.append(Row((task, method), cells))
    note = "Tail means over the last 200 of 3000 rounds, mean ± sd over 10 seeds; violations summed over all rounds."
    return ResultTable("table1", "Table I. Main results", note, ("task", "method"), columns, rows)


def tuning_tables() -> list[ResultTable]:
    rule = "infeasible-min-violation"
    chosen = [
        Row(("german",), {"step": Cell(Estimate(0.03), Estimate(0.03), 2), "rule": Cell("feasible-max-reward", rule)}),
        Row(("compas",), {"step": Cell(Estimate(0.1), None, 2), "rule": Cell(rule, rule)}),
    ]
    grid = [
        Row((task, f"{step:g}", f"{dual:g}"), {"reward": Cell(Estimate(step - dual, sd=0.01)), "feasible": Cell("no")})
        for task in ("german", "compas")
        for step in (0.01, 0.03, 0.1, 0.3)
        for dual in (0.05, 0.1, 0.2, 0.4)
    ]
    columns = {"step": "η", "rule": "Selection rule"}
    return [
        ResultTable("table4", "Table IV. PrimalDual tuning", "The grid is ours.", ("task",), columns, chosen),
        ResultTable(
            "table4-grid",
            "Table IV, the whole grid",
            "Batch figures.",
            ("task", "η", "μ"),
            {"reward": "Reward", "feasible": "Feasible tail"},
            grid,
        ),
    ]


def interval_table() -> ResultTable:
    columns = {f"difference{number}": f"Δ violation {number} (PD − OFS)" for number in range(6)}
    cells = {
        column: Cell(Estimate(-140.71, low=-1150.27, high=1211.32), Estimate(127.88, low=-27.8, high=170.01), 2)
        for column in columns
    }
    rows = [Row((task,), cells) for task in ("mve-s", "german", "compas")]
    return ResultTable("table3", "Table III. Differences", "Mean and 95% interval.", ("task",), columns, rows)


def wordy_table() -> ResultTable:
    columns = {
        "what": "What",
        "value": "Value",
        "kind": "Kind",
        "targets": "Targets",
        "bears": "Bears on",
        "why": "Why",
    }
    why = "Picked, not drawn: the first root of which none of the ten loops on any task is locked in far away. " * 3
    said = ("Root of random numbers", "0", "calibrated", "Table I OFS-Grid (9 figures): summed miss 1.23; " * 3)
    cells = {column: Cell(text) for column, text in zip(columns, (*said, "German, COMPAS", why), strict=True)}
    rows = [Row((key,), cells) for key in ("seed", "compas-strict.learners.primal-dual.dual_step")]
    return ResultTable("words", "What was picked", "Every number.", ("key",), columns, rows)


def long_table(key: str) -> ResultTable:
    rows = [
        Row((f"the first arm is played in every round but those of exploration, {name}",), {"share": Cell(number)})
        for name, number in (("COMPAS", Estimate(0.969, low=0.961, high=0.977)), ("German", Estimate(0.97)))
    ]
    return ResultTable(key, "Plays of the first arm", "Share of rounds.", ("what",), {"share": "Share"}, rows)


def claim(number: int, verdict: str, others: Mapping[str, tuple[str, str]]) -> Claim:
    return Claim(
        f"claim-{number}",
        f"On COMPAS, OFS earns more reward than PrimalDual and has a smaller gap and less violation (no. {number}).",
        "Reward 0.7556 ± 0.0071 against 0.6681 ± 0.0225; gap 0.0101 against 0.0396; violation 26.53 against 161.49.",
        verdict,
        "The order is the paper's in every one of 10 seeds; our reward is lower because no outcome column is used.",
        others,
    )


@pytest.fixture(scope="module")
def results() -> Results:
    claims = [
        claim(1, HOLDS, {}),
        claim(2, HOLDS, {"100 seeds": (DIRECTION, "0.03"), "population figures": (FAILS, "MVE-S 0.01, COMPAS 0.02")}),
        claim(3, DIRECTION, {"100 seeds": (HOLDS, "0.002 on every task")}),
        claim(4, FAILS, {}),
        replace(claim(5, FAILS, {}), sentence=NASTY),
    ]
    findings = [
        Finding(
            f"finding-{index}",
            title,
            "The feasible set is called optimistic: every threshold that may still be feasible is kept in it.",
            "With the printed radius the set is empty in 3000 of 3000 rounds, so that only the fallback ever chooses.",
            "Do not read the plays as a search: in another world, the lowest threshold would be played just the same.",
            Drawing(f"finding-{index}", title, "Share of rounds in which the feasible set is empty."),
            long_table(f"finding-{index}"),
        )
        for index, title in enumerate(("The optimistic test is a pessimistic one", "The first arm is locked in"), 1)
    ]
    return Results(
        [main_table(), interval_table(), *tuning_tables(), wordy_table()],
        [Drawing("figure1", "Figure 1. Reward over time", "Reward by round; bands are ± sd over seeds.")],
        claims,
        findings,
        {"rounds": 3000, "seeds": 10, "many": 100, "seed": 0, "tail": 200, "numpy": "2.3.5"},
        choices.tables(Plan(), {}),
    )


@pytest.fixture(scope="module")
def images() -> dict[str, bytes]:
    return {key: picture(*size) for key, size in (("figure1", (9, 3)), ("finding-1", (5, 3)), ("finding-2", (5, 4)))}


def picture(width: float, height: float) -> bytes:
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(1, 3 if width > 6 else 1, squeeze=False)[0]
    for panel in axes:
        panel.plot([0, 1, 2], [0, 1, 0.5])
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


@pytest.fixture(scope="module")
def page_file(results: Results, images: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(results, images), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Browser, page_file: Path) -> Page:
    return browser.open(page_file, width=request.param)


def test_the_page_asks_for_nothing_but_itself_and_has_no_errors(page: Page, page_file: Path) -> None:
    assert page.errors == []
    assert {url for url in page.requests if not url.startswith("data:")} == {page_file.as_uri()}


def test_every_figure_is_shown_with_its_caption_as_alternative_text(page: Page, results: Results) -> None:
    shown = page.evaluate("[...document.images].map(i => [i.naturalWidth, i.clientWidth, i.alt])")
    assert [alt for _, _, alt in shown] == [d.caption for d in drawings(results)]
    assert all(natural > 0 and client > 200 for natural, client, _ in shown)


def test_the_page_never_scrolls_sideways(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_nothing_is_wider_than_the_page_but_what_scrolls_in_its_own_box(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    beyond = """[...document.body.querySelectorAll('*:not(.hidden, .skip)')].filter(e => {
        const {left, right, width} = e.getBoundingClientRect();
        const box = e.parentElement.closest('.scroll, .card');
        return width > 0 && (left < 0 || right > innerWidth) && !(box && getComputedStyle(box).overflowX === 'auto');
    }).map(e => e.outerHTML.slice(0, 100))"""
    assert page.evaluate(beyond) == []
    cut = "[...document.querySelectorAll('.scroll')].filter(b => b.scrollWidth > b.clientWidth)"
    cut += ".map(b => `${b.getAttribute('aria-labelledby')} ${b.scrollWidth} in ${b.clientWidth}`)"
    if page.evaluate("innerWidth") == 1280:
        assert page.evaluate(cut) == []
    else:
        assert page.evaluate(cut) != []


def test_every_figure_of_a_table_is_one_click_from_the_contents(page: Page, results: Results) -> None:
    for table in results.tables:
        (link,) = page.evaluate(
            f"[...document.querySelectorAll('.contents a[href^=\"#table-{table.key}\"]')]"
            f".filter(a => a.innerText === {table.title!r}).map(a => a.getAttribute('href'))"
        )
        page.evaluate(f"location.hash = {link!r}")
        assert page.evaluate(f"document.querySelector('#table-{table.key} td').checkVisibility()"), link
    assert page.evaluate(
        "[...document.querySelectorAll('.links a')].every(a => ['#contents', '#table-chosen-note'].includes(a.hash))"
    )


def test_words_in_tables_are_not_squeezed_into_a_column_of_single_words(page: Page) -> None:
    widths = page.evaluate("[...document.querySelectorAll('#table-words .long')].map(e => e.clientWidth)")
    assert min(widths) >= 200


def test_a_table_names_the_choices_made_for_its_figures(results: Results, images: dict[str, bytes]) -> None:
    made = {"table1.german.ofs.reward": "seed, features", "table1.compas.ofs.gap": "seed", "table10.x": "other"}
    rows = [Row((key,), {"choices": Cell(names)}) for key, names in made.items()]
    targets = ResultTable("targets", "Targets", "Figures.", ("key",), {"choices": "Chosen for it"}, rows)

    @dataclass(frozen=True)
    class WithChoices(Results):
        choices: Sequence[ResultTable] = ()

    text = render(WithChoices(**vars(results) | {"choices": [replace(targets, key="chosen"), targets]}), images)
    main = text.partition('<section id="table-table1"')[2].partition("</section>")[0]
    assert 'Choices made for figures here: seed, features. <a href="#table-chosen-note">' in main
    other = text.partition('<section id="table-table3"')[2].partition("</section>")[0]
    assert '<a href="#table-chosen-note">The choices these figures depend on</a>' in other


def test_text_is_large_enough_to_read(page: Page) -> None:
    assert page.evaluate(f"Math.min(...{SIZES.replace('SELECTOR', 'p, dd, figcaption')})") >= 16
    assert page.evaluate(f"Math.min(...{SIZES.replace('SELECTOR', 'th, td')})") >= 12


def test_our_figures_and_the_papers_are_both_visible_and_told_apart(page: Page, results: Results) -> None:
    table = results.tables[0]
    seen = page.evaluate(
        """[...document.querySelectorAll('#table-table1 tr.ours, #table-table1 tr.paper')].map(row => [
            row.querySelector('th.source').innerText,
            row.querySelector('td').checkVisibility({opacityProperty: true, visibilityProperty: true}),
            getComputedStyle(row.querySelector('td')).color,
            [...row.querySelectorAll('td')].map(cell => cell.innerText.replace(/\\s+/g, ' '))])"""
    )
    assert [source for source, *_ in seen] == ["Ours", "Paper"] * len(table.rows)
    assert all(visible for _, visible, *_ in seen)
    assert len({(source, colour) for source, _, colour, _ in seen}) == 2
    assert len({colour for _, _, colour, _ in seen}) == 2
    first = seen[0][3]
    assert first == ["−0.0500 ± 0.0373", "0.0953 ± 0.0230", "1121.37 ± 12.37", "0.0102 ± 0.0020", "812.40 ± 2.25"]
    assert [text[0] for text in seen[1][3]] == ["0", "0", "9", "–", "–"]


def test_headings_are_in_order_and_every_link_has_a_target(page: Page) -> None:
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.links].map(a => a.getAttribute('href')).filter(h => h.startsWith('#'))")
    described = page.evaluate(
        """['aria-labelledby', 'aria-describedby'].flatMap(
            name => [...document.querySelectorAll(`[${name}]`)].map(e => e.getAttribute(name)))"""
    )
    assert {link[1:] for link in links} | set(described) <= set(ids)


def test_every_table_has_a_caption_and_scoped_headings(page: Page) -> None:
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption?.textContent.trim())")
    assert page.evaluate("[...document.querySelectorAll('th')].every(h => h.scope)")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_background(browser: Browser, page_file: Path, dark: bool) -> None:
    page = browser.open(page_file, width=1280, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    worst, text = min(page.evaluate(CONTRASTS))
    assert worst >= 4.5, text
    shot = image.imread(io.BytesIO(page.screenshot()))
    assert shot.shape[:2] == (page.evaluate("document.documentElement.scrollHeight"), 1280)
    assert (shot[5, 5, :3].mean() < 0.2) == dark


def test_long_tables_are_folded_on_screen_and_open_in_print(browser: Browser, page_file: Path) -> None:
    script = "document.querySelector('#table-table4-grid table').getBoundingClientRect().height"
    visible = f"{script} > 0 && document.querySelector('#table-table4-grid td').checkVisibility()"
    assert not browser.open(page_file, width=1280).evaluate(visible)
    printed = browser.open(page_file, width=700, dark=True, media="print")
    assert printed.evaluate(visible)
    assert printed.evaluate("document.documentElement.scrollWidth") <= 700
    assert printed.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


def test_special_characters_are_text_not_markup(results: Results, images: dict[str, bytes]) -> None:
    text = render(results, images)
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &#34;quotes&#34; {{ 7 * 7 }} ε ≤ 0.06" in text
    assert text.startswith("<!DOCTYPE html>")


def test_symbols_have_their_index_below(results: Results, images: dict[str, bytes]) -> None:
    said = "F_t is empty & c_fp < 1, while is_recid and table_1 are names"
    text = render(replace(results, claims=[replace(claim(1, HOLDS, {}), evidence=said)]), images)
    assert "F<sub>t</sub> is empty &amp; c<sub>fp</sub> &lt; 1, while is_recid and table_1 are names" in text


def test_settings_are_named_in_words(results: Results, images: dict[str, bytes]) -> None:
    text = render(replace(results, settings={"tail": 200, "versions": {"numpy": "2.3.5"}, "parts": ["a", "b"]}), images)
    for name, value in (("Last rounds in a tail mean", "200"), ("Version: numpy", "2.3.5"), ("Parts", "a, b")):
        assert f"{name}</th><td>{value}</td>" in text


def test_the_same_results_give_the_same_bytes(results: Results, images: dict[str, bytes]) -> None:
    assert render(results, images) == render(results, dict(reversed(images.items())))


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([HOLDS, HOLDS, DIRECTION, FAILS, FAILS, FAILS], "Of 6 claims that can be checked, 2 hold, 1 holds only in"),
        ([FAILS], "Of 1 claim that can be checked, 0 hold, 0 hold only in"),
    ],
)
def test_the_summary_counts_the_claims(
    results: Results, images: dict[str, bytes], verdicts: Sequence[str], sentence: str
) -> None:
    claims = [claim(number, verdict, {}) for number, verdict in enumerate(verdicts)]
    text = render(replace(results, claims=claims), images)
    assert sentence in text
    fails = verdicts.count(FAILS)
    assert f"and {fails} do{'es' if fails == 1 else ''} not hold." in text
    found = re.findall(r'<li><b>(\d+)</b> <span class="badge \w+">([^<]+)</span>', text)
    assert {verdict.lower(): int(count) for count, verdict in found} == {
        verdict: verdicts.count(verdict) for verdict in (HOLDS, DIRECTION, FAILS)
    }


def test_other_views_are_named_where_there_are_any(results: Results, images: dict[str, bytes]) -> None:
    text = render(results, images)
    assert text.count("Other views") == 2
    assert "2 get a different verdict" in text
    badge = '<span class="badge fails">Does not hold</span>'
    assert f"<li>Population figures: {badge} MVE-S 0.01, COMPAS 0.02</li>" in text


def test_a_page_without_anything_still_renders(images: dict[str, bytes]) -> None:
    text = render(Results([], [], [], [], {}), images)
    assert "What the rule really does" not in text


def test_what_cannot_be_shown_is_refused(results: Results, images: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match="none for finding-2"):
        render(results, {key: png for key, png in images.items() if key != "finding-2"})
    with pytest.raises(ValueError, match="PNG file"):
        render(results, {**images, "figure1": b"%PDF-1.7"})
    with pytest.raises(ValueError, match="got perhaps"):
        render(replace(results, claims=[claim(1, "perhaps", {})]), images)


def drawings(results: Results) -> list[Any]:
    return [*results.drawings, *(finding.drawing for finding in results.findings)]


SIZES = "[...document.querySelectorAll('SELECTOR')].map(e => parseFloat(getComputedStyle(e).fontSize))"

CONTRASTS = """(() => {
    const parse = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = element => {
        for (let e = element; e; e = e.parentElement) {
            const colour = parse(getComputedStyle(e).backgroundColor);
            if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !element.checkVisibility()) continue;
        const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walk.currentNode.data.trim()]);
    }
    return found;
})()"""
