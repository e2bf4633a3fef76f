"""What is sent again, in any state of the gate, gets the first reply; faults that the state machine could not reach."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fairgate.live import Gate, Spec
from fairgate.live.failures import ConflictError
from fairgate.live.requests import Decide
from tests.live.kept import folded, plain
from tests.live.plain_log import read_log


def retry_spec(**changes: Any) -> Spec:
    """A gate that learns."""
    settings: dict[str, Any] = {"name": "credit", "groups": ["women", "men"], "grid": [0.25, 0.5, 0.75]}
    settings |= {"learner": "ofs", "rounds": {"people": 100, "seconds": 60.0}}
    settings |= {"start": {"mode": "learn", "threshold": 0.5}}
    return Spec(**{**settings, **changes})


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(tmp_path: Path, clock: Clock) -> Iterator[Gate]:
    opened = Gate(str(tmp_path / "gate.db"), "credit", spec=retry_spec(), clock=clock)
    yield opened
    opened.shut()


def together(gate: Gate, *requests: Decide) -> list[Any]:
    """Send requests that one transaction handles, and return the replies or refusals."""
    replies = gate._turn(list(requests))
    return [each if isinstance(each, Exception) else each.model_dump() for each in replies]


def test_a_key_is_of_one_request_even_if_two_come_at_once(gate: Gate) -> None:
    first, second = (Decide([name], ["men"], [0.5], single=True, key="k") for name in ("a", "b"))
    one, other, again = together(gate, first, second, first)
    assert one["id"] == "a"
    assert again == one
    assert isinstance(other, ConflictError)


def test_at_a_gate_of_counts_too(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "counts.db"), "credit", spec=retry_spec(store="counts"))
    first, second = (Decide([name], ["men"], [0.5], single=True, key="k") for name in ("a", "b"))
    one, other, again = together(gate, first, second, first)
    assert (again, gate.status().people) == (one, 1)
    assert isinstance(other, ConflictError)
    gate.shut()


def test_a_decision_is_told_again_in_shadow_mode(gate: Gate) -> None:
    first = gate.decide("a", "men", 0.5)
    gate.set_mode("shadow", "our own rule decides")
    assert gate.decide("a", "men", 0.5) == first.model_copy(update={"repeated": True})
    with pytest.raises(ConflictError, match="shadow"):
        gate.decide("b", "men", 0.5)


def test_a_batch_tells_how_many_it_had_before(gate: Gate) -> None:
    gate.decide("a", "men", 0.5)
    assert gate.decide(["a", "b"], ["men", "women"], [0.5, 0.5]).repeated == 1


def test_a_label_that_was_learnt_can_be_corrected_twice(gate: Gate) -> None:
    while not gate.decide(name := f"a-{gate.status().people}", "men", 0.9).accepted:
        pass
    gate.outcomes([name], [1])
    gate.close()
    before = plain(gate.snapshot())["learner"]
    for label in (0, 1, 0):
        assert gate.correct([name], [label], "the bank was wrong").new == 1
    gate.close()
    state = plain(gate.snapshot())
    assert state["labels"] == {}
    assert state["learner"]["state"] != before["state"]
    assert folded(read_log(str(gate.engine.url.database), "credit")) == state


def test_closing_a_round_whose_time_is_over_closes_that_one(gate: Gate, clock: Clock) -> None:
    gate.decide("a", "men", 0.5)
    clock.now += timedelta(minutes=5)
    assert (gate.close().people, gate.status().round) == (1, 1)


def test_a_wrong_round_is_a_conflict_though_the_time_of_the_open_one_is_over(gate: Gate, clock: Clock) -> None:
    gate.decide("a", "men", 0.5)
    clock.now += timedelta(minutes=5)
    with pytest.raises(ConflictError, match="round 7"):
        gate.close(7)
    assert gate.status().people == 1


def test_a_change_of_mode_can_be_sent_again_later(gate: Gate) -> None:
    first = gate.set_mode("approve", "to begin with", key="k")
    gate.set_mode("shadow", "our own rule decides")
    assert gate.set_mode("approve", "to begin with", key="k") == first
    assert gate.status().mode.mode == "shadow"
