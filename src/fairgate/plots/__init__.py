"""Plots: learning curves of runs, the trade-off of fixed thresholds, what thresholds do, and phase maps of sweeps.

Every function draws on the axes `ax` it is given; without axes it makes a figure of one column's width (3.5 in).
`legend` says whether there is one: by default (``"auto"``) below a new figure and none on given axes, whose caller may
want one for several panels. It returns the axes, whose ``figure.savefig(...)`` writes a file. Further arguments, such
as ``linewidth``, are those of :meth:`matplotlib.axes.Axes.plot`. Nothing global is touched: neither pyplot nor
rcParams.
"""

from fairgate.plots.learning import BAND, plot_learning
from fairgate.plots.looks import COLOURS, COLUMN, FONT, LINES, MARKERS, SHADE, add_legend, image, panels, point_look
from fairgate.plots.phase import plot_phase, plot_phases
from fairgate.plots.thresholds import plot_acceptance, plot_thresholds
from fairgate.plots.tradeoff import acceptance_scale, add_acceptance_bar, plot_tradeoff

__all__ = [
    "BAND",
    "COLOURS",
    "COLUMN",
    "FONT",
    "LINES",
    "MARKERS",
    "SHADE",
    "acceptance_scale",
    "add_acceptance_bar",
    "add_legend",
    "image",
    "panels",
    "plot_acceptance",
    "plot_learning",
    "plot_phase",
    "plot_phases",
    "plot_thresholds",
    "plot_tradeoff",
    "point_look",
]
