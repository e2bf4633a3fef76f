"""Draw where OFS's advantage holds: the paper's stress table, of nine settings, as maps over thousands.

The numbers the paper varies (false-positive cost, tolerance ε, strength of the feedback) are swept together instead of
one at a time, each between a quarter and a little more than the paper's largest factor. `--out` keeps what is done, so
that an interrupted sweep goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console

import fairgate as fg
from fairgate.experiments.plan import METHODS, TITLES, Plan, expect
from fairgate.sweep.page import render
from fairgate.sweep.terminal import show

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "sweep.png"
TASK, ROUNDS, SEEDS = "mve-s", 3000, 10


def main() -> None:
    """Sweep and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("sweep-stress"), help="folder for what is done and the page")
    parser.add_argument("--workers", type=int, default=None, help="processes; as many as cores if not given")
    given = parser.parse_args()
    gain, epsilon, cost = usual(fg.load_task(TASK))
    over = {
        "gain": gain * np.linspace(0.0, 1.2, 13),
        "epsilon": epsilon * np.geomspace(0.25, 4.0, 17),
        "false_positive_cost": cost * np.linspace(0.25, 2.5, 10),
    }
    learners = {TITLES[method]: Plan().learner(method, TASK) for method in METHODS}
    found = fg.sweep(TASK, learners, over, SEEDS, rounds=ROUNDS, out=given.out, workers=given.workers, say=print)
    (given.out / "sweep.html").write_text(render(found), encoding="utf-8")
    found.save(given.out / "seeds.parquet")
    show(found, Console(width=80))
    fg.plots.plot_phases(found, "gain", "epsilon", at={"false_positive_cost": cost}).savefig(FIGURE, dpi=130)


def usual(task: fg.Task) -> tuple[float, float, float]:
    """Return strength of the feedback, ε and false-positive cost as the task has them."""
    environment = expect(fg.environments.GaussianScores, task.environment)
    parity = expect(fg.DemographicParity, task.problem.constraints[0])
    utility = expect(fg.Utility, task.problem.utility)
    gain, epsilon, cost = (
        float(np.asarray(each)) for each in (environment.gain, parity.epsilon, utility.false_positive_cost)
    )
    return gain, epsilon, cost


if __name__ == "__main__":
    main()
