"""Memory: what arrays free stays with the process, as fresh pages cost more than what is written to them."""

from __future__ import annotations

import ctypes
import functools
import sys

TRIM, MAPPED = (-1, 1 << 28), (-3, 1 << 25)
"""Settings of glibc's malloc: free memory that is kept, and the size from which arrays are given back at once."""


@functools.cache
def keep_freed_memory() -> bool:
    """Have up to 256 MB of freed memory kept for the next arrays, and return whether that was possible: glibc only."""
    if not sys.platform.startswith("linux"):
        return False
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    return adjust is not None and all(adjust(*setting) == 1 for setting in (TRIM, MAPPED))
