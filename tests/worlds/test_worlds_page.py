"""The page of the board of random worlds: every learner's figures, where it fails, and how to play its worst worlds."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairgate.bench import WorldBench, run_worlds
from fairgate.bench.worlds.page import render, signed, worst_of
from fairgate.bench.worlds.traits import traits_of
from fairgate.settings import Array
from fairgate.worlds.shapes import shape_of
from tests.browser import Browser
from tests.own_learner import Middle

WORLDS = (4, 6, 8, 9, 12, 19)


class Breaking(Middle):
    """Says that it plays thresholds per group, and fails where there are six groups."""

    policies = "per-group"

    def propose(self, state: Array) -> Array:
        if state.shape[1] == 6:
            raise RuntimeError("too many")
        return state


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def bench(folder: Path) -> WorldBench:
    own = {"middle <b>": Middle(), "breaking": Breaking()}
    return run_worlds(folder, WORLDS, ["best-lottery", "random", "mixture"], own=own, rounds=30, policies="lottery")


@pytest.fixture(scope="module")
def text(bench: WorldBench, folder: Path) -> str:
    """What the page says, without its tags."""
    page = (folder / "worlds.html").read_text(encoding="utf-8")
    page = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_page_holds_every_figure_of_every_learner(bench: WorldBench, folder: Path, text: str) -> None:
    document = json.loads((folder / "worlds.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert document == bench.document
    rows = [row for rows in document["board"].values() for row in rows]
    assert {row["learner"] for row in rows} == {"best-lottery", "random", "mixture", "middle <b>", "breaking"}
    board = text.partition("The board One table")[2].partition("World by world One dot")[0]
    for row in rows:
        found = re.search(rf"{re.escape(row['learner'])}\)? (baseline|fairgate’s own|yours), (.{{0,200}})", board)
        assert found is not None, row["learner"]
        share, line = row["share"], found[2]
        assert f"{signed(share['value'])} {signed(share['low'])} to {signed(share['high'])}" in line
        assert f" {signed(row['median'])} {signed(row['worst_tenth'])} {signed(row['tail_share'])} " in line
        assert f"{row['violation']:.4f} {100 * row['feasible']:.0f}% {100 * row['feasible_tail']:.0f}%" in line


def test_the_answer_comes_first_and_says_which_worlds_these_are(bench: WorldBench, text: str) -> None:
    head = text.partition("Contents")[0]
    best = bench.board.levels["bandit"][0]
    assert "5 learners on 6 random worlds, numbers 4, 6, 8, 9, 12, 19, 30 rounds each" in head
    assert "Worlds for development, not for judging." in head
    assert f"{best.learner} earns a share of {signed(best.share.value)}" in head
    assert f"the best baseline, {bench.board.baselines['bandit']['threshold']}" in head or "the best baseline." in head
    assert "No baseline of this level and class took part." in head  # of selective-labels, where only mixture did


@pytest.mark.parametrize(
    ("purpose", "sentence"),
    [("judging", "Worlds for judging."), ("development and judging", "Worlds for development and for judging, mixed.")],
)
def test_worlds_for_judging_are_called_so(bench: WorldBench, purpose: str, sentence: str) -> None:
    settings = {**bench.document["settings"], "purpose": purpose}
    page = render(bench.matrix, bench.board, {**bench.document, "settings": settings})
    assert sentence in page
    assert "not for judging" not in page


def test_learners_of_other_policies_are_shown_without_a_rank(bench: WorldBench, text: str) -> None:
    (unranked,) = (row for row in bench.board.levels["bandit"] if row.learner == "breaking")
    assert unranked.rank is None
    assert "(breaking) yours, per-group" in text
    assert "breaking" not in text.partition("Where learners fail")[2].partition("What is measured")[0]


def test_means_by_trait_are_those_of_the_table(bench: WorldBench, folder: Path, text: str) -> None:
    table = pq.read_table(folder / "worlds.parquet").to_pandas()
    shares = table[table["learner"] == "random"].set_index("world")["share"].clip(-1, 1)
    here = bench.board.worlds["bandit"]
    (groups,) = (trait for trait in traits_of(bench.matrix) if trait.key == "groups")
    assert list(groups.values) == ["2", "3–4", "5–8"]
    two = [WORLDS[place] for place in here if shape_of(WORLDS[place]).groups == 2]
    assert [WORLDS[place] for place in groups.members(0, here)] == two
    section = text.partition("Groups Learner 2 3–4 5–8")[2].partition("Constraints Learner")[0]
    assert f"random {signed(shares[two].mean())} " in section
    assert f"{len(two)} worlds" in section


def test_the_worst_worlds_can_be_played_again(bench: WorldBench, text: str) -> None:
    found = worst_of(bench.matrix, bench.board, "random", bench.document["settings"])
    shares = bench.matrix.figures["random"]["share"][bench.board.worlds["bandit"]]
    assert [each.share for each in found] == sorted(shares)[:3]
    for each in found:
        assert each.command == f"fairgate run world-{each.number} random --rounds 30"
        assert each.command in text
        assert each.what in text
    assert worst_of(bench.matrix, bench.board, "middle <b>", bench.document["settings"])[0].command == ""
    of_place = {**bench.matrix.figures, "mine:A b:x=1": bench.matrix.figures["random"]}
    matrix = type(bench.matrix)(**{**vars(bench.matrix), "figures": of_place, "levels": {"mine:A b:x=1": "bandit"}})
    (first, *_) = worst_of(matrix, bench.board, "mine:A b:x=1", {"rounds": 3000})
    assert first.command == f"fairgate run world-{first.number} 'mine:A b:x=1'"


def test_a_tuned_baseline_is_played_again_with_its_settings(bench: WorldBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.bench.worlds.page.tuned", lambda: {"random": {"c": 0.25, "length": 40.0}})
    found = worst_of(bench.matrix, bench.board, "random", {"rounds": 3000})
    assert found[0].command == f"fairgate run world-{found[0].number} random:c=0.25,length=40"


def test_a_failing_learner_is_named_with_its_worlds(bench: WorldBench, text: str) -> None:
    assert [shape_of(number).groups for number in WORLDS].count(6) == 1
    assert [str(failure)[:44] for failure in bench.matrix.failures] == ["learner 'breaking' failed on worlds-12-12: R"]
    assert "RuntimeError: too many" in text.partition("Contents")[0]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_readable_at_any_width(bench: WorldBench, folder: Path, browser: Browser, width: int) -> None:
    page = browser.open(folder / "worlds.html", width)
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "middle <b>" in page.evaluate("document.body.innerText")
    unreachable = """[...document.querySelectorAll('*')].filter(box => box.scrollWidth > box.clientWidth + 1
        && ['auto', 'scroll'].includes(getComputedStyle(box).overflowX) && box.tabIndex < 0).length"""
    assert page.evaluate(unreachable) == 0
    assert page.evaluate("[...document.images].every(each => each.naturalWidth > 0 && each.alt)")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.querySelectorAll('a')].map(each => each.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
