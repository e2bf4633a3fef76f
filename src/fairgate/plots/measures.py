"""The figures of a sweep in words, with the colours and limits of their scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairgate.settings import Array

WINNER = "winner"
"""The map of which learner wins."""


FULL = 1.05
"""Share of attainable reward above which a learner has mostly broken constraints."""

OVER = "#CC79A7"
"""Colour of a share above that."""


class Measure(NamedTuple):
    """A figure: what a colour bar calls it, whether more is better, and whether it is a share of 1."""

    words: str
    more_is_better: bool = True
    is_share: bool = False

    @property
    def colours(self) -> str:
        """Name of a perceptually uniform colour map: bright where it is good, told apart with every colour vision."""
        return "viridis" if self.more_is_better else "magma_r"


MEASURES = {
    "share": Measure("share of attainable reward"),
    "success": Measure("share of seeds that meet the target", is_share=True),
    "feasible": Measure("share of last rounds that are feasible", is_share=True),
    "shortfall": Measure("shortfall per round", more_is_better=False),
    "regret": Measure("regret, summed over rounds", more_is_better=False),
    "excess_violation": Measure("excess violation per round", more_is_better=False),
    "population_violation": Measure("violation, summed over rounds, exact", more_is_better=False),
    "population_reward": Measure("reward per person, exact"),
    "population_gap": Measure("DP gap, exact", more_is_better=False),
    "violation": Measure("violation, summed over rounds, batch", more_is_better=False),
    "reward": Measure("reward per person, batch"),
    "gap": Measure("DP gap, batch", more_is_better=False),
    "acceptance": Measure("share accepted", is_share=True),
    "attainable": Measure("whether a threshold is feasible", is_share=True),
    "best_reward": Measure("reward of the best threshold"),
    "best_threshold": Measure("best threshold"),
    "best_gap": Measure("DP gap of the best threshold", more_is_better=False),
    "best_acceptance": Measure("share accepted by the best threshold", is_share=True),
    "least_violation": Measure("least violation of any threshold", more_is_better=False),
}
"""Every figure of a sweep, and of its truth, in the order in which they are offered."""


def measure_of(figure: str) -> Measure:
    """Return a figure in words; one that is not known here by its name."""
    return MEASURES.get(figure, Measure(figure.replace("_", " ")))


def limits_of(figure: str, values: Array) -> dict[str, Any]:
    """Return colours and limits for these values: shares of 1 from 0 to 1, amounts that are bad from 0.

    A share of attainable reward is shown from 0 to 1.05, as where little is attainable it can be anything; more than
    that is mostly earned by breaking constraints and has a colour of its own.

    >>> limits_of("violation", np.array([3.0, np.nan, 5.0]))
    {'cmap': 'magma_r', 'vmin': 0.0, 'vmax': 5.0}
    >>> limits_of("share", np.array([-3.0, 0.9, 14.0]))["vmax"]
    1.05
    """
    measure = measure_of(figure)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if measure.is_share:
        low, high = 0.0, 1.0
    elif figure == "share":
        low, high = max(low, 0.0), min(high, FULL)
    elif not measure.more_is_better:
        low = min(low, 0.0)
    if high <= low:
        high = low + 1e-3
    return {"cmap": _colours(figure), "vmin": low, "vmax": high}


def _colours(figure: str) -> Any:
    """Return the colour map of a figure by its name, or with a colour for what lies above its end."""
    if figure != "share":
        return measure_of(figure).colours
    from matplotlib import colormaps

    return colormaps[measure_of(figure).colours].with_extremes(over=OVER)
