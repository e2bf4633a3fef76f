"""Draw the distribution of random worlds and print its figures, for docs/worlds.md.

    python -m scripts.draw_worlds            # write docs/figures/worlds/*.png and the passages of the page; minutes
    python -m scripts.draw_worlds --worlds 50   # fewer worlds of each half, to try

Worlds for development are shown one by one; of those for judging only how they are distributed.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import fairgate as fg
from fairgate.environments import ResponsiveScores
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.problem import is_feasible
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep
from fairgate.worlds.distribution import ANSWERS, CHANGES, SIGNALS, STEEPEST, World
from fairgate.worlds.loading import solve_world, task_of
from fairgate.worlds.reference import Reference, reference_of
from fairgate.worlds.shapes import JUDGING
from scripts.passages import rewrite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = "worlds.md"
FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures" / "worlds"
SHOWN = (3, 4, 5, 12, 14, 16)
"""Worlds for development that are drawn one by one: of few groups, and each with something else that answers."""

HALVES = ("development", "judging")
GAINS = ("quality_gain", "inflation_gain", "relabelled_gain")


def figures_of(world: World, found: Reference) -> dict[str, float | str]:
    """Return what is told of a world."""
    env = world.environment
    gains = np.concatenate([env[name] for name in (*GAINS, "participation_gain")])
    start = float(np.abs(env["first_quality"] - env["quality"]).max())
    none = np.isnan(found.threshold)
    return {
        **world.words,
        "draws": world.attempt + 1,
        "rate": env["rate"],
        "lag": env["lag"],
        "strength": float(np.abs([env[name] for name in GAINS]).max()),
        "participation": float(np.abs(env["participation_gain"]).max()),
        "negative": float(gains.sum() < 0),
        "rarest": float(env["shares"].min()),
        "start": start,
        "cost": world.problem["false_positive_cost"],
        "stake": found.lottery - found.fair,
        "threshold": 0.0 if none else (found.threshold - found.fair) / (found.lottery - found.fair),
        "none": float(none),
        "least": found.least,
        "cross": float(env["cross"] != 0),
        "outliers": float(env["outliers"] > 0),
        "ties": float(env["ties"] > 0),
        "curves": float(np.ptp(env["midpoint"]) > 0),
        "far": float(start > 0),
        "late": float(env["lag"] > 0),
        "rare": float(env["shares"].min() < 0.06),
        "weakened": float(ResponsiveScores(**env).feedback() > STEEPEST - 1e-6),
    }


def collect(numbers: Sequence[int]) -> dict[str, Array]:
    """Return the figures of these worlds, (W,) each."""
    rows = [figures_of(*solve_world(number)) for number in numbers]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def some_worlds(numbers: Sequence[int] = SHOWN) -> Figure:
    """Draw what fixed thresholds lead to in some worlds, and what the best lotteries earn."""
    figure, axes = panels(4, 3, 10.5, 9.4)
    for place, number in enumerate(numbers):
        row, column = divmod(place, 3)
        upper, lower = axes[6 * row + column], axes[6 * row + 3 + column]
        draw_world(fg.load_world(number), upper, lower)
        if column == 0:
            upper.set_ylabel("reward per person", fontsize=FONT)
            lower.set_ylabel("acceptance rate of each group", fontsize=FONT)
    add_legend(figure, axes, columns=6)
    return figure


def draw_world(world: World, upper: Axes, lower: Axes) -> None:
    """Draw a world: reward of every threshold in its steady state, and the groups' acceptance rates."""
    task = task_of([world]).at(0)
    thresholds = np.linspace(-2.5, 2.5, 201)
    sweep, found = exact_sweep(task, thresholds), reference_of(task)
    feasible = is_feasible(sweep.residuals)
    for ax in (upper, lower):
        ax.fill_between(
            thresholds,
            0,
            1,
            where=feasible.tolist(),
            transform=ax.get_xaxis_transform(),
            color=SHADE,
            linewidth=0,
            zorder=0,
            label="feasible",
        )
        ax.set_xlim(-2.5, 2.5)
    upper.plot(thresholds, sweep.reward, color="black", linewidth=1.5, label="reward of a threshold")
    upper.axhline(found.fair, color=COLOURS[1], linestyle=":", linewidth=1.3, label="best fair lottery: share 0")
    upper.axhline(found.lottery, color=COLOURS[2], linestyle="--", linewidth=1.3, label="best lottery: share 1")
    if not np.isnan(found.threshold):
        best = exact_sweep(task, task.thresholds).best
        style: dict[str, Any] = {"markerfacecolor": "#F0E442", "markeredgecolor": "black", "markeredgewidth": 0.7}
        upper.plot(best.threshold, best.reward, "*", markersize=11, zorder=3, label="best feasible threshold", **style)
    high = max(float(sweep.reward.max()), found.lottery)
    low = float(np.nanmin([-0.05, found.fair, found.threshold]))
    upper.set_ylim(low - 0.12 * (high - low), high + 0.12 * (high - low))
    if world.shape.size <= 61:
        bottom: dict[str, Any] = {"transform": upper.get_xaxis_transform(), "color": "0.3", "clip_on": False}
        upper.plot(task.thresholds, np.full(world.shape.size, 0.012), "|", markersize=5, label="the grid", **bottom)
    everybody = np.repeat(thresholds[:, None], task.environment.group_count, axis=1)
    cells = task.environment.probabilities(task.environment.steady_state(everybody), everybody)
    rates = cells[..., 1].sum(axis=-1) / cells.sum(axis=(-2, -1))
    for group, values in enumerate(rates.T):
        lower.plot(thresholds, values, color=COLOURS[group % len(COLOURS)], linewidth=1.0)
    lower.set_ylim(0.0, 1.0)
    lower.set_xlabel("threshold", fontsize=FONT)
    upper.set_title(f"world {world.number}: {_what(world)}", fontsize=FONT)


def _what(world: World) -> str:
    words = world.words
    signal = "" if words["answers"] == "nothing" else f" ← {words['signal']}"
    return f"{words['answers']}{signal}\n{', '.join(world.shape.constraints)}"


def histograms(found: Mapping[str, Mapping[str, Array]]) -> Figure:
    """Draw how the numbers of worlds are distributed, worlds for development and for judging side by side."""
    some: Callable[[Array], Array] = lambda values: values[values > 0]  # noqa: E731
    wanted: list[tuple[str, str, Array, Callable[[Array], Array] | None]] = [
        ("rate", "speed of answers (share of the way per round)", np.geomspace(0.005, 0.5, 9), None),
        ("lag", "lag in rounds, where there is one", np.arange(1.5, 41.0, 3.0), some),
        ("strength", "largest gain of q, v or m, where one answers", np.linspace(0.0, 1.7, 11), some),
        ("participation", "largest gain of who comes, where it answers", np.linspace(0.0, 4.2, 9), some),
        ("rarest", "share of the rarest group", np.linspace(0.0, 0.5, 21), None),
        ("start", "start: farthest group's share of strong people off", np.linspace(0.05, 0.8, 11), some),
        ("cost", "cost of a wrong acceptance", np.geomspace(0.3, 3.0, 9), None),
        ("stake", "at stake: best lottery − best fair one", np.linspace(0.02, 0.42, 11), None),
        ("threshold", "share of the best threshold (0: none feasible; ends open)", np.linspace(-0.5, 1.0, 16), None),
    ]
    figure, axes = panels(3, 3, 10.5, 7.2)
    for (name, title, edges, part), ax in zip(wanted, axes, strict=True):
        for half, colour, line in zip(HALVES, (COLOURS[1], COLOURS[0]), ("-", "--"), strict=True):
            values = found[half][name].astype(np.float64)
            values = part(values) if part else values
            counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / max(1, len(values))
            ax.stairs(counts, edges, color=colour, linestyle=line, linewidth=1.3, label=f"for {half}")
        if name in ("rate", "cost"):
            ax.set_xscale("log")
            ticks = [0.005, 0.02, 0.1, 0.5] if name == "rate" else [0.3, 0.5, 1.0, 2.0, 3.0]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel(title, fontsize=FONT)
    for ax in axes[::3]:
        ax.set_ylabel("share of these worlds", fontsize=FONT)
    add_legend(figure, axes, columns=2)
    return figure


def kinds(found: Mapping[str, Mapping[str, Array]]) -> Figure:
    """Draw how often each kind of world comes, beside the probability it is drawn with."""
    figure, axes = panels(1, 3, 10.5, 3.0)
    titles = {"answers": ANSWERS, "signal": SIGNALS, "changes": CHANGES}
    words = ("what answers", "what it answers to", "what changes by itself")
    for (name, options), title, ax in zip(titles.items(), words, axes, strict=True):
        places = np.arange(len(options))
        for half, colour, shift in zip(HALVES, (COLOURS[1], COLOURS[0]), (-0.19, 0.19), strict=True):
            known = found[half][name]
            if name == "signal":
                known = known[found[half]["answers"] != "nothing"]
            shares = [float((known == option).mean()) for option in options]
            ax.barh(places + shift, shares, 0.34, color=colour, label=f"for {half}")
        ax.plot(
            list(options.values()), places, "|", color="black", markersize=17, markeredgewidth=1.6, label="as drawn"
        )
        ax.set_yticks(places, list(options), fontsize=FONT)
        ax.invert_yaxis()
        ax.set_xlabel("share of worlds", fontsize=FONT)
        ax.set_title(title, fontsize=FONT + 1)
    add_legend(figure, axes, columns=3)
    return figure


def some_lines(numbers: Sequence[int] = SHOWN) -> list[str]:
    """Return a table of what can be had in the worlds that are drawn."""
    lines = ["| world | best fair lottery | best threshold | best lottery | share of the threshold |"]
    lines.append("|---|---:|---:|---:|---:|")
    for number in numbers:
        world, found = solve_world(number)
        threshold, share = f"none of {world.shape.size} is feasible", "–"
        if not np.isnan(found.threshold):
            threshold = f"{found.threshold:.3f}"
            share = f"{(found.threshold - found.fair) / (found.lottery - found.fair):.2f}"
        line = f"| {number} | {found.fair:.3f} | {threshold} | {found.lottery:.3f} | {share} |"
        lines.append(line.replace("-", "−"))
    return lines


ROWS = {
    "none": "no feasible threshold in round 0",
    "threshold": "mean share of the best threshold, 0 where none is feasible",
    "stake": "mean of what is at stake (reward per person)",
    "draws": "draws per world",
    "weakened": "answers weakened to keep one steady state",
    "negative": "answers that go against the signal",
    "late": "people hear late",
    "cross": "groups look at each other",
    "rare": "a group rarer than 6%",
    "far": "starts far from where half-way signals lead",
    "curves": "groups with label curves of their own",
    "outliers": "heavy tails",
    "ties": "tied scores",
}
"""What the table compares, in order."""


def table(found: Mapping[str, Mapping[str, Array]], numbers: Mapping[str, range]) -> list[str]:
    """Return the lines of Markdown that compare the two halves."""
    heads = [f"{half}, {each[0]:,} to {each[-1]:,}" for half, each in numbers.items()]
    lines = [f"| | {' | '.join(heads)} | difference |", "|---|---:|---:|---:|"]
    for name, title in ROWS.items():
        values = [found[half][name].astype(np.float64) for half in HALVES]
        means = [float(each.mean()) for each in values]
        error = float(np.sqrt(sum(each.var(ddof=1) / len(each) for each in values)))
        whole = name in ("threshold", "stake", "draws")
        shown = [f"{mean:.3f}" if whole else f"{mean:.1%}" for mean in means]
        apart = f"{(means[1] - means[0]) / error:+.1f} s.e." if error > 0 else "–"
        lines.append(f"| {title} | {' | '.join(shown)} | {apart.replace('-', '−')} |")
    return lines


def sentence(found: Mapping[str, Mapping[str, Array]]) -> list[str]:
    """Return what the figures say of all worlds together."""
    both = {name: np.concatenate([found[half][name] for half in HALVES]) for name in found["judging"]}
    least, draws = both["least"][both["none"] == 1], both["draws"].astype(np.float64)
    rejected, share = 1.0 - len(draws) / draws.sum(), np.median(both["threshold"][both["none"] == 0])
    return [
        f"Of these {len(draws):,} worlds, {both['none'].mean():.0%} have no feasible threshold in round 0; the least "
        f"violation that a threshold has there is {np.median(least):.3f} in the median. Of all draws, {rejected:.0%} "
        f"were rejected, and the world that took longest was drawn {int(draws.max())} times. The best threshold has a "
        f"share of {share:.2f} in the median of the worlds that have a feasible one."
    ]


def save(figure: Figure, name: str) -> Path:
    """Write a figure as a small PNG."""
    file = FIGURES / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=110)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(file, optimize=True)
    return file


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw everything and rewrite the passages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=500, help="worlds of each half")
    count = parser.parse_args(arguments).worlds
    numbers = {"development": range(count), "judging": range(JUDGING, JUDGING + count)}
    print(save(some_worlds(), "some"))
    found = {half: collect(each) for half, each in numbers.items()}
    print(save(histograms(found), "numbers"))
    print(save(kinds(found), "kinds"))
    rewrite(PAGE, "some worlds", some_lines())
    rewrite(PAGE, "what came out", sentence(found))
    rewrite(PAGE, "two halves", table(found, numbers))
    print("\n".join([*sentence(found), "", *table(found, numbers)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
