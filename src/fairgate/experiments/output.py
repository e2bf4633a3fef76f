"""Where experiments write: a folder checked before the work starts, and files that are whole or not there."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from fairgate.errors import InputError


def prepare_folder(folder: Path, name: str = "--out") -> None:
    """Make `folder`, called `name` by the user, and try to write in it: else a long run would be lost at its end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{name} {folder} must be a folder one can write to: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that an interruption leaves no half a file."""
    unfinished = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
