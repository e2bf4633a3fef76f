"""What learners play and count on tasks stays as recorded; see scripts/record_golden.py."""

from __future__ import annotations

import json

import pytest

from fairgate.tasks import presets
from scripts.record_golden import FILE, fingerprint, names

GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))["runs"]


@pytest.mark.parametrize("task", list(presets()))
def test_runs_are_as_recorded(task: str) -> None:
    here = [learner for each, learner in names() if each == task]
    different = [learner for learner in here if fingerprint(task, learner) != GOLDEN[f"{task}/{learner}"]]
    assert not different, "if this is meant, record it with its reason: python scripts/record_golden.py --reason …"


def test_nothing_is_missing() -> None:
    assert sorted(GOLDEN) == sorted(f"{task}/{learner}" for task, learner in names())
