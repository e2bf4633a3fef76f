"""Learning curves: how runs went, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.errors import InputError, unknown_name
from fairgate.plots.looks import QUANTITIES, curve_look, finished, own_or_new
from fairgate.problem import violation
from fairgate.run import Run
from fairgate.settings import Array, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = (0.1, 0.9)
"""Quantiles of the replicates between which a learning curve's band lies."""


def plot_learning(
    runs: Run | Mapping[str, Run],
    figure: str = "reward",
    ax: Axes | None = None,
    smooth: int = 50,
    exact: bool = False,
    band: bool = True,
    **style: Any,
) -> Axes:
    r"""Draw how runs went: the mean over replicates, round by round, in a band that holds most of them.

    The band goes from the 10th to the 90th percentile of the replicates, so that it never leaves what can happen, as
    a standard deviation does below a gap of 0.

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
        Whether to draw the band. A run of one replicate has none.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=100, seeds=3)
    >>> axes = plot_learning({"OFS": run}, "gap", smooth=20)
    >>> axes.get_ylabel()
    'DP gap, batch\n(mean of 20 rounds)'
    """
    if isinstance(runs, Run):
        runs = {runs.learner: runs}
    if not isinstance(runs, Mapping) or not runs:
        raise InputError(f"runs must be a run, or map at least one name to a run, got {runs!r}")
    drawn = {name: _learning_curves(name, run, figure, smooth, exact) for name, run in runs.items()}
    axes = own_or_new(ax)
    for index, (name, (rounds, values)) in enumerate(drawn.items()):
        mean = values.mean(axis=0)
        (line,) = axes.plot(rounds, mean, **curve_look(index, name, style))
        if band and len(values) > 1:
            low, high = np.quantile(values, BAND, axis=0)
            axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xlim(0, max(run.rounds for run in runs.values()))
    if figure != "reward":
        axes.set_ylim(bottom=0, auto=True)  # what is drawn later may still raise the top
    smoothed = f"\n(mean of {smooth} rounds)" if smooth > 1 and figure != "violation" else ""
    label = f"{QUANTITIES[figure]}, {'exact' if exact else 'batch'}{smoothed}"
    return finished(axes, "round", label, alone=ax is None)


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
    shown = np.arange(values.shape[1] - 1, -1, -max(1, smooth // 10))[::-1]  # the last round is always drawn
    return first + shown.astype(np.float64), np.asarray(values[:, shown])
