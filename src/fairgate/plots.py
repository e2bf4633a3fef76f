"""Plots: learning curves of runs, the trade-off of fixed thresholds, and what thresholds do in a task or a table.

Every function draws on the axes `ax` it is given and leaves their legend to the caller; without axes it makes a figure
of one column's width (3.5 in) with a legend. It returns the axes, whose ``figure.savefig(...)`` writes a file. Further
arguments, such as ``linewidth``, are those of :meth:`matplotlib.axes.Axes.plot`. Nothing global is touched: neither
pyplot nor rcParams.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError, unknown_name
from fairgate.oracle import Oracle
from fairgate.problem import is_feasible, violation
from fairgate.run import Run
from fairgate.settings import Array, whole_number
from fairgate.tasks import Task
from fairgate.thresholds import ThresholdSweep, exact_sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure, SubFigure

COLUMN = 3.5
"""Width in inches of a single panel."""

FONT = 8.0
"""Size in points of all text, so that a figure can be printed as it is."""

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart with every kind of colour vision; yellow is left out, too light for a line."""

LINES = ("--", "-.", "-", (0, (5, 1, 1, 1, 1, 1)))
"""Line styles, a second way to tell the curves apart."""

MARKERS = ("s", "^", "D", "v", "P")

SHADE = "#DDEBDD"
"""What is allowed."""

BAND = (0.1, 0.9)
"""Quantiles of the replicates between which a learning curve's band lies."""

QUANTITIES = {"reward": "reward per person", "gap": "DP gap", "violation": "cumulative violation"}


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
    axes = _axes(ax)
    for index, (name, (rounds, values)) in enumerate(drawn.items()):
        mean = values.mean(axis=0)
        (line,) = axes.plot(rounds, mean, **_look(index, name, style))
        if band and len(values) > 1:
            low, high = np.quantile(values, BAND, axis=0)
            axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set_xlim(0, max(run.rounds for run in runs.values()))
    if figure != "reward":
        axes.set_ylim(bottom=0, auto=True)  # what is drawn later may still raise the top
    smoothed = f"\n(mean of {smooth} rounds)" if smooth > 1 and figure != "violation" else ""
    label = f"{QUANTITIES[figure]}, {'exact' if exact else 'batch'}{smoothed}"
    return _finished(axes, "round", label, alone=ax is None)


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


def plot_tradeoff(
    found: Oracle | ThresholdSweep,
    epsilon: float | None = None,
    ends: Mapping[str, ThresholdSweep] | None = None,
    ax: Axes | None = None,
    zoom: bool = False,
    **style: Any,
) -> Axes:
    """Draw reward against parity gap of fixed thresholds, and which one is best.

    A point is a threshold of the sweep, joined in their order: filled if it meets every constraint, hollow if not, the
    darker the more people it accepts. The star is the best feasible threshold (if there is none, the one that violates
    least).

    Parameters
    ----------
    found
        What :func:`fairgate.oracle` found, or a sweep.
    epsilon
        Largest gap allowed; gaps up to it are shaded.
    ends
        More thresholds to mark, such as those learners settled on, by the name they have in the legend.
    zoom
        Whether to show only what lies around the best threshold: gaps up to twice the larger of its own and `epsilon`.

    Examples
    --------
    >>> import fairgate as fg
    >>> found = fg.oracle(fg.load_task("german"))
    >>> axes = plot_tradeoff(found, epsilon=0.02)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('DP gap', 'reward per person')
    """
    sweep = found.sweep if isinstance(found, Oracle) else found
    if epsilon is not None and not 0 <= epsilon <= 1:
        raise InputError(f"epsilon must be in [0, 1], got {epsilon}")
    axes = _axes(ax)
    ends = ends or {}
    best, shown = found.best, (sweep, *ends.values())
    gaps = np.concatenate([each.gap for each in shown])
    rewards = np.concatenate([each.reward for each in shown])
    if zoom:
        near = (gaps <= 2 * max(best.gap, epsilon or 0.0)) & (rewards >= best.reward - 0.1 * np.ptp(rewards))
        gaps, rewards = gaps[near], rewards[near]
    right = max(float(gaps.max()), epsilon or 0.0, 1e-3)
    left, margin = -0.05 * right, 0.08 * max(float(np.ptp(rewards)), 1e-3)
    axes.set_xlim(left, 1.05 * right)
    axes.set_ylim(rewards.min() - margin, rewards.max() + margin)
    if epsilon is not None:
        axes.axvspan(left, epsilon, color=SHADE, linewidth=0, zorder=0, label="gap ≤ ε")

    axes.plot(sweep.gap, sweep.reward, **{"color": "0.6", "linewidth": 0.8, "zorder": 1, **_full_names(style)})
    feasible = is_feasible(sweep.residuals)
    shades = acceptance_scale().to_rgba(sweep.acceptance)
    for members, name in ((~feasible, "infeasible threshold"), (feasible, "feasible threshold")):
        if members.any():
            edges = shades[members].tolist()
            faces = edges if name.startswith("feasible") else "white"
            look = {"s": 14, "facecolors": faces, "edgecolors": edges, "linewidths": 0.8, "zorder": 2}
            axes.scatter(sweep.gap[members], sweep.reward[members], label=name, **look)
    star = point_look("*", "#F0E442", 12, edge="black", width=0.7, zorder=3)
    axes.plot([best.gap], [best.reward], label="best feasible" if best.feasible else "least violation", **star)
    for index, (name, end) in enumerate(ends.items()):
        look = point_look(MARKERS[index % len(MARKERS)], COLOURS[index % len(COLOURS)], 5, width=0.4, zorder=4)
        axes.plot(end.gap, end.reward, label=name, **look)
    if ax is None:
        add_acceptance_bar([axes])
    return _finished(axes, "DP gap", "reward per person", alone=ax is None)


def add_acceptance_bar(axes: Sequence[Axes]) -> None:
    """Add the key to the shades of :func:`plot_tradeoff` beside some axes of a figure."""
    bar = axes[0].figure.colorbar(acceptance_scale(), ax=axes, aspect=30, pad=0.02)
    bar.set_label("share accepted", fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT)


def acceptance_scale() -> ScalarMappable:
    """Return the shades of :func:`plot_tradeoff`: light where few are accepted, black where all are."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    shades = LinearSegmentedColormap.from_list("acceptance", ["0.75", "0.0"])
    return ScalarMappable(Normalize(0.0, 1.0), shades)


def plot_acceptance(task: Task, ax: Axes | None = None, points: int = 401, **style: Any) -> Axes:
    """Draw what each fixed threshold leads to in the long run: every group's acceptance rate, the gap and the reward.

    `points` thresholds are drawn, between the ends of the task's grid. Those that meet every constraint are shaded.

    Examples
    --------
    >>> import fairgate as fg
    >>> axes = plot_acceptance(fg.load_task("compas"))
    >>> [line.get_label() for line in axes.lines]
    ['accepted, group 0', 'accepted, group 1', 'DP gap', 'reward per person']
    """
    thresholds = np.linspace(task.thresholds[0], task.thresholds[-1], whole_number("points", points, 2))
    sweep = exact_sweep(task, thresholds)
    shared = np.repeat(thresholds[:, None], task.environment.group_count, axis=1)
    rates = Counts(task.environment.probabilities(task.environment.steady_state(shared), shared)).rates
    curves = {f"accepted, group {group}": rate for group, rate in enumerate(rates.T)}
    curves |= {"DP gap": sweep.gap, "reward per person": sweep.reward}
    axes = _axes(ax)
    for index, (name, values) in enumerate(curves.items()):
        axes.plot(thresholds, values, **_look(index, name, style))
    _shade_feasible(axes, thresholds, is_feasible(sweep.residuals))
    axes.set_xlim(thresholds[0], thresholds[-1])
    return _finished(axes, "threshold (unit of the score)", "share or reward per person", alone=ax is None)


def plot_thresholds(advice: Any, figure: str = "reward", ax: Axes | None = None, **style: Any) -> Axes:
    """Draw what every threshold does to the people of a table, with 95% intervals, and which one is recommended.

    `advice` is what :func:`fairgate.advice.advise` found; `figure` is ``"reward"``, ``"gap"`` or ``"acceptance"``, the
    last for every group. Thresholds that meet every constraint on these people are shaded.

    Examples
    --------
    >>> import fairgate as fg
    >>> from fairgate.advice.example import example_table
    >>> people = fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    >>> aims = fg.Aims(cost=2.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.8)], seeds=1, rounds=5)
    >>> axes = plot_thresholds(fg.advise(people, aims), "acceptance")
    >>> [line.get_label() for line in axes.lines]
    ['accepted, f', 'accepted, m', 'recommended']
    """
    if not all(hasattr(advice, name) for name in ("today", "applicants", "recommendation")):
        raise InputError(f"advice must be what fairgate.advice.advise returns, got {type(advice).__name__}")
    titles = {**QUANTITIES, "acceptance": "share accepted"}
    del titles["violation"]
    if figure not in titles:
        raise unknown_name("figure", figure, titles)
    today, chosen = advice.today, advice.recommendation
    names = [f"accepted, {name}" for name in advice.applicants.groups] if figure == "acceptance" else [titles[figure]]
    drawn = {"acceptance": today.rates, "gap": today.gap, "reward": today.reward}[figure]
    middle, low, high = (np.atleast_2d(values) for values in drawn)
    if figure == "reward":  # where labels do not tell, nothing is drawn
        middle, low, high = (np.where(today.known, values, np.nan) for values in (middle, low, high))
    axes = _axes(ax)
    order = np.argsort(today.thresholds)
    at = today.thresholds[order]
    for index, name in enumerate(names):
        (line,) = axes.plot(at, middle[index, order], **_look(index, name, style))
        axes.fill_between(at, low[index, order], high[index, order], color=line.get_color(), alpha=0.2, linewidth=0)
    axes.axvline(
        chosen.threshold, color="0.3", linewidth=1, label="nearest" if chosen.status == "infeasible" else "recommended"
    )
    # a threshold accepts the same people down to the next lower score (or, descending, up to the next higher one)
    ends = np.append(at, at[-1]) if advice.applicants.descending else np.append(at[0], at)
    _shade_feasible(axes, np.repeat(ends, 2)[1:-1], np.repeat(today.feasible[order], 2))
    axes.set_xlim(at[0], at[-1])
    return _finished(axes, f"threshold of {advice.applicants.columns.score}", titles[figure], alone=ax is None)


def _shade_feasible(axes: Axes, thresholds: Array, feasible: NDArray[np.bool_]) -> None:
    whole = axes.get_xaxis_transform()  # from the bottom of the panel to its top
    look: dict[str, Any] = {"color": SHADE, "linewidth": 0, "zorder": 0, "label": "feasible"}
    axes.fill_between(thresholds, 0, 1, where=feasible.tolist(), transform=whole, **look)


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of this size in inches with a grid of axes, row by row."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05))
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for each in axes:
        each.tick_params(labelsize=FONT)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def add_legend(figure: Figure | SubFigure, axes: Sequence[Axes], columns: int) -> None:
    """Add one legend below the figure, of everything labelled in these axes, each name once."""
    found = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=columns,
        fontsize=FONT,
        frameon=False,
        handlelength=2.6,
    )


def image(figure: Figure, kind: str, dpi: float) -> bytes:
    """Draw a figure to the bytes of a ``"png"`` or ``"pdf"`` file, which are the same every time."""
    buffer = io.BytesIO()
    stamp = {"CreationDate": None} if kind == "pdf" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=stamp)
    return buffer.getvalue()


def _axes(ax: Axes | None) -> Axes:
    return panels(1, 1, COLUMN, 3.0)[1][0] if ax is None else ax


def point_look(
    marker: str, colour: str, size: float, *, edge: str = "white", width: float = 0.5, zorder: float = 3
) -> dict[str, Any]:
    """Return how points look that are joined by no line."""
    look = {"linestyle": "none", "marker": marker, "color": colour, "markersize": size, "zorder": zorder}
    return {**look, "markeredgecolor": edge, "markeredgewidth": width}


def _finished(axes: Axes, x: str, y: str, *, alone: bool) -> Axes:
    """Name what is drawn, and add the legend of a panel that stands alone."""
    axes.set_xlabel(x, fontsize=FONT)
    axes.set_ylabel(y, fontsize=FONT)
    if alone:
        add_legend(axes.figure, [axes], columns=2)
    return axes


def _look(index: int, name: str, style: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the curve of this number looks, unless the caller's `style` says otherwise."""
    look = {"color": COLOURS[index % len(COLOURS)], "linestyle": LINES[index % len(LINES)], "linewidth": 1.2}
    return {**look, "label": name, **_full_names(style)}


def _full_names(style: Mapping[str, Any]) -> dict[str, Any]:
    """Write settings of a line out: lw is linewidth."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return dict(normalize_kwargs(dict(style), Line2D))
