"""Designs are played on development worlds as the script of the documentation says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import scripts.passages
from fairgate.learners.tracking.answers import Answers
from scripts.designs import DESIGNS, HEADER, main

FIGURES = re.compile(r"\| 2 \| −?\d\.\d\d( \[.*\])? \| −?\d\.\d\d \| .* \| \d\.\d{4} \| \d+\.\d% \|")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with the passage that the script writes."""
    monkeypatch.setattr(scripts.passages, "DOCS", tmp_path)
    (tmp_path / "learners").mkdir()
    found = tmp_path / "learners" / "safe-search.md"
    found.write_text("before\n<!-- designs -->\nold\n<!-- end of designs -->\nafter\n", encoding="utf-8")
    return found


@pytest.mark.slow
def test_every_design_is_played_as_it_says_and_written(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Width 1 dares more than 1.5, and following only is as today's rule while nothing is proved."""
    monkeypatch.setattr(sys, "argv", ["designs", "safe-search", "0:2", "--rounds", "40", "--write"])
    proved = Answers.proved
    main()
    printed = capsys.readouterr().out.splitlines()
    assert tuple(printed[:2]) == HEADER
    figures = {
        name: line.removeprefix(f"| {name} ") for name, line in zip(DESIGNS["safe-search"], printed[2:], strict=True)
    }
    assert all(FIGURES.match(each) for each in figures.values()), figures
    today = figures["**following, answers foreseen once proved**"]
    assert figures["following only"] == figures["foresight never on trial"] == today
    assert (
        len({figures[name] for name in ("Mixture", "answers always foreseen", "width 1 in place of 1.5")} | {today})
        == 4
    )
    assert figures["one threshold: following alone"] != figures["**one threshold: foresee or follow**"]
    assert Answers.proved is proved
    written = page.read_text(encoding="utf-8")
    assert "\n".join(printed) in written
    assert "`python -m scripts.designs safe-search 0:2`, 40 rounds each:" in written
    assert "\nold\n" not in written


def test_worlds_for_judging_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["designs", "smooth-optimist", "0:2", "10000:10002"])
    with pytest.raises(SystemExit, match=r"below 10,000, .* got 0:2 10000:10002"):
        main()
