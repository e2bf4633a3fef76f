"""Databases that strangers made: every command refuses them with a sentence, or the audit finds what is wrong."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from tests.hostile.databases import FOUND, REFUSED, copied
from tests.hostile.valid import Valid, ask, seen

AUDIT, KEYS, SERVE = ("live", "audit"), ("live", "keys", "list"), ("live", "serve", "--port", "0")

SERVED = (
    *("no database", "cut in half", "a pipe", "a link to itself", "a revision that there is not", "two revisions"),
    *("no table of gates", "no gate", "a gate of numbers", "a first event nested", "a spec that is a list"),
    *("noise 1", "a trigger", "a later event nested", "a log of noise"),
)
"""Databases that a service is started with, too: it opens its gate as `keys list` does."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_database_of_a_gate_is_refused(valid: Valid, tmp_path: Path, name: str) -> None:
    REFUSED[name](copied(valid.folder, tmp_path))
    run(tmp_path, name, (1, 2))


@pytest.mark.parametrize("name", FOUND)
def test_a_database_that_was_changed_is_audited(valid: Valid, tmp_path: Path, name: str) -> None:
    FOUND[name](copied(valid.folder, tmp_path))
    run(tmp_path, name, (0, 1, 2))


def run(folder: Path, name: str, codes: tuple[int, ...]) -> None:
    """Run the commands; a service that would begin to serve ends at once instead."""
    before = {each for each in seen(folder) if "gate.db" not in each}
    ask(*AUDIT, cwd=folder, codes=codes)
    ask(*KEYS, cwd=folder, codes=codes)
    if name in SERVED:
        with patch("uvicorn.Server.run", return_value=None):
            ask(*SERVE, cwd=folder, codes=(0, 1, 2))
    assert {each for each in seen(folder) if "gate.db" not in each} - before <= {"session.key"}
