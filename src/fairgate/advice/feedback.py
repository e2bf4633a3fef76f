"""Feedback estimated from a history: how strongly and how fast acceptance changes who applies, if it can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.response_fit import CYCLES, GRID, NUISANCE, SPEEDS, Fit, Series, fit, series
from fairgate.people.period_counts import PeriodCounts
from fairgate.settings import Array

FOUND, NONE, UNTOLD = "feedback", "no feedback", "cannot tell"
"""The interval excludes 0; it lies within `NEGLIGIBLE` of 0; neither, or no one strength is to be had."""

LEVEL = 0.95
"""Level of intervals; the test of no feedback has the rest."""

NEGLIGIBLE = 0.15
"""Strengths of at most this size count as none: ten points more of acceptance move 1.5 points of people."""

SOUGHT = 0.5
"""Strength that a history should be able to find, when it is said what that would take."""

REACH = 1.28
"""Normal quantile of finding it nine times out of ten with known speed and noise: about four of five without."""

LONGEST = 8
"""How many times as long a history may have to be for its length to be named."""

FEWEST = 8
"""Fewest periods that can tell anything: three terms of each group, and something to see them by."""

MOST = 48
"""Most periods looked at one by one; more are joined."""

POOLED = 3
"""Most groups that are fitted together, the largest."""

VARIES = 0.005
"""Standard deviation of acceptance, by decisions alone, below which decisions have not varied."""

CALENDAR = 0.9
"""Share of the variance of decisions in one yearly wave from which on feedback looks like a season, or hides in it."""

PLANNED = 0.25
"""Speed that is supposed when it is said what finding feedback would take; a history that cannot tell has none."""

BLOCK = 4
"""Periods that a planned change of acceptance lasts."""


@dataclass(frozen=True)
class GroupFeedback:
    """Feedback in one group alone."""

    group: str
    strength: float
    low: float  # ends of the 95% interval
    high: float
    speed: float  # share of the way per period
    speed_low: float
    speed_high: float
    p_value: float  # of no feedback
    swing: float  # standard deviation over the periods of acceptance by decisions alone


@dataclass(frozen=True)
class FeedbackEstimate:
    """What a history says of feedback, over all groups and in each."""

    verdict: str  # "feedback", "no feedback" or "cannot tell"
    strength: float | None  # None if there is nothing to estimate it from, or groups do not share one
    low: float  # if groups do not share a strength, the ends of their own intervals
    high: float
    p_value: float
    speed: float | None
    speed_low: float
    speed_high: float
    periods: int
    joined: int  # periods of the table in one of the fit; `speed` is per period of the fit
    groups: tuple[GroupFeedback, ...]
    needed_periods: int | None  # periods like these after which feedback of strength 0.5 would be found
    needed_swing: float | None  # or as many (at least 24) with acceptance this much up and down by turns
    text: str

    @property
    def strengths(self) -> tuple[float, ...] | None:
        """Strengths to look at: the estimate, the ends of its interval, and none; None if the history cannot tell."""
        if self.strength is None or self.verdict == UNTOLD:
            return None
        return tuple(dict.fromkeys(round(each, 2) for each in (self.strength, self.low, self.high, 0.0)))


def estimate_feedback(history: PeriodCounts, names: Sequence[str]) -> FeedbackEstimate:
    """Estimate the strength and speed of feedback from past decisions and who applied after them.

    See :mod:`fairgate.advice.response_fit` for the model. All groups are supposed to have one strength and speed; each
    group's own are given, too. If these contradict each other, the verdict is "cannot tell".

    Parameters
    ----------
    history
        People by period with what was decided.
    names
        Names of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from fairgate.advice.example_history import draw_history, threshold_path
    >>> rng = np.random.default_rng(1)
    >>> history = draw_history(0.6, threshold_path(24, 2, 0.2, rng), 3000, rng)
    >>> found = estimate_feedback(history, ("a", "b"))
    >>> found.verdict, found.low < 0.6 < found.high
    ('feedback', True)
    """
    nothing = "This history cannot tell whether acceptance changes who applies: {}."
    if not history.decided:
        return _untold(history, nothing.format("it has no decisions (name their column with --decision)"))
    if len(history.periods) < FEWEST:
        few = f"it has {len(history.periods)} periods, and at least {FEWEST} are needed"
        return _untold(history, nothing.format(few))
    together = joined(history)
    length = math.ceil(len(history.periods) / len(together.periods))
    seen = series(together)
    largest = np.sort(np.argsort(-seen.people.sum(axis=0), kind="stable")[:POOLED])
    pooled = fit(_only(seen, largest))
    own = tuple(_own(name, _only(seen, np.array([place]))) for place, name in enumerate(names))
    low, high = pooled.interval(LEVEL)
    swing = float(np.sqrt(np.mean(seen.policy[:, largest].var(axis=0))))
    varied = swing >= VARIES
    yearly = varied and calendar_share(seen.policy[:, largest]) > CALENDAR
    told = varied and not yearly
    apart = told and contradict(own)
    if apart:
        low, high = min(each.low for each in own), max(each.high for each in own)
    excluded = low > 0.0 or high < 0.0
    verdict = FOUND if excluded else NONE if max(-low, high) <= NEGLIGIBLE else UNTOLD
    periods, planned = what_it_would_take(_only(seen, largest), pooled, swing if told else 0.0)
    slow, fast = pooled.speeds(LEVEL)
    found = FeedbackEstimate(
        verdict=verdict if told and not apart else UNTOLD,
        strength=pooled.strength if told and not apart else None,
        low=low,
        high=high,
        p_value=pooled.p_value,
        speed=pooled.speed,
        speed_low=slow,
        speed_high=fast,
        periods=len(together.periods),
        joined=length,
        groups=own,
        needed_periods=periods,
        needed_swing=planned,
        text="",
    )
    if apart:
        return replace(found, text=_say_apart(found))
    why = f"decisions moved acceptance by ±{100.0 * swing:.1f} points"
    if not varied:
        why = "decisions have hardly varied, so that nothing could be seen to answer to them"
    elif yearly:
        why = "decisions went up and down with the calendar, so that an answer to them would look like a season"
    return replace(found, text=put_into_words(found, why))


def contradict(own: Sequence[GroupFeedback]) -> bool:
    """Return whether two groups' strengths differ: the 95% interval of their difference excludes 0.

    Its ends are worked out from those of the two intervals (Zou and Donner's method of variance estimates recovery),
    so that intervals that hardly overlap are enough. Groups whose decisions did not vary say nothing.
    """
    told = [each for each in own if each.swing >= VARIES]
    return any(
        more.strength - less.strength > math.hypot(more.strength - more.low, less.high - less.strength)
        for more in told
        for less in told
    )


def calendar_share(policy: Array) -> float:
    """Return how much of the variance of decisions, (T, G), about a trend one wave of a season's length explains."""
    time = np.arange(len(policy), dtype=np.float64)

    def left(*waves: Array) -> float:
        terms = np.stack((np.ones_like(time), time, *waves), axis=1)
        return float(((policy - terms @ np.linalg.lstsq(terms, policy, rcond=None)[0]) ** 2).sum())

    turns = [2.0 * np.pi * time / each for each in CYCLES]
    rest = left()
    return (rest - min(left(np.cos(each), np.sin(each)) for each in turns)) / max(rest, 1e-12)


def joined(history: PeriodCounts) -> PeriodCounts:
    """Join neighbouring periods until there are at most 48."""
    length = math.ceil(len(history.periods) / MOST)
    starts = np.arange(0, len(history.periods), length)
    names = tuple(history.periods[start] for start in starts)
    return replace(history, periods=names, counts=np.add.reduceat(history.counts, starts, axis=0))


def what_it_would_take(seen: Series, found: Fit, swing: float) -> tuple[int | None, float | None]:
    """Return what would find feedback of strength 0.5 four times out of five, by the noise of this history.

    How many periods like these, if decisions have varied at all; and by how much acceptance would have to go up and
    down, four periods at a time and not in all groups at once, over as many periods and at least 24; None if by more
    than half.
    """
    periods, groups = seen.people.shape
    more = None
    for times in range(1, LONGEST + 1) if swing >= VARIES else ():
        policy, lift = np.tile(seen.policy, (times, 1)), np.tile(seen.lift, (times, 1))
        if found.information(policy, lift, PLANNED) >= enough(found, periods * times):
            more = periods * times
            break
    length = planned_periods(periods)
    turns = np.where((np.arange(length)[:, None] // BLOCK + np.arange(groups)) % 2 == 1, 0.1, -0.1)
    told = found.information(turns, np.tile(seen.lift, (length // periods, 1)), PLANNED)
    planned = 0.1 * math.sqrt(enough(found, length) / max(told, 1e-9))
    return more, planned if planned <= 0.5 else None


def planned_periods(periods: int) -> int:
    """Return how many periods a planned change of acceptance is for: as many, or several times, at least 24."""
    return periods * math.ceil(24 / periods)


def enough(found: Fit, periods: int) -> float:
    """Return the information about the strength that would do in so many periods."""
    freedom = max(periods - NUISANCE - 1, 1)
    return float((SOUGHT / (math.sqrt(replace(found, freedom=freedom).limit(LEVEL)) + REACH)) ** -2.0)


def put_into_words(found: FeedbackEstimate, decided: str) -> str:
    """Say what the history tells, and if it does not, what it would take; `decided` is how decisions varied."""
    length = "period" if found.joined == 1 else f"{found.joined} periods"
    range_ = f"{found.low:.2f} to {found.high:.2f}"
    if found.verdict == FOUND and found.strength is not None:
        way = "better" if found.strength > 0.0 else "worse"
        return (
            f"By {found.periods} periods of decisions, accepting more draws {way} applicants: feedback has strength "
            f"{found.strength:.2f} (95% interval {range_}; p = {found.p_value:.3g} for none). Ten points more of "
            f"acceptance move {abs(found.strength) * 10.0:.1f} points of a group's applicants across its median score, "
            f"by {found.speed:.0%} of what is left per {length} ({found.speed_low:.0%} to {found.speed_high:.0%})."
        )
    if found.verdict == NONE:
        most = max(-found.low, found.high)
        return (
            f"By {found.periods} periods of decisions, acceptance does not change who applies by more than a strength "
            f"of ±{most:.2f} (95% interval {range_})."
        )
    compatible = f"strengths from {range_} are compatible with its {found.periods} periods, in which {decided}"
    why = decided if found.strength is None else compatible
    ways = []
    if found.needed_periods is not None:
        ways.append(f"about {found.needed_periods * found.joined} periods like these")
    if found.needed_swing is not None:
        swung = f"acceptance {100.0 * found.needed_swing:.0f} points up and down, {BLOCK} periods at a time"
        ways.append(f"{planned_periods(found.periods) * found.joined} periods with {swung}")
    take = " or ".join(ways) or f"more than {LONGEST} times as many periods, or more people in each"
    return (
        f"This history cannot tell whether acceptance changes who applies: {why}. To find feedback of strength "
        f"{SOUGHT:g} four times out of five, if a quarter of the way is gone per {length}, would take {take}."
    )


def _say_apart(found: FeedbackEstimate) -> str:
    """Say that groups respond in different ways, and how each does."""
    each = "; ".join(f"{one.group}: {one.strength:.2f} ({one.low:.2f} to {one.high:.2f})" for one in found.groups)
    return (
        f"This history of {found.periods} periods cannot tell one strength of feedback for all groups: by their own "
        f"histories, they respond differently. Strength by group, with 95% intervals: {each}."
    )


def _own(name: str, seen: Series) -> GroupFeedback:
    found = fit(seen)
    low, high = found.interval(LEVEL)
    swing = float(seen.policy.std())
    return GroupFeedback(
        name, found.strength, low, high, found.speed, *found.speeds(LEVEL), p_value=found.p_value, swing=swing
    )


def _only(seen: Series, places: NDArray[np.int64]) -> Series:
    return Series(*(each[:, places] for each in seen))


def _untold(history: PeriodCounts, text: str) -> FeedbackEstimate:
    """Return that nothing can be said."""
    return FeedbackEstimate(
        UNTOLD,
        None,
        float(GRID[0]),
        float(GRID[-1]),
        1.0,
        None,
        float(SPEEDS[0]),
        float(SPEEDS[-1]),
        len(history.periods),
        1,
        (),
        None,
        None,
        text,
    )
