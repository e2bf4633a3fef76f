"""The stress table over many settings: every setting is what a simulation of it gives, and the rule is the paper's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.experiments.plan import Plan, stress_settings, stressed_task, varied_task
from scripts.draw_stress import LEARNERS, PAPER, attainable, cut, draw, lines_of, report, settings, stressed


@pytest.mark.parametrize("name", ["mve-s", "compas"])
def test_a_setting_is_what_a_simulation_of_it_gives(name: str) -> None:
    design = settings(np.array([0.5, 2.0]), [0.5, 1.0])
    lines = lines_of(name, "ofs", design, 60, 3)
    for index in (0, 5, 7):
        task = varied_task(fg.load_task(name), *(float(values[index]) for values in design.values()))
        run = fg.simulate(task, Plan().learner("ofs", name), rounds=60, seeds=3)
        for figure, values in run.per_replicate(12).items():
            np.testing.assert_allclose(lines[figure][index], values, rtol=1e-9, atol=1e-12, err_msg=figure)
        tail = run.batch.residuals[0, :, -12:].mean(axis=1)
        np.testing.assert_array_equal(lines["batch_residual_0"][index], tail)


@pytest.mark.parametrize("name", ["mve-s", "german"])
def test_the_papers_settings_are_among_those_that_can_be_varied(name: str) -> None:
    one_by_one = stressed_task(fg.load_task(name), seeds=1)
    for index, (varied, factor) in enumerate(stress_settings()):
        factors = {"cost": 1.0, "tolerance": 1.0, "feedback": 1.0, varied: factor}
        whole = varied_task(fg.load_task(name), **factors)
        row = one_by_one.rows(slice(index, index + 1))
        thresholds = np.full((1, 2), 0.3)
        ours, theirs = (each.environment.steady_state(thresholds) for each in (whole, row))
        np.testing.assert_allclose(ours, theirs)
        assessed = [
            each.problem.assess(each.environment.probabilities(state, thresholds))
            for each, state in ((whole, ours), (row, theirs))
        ]
        np.testing.assert_allclose(assessed[0].reward, assessed[1].reward)
        np.testing.assert_allclose(assessed[0].residuals, assessed[1].residuals)


def test_nothing_is_feasible_where_the_oracle_finds_nothing() -> None:
    design = settings(np.array([0.25, 4.0]), [1.0])
    found = attainable("compas", design)
    for index, feasible in enumerate(found):
        task = varied_task(fg.load_task("compas"), *(float(values[index]) for values in design.values()))
        assert fg.oracle(task, refine=False).best.feasible == feasible
    assert set(found) == {False, True}


@pytest.mark.slow
def test_a_small_map_is_drawn_and_told(tmp_path: Path) -> None:
    (found,) = stressed(["mve-s"], settings(np.array([0.5, 1.0, 2.0]), [0.0, 1.0]), 60, 4, 1)
    three = cut(found, PAPER, "batch")
    won = three.won
    for index, best in enumerate(won.learner):
        met = [each["batch_residual_0"][index].mean() <= 0.0 for each in three.lines]
        reward = [
            each["reward"][index].mean() if kept else -np.inf for each, kept in zip(three.lines, met, strict=True)
        ]
        spent = [each["violation"][index].mean() for each in three.lines]
        assert best == (np.argmax(reward) if any(met) else np.argmin(spent))
    assert 0.0 <= won.p_value.min() <= won.p_value.max() <= 1.0
    text = "\n".join(report([found]))
    assert text.count("| mve-s |") == 3
    assert all(name in text for name in LEARNERS[1:])
    draw([three], [0.0, 1.0], tmp_path / "stress.png")
    assert (tmp_path / "stress.png").stat().st_size > 10_000
