"""The shell commands of the operator's guide do what it says, one after the other in one folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.shell import Shell, Snippet, free_port, snippets

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "operator.md"

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(tmp_path)
    yield opened
    opened.stop()


def elsewhere(snippet: Snippet, port: int) -> str:
    """The commands with another port, as 8000 may be taken, and without installing."""
    lines = snippet.body.replace("8000", str(port)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("pip install"))


def test_every_command_works(shell: Shell) -> None:
    port, serve = free_port(), ""
    for snippet in snippets(GUIDE):
        if snippet.title == "with Docker":
            continue  # tests/live/test_deployment.py
        body = elsewhere(snippet, port)
        assert body or "pip install 'fairgate[live]'" in snippet.body
        if snippet.title == "in a second terminal":
            config = shell.folder / "gate.toml"
            config.write_text(config.read_text().replace("port = 8000", f"port = {port}"))
            serve = body
            shell.start(serve)
            shell.wait_for(f"http://127.0.0.1:{port}/ready")
        elif snippet.title == "once the service is stopped":
            shell.stop()
            assert "Everything fits" in shell.run(body)
            shell.started.clear()
            shell.start(serve)
            shell.wait_for(f"http://127.0.0.1:{port}/ready")
        else:
            said = shell.run(body)
            promised = re.findall(r"# (\{.*\})$", body, flags=re.MULTILINE)
            assert all(each in said for each in promised), said
