"""Draw the phase maps of docs/sweeps.md, and print what the page says; about two minutes on one core.

python -m scripts.draw_sweep --out sweep     # what is done is kept there, with the page
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rich.console import Console

import fairgate as fg
from fairgate.sweep.page import render
from fairgate.sweep.terminal import show

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "sweep.png"
TASK, LEARNERS = "mve-s", ["ofs", "primal-dual", "smooth-optimist"]
OVER = {"gain": fg.Range(0.0, 2.4, 13), "epsilon": fg.Range(0.005, 0.24, 12, log=True)}
ROUNDS, SEEDS = 3000, 10


def main() -> None:
    """Sweep, write the page and draw."""
    parser = argparse.ArgumentParser(description="Draw the phase maps of docs/sweeps.md.")
    parser.add_argument("--out", type=Path, default=Path("sweep"), help="folder for what is done and the page")
    parser.add_argument("--workers", type=int, default=None, help="processes; as many as cores if not given")
    given = parser.parse_args()
    say = partial(print, flush=True)
    found = fg.sweep(TASK, LEARNERS, OVER, SEEDS, rounds=ROUNDS, out=given.out, workers=given.workers, say=say)
    (given.out / "sweep.html").write_text(render(found), encoding="utf-8")
    show(found, Console(width=80))
    fg.plots.plot_phases(found, "gain", "epsilon", "shortfall").savefig(FIGURE, dpi=130)


if __name__ == "__main__":
    main()
