"""What works instead: what counts as settling feasibly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fairgate as fg
from fairgate.experiments.jobs import figures
from fairgate.experiments.plan import Context, Plan
from fairgate.experiments.reproduce import reproduce
from fairgate.experiments.rivals import RIVALS, WORLDS, feasible_end, figure, jobs

SMALL = Plan(rounds=60, seeds=2, many=4, seed=1, tail=30)


def test_a_threshold_is_judged_in_its_steady_state_and_a_lottery_as_played() -> None:
    best, lowest = fg.oracle(fg.load_task("interior")).best.threshold, fg.load_task("interior").thresholds[0]
    found = {"settled": np.array([best, lowest, np.nan, np.nan]), "lottery": np.array([0.0, 0.1, 1.0, 0.6])}
    found |= {f"population_residual_{j}": np.array([0.1, -0.1, -0.1, 0.1 * j]) for j in range(3)}
    assert feasible_end("interior", found).tolist() == [True, False, True, False]


def test_what_a_learner_recommends_is_what_it_settled_on() -> None:
    task = fg.load_task("interior")
    lottery = figures(fg.simulate(task, fg.learners.BestLottery(), rounds=20, seeds=2), 10)
    assert lottery["lottery"].tolist() == [1.0, 1.0]
    run = fg.simulate(task, fg.SmoothOptimist(), rounds=120, seeds=2)
    found = figures(run, 10)
    assert run.final is not None
    assert found["settled"].tolist() == run.final.single[:, 0].tolist()
    assert found["lottery"].tolist() == [0.0, 0.0]


def test_every_rival_meets_every_task_with_twice_the_seeds(tmp_path: Path) -> None:
    assert all(job.seeds == 2 * SMALL.seeds for job in jobs(SMALL))
    summary, _ = reproduce(["rivals", "figure-rivals"], SMALL, tmp_path, 1, print)
    assert summary["tables"]["rivals"]["rows"] == [[task, method] for task in WORLDS for method in RIVALS]
    assert summary["numbers"]["rivals.mve-s.ofs.violation"]["ours"]["seeds"] == 2 * SMALL.seeds
    assert (tmp_path / "figures/figure-rivals.pdf").is_file()
    drawing, drawn = figure(Context(SMALL, tmp_path / "runs"))
    assert "4 seeds" in drawing.caption
    drawn.draw_without_rendering()
    box, (width, height) = drawn.get_tightbbox(), drawn.get_size_inches()
    assert 0 <= box.x0 <= box.x1 <= width <= 7.2
    assert 0 <= box.y0 <= box.y1 <= height
