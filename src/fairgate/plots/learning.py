"""Learning curves: how runs went, round by round, beside what was possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairgate.against import Reference, check_same_task, known_regret
from fairgate.errors import InputError, unknown_name
from fairgate.estimates import half_width
from fairgate.oracle import Oracle
from fairgate.plots.looks import QUANTITIES, Legend, curve_look, finished, own_or_new, shown
from fairgate.problem import violation
from fairgate.run import Run
from fairgate.settings import Array, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = (0.1, 0.9)
"""Quantiles of the replicates between which a learning curve's band lies."""

BANDS = ("quantiles", "interval")

CURVES = {**QUANTITIES, "regret": "cumulative regret", "shortfall": "shortfall"}
"""What can be drawn, and what it is called."""

SUMMED = ("violation", "regret")
"""Figures that are summed up to a round; others are means of some rounds."""

JUDGED = ("regret", "shortfall")
"""Figures that compare a run with an oracle."""


def plot_learning(
    runs: Run | Mapping[str, Run],
    figure: str = "reward",
    ax: Axes | None = None,
    smooth: int = 50,
    exact: bool = False,
    band: Literal["quantiles", "interval"] | None = "quantiles",
    oracle: Reference | None = None,
    legend: Legend = "auto",
    **style: Any,
) -> Axes:
    r"""Draw how runs went: the mean over replicates, round by round, in a band.

    Parameters
    ----------
    runs
        A run, or runs by the name they have in the legend.
    figure
        ``"reward"``, ``"gap"`` (demographic parity) or ``"violation"`` (all constraints, summed up to the round); with
        an `oracle` also ``"regret"`` (summed up to the round) and ``"shortfall"``, as :meth:`fairgate.Run.against`
        finds them.
    smooth
        Reward, gap and shortfall are means of this many rounds, drawn at the last of them, so the curves begin at
        round `smooth` and show every tenth of it; 1 shows every round as it was.
    exact
        Whether to show the population's figures instead of the batches'. A batch's gap is biased up by sampling noise.
        Regret and shortfall are always exact.
    band
        ``"quantiles"``: from the 10th to the 90th percentile of the replicates, so that it never leaves what can
        happen, as a standard deviation does below a gap of 0. ``"interval"``: the 95% t-interval of the mean, round by
        round, which says how well the mean is known. None: no band. A run of one replicate has none.
    oracle
        What :func:`fairgate.oracle` found on the task of these runs; for a task that changes by itself, what
        :func:`fairgate.truth_of` did. Its reward or gap is drawn as a dotted line, also its summed violation where
        nothing is feasible; beside a gap ε, the largest that is allowed.
    legend
        Whether to draw a legend: ``"auto"`` does so below a figure of its own, but not on given axes.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("mve-s")
    >>> run = fg.simulate(task, fg.OFS(), rounds=100, seeds=3)
    >>> axes = plot_learning({"OFS": run}, "gap", smooth=20, band="interval", oracle=fg.oracle(task))
    >>> axes.get_ylabel()
    'DP gap, batch\n(mean of 20 rounds)'
    >>> [line.get_label() for line in axes.lines]
    ['OFS', 'oracle', 'ε, the gap allowed']
    """
    if isinstance(runs, Run):
        runs = {runs.learner: runs}
    if not isinstance(runs, Mapping) or not runs:
        raise InputError(f"runs must be a run, or map at least one name to a run, got {runs!r}")
    if band and band not in BANDS:
        raise unknown_name("band", band, BANDS)
    shown(legend, alone=ax is None)
    drawn = {name: _learning_curves(name, run, figure, smooth, exact, oracle) for name, run in runs.items()}
    last = max(run.rounds for run in runs.values())
    levels = {} if oracle is None else _oracle_lines(runs, figure, oracle, last)
    axes = own_or_new(ax)
    for index, (name, (rounds, values)) in enumerate(drawn.items()):
        mean = values.mean(axis=0)
        (line,) = axes.plot(rounds, mean, **curve_look(index, name, style))
        if band and len(values) > 1:
            low, high = _edges(values, mean, band)
            axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    for (name, level), look in zip(levels.items(), ((0, (1, 1.5)), "-"), strict=False):
        axes.plot(np.arange(1, last + 1), level, color="black", linewidth=0.8, linestyle=look, label=name, zorder=1.5)
    axes.set_xlim(0, last)
    if figure not in ("reward", "regret"):
        axes.set_ylim(bottom=0, auto=True)  # what is drawn later may still raise the top
    smoothed = f"\n(mean of {smooth} rounds)" if smooth > 1 and figure not in SUMMED else ""
    kind = "exact" if exact or figure in JUDGED else "batch"
    return finished(axes, "round", f"{CURVES[figure]}, {kind}{smoothed}", alone=ax is None, legend=legend)


def _edges(values: Array, mean: Array, band: str) -> tuple[Array, Array]:
    """Return the lower and upper edge of a band around replicates' values (R, N), whose mean (N,) is known."""
    if band == "interval":
        half = half_width(values.std(axis=0, ddof=1), len(values))
        return mean - half, mean + half
    low, high = np.quantile(values, BAND, axis=0)
    return low, high


def _oracle_lines(runs: Mapping[str, Run], figure: str, oracle: Reference, rounds: int) -> dict[str, Array]:
    """Return what is possible in each round, (T,), by name."""
    reward, least = oracle.targets(0, rounds)
    best = oracle.best if isinstance(oracle, Oracle) else None
    name = "oracle" if np.isfinite(reward).any() else "least violation"
    if figure == "reward":
        return {name: reward if best is None else np.full(rounds, best.reward)}
    if figure == "violation":
        return {name: least.cumsum()} if least.any() else {}
    if figure != "gap":
        return {}
    allowed = {_allowed_gap(run) for run in runs.values()}
    epsilon = allowed.pop() if len(allowed) == 1 else None
    lines = {} if best is None else {name: np.full(rounds, best.gap)}
    return lines if epsilon is None else lines | {"ε, the gap allowed": np.full(rounds, epsilon)}


def _allowed_gap(run: Run) -> float | None:
    """Return ε of demographic parity, by which gap and residual differ; None if it is not asked for or varies."""
    if "parity" not in run.names:
        return None
    allowed = run.population_gap - run.population.residuals[run.names.index("parity")]
    return round(float(allowed[0, 0]), 12) if np.ptp(allowed) < 1e-9 else None


def _learning_curves(
    name: str, run: Run, figure: str, smooth: int, exact: bool, oracle: Reference | None
) -> tuple[Array, Array]:
    """Return the rounds drawn (N,) and each replicate's figure in them (R, N)."""
    if figure not in CURVES:
        raise unknown_name("figure", figure, CURVES)
    smooth = whole_number("smooth", smooth, 1)
    if smooth > run.rounds:
        raise InputError(
            f"smooth is the mean of {smooth} rounds, but run {name!r} has {run.rounds}: choose a smaller one"
        )
    values = _by_round(run, figure, exact, oracle)
    if figure in SUMMED:
        values, first = values.cumsum(axis=1), 1
    else:
        sums = np.pad(values.cumsum(axis=1), ((0, 0), (1, 0)))
        values, first = (sums[:, smooth:] - sums[:, :-smooth]) / smooth, smooth
    places = np.arange(values.shape[1] - 1, -1, -max(1, smooth // 10))[::-1]  # the last round is always drawn
    return first + places.astype(np.float64), np.asarray(values[:, places])


def _by_round(run: Run, figure: str, exact: bool, oracle: Reference | None) -> Array:
    """Return a figure of each replicate and round, (R, T)."""
    if oracle is not None:
        check_same_task(oracle, run.settings["task"]["name"])
    if figure in JUDGED:
        if oracle is None:
            raise InputError(f"figure {figure!r} compares a run with an oracle: give oracle=fairgate.oracle(task)")
        found = run.against(oracle)
        return known_regret(found.regret) if figure == "regret" else found.shortfall
    assessment = run.population if exact else run.batch
    if figure == "violation":
        return violation(assessment.residuals)
    gap = run.population_gap if exact else run.batch_gap
    return assessment.reward if figure == "reward" else gap
