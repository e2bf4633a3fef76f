"""Draw the tasks that tell learners apart, and print the table of their best thresholds, for docs/environments.md.

    python -m scripts.draw_environments              # write docs/figures/environments/NAME.png, print the table
    python -m scripts.draw_environments strategic    # only this one

A picture has the groups' scores in two states on the left, and what each fixed threshold leads to on the right.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import fairgate as fg
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.problem import best_feasible, is_feasible
from fairgate.settings import Array
from fairgate.tasks import presets
from fairgate.thresholds import ThresholdSweep, exact_sweep
from scripts import draw_responses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures" / "environments"
SUITE = [name for name in presets() if name not in presets(("presets.toml",))]
ROUNDS = {"drift": (375, 1125), "shock": (0, 1500)}  # the rounds in which what changes by itself is shown
DASHES = ("--", "-.", (0, (1, 1)))  # of the residuals; the groups' lines are solid in one state and dotted in the other
DISCRETE = {"strategic": 60, "fico": 34, "fico-4": 34}  # bins where many share a score: drawn as steps
STABLE = {"performative": 0.4}  # the performatively stable threshold; tests/environments/test_performative.py finds it
HEADER = (
    "| task | best threshold | reward | gap | accepted | slack | regret of the neighbours: below, above |\n"
    "|---|---:|---:|---:|---:|---:|---|"
)


def oracle_table() -> list[str]:
    """Return a row of Markdown for every task, or for every round of :data:`ROUNDS`."""
    rows = []
    for name in SUITE:
        for at in ROUNDS.get(name, (0,)):
            label = f"{name}, round {at}" if name in ROUNDS else name
            rows.append(f"| {label} | {' | '.join(figures(fg.oracle(fg.load_task(name).at(at)).sweep))} |")
    return rows


def figures(sweep: ThresholdSweep) -> list[str]:
    """Return the best grid threshold's figures, and how its neighbours compare."""
    best, worst = sweep.best, sweep.residuals.max(axis=0)
    if not best.feasible:
        return ["none is feasible", "", "", "", f"{-worst.min():.4f}", ""]
    place = int(np.searchsorted(sweep.thresholds, best.threshold))
    neighbours = [
        f"{best.reward - sweep.reward[at]:+.4f}"
        + (" feasible" if is_feasible(sweep.residuals[:, at]) else f" violates by {worst[at]:.4f}")
        for at in (place - 1, place + 1)
    ]
    numbers = (best.reward, best.gap, best.acceptance, -worst[place])
    return [f"{best.threshold:.4g}", *(f"{number:.4f}" for number in numbers), ", ".join(neighbours)]


def draw(name: str) -> Path:
    """Draw a task's picture and return its file."""
    task, rounds = fg.load_task(name), ROUNDS.get(name, (0,))
    count = 1 + len(rounds) + (name in MIDDLE)
    figure, axes = panels(1, count, 3.4 * count, 3.1)
    if name == "label-delay":
        draw_arrival(task, axes[0])
    else:
        draw_scores(task, axes[0])
    if name in MIDDLE:
        MIDDLE[name](task, axes[1])
    for at, ax in zip(rounds, axes[-len(rounds) :], strict=True):
        draw_sweep(
            task.at(at),
            ax,
            f"fixed thresholds in the long run of round {at}" if name in ROUNDS else "fixed thresholds in the long run",
        )
    add_legend(figure, axes, columns=3 if count == 2 else 5)
    file = FIGURES / f"{name}.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=110)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(file, optimize=True)
    return file


def draw_scores(task: fg.Task, ax: Axes) -> None:
    """Draw the density of every group's scores in two states."""
    environment = task.environment
    for (title, state), line in zip(two_states(task).items(), ("-", ":"), strict=True):
        bins = DISCRETE.get(task.name, 240)
        low, high = task.thresholds[0], task.thresholds[-1]
        edges = np.linspace(low - 0.35 * (high - low), high + 0.35 * (high - low), bins + 1)
        people = environment.histogram(state, edges)[0].sum(axis=-1)
        whole = 1.0 if task.name == "participation" else people.sum(axis=1, keepdims=True)  # what changes is who comes
        density = people[:, 1:-1] / whole / np.diff(edges)
        for group, values in enumerate(density):
            label: str | None = f"group {group}, {title}"
            if len(density) > 2 and group > 0:  # a short legend: the second state is the same story
                label = f"group {group}" if line == "-" else None
            style: dict[str, Any] = {
                "color": COLOURS[group % len(COLOURS)],
                "linestyle": line,
                "linewidth": 1.2,
                "label": label,
            }
            if task.name in DISCRETE:
                ax.stairs(values, edges, **style)
            else:
                ax.plot((edges[1:] + edges[:-1]) / 2, values, **style)
    ax.set_ylim(bottom=0.0)
    if isinstance(environment, fg.environments.CreditScores):
        ax.set_xlim(environment.low - 15.0, environment.high + 40.0)
    ax.set_title("scores in two states", fontsize=FONT)
    ax.set_xlabel("score", fontsize=FONT)
    ax.set_ylabel("density of " + ("all" if task.name == "participation" else "a group's") + " scores", fontsize=FONT)


def two_states(task: fg.Task) -> dict[str, Array]:
    """Return two states of one replicate worth comparing, by what they are called."""
    environment = task.environment
    if task.name in ROUNDS:
        states = {}
        for at in ROUNDS[task.name]:
            states[f"round {at}"] = environment.start(1)
            states[f"round {at}"][0, -1] = at
        return states
    best, low, high = fg.oracle(task).best, float(task.thresholds[0]), float(task.thresholds[-1])
    both = {"best": best.threshold, "lowest": low} if best.feasible else {"highest": high, "lowest": low}
    return {
        f"{word} threshold": environment.steady_state(np.full((1, environment.group_count), theta))
        for word, theta in both.items()
    }


def draw_sweep(task: fg.Task, ax: Axes, title: str) -> None:
    """Draw reward and residuals of fixed thresholds; what is feasible is shaded and the best of the grid has a star."""
    thresholds = np.linspace(task.thresholds[0], task.thresholds[-1], 401)
    sweep, best = exact_sweep(task, thresholds), fg.oracle(task).best
    feasible = is_feasible(sweep.residuals)
    ax.fill_between(
        thresholds,
        0,
        1,
        where=feasible.tolist(),
        transform=ax.get_xaxis_transform(),
        color=SHADE,
        linewidth=0,
        zorder=0,
        label="feasible" if feasible.any() else None,
    )
    ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
    ax.plot(thresholds, sweep.reward, color="black", linewidth=1.6, label="reward")
    for index, (name, residual) in enumerate(zip(task.problem.names, sweep.residuals, strict=True)):
        style: dict[str, Any] = {"color": COLOURS[2 + index], "linestyle": DASHES[index], "linewidth": 1.2}
        ax.plot(thresholds, residual, label=f"{name} residual", **style)
    if best.feasible:
        ax.plot(
            [best.threshold],
            [best.reward],
            linestyle="none",
            marker="*",
            markersize=12,
            markerfacecolor="#F0E442",
            markeredgecolor="black",
            markeredgewidth=0.7,
            zorder=3,
            label="best of the grid",
        )
    if task.name in STABLE:
        stable = exact_sweep(task, np.array([STABLE[task.name]])).point(0)
        ax.plot(
            [stable.threshold],
            [stable.reward],
            linestyle="none",
            marker="o",
            markerfacecolor="white",
            markeredgecolor="black",
            zorder=3,
            label="stable",
        )
    ax.set_ylim(-0.4, max(0.4, 1.15 * float(sweep.reward.max())))
    ax.set_xlim(thresholds[0], thresholds[-1])
    ax.set_xlabel("threshold (unit of the score)", fontsize=FONT)
    ax.set_ylabel("reward per person, or residual", fontsize=FONT)
    ax.set_title(title, fontsize=FONT)


def draw_impact(task: fg.Task, ax: Axes) -> None:
    """Draw how far lending moves each group's mean score in the long run; what lies below 0 is harm."""
    thresholds = np.linspace(task.thresholds[0], task.thresholds[-1], 201)
    environment = task.environment
    if not isinstance(environment, fg.environments.CreditScores | fg.environments.DelayedImpact):
        raise TypeError(f"{task.name} has no scores that loans move")
    settled = environment.steady_state(np.repeat(thresholds[:, None], environment.group_count, axis=1))
    change = environment.mean_scores(settled) - environment.mean_scores(environment.start(1))
    for group, values in enumerate(change.T):
        ax.plot(thresholds, values, color=COLOURS[group], linewidth=1.2)
    ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
    ax.fill_between(thresholds, np.minimum(change.min(axis=1), 0.0), 0.0, color="#F5D5C8", linewidth=0, label="harm")
    ax.set_xlim(thresholds[0], thresholds[-1])
    ax.set_xlabel("threshold (unit of the score)", fontsize=FONT)
    ax.set_ylabel("change of the mean score", fontsize=FONT)
    ax.set_title("what lending does to each group", fontsize=FONT)


def draw_answers(task: fg.Task, ax: Axes) -> None:
    """Draw the best answer to the scores of every belief, and where answering again and again leads from the start."""
    believed, grid = np.linspace(task.thresholds[0], task.thresholds[-1], 201), task.thresholds
    answers = np.array([best_answer(task, each) for each in believed])
    ax.plot(believed, believed, color="0.6", linewidth=0.8, zorder=1)
    ax.plot(believed, answers, color=COLOURS[1], linewidth=1.6, label="best answer")
    path = [(float(task.environment.start(1)[0, 0]), grid[0])]
    for _ in range(8):
        answer = float(np.clip(best_answer(task, path[-1][0]), grid[0], grid[-1]))
        path += [(path[-1][0], answer), (answer, answer)]
    ax.plot(*zip(*path[1:], strict=True), color="black", linewidth=0.9, marker=".", markersize=3, label="retraining")
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylim(grid[0], grid[-1])
    ax.set_xlabel("threshold that is believed", fontsize=FONT)
    ax.set_ylabel("best threshold for these scores", fontsize=FONT)
    ax.set_title("retraining, exactly", fontsize=FONT)


def best_answer(task: fg.Task, believed: float) -> float:
    """Return the best feasible threshold if scores stayed what they are under this belief, also beyond the grid."""
    low, high = task.thresholds[0], task.thresholds[-1]
    thresholds = np.linspace(2.0 * low - high, 2.0 * high - low, 4801)
    shared = np.repeat(thresholds[:, None], task.environment.group_count, axis=1)
    found = task.problem.assess(task.environment.probabilities(np.full_like(shared, believed), shared))
    return float(thresholds[best_feasible(found.reward, found.residuals)])


def draw_arrival(task: fg.Task, ax: Axes) -> None:
    """Draw the share of labels that are known so many rounds after the decision."""
    lag = np.arange(101)
    ax.step(lag, 1.0 - (1.0 - task.environment.label_arrival) ** (lag + 1), where="post", color=COLOURS[1])
    ax.set_xlim(0, 100)
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel("rounds after the decision", fontsize=FONT)
    ax.set_ylabel("share of labels known", fontsize=FONT)
    ax.set_title("when labels arrive", fontsize=FONT)


MIDDLE = {
    "delayed-impact": draw_impact,
    "fico": draw_impact,
    "fico-4": draw_impact,
    "retraining-converges": draw_answers,
    "retraining-diverges": draw_answers,
    **draw_responses.PANELS,
}
"""What a panel between the other two shows, where there is one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the pictures asked for; if none is named, all of them, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*SUITE, []], metavar="NAME", help="tasks; all if none is named")
    names = parser.parse_args(arguments).names
    for name in names or SUITE:
        print(draw(name).name)
    if not names:
        print("\n".join((HEADER, *oracle_table())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
