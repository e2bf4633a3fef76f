"""What is being done is said on one line of a terminal; in a pipe, now and then, how far many pieces have come."""

from __future__ import annotations

import io

import pytest

from fairgate.progress import meter, stage


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


def test_thousands_of_pieces_are_a_few_lines_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with meter(2000.0, "2000 blocks on this process") as advance:
        for count in range(1, 2001):
            advance(f"{count} of 2000 blocks done", 1.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["2000 blocks on this process", "100 of 2000 blocks done, 0:00 left"]
    assert lines[-1] == "2000 of 2000 blocks done"
    assert len(lines) == 21


def test_a_line_in_a_pipe_every_half_minute_however_little_was_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 20.0, 40.0, 60.0])
    monkeypatch.setattr("fairgate.progress.time.monotonic", lambda: next(times))
    with meter(1000.0, "begin") as advance:
        for count in (1, 2, 3):
            advance(f"{count} done", 1.0)
    assert capsys.readouterr().err.splitlines() == ["begin", "2 done, 5:32:40 left"]


def test_a_terminal_has_a_bar_with_the_time_remaining(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with meter(4.0, "4 blocks on 2 processes") as advance:
        for count in range(1, 5):
            advance(f"{count} of 4 blocks done", 1.0)
    shown = terminal.getvalue()
    assert "4 of 4 blocks done" in shown
    assert "100%" in shown
    assert "0:00:00" in shown
