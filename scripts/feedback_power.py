"""Print the table of docs/feedback.md: how often a history finds feedback, and how often its interval is right.

Histories are drawn from worlds whose feedback is known, see `fairgate.advice.example_history`:

    python scripts/feedback_power.py [draws per cell]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from fairgate.advice.example_history import draw_history, example_people, threshold_path
from fairgate.advice.feedback import LEVEL
from fairgate.advice.response_fit import fit, part, series
from fairgate.people.period_counts import PeriodCounts
from fairgate.settings import Array

STRENGTHS = (0.0, 0.5, 0.8, -0.5)
PERIODS, PEOPLE, SWINGS = (12, 24, 36), (500, 5000), (0.05, 0.2)
GROUPS, RATE, DRAWS = 2, 0.3, 40

Disturbance = Callable[[int, np.random.Generator], Array]


def persistent(periods: int, rng: np.random.Generator) -> Array:
    """Weights wander by 3 points, 0.8 of it left after a period, half of it common to the groups."""
    found = np.zeros((periods, GROUPS + 1))
    found[0] = rng.normal(size=GROUPS + 1)
    for period in range(1, periods):
        found[period] = 0.8 * found[period - 1] + 0.6 * rng.normal(size=GROUPS + 1)
    return np.asarray(0.03 * np.sqrt(0.5) * (found[:, :1] + found[:, 1:]))


def season(periods: int, rng: np.random.Generator) -> Array:
    """Weights go up and down by 4 points in a year of twelve periods."""
    wave = 0.04 * np.sin(2.0 * np.pi * (np.arange(periods) / 12.0 + rng.random()))
    return np.repeat(wave[:, None], GROUPS, axis=1)


def trend(periods: int, rng: np.random.Generator) -> Array:
    """Weights rise by 20 points from the first period to the last."""
    return np.repeat(np.linspace(-0.1, 0.1, periods)[:, None], GROUPS, axis=1)


def both(periods: int, rng: np.random.Generator) -> Array:
    """A season as above, and persistent disturbances as above."""
    return season(periods, rng) + persistent(periods, rng)


WORLDS: dict[str, Disturbance] = {
    "a trend": trend,
    "a season": season,
    "persistent disturbances": persistent,
    "a season with persistent disturbances": both,
}


def true_strength(history: PeriodCounts, strength: float) -> float:
    """Return the strength as it is measured: across the median of all periods, which is not quite the pools' own."""
    table = part(history.counts.sum(axis=(0, 3, 4)).astype(np.float64))
    pools = part(example_people(GROUPS).counts.sum(axis=2).astype(np.float64))
    low, high = table.ends
    return float(strength * np.mean((table.above * (pools.high - pools.low)).sum(axis=1) / (high - low)))


def cell(
    draws: int, strength: float, periods: int, people: int, swing: float, disturbance: Disturbance | None = None
) -> str:
    """Return the share of histories that find feedback, and in brackets that of intervals that hold the truth."""
    found = right = 0
    for draw in range(draws):
        rng = np.random.default_rng([draw, periods, people, round(1000 * swing), round(100 * strength) + 100])
        shares = threshold_path(periods, GROUPS, swing, rng)
        away = 0.0 if disturbance is None else disturbance(periods, rng)
        history = draw_history(strength, shares, people, rng, rate=RATE, disturbance=away)
        fitted = fit(series(history))
        low, high = fitted.interval(LEVEL)
        found += not low <= 0.0 <= high
        right += low <= true_strength(history, strength) <= high
    return f"{found / draws:.0%} ({right / draws:.0%})"


def following(draws: int) -> str:
    """Return how often feedback is found where there is none, but thresholds follow persistent disturbances."""
    found = 0
    for draw in range(draws):
        rng = np.random.default_rng([9, draw])
        away = persistent(24, rng)
        before = np.concatenate((np.zeros((1, GROUPS)), away[:-1])).mean(axis=1, keepdims=True)
        shares = np.repeat(0.5 - before, GROUPS, axis=1)
        low, high = fit(series(draw_history(0.0, shares, 2000, rng, disturbance=away))).interval(LEVEL)
        found += not low <= 0.0 <= high
    return f"Thresholds that follow a persistent disturbance, no feedback: found in {found} of {draws} histories."


def together(draws: int) -> str:
    """Return how often feedback is found where there is none, with one threshold and one disturbance for all groups."""
    found = 0
    for draw in range(draws):
        rng = np.random.default_rng([12, draw])
        away = np.repeat(persistent(24, rng)[:, :1], GROUPS, axis=1)
        shares = threshold_path(24, GROUPS, 0.2, rng, together=True)
        low, high = fit(series(draw_history(0.0, shares, 1000, rng, disturbance=away))).interval(LEVEL)
        found += not low <= 0.0 <= high
    return f"One threshold and one persistent disturbance, no feedback: found in {found} of {draws} histories."


def calendar(draws: int, periods: int, strength: float) -> tuple[int, int]:
    """Count histories that find feedback, and intervals that hold the truth, if thresholds go with the calendar.

    There is a season, and there are slow disturbances. The threshold is low in one half of each year of twelve periods
    and high in the other. Weights go up and down by 6 points in a year, and wander by 3, 0.9 of it left after a period
    and nine tenths of its variance common.
    """
    found = right = 0
    year = np.arange(periods) / 12.0
    shares = np.repeat(0.5 + 0.1 * np.where(year % 1.0 < 0.5, 1.0, -1.0)[:, None], GROUPS, axis=1)
    for draw in range(draws):
        rng = np.random.default_rng([15, draw, periods, round(100 * strength)])
        wander = rng.normal(size=(periods, GROUPS + 1))
        for period in range(1, periods):
            wander[period] = 0.9 * wander[period - 1] + np.sqrt(1.0 - 0.9**2) * wander[period]
        slow = 0.03 * (np.sqrt(0.9) * wander[:, :1] + np.sqrt(0.1) * wander[:, 1:])
        away = slow + 0.06 * np.sin(2.0 * np.pi * (year + rng.random()))[:, None]
        history = draw_history(strength, shares, 2000, rng, disturbance=away)
        low, high = fit(series(history)).interval(LEVEL)
        found += not low <= 0.0 <= high
        right += low <= true_strength(history, strength) <= high
    return found, right


def main(draws: int) -> None:
    """Print the table as Markdown."""
    headings = [f"strength {each:g}" for each in STRENGTHS]
    print("| periods | people per group and period | acceptance varies by | " + " | ".join(headings) + " |")
    print("|---" * (3 + len(headings)) + "|")
    for periods in PERIODS:
        for people in PEOPLE:
            for swing in SWINGS:
                cells = [cell(draws, each, periods, people, swing) for each in STRENGTHS]
                row = (periods, f"{people:,}", f"±{100 * swing:g} points", *cells)
                print("| " + " | ".join(map(str, row)) + " |", flush=True)
    for name, disturbance in WORLDS.items():
        cells = [cell(draws, each, 24, 1000, 0.2, disturbance) for each in STRENGTHS]
        print("| " + " | ".join(("24", "1,000", f"±20 points, and {name}", *cells)) + " |", flush=True)
    print(f"\n{following(2 * draws)}\n{together(3 * draws)}")
    for periods, strength in ((24, 0.0), (36, 0.0), (24, 0.5)):
        found, right = calendar(2 * draws, periods, strength)
        print(
            f"Thresholds that go with the calendar, a season and slow disturbances, {periods} periods, strength "
            f"{strength:g}: found in {found} of {2 * draws} histories, the interval holds the truth in {right}."
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
