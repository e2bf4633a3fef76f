"""The article: every number in it is one of the run, and so it is on the report's page."""

from __future__ import annotations

import io
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pypdf import PdfReader

import fairgate as fg
from fairgate.experiments.article import NEEDED, typeset
from fairgate.experiments.plan import Plan
from fairgate.experiments.reproduce import LONG, reproduce
from tests.experiments.numbers import known, printed

SMALL = Plan(rounds=60, seeds=2, many=4, seed=1, tail=30)
STRUCTURE = re.compile(r"(Table|Figure|Section|Algorithm|page)\s\d+|\[\d+(, \d+)*\]|^\d+\.?( |$)|\d+[↑↓]", re.MULTILINE)
"""Numbers of tables, figures, sections, pages, references, of items of a list, and of verdicts that move."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("article")
    reproduce([*NEEDED, "rivals", "figure-rivals"], SMALL, out, 1, print)
    typeset(out)
    return out


def summary_of(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def text_of(folder: Path) -> str:
    """The article's text up to its references, without that of its figures."""
    pages = PdfReader(io.BytesIO((folder / "paper.pdf").read_bytes())).pages
    for page in pages:
        resources: Any = page["/Resources"].get_object()
        resources.pop("/XObject", None)
    text, mark, _ = "\n".join(page.extract_text() for page in pages).rpartition("References")
    assert mark
    return STRUCTURE.sub("", text)


def copied(folder: Path, summary: Any, to: Path) -> Path:
    """A folder with another summary and the same figures."""
    (to / "figures").symlink_to(folder / "figures")
    (to / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return to


def test_every_number_of_the_article_is_one_of_the_run(whole: Path) -> None:
    found = printed(text_of(whole))
    assert len(found) > 300
    assert found - known(summary_of(whole)) <= {"1", "2"}  # of formulas


def test_no_number_of_the_article_is_written_into_it(whole: Path, tmp_path: Path) -> None:
    """With all figures changed, every number is still one of the summary's: none stands in the template."""
    summary, chance = summary_of(whole), Random(0)

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item) for item in value]
        return round(value * chance.uniform(1.1, 1.9), 6) if isinstance(value, float) else value

    for name in ("numbers", "presets"):
        summary[name] = changed(summary[name])
    folder = copied(whole, summary, tmp_path)
    typeset(folder)
    assert printed(text_of(folder)) - known(summary) <= {"1", "2"}


def test_a_number_that_is_not_the_runs_is_found(whole: Path, tmp_path: Path) -> None:
    summary = summary_of(whole)
    summary["numbers"]["table1.german.ofs.violation"]["ours"]["mean"] = 12345.67
    folder = copied(whole, summary, tmp_path)
    typeset(folder)
    assert printed(text_of(folder)) - known(summary_of(whole)) - {"1", "2"} == {"12345.67"}


def test_the_article_has_four_to_six_pages_and_the_same_bytes_again(whole: Path) -> None:
    before = (whole / "paper.pdf").read_bytes()
    assert 4 <= len(PdfReader(io.BytesIO(before)).pages) <= 6
    typeset(whole)
    assert (whole / "paper.pdf").read_bytes() == before


def test_what_was_not_run_is_left_out_and_said(whole: Path, tmp_path: Path) -> None:
    summary = summary_of(whole)
    summary["settings"]["parts"] = list(NEEDED)
    summary["numbers"] = {key: value for key, value in summary["numbers"].items() if not key.startswith("rivals.")}
    del summary["tables"]["rivals"], summary["drawings"]["figure-rivals"]
    folder = copied(whole, summary, tmp_path)
    assert typeset(folder) == list(LONG)
    assert "SmoothOptimist" in text_of(whole)
    assert "Settled feasibly" not in text_of(folder)


def test_without_what_it_needs_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fg.InputError, match="holds no reproduction: run fairgate reproduce all --out"):
        typeset(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps({"settings": {"parts": ["table1", "claims"]}}))
    with pytest.raises(fg.InputError, match="lacks table2, table3, table4, table5, table6, findings, which"):
        typeset(tmp_path)
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(fg.InputError, match=r"typeset by typst: pip install 'fairgate\[paper\]'"):
        typeset(tmp_path)
    assert not (tmp_path / "paper.pdf").exists()


class Text(HTMLParser):
    """The words of a page, without its styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.skip = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.skip = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self.skip:
            self.words.append(data)


def test_every_number_of_the_page_is_one_of_the_run(whole: Path) -> None:
    page = "\n".join(Text((whole / "report.html").read_text(encoding="utf-8")).words)
    found = printed(STRUCTURE.sub("", page))
    assert len(found) > 500
    settings = json.dumps(json.loads((whole / "manifest.json").read_text(encoding="utf-8"))["settings"])
    assert found - known(summary_of(whole)) - printed(settings) <= {"2512.22313"}
