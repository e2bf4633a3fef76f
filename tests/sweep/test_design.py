"""Which settings a sweep looks at, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.sweep.design import Range, make_design, parse_range
from fairgate.sweep.parameters import Known


def test_a_full_design_has_all_combinations() -> None:
    found = make_design({"a": Range(0, 1, 3), "b": [1.0, 2.0]}, {})
    assert sorted(zip(found["a"], found["b"], strict=True)) == [(a, b) for a in (0, 0.5, 1) for b in (1, 2)]


def test_a_random_design_is_spread_over_the_ranges() -> None:
    found = make_design({"a": Range(0.01, 1, log=True), "n": Range(10, 20), "b": [1.0, 3.0]}, {"n": True}, "random", 64)
    assert len(found["a"]) == 64
    parts, _ = np.histogram(np.log10(found["a"]), bins=np.linspace(-2, 0, 65))
    assert (parts == 1).all()
    assert found["n"].dtype == np.int64
    assert set(found["b"]) == {1.0, 3.0}
    assert abs((found["b"] == 1.0).sum() - 32) <= 1
    again = make_design({"a": Range(0.01, 1, log=True)}, {}, "random", 64, seed=1)
    assert (again["a"] != found["a"]).any()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rate=0.01:0.5:20", Range(0.01, 0.5, 20)),
        ("rate=0.01:1:9:log", Range(0.01, 1, 9, log=True)),
        ("rate=0.01:1:log", Range(0.01, 1, log=True)),
        ("rate=0.1", [0.1]),
        ("batch=64,256", [64.0, 256.0]),
    ],
)
def test_ranges_are_read(text: str, wanted: Any) -> None:
    assert parse_range(text)[1] == wanted


@pytest.mark.parametrize(
    "text", ["rate", "rate=", "=0.1", "rate=a:b:3", "rate=0.1:0.2:3:4", "rate=0.1:0.2:2.5", "rate=1,,2"]
)
def test_what_is_no_range_is_said(text: str) -> None:
    with pytest.raises(fg.InputError, match=r"--over .* must be name=low:high:count"):
        parse_range(text)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"rat": [0.1]}, r"unknown parameter 'rat': did you mean 'rate'\? Known: .*epsilon.*exploration.*rate"),
        ({"rate": []}, "rate must have at least one value"),
        ({"rate": [0.1, 0.1]}, "rate must have each value once"),
        ({"rate": ["fast"]}, "rate must be finite numbers, got"),
        ({"rate": [np.nan]}, "rate must be finite numbers"),
        ({"rate": Range(0.5, 0.1, 3)}, "rate: a range must go from a number to one no lower, got 0.5:0.1"),
        ({"rate": Range(0.1, 0.5, 0)}, "rate: count of a range must be a whole number of at least 1, got 0"),
        ({"rate": Range(0.0, 0.5, 3, log=True)}, "rate: a range with equal factors must begin above 0, got 0"),
        ({"rate": Range(0.1, 0.5)}, "rate: a full design needs the count of values between 0.1 and 0.5"),
        ({"batch": [64.5]}, "batch must be whole numbers"),
    ],
)
def test_what_cannot_be_swept_is_said(over: dict[str, Any], message: str) -> None:
    with pytest.raises(fg.InputError, match=message):
        fg.sweep("mve-s", "ofs", over=over, seeds=2, rounds=10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"task": "mve"}, "unknown task 'mve'"),
        ({"task": 3}, "task must be a Task or the name of one, got 3"),
        ({"learners": []}, "learners must be at least one"),
        ({"learners": ["ofs", "ofs"]}, "learners must have different names, but two are called 'ofs'"),
        ({"learners": "of"}, "unknown learner 'of'"),
        ({"learners": fg.OFS(c=[0.1, 0.2])}, "learner 'OFS' must have one setting, got 2"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        ({"design": "sobol"}, "unknown design 'sobol'"),
        ({"settings": 5}, "settings is how many a random design draws, got 5 for a full one"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_done_is_said(call: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"task": "mve-s", "learners": "ofs", "over": {"rate": [0.1]}, "seeds": 2, "rounds": 10}
    with pytest.raises(fg.InputError, match=message):
        fg.sweep(**given | call)


def test_names_that_mean_two_things_are_asked_about() -> None:
    task = fg.load_task("mve-s")
    known = Known(task, {"exp3-primal-dual": fg.load_learner("exp3-primal-dual")})
    with pytest.raises(fg.InputError, match=r"'rate' could be any of environment\.rate, exp3-primal-dual\.rate"):
        known.find("rate")
    assert [each.owner for each in known.find("environment.rate")] == ["environment"]
    assert [each.owner for each in known.find("learner.rate")] == ["exp3-primal-dual"]
    assert all(known.find(name) for name in known.names())


def test_a_task_with_settings_by_replicate_is_refused() -> None:
    task = fg.load_task("mve-s")
    two = fg.Task(task.environment, fg.Problem(fg.Utility([1.0, 2.0])), task.grid)
    with pytest.raises(fg.InputError, match="task must have one setting"):
        fg.sweep(two, "ofs", seeds=2, rounds=10)


def test_a_random_design_has_no_setting_twice() -> None:
    found = make_design({"a": [1.0, 2.0], "b": [3.0, 4.0]}, {}, "random", 40)
    assert sorted(zip(found["a"], found["b"], strict=True)) == [(1, 3), (1, 4), (2, 3), (2, 4)]


@dataclasses.dataclass(frozen=True)
class Steady:
    """One's own learner, which is no Learner."""

    target: float = 0.0

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> tuple[int, int]:
        return replicates, setting.groups

    def propose(self, state: tuple[int, int]) -> Any:
        return np.full(state, self.target)

    def observe(self, state: Any, played: Any, feedback: Any) -> None:
        pass


class Rule:
    """One's own learner of one loop."""

    def __init__(self, grid: list[float], rng: np.random.Generator, target: float = 0.0) -> None:
        self.target = target

    def propose(self) -> float:
        return self.target

    def observe(self, threshold: float, reward: float, residuals: list[float]) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class Ceiling:
    """One's own constraint, which is no Constraint."""

    most: float = 0.9
    names = ("ceiling",)

    def residuals(self, counts: fg.Counts) -> list[Any]:
        return [counts.overall - self.most]


@pytest.mark.parametrize("learner", [Steady(), fg.learners.scalar(Rule, target=0.0)])
def test_numbers_of_ones_own_learner_are_swept(learner: Any) -> None:
    found = fg.sweep("mve-s", {"own": learner}, over={"target": [-1.0, 1.0]}, seeds=2, rounds=10)
    fixed = fg.sweep("mve-s", "fixed:threshold=0", over={"threshold": [-1.0, 1.0]}, seeds=2, rounds=10)
    np.testing.assert_array_equal(found.figures["reward"], fixed.figures["reward"])


def test_numbers_of_ones_own_constraint_are_swept() -> None:
    task = fg.load_task("mve-s")
    own = fg.Task(task.environment, fg.Problem(fg.Utility(1.0), [Ceiling()]), task.grid)
    found = fg.sweep(own, "fixed:threshold=-1", over={"most": [0.5, 0.9]}, seeds=2, rounds=10)
    difference = found.figures["population_violation"][0] - found.figures["population_violation"][1]
    assert (difference > 0).all()


def test_a_batch_of_nobody_is_refused_by_name() -> None:
    found = fg.sweep("mve-s", "ofs", over={"batch": [0, 64]}, seeds=2, rounds=10)
    assert [each.text for each in found.failures] == ["batch must be a whole number of at least 1, got 0"]
