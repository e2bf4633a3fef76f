"""How to cite: the same facts as in CITATION.cff, in BibTeX that parses."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import fairgate as fg

from .command import fairgate_here

FACTS = Path(__file__).parents[1] / "CITATION.cff"


def entries(text: str) -> dict[str, dict[str, str]]:
    """Read BibTeX whose fields are a line each."""
    found: dict[str, dict[str, str]] = {}
    for key, body in re.findall(r"@misc\{(\w+),\n(.*?)\n\}", text, flags=re.DOTALL):
        fields = [re.fullmatch(r"  (\w+) += \{(.*)\},", line) for line in body.splitlines()]
        found[key] = {each[1]: each[2] for each in fields if each is not None}
        assert len(found[key]) == len(fields)
    return found


def test_the_entries_have_the_facts_of_the_citation_file() -> None:
    facts = FACTS.read_text(encoding="utf-8")
    ours, paper = entries(fg.citation()).values()
    (version,) = re.findall(r"^version: (.*)$", facts, flags=re.MULTILINE)
    assert version == metadata.version("fairgate") == fg.__version__
    assert ours["note"].endswith(f"version {version}")
    assert re.search(rf"^date-released: {ours['year']}-\d\d-\d\d$", facts, flags=re.MULTILINE)
    assert f"name: {ours['author'].strip('{}')}" in facts
    assert f"title: {paper['title']}" in facts
    family, given = paper["author"].split(", ")
    assert f"family-names: {family}\n        given-names: {given}" in facts
    assert f"year: {paper['year']}" in facts
    assert f"arXiv {paper['eprint']}" in facts
    assert fg.citation().count("{") == fg.citation().count("}")


def test_the_command_prints_them(tmp_path: Path) -> None:
    assert fairgate_here("cite", cwd=tmp_path).stdout.strip() == fg.citation()
