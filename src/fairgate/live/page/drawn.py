"""What is drawn: which figures of a gate get which chart, on which axis, against which limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from fairgate.live.page import charts
from fairgate.live.page.charts import Axis, Line, Range, Strip
from fairgate.live.page.shown import Unit, write
from fairgate.live.page.words import MODES
from fairgate.live.replies import Figure, RoundFigures, Scope
from fairgate.live.spec import Spec

COLOURS = 7
"""Colours and dashes that groups are drawn with before they repeat."""

SHARES = Axis(0.0, 1.0, 0.25)


@dataclass(frozen=True)
class Row:
    """A figure with its bounds in the table of a scope."""

    path: str
    about: str
    unit: Unit
    chart: Markup
    ends: tuple[str, str]
    allowed: str
    group: int | None = None


def stretches(scopes: Sequence[Scope]) -> list[tuple[int, list[int]]]:
    """Return the places of the scopes that are shown, the shortest first, each with those of the same rounds.

    All of them end with the last round, so that those of equally many rounds are the same.
    """
    shortest = sorted(range(len(scopes)), key=lambda place: (scopes[place].rounds, -place))
    return [(each[0], each[1:]) for each in (list(same) for _, same in groupby(shortest, lambda n: scopes[n].rounds))]


def limits_of(spec: Spec) -> dict[str, Range]:
    """Return what the constraints allow of each figure that has a chart, all of them together."""
    found: dict[str, Range] = {}
    for limit in (limit for each in spec.setting.problem.constraints for limit in each.limits()):
        low, high = found.get(limit.figure, (None, None))
        lows = [end for end in (low, limit.low) if end is not None]
        highs = [end for end in (high, limit.high) if end is not None]
        found[limit.figure] = (max(lows, default=None), min(highs, default=None))
    return found


def rows_of(place: int, scope: Scope, limits: Mapping[str, Range]) -> list[Row]:
    """Return the rows of a scope: acceptance of everybody and of each group, gap, reward."""
    base = f"scopes.{place}"
    found = [
        _row(f"{base}.acceptance", "Accepted, everybody", "share", scope.acceptance, SHARES, limits.get("acceptance"))
    ]
    for number, group in enumerate(scope.groups):
        path = f"{base}.groups.{number}.acceptance"
        found.append(_row(path, group.name, "share", group.acceptance, SHARES, limits.get("rates"), number))
    if len(scope.groups) > 1:
        ends = [end for end in (*limits.get("gap", ()), scope.gap.high) if end is not None]
        gap = Axis.around([1.25 * max(ends)] if ends else [], most=4)
        found.append(
            _row(
                f"{base}.gap",
                "Gap between groups",
                "number",
                scope.gap,
                Axis(0.0, min(gap.high, 1.0)),
                limits.get("gap"),
            )
        )
    ends = [end for end in (scope.reward.low, scope.reward.value, scope.reward.high) if end is not None]
    found.append(_row(f"{base}.reward", "Reward per applicant", "number", scope.reward, Axis.around(ends), None))
    return found


def _row(
    path: str, about: str, unit: Unit, figure: Figure, axis: Axis, allowed: Range | None, group: int | None = None
) -> Row:
    chart = charts.draw_interval(figure, axis, unit, about, allowed)
    low, high = (write(end, unit).replace(".0%", "%") for end in axis.ends)
    return Row(path, about, unit, chart, (low, high), "" if allowed is None else charts.say_range(allowed, unit), group)


def draw_residuals(scope: Scope) -> list[Markup]:
    """Draw the residual of each constraint, which must be at most 0."""
    found = []
    for each in scope.constraints:
        ends = [end for end in (each.residual.low, each.residual.value, each.residual.high) if end is not None]
        axis = Axis.around([*ends, 0.01, -0.01])
        found.append(charts.draw_interval(each.residual, axis, "number", each.about, (None, 0.0)))
    return found


def draw_thresholds(history: Sequence[RoundFigures], groups: Sequence[str], spec: Spec) -> Markup | None:
    """Draw thresholds over rounds, played and in the mode learn; strips mark modes, lotteries and guards."""
    if not history:
        return None
    rounds = [each.round for each in history]
    lines = []
    for number, name in _drawn(history, groups):
        style = f"g{number % COLOURS}" if name else "all"
        proposed = [_place(each.proposed, number) for each in history]
        lines.append(Line(f"in the mode learn{name and f', {name}'}", f"{style} proposed", proposed))
        played = [_place(each.thresholds, number) for each in history]
        lines.append(Line(f"played{name and f', {name}'}", style, played))
    strips = [
        Strip(mode, f"strip {mode}", charts.stretches([each.mode == mode for each in history], rounds, f"mode {mode}"))
        for mode in MODES
        if any(each.mode == mode for each in history)
    ]
    if any(each.lottery for each in history):
        strips.append(
            Strip("lottery", "strip lottery", charts.stretches([each.lottery for each in history], rounds, "lottery"))
        )
    guarded = [
        charts.Stretch(n, n, f"round {each.round}: {' '.join(each.guards)}")
        for n, each in enumerate(history)
        if each.guards
    ]
    if guarded:
        strips.append(Strip("guard", "strip guard", guarded))
    ends = [each for each in (spec.guards.lowest, spec.guards.highest) if each is not None]
    axis = Axis.around([*ends, *(value for line in lines for value in line.values if value is not None)], zero=False)
    about = f"Thresholds in rounds {rounds[0]} to {rounds[-1]}, played and in the mode learn; a table has the figures"
    return charts.draw_rounds(about, _course(history), lines, strips, axis, "threshold")


def draw_acceptance(history: Sequence[RoundFigures], groups: Sequence[str]) -> Markup | None:
    """Draw the acceptance of each group over rounds."""
    if not history:
        return None
    rounds = [each.round for each in history]
    lines = [
        Line(name, f"rate g{number % COLOURS}", [_place(each.acceptance, number) for each in history])
        for number, name in enumerate(groups)
    ]
    if any(each.would != each.acceptance for each in history):
        lines += [
            Line(
                f"{name}, in the mode learn",
                f"would g{number % COLOURS}",
                [_place(each.would, number) for each in history],
            )
            for number, name in enumerate(groups)
        ]
    about = f"Share accepted by group in rounds {rounds[0]} to {rounds[-1]}; the table of rounds has the figures"
    return charts.draw_rounds(about, _course(history), lines, [], SHARES, "share")


def draw_outcomes(history: Sequence[RoundFigures], groups: Sequence[str]) -> Markup | None:
    """Draw the good ones of the labels that arrived, by group over rounds."""
    if not any(value is not None for each in history for value in each.outcomes):
        return None
    lines = [
        Line(name, f"rate g{number % COLOURS}", [_place(each.outcomes, number) for each in history])
        for number, name in enumerate(groups)
    ]
    first, last = history[0].round, history[-1].round
    about = f"Share of good labels by group in rounds {first} to {last}; the table of rounds has the figures"
    return charts.draw_rounds(about, _course(history), lines, [], SHARES, "share")


def _course(history: Sequence[RoundFigures]) -> charts.Course:
    return charts.Course([each.round for each in history], [each.at for each in history])


def guarded(history: Sequence[RoundFigures]) -> list[tuple[int, int]]:
    """Return first and last place of each stretch of rounds in which guards stepped in with the same words."""
    alike = [list(same) for _, same in groupby(range(len(history)), lambda place: history[place].guards)]
    return [(each[0], each[-1]) for each in alike if history[each[0]].guards]


def legend(history: Sequence[RoundFigures], groups: Sequence[str]) -> list[tuple[str, str]]:
    """Return style and name of each line of thresholds."""
    found = []
    for number, name in _drawn(history, groups):
        style = f"g{number % COLOURS}" if name else "all"
        found += [
            (style, f"played, {name or 'all groups'}"),
            (f"{style} proposed", f"would be played in the mode learn, {name or 'all groups'}"),
        ]
    return found


def _drawn(history: Sequence[RoundFigures], groups: Sequence[str]) -> list[tuple[int, str]]:
    """Return the groups whose thresholds are drawn; one without a name if all groups always have the same."""
    alike = all(len(set(each.thresholds)) <= 1 and len(set(each.proposed)) <= 1 for each in history)
    return [(0, "")] if alike else list(enumerate(groups))


def _place(values: Sequence[float | None], number: int) -> float | None:
    return values[number] if number < len(values) else None
