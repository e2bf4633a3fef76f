"""The trade-off of fixed thresholds: reward against parity gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.errors import InputError
from fairgate.oracle import Oracle
from fairgate.plots.looks import COLOURS, FONT, MARKERS, SHADE, Legend, finished, full_names, own_or_new, point_look
from fairgate.problem import is_feasible
from fairgate.thresholds import ThresholdSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable


def plot_tradeoff(
    found: Oracle | ThresholdSweep,
    epsilon: float | None = None,
    ends: Mapping[str, ThresholdSweep] | None = None,
    ax: Axes | None = None,
    zoom: bool = False,
    legend: Legend = "auto",
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
    axes = own_or_new(ax)
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

    axes.plot(sweep.gap, sweep.reward, **{"color": "0.6", "linewidth": 0.8, "zorder": 1, **full_names(style)})
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
    return finished(axes, "DP gap", "reward per person", alone=ax is None, legend=legend)


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
