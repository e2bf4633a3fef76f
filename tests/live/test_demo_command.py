"""``fairgate live demo`` as a newcomer meets it: page, key, progress, a table of true figures, and a clean end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import fairgate as fg
from fairgate.live import Gate
from fairgate.live.demo import Lender, Population, rounded, spec_of
from fairgate.live.demo_service import own_service
from tests.command import fairgate_here, heeding

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo's databases are made."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    return made


def test_it_prints_page_key_progress_and_the_figures_of_what_was_played(tmp_path: Path, folder: Path) -> None:
    size = ("--rounds", "10", "--batch", "40", "--late", "2", "--seed", "3", "--pace", "0", "--learner", "ofs")
    done = fairgate_here("live", "demo", *size, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Page: http://127\.0\.0\.1:\d+/$", done.stdout, flags=re.MULTILINE)
    assert re.search(r"^Key:  fg_[0-9a-f]{12}_\S{20,}$", done.stdout, flags=re.MULTILINE)
    assert len(re.findall(r"^round \d+: ", done.stdout, flags=re.MULTILINE)) == 10
    task = rounded(fg.load_task("interior"))
    spec = spec_of(task, "ofs", seed=3)  # which plays no lottery, so that nothing depends on the gate's secret
    gate = Gate(str(tmp_path / "same.db"), "demo", spec=spec)
    lender = Lender(gate, Population(task, 3, late=2), spec.groups, batch=40)
    for _ in range(10):
        lender.play()
    gate.shut()
    figures = {name: values[0] for name, values in lender.record.run(task).per_replicate(tail=10).items()}
    for row, name in (
        ("reward", "population_reward"),
        ("gap", "population_gap"),
        ("acceptance", "acceptance"),
        ("violation", "population_violation"),
    ):
        assert re.search(rf"{re.escape(row)} +{figures[name]:.4f} ", done.stdout), (row, figures[name], done.stdout)
    assert f"{fg.oracle(task).best.reward:.4f}" in done.stdout
    assert list(folder.iterdir()) == []


def test_it_can_play_against_a_gate_that_runs_elsewhere_whose_rounds_close_by_people(tmp_path: Path) -> None:
    task = rounded(fg.load_task("interior"))
    with own_service(spec_of(task, "safe-forecast", name="credit", batch=30)) as place:
        there = ("--url", place.url, "--gate", "credit", "--key", place.key)
        done = fairgate_here("live", "demo", *there, "--rounds", "4", "--batch", "30", "--pace", "0", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        headers = {"Authorization": f"Bearer {place.page_key}"}
        status = httpx.get(f"{place.url}/v1/gates/credit", headers=headers).json()
    assert (status["round"], status["open"]) == (4, False)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--url", "http://127.0.0.1:9"), "--key must be given with --url"),
        (("--late", "-1"), "--late and --pace must be at least 0, got -1"),
        (("--task", "interiour"), "unknown task 'interiour': did you mean 'interior'?"),
        (("--learner", "off"), "unknown learner 'off'"),
        (("--rounds", "0"), "--rounds must be"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    done = fairgate_here("live", "demo", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_stops_it_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-W", "error", "-m", "fairgate", "live", "demo", "--learner", "ofs", "--rounds", "300"]
    begun = subprocess.Popen(
        heeding(*command, "--pace", "0.1", "--batch", "20"),
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert begun.stdout is not None
    assert any(line.startswith("round 30:") for line in begun.stdout)
    begun.send_signal(signal.SIGINT)
    said, errors = begun.communicate(timeout=30)
    assert begun.returncode == 0, errors
    assert re.search(r"3\d rounds of 20 people, outcomes 30 rounds late", said)
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
