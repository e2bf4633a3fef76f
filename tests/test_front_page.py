"""README.md works as it is written: its commands run, and print what stands below them."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.learners.registry import BASELINES
from scripts import draw_readme, front_page
from tests.command import fairgate_here
from tests.live.shell import snippets

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "index.md", ROOT / "docs" / "start.md")
SMALLER = {
    "fairgate live demo": "fairgate live demo --rounds 4 --batch 30 --pace 0",
    "--worlds 20 --rounds 300": "--worlds 0:1 --rounds 20 --workers 1",
    "--over rate=0.01:0.5:3": "--over rate=0.01:0.5:2 --workers 1",
    "fairgate reproduce table1 --seeds 10": "fairgate reproduce table1 --seeds 1 --rounds 60 --tail 10 --workers 1",
    "--rounds 200": "--rounds 40",
}
"""Sizes that tests have no time for, and what they run instead."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, as a reader has."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed is as wide as in README.md."""
    monkeypatch.setenv("COLUMNS", str(front_page.WIDTH))
    monkeypatch.setenv("NO_COLOR", "1")


def smaller(body: str) -> str:
    for size, less in SMALLER.items():
        body = body.replace(size, less)
    return body


def here(body: str, folder: Path) -> Iterator[str]:
    """Run commands in this process, one after the other, and yield what each prints."""
    for line in smaller(body).replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "fairgate"
        done = fairgate_here(*arguments, cwd=folder)
        assert done.returncode == 0, (line, done.stderr)
        yield done.stdout


@pytest.mark.slow
def test_the_analysts_commands_print_what_stands_below_them(folder: Path) -> None:
    for name in ("advise", "none"):
        said = "".join(here(front_page.commands(name), folder))
        assert front_page.shown(name, said) == front_page.passage(name)
    assert "INFEASIBLE" in front_page.passage("none")
    assert {"advice", "stricter"} <= {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_the_operators_demonstration_prints_what_is_promised(folder: Path) -> None:
    (said,) = here(front_page.commands("demo"), folder)
    assert {"Page:", "Key:"} <= set(said.split())  # which README leaves out
    names = {"played", "reward", "gap", "acceptance", "violation"}
    for text in (front_page.shown("demo", said), front_page.passage("demo")):
        assert {line.split()[0] for line in text.splitlines() if line.strip()} >= names


@pytest.mark.slow
def test_the_operators_own_gate_is_made_and_audited(tmp_path: Path) -> None:
    (body,) = (body for title, body in snippets(README) if title == "your own gate")
    made, served, audited = body.splitlines()
    guide = snippets(ROOT / "docs" / "guides" / "operator.md")
    assert served.partition("#")[0].strip() in {body.strip() for _, body in guide}  # which is run there
    *_, said = here(f"{made}\n{audited}", tmp_path)
    assert "Everything fits" in said


@pytest.mark.slow
def test_the_researchers_board_has_the_learners_that_stand_in_readme(folder: Path) -> None:
    said = front_page.shown("worlds", "".join(here(front_page.commands("worlds"), folder)))
    kept = front_page.passage("worlds")
    (worlds,) = re.findall(r"--worlds (\d+) ", front_page.commands("worlds"))
    assert f"{worlds} random worlds for judging" in kept
    for name in ",".join(re.findall(r"--learners ([a-z,-]+)", front_page.commands("worlds"))).split(","):
        first = re.compile(rf"^ (\d\. )?{name.split('-')[0]}", flags=re.MULTILINE)
        assert first.search(said)
        assert first.search(kept)


@pytest.mark.slow
def test_more_commands_work(folder: Path) -> None:
    (body,) = (body for title, body in snippets(README) if title == "more commands")
    if not (folder / "advice").exists():
        list(here(front_page.commands("advise"), folder))
    for said in here(body, folder):
        assert said


def test_what_readme_says_of_the_board_is_what_it_shows() -> None:
    for baseline in ("repeated-", "retraining-"):
        assert re.search(rf"^ (\d\. )?{baseline}.* best ", front_page.passage("worlds"), flags=re.MULTILINE)
    text = README.read_text(encoding="utf-8")
    assert "`safe-search`, as `fg.recommended` returns it, searches over single ones" in text
    assert fg.recommended() == fg.SafeSearch(policies="threshold")


def test_every_command_of_the_first_pages_is_run_or_is_make() -> None:
    ours = {"", "takes a minute", "takes half a minute", "your own gate", "more commands"}
    run = {front_page.commands(name) for name in front_page.SHORTENED}
    for page in PAGES:
        for title, body in snippets(page):
            assert title in ours, (page.name, title)
            known = title in ("your own gate", "more commands") or body in run
            assert known or re.match(r"(make|python3 -m venv) ", body), (page.name, body)


def test_the_first_pages_install_what_their_commands_need() -> None:
    """A reader who follows README has --pdf, Excel, DuckDB, pandas and the gate, by the extras that hold them."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needed = {"typst": "`--pdf`", "python-calamine": "Excel", "duckdb": "DuckDB", "pandas": "pandas", "fastapi": "live"}
    for page in (README, ROOT / "docs" / "start.md"):
        text = page.read_text(encoding="utf-8")
        (asked,) = re.findall(r"^pip install '\.\[([a-z,]+)\]'", text, flags=re.MULTILINE)
        given = " ".join(each for name in asked.split(",") for each in extras[name])
        for package, word in needed.items():
            assert package in given, (page.name, package)
            assert word in README.read_text(encoding="utf-8")


def test_decisions_that_are_audited_are_decisions() -> None:
    """An outcome is none: readme audits the column of what was decided, that of the cut-off it says is in use."""
    (decision,) = re.findall(r"fairgate audit \S+ --decision (\w+)", README.read_text(encoding="utf-8"))
    table = example_table()
    assert decision == "approved"
    assert table[decision].to_pylist() == [int(score >= 0.4) for score in table["risk_score"].to_pylist()]
    assert "The cut-off in use is 0.4." in README.read_text(encoding="utf-8")


def test_what_the_site_quotes_of_the_advice_is_what_readme_shows() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (advised, sure, until), (points,) = (
        re.findall(
            r"advises ([\d.]+\d): with probability at least ([\d.]+\d) .* up to a strength of ([\d.]+\d)\.", page
        )[0],
        re.findall(r"that ([\d.]+\d) points could be had", page),
    )
    shown, refused = (" ".join(front_page.passage(name).split()) for name in ("advise", "none"))
    assert f"Accept people with risk_score ≥ {advised}. With probability at least {sure} " in shown
    assert f"up to a feedback strength of {until}." in shown
    assert f"allow a mean score change of +{points} points" in refused
    assert "No lottery between shared thresholds was found" in refused
    assert "Here none were found" in refused


def test_the_figure_compares_with_the_boards_best_baselines() -> None:
    caption = README.read_text(encoding="utf-8").partition("docs/figures/readme.png)")[2].split("\n\n")[1]
    for level in ("bandit", "selective-labels"):
        best = draw_readme.best_baseline(level)
        assert best in BASELINES
        assert f"`{best}`" in caption


def test_both_first_pages_make_the_same_promise() -> None:
    promise = (
        "Before and while you change a cut-off, fairgate tells you what it will do to each group once people respond, "
        'with bounds that stay valid while you watch, and a clear "no such rule exists" when that is true.'
    )
    assert all(promise in page.read_text(encoding="utf-8") for page in PAGES[:2])
