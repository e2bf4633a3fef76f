"""Exported logs that strangers made: the audit says in a sentence what is wrong, or finds it; nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.valid import Valid, ask, seen
from tests.hostile.zips import FINDINGS, HARMLESS, ZIPS, Zip


def audited(valid: Valid, make: Zip, folder: Path, codes: tuple[int, ...]) -> str:
    """Audit a hostile export; nothing is written beside it."""
    folder = folder / "inner"
    folder.mkdir()
    (folder / "evil.zip").write_bytes(make(valid.bytes("credit.zip")))
    before = seen(folder.parent)
    done = ask("live", "audit", "evil.zip", cwd=folder, codes=codes)
    assert seen(folder.parent) == before
    assert not Path("/tmp/fairgate-escaped").exists()
    return done.stderr


@pytest.mark.parametrize("make", ZIPS.values(), ids=ZIPS.keys())
def test_an_export_that_is_none_is_refused(valid: Valid, tmp_path: Path, make: Zip) -> None:
    assert "evil.zip" in audited(valid, make, tmp_path, (2,))


@pytest.mark.parametrize("make", FINDINGS.values(), ids=FINDINGS.keys())
def test_an_export_that_contradicts_itself_is_found(valid: Valid, tmp_path: Path, make: Zip) -> None:
    audited(valid, make, tmp_path, (1, 2))


@pytest.mark.parametrize("make", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_no_log_needs_is_never_looked_at(valid: Valid, tmp_path: Path, make: Zip) -> None:
    audited(valid, make, tmp_path, (0,))
