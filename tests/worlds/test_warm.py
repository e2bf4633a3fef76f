"""Worlds with a past: which old threshold is played, what the table of its decisions holds, and who starts from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench import run_worlds
from fairgate.bench.worlds.blocks import WorldBlock
from fairgate.bench.worlds.warm import Following, history_of, old_thresholds, rounds_before
from fairgate.history import History
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import Observation
from fairgate.worlds.loading import load_world, task_of
from tests.command import fairgate_here
from tests.past import Keeper


def seen_in(task: fg.Task, thresholds: np.ndarray, rounds: int, batch: int = 50) -> list[Observation]:
    """Play one threshold per replicate, and return what a learner would see."""
    loop = Loop(task, len(thresholds), batch, Nature(seed=3), "selective-labels")
    policy = Policy.shared(thresholds, task.environment.group_count)
    return [loop.play(policy).feedback.observation for _ in range(rounds)]


def test_the_old_threshold_accepts_about_the_middle_of_what_the_constraints_allow() -> None:
    task = task_of([load_world(number) for number in (200, 210)])
    found = old_thresholds(task, 2)
    middle = acceptance_window(task.problem, task.environment.group_count).mean(axis=0)
    start = task.environment.start(2)
    rates = []
    for threshold in task.thresholds:
        cells = task.environment.cells(start, Policy.shared([threshold] * 2, task.environment.group_count))
        rates.append(cells[..., 1].sum(axis=(1, 2)))
    nearest = np.abs(np.array(rates) - middle).argmin(axis=0)
    assert found.tolist() == task.thresholds[nearest].tolist()


def test_the_table_gives_back_what_was_seen() -> None:
    task = fg.load_task("interior")
    thresholds = task.thresholds[[10, 25]]
    seen = seen_in(task, thresholds, rounds=6)
    history = history_of(task.setting, seen, thresholds)
    assert history.people == 2 * 6 * 50
    for mine, yours in zip(history.observations(task.setting, 2, batch=50), seen, strict=True):
        for one, other in zip(mine, yours, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other))
    old = history.old_policy(task.setting, 2)
    assert old.explained.tolist() == [1.0, 1.0]


def test_its_rounds_are_those_that_were_played() -> None:
    task = fg.load_task("interior")
    loop = Loop(task, 2, 50, Nature(seed=3), "selective-labels")
    policy = Policy.shared(task.thresholds[[10, 20]], 2)
    played = [loop.play(policy).feedback for _ in range(4)]
    history = history_of(task.setting, [each.observation for each in played], task.thresholds[[10, 20]])
    for (old, mine), yours in zip(history.rounds(task.setting, 2, batch=50), played, strict=True):
        assert np.array_equal(mine.reward, yours.reward)
        assert np.array_equal(mine.residuals, yours.residuals)
        for one, other in zip(mine.observation, yours.observation, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other))
        assert (np.abs(old.single - policy.single) < 0.5).all()
        assert len(mine.credited(old)) == 1


def test_late_labels_are_in_the_table_if_they_have_arrived() -> None:
    task = task_of([load_world(next(n for n in range(200, 300) if 0.0 < load_shape(n) < 0.5))])
    threshold = old_thresholds(task, 1)
    seen = seen_in(task, threshold, rounds=8)
    table = history_of(task.setting, seen, threshold)
    (all_of_it,) = table.observations(task.setting, 1, batch=8 * 50)
    assert np.array_equal(all_of_it.binned[1], sum(each.binned[1] for each in seen))
    assert np.array_equal(all_of_it.binned[0], sum(each.binned[0] for each in seen))
    known = table.tables[0].outcomes[table.tables[0].accepted] < 2
    assert 0.0 < known.mean() < 1.0
    assert known[: len(known) // 2].mean() > known[len(known) // 2 :].mean()


def load_shape(number: int) -> float:
    """Return the probability by which a label of a world arrives in a round."""
    return float(WorldBlock((number,)).shape.label_arrival)


def test_what_follows_goes_on_where_the_old_threshold_ended() -> None:
    task = fg.load_task("drift")
    threshold = float(task.thresholds[20])
    plain = fg.simulate(task, fg.Fixed(threshold), 30, 3, batch=64)
    followed = fg.simulate(task, Following(fg.Fixed(threshold), threshold, 10), 30, 3, batch=64)
    assert np.array_equal(plain.counts, followed.counts)
    other = fg.simulate(task, Following(fg.Fixed(float(task.thresholds[0])), threshold, 10), 30, 3, batch=64)
    assert np.array_equal(plain.counts[:, :10], other.counts[:, :10])
    assert (other.thresholds[:, 10:] == task.thresholds[0]).all()


def test_a_learner_that_takes_a_history_starts_from_it_in_every_replicate() -> None:
    task = fg.load_task("interior")
    thresholds = task.thresholds[[8, 30, 15]]
    run = fg.simulate(task, Following(Keeper(), thresholds.tolist(), 4), 10, 3, batch=500)
    assert (run.thresholds[:, :4, 0] == thresholds[:, None]).all()
    settled = np.searchsorted(task.thresholds, run.thresholds[:, 5, 0])
    assert (settled >= [8, 30, 15]).all()  # above it where nobody scores in between
    assert (settled <= np.array([8, 30, 15]) + 2).all()
    assert np.isnan(run.traces["labels"][:, 3]).all()
    assert (run.traces["labels"][:, 4] == run.counts[:, :4, :, :, 1].sum(axis=(1, 2, 3))).all()


def test_rounds_before() -> None:
    block = WorldBlock((200,))
    batch = block.shape.batch
    assert [rounds_before(block, people) for people in (0, 1, batch, batch + 1)] == [0, 1, 1, 2]


@pytest.mark.slow
def test_the_benchmark_tells_of_the_history(tmp_path: Path) -> None:
    found = run_worlds(tmp_path, [200], ["accept-all"], own={"keeper": Keeper()}, rounds=30, history=400)
    assert not found.matrix.failures
    settings = found.document["settings"]
    assert (settings["history"], settings["warm"], settings["rounds"]) == (400, ["keeper"], 30)
    page = (tmp_path / "worlds.html").read_text()
    assert "After 400 past decisions." in page
    assert "keeper started from the table of these decisions" in page
    cold = run_worlds(tmp_path, [200], ["accept-all"], own={"keeper": Keeper()}, rounds=30)
    assert "history" not in cold.document["settings"]
    assert "past decisions" not in (tmp_path / "worlds.html").read_text()
    assert cold.matrix.figures["keeper"]["share"] != found.matrix.figures["keeper"]["share"]


def test_a_history_is_for_worlds(tmp_path: Path) -> None:
    for arguments, sentence in (
        (("--history", "10"), "--history is for --worlds, got 10 without it"),
        (("--worlds", "0:1", "--history", "0"), "--history must be a whole number of at least 1, got 0"),
    ):
        result = fairgate_here("bench", *arguments, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        assert sentence in result.stderr


def test_a_table_of_nobody_known_is_no_error() -> None:
    """Labels may all be on their way when the learner starts."""
    task = fg.load_task("interior")
    (first,) = seen_in(task, task.thresholds[[5]], rounds=1)
    hidden = first._replace(labels=np.zeros_like(first.binned[1]))
    history = history_of(task.setting, [hidden], task.thresholds[[5]])
    (again,) = history.observations(task.setting, 1, batch=50)
    assert again.binned[1].sum() == 0
    assert isinstance(history, History)
