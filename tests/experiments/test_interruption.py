"""An interrupted reproduction goes on where it stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path


def test_an_interrupted_reproduction_goes_on_where_it_stopped(tmp_path: Path) -> None:
    size = ["--rounds", "1200", "--seeds", "3", "--many", "3", "--workers", "1", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "fairgate", "reproduce", "table1", *size]

    def heed_interrupts() -> None:  # a background job of a shell is started with them ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as first:
        index = tmp_path / "runs" / "index.jsonl"
        for _ in range(600):
            if index.is_file() and len(index.read_text().splitlines()) >= 2:
                break
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        _, told = first.communicate(timeout=60)
    done = len(index.read_text().splitlines())
    assert first.returncode not in (0, 2)
    assert "Traceback" not in told
    assert 2 <= done < 9
    assert not (tmp_path / "report.html").exists()
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 0
    assert f"{done} of 9 simulations are done already" in second.stderr
    assert (tmp_path / "report.html").is_file()
