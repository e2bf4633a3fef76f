"""The benchmark as a Python user meets it: its files, its leaderboard, what is kept and what fails."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.bench import Bench, Size, run_bench
from fairgate.bench.entrants import pair_up, split_names
from fairgate.bench.leaderboard import rank
from fairgate.bench.matrix import Matrix, Outcome
from fairgate.bench.terminal import folded, show
from fairgate.learners import LEARNERS, Learner, State
from fairgate.places import own_learner
from fairgate.problem import Feedback
from fairgate.settings import Array
from fairgate.tasks import presets
from tests.browser import Browser
from tests.own_learner import Middle

SIZE = Size(rounds=60, seeds=4)


class Breaking(Middle):
    """Fails in round 30 of one task."""

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> Array:
        self.left = 30 if setting.problem.describe() == fg.load_task("german-strict").problem.describe() else 10_000
        return super().start(setting, replicates, rng)

    def observe(self, state: Array, played: fg.Policy, feedback: Feedback) -> None:
        self.left -= 1
        if not self.left:
            raise RuntimeError("out of patience")


class Shapeless(Middle):
    """Proposes one threshold too many."""

    def propose(self, state: Array) -> Array:
        return np.zeros((len(state), 9))


@dataclass(frozen=True)
class Forgetful(Learner[State]):
    """Plays by a counter outside its memory, which no saved state can tell."""

    def remember(self, setting: fg.Setting, common: Mapping[str, Any]) -> State:
        return State(**common)

    def choose(self, state: State) -> Array:
        plays.append(1)
        return np.full(state.replicates, state.grid[len(plays) % len(state.grid)])

    def learn(self, state: State, played: fg.Policy, feedback: Feedback) -> None:
        pass


plays: list[int] = []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def bench(folder: Path) -> Bench:
    """Three learners and a failing one on a static, a drifting and an infeasible task."""
    own = {"middle <b>": Middle(), "breaking": Breaking()}
    return run_bench(folder, ["ofs", "random", "best-lottery"], ["mve-s", "drift", "german-strict"], SIZE, own=own)


def test_the_document_holds_every_number(bench: Bench, folder: Path) -> None:
    document = json.loads((folder / "bench.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert document == bench.document
    assert document["format"] == 2
    reference = {"bandit": bench.board.references["bandit"]}
    assert reference["bandit"] in ("ofs", "random", "best-lottery")
    wanted = {"rounds": 60, "seeds": 4, "seed": 0, "batch": 256, "tail": 12, "reference": reference}
    assert {name: document["settings"][name] for name in wanted} == wanted
    assert document["settings"]["versions"]["fairgate"] == fg.__version__
    assert {name: task["feasible"] for name, task in document["tasks"].items()} == {
        "mve-s": True,
        "drift": True,
        "german-strict": False,
    }
    assert set(document["learners"]) == {"ofs", "random", "best-lottery", "middle <b>", "breaking"}
    for learner, by_task in document["results"].items():
        for task, figures in by_task.items():
            assert figures.keys() == bench.matrix.outcomes[learner, task].figures.keys()
            assert figures["shortfall"].keys() == {"mean", "iqm", "sd", "min", "max"}
    assert document["results"]["ofs"]["german-strict"]["regret"]["mean"] is None
    rows = [row for rows in document["leaderboard"].values() for row in rows]
    assert {row["learner"] for row in rows} == set(document["learners"])
    assert [row["learner"] for row in rows if row["better"] is None] == list(reference.values())
    assert document["results"]["ofs"]["mve-s"]["share"]["mean"] is None  # the fair lottery is the best there
    assert all(-1.0 <= row["share"]["low"] <= row["share"]["value"] <= row["share"]["high"] <= 1.0 for row in rows)


def test_the_tables_hold_every_seed_and_every_curve(bench: Bench, folder: Path) -> None:
    table = pq.read_table(folder / "bench.parquet").to_pydict()
    assert len(table["seed"]) == SIZE.seeds * len(bench.matrix.outcomes)
    chosen = [
        place
        for place, (a, b) in enumerate(zip(table["learner"], table["task"], strict=True))
        if (a, b) == ("ofs", "drift")
    ]
    run = fg.simulate(fg.load_task("drift"), fg.load_learner("ofs", "drift"), SIZE.rounds, SIZE.seeds)
    np.testing.assert_allclose(
        [table["violation"][place] for place in chosen], np.maximum(run.population.residuals, 0).sum(axis=(0, 2))
    )
    curves = pq.read_table(folder / "curves.parquet")
    assert {"learner", "level", "task", "round", "regret_iqm", "violation_high", "shortfall_low"} <= set(
        curves.column_names
    )


def test_a_failing_learner_is_named_with_its_task_and_costs_nobody_else_anything(bench: Bench, folder: Path) -> None:
    (failure,) = bench.matrix.failures
    assert str(failure).startswith("learner 'breaking' failed on german-strict: RuntimeError: out of patience (test_")
    assert ("breaking", "mve-s") in bench.matrix.outcomes
    assert bench.document["failures"] == [vars(failure)]
    last = bench.board.levels["bandit"][-1]
    assert (last.learner, last.tasks) == ("breaking", 2)
    assert not list((folder / "runs").glob("german-strict--breaking*.parquet"))


def test_what_is_done_is_kept_and_what_failed_is_tried_again(
    bench: Bench, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "copy"))
    files = {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("*.parquet")}
    monkeypatch.setattr(Breaking, "observe", Middle.observe)
    said: list[str] = []
    learners = ["ofs", "random", "best-lottery"]
    again = run_bench(folder, learners, ["german-strict"], SIZE, own={"breaking": Breaking()}, say=said.append)
    assert said[0] == "3 of 4 simulations are done already"
    assert again.matrix.failures == []
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert again.document["results"]["ofs"]["german-strict"] == bench.document["results"]["ofs"]["german-strict"]


def test_two_processes_find_what_one_finds(bench: Bench, tmp_path: Path) -> None:
    other = run_bench(tmp_path, ["ofs", "random"], ["mve-s", "drift"], SIZE, workers=2)
    for pair, outcome in other.matrix.outcomes.items():
        for name, values in outcome.figures.items():
            np.testing.assert_array_equal(values, bench.matrix.outcomes[pair].figures[name])


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_readable_at_any_width(bench: Bench, folder: Path, browser: Browser, width: int) -> None:
    page = browser.open(folder / "bench.html", width)
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    text = page.evaluate("document.body.innerText")
    assert "middle <b>" in text
    assert "learner 'breaking' failed on german-strict" in text
    unreachable = """[...document.querySelectorAll('*')].filter(box => box.scrollWidth > box.clientWidth + 1
        && ['auto', 'scroll'].includes(getComputedStyle(box).overflowX) && box.tabIndex < 0).length"""
    assert page.evaluate(unreachable) == 0
    assert page.evaluate("[...document.images].every(each => each.naturalWidth > 0 && each.alt)")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))
    links = page.evaluate("[...document.querySelectorAll('a')].map(each => each.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)


def outcome(learner: str, task: str, level: str, success: float, shortfall: Array, share: float = 0.5) -> Outcome:
    ones = np.ones_like(shortfall)
    figures = {
        "success": success * ones,
        "success_tight": success * ones,
        "shortfall": shortfall,
        "share": share * ones,
    }
    figures |= {name: ones.copy() for name in ("violation", "feasible_tail", "time_to_feasible", "says_infeasible")}
    return Outcome(learner, task, level, figures, {}, {"feasible": True}, {})


def made(*rows: tuple[str, str, float, float], missing: tuple[str, str] = ("", "")) -> Matrix:
    """Outcomes on two tasks: a learner's name, level, success, and how its shortfall differs."""
    rng = np.random.default_rng(1)
    base = {task: 0.1 + 0.01 * rng.random(20) for task in ("one", "two")}
    return Matrix(
        {
            (name, task): outcome(name, task, level, share, base[task] + shift)
            for name, level, share, shift in rows
            for task in base
            if (name, task) != missing
        }
    )


def test_the_rule_is_success_then_shortfall_and_the_incomplete_come_last() -> None:
    matrix = made(
        ("ofs", "bandit", 0.5, 0.0),
        ("sure", "bandit", 0.9, 0.1),
        ("quick", "bandit", 0.5, -0.05),
        ("seer", "selective-labels", 0.2, -0.09),
        ("rare", "bandit", 1.0, -0.08),
        missing=("rare", "two"),
    )
    board = rank(matrix)
    assert [row.learner for row in board.levels["bandit"]] == ["sure", "quick", "ofs", "rare"]
    assert [row.rank for row in board.levels["bandit"]] == [1, 2, 3, 4]
    assert board.order == ["sure", "quick", "ofs", "rare", "seer"]
    rows = {row.learner: row for rows in board.levels.values() for row in rows}
    assert rows["quick"].better is not None
    assert rows["quick"].better.value == 1.0
    assert rows["quick"].p is not None
    assert rows["quick"].p < 0.001
    assert rows["sure"].p is not None
    assert rows["sure"].p > 0.99
    assert rows["ofs"].p is None
    assert board.against["quick"] == {"one": "better", "two": "better"}
    assert board.against["sure"] == {"one": "worse", "two": "worse"}
    assert {task: {level: each.learner for level, each in best.items()} for task, best in board.best.items()} == {
        "one": {"bandit": "rare", "selective-labels": "seer"},
        "two": {"bandit": "sure", "selective-labels": "seer"},
    }
    assert board.comparison["sure"]["quick"] == 0.0
    assert board.comparison["quick"]["sure"] == 1.0


def test_learners_are_compared_with_the_best_baseline_of_their_level() -> None:
    matrix = made(
        ("ofs", "bandit", 0.2, 0.1),
        ("bayesian:delta=0.1", "bandit", 0.6, 0.05),
        ("random", "bandit", 0.9, -0.02),
        ("smooth-optimist", "bandit", 0.8, 0.0),
        ("mixture", "selective-labels", 0.5, 0.0),
        ("threshold-optimizer", "full-labels", 0.5, 0.0),
        missing=("random", "two"),
    )
    board = rank(matrix)
    wanted = {"bandit": "bayesian:delta=0.1", "selective-labels": None, "full-labels": "threshold-optimizer"}
    assert board.references == wanted  # random ranks higher on one task, but has no outcome on the other
    rows = {row.learner: row for rows in board.levels.values() for row in rows}
    assert {name for name, row in rows.items() if row.p is None} == {*wanted.values(), "mixture"} - {None}
    own, paper = rows["smooth-optimist"], rows["ofs"]
    assert own.difference is not None
    assert own.difference.value == pytest.approx(-0.05)
    assert paper.difference is not None
    assert paper.difference.value == pytest.approx(0.05)
    assert board.against["smooth-optimist"] == {"one": "better", "two": "better"}
    assert board.against["ofs"] == {"one": "worse", "two": "worse"}
    assert board.against["mixture"] == board.against["bayesian:delta=0.1"] == {"one": "", "two": ""}


def test_a_level_without_a_baseline_says_so_and_has_nothing_to_beat() -> None:
    matrix = made(("mixture", "selective-labels", 0.5, 0.0), ("mine", "selective-labels", 0.4, 0.1))
    with io.StringIO() as shown:
        show(matrix, rank(matrix), Console(width=80, file=shown))
        table, _ = " ".join(shown.getvalue().split()).split("Best of each feedback level")
    assert "No baseline has an outcome on every task" in table
    assert "beats" not in table
    assert "mixture" in table


def test_the_widest_numbers_fit_a_terminal() -> None:
    outcomes = {
        (name, "performative"): outcome(name, "performative", level, 1.0, np.linspace(1.0, 1.2345, 30) - better, -2.0)
        for name, level, better in (
            ("ofs", "bandit", 0.0),
            ("a-learner-of-many-words", "bandit", 0.2),
            ("seer", "scores", 0.1),
        )
    }
    for each in outcomes.values():
        each.figures["violation"].fill(12345.6)
        each.figures["time_to_feasible"].fill(100_000.0)
    matrix = Matrix(outcomes)
    with io.StringIO() as shown:
        show(matrix, rank(matrix), Console(width=80, file=shown))
        text = shown.getvalue()
    assert "…" not in text
    for whole in ("100%", "−1.00", "1.1173", "<.001", "12346", "100000", "1.234"):
        assert whole in text
    assert max(map(len, text.splitlines())) <= 80


def test_by_default_all_learners_meet_all_tasks() -> None:
    pairs = pair_up(None, None, SIZE)
    assert {pair.task.name for pair in pairs} == set(presets())
    assert {pair.name for pair in pairs} <= set(LEARNERS) - {"fixed"}
    assert {"ofs", "random", "primal-dual"} <= {pair.name for pair in pairs}
    chosen = pair_up(["ofs", "mixture"], ["mve-s"], SIZE, levels=["selective-labels"])
    assert [pair.name for pair in chosen] == ["mixture"]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"shapeless": Shapeless()}, "learner 'shapeless' breaks the contract: "),
        (
            {"forgetful": Forgetful()},
            "learner 'forgetful' breaks the contract: Forgetful(): plays differ from the same",
        ),
        (["json"], "learner 'json' must be a place such as package.module:Name"),
        (["no_such_thing:Mine"], "there is no module 'no_such_thing' here or installed"),
        (["json:JSONDecode"], "unknown name in learner json:JSONDecode 'JSONDecode': did you mean 'JSONDecoder'?"),
        (["json:JSONDecoder"], "must have the methods start, propose and observe, it has no start"),
        (["fairgate:OFS:c=-1"], "OFS: c must be a finite number"),
        (["fairgate:OFS:d=1"], "cannot be made with {'d': 1}"),
        (["fairgate:OFS:c"], "'c' must be a setting such as step=0.1"),
    ],
)
def test_a_learner_that_cannot_take_part_is_refused_at_once(own: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(fg.InputError) as raised:
        run_bench(tmp_path / "new", [], ["mve-s"], SIZE, own=own)
    assert sentence in str(raised.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"learners": ["osf"]}, "unknown learner 'osf': did you mean 'ofs'?"),
        ({"learners": ["fixed"]}, "learner 'fixed' needs threshold"),
        ({"tasks": ["germany"]}, "unknown task 'germany': did you mean 'german'?"),
        ({"levels": ["E"]}, "unknown level 'E'"),
        ({"learners": ["random"], "levels": ["full-labels"]}, "no learner is left of random"),
    ],
)
def test_names_that_are_none_are_said(names: dict[str, list[str]], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(fg.InputError) as raised:
        run_bench(tmp_path / "new", size=SIZE, **{"tasks": ["mve-s"], **names})  # type: ignore[arg-type]
    assert sentence in str(raised.value)
    assert not (tmp_path / "new").exists()


def test_settings_of_an_own_learner_are_read() -> None:
    assert own_learner("fairgate:OFS:c=0.1,exploration=0") == fg.OFS(c=0.1, exploration=0)


def test_names_are_parted_by_commas_but_settings_are_not() -> None:
    assert split_names(["a,b", "ofs:c=0.1,delta=0.1,random", "a"]) == ["a", "b", "ofs:c=0.1,delta=0.1", "random"]
    assert folded("package.module:Learner") == "package.module:\nLearner"
