"""What the printed rule really does: five findings, each with a figure and a small table from the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairgate.constraints import ServiceRate
from fairgate.counts import Counts
from fairgate.estimates import Estimate
from fairgate.experiments.figures import WIDTH
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import SEMI_SYNTHETIC, STRICT, TASKS, TITLES, Context, Plan, epsilon, expect, words
from fairgate.experiments.results import Cell, Drawing, Finding, Row, Table
from fairgate.learners import OFS, load_learner
from fairgate.oracle import exact_sweep
from fairgate.plots import COLOURS, FONT, add_legend, panels
from fairgate.settings import Array
from fairgate.tasks import load_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = tuple[Finding, "Figure"]

Panel = Callable[[Context, str, "Axes"], dict[str, Cell]]
"""Draws a finding on a task, and returns its row of the table."""

HEIGHT = 2.4
"""Inches of every figure."""


def jobs(plan: Plan) -> list[Job]:
    """OFS on every task, the baselines on the main ones, and OFS with many seeds."""
    return [*plan.jobs(TASKS), *plan.jobs(STRICT, ("ofs",)), *plan.jobs(TASKS, ("ofs",), many=True)]


def compute(context: Context) -> list[Drawn]:
    """Return every finding with its figure."""
    empty = {
        "empty": "Rounds with F_t empty, %",
        "first": "First round with F_t not empty",
        "largest": "Largest F_t",
        "radius": "Radius at the end",
        "epsilon": "ε",
    }
    locked = {
        "share": "Plays of a seed's most played threshold, %",
        "lowest": f"Seeds of {context.plan.many} settled on the lowest threshold, %",
        "worst": "Worst seed's steady-state reward",
        "oracle": "Oracle's",
    }
    same = {"same": "Identical plays, %", "main": "Violation, main", "strict": "Violation, strict"}
    noise = {"batch": "Batch gap", "exact": "Exact gap", "floor": "Noise floor (formula)"}
    stalled = {
        "near": "Median step where |reward| < 0.1",
        "far": "Median step elsewhere",
        "share": "Rounds with |reward| < 0.1, %",
        "reward": "Tail reward",
        "acceptance": "Tail acceptance",
    }
    return [
        _found(context, "finding1", empty_set, TASKS, "confidence radius b", empty),
        _found(context, "finding2", lock_in, TASKS, "share of plays, %", locked),
        _found(context, "finding3", same_plays, SEMI_SYNTHETIC, "acceptance rate", same),
        _found(context, "finding4", noise_floor, TASKS, "parity gap", noise),
        _found(context, "finding5", stall, TASKS, "centre of the search", stalled),
    ]


def _found(
    context: Context, key: str, panel: Panel, tasks: Sequence[str], label: str, columns: Mapping[str, str]
) -> Drawn:
    """Draw a finding on some tasks, and put its figure and table together with its words."""
    figure, axes = panels(1, len(tasks), WIDTH, HEIGHT)
    rows = []
    for task, ax in zip(tasks, axes, strict=True):
        rows.append(Row((task,), panel(context, task, ax)))
        ax.set_title(TITLES[task])
    axes[0].set_ylabel(label)
    for ax in figure.axes:
        for written in (ax.title, ax.xaxis.label, ax.yaxis.label):
            written.set_fontsize(FONT)
    add_legend(figure, figure.axes, columns=4)
    text = words()["findings"][key]
    finding = Finding(
        key=key,
        title=text["title"],
        paper=text["paper"],
        shown=text["shown"],
        follows=text["follows"],
        drawing=Drawing(key, text["drawing"], text["caption"]),
        table=Table(key, text["table"], text["note"], ("task",), columns, rows),
    )
    return finding, figure


def empty_set(context: Context, task: str, ax: Axes) -> dict[str, Cell]:
    """F_t stays empty while the radius exceeds ε minus the mean gap."""
    run = context.run(task, "ofs")
    learner = expect(OFS, load_learner("ofs", task))
    t = np.arange(1, run.rounds + 1)
    played, arms = run.thresholds[:, :, 0], len(load_task(task).thresholds)
    most = np.median(played, axis=1, keepdims=True)
    plays = np.maximum(1, np.cumsum(played == most, axis=1) - (played == most))
    radius = np.sqrt(float(np.asarray(learner.c)) * np.log((t + 1) * arms / learner.delta) / plays)
    size = run.traces["feasible"]
    ax.plot(t, radius.mean(axis=0), color=COLOURS[0], label="radius b of the most played threshold")
    ax.axhline(epsilon(task), color=COLOURS[1], linestyle="--", label="ε")
    ax.set(xscale="log", yscale="log", xlabel="round")
    other = ax.twinx()
    other.plot(t, size.mean(axis=0), color=COLOURS[2], linestyle="-.", label="size of the feasible set (right)")
    other.set(ylim=(-0.05, max(2.0, 1.1 * float(size.max()))))
    other.locator_params(axis="y", integer=True)
    other.tick_params(labelsize=FONT)
    other.spines[["top"]].set_visible(False)
    if task == TASKS[-1]:
        other.set_ylabel("thresholds in the feasible set")
    filled = np.flatnonzero((size > 0).any(axis=0))
    return {
        "empty": Cell(Estimate(100.0 * float((size == 0).mean())), digits=1),
        "first": Cell(str(filled[0] + 1) if filled.size else "never"),
        "largest": Cell(str(int(size.max()))),
        "radius": Cell(Estimate(float(radius[:, -1].mean()))),
        "epsilon": Cell(Estimate(epsilon(task)), digits=2),
    }


def lock_in(context: Context, task: str, ax: Axes) -> dict[str, Cell]:
    """One threshold gets nearly all plays."""
    run, grid = context.run(task, "ofs"), load_task(task).thresholds
    arms = np.searchsorted(grid, run.thresholds[:, :, 0])
    shares = np.array([np.bincount(loop, minlength=len(grid)) / run.rounds for loop in arms])
    width = 0.8 * float(np.diff(grid)[0])
    ax.bar(grid, 100.0 * shares.mean(axis=0), width=width, color=COLOURS[0], label="OFS")
    ax.axvline(context.oracles[task].best.threshold, color="black", linestyle=":", label="best feasible threshold")
    ax.set(xlabel="threshold", yscale="log", ylim=(0.01, 150))
    many = np.searchsorted(grid, context.settled(task, "ofs", many=True))
    reward = exact_sweep(load_task(task), grid[many]).reward
    return {
        "share": Cell(Estimate.of(100.0 * shares.max(axis=1)), digits=1),
        "lowest": Cell(Estimate(100.0 * float((many == 0).mean())), digits=0),
        "worst": Cell(Estimate(float(reward.min()))),
        "oracle": Cell(Estimate(context.oracles[task].best.reward)),
    }


def same_plays(context: Context, task: str, ax: Axes) -> dict[str, Cell]:
    """Main and strict tasks are played identically."""
    strict = f"{task}-strict"
    one, other = context.run(task, "ofs"), context.run(strict, "ofs")
    same = one.thresholds == other.thresholds
    first = slice(0, min(400, one.rounds))
    rounds = np.arange(1, one.rounds + 1)[first]
    for run, label, colour, width in ((one, "main", COLOURS[4], 3.5), (other, "strict", COLOURS[1], 0.9)):
        ax.plot(rounds, Counts(run.probabilities[0, first]).overall, color=colour, linewidth=width, label=label)
    high = float(np.asarray(expect(ServiceRate, load_task(strict).problem.constraints[1]).high))
    ax.axhline(high, color="black", linestyle=":", label="cap of the strict window")
    ax.set(xlabel="round", ylim=(0, 1.02))
    return {
        "same": Cell(Estimate(100.0 * float(same.mean())), digits=1),
        "main": Cell(Estimate.of(context.figures(context.plan.job(task, "ofs"))["violation"]), digits=2),
        "strict": Cell(Estimate.of(context.figures(context.plan.job(strict, "ofs"))["violation"]), digits=2),
    }


def floor(acceptance: Array, shares: Array, people: int) -> Array:
    """Expected batch gap of a fair threshold: sqrt(2/π) · sqrt(p (1 − p) (1/n0 + 1/n1))."""
    spread = float((1.0 / (people * shares)).sum())
    return np.asarray(math.sqrt(2.0 / math.pi) * np.sqrt(acceptance * (1.0 - acceptance) * spread))


def noise_floor(context: Context, task: str, ax: Axes) -> dict[str, Cell]:
    """Batch gaps are mostly sampling noise near the ends of the grid."""
    exact, sampled = context.oracles[task].sweep, context.sweeps[task]
    run = context.run(task, "ofs")
    shares, people = Counts(run.probabilities[0, 0]).people, run.settings["batch"]
    ax.plot(exact.acceptance, sampled.gap, "o", markersize=3, color=COLOURS[0], label="batch gap")
    ax.plot(exact.acceptance, exact.gap, color=COLOURS[2], label="exact gap")
    p = np.linspace(0.0, 1.0, 201)
    ax.plot(p, floor(p, shares, people), color=COLOURS[1], linestyle="--", label="noise floor (formula)")
    ax.axhline(epsilon(task), color="black", linestyle=":", label="ε")
    ax.set(xlabel="acceptance rate")
    tail = slice(run.rounds - context.plan.tail, None)
    settled = run.thresholds[:, tail, 0] == np.median(run.thresholds[:, tail, 0], axis=1, keepdims=True)
    acceptance = Counts(run.probabilities[:, tail]).overall[settled]
    return {
        "batch": Cell(Estimate(float(run.batch_gap[:, tail][settled].mean()))),
        "exact": Cell(Estimate(float(run.population_gap[:, tail][settled].mean()))),
        "floor": Cell(Estimate(float(floor(acceptance, shares, people).mean()))),
    }


def stall(context: Context, task: str, ax: Axes) -> dict[str, Cell]:
    """The one-point baselines rest where reward is near 0."""
    run = context.run(task, "unconstrained")
    centre = run.traces["centre"]
    rounds = np.arange(1, run.rounds + 1)
    for loop in centre:
        ax.plot(rounds[::10], loop[::10], color=COLOURS[0], linewidth=0.6, alpha=0.7)
    grid = load_task(task).thresholds
    sweep = exact_sweep(load_task(task), np.linspace(grid[0], grid[-1], 401))
    near = sweep.thresholds[np.abs(sweep.reward) < 0.1]
    if near.size:
        ax.axhspan(near.min(), near.max(), color=COLOURS[1], alpha=0.25, label="steady-state |reward| < 0.1")
    ax.axhline(context.oracles[task].best.threshold, color="black", linestyle=":", label="oracle")
    ax.set(xlabel="round")
    steps = np.abs(np.diff(centre, axis=1))
    small = np.abs(run.batch.reward[:, :-1]) < 0.1
    return {
        "near": Cell(Estimate(float(np.median(steps[small])))),
        "far": Cell(Estimate(float(np.median(steps[~small])))),
        "share": Cell(Estimate(100.0 * float(small.mean())), digits=0),
        "reward": Cell(Estimate.of(run.per_replicate(context.plan.tail)["reward"])),
        "acceptance": Cell(Estimate.of(run.per_replicate(context.plan.tail)["acceptance"])),
    }
