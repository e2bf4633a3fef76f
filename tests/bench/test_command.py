"""``fairgate bench`` in its own process: interrupted, with a learner from the current folder, with one that fails."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import fairgate, interrupted

MINE = """
import numpy as np

class Mine:
    def __init__(self, place=0.5):
        self.place = place

    def start(self, setting, replicates, rng):
        low, high = setting.thresholds[[0, -1]]
        return np.full((replicates, setting.groups), low + self.place * (high - low))

    def propose(self, state):
        return state

    def observe(self, state, played, feedback):
        pass

class Failing(Mine):
    def observe(self, state, played, feedback):
        raise ValueError("no idea")
"""


def test_learners_of_the_current_folder_join_and_one_that_fails_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    size = ("--rounds", "60", "--seeds", "4", "--workers", "2", "--tasks", "mve-s")
    own = ("--learner", "mine:Mine:place=0.2", "--learner", "mine:Failing")
    result = fairgate("bench", "--learners", "ofs,random", *own, *size, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.count("fairgate: learner 'mine:Failing' failed on mve-s: ") == 1
    assert "ValueError: no idea (mine.py, line 20)" in result.stderr
    assert "Traceback" not in result.stderr
    assert "mine:Mine" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    document = json.loads((tmp_path / "bench/bench.json").read_text(encoding="utf-8"))
    assert set(document["results"]) == {"ofs", "random", "mine:Mine:place=0.2"}
    assert (tmp_path / "bench/bench.html").is_file()


def test_help_tells_an_example(tmp_path: Path) -> None:
    result = fairgate("bench", "--help", cwd=tmp_path)
    assert result.returncode == 0
    assert "Example: fairgate bench --learners ofs,random" in result.stdout


def test_a_folder_one_cannot_write_to_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file")
    result = fairgate("bench", "--learners", "ofs", "--tasks", "mve-s", "--out", "occupied", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("fairgate: --out occupied must be a folder one can write to")
    assert result.stderr.count("\n") == 1


def test_an_interrupted_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    size = ("--rounds", "800", "--seeds", "3", "--workers", "1", "--json")
    names = ("--learners", "ofs,random,primal-dual", "--tasks", "german", "--tasks", "compas")
    command = ("bench", *size, *names, "--out", str(tmp_path))
    code, told, done = interrupted(*command, runs=tmp_path / "runs")
    assert code not in (0, 2)
    assert "Traceback" not in told
    assert 2 <= done < 6
    assert not (tmp_path / "bench.json").exists()
    second = fairgate(*command)
    assert second.returncode == 0
    assert f"{done} of 6 simulations are done already" in second.stderr
    assert json.loads(second.stdout) == json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
