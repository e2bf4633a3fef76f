"""A clock that jumps: no guard steps in because of it, and none sleeps once it has been put right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.live import Gate
from fairgate.live.audit import audit_log
from fairgate.live.clock import Clock as LogClock
from tests.live.gates import Clock, make_spec, people

QUIET, DUE = 7.0, 10.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(tmp_path: Path, clock: Clock) -> Iterator[Gate]:
    guards = {"pause_if_quiet_days": QUIET, "pause_if_broken": False}
    opened = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(guards=guards, label_due_days=DUE), clock=clock)
    yield opened
    assert audit_log(opened).clean
    opened.shut()


def day(gate: Gate, number: int, labelled: bool = False) -> None:
    """Decide on twenty people in a round, and report labels of five of those accepted."""
    ids, groups, scores = people(np.random.default_rng(number), 20, 100 * number)
    taken = [name for name, yes in zip(ids, gate.decide(ids, groups, scores).accepted, strict=True) if yes]
    if labelled:
        gate.outcomes(taken[:5], [1] * len(taken[:5]))
    gate.close()


def test_a_clock_that_jumps_ahead_pauses_nothing(gate: Gate, clock: Clock) -> None:
    for number in range(3):
        day(gate, number, labelled=True)
        clock.move(days=1)
    clock.move(days=365)
    for number in range(3, 6):
        day(gate, number)
    clock.move(days=-365)
    for number in range(6, 9):
        clock.move(days=1)
        day(gate, number)
    assert gate.status().mode.mode == "learn"
    for number in range(9, 16):  # a week after the last labels
        clock.move(days=1)
        day(gate, number)
    (paused,) = gate.log(limit=1000, kind="paused")
    assert paused.body["why"] == "quiet"


def test_labels_that_came_while_the_clock_was_ahead_do_not_put_the_guard_to_sleep(gate: Gate, clock: Clock) -> None:
    clock.move(days=365)
    day(gate, 0, labelled=True)
    clock.move(days=-365)
    for number in range(1, 14):
        clock.move(days=1)
        day(gate, number)
    (paused,) = gate.log(limit=1000, kind="paused")
    assert paused.body["why"] == "quiet"


@pytest.mark.parametrize("jump", [365, -365])
def test_what_rounds_were_worth_is_counted_once_their_labels_are_due_and_not_before(
    gate: Gate, clock: Clock, jump: float
) -> None:
    day(gate, 0, labelled=True)
    clock.move(days=jump)
    day(gate, 1, labelled=True)
    clock.move(days=-jump)
    assert gate.figures().scopes[0].reward_rounds == 0
    for number in range(2, 20):
        clock.move(days=1)
        day(gate, number, labelled=True)
        if number < DUE - 1:
            assert gate.figures().scopes[0].reward_rounds == 0
    assert gate.figures().scopes[0].reward_rounds >= 7


@given(st.lists(st.floats(-1000, 1000), max_size=20), st.floats(0.5, 60))
def test_what_a_jump_adds_is_half_a_wait_at_most_and_is_taken_back(steps: list[float], quiet: float) -> None:
    wall = Clock()
    kept = LogClock.begin(wall().isoformat(), quiet=quiet, due=30.0)
    kept.open(0)
    for each in steps:
        before = kept.quiet_days(0)
        wall.move(days=each)
        kept.step(wall().isoformat())
        assert abs(kept.quiet_days(0) - before) <= quiet / 2 + 1e-9
        there = kept.quiet_days(0)
        wall.move(days=1000)
        kept.step(wall().isoformat())
        wall.move(days=-1000)
        kept.step(wall().isoformat())
        assert abs(kept.quiet_days(0) - there) < 1e-9
    assert LogClock.load(kept.save()) == kept
