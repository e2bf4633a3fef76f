"""Run: summary figures by hand, files that round-trip, files that do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pyarrow.parquet as pq
import pytest

import fairgate as fg


@pytest.fixture
def run(small_task: fg.Task) -> fg.Run:
    return fg.simulate(small_task, fg.OFS(), rounds=60, seeds=4)


def test_the_summary_is_what_its_words_say(run: fg.Run) -> None:
    """Recomputed with plain loops from counts and probabilities, for the last 20 rounds."""
    figures = run.per_replicate(tail=20)
    for r in range(4):
        gaps, rewards, violation = [], [], 0.0
        for t in range(60):
            cells = run.counts[r, t]
            n, accepted = cells.sum(axis=(1, 2)), cells[:, :, 1].sum(axis=1)
            gap = abs(accepted[0] / n[0] - accepted[1] / n[1])
            rate = accepted.sum() / n.sum()
            violation += max(gap - 0.2, 0) + max(0.3 - rate, 0) + max(rate - 0.9, 0)
            gaps.append(gap)
            rewards.append((cells[:, 1, 1].sum() - 1.5 * cells[:, 0, 1].sum()) / n.sum())
        assert figures["gap"][r] == pytest.approx(np.mean(gaps[-20:]))
        assert figures["reward"][r] == pytest.approx(np.mean(rewards[-20:]))
        assert figures["violation"][r] == pytest.approx(violation)
    summary = run.summary(tail=20)
    assert summary["reward"].mean == pytest.approx(figures["reward"].mean())
    assert summary["reward"].sd == pytest.approx(figures["reward"].std(ddof=1))
    feasible = (run.population.residuals[:, :, -20:] <= 0).all(axis=0).mean()
    assert summary["feasible"].mean == pytest.approx(feasible)


def test_one_replicate_has_no_standard_deviation(small_task: fg.Task) -> None:
    summary = fg.simulate(small_task, fg.OFS(), rounds=20, seeds=1).summary(tail=5)
    assert np.isnan(summary["reward"].sd)
    assert "±" not in str(summary["reward"])


def test_a_tail_longer_than_the_run_is_refused(run: fg.Run) -> None:
    with pytest.raises(fg.InputError, match="tail is the last 200 rounds, but the run has 60"):
        run.summary(200)


def test_the_tail_is_a_fifth_of_a_short_run_however_it_is_kept(small_task: fg.Task) -> None:
    size: dict[str, Any] = {"rounds": 60, "seeds": 3, "batch": 64}
    run = fg.simulate(small_task, fg.OFS(), **size)
    kept = fg.simulate(small_task, fg.OFS(), **size, keep="summary")
    for name, values in run.per_replicate().items():
        np.testing.assert_array_equal(values, run.per_replicate(12)[name])
        np.testing.assert_allclose(values, kept.figures[name], rtol=1e-12, err_msg=name)
    assert run.summary() == run.summary(12) != run.summary(13)
    np.testing.assert_array_equal(run.settled().single, np.median(run.thresholds[:, -12:], axis=1))
    found = run.against(fg.oracle(small_task, refine=False))
    np.testing.assert_array_equal(found.per_replicate()["tail_violation"], found.violation[:, -12:].mean(axis=1))
    with pytest.raises(fg.InputError, match="tail must be a whole number of at least 1, got 0"):
        run.settled(0)


def test_a_saved_run_comes_back_the_same(run: fg.Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "deep" / "run.parquet")
    back = fg.Run.load(path)
    for name in ("thresholds", "counts", "probabilities"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    for name in ("batch", "population"):
        np.testing.assert_array_equal(getattr(back, name).reward, getattr(run, name).reward)
        np.testing.assert_array_equal(getattr(back, name).residuals, getattr(run, name).residuals)
    np.testing.assert_array_equal(back.traces["feasible"], run.traces["feasible"])
    assert (back.names, back.settings) == (run.names, run.settings)
    assert back.summary(tail=20) == run.summary(tail=20)
    assert pq.read_table(path).num_rows == 4 * 60
    assert [p.name for p in path.parent.iterdir()] == ["run.parquet"]


@pytest.mark.parametrize("name", ["mve-s", "interior", "label-delay", "drift", "delayed-impact"])
def test_recorded_states_are_saved_with_the_run(name: str, tmp_path: Path) -> None:
    run = fg.simulate(fg.load_task(name), fg.OFS(), rounds=7, seeds=3, record=("state",))
    back = fg.Run.load(run.save(tmp_path / "run.parquet"))
    assert run.states
    assert list(back.states) == list(run.states)
    for field, values in run.states.items():
        assert back.states[field].dtype == values.dtype
        np.testing.assert_array_equal(back.states[field], values)
    assert not fg.simulate(fg.load_task(name), fg.OFS(), rounds=7, seeds=3).states


def test_a_run_without_constraints_comes_back_the_same(small_task: fg.Task, tmp_path: Path) -> None:
    free = replace(small_task, problem=fg.Problem(fg.Utility(1.0), []))
    run = fg.simulate(free, fg.Fixed(0.1), rounds=7, seeds=3)
    back = fg.Run.load(run.save(tmp_path / "run.parquet"))
    assert back.batch.residuals.shape == (0, 3, 7)
    np.testing.assert_array_equal(back.counts, run.counts)


def test_settings_tell_task_learner_and_seeds(run: fg.Run) -> None:
    assert run.settings["learner"] == {"kind": "OFS", "c": 0.5, "delta": 0.05, "exploration": 0.03}
    assert run.settings["task"]["environment"]["gain"] == 0.5
    assert run.settings["task"]["problem"]["constraints"][1] == {"kind": "ServiceRate", "low": 0.3, "high": 0.9}
    assert (run.settings["rounds"], run.settings["seeds"], run.settings["batch"]) == (60, 4, 256)


def test_files_that_are_no_run_are_refused(run: fg.Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run.parquet")
    (tmp_path / "short.parquet").write_bytes(path.read_bytes()[:1000])
    (tmp_path / "empty.parquet").write_bytes(b"")
    for name in ("short.parquet", "empty.parquet", "missing.parquet"):
        with pytest.raises(fg.InputError, match=f"{name} is no saved run"):
            fg.Run.load(tmp_path / name)
    table = pq.read_table(path)
    meta = table.schema.metadata[b"fairgate"].replace(b'"format": 3', b'"format": 9')
    pq.write_table(table.replace_schema_metadata({"fairgate": meta}), tmp_path / "newer.parquet")
    with pytest.raises(fg.InputError, match=r"newer.parquet has format 9, but this fairgate reads format 3"):
        fg.Run.load(tmp_path / "newer.parquet")


def test_a_place_that_cannot_be_written_is_said(run: fg.Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(fg.InputError, match=r"cannot write .*file.run\.parquet: "):
        run.save(tmp_path / "file" / "run.parquet")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_run_is_a_tidy_table_of_every_library(run: fg.Run, backend: Literal["pandas", "polars", "pyarrow"]) -> None:
    by_round, by_group = (nw.from_native(run.frame(by, backend), eager_only=True) for by in ("round", "group"))
    assert (len(by_round), len(by_group)) == (4 * 60, 4 * 60 * 2)
    assert type(by_round.to_native()).__module__.startswith(backend)
    at = by_round.filter((nw.col("replicate") == 2) & (nw.col("round") == 60)).rows(named=True)[0]
    assert (at["task"], at["learner"]) == (run.settings["task"]["name"], "OFS")
    assert at["reward"] == run.batch.reward[2, 59]
    assert at["gap"] == run.batch_gap[2, 59]
    assert at["population_parity"] == run.population.residuals[0, 2, 59]
    assert at["feasible"] == bool((run.population.residuals[:, 2, 59] <= 0).all())
    here = by_group.filter((nw.col("replicate") == 2) & (nw.col("round") == 60)).rows(named=True)
    assert [row["group"] for row in here] == [0, 1]
    assert [row["people"] for row in here] == run.counts[2, 59].sum(axis=(1, 2)).tolist()
    assert [row["threshold"] for row in here] == run.thresholds[2, 59].tolist()
    rates = [row["accepted"] / row["people"] for row in here]
    assert max(rates) - min(rates) == pytest.approx(at["gap"])
    summary = run.summary(tail=20)
    last = by_round.filter(nw.col("round") > 40)
    assert last["population_gap"].mean() == pytest.approx(summary["population_gap"].mean)
    assert by_round["violation"].sum() / 4 == pytest.approx(summary["violation"].mean)


def test_a_run_s_figures_are_fairlearn_s(run: fg.Run) -> None:
    """People made of the counts of some rounds, judged by fairlearn's own metrics."""
    metrics = pytest.importorskip("fairlearn.metrics")
    tidy, groups = run.frame(), run.frame(by="group")
    for place in (0, 33, 239):
        group, label, decision = (
            np.repeat(each.ravel(), run.counts.reshape(-1, 2, 2, 2)[place].ravel()) for each in np.indices((2, 2, 2))
        )
        gap = metrics.demographic_parity_difference(label, decision, sensitive_features=group)
        assert tidy["gap"][place] == pytest.approx(gap)
        frame = metrics.MetricFrame(
            metrics={"rate": metrics.selection_rate, "people": metrics.count},
            y_true=label,
            y_pred=decision,
            sensitive_features=group,
        )
        rows = groups[2 * place : 2 * place + 2]
        assert rows["acceptance"].to_numpy() == pytest.approx(frame.by_group["rate"].to_numpy())
        assert rows["people"].to_list() == frame.by_group["people"].to_list()


def test_a_table_of_something_else_is_refused(run: fg.Run) -> None:
    with pytest.raises(fg.InputError, match="by 'rounds'"):
        run.frame("rounds")
    with pytest.raises(fg.InputError, match="backend 'panda'"):
        run.frame(backend="panda")  # type: ignore[arg-type]


def test_a_learner_that_is_none_of_ours_has_a_name_too(small_task: fg.Task) -> None:
    class Own:
        def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> tuple[int, int]:
            return replicates, setting.groups

        def propose(self, state: tuple[int, int]) -> Any:
            return np.zeros(state)

        def observe(self, state: tuple[int, int], played: fg.Policy, feedback: fg.Feedback) -> None:
            pass

    run = fg.simulate(small_task, Own(), rounds=60, seeds=2)
    assert set(run.frame()["learner"]) == {"Own"}
    assert fg.plots.plot_learning(run).lines[0].get_label() == "Own"
