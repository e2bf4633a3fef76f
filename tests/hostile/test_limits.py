"""The limits are those that SECURITY.md promises, and what is too deep or too large is refused by them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairgate import errors, reading
from fairgate.live import spec

TEXT = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")


def test_security_names_the_limits_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the low limits of the other tests
    section = TEXT.split("## Limits of what is read")[1].split("\n## ")[0]
    told = [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*\d|\d", section)]
    limits = [reading.SETTINGS, reading.DOCUMENT, reading.LEVELS, reading.MEMBERS, reading.UNPACKED, reading.RATIO]
    limits += [reading.ROWS, reading.ROWS_PER_BYTE, reading.COLUMNS, reading.SPARSE, reading.SPARSE_RATIO]
    limits += [spec.MOST_THRESHOLDS, spec.MOST_RATES, int(spec.MOST_COST)]
    assert told == [*limits, errors.LONGEST, 2]


def test_a_packed_file_may_become_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert reading.most_of(0) == reading.UNPACKED
    assert reading.most_of(reading.UNPACKED) == reading.RATIO * reading.UNPACKED


@pytest.mark.parametrize("text", ["[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101, "[" * 100_000])
def test_what_is_too_deep_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        reading.parse_json(text)


def test_a_hundred_levels_are_not_too_deep() -> None:
    assert reading.parse_json("[" * 100 + "]" * 100)
    assert reading.parse_toml("a" + ".a" * 99 + " = 1")
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        reading.parse_toml("a" + ".a" * 100 + " = 1")
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        reading.parse_toml('"a b"' + ' . "a b"' * 20_000 + " = 1")
