"""The page and the text of a sweep: every number is the sweep's, cells open, and all of it can be read anywhere."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fairgate.sweep import Sweep
from fairgate.sweep.answer import Answer
from fairgate.sweep.embedded import data_of
from fairgate.sweep.page import first_figure, number, render
from fairgate.sweep.terminal import show
from tests.browser import Browser, Page
from tests.sweep.worlds import made

RATES = np.geomspace(0.01, 0.5, 6)
EPSILONS = np.linspace(0.01, 0.1, 4)


@pytest.fixture(scope="module")
def flat() -> Sweep:
    """Two parameters, one setting that failed."""
    return made({"rate": RATES, "epsilon": EPSILONS}, broken=[7])


@pytest.fixture(scope="module")
def deep() -> Sweep:
    return made({"rate": RATES, "epsilon": EPSILONS, "batch": [16, 64, 256]}, seeds=5)


PAGES: dict[int, tuple[Sweep, str]] = {}


def written(sweep: Sweep) -> str:
    """The page of a sweep, written once; the sweep is held so that no other has its id."""
    if id(sweep) not in PAGES:
        PAGES[id(sweep)] = sweep, render(sweep)
    return PAGES[id(sweep)][1]


def opened(browser: Browser, sweep: Sweep, folder: Path, width: int = 1280, dark: bool = False) -> Page:
    path = folder / "sweep.html"
    path.write_text(written(sweep), encoding="utf-8")
    return browser.open(path, width, dark=dark)


def click(page: Page, chart: int, setting: int) -> None:
    page.evaluate(
        f"document.querySelectorAll('#maps svg')[{chart}].querySelector('[data-s=\"{setting}\"]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def press(page: Page, key: str) -> None:
    codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9, "Escape": 27}
    text = {"text": "\r"} if key == "Enter" else {}
    page.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes[key], **text)
    page.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes[key])


@pytest.mark.slow
def test_an_opened_cell_has_the_figures_of_the_frame_and_the_command_that_repeats_it(
    browser: Browser, flat: Sweep, tmp_path: Path
) -> None:
    page = opened(browser, flat, tmp_path)
    frame = flat.frame()
    for setting, learner in ((5, 1), (14, 0), (20, 1)):
        click(page, learner, setting)
        row = frame.iloc[2 * setting + learner]
        assert row["learner"] == flat.learners[learner]
        cells = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('#cell tr[data-figure]')]"
            ".map((row) => [row.dataset.figure, [...row.cells].slice(1).map((cell) => cell.textContent)]))"
        )
        assert set(cells) == set(flat.figures)
        for figure, (mean, interval, *quantiles) in cells.items():
            low, high = row[f"{figure}_low"], row[f"{figure}_high"]
            assert mean == number(row[f"{figure}_mean"])
            assert interval == ("–" if np.isnan(low) else f"{number(low)} to {number(high)}")
            assert quantiles == [number(row[f"{figure}_{kind}"]) for kind in ("q10", "q50", "q90")]
        assert page.evaluate("document.getElementById('command').textContent") == flat.command(
            setting, flat.learners[learner]
        )
        truth = page.evaluate("document.getElementById('truth').textContent")
        assert number(row["best_threshold"]) in truth
        assert truth.startswith("Best feasible threshold" if row["attainable"] else "Nothing is feasible")
    assert page.errors == []
    assert all(each.startswith(("file:", "data:")) for each in page.requests)


def test_colours_hatching_and_crosses_are_where_they_belong(browser: Browser, flat: Sweep, tmp_path: Path) -> None:
    page = opened(browser, flat, tmp_path)
    maps = page.evaluate(
        "[...document.querySelectorAll('#maps svg')].map((svg) => ({"
        "fills: Object.fromEntries([...svg.querySelectorAll('.cell')].map((c) =>"
        "[c.dataset.s, [c.getAttribute('fill'), c.getAttribute('fill-opacity')]])),"
        "hatched: svg.querySelectorAll('.hatched').length, crosses: svg.querySelectorAll('.cross').length}))"
    )
    nothing = int((~flat.truth["attainable"]).sum()) - 1  # the failed one is not known to have nothing
    assert [(each["hatched"], each["crosses"]) for each in maps] == [(nothing, 1)] * 3
    found, data = flat.winners(), data_of(flat, "shortfall")
    for setting in range(len(flat)):
        best = int(found.learner[setting])
        sure = found.p_value[setting] < 0.05
        wanted = [data["learners"][best]["colour"], "1" if sure else "0.35"] if best >= 0 else [None, None]
        assert maps[2]["fills"][str(setting)] == wanted
    brightest, darkest = (int(pick(flat.mean("share")[:, 0])) for pick in (np.nanargmax, np.nanargmin))
    light = {key: sum(map(int, maps[0]["fills"][str(key)][0][4:-1].split())) for key in (brightest, darkest)}
    assert light[brightest] > light[darkest]


def test_the_keyboard_moves_from_cell_to_cell_and_opens_one(browser: Browser, flat: Sweep, tmp_path: Path) -> None:
    page = opened(browser, flat, tmp_path)
    page.evaluate("document.getElementById('winner').focus()")
    for key in ("Tab", "ArrowRight", "ArrowRight", "ArrowUp"):
        press(page, key)
    place = 2 * len(EPSILONS) + 1  # two rates up, one epsilon up
    mean = number(flat.mean("share")[place, 0])
    assert mean in page.evaluate("document.getElementById('tip').textContent")
    press(page, "Enter")
    assert page.evaluate("document.getElementById('cell').dataset.setting") == str(place)
    press(page, "Escape")
    assert page.evaluate("document.getElementById('cell').open") is False
    assert page.evaluate("document.activeElement.tagName") == "svg"


@pytest.mark.slow
def test_a_slider_holds_a_third_parameter_and_the_figure_can_be_chosen(
    browser: Browser, deep: Sweep, tmp_path: Path
) -> None:
    page = opened(browser, deep, tmp_path)
    page.evaluate(
        "(() => { const s = document.querySelector('[data-parameter=batch]');"
        "s.value = 2; s.dispatchEvent(new Event('input'));"
        "const f = document.getElementById('figure');"
        "f.value = [...f.options].find((each) => each.textContent === 'shortfall per round').value;"
        "f.dispatchEvent(new Event('change')); })()"
    )
    drawn = page.evaluate(
        "[...document.querySelector('#maps svg').querySelectorAll('.cell')].map((c) => Number(c.dataset.s))"
    )
    assert sorted(drawn) == np.flatnonzero(deep.design["batch"] == 256).tolist()
    page.evaluate(
        "document.querySelector('#maps svg .cell').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))"
    )
    text = page.evaluate("document.getElementById('tip').textContent")
    assert f"shortfall per round {number(deep.mean('shortfall')[drawn[0], 0])} (95% interval " in text
    page.evaluate(
        "(() => { const x = document.getElementById('x'); x.value = 2; x.dispatchEvent(new Event('change')); })()"
    )
    assert page.evaluate(
        "[...document.querySelectorAll('#others [data-parameter]')].map((each) => each.dataset.parameter)"
    ) == ["rate"]


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, deep: Sweep, tmp_path: Path, width: int, dark: bool
) -> None:
    page = opened(browser, deep, tmp_path, width, dark)
    click(page, 0, int(page.evaluate("document.querySelector('#maps .cell').dataset.s")))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.getElementById('cell').getBoundingClientRect().width") <= width
    assert page.errors == []


def test_curves_cross_out_what_failed_and_not_what_has_no_share(browser: Browser, tmp_path: Path) -> None:
    sweep = made({"rate": RATES}, broken=[2])
    sweep.truth["attainable"][4] = False
    sweep.figures["share"][4] = np.nan
    page = opened(browser, sweep, tmp_path)
    assert page.evaluate("document.querySelectorAll('#maps .cross').length") == 2  # a setting, two learners
    assert page.evaluate("document.querySelectorAll('#maps .hatched').length") == 1


def test_one_parameter_is_curves_with_bands(browser: Browser, tmp_path: Path) -> None:
    sweep = made({"rate": RATES}, broken=[2])
    page = opened(browser, sweep, tmp_path)
    assert page.evaluate("document.querySelectorAll('#maps .range').length") == 2
    assert page.evaluate("document.querySelectorAll('#maps .cross').length") == 2
    page.evaluate(
        'document.querySelector(\'#maps [data-s="4"][data-l="1"]\')'
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    mean = page.evaluate("document.querySelector('#cell tr[data-figure=regret] td').textContent")
    assert mean == number(sweep.mean("regret")[4, 1])
    assert page.errors == []


def test_no_parameter_is_a_table(flat: Sweep) -> None:
    sweep = made({})
    page = render(sweep)
    assert "<script>" not in page
    for learner in range(2):
        assert f'<td class="number">{number(sweep.mean("regret")[0, learner])}</td>' in page


def test_without_a_script_there_are_a_picture_and_a_table(flat: Sweep) -> None:
    page = written(flat)
    still = page[page.index("<noscript>") : page.index("</noscript>")]
    assert 'src="data:image/png;base64,' in still
    assert "<figcaption>Share of attainable reward of each learner, and which one wins. " in still
    for mean in flat.mean("shortfall")[:7].ravel():
        assert f'<td class="number">{number(mean)}</td>' in page


def test_the_page_says_first_who_wins_in_how_many_settings(flat: Sweep) -> None:
    found = flat.winners()
    wins = int((found.learner == 0).sum())
    sure = int(((found.learner == 0) & (found.p_value < 0.05)).sum())
    first = Answer(flat).sentences()[0]
    beside = [f"(success {row.success:.0%}, violation {row.violation:.1f})" for row in Answer(flat).standings]
    assert first.startswith(
        f"ofs wins in {wins} of 23 settings ({wins / 23:.0%}), significantly in {sure} {beside[0]}; safe-forecast in "
    )
    assert first.endswith(f"{beside[1]}.")
    page = written(flat)
    assert page.index(first) < page.index("<h2")
    assert "rate 0.02187, epsilon 0.1, every learner: InputError: rate must be in [0, 1], got 2" in page


def test_learners_that_see_different_feedback_are_not_compared_without_saying_so(flat: Sweep) -> None:
    levels = {"ofs": "bandit", "safe-forecast": "selective-labels"}
    differ, alike = (
        replace(flat, settings={**flat.settings, "levels": each})
        for each in (levels, dict.fromkeys(levels, "selective-labels"))
    )
    sentence = "They do not see the same feedback: ofs at level bandit, safe-forecast at level selective-labels."
    assert Answer(differ).sentences()[1] == sentence
    assert sentence in render(differ)
    assert sentence in " ".join(" ".join(text_of(differ)).split())
    assert "feedback" not in " ".join(Answer(alike).sentences())


def test_regions_count_the_settings_that_each_learner_wins(flat: Sweep) -> None:
    found = flat.winners().learner
    regions = [each for each in Answer(flat).regions if each.parameter == "rate"]
    assert [each.values for each in regions] == ["0.01 to 0.0219", "0.0478 to 0.105", "0.229 to 0.5"]
    for region, members in zip(regions, np.array_split(np.arange(24), 3), strict=True):
        there = found[members][found[members] >= 0]
        assert region.settings == len(there)
        assert region.shares == pytest.approx([(there == place).mean() for place in range(2)])


@pytest.mark.slow
def test_names_that_look_like_tags_stay_text(tmp_path: Path, browser: Browser) -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS}, learners=("</script><b>x", "ofs&'\""))
    page = opened(browser, sweep, tmp_path)
    names = page.evaluate("[...document.querySelectorAll('#maps figcaption')].map((each) => each.textContent)")
    assert names[:2] == ["</script><b>x", "ofs&'\""]
    assert page.errors == []


@pytest.mark.slow
def test_five_thousand_cells_are_less_than_three_megabytes() -> None:
    sweep = made({"rate": np.geomspace(0.01, 0.5, 50), "epsilon": np.linspace(0.01, 0.1, 50)}, seeds=20)
    assert len(sweep) * 2 == 5000
    assert len(render(sweep).encode()) < 3_000_000


@pytest.mark.slow
def test_of_very_many_cells_the_page_has_no_quantiles() -> None:
    many, few = (made({"rate": np.linspace(0, 1, count)}, learners=["ofs"], seeds=2) for count in (6001, 6000))
    assert {"mean", "low", "high"} <= set(data_of(many, "shortfall")["figures"][0])
    assert not {"q10", "q50", "q90"} & set(data_of(many, "shortfall")["figures"][0])
    assert {"q10", "q50", "q90"} < set(data_of(few, "shortfall")["figures"][0])


def test_a_saved_sweep_has_the_same_page(tmp_path: Path, flat: Sweep) -> None:
    assert render(Sweep.load(flat.save(tmp_path / "sweep.parquet"))) == written(flat)


def test_of_many_learners_those_that_win_have_colours(browser: Browser, tmp_path: Path) -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS}, learners=[f"learner {place}" for place in range(9)])
    data = data_of(sweep, "shortfall")
    winners = set(sweep.winners().learner.tolist())
    assert len(winners) <= 5
    colours = [each["colour"] for each in data["learners"]]
    assert len({colours[place] for place in winners}) == len(winners)
    assert all(not data["learners"][place]["other"] for place in winners)
    page = opened(browser, sweep, tmp_path)
    assert "<figcaption>Which learner wins, by shortfall per round. " in written(sweep)
    texts = page.evaluate("[...document.querySelectorAll('.key li')].map((each) => each.textContent)")
    assert "others" in texts
    assert page.errors == []


def test_where_nothing_is_feasible_at_all_another_figure_comes_first() -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS})
    none = replace(
        sweep,
        truth={**sweep.truth, "attainable": np.zeros(24, dtype=bool)},
        figures={**sweep.figures, "share": np.full((24, 2, 12), np.nan)},
    )
    assert first_figure(none) == "success"
    assert "Nothing is feasible in 24 of 24 settings (100%)." in Answer(none).sentences()


def text_of(sweep: Sweep) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    show(sweep, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_terminal_answers_first_within_80_columns(deep: Sweep, flat: Sweep) -> None:
    for sweep in (deep, flat, made({"rate": RATES}, learners=("pessimistic-optimistic",)), made({})):
        lines = text_of(sweep)
        assert max(map(len, lines)) <= 80
        assert " ".join(lines).startswith(Answer(sweep).sentences()[0][:40])
    text = " ".join(" ".join(text_of(flat)).split())
    rows: dict[str, Any] = {row.learner: row for row in Answer(flat).standings}
    assert f"ofs {rows['ofs'].wins / 23:.0%} {rows['ofs'].success:.0%} {rows['ofs'].share:.0%}" in text
    assert "1 of 24 settings failed: they are left out of all figures." in text
    assert "cells" not in text


def test_means_leave_out_what_failed_and_the_worst_setting_is_named(flat: Sweep) -> None:
    for place, name in enumerate(flat.learners):
        (row,) = (each for each in Answer(flat).standings if each.learner == name)
        known = flat.truth["attainable"]
        short = np.where(known, flat.mean("shortfall")[:, place], np.nan)
        assert row.shortfall == pytest.approx(np.nanmean(short))
        assert row.success == pytest.approx(flat.mean("success")[known, place].mean())
        assert row.violation == pytest.approx(flat.mean("population_violation")[known, place].mean())
        earned = flat.mean("population_reward")[known, place].sum() / flat.truth["best_reward"][known].sum()
        assert row.share == pytest.approx(earned)
        worst = int(np.nanargmax(short))
        assert row.worst_shortfall == short[worst]
        assert row.worst == f"rate {flat.design['rate'][worst]:.4g}, epsilon {flat.design['epsilon'][worst]:.4g}"


def test_settings_that_failed_are_in_no_share_and_cells_that_did_are_told() -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS}, broken=[3, 8])
    for values in sweep.figures.values():
        values[5, 1] = np.nan
    told = " ".join(Answer(sweep).sentences())
    assert "Nothing is feasible in 5 of 22 settings (23%)." in told
    assert "2 of 24 settings failed: they are left out of all figures." in told
    assert "1 of 44 cells in the others failed: they are left out of all figures." in told
    assert Answer(made({"rate": RATES}, broken=range(6))).sentences() == ["Every setting failed: 6 settings."]
    assert text_of(made({"rate": RATES}, broken=range(6))) == ["Every setting failed: 6 settings."]


def tied(places: slice) -> Sweep:
    """Two learners that are exactly the same in some of six settings."""
    sweep = made({"rate": RATES, "epsilon": [0.05]})
    for values in sweep.figures.values():
        values[places, 1] = values[places, 0]
    return sweep


def test_a_tie_is_nobodys_win(browser: Browser, tmp_path: Path) -> None:
    some = tied(slice(0, 4))
    found = some.winners()
    assert found.tied.tolist() == [True] * 4 + [False] * 2
    assert found.learner.tolist() == [-1] * 4 + [0, 1]
    assert "4 settings are ties: the best learners have exactly the same mean." in Answer(some).sentences()
    assert sum(row.wins for row in Answer(some).standings) == 2
    assert Answer(tied(slice(None))).sentences()[:2] == [
        "No learner wins a setting.",
        "6 settings are ties: the best learners have exactly the same mean.",
    ]
    page = opened(browser, some, tmp_path)
    fills = page.evaluate(
        "[...document.querySelectorAll('#maps figure:last-child .cell')].map((c) => c.attributes.fill.value)"
    )
    assert fills.count("#F0E442") == 4
    assert page.evaluate("document.querySelectorAll('#maps .cross').length") == 0
    assert "<td>tie</td>" in written(some)


def test_where_nothing_is_feasible_is_told_apart(flat: Sweep) -> None:
    nothing = np.array([0, 4, 8, 12, 16, 20])
    row = Answer(flat).standings[0]
    place = flat.learners.index(row.learner)
    assert row.excess == pytest.approx(flat.mean("excess_violation")[nothing, place].mean())
    text = " ".join(" ".join(text_of(flat)).split())
    assert f"beyond the least, where nothing is feasible: {row.learner} {row.excess:.4f}" in text
    assert "Means over settings where something is feasible." in text
    assert "Where nothing is feasible, shortfall is the violation beyond the least there is, and a success" in text
    assert Answer(flat).excesses() in written(flat)
    feasible = text_of(made({"rate": RATES}))
    assert "feasible:" not in " ".join(feasible)


def test_the_test_is_named_on_page_and_terminal(deep: Sweep) -> None:
    close = replace(deep, figures={name: np.round(values, 1) for name, values in deep.figures.items()})
    assert Answer(close).unsure
    assert "(two-sided paired t-test over seeds, Holm-corrected p ≥ 0.05)" in " ".join(Answer(close).sentences())
    assert "A two-sided paired t-test over seeds" in written(deep)
    assert "significantly by a paired t-test over seeds." in " ".join(" ".join(text_of(deep)).split())


def test_one_of_a_thing_has_no_plural() -> None:
    alone = made({}, learners=["ofs"], seeds=1)
    assert repr(alone) == "Sweep(compas: 1 setting × 1 learner × 1 seed)"
    assert "Over 1 seed: " in render(alone)


def test_intervals_stay_where_values_can_be() -> None:
    sweep = made({"rate": RATES}, seeds=3)
    sweep.figures["feasible"][:, :, :] = [0.0, 0.9, 1.0]
    sweep.figures["violation"][:, :, :] = [0.0, 0.0, 5.0]
    sweep.figures["regret"][:, :, :] = [0.0, 0.0, 5.0]
    share, broken, regret = (sweep.spread(name) for name in ("feasible", "violation", "regret"))
    assert set(share["low"].ravel()) == {0.0}
    assert set(share["high"].ravel()) == {1.0}
    assert set(broken["low"].ravel()) == {0.0}
    assert (broken["high"] > 5).all()
    assert (regret["low"] < 0).all()
