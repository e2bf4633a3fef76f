"""Modes, rounds and counts-only gates: what is in force, when, and what the learner is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from fairgate.errors import InputError
from fairgate.live import ConflictError, Gate, MissingError
from fairgate.live.database import writing
from fairgate.live.events import draws_of
from fairgate.live.played import empirical, same
from fairgate.live.schema import gates
from fairgate.policy import Policy
from tests.live.databases import database_url, postgresql  # noqa: F401
from tests.live.gates import GRID, Clock, make_spec, people


def test_a_draw_is_hmac_sha256() -> None:
    import hmac

    secret = b"s" * 32
    for name in ("a-1", "ü", "x" * 200):
        head = int.from_bytes(hmac.digest(secret, name.encode(), "sha256")[:8], "big")
        assert draws_of(secret, [name])[0] == (head >> 11) / 2**53
    draws = draws_of(secret, [str(each) for each in range(20000)])
    assert abs(draws.mean() - 0.5) < 0.01
    assert np.abs(np.histogram(draws, 20, (0, 1))[0] - 1000).max() < 150


def test_what_somebody_else_played_is_read_off_his_decisions() -> None:
    rng = np.random.default_rng(0)
    grid = np.array(GRID)
    counts = np.zeros((2, 6, 2), dtype=np.int64)
    scores, groups = rng.random(4000), rng.integers(2, size=4000)
    policy = Policy(np.array([[[0.25, 0.5]], [[0.75, np.inf]]]), np.array([[0.4], [0.6]]))
    accepted = policy.decide(scores, groups, rng.random(4000))
    np.add.at(counts, (groups, grid.searchsorted(scores, side="right"), accepted.astype(int)), 1)
    found = empirical(counts, grid)
    assert found.weights.sum() == pytest.approx(1.0)
    people_came = counts.sum(axis=2) > 0
    share, truth = (each.accepted_share(grid)[0] for each in (found, policy))
    assert np.abs(share - truth)[people_came].max() < 0.06
    assert same(empirical(counts * 0, grid), Policy.of([[np.inf, np.inf]]))


def test_shadow_learns_from_the_operators_rule_and_decides_nothing(tmp_path: Path) -> None:
    spec = make_spec(start={"mode": "shadow", "threshold": 0.5})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    rng = np.random.default_rng(0)
    with pytest.raises(ConflictError, match="report"):
        gate.decide("a", "women", 0.5)
    for day in range(2):
        ids, groups, scores = people(rng, 60, 100 * day)
        accepted = [score >= 0.5 or (day == 1 and score > 0.4) for score in scores]  # not the rule that was stated
        assert gate.report(ids, groups, scores, accepted).new == 60
        assert gate.report(ids, groups, scores, accepted).repeated == 60
        gate.close()
    stated, found = (Policy.from_json(event.body["played"]) for event in gate.log(limit=99, kind="closed"))
    assert same(stated, spec.fixed(0.5))
    assert bool(found.is_lottery[0])
    history = gate.figures().history
    assert history[0].proposed != history[0].thresholds
    assert history[0].would != history[0].acceptance
    gate.resume("it does as well")
    assert gate.decide("b", "men", 1.0).accepted
    gate.shut()


def test_a_proposal_waits_until_a_person_approves_it(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start={"mode": "approve", "threshold": 0.5}))
    assert gate.decide("a-1", "women", 0.5).accepted
    status = gate.status()
    assert status.policy is not None
    assert status.proposal is not None
    assert status.policy.text == "accept scores of 0.5 or more"
    assert status.waiting
    with pytest.raises(ConflictError, match="not the proposal that waits"):
        gate.approve("0" * 16, "wrong")
    proposed = status.proposal.text
    status = gate.approve(status.waiting, "agreed")
    assert status.policy is not None
    assert status.policy.text == proposed
    assert not status.waiting
    gate.shut()


def test_rounds_close_by_people_and_by_time(tmp_path: Path) -> None:
    clock = Clock()
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(rounds={"people": 3, "seconds": 60}), clock=clock)
    rounds = [gate.decide(f"a-{place}", "men", 0.6).round for place in range(7)]
    assert rounds == [0, 0, 0, 1, 1, 1, 2]
    assert gate.decide(["b-1", "b-2", "b-3", "b-4"], ["men"] * 4, [0.1] * 4).rounds == [2] * 4  # a batch is not cut
    assert gate.decide("c", "men", 0.5).round == 3
    clock.move(seconds=61)
    gate.tick()
    assert (gate.status().round, gate.status().open) == (4, False)
    assert gate.decide("d", "men", 0.5).round == 4
    clock.move(seconds=61)
    assert gate.decide("e", "men", 0.5).round == 5
    assert [event.body["why"] for event in gate.log(limit=99, kind="closed")] == ["people"] * 3 + ["time"] * 2
    gate.shut()


def test_labels_that_came_with_an_empty_round_are_learnt(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(learner="smooth-optimist"))
    gate.decide(["a", "b"], ["women", "men"], [0.9, 0.9])
    gate.close()
    before = gate.snapshot()["learner"]
    gate.outcomes(["a", "b"], [1, 0])
    assert gate.close().people == 0
    assert gate.snapshot()["learner"] != before
    assert gate.figures().labels.awaited == 0
    gate.shut()


def test_corrections_reach_the_learner_until_it_has_learnt(tmp_path: Path) -> None:
    states = []
    for corrected in (False, True):
        gate = Gate(str(tmp_path / f"{corrected}.db"), "credit", spec=make_spec())
        gate.decide(["a", "b"], ["women", "men"], [0.9, 0.9])
        gate.outcomes(["a", "b"], [1, 0 if corrected else 1])
        if corrected:
            assert gate.correct(["b"], [1], "typed wrong").new == 1
        gate.close()
        states.append(json.dumps(gate.snapshot()["learner"]))
        if corrected:
            gate.correct(["a"], [0], "fraud, found later")
            assert json.dumps(gate.snapshot()["learner"]) == states[-1]
            assert gate.case("a").label == 0
        gate.shut()
    assert states[0] == states[1]


def test_a_gate_of_counts_keeps_no_application(database_url: str) -> None:  # noqa: F811
    spec = make_spec(store="counts", learner="safe-forecast", rounds={"people": 40})
    gate = Gate(database_url, "credit", spec=spec)
    kept = Gate(database_url, "kept", spec=make_spec(name="kept", learner="safe-forecast", rounds={"people": 40}))
    with writing(kept.engine) as connection:
        connection.execute(update(gates).values(secret=gate.secret))  # the same draws in both
    kept.secret = gate.secret
    rng = np.random.default_rng(5)
    for day in range(4):
        ids, groups, scores = people(rng, 40, 100 * day)
        with pytest.raises(InputError, match="key must be given"):
            gate.decide(ids, groups, scores)
        first = gate.decide(ids, groups, scores, key=f"batch-{day}")
        assert gate.decide(ids, groups, scores, key=f"batch-{day}").accepted == first.accepted
        with pytest.raises(ConflictError, match="another request"):
            gate.decide(ids, groups, scores[::-1], key=f"batch-{day}")
        assert kept.decide(ids, groups, scores).accepted == first.accepted
        taken = [place for place, yes in enumerate(first.accepted) if yes]
        labels = rng.integers(2, size=len(taken)).tolist()
        kept.outcomes([ids[place] for place in taken], labels)
        sexes, values = [groups[place] for place in taken], [scores[place] for place in taken]
        for _ in range(2):
            gate.outcomes(labels=labels, round_number=day, groups=sexes, scores=values, key=f"labels-{day}")
        with pytest.raises(InputError, match="more than were accepted"):
            gate.outcomes(labels=[1], round_number=day, groups=["men"], scores=[scores[taken[0]]], key=f"more-{day}")
    assert gate.snapshot()["learner"] == kept.snapshot()["learner"]
    with pytest.raises(MissingError, match="counts only"):
        gate.case("a-1")
    assert gate.cases() == []
    gate.shut()
    kept.shut()


def test_another_spec_than_the_stored_one_is_refused(tmp_path: Path) -> None:
    url = str(tmp_path / "gate.db")
    Gate(url, "credit", spec=make_spec()).shut()
    Gate(url, "credit", spec=make_spec()).shut()
    with pytest.raises(ConflictError, match="was made with false_positive_cost = 1"):
        Gate(url, "credit", spec=make_spec(false_positive_cost=2.0))
    with pytest.raises(MissingError, match="no gate 'other'"):
        Gate(url, "other")


def test_reasons_and_modes_are_checked(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec())
    for call, said in (
        (lambda: gate.hold(""), "reason must be"),
        (lambda: gate.hold("why", 0.3), "threshold must be one of the grid, such as 0.25, got 0.3"),
        (lambda: gate.hold("why", [0.25, 0.5]), "differs between groups"),
        (lambda: gate.set_mode("lean", "why"), "did you mean 'learn'"),  # type: ignore[arg-type]
        (lambda: gate.set_mode("learn", "why", 0.5), "threshold is for"),
        (lambda: gate.close(7), "the round now is 0"),
        (lambda: gate.decide("a", "womn", 0.5), "did you mean 'women'"),
        (lambda: gate.decide("a", "women", float("nan")), "finite numbers, got nan"),
        (lambda: gate.decide(["a", "a"], ["men"] * 2, [0.1, 0.2]), "'a' twice"),
        (lambda: gate.decide("", "men", 0.1), "ids must be text"),
        (lambda: gate.outcomes(["nobody"], [1]), "has not been decided"),
    ):
        seq = gate.status().seq
        with pytest.raises(InputError, match=said):
            call()
        assert gate.status().seq == seq
    gate.shut()
