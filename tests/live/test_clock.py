"""A clock that jumps: no guard steps in because of it, and none sleeps once it has been put right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.live import Gate, making
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


@pytest.mark.parametrize("waited", [4, 6])
def test_a_jump_late_in_a_wait_pauses_nothing(gate: Gate, clock: Clock, waited: int) -> None:
    day(gate, 0, labelled=True)
    for number in range(1, waited + 1):
        clock.move(days=1)
        day(gate, number)
    clock.move(days=365)
    day(gate, 10)
    clock.move(hours=1)
    day(gate, 11)
    clock.move(days=-365)
    day(gate, 12)
    assert not gate.log(limit=1000, kind="paused")
    for number in range(13, 13 + 8 - waited):
        clock.move(days=1)
        day(gate, number)
    assert [each.body["why"] for each in gate.log(limit=1000, kind="paused")] == ["quiet"]


def test_a_gate_that_is_rarely_asked_is_paused_in_the_end(gate: Gate, clock: Clock) -> None:
    day(gate, 0, labelled=True)
    for number in range(1, 8):
        assert gate.status().mode.mode == "learn"
        clock.move(days=10)
        day(gate, number)
        if number == 4:  # one is left out, and three halves of the wait are more than it
            break
    assert gate.status().mode.mode == "hold"


def gate_of_the_first_rule(folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Return a gate that counts time by the first rule, after five days."""
    monkeypatch.setattr(making, "RULES", {**making.RULES, "clock": 1})
    spec = make_spec(guards={"pause_if_quiet_days": QUIET, "pause_if_broken": False}, label_due_days=DUE)
    old = Gate(str(folder / "gate.db"), "credit", spec=spec, clock=clock)
    day(old, 0, labelled=True)
    for number in range(1, 5):
        clock.move(days=1)
        day(old, number)
    return old


def test_a_log_of_the_first_rule_keeps_it_until_its_gate_goes_on(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = gate_of_the_first_rule(tmp_path, clock, monkeypatch)
    assert set(old.snapshot()["clock"]) == {"at", "most", "now", "told", "rounds"}
    before = Gate(str(tmp_path / "gate.db"), "credit", clock=clock)
    old.shut()
    monkeypatch.undo()
    day(before, 5)
    (version,) = before.log(limit=1000, kind="version")
    assert version.body["clock"] == 2
    clock.move(days=365)
    day(before, 6)
    assert before.status().mode.mode == "learn"
    for number in range(7, 11):  # the four days until then count
        clock.move(days=1)
        day(before, number)
    assert before.status().mode.mode == "hold"
    assert audit_log(before).clean
    before.shut()


def test_a_log_of_the_first_rule_is_audited_by_it(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = gate_of_the_first_rule(tmp_path, clock, monkeypatch)
    clock.move(days=365)
    day(old, 5)
    assert old.status().mode.mode == "hold"  # as that rule had it
    monkeypatch.undo()
    assert audit_log(old).clean
    old.shut()


@given(st.lists(st.floats(-1000, 1000), max_size=20), st.floats(0.5, 60))
def test_a_jump_ends_no_wait_and_is_taken_back(steps: list[float], quiet: float) -> None:
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
    assert LogClock.load(json.loads(json.dumps(kept.save()))) == kept


@given(st.lists(st.floats(0, 30), min_size=1, max_size=20), st.integers(0, 20), st.floats(31, 1000))
def test_with_one_jump_no_more_time_is_counted_than_passed(gaps: list[float], place: int, jump: float) -> None:
    """However long nothing happened between events; a jump of less than half the wait counts as time."""
    wall, kept = Clock(), LogClock.begin(Clock()().isoformat(), quiet=60.0, due=60.0)
    kept.open(0)
    for number, gap in enumerate(gaps):
        wall.move(days=gap + (jump if number == place else 0.0))
        kept.step(wall().isoformat())
        assert kept.quiet_days(0) <= sum(gaps[: number + 1]) + 1e-6
