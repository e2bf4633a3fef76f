"""Drawings: sequences over time with their bounds, and the value of thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.audit.audit import Audit
from fairgate.audit.sequences import Sequences, Track
from fairgate.audit.value import Value
from fairgate.constraints import DisparateImpact
from fairgate.plots import COLOURS, FONT, LINES, SHADE, add_legend, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOUR_FIFTHS = 0.8
"""Ratio below which the rule of thumb of employment law sees adverse impact; drawn for comparison."""

APART = 0.05
"""Between bounds of one look each, as a part of the way to the next look."""

TICKS = 4
"""Looks named on an axis; narrow ones have room for no more."""


def draw_rates(audit: Audit) -> Figure:
    """Draw acceptance by group and overall at every look, with bounds, segment by segment."""
    shown = audit.segments or [audit.overall]
    figure, (axes,) = panels(1, 1, 7.2, 3.6)
    for found in shown:
        for place, name in enumerate(audit.decisions.groups):
            own = Track(found.rates.value[:, place], found.rates.low[:, place], found.rates.high[:, place])
            _band(
                axes, found, own, COLOURS[place % len(COLOURS)], LINES[place % len(LINES)], audit.decisions.called(name)
            )
    _band(axes, audit.overall, audit.overall.overall, "#000000", "-", "everybody")
    for low, high in _limits(audit, "acceptance"):
        _shade(axes, low, high, "allowed for everybody")
    for low, high in _limits(audit, "rates"):
        _shade(axes, low, high, "allowed for every group")
    _borders(axes, audit)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("accepted" if audit.once else "accepted, average so far", fontsize=FONT + 1)
    _time(axes, audit)
    add_legend(figure, [axes], columns=4)
    return figure


def draw_gap(audit: Audit) -> Figure:
    """Draw gap and ratio at every look, with bounds, of all decisions and of every segment."""
    figure, axes = panels(1, 2, 7.2, 3.2)
    scopes = [audit.overall, *audit.segments]
    for axis, name in zip(axes, ("gap", "ratio"), strict=True):
        for number, found in enumerate(scopes):
            track = getattr(found, name)
            if track is not None:
                colour = "#000000" if number == 0 else COLOURS[(number - 1) % (len(COLOURS) - 1)]
                label = found.name if len(scopes) <= 7 or number == 0 else "a segment"
                _band(axis, found, track, colour, "-" if number == 0 else LINES[number % len(LINES)], label)
        axis.set_ylabel(f"{name} of acceptance rates{'' if audit.once else ', so far'}", fontsize=FONT + 1)
        axis.set_ylim(0.0, 1.0)
        _time(axis, audit)
    for low, high in _limits(audit, "gap"):
        _shade(axes[0], low, high, "allowed")
    for low in asked_ratios(audit):
        _shade(axes[1], low, None, "allowed")
    axes[1].axhline(FOUR_FIFTHS, color="0.4", linewidth=0.8, linestyle=":", label="four fifths")
    add_legend(figure, axes, columns=4)
    return figure


def draw_value(audit: Audit, value: Value) -> Figure:
    """Draw the value of thresholds by IPS and doubly robust, with intervals, and bounds where there are none."""
    figure, (axes,) = panels(1, 1, 7.2, 3.4)
    known = [each for each in value.thresholds if each.ips is not None]
    at = np.array([each.threshold for each in known])
    for name, title, colour, line in (
        ("ips", "IPS", COLOURS[0], "--"),
        ("doubly_robust", "doubly robust", COLOURS[1], "-"),
    ):
        found = np.array([getattr(each, name)[:3] for each in known]).reshape(-1, 3)
        axes.plot(at, found[:, 0], color=colour, linestyle=line, linewidth=1.3, label=title)
        axes.fill_between(at, found[:, 1], found[:, 2], color=colour, alpha=0.15, linewidth=0)
    dark = [each for each in value.thresholds if each.ips is None]
    axes.vlines(
        [each.threshold for each in dark],
        [each.low for each in dark],
        [each.high for each in dark],
        color="0.6",
        linewidth=3,
        label="bounds alone" if dark else "",
    )
    axes.axhline(value.made.value, color="#000000", linewidth=1.0, linestyle=":", label="decisions made")
    axes.set_xlabel(f"threshold on {audit.decisions.columns['score']}", fontsize=FONT + 1)
    unit = f", {audit.currency}" if audit.currency else ""
    axes.set_ylabel(f"value per person{unit}", fontsize=FONT + 1)
    add_legend(figure, [axes], columns=4)
    return figure


def _band(axes: Axes, found: Sequences, track: Track, colour: str, line: Any, label: str) -> None:
    axes.plot(found.looks, track.value, color=colour, linestyle=line, linewidth=1.3, label=label)
    if len(found.looks) == 1:  # a band of one look has no width
        at = found.looks + APART * len(axes.containers)
        reach = np.stack((track.value - track.low, track.high - track.value))
        axes.errorbar(at, track.value, reach, color=colour, marker="o", markersize=4, linewidth=1.0)
    axes.fill_between(found.looks, track.low, track.high, color=colour, alpha=0.13, linewidth=0)


def _shade(axes: Axes, low: float | None, high: float | None, label: str) -> None:
    axes.axhspan(0.0 if low is None else low, 1.0 if high is None else high, color=SHADE, zorder=0, label=label)


def _limits(audit: Audit, figure: str) -> list[tuple[float | None, float | None]]:
    return [(limit.low, limit.high) for each in audit.constraints for limit in each.limits() if limit.figure == figure]


def asked_ratios(audit: Audit) -> list[float]:
    """Return the smallest ratio of each constraint on it."""
    return [float(np.asarray(each.ratio)) for each in audit.constraints if isinstance(each, DisparateImpact)]


def shades_gap(audit: Audit) -> bool:
    """Whether a constraint shades the drawing of gap and ratio."""
    return bool(_limits(audit, "gap") or asked_ratios(audit))


def _borders(axes: Axes, audit: Audit) -> None:
    for segment in audit.decisions.segments[1:] if not (audit.decisions.turns or audit.once) else ():
        axes.axvline(segment.first - 0.5, color="0.5", linewidth=0.8, linestyle=":")


def _time(axes: Axes, audit: Audit) -> None:
    names = audit.decisions.looks
    places: NDArray[np.int64] = np.unique(np.linspace(0, len(names) - 1, TICKS).round().astype(np.int64))
    axes.set_xticks(places, [names[place] for place in places])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xlabel("rows" if audit.once else audit.decisions.by, fontsize=FONT + 1)
