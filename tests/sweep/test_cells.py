"""Every cell of a sweep is what simulate gives for its settings, whichever cells stand beside it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate import simulation
from fairgate.environments import GaussianScores
from fairgate.learners import LEARNERS
from fairgate.store.own import held
from fairgate.sweep import FIGURES, cells, running
from fairgate.truth import truth_of

NAMES = [f"{name}:threshold=0.1" if name == "fixed" else name for name in LEARNERS]


def check_cells(found: fg.Sweep) -> None:
    """Compare every cell with what simulate gives, bit for bit."""
    assert not found.failures
    for index in range(len(found)):
        for place, name in enumerate(found.learners):
            task, learner, size = found.cell(index, name)
            alone = fg.simulate(task, learner, **size, keep="summary").figures
            for figure, values in alone.items():
                np.testing.assert_array_equal(found.figures[figure][index, place], values, err_msg=f"{name} {figure}")


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put all cells that can stand side by side into one pack, however few they are."""
    monkeypatch.setattr(running, "SHARE", 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_cells_side_by_side_are_as_alone(name: str) -> None:
    over = {"environment.rate": [0.1, 0.4], "epsilon": [0.03, 0.08]}
    check_cells(fg.sweep("interior", [name], over=over, seeds=3, rounds=60))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "over"),
    [
        ("compas", {"rate": [0.05, 0.3], "ceiling": [0.9, 0.94]}),
        ("label-delay", {"rate": [0.1, 0.4]}),
        ("drift", {"rate": [0.1, 0.4], "means[1]": [0.0, 0.1]}),
        ("many-groups", {"epsilon": [0.05, 0.1], "service.low": [0.1, 0.2]}),
        ("delayed-impact", {"carry": [0.2, 0.4]}),
        ("delayed-impact", {"rise": [60.0, 75.0], "fall": [120.0, 150.0], "rate": [0.1, 0.2]}),
        ("mve-s", {"gain": [1.0, 2.0], "rate": [0.1, 0.2]}),
        ("drift", {"gain": [0.1, 0.3], "rate": [0.1, 0.2]}),
        ("strategic", {"epsilon": [0.03, 0.08], "false_positive_cost": [0.5, 1.0]}),
        ("interior", {"batch": [32, 64, 1200], "rounds": [40, 60]}),
        ("participation", {"rate": [0.05, 0.2], "lag": [0, 3]}),
        ("inflation", {"lift": [0.2, 0.6], "ties": [0.0, 0.25], "label_loss": [0.4]}),
        ("mve-s", {"grid.size": [11, 21], "ofs.c": [0.1, 0.5], "exploration": [0.0, 0.1]}),
    ],
)
def test_cells_of_any_parameter_are_as_alone(task: str, over: dict[str, Any]) -> None:
    check_cells(fg.sweep(task, ["ofs", "smooth-optimist"], over=over, seeds=3, rounds=60))


def test_more_seeds_than_a_block_are_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (simulation, cells):
        monkeypatch.setattr(module, "BLOCK", 4)
    check_cells(fg.sweep("mve-s", ["ofs"], over={"rate": [0.1, 0.5]}, seeds=10, rounds=30))


def test_figures_are_those_of_the_whole_run() -> None:
    found = fg.sweep("interior", ["ofs"], over={"epsilon": [0.03, 0.08]}, seeds=4, rounds=250)
    for index in range(2):
        task, learner, size = found.cell(index, "ofs")
        run = fg.simulate(task, learner, **size)
        truth = truth_of(task, 250)
        against = run.against(truth, state="actual")
        wanted = {
            **run.per_replicate(50),
            "regret": against.regret.sum(axis=1),
            "shortfall": against.shortfall.mean(axis=1),
            "excess_violation": against.excess.mean(axis=1),
        }
        last = slice(200, 250)
        reward = run.population.reward[:, last].mean(axis=1)
        residual = run.population.residuals[:, :, last].mean(axis=2).max(axis=0)
        wanted["success"] = (truth.last.reward - reward <= 0.01) & (residual <= 0.01)
        wanted["share"] = reward / fg.oracle(task).best.reward
        assert wanted.keys() == FIGURES.keys()
        for figure, values in wanted.items():
            np.testing.assert_allclose(found.figures[figure][index, 0], values, rtol=1e-9, atol=1e-12, err_msg=figure)
        assert found.truth["best_threshold"][index] == fg.oracle(task).best.threshold
        assert found.truth["attainable"][index] == fg.oracle(task).best.feasible


def test_a_learner_that_a_parameter_does_not_concern_is_run_once(tmp_path: Any) -> None:
    fg.sweep("mve-s", ["ofs", "random"], over={"exploration": [0.0, 0.1, 0.2]}, seeds=3, rounds=20, out=tmp_path)
    said: list[str] = []
    fg.sweep("mve-s", "random", over={"rate": [0.1]}, seeds=3, rounds=20, out=tmp_path, say=said.append)
    assert said == []  # 0.1 is mve-s's own rate, but it was given: another cell
    found = fg.sweep("mve-s", ["ofs", "random"], over={"exploration": [0.0, 0.1, 0.2]}, seeds=3, rounds=20)
    assert (found.figures["reward"][:, 1] == found.figures["reward"][0, 1]).all()
    assert (found.figures["reward"][0, 0] != found.figures["reward"][1, 0]).any()


def test_what_no_environment_accepts_is_named_and_others_go_on() -> None:
    found = fg.sweep("mve-s", ["ofs", "random"], over={"rate": [0.1, 2.0]}, seeds=3, rounds=20)
    (failure,) = found.failures
    assert str(failure) == "at rate=2: GaussianScores: rate must be in (0, 1], got 2.0"
    assert np.isnan(found.figures["reward"][1]).all()
    assert np.isfinite(found.figures["reward"][0]).all()
    assert not found.truth["attainable"][1]


def test_a_learner_that_fails_somewhere_is_named_and_others_go_on() -> None:
    class Nervous(fg.OFS):
        def choose(self, state: Any) -> Any:
            if np.max(state.problem.constraints[0].epsilon) > 0.05:
                raise RuntimeError("too much")
            return super().choose(state)

    found = fg.sweep("mve-s", {"ofs": "ofs", "mine": Nervous()}, over={"epsilon": [0.02, 0.06]}, seeds=3, rounds=20)
    (failure,) = found.failures
    assert failure.learner == "mine"
    assert failure.setting == {"epsilon": 0.06}
    assert "too much" in failure.text
    assert np.isfinite(found.figures["reward"][0]).all()


def test_a_sweep_in_which_nothing_works_says_why() -> None:
    with pytest.raises(fg.InputError, match="no cell of the sweep came to anything: at rate=2: GaussianScores"):
        fg.sweep("mve-s", "ofs", over={"rate": [2.0]}, seeds=3, rounds=20)


class Gambler:
    """Draws what is not one row per replicate."""

    def __init__(self, how: str) -> None:
        self.how = how

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> Any:
        return {"grid": setting.thresholds, "shape": (replicates, setting.groups), "rng": rng}

    def propose(self, state: Any) -> Any:
        rng, rows = state["rng"], state["shape"][0]
        ways: dict[str, Any] = {
            "normal": lambda: rng.normal(size=rows),
            "other size": lambda: rng.random(len(state["grid"]))[:1].repeat(rows),
            "one number": lambda: np.full(rows, rng.random()),
            "spawn": lambda: np.array([each.random() for each in rng.spawn(3)])[:1].repeat(rows),
        }
        drawn = ways[self.how]()
        return np.repeat(drawn[:, None], state["shape"][1], axis=1)

    def observe(self, state: Any, played: Any, feedback: Any) -> None:
        pass


@pytest.mark.parametrize("how", ["normal", "other size", "one number", "spawn"])
def test_a_learner_that_draws_otherwise_than_by_row_is_as_alone(how: str) -> None:
    check_cells(fg.sweep("mve-s", {"own": Gambler(how)}, over={"rate": [0.1, 0.3, 0.5]}, seeds=4, rounds=20))


class Weather(GaussianScores):
    """A world that moves by chance."""

    def update(self, state: Any, counts: fg.Counts, thresholds: Any, rng: np.random.Generator) -> Any:
        return super().update(state, counts, thresholds, rng) + 0.1 * rng.normal(size=state.shape)


def test_an_environment_that_moves_by_chance_is_as_alone() -> None:
    task = fg.load_task("mve-s")
    own = dataclasses.replace(task, environment=Weather(**held(task.environment)), name="weather")
    check_cells(fg.sweep(own, "ofs", over={"epsilon": [0.02, 0.06, 0.1]}, seeds=4, rounds=20))


def test_regret_of_a_task_that_is_feasible_now_and_then() -> None:
    found = fg.sweep("drift", "ofs", over={"epsilon": [0.005]}, seeds=2, rounds=1500)
    task, learner, size = found.cell(0, "ofs")
    regret = fg.simulate(task, learner, **size).against(truth_of(task, 1500), state="actual").regret
    assert np.isnan(regret).any()
    np.testing.assert_allclose(found.figures["regret"][0, 0], np.nansum(regret, axis=1), rtol=1e-9)
