"""Draw what the doubly optimistic rule loses against what docs/theory.md proves it can lose, and print the numbers.

    python -m scripts.draw_theory      # write docs/figures/theory.png; takes some minutes

``scripts/theory.py`` has the proof's constants, its rule and its bounds.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

import fairgate as fg
from fairgate.confidence import box
from fairgate.counts import draw
from fairgate.learners import DoublyOptimistic
from fairgate.learners.doubly_optimistic import OptimisticState, Rows
from fairgate.plots import COLOURS, FONT, add_legend, panels
from fairgate.problem import violation
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep
from scripts.theory import (
    BATCH,
    Analysed,
    closed_form,
    constants,
    known_range,
    lost_for_good,
    lower_bound,
    proved,
    rounds_for_group,
    shortfalls,
    state_floor,
    transients,
)

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "theory.png"


class Measured(NamedTuple):
    """Sums over the rounds so far, at some rounds, (seeds, rounds) each.

    Attributes
    ----------
    shortfall
        Of the thresholds played, in the long run.
    widths
        Of the bounds, when a visit began, with the largest shortfall in first visits, which nobody knows beforehand.
    computed
        The same with the known range in first visits.
    hindsight
        Of the shortfall that each threshold could have by the bounds as they are at last.
    transient
        Reward in the long run of what was played, minus that in the state there was.
    regret
        Best reward of a fixed threshold, minus the reward in the state there was.
    violation
        Of the population in the state there was.
    changes
        Of threshold, the first included.
    """

    shortfall: Array
    widths: Array
    computed: Array
    hindsight: Array
    transient: Array
    regret: Array
    violation: Array
    changes: Array


class Ledger:
    """What the library's own bounds say of each threshold's shortfall, while they are learnt."""

    def __init__(self, learner: DoublyOptimistic, seeds: int, arms: int, most: float, worst: float) -> None:
        self.learner, self.most, self.worst = learner, most, worst
        self.width, self.highest = np.full((seeds, arms), np.inf), np.full((seeds, arms), np.inf)
        self.plays, self.rows = np.zeros((seeds, arms)), np.arange(seeds)
        self.widths, self.computed = np.zeros(seeds), np.zeros(seeds)

    def play(self, arm: Rows) -> None:
        """Add a round."""
        width = self.width[self.rows, arm]
        self.widths += np.minimum(width, self.worst)
        self.computed += np.minimum(width, self.most)
        self.plays[self.rows, arm] += 1

    def learn(self, state: OptimisticState, rows: Rows) -> None:
        """Keep how far the bounds of the arms just played are apart, and how high their residuals can be."""
        place = rows, state.arm[rows]
        alpha = np.full(len(rows), float(np.asarray(self.learner.delta)) / (2 * len(state.grid)))
        known = box(state.accepted[place], state.people[place], alpha)
        apart, highest = [state.upper[place] - state.lower[place]], []
        for constraint in state.problem.constraints:
            for high, low in zip(constraint.highest(known), constraint.lowest(known), strict=True):
                apart.append(high - low)
                highest.append(high)
        self.width[place], self.highest[place] = np.max(apart, axis=0), np.max(highest, axis=0)

    def hindsight(self, state: OptimisticState) -> Array:
        """Return the summed shortfall that there can have been by the present bounds, (seeds,)."""
        best = np.where(state.worst <= 0.0, state.upper, -np.inf).max(axis=1, keepdims=True)
        short = np.maximum(np.maximum(best - state.lower, self.highest), 0.0)
        return np.asarray((self.plays * np.minimum(short, self.most)).sum(axis=1))


def measure(
    task: fg.Task, learner: DoublyOptimistic, rounds: Array, seeds: int, seed: int = 0, batch: int = BATCH
) -> Measured:
    """Run the rule and sum what it loses, and what the library's own bounds say that it loses at most."""
    each, sweep = shortfalls(task), exact_sweep(task, task.thresholds)
    environment, nature = task.environment, np.random.default_rng(seed)
    state = learner.start(task.setting, seeds, np.random.default_rng(seed + 1))
    world, before = environment.start(seeds), np.full(seeds, -1)
    ledger = Ledger(learner, seeds, len(each), known_range(task), float(each.max()))
    lost, transient, regret, broken, changes = np.zeros((5, seeds))
    kept: list[tuple[Array, ...]] = []
    for t in range(1, int(rounds[-1]) + 1):
        policy = learner.propose(state)
        lost += each[state.arm]
        ledger.play(state.arm)
        changes += state.arm != before
        before = state.arm.copy()
        probabilities = environment.cells(world, policy)
        found = task.problem.assess(probabilities)
        transient += sweep.reward[state.arm] - found.reward
        regret += sweep.best.reward - found.reward
        broken += violation(found.residuals)
        cells = draw(probabilities, batch, nature)
        learner.observe(state, policy, task.problem.reveal(cells))
        world = environment.update(world, fg.Counts(cells), policy.published, nature)
        over = np.flatnonzero(state.age == 0)
        if over.size:
            ledger.learn(state, over)
        if t in rounds:
            sums = lost, ledger.widths, ledger.computed, ledger.hindsight(state), transient, regret, broken, changes
            kept.append(tuple(values.copy() for values in sums))
    return Measured(*(np.stack(values, axis=1) for values in zip(*kept, strict=True)))


TASKS = ("interior", "delayed-impact", "performative", "compas", "german", "mve-s")


def misses(task: fg.Task, learner: DoublyOptimistic, rounds: int = 3000, seeds: int = 100) -> tuple[float, float]:
    """Return in which share of runs a bound ever missed, and in which one spoke against the best threshold."""
    sweep = exact_sweep(task, task.thresholds)
    largest, best = sweep.residuals.max(axis=0), int(np.searchsorted(sweep.thresholds, sweep.best.threshold))
    nature, state = np.random.default_rng(3), learner.start(task.setting, seeds, np.random.default_rng(4))
    world = task.environment.start(seeds)
    missed, against = np.zeros(seeds, dtype=bool), np.zeros(seeds, dtype=bool)
    for _ in range(rounds):
        policy = learner.propose(state)
        cells = draw(task.environment.cells(world, policy), BATCH, nature)
        world = task.environment.update(world, fg.Counts(cells), policy.published, nature)
        learner.observe(state, policy, task.problem.reveal(cells))
        bad = (state.lower > sweep.reward) | (state.upper < sweep.reward) | (state.worst > largest)
        missed |= bad.any(axis=1)
        against |= (state.worst[:, best] > 0) | (state.upper[:, best] < sweep.reward[best])
    return float(missed.mean()), float(against.mean())


def misses_table() -> list[str]:
    """Return a row of Markdown for every task: misses without bias and with `bias` = 4."""
    rows = ["| task | bias 0: any, best | bias 4: any, best |", "|---|---|---|"]
    for name in TASKS:
        found = [misses(fg.load_task(name), DoublyOptimistic(bias=bias)) for bias in (0.0, 4.0)]
        rows.append(f"| {name} | {' | '.join(f'{missed:.2f}, {best:.2f}' for missed, best in found)} |")
    return rows


class Floor(NamedTuple):
    """Violation per round of a fixed threshold that is feasible in the long run, (seeds, rounds) each."""

    population: Array
    batch: Array


def floor(task: fg.Task, threshold: float, rounds: int = 3000, seeds: int = 20) -> Floor:
    """Play one threshold in every round, from its steady state on, and return what is violated."""
    run = fg.simulate(task, fg.Fixed(threshold), rounds + 500, seeds, batch=BATCH)
    population, batch = violation(run.population.residuals), violation(run.batch.residuals)
    return Floor(population[:, 500:], batch[:, 500:])


def floors_table(rounds: int = 3000) -> list[str]:
    """Return a row of Markdown for every task: violation of the best fixed threshold, of the grid and refined."""
    rows = [
        "| task | largest residual | state, 1500 | state, 3000 | batch, 1500 | batch, 3000 | edge: state, 3000 |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in TASKS:
        task = fg.load_task(name)
        found = fg.oracle(task)
        on_grid, edge = floor(task, found.best.threshold, rounds), floor(task, found.refined.threshold, rounds)
        sums = [each[:, :stop].sum(axis=1).mean() for each in on_grid for stop in (rounds // 2, rounds)]
        cells = [f"{max(found.best.residuals):.4f}".replace("-", "−"), *(f"{value:.2f}" for value in sums)]
        rows.append(f"| {name} | {' | '.join(cells)} | {edge.population.sum(axis=1).mean():.2f} |")
    return rows


def quoted() -> list[str]:
    """Return the other numbers of docs/theory.md, a line each."""
    task, learner = fg.load_task("interior"), DoublyOptimistic()
    known, groups, arms = constants(task), len(constants(task).shares) - 2, len(task.thresholds)
    hoeffding, chernoff = rounds_for_group(0.02, arms, 6)
    least = math.sqrt(math.log(4.0 * arms * groups / 0.05) / (2.0 / 25.0 * BATCH * 2))
    at = np.array([3000.0, 30_000.0, 100_000.0])
    return [
        f"A5 at a share of 2%, {arms} thresholds, 6 groups: {hoeffding} rounds by Hoeffding, {chernoff} by Chernoff",
        f"smallest share that A5 allows with 2 rounds of {BATCH} and 2 groups: {least:.4f}",
        f"B of the reward on interior: {known.bias[0]:.3f}",
        f"transients at most {transients(task, learner, at).round(0)}",
        f"state's noise adds to a round's violation at most {state_floor(task):.4f}",
        f"lower bound for {arms} thresholds: {lower_bound(arms, at).round(1)}",
        f"it holds from round {3 * arms**3 / 64 / BATCH:.0f} on",
        f"closed form: {closed_form(task, learner, at).round(0)}, known range {known_range(task)}",
    ]


def draw_figure(rounds: int = 100_000, seeds: int = 50) -> list[str]:
    """Draw the figure and return its numbers, a line each."""
    task, learner = fg.load_task("interior"), DoublyOptimistic()
    at = np.unique(np.append(np.geomspace(30, rounds, 60).round(), (3000, 30_000)))
    further = np.geomspace(30, 10 * rounds, 300)
    figure, (axes,) = panels(1, 1, 5.2, 4.0)
    worst = float(shortfalls(task).max())
    axes.plot(further, worst * further, color="0.6", linewidth=1.0, label="worst threshold in every round")
    axes.plot(further, proved(task, learner, further), color=COLOURS[0], label="proved, wide bounds")
    for_good = lost_for_good(task, learner)
    axes.axhline(for_good, color=COLOURS[0], linestyle=(0, (5, 1, 1, 1)), linewidth=1.0, label="the same, for all T")
    lines = []
    for rule, name, colour, style in (
        (Analysed(known=constants(task)), "measured, wide bounds", COLOURS[3], "-."),
        (learner, "measured, the rule's own bounds", COLOURS[1], "-"),
    ):
        found = measure(task, rule, at, seeds)
        low, high = np.quantile(found.shortfall, (0.025, 0.975), axis=0)
        axes.plot(at, found.shortfall.mean(axis=0), color=colour, linestyle=style, linewidth=1.4, label=name)
        axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0)
        own = ("widths", "computed", "hindsight") if rule is learner else ()
        if rule is learner:
            for values, dashes, label in (
                (found.computed, "--", "computed from its own bounds"),
                (found.hindsight, (0, (1, 1)), "the same, in hindsight"),
            ):
                axes.plot(at, values.mean(axis=0), color=COLOURS[4], linestyle=dashes, linewidth=1.2, label=label)
            middle = found.shortfall.mean(axis=0)[at >= 1000][0] / math.sqrt(1000)
            axes.plot(further, middle * np.sqrt(further), color="black", linestyle=":", linewidth=1.0, label="√T")
        for t in (3000, 30_000, rounds):
            i = int(np.abs(at - t).argmin())
            lines.append(
                f"{name}, T = {at[i]:.0f}: {found.shortfall[:, i].mean():.0f} [{low[i]:.0f}, {high[i]:.0f}]"
                f", proved {proved(task, learner, at[i : i + 1])[0]:.0f}, worst {worst * at[i]:.0f}"
            )
            for field in (*own, "transient", "regret", "violation", "changes"):
                lines.append(f"    {field} {getattr(found, field)[:, i].mean():.1f}")
    lines.append(f"proved for all T: {for_good:.0f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(30, 10 * rounds)
    axes.set_ylim(3, None)
    axes.set_xlabel("rounds T", fontsize=FONT)
    axes.set_ylabel("summed shortfall (reward per person, or residual)", fontsize=FONT)
    add_legend(figure, [axes], columns=2)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=130)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(FIGURE, optimize=True)
    return lines


def main() -> int:
    """Draw the figure and print its numbers and the tables."""
    for part in (quoted, floors_table, draw_figure, misses_table):
        print("\n".join(part()), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
