"""What the printed rule really does: five findings, each with a figure and a small table from the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln

from fairgate.constraints import ServiceRate
from fairgate.counts import Counts
from fairgate.estimates import Estimate
from fairgate.experiments.figures import FLOOR, WIDTH
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import SEMI_SYNTHETIC, STRICT, TASKS, TITLES, Context, Plan, epsilon, expect, words
from fairgate.experiments.results import Cell, Drawing, Finding, Row, Table
from fairgate.learners import OFS, load_learner
from fairgate.plots import COLOURS, FONT, add_legend, panels
from fairgate.policy import Policy
from fairgate.settings import Array
from fairgate.tasks import load_task
from fairgate.thresholds import exact_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = tuple[Finding, "Figure"]

Panel = Callable[[Context, str, "Sequence[Axes]"], dict[str, Cell]]
"""Draws a finding on a task, in axes from top to bottom, and returns its row of the table."""

ROW = 1.7
"""Inches of a row of panels."""

SMALL = 0.1
"""Rewards up to this size count as near 0."""


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
    noise = {
        "batch": "Batch gap, measured",
        "expected": "Batch gap, expected",
        "floor": "Expected from noise alone",
        "exact": "Exact gap",
    }
    stalled = {
        "near": f"Median step where |reward| < {SMALL}",
        "far": "Median step elsewhere",
        "share": f"Rounds with |reward| < {SMALL}, %",
        "grid": f"Thresholds with |reward| < {SMALL}, %",
        "crossings": "Crossings of their border per seed",
        "reward": "Tail reward",
        "acceptance": "Tail acceptance",
        "oracle": "Oracle's reward",
    }
    seeds = f"share of {context.plan.many}\nseeds, %"
    return [
        _found(context, "finding1", empty_set, TASKS, ("confidence\nradius b", "seeds with F\nnot empty, %"), empty),
        _found(context, "finding2", lock_in, TASKS, ("plays of so many\nthresholds, %", seeds), locked),
        _found(context, "finding3", same_plays, SEMI_SYNTHETIC, ("acceptance rate",), same),
        _found(context, "finding4", noise_floor, TASKS, ("parity gap",), noise),
        _found(context, "finding5", stall, TASKS, ("steady-state\nreward", "rounds, %"), stalled),
    ]


def _found(
    context: Context, key: str, panel: Panel, tasks: Sequence[str], labels: Sequence[str], columns: Mapping[str, str]
) -> Drawn:
    """Draw a finding on some tasks, a column of panels each, and put figure and table together with its words."""
    figure, axes = panels(len(labels), len(tasks), WIDTH, 0.7 + ROW * len(labels))
    rows = []
    for number, task in enumerate(tasks):
        rows.append(Row((task,), panel(context, task, axes[number :: len(tasks)])))
        axes[number].set_title(TITLES[task])
    for first, label in zip(axes[:: len(tasks)], labels, strict=True):
        first.set_ylabel(label)
    for ax in axes:
        for written in (ax.title, ax.xaxis.label, ax.yaxis.label):
            written.set_fontsize(FONT)
    add_legend(figure, axes, columns=3)
    text = words()["findings"][key]
    said = {column: by_task(rows, column, "%" if head.endswith("%") else "") for column, head in columns.items()}
    finding = Finding(
        key=key,
        title=text["title"],
        paper=text["paper"],
        shown=text["shown"].format(**said),
        follows=text["follows"].format(**said),
        drawing=Drawing(key, text["drawing"], text["caption"].format(seeds=context.plan.seeds)),
        table=Table(key, text["table"], text["note"], ("task",), columns, rows),
    )
    return finding, figure


def by_task(rows: Sequence[Row], column: str, unit: str) -> str:
    """Write a column's figures out, task by task, so that the words follow the run."""
    return ", ".join(f"{TITLES[row.keys[0]]} {row.cells[column].written('ours')}{unit}" for row in rows)


def empty_set(context: Context, task: str, axes: Sequence[Axes]) -> dict[str, Cell]:
    """F_t stays empty while the radius exceeds ε minus the mean gap."""
    run = context.run(task, "ofs")
    learner = expect(OFS, load_learner("ofs", task))
    t = np.arange(1, run.rounds + 1)
    played, arms = run.thresholds[:, :, 0], len(load_task(task).thresholds)
    most = np.median(played, axis=1, keepdims=True)
    plays = np.maximum(1, np.cumsum(played == most, axis=1) - (played == most))
    radius = np.sqrt(float(np.asarray(learner.c)) * np.log((t + 1) * arms / learner.delta) / plays)
    size = run.traces["feasible"]
    above, below = axes
    above.plot(t, radius.mean(axis=0), color=COLOURS[0], label="radius b of the most played threshold")
    above.axhline(epsilon(task), color="black", linestyle="--", linewidth=1, label="ε")
    above.set(xscale="log", yscale="log", ylim=(0.01, 3.0))
    below.plot(t, 100.0 * (size > 0).mean(axis=0), color=COLOURS[2], label="seeds whose feasible set is not empty")
    below.set(xscale="log", xlabel="round", ylim=(-4, 104))
    for axis in (above.xaxis, above.yaxis, below.xaxis):
        axis.set_major_formatter("{x:g}")
    filled = np.flatnonzero((size > 0).any(axis=0))
    return {
        "empty": Cell(Estimate(100.0 * float((size == 0).mean())), digits=1),
        "first": Cell(str(filled[0] + 1) if filled.size else "never"),
        "largest": Cell(str(int(size.max()))),
        "radius": Cell(Estimate(float(radius[:, -1].mean()))),
        "epsilon": Cell(Estimate(epsilon(task)), digits=2),
    }


def lock_in(context: Context, task: str, axes: Sequence[Axes]) -> dict[str, Cell]:
    """One threshold gets nearly all plays."""
    run, grid = context.run(task, "ofs"), load_task(task).thresholds
    arms = np.searchsorted(grid, run.thresholds[:, :, 0])
    shares = np.array([np.bincount(loop, minlength=len(grid)) / run.rounds for loop in arms])
    ranked = 100.0 * np.sort(shares, axis=1)[:, ::-1].cumsum(axis=1)
    many = np.searchsorted(grid, context.settled(task, "ofs", many=True))
    ends = 100.0 * np.bincount(many, minlength=len(grid)) / len(many)
    above, below = axes
    rank = np.arange(1, len(grid) + 1)
    above.plot(rank, ranked.mean(axis=0), "o-", color=COLOURS[0], ms=2.5, lw=0.8, label="plays of OFS, summed up")
    above.plot(rank, 100.0 * rank / len(grid), color="0.5", linestyle=":", label="if all were played alike")
    first = float(ranked[:, 0].mean())
    beside: dict[str, Any] = {"xytext": (2, -12), "textcoords": "offset points", "fontsize": FONT, "color": COLOURS[0]}
    above.annotate(f"first: {first:.1f}%", (1, first), **beside)
    above.set(xlabel="thresholds, most played first", ylim=(0, 104))
    hit = ends > 0
    below.vlines(grid[hit], 0, ends[hit], color=COLOURS[1], linewidth=0.8)
    below.plot(grid[hit], ends[hit], "o", color=COLOURS[1], markersize=3.5, clip_on=False, label="where OFS settled")
    below.axvline(context.oracles[task].best.threshold, color="black", linestyle="--", linewidth=1, label="oracle")
    below.set(xlabel="threshold", xlim=_around(grid), ylim=(0, 104))
    reward = exact_sweep(load_task(task), grid[many]).reward
    return {
        "share": Cell(Estimate.of(100.0 * shares.max(axis=1)), digits=1),
        "lowest": Cell(Estimate(100.0 * float((many == 0).mean())), digits=0),
        "worst": Cell(Estimate(float(reward.min()))),
        "oracle": Cell(Estimate(context.oracles[task].best.reward)),
    }


def _around(grid: Array) -> tuple[float, float]:
    margin = 0.04 * float(grid[-1] - grid[0])
    return float(grid[0]) - margin, float(grid[-1]) + margin


def same_plays(context: Context, task: str, axes: Sequence[Axes]) -> dict[str, Cell]:
    """Main and strict tasks are played identically."""
    (ax,) = axes
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


def expected_gap(rates: Array, shares: Array, people: int) -> Array:
    """Expected gap of a batch, exactly, where two groups are accepted at these true `rates` (N, 2).

    The size of group 0 is binomial, and so is the number accepted in each group given its size:
    E |K0/n0 − K1/n1|, summed over all of them. A batch without one of the groups shows no gap.
    """
    found = np.zeros(len(rates))
    for size, chance in enumerate(_binomial(people, shares[:1])[0]):
        if chance > 1e-12 and 0 < size < people:
            accepted = [np.arange(group + 1) / group for group in (size, people - size)]
            first, second = _binomial(size, rates[:, 0]), _binomial(people - size, rates[:, 1])
            found += chance * ((first @ np.abs(np.subtract.outer(*accepted))) * second).sum(axis=1)
    return found


def _binomial(trials: int, rates: Array) -> Array:
    """Probability of 0 to `trials` successes at each rate, (rates, trials + 1); much faster than scipy.stats has it."""
    rates = np.clip(rates, 1e-300, 1.0 - 1e-16)[:, None]
    wins = np.arange(trials + 1.0)
    losses = trials - wins
    ways = -betaln(1.0 + wins, 1.0 + losses) - np.log1p(trials)
    return np.asarray(np.exp(ways + wins * np.log(rates) + losses * np.log1p(-rates)))


def noise_floor(context: Context, task: str, axes: Sequence[Axes]) -> dict[str, Cell]:
    """Even a perfectly fair threshold shows a gap in batches."""
    (ax,) = axes
    run, world = context.run(task, "ofs"), load_task(task)
    shares, people = Counts(run.probabilities[0, 0]).people, run.settings["batch"]
    tail = slice(run.rounds - context.plan.tail, None)
    settled = run.thresholds[:, tail, 0] == np.median(run.thresholds[:, tail, 0], axis=1, keepdims=True)
    tails = zip(run.probabilities[:, tail], settled, strict=True)
    mine = Counts(np.array([cells[kept].mean(axis=0) for cells, kept in tails]))
    shared = np.repeat(world.thresholds[:, None], 2, axis=1)
    every = Counts(world.environment.long_run_cells(Policy.of(shared)))
    rates = np.concatenate([every.rates, mine.rates])
    equal = np.repeat(np.concatenate([every.overall, mine.overall])[:, None], 2, axis=1)
    expected, floor = expected_gap(np.concatenate([rates, equal]), shares, people).reshape(2, -1)

    arms = len(world.thresholds)
    ax.plot(world.thresholds, context.sweeps[task].gap, "o", color=COLOURS[0], ms=3, label="batch gap, measured")
    ax.plot(world.thresholds, expected[:arms], color=COLOURS[0], linewidth=0.8, label="batch gap, expected")
    ax.plot(world.thresholds, floor[:arms], color=COLOURS[1], linestyle="--", label="expected from noise alone")
    ax.plot(world.thresholds, every.gap, color=COLOURS[2], linestyle="-.", label="exact gap")
    ax.axhline(epsilon(task), color="black", linestyle=":", label="ε")
    ax.set(xlabel="threshold", xlim=_around(world.thresholds), yscale="log", ylim=(FLOOR, 1.0))
    ax.yaxis.set_major_formatter("{x:g}")
    return {
        "batch": Cell(Estimate(float(run.batch_gap[:, tail][settled].mean()))),
        "expected": Cell(Estimate(float(expected[arms:].mean()))),
        "floor": Cell(Estimate(float(floor[arms:].mean()))),
        "exact": Cell(Estimate(float(run.population_gap[:, tail][settled].mean()))),
    }


def stall(context: Context, task: str, axes: Sequence[Axes]) -> dict[str, Cell]:
    """A one-point step is as large as the reward, not as its slope."""
    run, world = context.run(task, "unconstrained"), load_task(task)
    centre = run.traces["centre"]
    sweep = exact_sweep(world, np.linspace(world.thresholds[0], world.thresholds[-1], 401))
    near = np.abs(sweep.reward) < SMALL
    within = np.interp(centre, sweep.thresholds, near) > 0.5
    best = context.oracles[task].best
    above, below = axes
    above.plot(sweep.thresholds, sweep.reward, color=COLOURS[2], label="steady-state reward")
    bins = np.linspace(world.thresholds[0], world.thresholds[-1], len(world.thresholds))
    share = np.full(centre.size, 100.0 / centre.size)
    below.hist(centre.ravel(), bins.tolist(), weights=share, color=COLOURS[0], label="position of the search")
    below.axhline(100.0 / (len(bins) - 1), color="0.4", linestyle=":", label="an even spread")
    for ax in axes:
        near_zero: dict[str, Any] = {"color": COLOURS[5], "alpha": 0.3, "lw": 0, "label": f"|reward| < {SMALL}"}
        whole = ax.get_xaxis_transform()  # from the bottom of the panel to its top
        ax.fill_between(sweep.thresholds, 0, 1, where=near.tolist(), transform=whole, zorder=0, **near_zero)
        ax.axvline(best.threshold, color="black", linestyle="--", linewidth=1, label="oracle")
        ax.axvline(float(centre[0, 0]), color="0.4", linestyle="-.", linewidth=1, label="start of the search")
        ax.set_xlim(_around(world.thresholds))
    below.set(xlabel="threshold")
    steps = np.abs(np.diff(centre, axis=1))
    small = np.abs(run.batch.reward[:, :-1]) < SMALL
    last = run.per_replicate(context.plan.tail)
    return {
        "near": Cell(Estimate(float(np.median(steps[small])))),
        "far": Cell(Estimate(float(np.median(steps[~small])))),
        "share": Cell(Estimate(100.0 * float(small.mean())), digits=0),
        "grid": Cell(Estimate(100.0 * float(near.mean())), digits=0),
        "crossings": Cell(Estimate.of(np.diff(within, axis=1).sum(axis=1)), digits=0),
        "reward": Cell(Estimate.of(last["reward"])),
        "acceptance": Cell(Estimate.of(last["acceptance"])),
        "oracle": Cell(Estimate(best.reward)),
    }
