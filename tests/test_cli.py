"""The command line as a user meets it: in its own process, with its own exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.cli import main
from fairgate.experiments.reproduce import JOBS
from fairgate.tasks import presets
from tests.command import fairgate, fairgate_here


@pytest.mark.slow
def test_help_tells_the_commands_and_an_example(tmp_path: Path) -> None:
    top = fairgate("--help")
    assert top.returncode == 0
    assert all(command in top.stdout for command in ("run", "list", "reproduce"))
    for command in ("run", "list", "reproduce"):
        assert "Example: fairgate " + command in fairgate_here(command, "--help", cwd=tmp_path).stdout
    assert fairgate_here("--version", cwd=tmp_path).stdout == f"fairgate {fg.__version__}\n"


def test_list_names_every_task_and_learner(tmp_path: Path) -> None:
    names = json.loads(fairgate("list", "--json").stdout)
    assert set(names["tasks"]) == set(presets())
    assert set(names["learners"]) == set(fg.learners.LEARNERS)
    table = fairgate_here("list", cwd=tmp_path).stdout
    assert all(name in table for name in [*names["tasks"], *names["learners"]])


def test_run_prints_a_table_that_fits_a_terminal_and_tells_progress_on_standard_error() -> None:
    result = fairgate("run", "mve-s", "ofs", "primal-dual", "--rounds", "250", "--seeds", "3")
    assert result.returncode == 0
    assert "Best feasible fixed threshold" in result.stdout
    assert "ofs" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert result.stderr.splitlines() == ["mve-s: ofs", "mve-s: primal-dual"]


def test_run_in_json_says_what_python_says(tmp_path: Path) -> None:
    result = fairgate(
        "run", "mve-s", "ofs:c=0.1", "--rounds", "250", "--seeds", "3", "--json", "--out", "new/out", cwd=tmp_path
    )
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert document["tail"] == 50
    run = fg.simulate(fg.load_task("mve-s"), fg.OFS(c=0.1), rounds=250, seeds=3)
    for name, value in run.summary().items():
        assert document["learners"]["ofs:c=0.1"][name] == {"mean": value.mean, "sd": value.sd}
    assert document["oracle"]["grid"]["reward"] == fg.oracle(fg.load_task("mve-s")).best.reward
    assert json.loads((tmp_path / "new/out/summary.json").read_text()) == document
    saved = fg.Run.load(tmp_path / "new/out/mve-s-ofs-c=0.1.parquet")
    assert saved.summary() == run.summary()


def test_one_seed_has_no_spread_in_table_or_json(tmp_path: Path) -> None:
    command = ("run", "mve-s", "random", "--rounds", "200", "--seeds", "1")
    assert "±" not in fairgate_here(*command, cwd=tmp_path).stdout.split("Mean")[0]
    document = json.loads(fairgate_here(*command, "--json", cwd=tmp_path).stdout)
    assert document["learners"]["random"]["reward"]["sd"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "compass", "ofs"), "unknown task 'compass': did you mean 'compas'?"),
        (("run", "compas", "osf"), "unknown learner 'osf': did you mean 'ofs'?"),
        (
            ("run", "mve-s", "ofs", "--rounds", "100", "--tail", "200"),
            "--rounds 100 is shorter than the tail of 200 rounds",
        ),
        (("run", "mve-s", "ofs", "--rounds", "50", "--tail", "51"), "ask for more, or for a shorter --tail"),
        (("run", "mve-s", "ofs:"), "learner 'ofs:': after the colon must come a setting such as c=0.1"),
        (("run", "mve-s", "ofs", "--seeds", "0"), "seeds must be a whole number of at least 1, got 0"),
        (("run", "mve-s", "ofs", "--batch", "0"), "batch must be a whole number of at least 1, got 0"),
        (("run", "mve-s", "ofs:exploration=2"), "exploration must be in [0, 1], got 2.0"),
        (("run", "mve-s", "ofs", "--out", "occupied"), "--out occupied must be a folder one can write to"),
        (("run", "mve-s", "ofs", "--out", "occupied/in"), "--out occupied/in must be a folder one can write to"),
        (("reproduce", "--out", "occupied"), "--out occupied must be a folder one can write to"),
        (("reproduce", "--rounds", "10"), "--rounds 10 is shorter than the tail of 200 rounds"),
        (("reproduce", "--seeds", "0"), "seeds must be a whole number of at least 1, got 0"),
        (("paper", "--out", "new"), "new holds no reproduction: run fairgate reproduce all --out new first"),
    ],
)
def test_bad_arguments_are_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process: starting one takes a second, and the tests around start enough of them."""
    (tmp_path / "occupied").write_text("a file where a folder is asked for")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fairgate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert sentence in said.err
    assert said.err.startswith("fairgate: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert (tmp_path / "occupied").read_text() == "a file where a folder is asked for"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("run", "mve-s"), ("run", "mve-s", "ofs", "--rounds", "many"), ("walk",)])
def test_words_the_program_does_not_know_are_exit_code_2(arguments: tuple[str, ...]) -> None:
    result = fairgate(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_reproduce_writes_its_parts_and_says_when_nothing_has_changed(tmp_path: Path) -> None:
    size = ("--rounds", "200", "--seeds", "2", "--many", "3", "--out", "here")
    result = fairgate("reproduce", "table1", "figure3", *size, cwd=tmp_path)
    assert result.returncode == 0
    assert "0.7556 ± 0.0071" in result.stdout  # the paper's OFS on COMPAS
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert (tmp_path / "here/report.html").is_file()
    again = fairgate_here("reproduce", "table1", "figure3", *size, cwd=tmp_path)
    assert "Nothing has changed since the last run" in again.stdout
    unknown = fairgate_here("reproduce", "table7", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "unknown part 'table7'" in unknown.stderr
    assert all(part in unknown.stderr for part in JOBS)


FAULTY = """
import numpy as np
import fairgate as fg

class Failing:
    def start(self, setting, replicates, rng):
        return np.zeros((replicates, setting.groups))

    def propose(self, state):
        return state

    def observe(self, state, played, feedback):
        raise KeyError("no idea")

class Broken(fg.Utility):
    rounds = 0

    def reward(self, counts):
        Broken.rounds += 1
        if Broken.rounds > 5:
            raise ZeroDivisionError("no reward")
        return super().reward(counts)

def broken():
    world = fg.load_task("mve-s")
    return fg.Task(world.environment, fg.Problem(Broken(1.0)), world.grid, "mine")
"""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("mve-s", "faulty:Failing"),
            "learner 'faulty:Failing' failed on mve-s: KeyError: 'no idea' (faulty.py, line 13)",
        ),
        pytest.param(
            ("mve-s", "faulty:Failing", "--seeds", "251", "--workers", "2"),
            "learner 'faulty:Failing' failed on mve-s: KeyError: 'no idea' (faulty.py, line 13)",
            marks=pytest.mark.slow,
        ),
        (("faulty:broken", "random"), "'random' failed on mine: ZeroDivisionError: no reward (faulty.py, line 21)"),
    ],
)
def test_what_a_users_own_code_raises_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    program = fairgate if "--workers" in arguments else fairgate_here
    result = program("run", *arguments, "--rounds", "200", "--json", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith(f"{sentence}\n")
    assert result.stderr.count("\n") == 1
