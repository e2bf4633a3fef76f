"""Tables of the documentation are written from the files of a benchmark on random worlds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scripts.passages
from fairgate.bench.worlds.board import WorldRow
from fairgate.estimates import Estimate
from scripts.worlds_board import called, classes_of, lines_of, main

SEARCHES = ["safe-search-lottery", "safe-search-no-lottery"]


def row(rank: int, learner: str) -> dict[str, Any]:
    """Return the line of a learner, whose figures tell its rank."""
    return WorldRow(
        rank=rank, ranks=(rank, rank, 1), learner=learner, level="selective-labels", policies="lottery",
        among="lottery", worlds=20, lacking=0,
        share=Estimate(0.9 - 0.5 * rank, -0.8, 0.9), median=0.9, worst_tenth=-0.4, tail_share=0.9,
        violation=0.0001 * rank, feasible=0.9, feasible_tail=0.973, settled=None, claimed_right=None,
        claimed_wrong=0.004,
    ).known()  # fmt: skip


@pytest.fixture
def document() -> dict[str, Any]:
    names = [*SEARCHES, "repeated-retraining", "mixture"]
    return {
        "settings": {"which": "0 to 19", "rounds": 3000},
        "best_baseline": {"bandit": {"threshold": "ofs"}, "selective-labels": {"threshold": "repeated-retraining"}},
        "board": {"selective-labels": [row(rank, name) for rank, name in enumerate(names, start=1)]},
    }


def test_every_class_has_a_line_beside_the_best_baseline(document: dict[str, Any]) -> None:
    _, _, *lines = classes_of([document])
    assert sorted(line.split("`")[1] for line in lines) == sorted([*SEARCHES, "repeated-retraining"])
    assert lines[-1] == (
        "| `repeated-retraining`, the best baseline there | 0 to 19 | 3,000 | none | −0.60 [−0.80, 0.90] | 0.90 "
        "| −0.40 | – | 0.0003 | 97.3% | 0.4%, – |"
    )


def test_the_board_names_classes_and_who_has_no_baseline(document: dict[str, Any]) -> None:
    settings = document["settings"] | {"purpose": "development", "seeds": 1}
    lines = lines_of(document | {"settings": settings, "threshold_share": 0.7})
    (none, best) = (
        next(line for line in lines if f"| {name} |" in line) for name in ("mixture", "repeated-retraining")
    )
    assert none.startswith("| mixture | lotteries | −1.10 [")
    assert none.endswith("| no baseline |")
    assert best.endswith("| best baseline |")


def test_past_decisions_are_told_where_a_learner_started_from_them(document: dict[str, Any]) -> None:
    settings = document["settings"] | {"history": 5000, "warm": SEARCHES[:1]}
    lines = [line for line in classes_of([document | {"settings": settings}]) if "safe-search" in line]
    assert {("lottery of two" in line, "| 5,000 |" in line) for line in lines} == {(True, True), (False, False)}


def test_settings_that_have_no_name_are_shown_as_they_are() -> None:
    assert called("safe-search") == "one threshold (`safe-search`)"
    assert called("safe-search:lottery=false") == "`safe-search:lottery=false`"
    assert called("safe-forecast") == "`safe-forecast`"


def test_only_the_passages_asked_for_are_written(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worlds.json").write_text(json.dumps(document), encoding="utf-8")
    names = ["safe-search-no-lottery"] * 20 + ["safe-search-lottery"]
    shares = [*np.linspace(-0.5, 1.4, 20).tolist(), None]  # no threshold is feasible in the last world
    pq.write_table(pa.table({"learner": names, "share_threshold": shares}), tmp_path / "worlds.parquet")
    (tmp_path / "learners").mkdir()
    page, board = tmp_path / "learners" / "safe-search.md", tmp_path / "worlds.md"
    page.write_text("before\n<!-- classes -->\nstale\n<!-- end of classes -->\nafter\n", encoding="utf-8")
    board.write_text("left alone", encoding="utf-8")
    monkeypatch.setattr(scripts.passages, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["worlds_board", "--classes", str(tmp_path)])
    main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "safe-search-no-lottery" in text
    [one] = [line for line in text.splitlines() if "(`safe-search-no-lottery`)" in line]
    assert "| 0.45, −0.45 |" in one
    assert board.read_text(encoding="utf-8") == "left alone"
