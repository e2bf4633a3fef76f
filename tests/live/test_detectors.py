"""Detectors: a gate notices a change soon, however long it has run well, and goes back to what is safe now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairgate.live import Gate, Spec, making
from fairgate.live.audit import audit_log
from fairgate.live.detectors import BASELINE, Detectors
from fairgate.live.fold import Fold
from fairgate.live.page.views import Visitor, fragment
from fairgate.live.saving import load, save
from fairgate.live.watch import Watch
from tests.live.gates import GRID, make_spec, people

APPROVED = {"mode": "approve", "threshold": 0.5}
GUARDED = {
    "guards": {"pause_if_broken": True},
    "constraints": {"parity": 0.1},
    "store": "counts",
    "scores": {"outside": "accept"},
}


def day(
    gate: Gate, rng: np.random.Generator, number: int, *, unit: float = 1.0, reported: bool = True, count: int = 200
) -> None:
    """A round: 48% to 52% of both groups score 0.5 or more; labels come at once."""
    ids = [f"a-{number}-{place}" for place in range(count)]
    groups = [("women", "men")[place % 2] for place in range(count)]
    scores = np.clip(rng.normal(0.5, 0.2, count), 0.01, 0.99)
    sent = np.where(np.arange(count) % 2, scores, scores * unit)
    taken = gate.decide(ids, groups, sent.tolist(), key=f"d{number}").accepted
    good = rng.random(count) < scores
    chosen = [place for place, yes in enumerate(taken) if yes]
    labels = [int(good[place] and (reported or place % 2)) for place in chosen]
    about: dict[str, Any] = {"groups": [groups[each] for each in chosen], "scores": [float(sent[e]) for e in chosen]}
    gate.outcomes(labels=labels, round_number=gate.status().round, key=f"o{number}", **about)
    gate.close()


def counts(rng: np.random.Generator, rates: tuple[float, float], count: int = 100) -> np.ndarray:
    """A round's applicants by group, bin and decision: those accepted score 0.5 or more."""
    found = np.zeros((2, len(GRID) + 1, 2), dtype=np.int64)
    for group, taken in enumerate(rng.binomial(count, rates)):
        found[group, 3, 1], found[group, 2, 0] = taken, count - taken
    return found


@pytest.mark.parametrize("age", [50, 1000])
def test_a_unit_error_is_found_as_soon_in_an_old_gate(age: int) -> None:
    """Averages since the mode was set show nothing after these rounds, young gate or old."""
    spec, rng = make_spec(**GUARDED), np.random.default_rng(1)
    found, watch = Detectors(spec), Watch.begin(1, 0, 2)
    nothing, share = np.zeros((2, len(GRID) + 1, 2), dtype=np.int64), np.array([[0, 0, 0, 1, 1, 1.0]] * 2)
    for number in range(age):
        came = counts(rng, (0.48, 0.48))
        found.look(number, "", came, came, nothing, share)
        watch.look(came.sum(axis=1))
    assert found.alarms == {}
    for number in range(age, age + 5):
        came = counts(rng, (1.0, 0.48))
        found.look(number, "", came, came, nothing, share)
        watch.look(came.sum(axis=1))
    ring = found.pausing()
    assert ring is not None
    assert (ring.kind, ring.name) == ("constraint", "parity")
    assert ring.round - age <= 2
    assert abs(ring.since - age) <= 1
    assert set(found.alarms) == {"constraint parity", "acceptance women", "scores women"}
    (judged,) = watch.judge(spec.setting.problem.constraints, 0.05)
    assert judged is not None
    assert judged.status != "broken"


def test_a_pause_says_since_when_and_that_no_threshold_is_safe(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(**GUARDED, start=APPROVED))
    rng = np.random.default_rng(2)
    for number in range(20):
        day(gate, rng, number, unit=1.0 if number < 16 else 100.0)
    (paused,) = gate.log(kind="paused")
    assert 16 <= paused.round <= 18
    assert paused.body["why"] == "broken"
    assert (
        "parity=0.1 (parity) is broken since about round 16: accepted since then women 100%, men" in paused.body["text"]
    )
    assert "a false alarm has a probability of at most 0.05 in 10,000 rounds" in paused.body["text"]
    # all of both groups would be accepted at 0, which is even, and no policy
    assert paused.body["evidence"]["safe"] == "unsafe"
    assert "≥ 0.5 is held: no threshold within the guards meets every watched constraint" in paused.body["text"]
    assert audit_log(gate).clean
    gate.shut()


def test_a_pause_holds_the_start_if_no_threshold_is_safe_and_says_so() -> None:
    spec, rng = make_spec(**GUARDED | {"constraints": {"parity": 0.1, "service": [0.2, 0.8]}}), np.random.default_rng(3)
    found = Detectors(spec)
    nothing, share = np.zeros((2, len(GRID) + 1, 2), dtype=np.int64), np.array([[0, 0, 0, 1, 1, 1.0]] * 2)
    for number in range(30):
        came = counts(rng, (0.48 if number < 20 else 1.0, 0.48))
        found.look(number, "", came, came, nothing, share)
    assert spec.first is not None
    retreat = found.retreat(found.pausing(), spec.first)
    assert retreat.policy.to_json() == spec.first.to_json()
    assert retreat.evidence["safe"] == "unsafe"
    assert "no threshold within the guards meets every watched constraint" in retreat.text
    assert Detectors(spec).retreat(None, spec.first).evidence["safe"] == "unknown"


def test_outcomes_of_a_group_that_are_all_reported_bad_pause_the_learner(tmp_path: Path) -> None:
    """Before a round is decided by a policy that was learnt from more than two rounds of them."""
    spec = make_spec(learner="safe-search-no-lottery", store="counts", guards={"pause_if_broken": False})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    rng = np.random.default_rng(4)
    for number in range(40):
        day(gate, rng, number, reported=number < 35)
    (paused,) = gate.log(kind="paused")
    assert paused.round in (35, 36)
    assert paused.body["why"] == "changed"
    assert paused.body["text"].startswith("outcomes of women have changed since about round 35: 0% good, and ")
    assert "changed" in {each.kind for each in gate.figures().alarms}
    states = {(each.kind, each.name): each.state for each in gate.status().watches}
    assert states["outcomes", "women"] == "alarm"
    assert states["outcomes", "men"] == states["constraint", "parity"] == "quiet"
    gate.resume("the report has been mended")
    after = {(each.kind, each.name): each for each in gate.status().watches}
    assert after["outcomes", "women"].state == "baseline"
    assert after["outcomes", "women"].text == f"its baseline has 0 of {BASELINE:,} labels"
    assert after["outcomes", "men"].state == "quiet"
    day(gate, rng, 50)
    assert gate.status().mode.mode == "learn"
    assert audit_log(gate).clean
    gate.shut()


def test_changes_can_be_left_to_a_warning(tmp_path: Path) -> None:
    guards = {"pause_if_broken": False, "pause_if_changed": False}
    gate = Gate(
        str(tmp_path / "gate.db"), "credit", spec=make_spec(store="counts", learner="accept-all", guards=guards)
    )
    rng = np.random.default_rng(5)
    for number in range(40):
        day(gate, rng, number, reported=number < 35)
    assert gate.status().mode.mode == "learn"
    assert "changed" in {each.kind for each in gate.figures().alarms}
    gate.shut()


def test_constraints_that_need_labels_are_said_not_to_be_watched(tmp_path: Path) -> None:
    spec = make_spec(constraints={"opportunity": 0.1, "ratio": 0.8}, learner="safe-search")
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    states = {each.name: each.state for each in gate.status().watches if each.kind == "constraint"}
    assert states == {"opportunity": "not watched", "ratio": "quiet"}
    gate.shut()


def test_a_saved_fold_goes_on_with_the_same_evidence(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(**GUARDED))
    rng = np.random.default_rng(6)
    for number in range(12):
        day(gate, rng, number, unit=1.0 if number < 11 else 1.3)
    saved = gate.snapshot()
    assert saved["detectors"]["recent"]
    again = json.loads(json.dumps(saved))
    assert save(load(gate.spec, again)) == saved
    gate.shut()


def test_the_audit_finds_a_pause_to_another_policy(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(**GUARDED, start=APPROVED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fold, "_pause", _elsewhere(Fold._pause, gate.spec))
        rng = np.random.default_rng(7)
        for number in range(6):
            day(gate, rng, number, unit=100.0)
    assert gate.log(kind="paused")
    report = audit_log(gate)
    assert not report.clean
    gate.shut()


def _elsewhere(pause: Any, spec: Spec) -> Any:
    def paused(self: Fold, *given: Any) -> dict[str, Any]:
        found: dict[str, Any] = pause(self, *given)
        return {**found, "policy": spec.fixed(0.25).to_json()}

    return paused


def test_a_log_made_before_there_were_detectors_keeps_its_rule_until_its_gate_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "RULES", {"clock": True, "detection": 0})
    spec = make_spec(guards={"pause_if_broken": True}, constraints={"service": [0.2, 0.4]}, learner="accept-all")
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    rng = np.random.default_rng(2)
    for number in range(20):
        gate.decide(*people(rng, 50, 100 * number))
        gate.close()
    (paused,) = gate.log(limit=1000, kind="paused")
    assert sorted(paused.body) == ["policy", "text", "why"]
    assert "since the mode was set" in paused.body["text"]
    assert gate.status().watches == []
    assert "detectors" not in gate.snapshot()
    assert audit_log(gate).clean
    gate.shut()
    monkeypatch.undo()
    again = Gate(str(tmp_path / "gate.db"), "credit")
    again.decide(*people(rng, 50, 10_000))
    assert again.log(limit=1000, kind="version")[0].body["detection"] == 1
    assert again.status().watches
    assert audit_log(again).clean
    again.shut()


def test_outcomes_pause_no_gate_that_was_made_before_they_were_watched() -> None:
    stored = make_spec(**GUARDED).model_dump(mode="json")
    del stored["guards"]["pause_if_changed"]
    assert not Spec.stored(stored).guards.pause_if_changed


def test_rounds_a_year_follow_from_seconds() -> None:
    assert make_spec(rounds={"people": None, "seconds": 86400.0}).rounds_a_year == pytest.approx(365.25)
    assert make_spec(rounds={"people": 200, "seconds": 86400.0}).rounds_a_year == 10_000
    assert make_spec(guards={"rounds_a_year": 52, "pause_if_broken": False}).rounds_a_year == 52


def test_the_page_shows_everything_that_is_watched(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(**GUARDED))
    text = fragment(Visitor("credit", "auditor", False, "token"), gate.figures(), gate.spec, [], "key")
    assert "Watched for a change" in text
    assert f"its baseline has 0 of {BASELINE:,} labels" in text
    gate.shut()


def test_a_spec_of_earlier_versions_with_fewer_guards_is_the_same() -> None:
    spec = make_spec(**GUARDED)
    stored = spec.model_dump(mode="json")
    for name in ("pause_if_changed", "tolerance", "rounds_a_year"):
        del stored["guards"][name]
    making.refuse_other(spec, stored)
