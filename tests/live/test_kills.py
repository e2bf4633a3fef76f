"""Kill −9: nothing that was acknowledged is lost or done twice, and the state is that of a run without interruption."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from fairgate.live import Gate
from fairgate.live.keys import create_key
from tests.live.kept import Kept, check_kept
from tests.live.kills import NAME, Done, Plan, kill_spec
from tests.live.serving import service


def kill_and_check(url: str, folder: Path, kills: int, seed: int = 0) -> tuple[Done, Kept]:
    """Run writers and a service, kill them so many times, and check what is there afterwards."""
    gate = Gate(url, NAME, spec=kill_spec())
    token = create_key(gate, "killed", ["decide", "rounds", "outcomes", "read", "admin"])
    gate.shut()
    plan = Plan(url, str(folder), kills, free_port(), token, seed)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.live.kills"],
        input=json.dumps(asdict(plan)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120 + 2 * kills,
    )
    assert (ran.returncode, ran.stderr[:3000]) == (0, "")
    log = (folder / "log").read_text().splitlines()
    assert [line for line in log if " INFO " not in line and " WARNING " not in line] == []
    return Done(**json.loads(ran.stdout)), check_kept(url, str(folder))


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_client_that_goes_before_its_request_is_whole_is_no_error_of_the_service(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = kill_spec()
    with service(str(tmp_path / "gate.db"), spec) as served:
        with socket.create_connection(("127.0.0.1", served.port)) as client:
            head = f"POST /v1/gates/{NAME}/decisions HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
            token = served.keys[NAME, "all"]
            client.sendall(f"{head}Authorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{".encode())
            time.sleep(0.1)
        time.sleep(0.1)
    assert "Exception" not in capfd.readouterr().err


@pytest.mark.slow
def test_fifty_kills_lose_nothing(database_url: str, tmp_path: Path) -> None:
    done, kept = kill_and_check(database_url, tmp_path, kills=50)
    assert done.kills == 50
    assert min(done.killed.values()) >= 3
    assert kept.requests >= 3 * done.kills
    assert min(kept.decisions, kept.outcomes, kept.closes) > 0
