"""Kill −9: nothing that was acknowledged is lost or done twice, and the state is that of a run without interruption."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from fairgate.live import Gate
from fairgate.live.keys import create_key
from tests.live.kept import Kept, check_kept
from tests.live.kills import NAME, Done, Plan, kill_spec


def kill_and_check(url: str, folder: Path, kills: int, seed: int = 0) -> tuple[Done, Kept]:
    """Run writers and a service, kill them so many times, and check what is there afterwards."""
    gate = Gate(url, NAME, spec=kill_spec())
    token = create_key(gate, "killed", ["decide", "outcomes", "read", "admin"])
    gate.shut()
    plan = Plan(url, str(folder), kills, free_port(), token, seed)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.live.kills"],
        input=json.dumps(asdict(plan)),
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + kills,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == "", ran.stderr
    return Done(**json.loads(ran.stdout)), check_kept(url, str(folder))


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
def test_fifty_kills_lose_nothing(database_url: str, tmp_path: Path) -> None:
    done, kept = kill_and_check(database_url, tmp_path, kills=50)
    assert done.kills == 50
    assert min(done.killed.values()) >= 3
    assert min(kept.requests, kept.decisions, kept.outcomes, kept.closes) > 20
