"""Draw what the doubly optimistic rule loses against what docs/theory.md proves it can lose, and print the numbers.

    python scripts/draw_theory.py      # write docs/figures/theory.png; takes some minutes

The proof's constants, its rule with wider bounds and its bound are here too, for the tests to use.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import fairgate as fg
from fairgate.confidence import Box, box
from fairgate.counts import draw
from fairgate.environments import GaussianScores
from fairgate.environments.normal_scores import PEAK
from fairgate.learners import DoublyOptimistic
from fairgate.learners.doubly_optimistic import OptimisticState, Rows
from fairgate.plots import COLOURS, FONT, add_legend, panels
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "theory.png"
BATCH = 256


class Constants(NamedTuple):
    """What the proof knows of the signals: the reward, everybody's acceptance and each group's, (G + 2,) each.

    Attributes
    ----------
    shares
        s: expected share of a batch that a signal is about.
    noise
        σ̄: noise of a batch, plus what the state's noise does in the long run.
    bias
        B: largest sum over a visit of how far the expected signal is from its long run.
    jump
        R: largest part of B that one batch can decide.
    """

    shares: Array
    noise: Array
    bias: Array
    jump: Array


def constants(task: fg.Task, batch: int = BATCH) -> Constants:
    """Compute the constants of docs/theory.md for Gaussian scores and a :class:`fairgate.Utility`."""
    environment, utility = task.environment, task.problem.utility
    if not isinstance(environment, GaussianScores) or not isinstance(utility, fg.Utility):
        raise fg.InputError(f"the constants are known for GaussianScores and Utility only, got {task}")
    rate, gain = float(np.asarray(environment.rate)), abs(float(np.asarray(environment.gain)))
    shares, density = np.asarray(environment.shares), PEAK / np.asarray(environment.sd)
    remembered = 1.0 / (rate * (1.0 - gain * density))  # 1 / (1 − ρ), of each group
    spread = rate * gain * np.sqrt(1.0 / (2.0 * batch * shares))  # τ, of each group
    reach = np.array([1.0 + float(np.asarray(utility.false_positive_cost)), *np.ones(1 + len(shares))])
    groups = np.concatenate((np.ones((2, len(shares))), np.eye(len(shares))))  # which groups a signal is about
    slope = groups * reach[:, None] * shares * density * remembered  # L / (1 − ρ)
    return Constants(
        shares=np.array([1.0, 1.0, *shares]),
        noise=reach / (2.0 * math.sqrt(batch)) + slope @ spread,
        bias=slope.sum(axis=1) * gain,
        jump=slope.sum(axis=1) * gain * rate,
    )


def log_term(visits: Array, arms: int, assessment: int, delta: float) -> Array:
    """Return ℓ: what it costs that the bounds hold for all thresholds, signals and visits."""
    return np.log(8.0 * arms * assessment * visits * (visits + 1.0) / delta)


def kept_rounds(visits: Array, epoch_length: float, burn_in: float) -> Array:
    """Return N: rounds learnt from in so many visits."""
    return np.asarray(epoch_length * (2.0**visits - 1.0) - burn_in * visits)


def summed_radius(known: Constants, visits: Array, kept: Array, cost: Array) -> Array:
    """Return by how much the sums of the signals can be off, (…, signals)."""
    visits, kept, cost = visits[..., None], kept[..., None], cost[..., None]
    return known.noise * np.sqrt(2.0 * kept * cost) + visits * known.bias + 2.0 / 3.0 * known.jump * cost


@dataclass
class AnalysedState(OptimisticState):
    """The proof's constants, besides, (4, signals)."""

    constants: Array


@dataclass(frozen=True)
class Analysed(DoublyOptimistic):
    """The rule as the proof has it: wider bounds, which need no premise but a contraction."""

    known: Constants | None = None

    def remember(self, setting: fg.Setting, common: Mapping[str, Any]) -> AnalysedState:
        """Start with nothing known but the constants."""
        return AnalysedState(**vars(super().remember(setting, common)), constants=np.array(self.known))

    def bounds(self, state: OptimisticState, rows: Rows) -> tuple[Array, Array, Array]:
        """Return the proof's bounds, of the arms played."""
        assert isinstance(state, AnalysedState)
        place = rows, state.arm[rows]
        visits = state.visits[place].astype(np.float64)
        kept = kept_rounds(visits, float(np.asarray(self.epoch_length)), float(np.asarray(self.burn_in)))
        cost = log_term(visits, len(state.grid), state.groups + 2, float(np.asarray(self.delta)))
        people, accepted = state.people[place], state.accepted[place]
        total = people.sum(axis=1)
        weight = np.column_stack((kept, kept, people * (kept / total)[:, None]))  # of each signal: people / batch
        radius = summed_radius(Constants(*state.constants), visits, kept, cost) / weight
        reward, overall, rates = state.rewards[0][place] / total, accepted.sum(axis=1) / total, accepted / people
        known = Box(
            np.maximum(rates - radius[:, 2:], 0.0),
            np.minimum(rates + radius[:, 2:], 1.0),
            np.maximum(overall - radius[:, 1], 0.0),
            np.minimum(overall + radius[:, 1], 1.0),
        )
        worst = np.max([found for each in state.problem.constraints for found in each.lowest(known)], axis=0)
        return reward - radius[:, 0], reward + radius[:, 0], worst


def shortfalls(task: fg.Task) -> Array:
    """Return max(f* − f, max g, 0) of every threshold in the long run, (K,)."""
    sweep = exact_sweep(task, task.thresholds)
    return np.asarray(np.maximum(np.maximum(sweep.best.reward - sweep.reward, sweep.residuals.max(axis=0)), 0.0))


def visit_slopes(task: fg.Task, learner: DoublyOptimistic, visits: Array) -> Array:
    """Return 2 Φ: the largest shortfall a round of a visit can have after so many visits, for parity of two groups."""
    known, arms = constants(task), len(task.thresholds)
    kept = kept_rounds(visits, float(np.asarray(learner.epoch_length)), float(np.asarray(learner.burn_in)))
    cost = log_term(visits, arms, len(known.shares), float(np.asarray(learner.delta)))
    radius = summed_radius(known, visits, kept, cost) / kept[:, None]
    radius[:, 2:] *= 1.25 / known.shares[2:]
    return np.asarray(2.0 * np.maximum(np.maximum(radius[:, 0], radius[:, 1]), radius[:, 2] + radius[:, 3]))


def proved(task: fg.Task, learner: DoublyOptimistic, rounds: Array) -> Array:
    """Return K Ψ(T / K), the proof's bound of the summed shortfall, for each number of rounds T."""
    worst, arms, epoch_length = (
        float(shortfalls(task).max()),
        len(task.thresholds),
        float(np.asarray(learner.epoch_length)),
    )
    visits = np.arange(1.0, 60.0)
    slopes = np.concatenate(([worst], np.minimum(visit_slopes(task, learner, visits), worst)))
    starts = np.concatenate(([0.0], epoch_length * (2.0**visits - 1.0)))  # rounds on a threshold when a visit begins
    sums = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(starts))))
    return np.asarray(arms * np.interp(np.asarray(rounds) / arms, starts, sums))


def closed_form(task: fg.Task, learner: DoublyOptimistic, rounds: Array) -> Array:
    """Return the same in closed form, wider."""
    known, arms, epoch_length = constants(task), len(task.thresholds), float(np.asarray(learner.epoch_length))
    parity = [1.25 * (values[2:] / known.shares[2:]).sum() for values in known[1:]]
    noise, bias, jump = (max(*values[:2], both) for values, both in zip(known[1:], parity, strict=True))
    visits = np.log2(1.0 + np.asarray(rounds) / (arms * epoch_length))
    cost = log_term(visits, arms, len(known.shares), float(np.asarray(learner.delta)))
    first = arms * epoch_length * shortfalls(task).max()
    of_bias = 4.0 * arms * bias * visits * (visits + 1.0) + 16.0 / 3.0 * arms * jump * cost * visits
    return np.asarray(first + 15.0 * noise * np.sqrt(arms * np.asarray(rounds) * cost) + of_bias)


def lost_for_good(task: fg.Task, learner: DoublyOptimistic) -> float:
    """Return the proof's bound that holds for all T: each threshold is left when its shortfall must be known."""
    visits = np.arange(1.0, 60.0)
    each = shortfalls(task)
    enough = visits[(visit_slopes(task, learner, visits) < each[:, None]).argmax(axis=1)]
    return float((each * float(np.asarray(learner.epoch_length)) * (2.0**enough - 1.0))[each > 0].sum())


class Measured(NamedTuple):
    """Summed shortfall and summed widths of the bounds, at some rounds, (seeds, rounds) each."""

    shortfall: Array
    certificate: Array


def measure(
    task: fg.Task, learner: DoublyOptimistic, rounds: Array, seeds: int, seed: int = 0, batch: int = BATCH
) -> Measured:
    """Run the rule and sum what it loses, and what its own bounds say that it loses at most."""
    each = shortfalls(task)
    environment, nature = task.environment, np.random.default_rng(seed)
    state = learner.start(task.setting, seeds, np.random.default_rng(seed + 1))
    world = environment.start(seeds)
    width = np.full((seeds, len(each)), each.max())
    lost, at_most, everyone = np.zeros(seeds), np.zeros(seeds), np.arange(seeds)
    kept: list[tuple[Array, Array]] = []
    for t in range(1, int(rounds[-1]) + 1):
        policy = learner.propose(state)
        lost += each[state.arm]
        at_most += width[everyone, state.arm]
        cells = draw(environment.cells(world, policy), batch, nature)
        learner.observe(state, policy, task.problem.reveal(cells))
        world = environment.update(world, fg.Counts(cells), policy.published, nature)
        over = np.flatnonzero(state.age == 0)
        if over.size:
            width[over, state.arm[over]] = np.minimum(each.max(), widths(learner, state, over))
        if t in rounds:
            kept.append((lost.copy(), at_most.copy()))
    return Measured(*(np.stack(values, axis=1) for values in zip(*kept, strict=True)))


def widths(learner: DoublyOptimistic, state: OptimisticState, rows: Rows) -> Array:
    """Return how far bounds are apart, of the reward or of a residual, of the arms just played."""
    place = rows, state.arm[rows]
    alpha = np.full(len(rows), float(np.asarray(learner.delta)) / (2 * len(state.grid)))
    known = box(state.accepted[place], state.people[place], alpha)
    found = [state.upper[place] - state.lower[place]]
    for constraint in state.problem.constraints:
        pairs = zip(constraint.highest(known), constraint.lowest(known), strict=True)
        found.extend(high - low for high, low in pairs)
    return np.asarray(np.max(found, axis=0))


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
        if rule is learner:
            axes.plot(
                at,
                found.certificate.mean(axis=0),
                color=COLOURS[4],
                linestyle="--",
                linewidth=1.2,
                label="summed widths of the rule's own bounds",
            )
            middle = found.shortfall.mean(axis=0)[at >= 1000][0] / math.sqrt(1000)
            axes.plot(further, middle * np.sqrt(further), color="black", linestyle=":", linewidth=1.0, label="√T")
        for t in (3000, 30_000, rounds):
            i = int(np.abs(at - t).argmin())
            widths_so_far = f", its widths {found.certificate[:, i].mean():.0f}" if rule is learner else ""
            lines.append(
                f"{name}, T = {at[i]:.0f}: {found.shortfall[:, i].mean():.0f} [{low[i]:.0f}, {high[i]:.0f}]"
                f"{widths_so_far}, proved {proved(task, learner, at[i : i + 1])[0]:.0f}, worst {worst * at[i]:.0f}"
            )
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
    """Draw the figure and print its numbers and the table."""
    print("\n".join(draw_figure()))
    print("\n".join(misses_table()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
