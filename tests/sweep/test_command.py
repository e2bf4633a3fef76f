"""``fairgate sweep`` as a user would try it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import fairgate as fg
from tests.command import fairgate, fairgate_here

SMALL = ("--seeds", "4", "--rounds", "60", "--workers", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small sweep."""
    out = tmp_path_factory.mktemp("command") / "sweep"
    over = ("--over", "rate=0.1:0.5:3", "--over", "epsilon=0.02,0.06")
    done = fairgate("sweep", "mve-s", "ofs", "random", *over, *SMALL, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "ofs wins in" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("Written to")) <= 80
    return out


@pytest.mark.slow
def test_tables_settings_and_page_are_written(folder: Path) -> None:
    found = fg.Sweep.load(folder / "seeds.parquet")
    table = pq.read_table(folder / "sweep.parquet")
    assert table.num_rows == 12
    np.testing.assert_array_equal(table["share_mean"].to_numpy(), found.frame()["share_mean"].to_numpy())
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["seeds"] == 4
    assert settings["over"] == {"rate": [0.1, 0.3, 0.5], "epsilon": [0.02, 0.06]}
    assert settings["levels"] == {"ofs": "bandit", "random": "bandit"}
    assert settings["versions"]["numpy"] == np.__version__
    assert json.loads(table.schema.metadata[b"fairgate"])["code"] == settings["code"]
    assert "Sweep of mve-s" in (folder / "sweep.html").read_text()


@pytest.mark.slow
def test_the_command_of_a_cell_repeats_it(folder: Path, tmp_path: Path) -> None:
    found = fg.Sweep.load(folder / "seeds.parquet")
    command = found.command(3, "ofs")
    assert command == (
        "fairgate run mve-s ofs --set environment.rate=0.3 --set parity.epsilon=0.06 --rounds 60 --seeds 4 --seed 0 "
        "--batch 256 --tail 12"
    )
    done = fairgate(*command.split()[1:], "--json")
    told = json.loads(done.stdout)["learners"]["ofs"]
    for figure in ("reward", "gap", "violation", "population_violation"):
        assert told[figure]["mean"] == pytest.approx(found.mean(figure)[3, 0], rel=1e-12)


@pytest.mark.slow
def test_the_same_command_goes_on_and_prints_json(folder: Path) -> None:
    over = ("--over", "rate=0.1:0.5:3", "--over", "epsilon=0.02,0.06")
    done = fairgate("sweep", "mve-s", "ofs", "random", *over, *SMALL, "--out", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    assert "12 of 12 cells are done already" in done.stderr
    assert len(json.loads(done.stdout)["reward_mean"]) == 12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--over", "rat=0.1"), "unknown parameter 'rat': did you mean 'rate'?"),
        (("--over", "rate=0.5:0.1:3"), "rate: a range must go from a number to one no lower, got 0.5:0.1"),
        (("--over", "rate=0.1", "--over", "rate=0.2"), "--over rate is given twice: list all its values in one"),
        (("--over", "rate=2"), "no cell of the sweep came to anything: at rate=2: GaussianScores: rate must be in"),
        (("--cluster", "nowhere"), "cluster 'nowhere' must be tcp://host:port"),
        (("--workers", "0"), "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(given: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = fairgate_here("sweep", "mve-s", "ofs", *SMALL, "--out", str(tmp_path), *given, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_cells_that_fail_are_named_and_the_others_written(tmp_path: Path) -> None:
    done = fairgate("sweep", "mve-s", "ofs", "--over", "rate=0.1,2", *SMALL, "--out", str(tmp_path))
    assert done.returncode == 1
    assert "fairgate: at rate=2: GaussianScores: rate must be in (0, 1], got 2.0" in done.stderr
    assert (tmp_path / "sweep.html").is_file()


@pytest.mark.slow
def test_an_interrupted_command_leaves_what_is_done(tmp_path: Path) -> None:
    size = ("--over", "rate=0.05:0.5:30", "--seeds", "50", "--rounds", "600", "--workers", "2", "--out", str(tmp_path))
    command = [sys.executable, "-m", "fairgate", "sweep", "mve-s", "ofs", *size]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        if list((tmp_path / "blocks").glob("*.parquet")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "are done and kept; the same command goes on from there" in errors
    assert "Traceback" not in errors
    kept = len(list((tmp_path / "blocks").glob("*.parquet")))
    assert 0 < kept < 8
    done = fairgate("sweep", "mve-s", "ofs", *size)
    assert done.returncode == 0, done.stderr
    assert "of 30 cells are done already" in done.stderr
