"""Saved runs, sweeps, states, advices and settings of strangers: a sentence, or what they say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from tests.hostile.saved import ADVICE, COMMANDS, PLANS, RUNS, SETTINGS, STATES, SWEEPS, Saved, entry
from tests.hostile.valid import COLUMNS, LONGEST, Valid, ask, no_traceback, seen


def refused(load: Callable[[], Any]) -> None:
    """Check that loading is refused, in one sentence."""
    with no_traceback(), pytest.raises(fg.InputError) as said:
        load()
    assert len(str(said.value).splitlines()) == 1
    assert len(str(said.value)) <= LONGEST


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS.keys())
def test_a_run_that_is_none_is_refused(valid: Valid, tmp_path: Path, make: Saved) -> None:
    (tmp_path / "evil.parquet").write_bytes(make(valid.bytes("run.parquet")))
    refused(lambda: fg.Run.load(tmp_path / "evil.parquet"))


@pytest.mark.parametrize("make", SWEEPS.values(), ids=SWEEPS.keys())
def test_a_sweep_that_is_none_is_refused(valid: Valid, tmp_path: Path, make: Saved) -> None:
    (tmp_path / "evil.parquet").write_bytes(make(valid.bytes("sweep.parquet")))
    refused(lambda: fg.Sweep.load(tmp_path / "evil.parquet"))


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_what_is_no_recipe_makes_nothing(valid: Valid, tmp_path: Path, plan: Any) -> None:
    (tmp_path / "run.parquet").write_bytes(entry(origin=plan)(valid.bytes("run.parquet")))
    run = fg.Run.load(tmp_path / "run.parquet")
    for make in (run.task, run.rebuilt_learner, lambda: run.versions):
        refused(make)
    (tmp_path / "sweep.parquet").write_bytes(entry(plan=plan)(valid.bytes("sweep.parquet")))
    sweep = fg.Sweep.load(tmp_path / "sweep.parquet")
    refused(lambda: sweep.cell(0, sweep.learners[0]))


@pytest.mark.parametrize("commands", COMMANDS, ids=str)
def test_what_is_no_command_is_not_told(valid: Valid, tmp_path: Path, commands: Any) -> None:
    path = tmp_path / "sweep.parquet"
    path.write_bytes(valid.bytes("sweep.parquet"))
    settings = fg.Sweep.load(path).settings
    path.write_bytes(entry(settings={**settings, "commands": commands})(path.read_bytes()))
    sweep = fg.Sweep.load(path)
    refused(lambda: sweep.command(0, sweep.learners[0]))


@pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS.keys())
def test_what_is_no_file_is_no_saved_run(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "evil.parquet")
    refused(lambda: fg.Run.load(tmp_path / "evil.parquet"))
    refused(lambda: fg.Sweep.load(tmp_path / "evil.parquet"))
    refused(lambda: fg.from_file(tmp_path / "evil.parquet", score="score", label="paid", group="sex"))


@pytest.mark.parametrize("change", STATES.values(), ids=STATES.keys())
def test_a_learner_state_that_is_none_is_refused(change: Callable[[Any], Any]) -> None:
    setting = fg.load_task("interior").setting
    learner = fg.OFS()
    plain = json.loads(json.dumps(learner.save(learner.start(setting, 2, np.random.default_rng(0)))))
    refused(lambda: learner.load(change(plain), setting))


@pytest.mark.parametrize("name", ["report.json", "reference.json", "monitor.json"])
@pytest.mark.parametrize("text", ADVICE.values(), ids=ADVICE.keys())
def test_an_advice_that_is_none_is_refused(valid: Valid, tmp_path: Path, name: str, text: str) -> None:
    shutil.copytree(valid.folder / "advice", tmp_path / "inner" / "advice")
    (tmp_path / "inner" / "advice" / name).write_text(text)
    before = seen(tmp_path)
    ask("monitor", str(valid.folder / "people.parquet"), "--against", "advice", cwd=tmp_path / "inner")
    assert seen(tmp_path) == before


@pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_that_are_none_are_refused(valid: Valid, tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "gate.toml")
    make(tmp_path / "policy.toml")
    ask("live", "serve", cwd=tmp_path)
    ask("live", "audit", cwd=tmp_path)
    people = str(valid.folder / "people.parquet")
    codes = (2,) if make is not SETTINGS["nothing"] else (0, 2)
    ask("advise", people, *COLUMNS[2:], "--config", "policy.toml", cwd=tmp_path, codes=codes)
