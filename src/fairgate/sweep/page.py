"""The page of a sweep: who wins where, and maps whose cells can be pointed at and opened, as one HTML file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairgate.pages import Picture, flat, templates
from fairgate.plots import add_legend, image, panels, plot_phase, plot_phases
from fairgate.plots.maps import SIGNIFICANT
from fairgate.plots.measures import WINNER, measure_of
from fairgate.plots.scales import written
from fairgate.plots.swept import failed
from fairgate.sweep.answer import Answer, named
from fairgate.sweep.embedded import DIGITS, KINDS, embedded, is_full, ordered
from fairgate.sweep.figures import FIGURES
from fairgate.sweep.result import Sweep

ROWS = 200
"""Settings that the table lists; sweep.parquet has all of them."""

TABLE = {
    "success": "Success",
    "share": "Share of attainable reward",
    "population_violation": "Violation, whole run",
    "shortfall": "Shortfall per round",
}
"""Figures of a learner in the table of settings, and their headings."""

PANELS = 5
"""Learners up to which each has a panel in the picture for readers without a script."""

DPI = 110
"""Dots per inch of the picture for readers without a script."""


def render(sweep: Sweep, by: str = "shortfall") -> str:
    """Write the page; the same sweep gives the same bytes. `by` is the figure that decides which learner wins."""
    answer = Answer(sweep, by)
    page = templates("fairgate.sweep")
    page.filters.update(number=number, percent=percent, written=written)
    return page.get_template("sweep.html.j2").render(
        sweep=sweep,
        answer=answer,
        by=measure_of(by).words,
        level=SIGNIFICANT,
        figures={name: (measure_of(name).words, FIGURES.get(name, "")) for name in ordered(sweep.figures)},
        headings=list(TABLE.values()),
        table=_table(sweep, answer),
        rows=ROWS,
        whole=_whole(sweep) if len(sweep) == 1 else [],
        failures=[(named(each.setting), each.learner or "every learner", each.text) for each in sweep.failures],
        picture=_picture(sweep, by),
        lines=flat(_plain(sweep.settings)),
        data=embedded(sweep, by),
    )


def middle(sweep: Sweep) -> dict[str, Any]:
    """Return the values at which a map first holds the parameters beyond two: those in the middle of a full design."""
    if not is_full(sweep):
        return {}
    distinct = {name: np.unique(sweep.design[name]) for name in sweep.parameters[2:]}
    return {name: values[(len(values) - 1) // 2].item() for name, values in distinct.items()}


def _picture(sweep: Sweep, by: str) -> tuple[Picture, str] | None:
    """Draw the first maps for readers without a script, and say what they show; of many learners only who wins."""
    if len(sweep.parameters) < 2:
        return None
    at = middle(sweep)
    if len(sweep.learners) > PANELS:
        drawn, (ax,) = panels(1, 1, 5.0, 4.2)
        plot_phase(sweep, figure=WINNER, ax=ax, at=at, by=by)
        add_legend(drawn, [ax], columns=3)
        words = f"which learner wins, by {measure_of(by).words}"
    else:
        figure = first_figure(sweep)
        drawn = plot_phases(sweep, figure=figure, at=at, by=by)
        several = ", and which one wins" if len(sweep.learners) > 1 else ""
        words = f"{measure_of(figure).words} of each learner{several}"
    held = " and ".join(f"{name} is {written(value)}" for name, value in at.items())
    return Picture.of("maps", image(drawn, "png", DPI)), f"{words}{', where ' if held else ''}{held}"


def first_figure(sweep: Sweep) -> str:
    """Return the figure that the page shows first: the share of attainable reward, where anything is attainable."""
    return next((name for name in ordered(sweep.figures) if np.isfinite(sweep.mean(name)).any()), "share")


def _table(sweep: Sweep, answer: Answer) -> list[dict[str, Any]]:
    """Return the settings of the table, each with its winner and every learner's figures."""
    means = {name: sweep.mean(name) for name in TABLE}
    found = []
    for setting in range(min(len(sweep), ROWS)):
        best = int(answer.found.learner[setting])
        found.append(
            {
                "values": [written(sweep.design[name][setting]) for name in sweep.parameters],
                "winner": sweep.learners[best] if best >= 0 else _nobody(answer, setting),
                "sure": best < 0 or bool(answer.sure[setting]),
                "best": _known(sweep.truth["best_reward"][setting]) if sweep.truth["attainable"][setting] else None,
                "figures": [[_known(means[name][setting, place]) for name in TABLE] for place in _places(sweep)],
            }
        )
    return found


def _nobody(answer: Answer, setting: int) -> str:
    """Say why no learner wins a setting."""
    if answer.found.tied[setting]:
        return "tie"
    return "failed" if failed(answer.sweep)[setting].all() else "–"


def _whole(sweep: Sweep) -> list[tuple[str, list[list[float | None]]]]:
    """Return every figure of a sweep of one setting: its name and, for each learner, what is told of it."""
    found = []
    for name in ordered(sweep.figures):
        spread = sweep.spread(name)
        found.append(
            (measure_of(name).words, [[_known(spread[kind][0, at]) for kind in KINDS] for at in _places(sweep)])
        )
    return found


def _places(sweep: Sweep) -> range:
    return range(len(sweep.learners))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _plain(settings: Any) -> dict[str, Any]:
    """Leave out what only a program reads."""
    return {name: value for name, value in settings.items() if name not in ("commands", "parameters", "settings")}


def number(value: float | None) -> str:
    """Write a figure as everywhere on the page, with four significant digits.

    >>> number(0.123456), number(-2.0), number(None)
    ('0.1235', '−2', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    short = float(f"{value:.{DIGITS}g}")
    return (f"{short:.0f}" if short.is_integer() else repr(short)).replace("-", "−")


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return "–" if math.isnan(share) else f"{share:.0%}"
