"""Axis: where thresholds lie across the charts of the page and of the PDF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def skewed(today: Mapping[str, list[Any]]) -> bool:
    """Say whether the middle 90% of people score within less than a third of the axis that charts have.

    That leaves scores out that are far beyond the middle 99%.

    >>> skewed({"threshold": [0.0, 0.01, 0.05, 0.5], "acceptance": [1.0, 0.9, 0.1, 0.006]})
    True
    >>> skewed({"threshold": [0.0, 0.1, 0.4, 0.5], "acceptance": [1.0, 0.9, 0.1, 0.006]})
    False
    """

    def span(share: float) -> float:
        inside = zip(today["threshold"], today["acceptance"], strict=True)
        scores = [score for score, accepted in inside if share <= accepted <= 1.0 - share]
        return max(scores) - min(scores) if len(scores) > 1 else 0.0

    outer, inner = span(0.0), span(0.005)
    drawn = inner if inner and outer > 2.0 * inner else outer
    return 0.0 < span(0.05) < drawn / 3.0


def place_of(today: Mapping[str, list[Any]], current: float, table: Mapping[str, Any]) -> int:
    """Return the place, among rising thresholds, of the one that accepts the same people as the threshold in use."""
    rising_scores = today["threshold"]
    if table["descending"]:
        return max((place for place, score in enumerate(rising_scores) if score <= current), default=0)
    return min((place for place, score in enumerate(rising_scores) if score >= current), default=len(rising_scores) - 1)


def rising(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the columns with thresholds from low to high, as they lie on a slider, also where lower is better.

    >>> rising({"threshold": [3, 2], "gap": [0.1, 0.2]})
    {'threshold': [2, 3], 'gap': [0.2, 0.1]}
    """
    back = columns["threshold"][0] > columns["threshold"][-1]
    return {name: values[::-1] if back else values for name, values in columns.items()}
