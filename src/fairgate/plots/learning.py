"""Learning curves: how runs went, round by round, beside what was possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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


def plot_learning(
    runs: Run | Mapping[str, Run],
    figure: str = "reward",
    ax: Axes | None = None,
    smooth: int = 50,
    exact: bool = False,
    band: Literal["quantiles", "interval"] | None = "quantiles",
    oracle: Oracle | None = None,
    legend: Legend = "auto",
    **style: Any,
) -> Axes:
    r"""Draw how runs went: the mean over replicates, round by round, in a band.

    Parameters
    ----------
    runs
        A run, or runs by the name they have in the legend.
    figure
        ``"reward"``, ``"gap"`` (demographic parity) or ``"violation"`` (all constraints, summed up to the round).
    smooth
        Reward and gap are means of this many rounds, drawn at the last of them, so the curves begin at round `smooth`
        and show every tenth of it; 1 shows every round as it was.
    exact
        Whether to show the population's figures instead of the batches'. A batch's gap is biased up by sampling noise.
    band
        ``"quantiles"``: from the 10th to the 90th percentile of the replicates, so that it never leaves what can
        happen, as a standard deviation does below a gap of 0. ``"interval"``: the 95% t-interval of the mean, round by
        round, which says how well the mean is known. None: no band. A run of one replicate has none.
    oracle
        What :func:`fairgate.oracle` found on the task of these runs. Its reward, gap or summed violation is drawn as a
        black line; beside a gap also ε, the largest that is allowed.
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
    drawn = {name: _learning_curves(name, run, figure, smooth, exact) for name, run in runs.items()}
    levels = {} if oracle is None else _oracle_lines(runs, figure, oracle)
    axes = own_or_new(ax)
    for index, (name, (rounds, values)) in enumerate(drawn.items()):
        mean = values.mean(axis=0)
        (line,) = axes.plot(rounds, mean, **curve_look(index, name, style))
        if band and len(values) > 1:
            low, high = _edges(values, mean, band)
            axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    last = max(run.rounds for run in runs.values())
    for (name, (start, end)), look in zip(levels.items(), ((0, (4, 2)), "-"), strict=False):
        axes.plot([0, last], [start, end], color="black", linewidth=0.8, linestyle=look, label=name, zorder=1.5)
    axes.set_xlim(0, last)
    if figure != "reward":
        axes.set_ylim(bottom=0, auto=True)  # what is drawn later may still raise the top
    smoothed = f"\n(mean of {smooth} rounds)" if smooth > 1 and figure != "violation" else ""
    label = f"{QUANTITIES[figure]}, {'exact' if exact else 'batch'}{smoothed}"
    return finished(axes, "round", label, alone=ax is None, legend=legend)


def _edges(values: Array, mean: Array, band: str) -> tuple[Array, Array]:
    """Return the lower and upper edge of a band around replicates' values (R, N), whose mean (N,) is known."""
    if band == "interval":
        half = half_width(values.std(axis=0, ddof=1), len(values))
        return mean - half, mean + half
    low, high = np.quantile(values, BAND, axis=0)
    return low, high


def _oracle_lines(runs: Mapping[str, Run], figure: str, oracle: Oracle) -> dict[str, tuple[float, float]]:
    """Return straight lines by name, each by its height at round 0 and at the last round."""
    if not isinstance(oracle, Oracle):
        raise InputError(f"oracle must be what fairgate.oracle returns, got {type(oracle).__name__}")
    best = oracle.best
    name = "oracle" if best.feasible else "least violation"
    if figure == "violation":
        rounds = max(run.rounds for run in runs.values())
        return {name: (0.0, rounds * float(violation(np.array(best.residuals))))}
    if figure == "reward":
        return {name: (best.reward, best.reward)}
    allowed = {_allowed_gap(run) for run in runs.values()}
    epsilon = allowed.pop() if len(allowed) == 1 else None
    line = {name: (best.gap, best.gap)}
    return line if epsilon is None else line | {"ε, the gap allowed": (epsilon, epsilon)}


def _allowed_gap(run: Run) -> float | None:
    """Return ε of demographic parity, by which gap and residual differ; None if it is not asked for or varies."""
    if "parity" not in run.names:
        return None
    allowed = run.population_gap - run.population.residuals[run.names.index("parity")]
    return round(float(allowed[0, 0]), 12) if np.ptp(allowed) < 1e-9 else None


def _learning_curves(name: str, run: Run, figure: str, smooth: int, exact: bool) -> tuple[Array, Array]:
    """Return the rounds drawn (N,) and each replicate's figure in them (R, N)."""
    if figure not in QUANTITIES:
        raise unknown_name("figure", figure, QUANTITIES)
    smooth = whole_number("smooth", smooth, 1)
    if smooth > run.rounds:
        raise InputError(
            f"smooth is the mean of {smooth} rounds, but run {name!r} has {run.rounds}: choose a smaller one"
        )
    assessment = run.population if exact else run.batch
    if figure == "violation":
        values, first = violation(assessment.residuals).cumsum(axis=1), 1
    else:
        gap = run.population_gap if exact else run.batch_gap
        sums = np.pad((assessment.reward if figure == "reward" else gap).cumsum(axis=1), ((0, 0), (1, 0)))
        values, first = (sums[:, smooth:] - sums[:, :-smooth]) / smooth, smooth
    places = np.arange(values.shape[1] - 1, -1, -max(1, smooth // 10))[::-1]  # the last round is always drawn
    return first + places.astype(np.float64), np.asarray(values[:, places])
