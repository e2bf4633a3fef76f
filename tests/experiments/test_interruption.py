"""An interrupted reproduction goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

from tests.command import fairgate, interrupted


def test_an_interrupted_reproduction_goes_on_where_it_stopped(tmp_path: Path) -> None:
    size = ("--rounds", "1200", "--seeds", "3", "--many", "3", "--workers", "1", "--out", str(tmp_path))
    command = ("reproduce", "table1", *size)
    code, told, done = interrupted(*command, runs=tmp_path / "runs")
    assert code not in (0, 2)
    assert "Traceback" not in told
    assert 2 <= done < 9
    assert not (tmp_path / "report.html").exists()
    second = fairgate(*command)
    assert second.returncode == 0
    assert f"{done} of 9 simulations are done already" in second.stderr
    assert (tmp_path / "report.html").is_file()
