"""What is being done is said on one line of a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest

from fairgate.progress import stage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stage_is_written_over_the_last_and_away_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    stage("reading")
    stage("choosing", quiet=True)
    stage("")
    assert terminal.getvalue() == "\r\x1b[Kreading …\r\x1b[K"


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    stage("reading")
    assert pipe.getvalue() == ""
