"""Secret: what sessions are signed with, in a file of its own: neither the database nor a backup has it."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path

from fairgate.errors import InputError
from fairgate.reading import read_bytes

LARGEST = 4096
"""Bytes of the largest file of a secret."""

SHORTEST = 32
"""Characters that a secret has at least."""


def read_secret(path: Path | None) -> bytes:
    """Return the secret of a file, made if there is none, which its owner alone can read.

    Without a path it is one of this process, and sessions end with it.
    """
    if path is None:
        return secrets.token_bytes(SHORTEST)
    try:
        with contextlib.suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w") as file:
                file.write(secrets.token_hex(32))
        for _ in range(100):  # another process may just have made it, and is about to write
            found = read_bytes(path, LARGEST).strip()
            if found:
                break
            time.sleep(0.01)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(
            f"session_secret: the file {path} cannot be made or read ({why}): name one that can, in [service]"
        ) from None
    if len(found) < SHORTEST:
        raise InputError(
            f"session_secret: the file {path} must hold at least {SHORTEST} characters, got {len(found)}: delete it, "
            "and another is made"
        )
    return found
