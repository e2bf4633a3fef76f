"""Guards: what no proposal goes beyond, and that each that acts is in the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.guards import acceptance, guard
from fairgate.policy import Policy
from tests.live.gates import GRID, Clock, make_spec, people

NOBODY = np.zeros((2, len(GRID) + 1))


def test_no_guard_changes_nothing() -> None:
    spec = make_spec()
    for proposal in (spec.fixed(0.75), Policy.uniform([0.25], groups=2)):
        guarded = guard(spec, proposal, spec.fixed(0.0), NOBODY)
        assert guarded.notes == []
        assert guarded.policy.to_json() == proposal.to_json()


@given(st.sampled_from(GRID), st.sampled_from(GRID), st.sampled_from([0.25, 0.3, 0.6]))
def test_a_step_is_as_large_as_allowed_and_no_larger(force: float, wanted: float, step: float) -> None:
    spec = make_spec(guards={"step": step})
    policy, notes = guard(spec, spec.fixed(wanted), spec.fixed(force), NOBODY)
    found = float(policy.single[0, 0])
    best = min((abs(each - wanted), each) for each in GRID if abs(each - force) <= step)[1]
    assert found == best
    assert bool(notes) == (found != wanted)


@given(st.integers(-20, 120), st.integers(-20, 120), st.sampled_from([-np.inf, *GRID, np.inf]))
def test_bounds_hold_for_thresholds_and_lotteries(one: int, other: int, threshold: float) -> None:
    low, high = min(one, other) / 100, max(one, other) / 100
    inside = [each for each in GRID if low <= each <= high]
    plain = {"start": {"mode": "shadow"}, "guards": {"lowest": low, "highest": high, "pause_if_broken": False}}
    if not inside:
        with pytest.raises(InputError, match="guards: lowest and highest"):
            make_spec(**plain)
        return
    spec = make_spec(**plain)
    lottery = Policy(np.array([[[threshold] * 2], [[0.5] * 2]]), np.array([[0.5], [0.5]]))
    for proposal in (Policy.of([[threshold] * 2]), lottery):
        policy, notes = guard(spec, proposal, None, NOBODY)
        assert set(policy.thresholds.ravel()) <= set(inside)
        assert bool(notes) == bool((policy.thresholds != proposal.thresholds).any())


def test_the_floor_lowers_a_shared_threshold_for_the_group_below_it() -> None:
    recent = np.array([[10.0, 20, 30, 20, 10, 10], [40.0, 30, 20, 5, 3, 2]])  # bins from below 0 to 1 and above
    spec = make_spec(guards={"floor": 0.2})
    policy, notes = guard(spec, spec.fixed(0.75), spec.fixed(0.75), recent)
    assert policy.single[0].tolist() == [0.25, 0.25]  # 30% of the second group lie at 0.25 or above, 10% at 0.5
    assert acceptance(policy, recent, np.array(GRID))[1] == pytest.approx(0.3)
    assert notes == [
        "floor: men would be accepted with 0.050, below the floor 0.2: "
        "the threshold 0.25 takes the place of the threshold 0.75"
    ]
    own = make_spec(guards={"floor": 0.2}, per_group="agreed with the regulator")
    policy, _ = guard(own, own.fixed([0.75, 0.75]), None, recent)
    assert policy.single[0].tolist() == [0.75, 0.25]
    assert guard(spec, spec.fixed(0.75), None, recent / 100).notes == []  # too few people to judge


def test_lotteries_and_group_thresholds_can_be_switched_off() -> None:
    spec = make_spec(guards={"lotteries": False})
    policy, notes = guard(spec, Policy.uniform([0.5], groups=2), spec.fixed(0.25), NOBODY)
    assert policy.single[0].tolist() == [0.25, 0.25]
    assert notes[0].startswith("lotteries:")
    policy, notes = guard(make_spec(), Policy.of([[0.25, 0.5]]), make_spec().fixed(0.75), NOBODY)
    assert policy.single[0].tolist() == [0.75, 0.75]
    assert notes[0].startswith("per_group:")
    with pytest.raises(InputError, match="per_group"):
        make_spec(learner="per-group")
    with pytest.raises(InputError, match="safe-search:policies=per-group has thresholds per group: give the reason"):
        make_spec(learner="safe-search:policies=per-group")
    with pytest.raises(InputError, match="differs between groups"):
        make_spec(start={"threshold": [0.25, 0.5]})


def test_what_guards_did_is_in_the_log(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(guards={"step": 0.25, "pause_if_broken": False}))
    rng = np.random.default_rng(1)
    for day in range(12):
        gate.decide(*people(rng, 50, 100 * day))
        gate.close()
    played = [event.body["policy"]["thresholds"][0][0][0] for event in gate.log(limit=1000, kind="opened")]
    assert np.abs(np.diff([0.5, *played])).max() <= 0.25
    assert any("step: " in note for event in gate.log(limit=1000, kind="opened") for note in event.body["guards"])
    assert any(each.guards for each in gate.figures().history)
    gate.shut()


@pytest.mark.parametrize(("ceiling", "held"), [(0.7, 0.5), (0.4, 0.75)])
def test_a_broken_constraint_pauses_the_learner_at_the_nearest_threshold_that_meets_it(
    tmp_path: Path, ceiling: float, held: float
) -> None:
    """The starting threshold, 0.5, accepts about 60%."""
    spec = make_spec(guards={"pause_if_broken": True}, constraints={"service": [0.2, ceiling]}, learner="accept-all")
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    rng = np.random.default_rng(2)
    for day in range(20):
        gate.decide(*people(rng, 50, 100 * day))
        gate.close()
    (paused,) = gate.log(limit=1000, kind="paused")
    assert paused.body["why"] == "broken"
    assert "probability of at most 0.05" in paused.body["text"]
    status = gate.status()
    assert status.mode.mode == "hold"
    assert status.policy is not None
    assert status.policy.text == f"accept scores of {held} or more"
    assert "every watched constraint for the" in paused.body["text"]
    kinds = {alarm.kind for alarm in gate.figures().alarms}
    assert "paused" in kinds
    gate.resume("looked into")
    assert "paused" not in {alarm.kind for alarm in gate.figures().alarms}
    gate.decide(*people(rng, 5, 9000))
    gate.close()  # what was broken before is not held against it
    assert gate.status().mode.mode == "learn"
    gate.shut()


def test_labels_that_stop_pause_the_learner(tmp_path: Path) -> None:
    clock = Clock()
    spec = make_spec(guards={"pause_if_quiet_days": 7, "pause_if_broken": False})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec, clock=clock)
    rng = np.random.default_rng(3)
    for day in range(10):
        ids, groups, scores = people(rng, 20, 100 * day)
        taken = [name for name, yes in zip(ids, gate.decide(ids, groups, scores).accepted, strict=True) if yes]
        if day < 2:
            gate.outcomes(taken[:5], [1] * len(taken[:5]))
        gate.close()
        clock.move(days=1)
    (paused,) = gate.log(limit=1000, kind="paused")
    assert paused.body["why"] == "quiet"
    assert paused.round == 10  # after round 9, on the eighth day after the last labels came
    gate.shut()
