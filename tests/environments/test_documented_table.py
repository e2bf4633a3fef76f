"""docs/environments.md has the table that scripts/draw_environments.py makes, and a picture of every task."""

from __future__ import annotations

from pathlib import Path

from scripts.draw_environments import FIGURES, HEADER, SUITE, oracle_table

DOCS = Path(__file__).resolve().parents[2] / "docs" / "environments.md"


def test_the_documented_table_is_up_to_date() -> None:
    assert "\n".join((HEADER, *oracle_table())) in DOCS.read_text(encoding="utf-8")


def test_every_task_has_its_section_and_a_small_picture() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in SUITE:
        assert f"\n## {name}\n" in text
        assert f"](figures/environments/{name}.png)" in text
        assert 0 < (FIGURES / f"{name}.png").stat().st_size < 60_000
