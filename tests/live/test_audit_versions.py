"""Other versions may explain a proposal that differs, within bounds; they never make an audit clean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fairgate import __version__
from fairgate.live.events import Event
from fairgate.live.making import VERSIONS
from tests.command import fairgate_here
from tests.live.logs import OTHER, make_spec, opened
from tests.live.test_audit import CONFIG
from tests.live.test_audit_tampering import chain_again, read

ODD = {"thresholds": [[[0.8, 0.8]]], "weights": [[1.0]]}
STEP = {"thresholds": [[[0.6, 0.6]]], "weights": [[1.0]]}  # what guards of a step of 0.2 allow of it
FAR = {"thresholds": [[[0.2, 0.8]]], "weights": [[1.0]]}


def write(path: Path, edit: Callable[[Event, dict[str, Any]], None], **changes: Any) -> None:
    """Write rounds of versions of another time, and change bodies."""
    with (
        patch("fairgate.live.making.VERSIONS", OTHER),
        patch("fairgate.live.gate.VERSIONS", OTHER),
        opened(str(path), make_spec(**changes)) as lender,
    ):
        for _ in range(3):
            lender.decide(20)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        chain_again(connection, edit)


def propose(versions: dict[str, str] | None = None, library: str = __version__) -> Callable[..., None]:
    """Change the proposal of a round that holds its policy, and the versions that the log names."""

    def edit(event: Event, data: dict[str, Any]) -> None:
        if event.kind == "opened" and event.round == 1:
            data |= {"proposal": ODD, "allowed": STEP}
        if event.kind in ("created", "version"):
            data.update(versions=versions or OTHER, library=library)

    return edit


HOLD = {"start": {"mode": "hold", "threshold": 0.4}}


@pytest.mark.parametrize(
    ("versions", "library", "text"),
    [
        (OTHER | {"numpy": "99.1"}, __version__, "whose numpy is newer than this audit's"),
        (OTHER, "99.0", "whose fairgate is newer than this audit's"),
        (OTHER | {"numpy": "none"}, __version__, "no version that there is"),
        ({"numpy": "1.0"}, __version__, "no version that there is"),
        (OTHER | {"blas": "1.0"}, __version__, "no version that there is"),
        (VERSIONS, __version__, "as this audit"),
    ],
)
def test_versions_that_explain_nothing(tmp_path: Path, versions: dict[str, str], library: str, text: str) -> None:
    write(tmp_path / "gate.db", propose(versions, library), **HOLD)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert (report.verdict, report.first.kind, report.versions) == ("findings", "opened", [])
    assert text in report.first.text


def test_a_version_that_was_put_in_after_a_later_one_explains_nothing(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(**HOLD)) as lender:
        lender.decide(20)
        with patch("fairgate.live.gate.VERSIONS", OTHER):
            lender.decide(20)
            lender.decide(20)

    def edit(event: Event, data: dict[str, Any]) -> None:
        if event.kind == "opened" and event.round == 1:
            data |= {"proposal": ODD, "allowed": STEP}

    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        chain_again(connection, edit)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert (report.first.kind, report.verdict) == ("opened", "findings")
    assert "a version that goes back explains nothing" in report.first.text


@pytest.mark.parametrize(
    ("name", "value"), [("policy", FAR), ("guards", ["bounds: nothing"]), ("waiting", "abc"), ("allowed", FAR)]
)
def test_no_version_explains_a_policy_that_the_guards_do_not_allow(tmp_path: Path, name: str, value: Any) -> None:
    def edit(event: Event, data: dict[str, Any]) -> None:
        if event.kind == "opened" and event.round == 1:
            data |= {"proposal": ODD, "allowed": ODD, name: value}

    write(tmp_path / "gate.db", edit)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert (report.first.kind, report.verdict) == ("opened", "findings")


def test_a_failure_that_is_not_seen_again_is_remarked(tmp_path: Path) -> None:
    """It may have had a reason that passed, such as a lack of memory; or somebody switched the learner off."""
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        with patch.object(type(lender.gate.spec.make_learner()), "observe", side_effect=ValueError("too many")):
            lender.decide(20)
            failing = lender.gate.audit()
        lender.decide(20)
        report = lender.gate.audit()
    assert (failing.clean, failing.remarks) == (True, [])
    assert report.clean
    assert ["said to have failed at event" in each for each in report.remarks] == [True]


def test_the_command_exits_with_0_only_if_versions_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(CONFIG)
    write(tmp_path / "gate.db", propose(), **HOLD)
    done = fairgate_here("live", "audit", cwd=tmp_path)
    assert done.returncode == 1
    assert "Recomputed by another version: 1 policies differ" in " ".join(done.stdout.split())
    assert "Everything fits" not in done.stdout
    accepted = fairgate_here("live", "audit", "--accept-versions", cwd=tmp_path)
    assert (accepted.returncode, accepted.stderr) == (0, "")
    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        connection.execute("UPDATE cases SET draw = 0.5 WHERE id = 'a-3'")
    assert fairgate_here("live", "audit", "--accept-versions", cwd=tmp_path).returncode == 1
