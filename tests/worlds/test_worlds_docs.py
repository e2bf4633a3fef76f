"""docs/worlds.md says what the code draws: the lists and probabilities that stand in it are those of the code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fairgate.worlds.distribution import ANSWERS, CHANGES, SIGNALS, STEEPEST
from fairgate.worlds.loading import AT_STAKE, ATTEMPTS
from fairgate.worlds.shapes import BATCHES, CONSTRAINTS, GRIDS, GROUPS, LARGEST, PAGE

TEXT = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("values", [GROUPS, GRIDS, BATCHES])
def test_lists_of_shapes(values: tuple[int, ...]) -> None:
    assert f"| {', '.join(f'{value:,}' for value in values)} |" in TEXT


def test_constraints_of_shapes() -> None:
    counts = Counter(" + ".join(each) for each in CONSTRAINTS)
    told = [name if count == 1 else f"{name}, {['twice', 'three times'][count - 2]}" for name, count in counts.items()]
    assert f"| constraints | {'; '.join(told)} |" in TEXT


def test_probabilities_of_what_answers_and_to_what() -> None:
    def column(heading: str) -> list[float]:
        lines = TEXT.partition(f"| {heading} | probability |\n|---|---:|\n")[2].partition("\n\n")[0].splitlines()
        return [float(line.split("|")[2]) for line in lines]

    assert column("what answers") == list(ANSWERS.values())
    assert column("to what") == list(SIGNALS.values())
    assert f"In {CHANGES['nothing']:.0%} of worlds nothing. In {CHANGES['season']:.0%} a **season**" in TEXT
    assert f"In {CHANGES['jump']:.0%} a **jump**" in TEXT


def test_other_numbers() -> None:
    assert f"each *page* of {PAGE} worlds" in TEXT
    assert f"at most {LARGEST:,} people per round" in TEXT
    assert f"a bound on their slope is {STEEPEST}" in TEXT
    assert f"drawn again, up to {ATTEMPTS} times" in TEXT
    assert f"at least {AT_STAKE} per person more" in TEXT
