"""Random worlds on the command line and by name: what is refused, what is kept, and a user's own learner."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench import run_worlds, share
from fairgate.worlds import world_task
from fairgate.worlds.shapes import shape_of
from tests.command import fairgate, fairgate_here

MINE = """
import numpy as np

class Mine:
    policies = "lottery"

    def __init__(self, place=0.5):
        self.place = place

    def start(self, setting, replicates, rng):
        low, high = setting.thresholds[[0, -1]]
        return np.full((replicates, setting.groups), low + self.place * (high - low))

    def propose(self, state):
        return state

    def observe(self, state, played, feedback):
        pass
"""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--worlds", "many"), "--worlds must be how many, such as 500, or which, such as 0:200 for development"),
        (("--worlds", "0"), "--worlds must be how many"),
        (("--worlds", "20:10"), "--worlds must be how many"),
        (("--worlds", "0:20:0"), "--worlds must be how many"),
        (("--worlds", "500:50"), "--worlds must be how many"),
        (("--worlds", "-5"), "--worlds must be how many"),
        (("--worlds", "2.5"), "--worlds must be how many"),
        (("--worlds", "3", "--policies", "lotery"), "unknown policies 'lotery': did you mean 'lottery'?"),
        (("--worlds", "3", "--tasks", "german"), "--worlds and --tasks are two benchmarks: give one of them"),
        (("--worlds", "3", "--task", "mine:task"), "--worlds and --tasks are two benchmarks"),
        (("--worlds", "3", "--seeds", "0"), "seeds must be"),
        (("--worlds", "3", "--rounds", "0"), "rounds must be"),
        (("--worlds", "3", "--learners", "osf"), "unknown learner 'osf': did you mean 'ofs'?"),
        (("--worlds", "3", "--level", "all"), "unknown level 'all'"),
        (("--worlds", "3", "--learners", "ofs", "--level", "scores"), "no learner is left of ofs"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    result = fairgate_here("bench", *arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "bench").exists()


@pytest.mark.slow
def test_an_own_learner_takes_part_and_what_is_done_is_found_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    command = ("bench", "--worlds", "3:6", "--learners", "random", "--rounds", "20", "--workers", "1", "--json")
    first = fairgate(*command, "--learner", "mine:Mine:place=0.6", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    rows = {row["learner"]: row for row in document["board"]["bandit"]}
    assert set(rows) == {"random", "mine:Mine:place=0.6"}
    assert rows["mine:Mine:place=0.6"]["policies"] == "lottery"
    assert document["settings"]["which"] == "3 to 5"
    assert "mine:Mine:place=0.6" in (tmp_path / "bench/worlds.html").read_text(encoding="utf-8")
    again = fairgate_here(*command, cwd=tmp_path)
    assert again.returncode == 0
    assert "3 of 3 blocks are done already" in again.stderr
    assert "3 of 3 simulations are done already" in again.stderr
    (row,) = json.loads(again.stdout)["board"]["bandit"]
    assert row["share"] == rows["random"]["share"]


def test_policies_decide_what_a_share_is_of(tmp_path: Path) -> None:
    lottery = run_worlds(tmp_path, (4, 9), ["random"], rounds=20)
    threshold = run_worlds(tmp_path, (4, 9), ["random"], rounds=20, policies="threshold")
    assert threshold.document["settings"]["policies"] == "threshold"
    shares = threshold.matrix.figures["random"]["share_threshold"]
    row = threshold.board.levels["bandit"][0]
    here = threshold.board.worlds["bandit"]
    assert row.share.value == pytest.approx(np.clip(shares[here], -1, 1).mean())
    assert row.median != lottery.board.levels["bandit"][0].median
    assert "best fixed threshold of a world earns" in (tmp_path / "worlds.html").read_text(encoding="utf-8")


def test_a_world_is_a_task_by_its_name(tmp_path: Path) -> None:
    assert fg.run_worlds is run_worlds
    task = fg.load_task("world-4")
    assert task.name == "world-4"
    assert task.describe() == world_task(4).describe()
    np.testing.assert_array_equal(task.thresholds, shape_of(4).grid)
    assert fg.load_learner("ofs", "world-4") == fg.OFS()
    by_name = fg.simulate("world-4", fg.OFS(), rounds=10, seeds=2, batch=50)
    np.testing.assert_array_equal(by_name.thresholds, fg.simulate(task, fg.OFS(), 10, 2, batch=50).thresholds)
    result = fairgate_here("run", "world-4", "random", "--rounds", "20", "--seeds", "2", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stdout.split()[0] == "world-4:"


@pytest.mark.parametrize("name", ["world-x", "world-", "world--3", "world-1.5", "world-²"])
def test_a_name_that_is_no_world_is_one_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(fg.InputError, match="must be world- and a number from 0, such as world-10003"):
        fg.load_task(name)
    result = fairgate_here("run", name, "random", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"fairgate: task {name!r} must be world- and a number from 0, such as world-10003\n"


def test_a_world_is_played_with_its_own_batch_and_its_normalised_reward_is_told(tmp_path: Path) -> None:
    command = ("run", "world-12", "random", "--rounds", "20", "--seeds", "3")
    result = fairgate_here(*command, cwd=tmp_path)
    assert result.returncode == 0
    assert f"3 seeds × 20 rounds of {shape_of(12).batch} people" in result.stdout
    assert "Normalised reward: random " in result.stdout
    document = json.loads(fairgate_here(*command, "--json", cwd=tmp_path).stdout)
    assert document["batch"] == shape_of(12).batch == 64
    run = fg.simulate("world-12", fg.load_learner("random"), 20, 3, batch=64)
    best = share.yardsticks_of(fg.load_task("world-12"), 20)
    could, broken = (best.lottery - best.fair).sum(), np.maximum(run.population.residuals, 0.0).sum(axis=(0, 2))
    expected = ((run.population.reward - best.fair).sum(axis=1) - share.PRICE * broken) / could
    assert document["learners"]["random"]["share"]["mean"] == pytest.approx(expected.mean())
    other = fairgate_here(*command, "--batch", "50", cwd=tmp_path)
    assert "rounds of 50 people" in other.stdout
    assert "Normalised" not in fairgate_here("run", "mve-s", *command[2:], cwd=tmp_path).stdout
