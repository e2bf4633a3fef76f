"""Draw what learners do on the task interior, for docs/learners.

    python scripts/draw_learners.py               # write docs/figures/learners/NAME.png for every learner there is
    python scripts/draw_learners.py per-group     # only this one

A picture has the thresholds of three seeds, the acceptance rate of each group, and the gap between the groups.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

import fairgate as fg
from fairgate.learners import load_learner
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.policy import Policy
from fairgate.problem import is_feasible
from fairgate.settings import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures" / "learners"
NAMES = (
    "ofs", "doubly-optimistic", "smooth-optimist", "safe-search-lottery", "safe-forecast", "repeated-retraining",
    "per-group", "mixture",
)  # fmt: skip
SEARCHING = NAMES[:3]
"""Learners that play thresholds from all over the grid."""

TASK, ROUNDS, SEEDS, LIMIT, WINDOW = "interior", 1500, 3, 0.05, (0.2, 0.8)
DOTTED: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 1.2}


def best_by_group(task: fg.Task) -> tuple[Array, float]:
    """Return the best feasible thresholds of the grid, one per group, and their reward, by trying all pairs."""
    pairs = np.stack(np.meshgrid(task.thresholds, task.thresholds), axis=-1).reshape(-1, 2)
    found = task.problem.assess(task.environment.probabilities(task.environment.steady_state(pairs), pairs))
    best = int(np.where(is_feasible(found.residuals), found.reward, -np.inf).argmax())
    return pairs[best], float(found.reward[best])


def draw(name: str) -> Path:
    """Draw a learner's picture and return its file."""
    task = fg.load_task(TASK)
    run = fg.simulate(task, load_learner(name), rounds=ROUNDS, seeds=SEEDS, seed=5)
    figure, axes = panels(1, 3, 10.2, 3.1)
    rounds = np.arange(1.0, ROUNDS + 1.0)
    policies = [Policy(*(values[:, :, t] for values in run.policies)) for t in range(ROUNDS)]
    draw_thresholds(axes[0], rounds, policies, by_group=name == "per-group")
    if name == "per-group":
        for group, threshold in enumerate(best_by_group(task)[0]):
            axes[0].axhline(threshold, label="best pair of the grid" if group == 0 else None, **DOTTED)
    else:
        axes[0].axhline(fg.oracle(task).best.threshold, label="oracle", **DOTTED)
    axes[0].set_ylim(*((-2.2, 2.2) if name in SEARCHING else (-0.5, 1.0)))
    axes[0].set_ylabel("threshold (unit of the score)", fontsize=FONT)

    axes[1].axhspan(*WINDOW, color=SHADE, linewidth=0, label="allowed")
    rates = fg.Counts(run.probabilities).rates
    for seed in range(SEEDS):
        for group in range(2):
            label = f"group {group}" if seed == 0 else None
            axes[1].plot(rounds, rates[seed, :, group], color=COLOURS[group], linewidth=0.7, alpha=0.8, label=label)
        axes[2].plot(rounds, run.population_gap[seed], color="black", linewidth=0.7, alpha=0.7)
    axes[1].set_ylim(0.0, 1.0)
    axes[1].set_ylabel("acceptance rate", fontsize=FONT)
    axes[2].axhspan(0.0, LIMIT, color=SHADE, linewidth=0)
    axes[2].set_ylim(0.0, 4.0 * LIMIT if name in SEARCHING else 2.0 * LIMIT)
    axes[2].set_ylabel("gap between the groups", fontsize=FONT)
    titles = ("thresholds of three seeds", "acceptance, service window", "gap, parity limit")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_xscale("log")
        ax.set_xlim(10, ROUNDS)
        ax.set_xlabel("round", fontsize=FONT)
        ax.set_title(title, fontsize=FONT)
    add_legend(figure, axes, columns=6)
    file = FIGURES / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=110)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(file, optimize=True)
    return file


def draw_thresholds(ax: Axes, rounds: Array, policies: Sequence[Policy], by_group: bool) -> None:
    """Draw the finite thresholds in play: the mean of each group's, or all of them, the fainter the less likely."""
    for group in range(2 if by_group else 1):
        colour = COLOURS[group] if by_group else COLOURS[2]
        for seed in range(SEEDS):
            points = []
            for place, (thresholds, weights) in zip(rounds, policies, strict=True):
                here, weight = thresholds[:, seed, group], weights[:, seed]
                finite = np.isfinite(here) & (weight > 0)
                if by_group and finite.any():
                    points.append((place, float(np.average(here[finite], weights=weight[finite])), 1.0))
                elif not by_group:
                    points += [(place, float(t), float(w)) for t, w in zip(here[finite], weight[finite], strict=True)]
            at, where, alpha = (np.array(values) for values in zip(*points, strict=True))
            shades = np.column_stack((np.tile(to_rgb(colour), (len(at), 1)), 0.15 + 0.85 * alpha))
            ax.scatter(at, where, s=4.0, color=shades, linewidths=0)
    if not by_group:
        ax.plot([], [], color=COLOURS[2], linewidth=2.0, label="thresholds in play, fainter if less likely")
    threshold = [(np.isfinite(each.thresholds) & (each.weights[:, :, None] > 0)).any() for each in policies]
    first = rounds[int(np.argmax(threshold))]
    if first > rounds[0]:
        ax.axvspan(rounds[0], first, color="0.92", linewidth=0, zorder=0, label="uniform lottery")


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the pictures asked for; all if none is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="NAME", help="learners; all if none is named")
    for name in parser.parse_args(arguments).names or NAMES:
        print(draw(name).name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
