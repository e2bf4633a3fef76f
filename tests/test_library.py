"""`library=`: a simulation by the core of pure functions, from the same front door."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import BestLottery, ThresholdOptimizer


def test_it_is_a_run_like_any_other(tmp_path: Path) -> None:
    run = fg.simulate("german", fg.OFS(), rounds=30, seeds=2, library="numpy")
    assert run.thresholds.shape == (2, 30, 2)
    assert run.settings["library"] == "numpy"
    run.save(tmp_path / "run.parquet")
    kept = fg.Run.load(tmp_path / "run.parquet")
    again = fg.simulate(kept.task(), kept.rebuilt_learner(), **kept.size)
    np.testing.assert_array_equal(again.counts, run.counts)


def test_a_plain_learner_and_a_summary() -> None:
    line = fg.simulate("label-delay", fg.load_learner("mixture"), rounds=12, seeds=2, library="numpy", keep="summary")
    assert line.settings["library"] == "numpy"
    assert len(line.per_replicate()["reward"]) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parts": 2, "seeds": 2}, "parts must not be given with library, which needs arrays for it, got 2"),
        ({"record": "state"}, r"record must not be given with library, .* got \('state',\)"),
        ({"coupling": "independent"}, "coupling must not be given with library"),
        ({"library": "torch"}, "library must be one of jax, numpy, got 'torch'"),
        ({"library": ""}, "library must be one of jax, numpy, got ''"),
        ({"parts": "common"}, "parts must not be given with library"),
        ({"keep": "all"}, "unknown keep 'all': Known: run, summary"),
        ({"keep": "summary", "tail": 4}, "tail must be at most the 3 rounds of a run that is kept as a summary, got 4"),
    ],
)
def test_what_needs_arrays_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(fg.InputError, match=said):
        fg.simulate("german", fg.OFS(), **{"rounds": 3, "seeds": 1, "library": "numpy", **given})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "learner", [fg.OFS(c=np.array([0.1, 0.6])), BestLottery(collect=[5, 10]), ThresholdOptimizer(collect=[5, 10])]
)
def test_settings_may_vary_by_replicate(learner: fg.Learner) -> None:
    run = fg.simulate("german", learner, rounds=30, library="numpy")
    assert run.settings["seeds"] == 2
    for row in range(2):
        alone = fg.simulate("german", learner.rows(row), rounds=30, seeds=2, library="numpy")
        np.testing.assert_array_equal(run.thresholds[row], alone.thresholds[row])
    with pytest.raises(fg.InputError, match="seeds must be 2, as many as the settings that vary by replicate, got 3"):
        fg.simulate("german", learner, rounds=30, seeds=3, library="numpy")


def test_settings_that_vary_where_labels_are_late_need_a_learner_that_is_pure_there() -> None:
    run = fg.simulate("label-delay", fg.OFS(c=[0.1, 0.2]), rounds=5, library="numpy")
    assert run.settings["seeds"] == 2
    with pytest.raises(fg.InputError, match="library must be left out where settings vary by replicate and labels are"):
        fg.simulate("label-delay", BestLottery(collect=[3, 4]), rounds=5, library="numpy")


def test_without_jax_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.loops.simulation.find_spec", lambda name: None)
    with pytest.raises(fg.InputError, match=r"library 'jax' needs JAX, .*: pip install 'fairgate\[sim\]'"):
        fg.simulate("german", fg.OFS(), rounds=3, seeds=1, library="jax")


def test_without_constraints_reward_alone_counts() -> None:
    task = fg.load_task("interior")
    free = fg.Task(task.environment, fg.Problem(fg.Utility(1.0)), task.thresholds, "free")
    for name in ("ofs", "doubly-optimistic"):
        fg.simulate(free, fg.load_learner(name), rounds=20, seeds=2, library="numpy")


def test_runs_of_other_random_numbers_are_no_pairs() -> None:
    first, second = (fg.simulate("german", fg.OFS(), rounds=3, seeds=2, library=each) for each in (None, "numpy"))
    with pytest.raises(fg.InputError, match="library was given for one of"):
        fg.compare(first, second, "reward")


@pytest.mark.slow
def test_what_is_compiled_is_kept_for_the_next_command(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    command = [sys.executable, "-m", "fairgate", "run", "interior", "ofs", "--rounds", "20", "--seeds", "2"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    said = [
        subprocess.run([*command, "--library", "jax"], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    kept = tmp_path / "fairgate" / "jax"
    assert any(kept.iterdir())
    assert kept.stat().st_mode & 0o777 == 0o700
    assert said[0].stdout == said[1].stdout
