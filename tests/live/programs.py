"""``fairgate live serve`` for tests, as its users start it: a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.command import fairgate_here


@dataclass
class Program:
    """A running program."""

    url: str
    pid: int
    keys: dict[str, str]  # the first keys by name
    said: list[str]


@contextmanager
def live_service(folder: Path, *arguments: str) -> Iterator[Program]:
    """Make a gate in a folder unless there is one, serve it on a free port, and stop it at the end by SIGTERM."""
    if not (folder / "gate.toml").exists():
        made = fairgate_here("live", "init", "credit", cwd=folder)
        if made.returncode:
            raise RuntimeError(made.stderr)
    keys = dict(line.split()[:2] for line in (folder / "keys.txt").read_text().splitlines()[1:])
    command = [sys.executable, "-W", "error", "-m", "fairgate", "live", "serve", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, env=environment)
    said: list[str] = []
    try:
        if process.stdout is None:
            raise RuntimeError("the program has no output")
        for line in process.stdout:
            said.append(line)
            found = re.search(r"https?://\S+:\d+(?=/,)", line)
            if found:
                break
        else:
            raise RuntimeError(f"the program ended: {said}")
        yield Program(found[0], process.pid, keys, said)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        if process.stdout is not None:
            with process.stdout:  # to its end, with what was read ahead with an earlier line
                said.append(process.stdout.read())
    if process.returncode not in (0, -signal.SIGTERM):  # 0 with several workers
        raise RuntimeError(f"the program ended with {process.returncode}: {said}")
