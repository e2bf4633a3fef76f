"""``fairgate live serve``: what it refuses to begin with, in one sentence and with exit code 2."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.command import fairgate_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("serve")
    assert fairgate_here("live", "init", "credit", cwd=found).returncode == 0
    (found / "key.pem").touch()
    text = (found / "gate.toml").read_text()
    (found / "unsigned.toml").write_text(text.replace('"session.key"', '"nowhere/session.key"'))
    return found


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--config", "none.toml"], "there is no file none.toml"),
        (["--port", "70000"], "--port must be 0 to 65535, got 70000"),
        (["--workers", "0"], "--workers must be 1 to 64, got 0"),
        (["--config", "unsigned.toml"], "session_secret: the file nowhere/session.key cannot be made or read"),
        (["--tls-key", "key.pem"], "--tls-certificate and --tls-key must be given together, got only --tls-key"),
        (["--tls-key", "key.pem", "--tls-certificate", "no.pem"], "--tls-certificate must be a file, got no.pem"),
        (["--host", "192.0.2.1"], "192.0.2.1:8000 cannot be listened on: cannot assign requested address"),
    ],
)
def test_what_it_cannot_begin_with_is_one_sentence(folder: Path, arguments: list[str], told: str) -> None:
    ended = fairgate_here("live", "serve", *arguments, cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"fairgate: {told}")
    assert ended.stderr.count("\n") == 1


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = fairgate_here("live", "serve", "--port", str(port), cwd=folder)
    assert (ended.returncode, ended.stderr) == (
        2,
        f"fairgate: 127.0.0.1:{port} cannot be listened on: address already in use\n",
    )


def test_a_gate_that_was_made_otherwise(folder: Path, tmp_path: Path) -> None:
    text = (folder / "gate.toml").read_text()
    (folder / "other.toml").write_text(text.replace("\nseed = 0", "\nseed = 1"))
    ended = fairgate_here("live", "serve", "--config", "other.toml", "--port", "0", cwd=folder)
    assert ended.returncode == 2
    assert ended.stderr.startswith("fairgate: the gate 'credit' was made with seed = 0, not 1")
