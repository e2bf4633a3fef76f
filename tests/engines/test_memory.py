"""Memory that an engine's calls free stays with the process."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from fairgate.engines.base import alone
from fairgate.engines.memory import keep_freed_memory


def faults() -> int:
    """Fresh pages that 20 arrays of 8 MB, one after the other, cost."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(1_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
def test_arrays_are_made_in_memory_that_was_freed() -> None:
    if not keep_freed_memory():
        pytest.skip("a setting of glibc")
    alone(faults)
    assert alone(faults) < 2 * 8_000_000 // resource.getpagesize()  # 20 times as many if all pages are fresh
