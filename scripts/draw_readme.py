"""Draw the README's figure of learners: the recommended ones beside the best baselines, the paper's and the oracle."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import fairgate as fg
from fairgate.learners import load_learner
from fairgate.learners.registry import BASELINES
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.problem import is_feasible, violation

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURE = DOCS / "figures" / "readme.png"
BOARD = DOCS / "learners" / "index.md"
TASK, ROUNDS, SEEDS, SMOOTH = "interior", 3000, 50, 25


def main() -> None:
    """Simulate and draw."""
    task = fg.load_task(TASK)
    truth = fg.oracle(task)
    fine = fg.oracle(task).sweep
    good = fine.thresholds[is_feasible(fine.residuals)]
    bandit, selective = best_baseline("bandit"), best_baseline("selective-labels")
    learners = {
        "SmoothOptimist (level bandit)": (fg.recommended(task, level="bandit"), COLOURS[1], "-"),
        f"{bandit}: the best baseline there": (load_learner(bandit), COLOURS[1], "--"),
        "SafeSearch (level selective-labels)": (fg.recommended(task, level="selective-labels"), COLOURS[2], "-"),
        f"{selective}: the best baseline there": (load_learner(selective), COLOURS[2], "--"),
        "OFS, the paper's (level bandit)": (fg.OFS(), "0.55", "-"),
    }
    figure, axes = panels(1, 3, 7.6, 3.2)
    places = np.arange(SMOOTH - 1, ROUNDS) + 1
    half = 0.5 * (fine.thresholds[1] - fine.thresholds[0])
    axes[0].axhspan(good[0] - half, good[-1] + half, color=SHADE, label="feasible in the long run")
    axes[0].axhline(truth.best.threshold, color="black", lw=1, ls=":", label="oracle: best feasible fixed threshold")
    axes[1].axhline(truth.best.reward, color="black", lw=1, ls=":")
    for name, (learner, colour, line) in learners.items():
        run = fg.simulate(task, learner, ROUNDS, SEEDS, seed=3)
        low, middle, high = (_quantile(run.thresholds[:, :, 0], q) for q in (10, 50, 90))
        axes[0].plot(np.arange(1, ROUNDS + 1), middle, color=colour, lw=1.2, ls=line, label=name)
        axes[0].fill_between(np.arange(1, ROUNDS + 1), low, high, color=colour, alpha=0.2, lw=0)
        reward = run.population.reward.mean(axis=0)
        axes[1].plot(
            places, np.convolve(reward, np.full(SMOOTH, 1 / SMOOTH), mode="valid"), color=colour, lw=1.2, ls=line
        )
        spent = violation(run.population.residuals).mean(axis=0).cumsum()
        axes[2].plot(np.arange(1, ROUNDS + 1), spent, color=colour, lw=1.2, ls=line)
        settled, seeds = np.unique(run.settled().single[:, 0].round(6), return_counts=True)
        where = ", ".join(f"{at:g} in {many}" for at, many in zip(settled, seeds, strict=True))
        print(
            f"{name}: tail reward {run.summary()['population_reward']}, violation {spent[-1]:.3f}; settled at {where}"
        )
    print(f"oracle: {truth.best}")
    for ax, title in zip(axes, ("threshold played", "exact reward per person", "exact violation, summed"), strict=True):
        ax.set_title(title, fontsize=FONT + 1)
        ax.set_xlabel("round", fontsize=FONT)
        ax.set_xscale("log")
        ax.set_xlim(10, ROUNDS)
    axes[2].set_yscale("symlog", linthresh=1.0)
    axes[2].set_ylim(0, None)
    add_legend(figure, axes, 2)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=130)


def best_baseline(level: str) -> str:
    """Return the baseline that stands first in a level's table of the benchmark, in docs/learners/index.md."""
    _, _, rest = BOARD.read_text(encoding="utf-8").partition(f"**Level `{level}`**")
    ranked = re.findall(r"^\| `?([a-z0-9-]+)`? \|", rest.partition("**Level")[0], flags=re.MULTILINE)
    return next(str(name) for name in ranked if name in BASELINES)


def _quantile(values: np.ndarray, q: float) -> np.ndarray:
    """Quantile over seeds of the rounds in which a threshold was played in most seeds, NaN in the others."""
    found = np.full(values.shape[1], np.nan)
    most = np.isfinite(values).mean(axis=0) > 0.5
    found[most] = np.nanpercentile(values[:, most], q, axis=0)
    return found


if __name__ == "__main__":
    main()
