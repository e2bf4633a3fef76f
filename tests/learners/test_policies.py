"""Every learner plays what it declares: one threshold, lotteries of shared thresholds, or thresholds per group."""

from __future__ import annotations

from typing import Any

import pytest

import fairgate as fg
from fairgate.learners import LEARNERS, load_learner

CLASSES = ("safe-search:policies=lottery", "safe-search:policies=per-group", "safe-search:lottery=False")


@pytest.mark.parametrize("name", [*LEARNERS, *CLASSES])
def test_what_is_played_is_what_is_declared(name: str) -> None:
    """70 rounds, of which exploration takes up to 60."""
    learner: Any = load_learner("fixed:threshold=0" if name == "fixed" else name)
    played = fg.simulate("mean-shift", learner, rounds=70, seeds=1).played()
    shared = (played.thresholds == played.thresholds[..., :1]).all()
    declared = learner.rule.policies if isinstance(learner, fg.SafeSearch) else learner.policies  # its own is for good
    assert declared == ("per-group" if not shared else "lottery" if played.is_lottery.any() else "threshold")
