"""Phase maps: where a learner works and which one wins, over the settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.plots.looks import COLUMN, FONT, Legend, add_legend, add_legend_below, panels, shown
from fairgate.plots.maps import (
    SIGNIFICANT,
    add_bar,
    colours_of,
    draw_contour,
    draw_failed,
    draw_unattainable,
    draw_values,
    draw_winners,
)
from fairgate.plots.measures import WINNER, limits_of, measure_of
from fairgate.plots.swept import Swept, failed, unattainable, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.16
"""Inches from margin to margin of a two-column page."""

SIDE = 3
"""Panels side by side at most."""


def plot_phase(
    sweep: Swept,
    x: str | None = None,
    y: str | None = None,
    figure: str = "share",
    learner: str | None = None,
    ax: Axes | None = None,
    at: Mapping[str, Any] | None = None,
    contour: float | Sequence[float] | None = None,
    by: str = "shortfall",
    legend: Legend = "auto",
    **style: Any,
) -> Axes:
    """Draw a phase map: what a learner came to in every setting of a sweep, in the plane of two of its parameters.

    A full design is a map of cells; a random one, points. Log-spaced values have a log axis. Settings in which no
    threshold meets every constraint are hatched, cells that failed are crossed out (✕), and a mean over
    settings of which some failed, which leaves them out, has a plus.

    Parameters
    ----------
    sweep
        What :func:`fairgate.sweep` returns.
    x, y
        Parameters of the sweep; by default its first two.
    figure
        Any figure of the sweep, as a mean over seeds: ``"share"`` (of attainable reward), ``"violation"``,
        ``"success"``, ``"feasible"``, …; of its truth: ``"best_reward"``, …; or ``"winner"``: the best learner of each
        setting, paler where the difference to the second best is not significant (two-sided paired t-test over seeds,
        p ≥ 0.05, corrected for the number of settings), yellow where the two are tied.
    learner
        Whose figure; can be left out if the sweep has one learner, and for ``"winner"`` and truth.
    at
        Values at which other parameters are held fixed, such as ``{"batch": 256}``. The figure is averaged over
        those that are not; a winner is then the one that wins most of the settings there, paler if it wins fewer than
        half of them significantly.
    contour
        Draw the line, or lines, at which the figure has this value.
    by
        The figure by which ``"winner"`` compares learners.
    legend
        Whether to draw colour bar and legend: ``"auto"`` does so in a figure of its own, but not on given axes. Given
        axes have room for a legend below in a figure with a layout (``layout="constrained"``, ``tight_layout()``).
    style
        Further arguments of :meth:`matplotlib.axes.Axes.pcolormesh`, such as `vmin`, `vmax` and `cmap`.

    Examples
    --------
    >>> import fairgate as fg
    >>> over = {"rate": [0.05, 0.1, 0.5], "epsilon": [0.02, 0.06]}
    >>> found = fg.sweep("mve-s", ["ofs", "random"], over=over, seeds=3, rounds=50)
    >>> axes = fg.plots.plot_phase(found, x="rate", y="epsilon", figure="violation", learner="ofs")
    >>> axes.get_title(), axes.get_xlabel()
    ('ofs on mve-s', 'rate')
    """
    keys = shown(legend, alone=ax is None)
    view = view_of(sweep, x, y, at)
    place = _learner(sweep, figure, learner)
    if figure == WINNER and contour is not None:
        raise InputError(f"contour is a level of a figure, but winners have none: leave it out, got {contour!r}")
    axes = panels(1, 1, COLUMN, 3.2 if figure == WINNER else 2.9)[1][0] if ax is None else ax
    if figure == WINNER:
        found = sweep.winners(by)
        draw_winners(axes, view, found.learner, found.p_value < SIGNIFICANT, found.tied, sweep.learners, style)
        subject = f"winner by {by.replace('_', ' ')} on {sweep.task}"
    else:
        values = view.mean(_values(sweep, figure, place))
        drawn = draw_values(axes, view, values, {**limits_of(figure, values), **style})
        if contour is not None:
            draw_contour(axes, view, values, np.atleast_1d(np.asarray(contour, dtype=np.float64)))
        if keys:
            add_bar(drawn, [axes], measure_of(figure).words, values)
        subject = sweep.task if place is None else f"{sweep.learners[place]} on {sweep.task}"
    draw_unattainable(axes, view, unattainable(sweep))
    draw_failed(axes, view, np.asarray(failed(sweep).all(axis=1) if place is None else failed(sweep)[:, place]))
    view.x.dress(axes, "x", cells=view.is_grid)
    view.y.dress(axes, "y", cells=view.is_grid)
    axes.set_title("\n".join(filter(None, [subject, view.rest])), fontsize=FONT)
    if keys and axes.get_legend_handles_labels()[1]:
        if ax is None:
            add_legend(axes.figure, [axes], columns=2)
        else:
            add_legend_below(axes)
    return axes


def plot_phases(
    sweep: Swept,
    x: str | None = None,
    y: str | None = None,
    figure: str = "share",
    at: Mapping[str, Any] | None = None,
    contour: float | Sequence[float] | None = None,
    by: str = "shortfall",
    **style: Any,
) -> Figure:
    """Draw :func:`plot_phase` of every learner in a panel of its own, on one colour scale, and then who wins."""
    view = view_of(sweep, x, y, at)
    count = len(sweep.learners)
    values = [view.mean(_values(sweep, figure, place)) for place in range(count)]
    look = {**limits_of(figure, np.concatenate(values)), **style}
    maps = count + (count > 1)
    columns = 2 if maps == 4 else min(SIDE, maps)
    rows = -(-maps // columns)
    page, axes = panels(rows, columns, WIDTH if columns > 1 else COLUMN, 0.6 + 2.4 * rows)
    for each in axes[maps:]:
        each.remove()
    for learner, each in zip(sweep.learners, axes, strict=False):
        plot_phase(sweep, x, y, figure, learner, each, at, contour, **look)
        each.set_title(learner, fontsize=FONT)
    add_bar(colours_of(look), axes[:count], measure_of(figure).words, np.concatenate(values))
    if count > 1:
        plot_phase(sweep, x, y, WINNER, ax=axes[count], at=at, by=by)
        axes[count].set_title(f"winner by {by.replace('_', ' ')}", fontsize=FONT)
    for number, each in enumerate(axes[:maps]):
        if number % columns:
            each.set_ylabel("")
    page.suptitle(f"{sweep.task}{', ' + view.rest if view.rest else ''}", fontsize=FONT + 1)
    add_legend(page, axes[:maps][::-1], columns=3)
    return page


def _learner(sweep: Swept, figure: str, learner: str | None) -> int | None:
    """Return the place of the learner whose figure is drawn; None for winners and truth."""
    known = tuple(sweep.learners)
    if figure not in (WINNER, *sweep.figures, *sweep.truth):
        raise unknown_name("figure", figure, (WINNER, *sweep.figures, *sweep.truth))
    if learner is not None and learner not in known:
        raise unknown_name("learner", learner, known)
    if figure == WINNER and len(known) < 2:
        raise InputError(f"figure 'winner' compares learners, but the sweep has one: {known[0]}")
    if figure not in sweep.figures:
        if learner is not None:
            raise InputError(f"figure {figure!r} is not one of a single learner: leave learner out, got {learner!r}")
        return None
    if learner is None and len(known) > 1:
        raise InputError(f"learner must be one of {', '.join(known)}: the map shows a single one")
    return 0 if learner is None else known.index(learner)


def _values(sweep: Swept, figure: str, place: int | None) -> NDArray[Any]:
    """Return the figure in every setting, (S,)."""
    if place is None:
        return np.asarray(sweep.truth[figure], dtype=np.float64)
    if figure not in sweep.figures:
        raise unknown_name("figure of a learner", figure, sweep.figures)
    return sweep.mean(figure)[:, place]
