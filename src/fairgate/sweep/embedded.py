"""The data of a sweep's page: every cell's figures, as short as they are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fairgate.plots.maps import SIGNIFICANT, learner_colour
from fairgate.plots.measures import MEASURES, measure_of
from fairgate.plots.scales import Scale
from fairgate.plots.swept import failed, unattainable
from fairgate.sweep.figures import FIGURES
from fairgate.sweep.parameters import LOOP
from fairgate.sweep.result import Sweep

DIGITS = 4
"""Significant digits of every figure on the page."""

STOPS = 24
"""Colours that a scale of the page runs through."""

KINDS = ("mean", "low", "high", "q10", "q50", "q90")
"""What the page tells of a figure."""


def embedded(sweep: Sweep, by: str) -> Markup:
    """Return the data as JSON that can stand inside a page."""
    text = json.dumps(data_of(sweep, by), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def data_of(sweep: Sweep, by: str) -> dict[str, Any]:
    """Return what the page's script draws and tells.

    Numbers are rounded to the digits that are shown, so that the page and a table of the sweep say the same. A list
    over cells goes setting by setting, and within one learner by learner.
    """
    scales = [Scale.of(name, sweep.design[name]) for name in sweep.parameters]
    won = sweep.winners(by)
    return {
        "task": sweep.task,
        "learners": [
            {"name": name, "colour": learner_colour(place), "pale": learner_colour(place, pale=True)}
            for place, name in enumerate(sweep.learners)
        ],
        "parameters": [
            {
                "name": scale.name,
                "log": scale.kind == "log",
                "values": [value.item() for value in scale.values],
                "of": scale.index(sweep.design[scale.name]).tolist(),
            }
            for scale in scales
        ],
        "full": is_full(sweep),
        "loop": {name: sweep.settings[name] for name in ("rounds", "seeds", "seed", "batch")},
        "swept": [name for name in LOOP if name in sweep.parameters],
        "figures": [_figure(sweep, name) for name in ordered(sweep.figures)],
        "scales": {name: _stops(name) for name in ("viridis", "magma_r")},
        "truth": {name: _short(values) for name, values in sweep.truth.items() if name != "attainable"},
        "nothing": np.flatnonzero(unattainable(sweep)).tolist(),
        "failed": np.flatnonzero(failed(sweep).ravel()).tolist(),
        "failures": _failures(sweep),
        "winner": {
            "by": by,
            "words": measure_of(by).words,
            "learner": won.learner.tolist(),
            "margin": _short(won.margin),
            "p": _short(won.p_value),
            "level": SIGNIFICANT,
        },
        "commands": [_commands(sweep, name) for name in sweep.learners],
    }


def ordered(names: Iterable[str]) -> list[str]:
    """Return figures in the order in which they are offered."""
    order = list(MEASURES)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def is_full(sweep: Sweep) -> bool:
    """Whether every combination of the parameters' values is a setting."""
    return len(sweep) == math.prod(len(np.unique(values)) for values in sweep.design.values())


def _figure(sweep: Sweep, name: str) -> dict[str, Any]:
    measure = measure_of(name)
    spread = sweep.spread(name)
    return {
        "name": name,
        "words": measure.words,
        "about": FIGURES.get(name, ""),
        "colours": measure.colours,
        "share": measure.is_share,
        "bad": not measure.more_is_better,
        **{kind: _short(spread[kind]) for kind in KINDS},
    }


def _short(values: NDArray[Any]) -> list[float | None]:
    return [None if math.isnan(value) else _shortened(value) for value in np.ravel(values).tolist()]


def _shortened(value: float) -> float:
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _stops(name: str) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colour) for colour in colormaps[name](np.linspace(0, 1, STOPS))]


def _failures(sweep: Sweep) -> dict[str, str]:
    """Return why a cell failed, by its number."""
    found = {}
    for failure in sweep.failures:
        there = np.ones(len(sweep), dtype=bool)
        for name, value in failure.setting.items():
            there &= sweep.design[name] == value
        for setting in np.flatnonzero(there).tolist():
            for place, learner in enumerate(sweep.learners):
                if failure.learner in (None, learner):
                    found[str(setting * len(sweep.learners) + place)] = failure.text
    return found


def _commands(sweep: Sweep, learner: str) -> dict[str, Any]:
    """Return a learner's commands: the words they share once, and those that differ for each setting."""
    words = [sweep.command(setting, learner).split(" ") for setting in range(len(sweep))]
    if len({len(each) for each in words}) > 1:
        return {"words": [None], "vary": {"0": [" ".join(each) for each in words]}}
    columns = list(zip(*words, strict=True))
    shared = [column[0] if len(set(column)) == 1 else None for column in columns]
    vary: Mapping[str, list[str]] = {str(place): list(columns[place]) for place, word in enumerate(shared) if word is None}
    return {"words": shared, "vary": vary}
