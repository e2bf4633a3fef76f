"""Draw Liu et al.'s outcome curves and what the FICO tasks allow, and print the tables of docs/fico.md.

    python -m scripts.draw_fico      # write docs/figures/fico.png and fico-price.png, print the tables

The first picture and table are the paper's one-step model on its own data: scores of the table, loans to the best of
each group, randomised at one score so that any selection rate can be had, and nothing that answers. The others are
the closed loop of the task `fico`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.data import load_fico
from fairgate.oracle.policies import PolicyPoint, point_of
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep
from scripts.outcome_curves import CRITERIA, FALL, HIGH, LOW, RISE, curves, harmless_rate, optimum, worth_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
TWO, FOUR = ("white", "black"), ("white", "black", "hispanic", "asian")
COSTS = (4.0, 10.0)  # what a default costs a lender, in repayments: u₋ / u₊ = −4 and −10
GAPS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
CLASSES = {"threshold": "one threshold", "lottery": "a lottery", "per-group": "thresholds per group"}
OPTIMA = (
    "| u₋ / u₊ | criterion | threshold: black, white | selection rate: black, white | score change: black, white "
    "| utility |\n|---:|---|---:|---:|---:|---:|"
)
SHARED = (
    "| groups | state | smallest gap | at threshold | largest ratio | at threshold |\n|---|---|---:|---:|---:|---:|"
)
ASKED = (
    "| what is asked of `fico` | played | reward | accepted: white, black | score change: white, black |\n"
    "|---|---|---:|---:|---:|"
)


def optima_table() -> list[str]:
    """Return a row of Markdown per cost and criterion."""
    table, rows = load_fico(["black", "white"]), []
    for cost in COSTS:
        for criterion in CRITERIA:
            found = optimum(table, criterion, cost)
            numbers = (
                ", ".join(f"{value:.1f}" for value in found.thresholds),
                ", ".join(f"{value:.3f}" for value in found.rates),
                ", ".join(f"{value:+.1f}" for value in found.changes),
            )
            rows.append(f"| −{cost:g} | {criterion} | {' | '.join(numbers)} | {found.utility:.3f} |")
    return rows


def shared_gaps(groups: Sequence[str], carry: float) -> tuple[Array, Array, Array, Array]:
    """Return thresholds, and acceptance, gap and ratio of each played for good where so many records stay."""
    table = load_fico(groups)
    answering = fg.environments.CreditScores(
        table.scores, table.pdf, table.repay, table.shares, rate=0.1, carry=carry, rise=RISE, fall=FALL
    )
    thresholds = answering.candidates(LOW, HIGH)
    shared = np.repeat(thresholds[:, None], answering.group_count, axis=1)
    counts = fg.Counts(answering.probabilities(answering.steady_state(shared), shared))
    return thresholds, counts.overall, counts.gap, counts.rates.min(axis=1) / counts.rates.max(axis=1)


def shared_table() -> list[str]:
    """Return a row per task, without and with answers: the smallest gap of a shared threshold in the window."""
    rows = []
    for groups, called in ((TWO, "white, black"), (FOUR, "all four")):
        for carry, state in ((0.0, "as in the tables"), (0.5, "in the long run")):
            thresholds, accepted, gap, ratio = shared_gaps(groups, carry)
            inside = (accepted >= 0.2) & (accepted <= 0.8)
            least, most = (int(np.argmin(np.where(inside, each, np.inf))) for each in (gap, -ratio))
            rows.append(
                f"| {called} | {state} | {gap[least]:.4f} | {thresholds[least]:.1f} | {ratio[most]:.4f} "
                f"| {thresholds[most]:.1f} |"
            )
    return rows


def asking(*constraints: Constraint) -> fg.Task:
    """Return the task `fico` with other constraints."""
    task = fg.load_task("fico")
    return fg.Task(task.environment, fg.Problem(task.problem.utility, constraints), task.grid, "fico")


def best_of(task: fg.Task, kind: str) -> PolicyPoint | None:
    """Return the best feasible policy of a class; None if there is none."""
    if kind == "threshold":
        best = fg.oracle(task).best
        return (
            point_of(task, fg.Policy.of([[best.threshold] * task.environment.group_count])) if best.feasible else None
        )
    found = fg.oracle(task, "lottery" if kind == "lottery" else "per-group").best
    return found if found.feasible else None


def asked_table() -> list[str]:
    """Return a row per request and class of policies: what the best of it earns and does to the groups."""
    window, harmless = fg.ServiceRate(0.2, 0.8), fg.OutcomeImprovement(RISE, FALL, 0.0)
    requests: list[list[Constraint]] = [
        [],
        [fg.DemographicParity(0.1), window],
        [fg.DisparateImpact(0.8), window],
        [fg.DemographicParity(0.1), window, harmless],
        [fg.GroupService(0.3, 0.9)],
        [fg.GroupService(0.3, 0.9), harmless],
    ]
    rows = []
    for request in requests:
        task, asked = asking(*request), " ".join(f"`{each.text}`" for each in request) or "nothing"
        for kind, called in CLASSES.items():
            best = best_of(task, kind)
            if best is None:
                rows.append(f"| {asked} | no such {CLASSES[kind].removeprefix('one ').removeprefix('a ')} |  |  |  |")
            else:
                counts = fg.Counts(task.environment.long_run_cells(best.policy))
                rates = ", ".join(f"{rate:.1%}" for rate in counts.rates[0])
                changes = ", ".join(f"{change:+.1f}" for change in mean_changes(best.policy))
                rows.append(f"| {asked} | {called}{_which(best)} | {best.reward:.4f} | {rates} | {changes} |")
            asked = ""
    return rows


def mean_changes(policy: fg.Policy) -> Array:
    """Return the mean change of score of each group under a policy kept for good on `fico`."""
    return np.asarray(fg.mean_score_change(fg.Counts(fg.load_task("fico").environment.long_run_cells(policy)))[0])


def _which(best: PolicyPoint) -> str:
    finite = best.policy.thresholds[:, 0][np.isfinite(best.policy.thresholds[:, 0]).all(axis=1)]
    if len(best.policy.weights) > 1:
        return ""
    return ": " + ", ".join(f"{value:g}" for value in dict.fromkeys(finite[0].tolist()))


@cache
def price() -> dict[str, list[tuple[float, PolicyPoint | None]]]:
    """Return the best of each class of policies by the gap that is allowed, with 20% to 80% accepted."""
    tasks = {gap: asking(fg.DemographicParity(gap), fg.ServiceRate(0.2, 0.8)) for gap in GAPS}
    return {kind: [(gap, best_of(task, kind)) for gap, task in tasks.items()] for kind in CLASSES}


def draw_outcomes() -> Figure:
    """Draw each group's outcome and utility curves with the optima of the three criteria."""
    table = load_fico(["black", "white"])
    figure, axes = panels(2, 2, 7.2, 5.4)
    for group, name in enumerate(table.group_names):
        curve = curves(table, group)
        above, below = axes[group], axes[2 + group]
        above.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
        above.plot(curve.rates, curve.changes, color="black", linewidth=1.4)
        lowest = np.minimum(curve.changes, 0.0)
        above.fill_between(curve.rates, lowest, 0.0, color="#F5D5C8", linewidth=0, label="harm")
        for cost, style in zip(COSTS, ("-", (0, (4, 2))), strict=True):
            below.plot(curve.rates, worth_of(curve, cost), color="black", linestyle=style, linewidth=1.2)
            for place, criterion in enumerate(CRITERIA):
                rate = optimum(table, criterion, cost).rates[group]
                marker = dict(zip(CRITERIA, "osD", strict=True))[criterion]
                for ax, values in ((above, curve.changes), (below, worth_of(curve, cost))):
                    ax.plot(
                        [rate],
                        [curve.at(rate, values)],
                        linestyle="none",
                        marker=marker,
                        markersize=6,
                        markeredgecolor=COLOURS[place],
                        markerfacecolor=COLOURS[place] if cost == COSTS[0] else "white",
                        markeredgewidth=1.4,
                        zorder=3,
                        label=f"{criterion}, u₋/u₊ = −{cost:g}",
                    )
        above.set_ylim(-60.0, 50.0)
        below.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
        below.set_ylim(-1.0, 0.7)
        above.set_title(f"{name}: outcome curve", fontsize=FONT)
        below.set_title(f"{name}: what the lender earns (solid −4, dashed −10)", fontsize=FONT)
        above.set_ylabel("mean change of score", fontsize=FONT)
        below.set_ylabel("utility per applicant of the group", fontsize=FONT)
        for ax in (above, below):
            ax.set_xlim(0.0, 1.0)
            ax.set_xlabel("selection rate", fontsize=FONT)
    add_legend(figure, axes, columns=4)
    return figure


def draw_price() -> Figure:
    """Draw the gaps of shared thresholds, and what each class of policies earns at each allowed gap, and to whom."""
    figure, axes = panels(1, 3, 10.2, 3.3)
    draw_gaps(axes[0])
    for place, (kind, called) in enumerate(CLASSES.items()):
        found = [(gap, best) for gap, best in price()[kind] if best is not None]
        gaps = [gap for gap, _ in found]
        change = [mean_changes(best.policy)[1] for _, best in found]
        style: dict[str, Any] = {"color": COLOURS[place], "marker": "osD"[place], "markersize": 3.5, "linewidth": 1.2}
        axes[1].plot(gaps, [best.reward for _, best in found], label=called, **style)
        axes[2].plot(gaps, change, label=called, **style)
    top = exact_sweep(fg.load_task("fico"), fg.load_task("fico").thresholds).reward.max()
    axes[1].axhline(top, color="0.6", linewidth=0.8, linestyle=":", label="best threshold, nothing asked")
    axes[1].set_ylabel("reward per person", fontsize=FONT)
    axes[1].set_title("the price of fairness", fontsize=FONT)
    axes[2].set_ylabel("mean change of score, black", fontsize=FONT)
    axes[2].set_title("what it does to the poorer group", fontsize=FONT)
    axes[2].axhspan(-25.0, 0.0, color="#F5D5C8", linewidth=0, zorder=0, label="harm")
    axes[2].set_ylim(-20.0, 13.0)
    for ax in axes[1:]:
        ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
        ax.set_xlim(0.0, 0.52)
        ax.set_xlabel("largest gap of acceptance rates allowed", fontsize=FONT)
    add_legend(figure, axes, columns=6)
    return figure


def draw_gaps(ax: Axes) -> None:
    """Draw the gap of every shared threshold by how many it accepts."""
    ax.axvspan(0.2, 0.8, color=SHADE, linewidth=0, zorder=0, label="20% to 80% accepted")
    for place, (groups, words) in enumerate(((TWO, "two groups"), (FOUR, "four groups"))):
        for carry, line, when in ((0.0, "-", "tables"), (0.5, ":", "long run")):
            _, accepted, gap, _ = shared_gaps(groups, carry)
            colour = COLOURS[3 + place]
            ax.plot(accepted, gap, color=colour, linestyle=line, linewidth=1.2, label=f"{words}, {when}")
    ax.axhline(0.1, color="0.3", linewidth=0.9, linestyle="--", label="parity limit of fico")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 0.6)
    ax.set_xlabel("share of all accepted", fontsize=FONT)
    ax.set_ylabel("gap of acceptance rates", fontsize=FONT)
    ax.set_title("every shared threshold", fontsize=FONT)


def save(figure: Figure, name: str) -> Path:
    """Write a picture of 256 colours and return its file."""
    file = FIGURES / name
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=120)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(file, optimize=True)
    return file


def main() -> int:
    """Draw both pictures and print the tables."""
    print(save(draw_outcomes(), "fico.png").name, save(draw_price(), "fico-price.png").name)
    for header, rows in ((OPTIMA, optima_table()), (SHARED, shared_table()), (ASKED, asked_table())):
        print("\n".join((header, *rows)), end="\n\n")
    for group in ("black", "white"):
        curve = curves(load_fico([group]), 0)
        best = int(np.argmax(curve.changes))
        print(
            f"{group}: highest {curve.changes[best]:+.2f} at rate {curve.rates[best]:.3f}, "
            f"all {curve.changes[-1]:+.2f}, no harm up to rate {harmless_rate(curve):.4f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
