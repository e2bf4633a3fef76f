"""A learner, an environment and a task from one file outside the package take part everywhere, with nothing edited."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench import Size, run_bench
from fairgate.bench.entrants import gather_tasks
from fairgate.places import find_task
from tests.command import fairgate, fairgate_here

MINE = '''
from dataclasses import dataclass

import numpy as np

import fairgate as fg


@dataclass(frozen=True)
class Crowd(fg.environments.Environment):
    """Scores are uniform on [0, 1] plus a shift per group that moves towards `pull` times the acceptance rate."""

    pull: float = 0.2

    @property
    def group_count(self):
        return 2

    def start(self, replicates=1):
        return np.zeros((replicates, 2))

    def probabilities(self, state, thresholds):
        above = np.clip(1.0 + state - thresholds, 0.0, 1.0)
        good = 0.5 * above * (1.0 + (1.0 - 0.5 * above))  # better scores are better people
        cells = np.empty((*state.shape, 2, 2))
        cells[..., 1, 1], cells[..., 0, 1] = good, above - good
        cells[..., 1, 0], cells[..., 0, 0] = 0.75 - good, 0.25 - (above - good)
        return np.clip(cells, 0.0, 1.0) / np.clip(cells, 0.0, 1.0).sum(axis=(2, 3), keepdims=True) / 2

    def update(self, state, counts, thresholds, *rest):
        rates = np.nan_to_num(counts.rates, nan=0.5)
        return state + 0.2 * (self.pull * (rates - 0.5) - state)

    def steady_state(self, thresholds):
        state = self.start(len(thresholds))
        for _ in range(300):
            cells = self.probabilities(state, thresholds)
            state = self.update(state, fg.Counts(cells), thresholds)
        return state

    def contraction(self):
        return 0.8 + 0.2 * self.pull


def crowd(pull=0.2, name="crowd"):
    problem = fg.Problem(fg.Utility(2.0), [fg.DemographicParity(0.1)])
    return fg.Task(Crowd(pull=pull), problem, np.linspace(0.1, 0.9, 9), name)


made = crowd(name="made")


class Stubborn:
    """Only the three methods: always the same place of the grid."""

    def __init__(self, place=0.5):
        self.place = place

    def start(self, setting, replicates, rng):
        low, high = setting.thresholds[[0, -1]]
        return np.full((replicates, setting.groups), low + self.place * (high - low))

    def propose(self, state):
        return state

    def observe(self, state, played, feedback):
        pass


def fails():
    raise OSError("no network")
'''

SIZE = ("--rounds", "60", "--seeds", "3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside_file.py").write_text(MINE)
    return tmp_path


@pytest.fixture
def outside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module("outside_file")


def test_they_are_simulated_and_have_names_that_last(outside: ModuleType, tmp_path: Path) -> None:
    task = outside.crowd(pull=0.1)
    run = fg.simulate(task, outside.Stubborn(0.25), rounds=60, seeds=3)
    assert run.settings["learner"] == {"kind": "Stubborn", "place": 0.25}
    assert run.learner == "Stubborn"
    saved = fg.Run.load(run.save(tmp_path / "run.parquet"))
    assert saved.settings == run.settings
    assert set(saved.frame()["learner"]) == {"Stubborn"}
    assert run.settings["task"]["environment"] == {
        "kind": "Crowd", "label_arrival": 1.0, "label_loss": 0.0, "pull": 0.1,
    }  # fmt: skip
    np.testing.assert_allclose(run.thresholds, 0.3)


def test_they_run_on_the_command_line(folder: Path) -> None:
    names = ("outside_file:crowd:pull=0.1", "ofs", "outside_file:Stubborn:place=0.25")
    result = fairgate("run", *names, *SIZE, "--tail", "20", "--json", "--out", "out", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["task"]["name"] == "crowd"
    assert document["task"]["environment"]["pull"] == 0.1
    assert document["learners"][names[2]]["settings"] == {"kind": "Stubborn", "place": 0.25}
    files = sorted(path.name for path in (folder / "out").iterdir())
    assert files == ["crowd-ofs.parquet", "crowd-outside_file-Stubborn-place=0.25.parquet", "summary.json"]


def test_they_are_benchmarked_on_the_command_line_and_kept(folder: Path) -> None:
    own = ("--task", "outside_file:made", "--task", "outside_file:crowd", "--learner", "outside_file:Stubborn")
    command = ("bench", *own, "--learners", "ofs,random", "--tasks", "mve-s", *SIZE, "--workers", "1", "--json")
    first = fairgate(*command, cwd=folder)
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert set(document["tasks"]) == {"mve-s", "made", "crowd"}
    assert set(document["results"]) == {"ofs", "random", "outside_file:Stubborn"}
    assert document["learners"]["outside_file:Stubborn"]["settings"]["crowd"] == {"kind": "Stubborn", "place": 0.5}
    assert "9 of 9 simulations are done already" in fairgate(*command, cwd=folder).stderr
    (folder / "outside_file.py").write_text(MINE.replace("0.2 * (self.pull", "0.3 * (self.pull"))
    assert "3 of 9 simulations are done already" in fairgate(*command, cwd=folder).stderr  # those on mve-s


def test_tasks_can_be_objects(outside: ModuleType, tmp_path: Path) -> None:
    tasks = [outside.made, "mve-s"]
    found = run_bench(tmp_path / "bench", ["ofs"], tasks, Size(60, 3), own={"stubborn": outside.Stubborn()})
    assert found.matrix.tasks == ["made", "mve-s"]
    assert found.board.order[0] in ("ofs", "stubborn")
    with pytest.raises(fg.InputError, match="two tasks are called 'made'"):
        gather_tasks([outside.made, outside.crowd(name="made")])


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (
            "outside_file:Stubborn",
            "task 'outside_file:Stubborn' must be a Task or a function that returns one, got Stub",
        ),
        ("outside_file:crwd", "unknown name in task outside_file:crwd 'crwd': did you mean 'crowd'?"),
        ("outside_file:", "task 'outside_file:' must be a place such as package.module:Name"),
        (
            "outside_file:crowd:",
            "task 'outside_file:crowd:' must have settings such as step=0.1 after its last colon, or",
        ),
        ("nowhere:crowd", "task 'nowhere:crowd': there is no module 'nowhere' here or installed"),
        ("outside_file:crowd:pull", "task 'outside_file:crowd:pull': 'pull' must be a setting such as step=0.1"),
        ("outside_file:crowd:push=1", "task 'outside_file:crowd:push=1' cannot be made with {'push': 1}: "),
        ("outside_file:fails", "task 'outside_file:fails' cannot be made with no settings: no network"),
        ("germany", "unknown task 'germany': did you mean 'german'?"),
    ],
)
def test_what_is_no_task_is_said(outside: ModuleType, task: str, sentence: str) -> None:
    with pytest.raises(fg.InputError) as raised:
        find_task(task)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("command", [("run", "outside_file:crwd", "ofs"), ("bench", "--task", "outside_file:crwd")])
def test_what_is_no_task_is_one_sentence_and_exit_code_2(folder: Path, command: tuple[str, ...]) -> None:
    result = fairgate_here(*command, *SIZE, cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "fairgate: unknown name in task outside_file:crwd 'crwd': did you mean 'crowd'? Known: Crowd, Stubborn, crowd, "
        "dataclass, fails\n"
    )
