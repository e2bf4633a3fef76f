"""The command line for tests: in its own process, as a user meets it, or in this one, which takes no time to start."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from fairgate.cli import main


def fairgate(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program in its own process; warnings are errors."""
    command = [sys.executable, "-W", "error", "-m", "fairgate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


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
