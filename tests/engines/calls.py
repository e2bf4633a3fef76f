"""Calls for tests of engines; workers do not have this module, so it travels along."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np


def slow(number: int, seconds: float = 0.1) -> tuple[int, int]:
    """Take a while, and return the number and the process."""
    time.sleep(seconds)
    return number, os.getpid()


def die() -> None:
    """Kill the process."""
    os.kill(os.getpid(), 9)


def die_once(mark: Path) -> str:
    """Kill the process, but not the next time."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), 9)
    return "done"


def fail() -> None:
    """Raise an error."""
    raise ValueError("no idea")


def exhaust() -> None:
    """Find no memory."""
    raise MemoryError("for 1 TB")


def fill_memory(megabytes: int) -> int:
    """Use so much memory for a while, and return the process."""
    held = np.ones(megabytes * 2**17)
    time.sleep(1.0)
    return int(held.size * 0) + os.getpid()
