"""What a run was made of, made again from its file."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.learners import AnyLearner
from fairgate.learners.registry import LEARNERS
from fairgate.problem import Feedback
from fairgate.recipe import pack, unpack
from fairgate.settings import Array
from fairgate.tasks import presets


def again(run: fg.Run, path: Path, *own: type) -> fg.Run:
    """Save a run, read it, and simulate what it was made of."""
    back = fg.Run.load(run.save(path / "run.parquet"))
    found: fg.Run = fg.simulate(back.task(*own), back.rebuilt_learner(*own), **back.size)
    return found


def same(one: fg.Run, other: fg.Run) -> None:
    for field in ("counts", "probabilities"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    np.testing.assert_array_equal(one.policies.thresholds, other.policies.thresholds)
    np.testing.assert_array_equal(one.population.residuals, other.population.residuals)
    assert one.settings == other.settings


@pytest.mark.parametrize("name", presets())
def test_every_built_in_task_is_made_again(name: str, tmp_path: Path) -> None:
    run = fg.simulate(fg.load_task(name), fg.OFS(c=[0.1, 0.2]), 8, 2, seed=3, batch=32)
    same(again(run, tmp_path), run)


def test_every_built_in_learner_is_made_again() -> None:
    for name in LEARNERS:
        learner = fg.load_learner("fixed:threshold=0.1" if name == "fixed" else name)
        back = unpack(json.loads(json.dumps(pack(learner))))
        assert type(back) is type(learner)
        assert back.describe() == learner.describe()


def test_a_task_of_ones_own_numbers_is_made_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    people = rng.normal(size=300), rng.integers(2, size=300), rng.integers(3, size=300)
    settings: dict[str, Any] = {"weights": rng.uniform(size=300), "rate": [0.1, 0.2, 0.3], "label_arrival": 0.5}
    pools = fg.environments.ScorePools(*people, **settings)
    limits = [fg.EqualOpportunity(0.1), fg.GroupService(0.1, 0.9), fg.Budget((0.5, 0.6, 0.7))]
    task = fg.Task(pools, fg.Problem(fg.Utility([1.0, 2.0, 3.0]), limits), np.linspace(-2, 2, 101), "my own")
    run = fg.simulate(task, fg.SafeForecast(), 12, 3, batch=50, parts=3)
    same(again(run, tmp_path), run)
    same(again(run.rows(slice(3)), tmp_path), run)


@dataclass(frozen=True)
class Slower(GaussianScores):
    """Moves half as fast."""

    def update(self, state: Array, counts: fg.Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        return np.asarray(0.5 * (state + super().update(state, counts, thresholds, rng)))


@dataclass(frozen=True)
class AtMostHalf:
    """A constraint of one's own: no more than a share is accepted."""

    share: float = 0.5

    @property
    def names(self) -> Sequence[str]:
        return ("half",)

    def residuals(self, counts: fg.Counts) -> Sequence[Array]:
        return [counts.overall - self.share]


class Strict:
    """A learner of one's own that is no dataclass."""

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> tuple[int, int]:
        return replicates, setting.groups

    def propose(self, state: tuple[int, int]) -> Array:
        return np.ones(state)

    def observe(self, state: tuple[int, int], played: fg.Policy, feedback: Feedback) -> None:
        pass


def own_task() -> fg.Task:
    task = fg.load_task("interior")
    environment = {**task.environment.describe()}
    del environment["kind"]
    return replace(
        task, environment=Slower(**environment), problem=fg.Problem(fg.Utility(1.0), [AtMostHalf(0.4)]), name="own"
    )


def test_classes_of_ones_own_are_named_and_can_be_passed(tmp_path: Path) -> None:
    run = fg.simulate(own_task(), fg.OFS(), 8, 2)
    with pytest.raises(fg.InputError, match=r"test_recipe:\w+ is none of fairgate's classes: pass the class"):
        again(run, tmp_path)
    same(again(run, tmp_path, Slower, AtMostHalf), run)
    back = fg.Run.load(tmp_path / "run.parquet")
    with pytest.raises(fg.InputError, match="pass the class AtMostHalf as a further argument"):
        back.task(Slower)


def test_what_only_its_own_code_can_make_is_said(tmp_path: Path) -> None:
    strict: AnyLearner = Strict()
    back = fg.Run.load(fg.simulate(fg.load_task("interior"), strict, 8, 2).save(tmp_path / "run.parquet"))
    with pytest.raises(fg.InputError, match=r"object of .*test_recipe:Strict .* no dataclass"):
        back.rebuilt_learner()
    assert back.task().name == "interior"


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({"class": "os:system", "fields": {}}, "none of fairgate's classes"),
        ({"class": "fairgate.importing:import_place", "fields": {"place": "os:system"}}, "this fairgate has no"),
        ({"class": "fairgate.constraints.budget:Nothing", "fields": {}}, "this fairgate has no"),
        ({"class": "fairgate.nowhere:Nothing", "fields": {}}, "this fairgate has no"),
        ({"class": "fairgate.constraints.budget:Budget", "fields": {"old": 1}}, "cannot be made again"),
        ({"class": "fairgate.constraints.budget:Budget", "fields": {"budget": 7.0}}, "Budget"),
        ({"array": "!!", "dtype": "<f8", "shape": [1]}, "cannot be made again"),
        ({"array": "AAAA", "dtype": "<f8", "shape": [1]}, "cannot be made again"),
        ({}, "cannot be made again"),
    ],
)
def test_only_what_fairgate_wrote_is_made(plain: dict[str, Any], told: str) -> None:
    with pytest.raises(fg.InputError, match=told):
        unpack(plain)
    with pytest.raises(fg.InputError, match="no task"):
        fg.Task.from_json(pack(fg.Utility(1.0)))


def test_arrays_come_back_bit_by_bit() -> None:
    for array in (np.array([0.1, np.nan, -0.0, np.inf]), np.arange(6, dtype=np.int8).reshape(2, 3), np.array([True])):
        back = unpack(json.loads(json.dumps(pack(array))))
        assert back.dtype == array.dtype
        assert back.tobytes() == array.tobytes()
    assert unpack(pack({"a": (1, [2.5, None])})) == {"a": (1, [2.5, None])}


def test_a_file_has_the_versions_that_made_it(tmp_path: Path) -> None:
    run = fg.simulate(fg.load_task("interior"), fg.OFS(), 8, 2)
    back = fg.Run.load(run.save(tmp_path / "run.parquet"))
    assert back.versions == run.versions
    assert set(back.versions) == {"python", "numpy", "scipy", "scikit-learn", "fairgate", "code"}
    assert back.versions["numpy"] == np.__version__
    twice = fg.Run.load(back.save(tmp_path / "again.parquet"))
    assert twice.versions == run.versions
    other = fg.simulate(fg.load_task("interior"), fg.Random(), 8, 2)
    assert other.versions["code"] != run.versions["code"]
    with pytest.raises(fg.InputError, match="does not know what it was made of"):
        replace(run, origin=None).task()


BOMB = base64.b64encode(zlib.compress(bytes(1 << 24))).decode()


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({"array": BOMB, "dtype": "<f8", "shape": [2]}, "cannot be made again"),
        ({"array": BOMB, "dtype": "<f8", "shape": [1 << 60]}, "must have at most 1073741824 bytes"),
        ({"array": BOMB, "dtype": "<f8", "shape": [10**3000] * 2}, "must have at most 1073741824 bytes"),
        ([{"array": BOMB, "dtype": "<f8", "shape": [1 << 21]}] * 65, "must have at most 1073741824 bytes"),
        ({"mapping": {"array": [{"array": BOMB, "dtype": "|u1", "shape": [1 << 30]}] * 2}}, "must have at most"),
        ({"class": "fairgate.constraints.budget:Budget", "fields": {"share": 10**400}}, "share must be"),
        ({"array": BOMB, "dtype": "<f8", "shape": [-1]}, "must be of numbers and have a shape"),
        ({"array": BOMB, "dtype": "O", "shape": [1]}, "must be of numbers and have a shape"),
        ({"array": BOMB, "dtype": "<f8,<f8", "shape": [1]}, "must be of numbers and have a shape"),
        ({"array": BOMB, "dtype": ["<f8"], "shape": [1]}, "cannot be made again"),
        ({"class": "fairgate.live.gate:Gate", "fields": {"url": "PWNED.db", "name": "x"}}, "this fairgate has no"),
        ({"class": "fairgate.run:Run", "fields": {}}, "this fairgate has no"),
        ({"class": "fairgate.learners.registry:Task", "fields": {}}, "this fairgate has no"),
        ({"class": "fairgate.learners.state:State", "fields": {}}, "this fairgate has no"),
        ({"type": "fairgate.people.sources:Source"}, "this fairgate has no"),
        ({"class": ["x"], "fields": {}}, "cannot be made again"),
        ({"class": "fairgate.constraints.budget:Budget", "fields": []}, "cannot be made again"),
    ],
)
def test_a_recipe_makes_only_parts_of_tasks_and_learners_and_small_arrays(plain: dict[str, Any], told: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(fg.InputError, match=told):
            unpack(plain)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22  # 16 MiB would be unpacked
    finally:
        tracemalloc.stop()


def test_a_recipe_nested_too_deeply_is_one_sentence() -> None:
    plain: Any = 1.0
    for _ in range(5000):
        plain = {"tuple": [plain]}
    with pytest.raises(fg.InputError, match="cannot be made again"):
        unpack(plain)


def test_a_recipe_opens_no_table(tmp_path: Path) -> None:
    table = tmp_path / "past.csv"
    table.write_text("score,group,accepted,outcome\n0.2,f,0,\n0.7,m,1,1\n0.9,f,1,0\n")
    learner = fg.SafeSearch(history=str(table))
    plain = json.loads(json.dumps(pack(learner)))
    assert unpack(plain).history == learner.history
    plain["fields"]["history"] = str(table)
    with pytest.raises(fg.InputError, match="history must be kept as what it holds"):
        unpack(plain)
    plain["fields"]["history"] = {"mapping": {"score": [0.2]}}
    with pytest.raises(fg.InputError, match="history must be kept as what it holds"):
        unpack(plain)


def test_a_class_that_is_given_stands_for_none_of_fairgates() -> None:
    class Budget:
        """Called as one of fairgate's."""

    assert type(unpack(pack(fg.Budget(0.5)), (Budget,))) is fg.Budget
