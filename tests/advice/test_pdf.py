"""``report.pdf``: a few pages, their text can be selected, and without typst one sentence at once."""

from __future__ import annotations

import json
import re
from importlib import util
from pathlib import Path
from typing import Any

import pypdf
import pytest

from fairgate.advice.report import pdf
from tests.command import fairgate_here

SHORT = ("--pdf", "--current", "0.5", "--benefit", "120", "--cost", "240", "--currency", "EUR")


def read(path: Path) -> tuple[int, str]:
    sheets = pypdf.PdfReader(path).pages
    return len(sheets), re.sub(r"\s+", " ", " ".join(sheet.extract_text() for sheet in sheets))


@pytest.mark.slow
def test_a_committee_can_sign_it(tmp_path: Path) -> None:
    fairgate_here("init", ".", cwd=tmp_path)
    result = fairgate_here("advise", "--config", "policy.toml", *SHORT, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "report.json, thresholds.csv, report.pdf" in result.stdout
    report = json.loads((tmp_path / "advice/report.json").read_text(encoding="utf-8"))
    count, text = read(tmp_path / "advice/report.pdf")
    assert 2 <= count <= 4
    total = report["recommendation"]["reward"]["value"] * 120.0 * report["table"]["people"]
    for part in (
        report["recommendation"]["rule"],
        f"{total:,.0f}",
        "with repaid = 0 it costs 240 EUR",
        "sex = f",
        "Against today (risk_score ≥ 0.5)",
        "Signature",
        "Assumptions",
        "Share accepted, %",  # a title within the charts
    ):
        assert part in text, part
    for name in ("f", "m"):
        row = next(each for each in report["by_group"]["rules"][0]["groups"] if each["name"] == name)
        assert f"{row['precision']['value']:.1%}" in text
    pdf.write_pdf(report, tmp_path / "again.pdf")
    assert read(tmp_path / "again.pdf") == (count, text)


@pytest.mark.slow
def test_one_group_and_many_groups_fit_as_well(tmp_path: Path) -> None:
    rows = [f"{k % 97 / 97:.3f},{int(k * 7919 % 97 < k % 97)},{k % 9}" for k in range(2000)]
    (tmp_path / "many.csv").write_text("score,label,group\n" + "\n".join(rows), encoding="utf-8")
    one = ["score,label,group", *(row.rsplit(",", 1)[0] + ",all" for row in rows)]
    (tmp_path / "one.csv").write_text("\n".join(one), encoding="utf-8")
    for name in ("many", "one"):
        options = ("--score", "score", "--label", "label", "--group", "group", "--pdf", "--out", name)
        result = fairgate_here("advise", f"{name}.csv", *options, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert 2 <= read(tmp_path / name / "report.pdf")[0] <= 4


def test_without_typst_it_is_one_sentence_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = util.find_spec

    def absent(name: str, *rest: Any) -> Any:
        return None if name == "typst" else there(name, *rest)

    monkeypatch.setattr(pdf, "find_spec", absent)
    names = ("--score", "a", "--label", "b", "--group", "c")
    result = fairgate_here("advise", "nowhere.csv", *names, "--pdf", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "fairgate: --pdf is typeset by typst, which is not installed: pip install 'fairgate[paper]'\n"
    )
    assert not (tmp_path / "advice").exists()
