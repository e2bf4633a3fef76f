"""The range of scores: what lies outside is refused, clipped or accepted, and a gate made before accepts everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairgate.errors import InputError
from fairgate.live import Gate, Spec
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.config import ServiceSettings, parse_config
from fairgate.live.demo import spec_of
from fairgate.live.export import export_log
from fairgate.live.failures import ConflictError
from fairgate.live.service.app import make_app
from fairgate.tasks import load_task
from tests.live import first_revision, serving
from tests.live.gates import make_spec

TOML = """
[gate]
name = "credit"
groups = ["women", "men"]
[scores]
grid = [0.0, 0.5, 1.0]
{}
[start]
threshold = 0.5
[database]
url = "gate.db"
"""

HELD = {"mode": "hold", "threshold": 0.5}


def test_a_score_a_hundred_times_too_large_is_refused_and_nothing_of_its_batch_is_recorded(database_url: str) -> None:
    gate = Gate(database_url, "credit", spec=make_spec(start=HELD))
    before = gate.status().seq
    with pytest.raises(InputError) as told:
        gate.decide(["a", "b", "c"], ["women", "men", "men"], [0.5, 0.7, 62.0])
    assert str(told.value) == (
        "scores[2] must be from -1 to 2, the range of the gate's scores (range in [scores], with outside = "
        '"refuse"), got 62.0'
    )
    with pytest.raises(InputError, match=r"^score must be from -1 to 2, .* got -1.5$"):
        gate.decide("a", "women", -1.5)
    assert gate.status().seq == before
    assert gate.decide(["a", "b", "c"], ["women", "men", "men"], [0.5, -1.0, 2.0]).repeated == 0
    gate.set_mode("shadow", "our own rule")
    before = gate.status().seq
    with pytest.raises(InputError, match=r"scores\[1\] must be from -1 to 2"):
        gate.report(["d", "e"], ["women", "men"], [0.5, 62.0], [True, True])
    assert gate.status().seq == before
    assert gate.outside == {"refused": 3}
    gate.shut()


def test_a_gate_of_counts_refuses_outcomes_of_such_scores(database_url: str) -> None:
    gate = Gate(database_url, "credit", spec=make_spec(start=HELD, store="counts"))
    gate.decide("a", "women", 0.7, key="1")
    with pytest.raises(InputError, match=r"scores\[0\] must be from -1 to 2"):
        gate.outcomes(round_number=0, groups=["women"], scores=[70.0], labels=[1], key="2")
    assert gate.outcomes(round_number=0, groups=["women"], scores=[0.7], labels=[1], key="3").new == 1
    gate.shut()


def test_a_clipped_score_counts_as_the_bound_and_is_recorded_as_it_came(database_url: str, tmp_path: Path) -> None:
    """The grid has thresholds beyond the range on both sides, so that a bound decides otherwise than the score."""
    scores = {"range": [0.1, 0.9], "outside": "clip"}
    high = make_spec(start={"mode": "hold", "threshold": 1.0}, scores=scores)
    gate = Gate(database_url, "credit", spec=high)
    assert not gate.decide("a", "women", 62.0).accepted
    gate.hold("everybody", 0.0)
    assert gate.decide(["b", "c"], ["women", "men"], [-5.0, 0.4]).accepted == [True, True]
    facts = gate.case("a")
    assert (facts.score, facts.bin, facts.accepted) == (62.0, "0.75 or more and below 1", False)
    assert "with the score 62 (which counts as 0.9, the bound of the range), was rejected" in facts.text
    assert gate.decide("a", "women", 62.0).repeated
    with pytest.raises(ConflictError):
        gate.decide("a", "women", 63.0)
    assert gate.outside["clipped"] == 4
    assert gate.outside["refused"] == 0
    gate.close()
    with stored_log(gate.engine, "credit") as log:
        export_log(log, tmp_path / "credit.zip")
    for report in (gate.audit(), audit_log(tmp_path / "credit.zip")):
        assert report.clean, report.first
    gate.shut()


def test_a_clipping_gate_of_counts_repeats_what_it_decided(tmp_path: Path) -> None:
    spec = make_spec(
        start={"mode": "hold", "threshold": 1.0}, store="counts", scores={"range": [0, 0.9], "outside": "clip"}
    )
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    first = gate.decide("a", "women", 62.0, key="1")
    assert not first.accepted
    assert gate.decide("a", "women", 62.0, key="1") == first
    gate.shut()


def test_a_gate_made_before_there_was_a_range_accepts_every_score(tmp_path: Path) -> None:
    first_revision.load(tmp_path / "gate.db")
    gate = Gate(str(tmp_path / "gate.db"), "credit")
    assert gate.decide("far", "men", 62.0).accepted
    gate.close()
    assert gate.audit().clean
    plain = gate.spec.model_dump(exclude={"scores"})
    gate.shut()
    again = Gate(str(tmp_path / "gate.db"), "credit", spec=Spec(**plain))  # its file, which says nothing of a range
    assert again.spec.scores.outside == "accept"
    again.shut()
    with pytest.raises(ConflictError, match="was made with scores = "):
        Gate(str(tmp_path / "gate.db"), "credit", spec=Spec(**plain | {"scores": {"range": [0, 1]}}))


@pytest.mark.parametrize(
    ("changes", "bounds"),
    [
        ({}, (-1.0, 2.0)),
        ({"grid": [0.2, 0.4, 0.6, 0.8], "start": {"threshold": 0.4}}, (-0.4, 1.4)),
        ({"scores": {"range": [0, 1]}}, (0.0, 1.0)),
        ({"scores": {"outside": "accept"}}, (-float("inf"), float("inf"))),
        ({"grid": [0.5]}, (-float("inf"), float("inf"))),
    ],
)
def test_the_range_is_the_span_of_the_grid_widened_by_its_width(changes: dict[str, Any], bounds: object) -> None:
    assert make_spec(**changes).score_range == bounds


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("range = [1.0, 0.0]", "range must be two increasing numbers with a threshold of the grid between them"),
        ("range = [60, 100]", r"threshold of the grid between them, got \[60, 100\]"),
        ("range = [0.0]", r"\[scores\] range: "),
        ('outside = "drop"', r"\[scores\] outside: input should be 'refuse', 'clip' or 'accept', got 'drop'"),
    ],
)
def test_a_wrong_range_is_one_sentence(entries: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        parse_config(TOML.format(entries), tmp_path / "gate.toml")


def test_the_file_of_a_gate_gives_its_range(tmp_path: Path) -> None:
    (spec,) = parse_config(TOML.format('range = [0, 1]\noutside = "clip"'), tmp_path / "gate.toml").gates
    assert (spec.score_range, spec.scores.outside) == ((0.0, 1.0), "clip")
    (spec,) = parse_config(TOML.format(""), tmp_path / "gate.toml").gates
    assert (spec.score_range, spec.scores.outside) == ((-1.0, 2.0), "refuse")


def test_the_gate_of_a_demo_has_a_range() -> None:
    assert spec_of(load_task("interior"), "safe-forecast").score_range == (-6.0, 6.0)


def test_the_service_and_its_client_refuse_with_one_sentence(tmp_path: Path) -> None:
    with serving.service(str(tmp_path / "gate.db")) as served:
        refused = served.ask("POST", "/decisions", json={"id": "a-1", "group": "a", "score": 62})
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("score must be from -0.7 to 1.7, the range of the gate's scores")
        with served.client() as client, pytest.raises(InputError, match=r"scores\[1\] must be from -0.7 to 1.7"):
            client.decide(["a-1", "a-2"], ["a", "b"], [0.5, 62.0])
        assert served.app.state.gates["credit"].outside == {"refused": 2}


def test_the_description_names_groups_and_range_of_what_is_served(tmp_path: Path) -> None:
    one = serving.make_spec()
    found = described(tmp_path, one)
    assert found["Application"]["group"]["enum"] == ["a", "b"]
    assert found["Application"]["score"] == {"title": "Score", "type": "number", "minimum": -0.7, "maximum": 1.7}
    assert found["Applications"]["groups"]["items"]["enum"] == ["a", "b"]
    assert found["Reported"]["scores"]["items"]["maximum"] == 1.7
    other = serving.make_spec("other", groups=["c", "d"], scores={"outside": "accept"})
    found = described(tmp_path, one, other)
    assert found["Application"]["group"]["enum"] == ["a", "b", "c", "d"]
    assert "minimum" not in found["Application"]["score"]
    assert found["x-gates"] == {
        "credit": {"groups": ["a", "b"], "outside": "refuse", "range": [-0.7, 1.7]},
        "other": {"groups": ["c", "d"], "outside": "accept", "range": None},
    }


def described(folder: Path, *specs: Spec) -> dict[str, Any]:
    app = make_app(ServiceSettings(database=str(folder / "gate.db"), gates=list(specs)))
    found = app.openapi()
    app.state.engine.dispose()
    return {name: each["properties"] for name, each in found["components"]["schemas"].items()} | {
        "x-gates": found["x-gates"]
    }
