"""The command line for tests: in its own process, as a user meets it, or in this one, which takes no time to start."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

from fairgate.cli import main


def fairgate(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program in its own process; warnings are errors."""
    command = [sys.executable, "-W", "error", "-m", "fairgate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def heeding(*command: str) -> list[str]:
    """Return a command that heeds interrupts, also where a background job of a shell has them ignored.

    A program in between sets them, as a function of this process would be called between fork and exec, which JAX warns
    of.
    """
    before = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", before, *command]


def interrupted(*arguments: str, runs: Path) -> tuple[int, str, int]:
    """Run the program until two pieces of work are done in the folder `runs`, and press Ctrl-C.

    Returned are its exit code, what it said on standard error, and how many pieces were done in the end.
    """

    command, index = heeding(sys.executable, "-m", "fairgate", *arguments), runs / "index.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        for _ in range(1200):
            if index.is_file() and len(index.read_text().splitlines()) >= 2:
                break
            time.sleep(0.025)
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=60)
    return program.returncode, told, len(index.read_text().splitlines())


def fairgate_here(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program in this process, in another folder."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(cwd)
    try:
        with (
            patch.object(sys, "argv", ["fairgate", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    else:
        code = 0
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(["fairgate", *arguments], code, out.getvalue(), err.getvalue())
