"""The data of a sweep's page: every cell's figures, as short as they are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fairgate.plots.maps import OTHERS, PALE, SIGNIFICANT, TIED, learner_colours
from fairgate.plots.measures import MEASURES, OVER, limits_of, measure_of
from fairgate.plots.scales import Scale
from fairgate.plots.swept import failed, unattainable
from fairgate.sweep.figures import FIGURES
from fairgate.sweep.parameters import LOOP
from fairgate.sweep.result import Sweep

DIGITS = 4
"""Significant digits of every figure on the page."""

STOPS = 24
"""Colours that a scale of the page runs through."""

WINNERS = ("shortfall", "share", "success", "population_violation")
"""Figures by which the page tells who wins."""

KINDS = ("mean", "low", "high", "q10", "q50", "q90")
"""What the page tells of a figure."""

MANY = 6000
"""Cells from which on the page leaves the quantiles to the table, so that it stays small enough to open."""


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
    colours = learner_colours(sweep.winners(by).learner, len(sweep.learners))
    return {
        "task": sweep.task,
        "learners": [
            {"name": name, "colour": colour, "other": colour == OTHERS}
            for name, colour in zip(sweep.learners, colours, strict=True)
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
        "winners": [_winners(sweep, name) for name in dict.fromkeys((by, *WINNERS))],
        "level": SIGNIFICANT,
        "pale": PALE,
        "tie": TIED,
        "commands": _commands(sweep),
    }


def ordered(names: Iterable[str]) -> list[str]:
    """Return figures in the order in which they are offered."""
    order = list(MEASURES)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def is_full(sweep: Sweep) -> bool:
    """Whether every combination of the parameters' values is a setting."""
    return len(sweep) == math.prod(len(np.unique(values)) for values in sweep.design.values())


def _winners(sweep: Sweep, by: str) -> dict[str, Any]:
    won = sweep.winners(by)
    return {
        "words": measure_of(by).words,
        "learner": won.learner.tolist(),
        "tied": np.flatnonzero(won.tied).tolist(),
        "margin": _short(won.margin),
        "p": _short(won.p_value),
    }


def _figure(sweep: Sweep, name: str) -> dict[str, Any]:
    measure = measure_of(name)
    spread = sweep.spread(name)
    limits = limits_of(name, spread["mean"])
    kinds = KINDS if len(sweep) * len(sweep.learners) <= MANY else KINDS[:3]
    return {
        "name": name,
        "words": measure.words,
        "about": FIGURES.get(name, ""),
        "colours": measure.colours,
        "over": OVER if name == "share" else None,
        "limits": [limits["vmin"], limits["vmax"]],
        **{kind: _short(spread[kind]) for kind in kinds},
    }


def _short(values: NDArray[Any]) -> str:
    """Write numbers side by side, with nothing for one that is not known: a third shorter than a list of JSON."""
    return " ".join("" if math.isnan(value) else _shortened(value) for value in np.ravel(values).tolist())


def _shortened(value: float) -> str:
    """Write a number as short as can be.

    >>> [_shortened(value) for value in (0.123456, -0.5, 12.0, 0.0)]
    ['.1235', '-.5', '12', '0']
    """
    text = f"{value:.{DIGITS}g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


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


def _commands(sweep: Sweep) -> dict[str, Any]:
    """Return every cell's command: the words a learner's share, and those that differ by setting, by their place.

    Where the latter are the same for all learners they are there once.
    """
    words, varying = [], []
    for learner in sweep.learners:
        texts = [sweep.command(setting, learner).split(" ") for setting in range(len(sweep))]
        if len({len(each) for each in texts}) > 1:
            texts = [[" ".join(each)] for each in texts]
        columns = list(zip(*texts, strict=True))
        words.append([column[0] if len(set(column)) == 1 else None for column in columns])
        varying.append({str(place): columns[place] for place, word in enumerate(words[-1]) if word is None})
    same = all(each == varying[0] for each in varying)
    return {"words": words, "vary": varying[:1] if same else varying}
