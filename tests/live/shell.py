"""Shell snippets of a page, and a folder to run them in one after the other, as a reader does."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r'^```sh(?: title="(?P<title>[^"]*)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """Shell commands of a page, with the title above them."""

    title: str
    body: str


def snippets(page: Path) -> list[Snippet]:
    """Return the shell snippets of a page."""
    return [Snippet(found["title"] or "", found["body"]) for found in FENCE.finditer(page.read_text(encoding="utf-8"))]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Shell:
    """A folder and its shell: `fairgate` and `python` are those of the tests, and warnings are errors."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        programs = folder / ".programs"
        programs.mkdir()
        for name, command in (("fairgate", "-W error -m fairgate"), ("python", "")):
            (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
            (programs / name).chmod(0o755)
        root = Path(__file__).parents[2]
        paths = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(root / "src")}
        self.environment = {**os.environ, **paths, "COLUMNS": "100", "NO_COLOR": "1", **environment}
        self.started: list[subprocess.Popen[bytes]] = []

    def run(self, body: str, timeout: float = 240) -> str:
        """Run commands to their end and return what they print; the first that fails is an error."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", body],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{body}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, body: str) -> subprocess.Popen[bytes]:
        """Start commands that go on, in another terminal so to speak."""
        with (self.folder / "started.log").open("ab") as log:
            begun = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", body],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(begun)
        return begun

    def wait_for(self, url: str, seconds: float = 60) -> None:
        """Wait until something answers."""
        for _ in range(int(seconds * 20)):
            try:
                with urllib.request.urlopen(url, timeout=2):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                dead = [each for each in self.started if each.poll() is not None]
                assert not dead, (self.folder / "started.log").read_text()
                time.sleep(0.05)
        raise AssertionError(f"{url} does not answer: {(self.folder / 'started.log').read_text()}")

    def stop(self) -> list[int]:
        """Stop what was started, as Ctrl-C does, and return the exit codes."""
        for each in self.started:
            if each.poll() is None:
                os.killpg(each.pid, signal.SIGINT)
        return [each.wait(timeout=20) for each in self.started]
