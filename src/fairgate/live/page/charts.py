"""Charts: SVG drawn by the server. Widths are percentages, so that they fit any screen with text of one size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from fairgate.live.page.shown import Unit, write
from fairgate.live.replies import Figure

Range = tuple[float | None, float | None]
"""What is allowed: from, to; None where there is no end."""

HEIGHT = 200.0
"""Height in pixels of a chart over rounds, without its strips."""

STRIP = 16.0
"""Height in pixels of a strip below it."""


@dataclass(frozen=True)
class Axis:
    """A range of values along an edge of a chart.

    >>> Axis.around([0.02, 0.31]).ends, Axis.around([-0.2, 0.11]).ends, Axis.around([]).ends
    ((0.0, 0.4), (-0.2, 0.2), (0.0, 1.0))
    """

    low: float
    high: float
    step: float = 0.0

    @classmethod
    def around(cls, values: Sequence[float], zero: bool = True, most: int = 5) -> Axis:
        """Return an axis of round numbers that holds the values, and 0 if asked to."""
        known = [each for each in values if math.isfinite(each)] + ([0.0] if zero else [])
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if high - low < 1e-9:
            low, high = (0.0, 1.0) if zero else (low - 0.5, high + 0.5)
        rough = (high - low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)
        first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
        return cls(round(first * step, 10), round(last * step, 10), step)

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    @property
    def ticks(self) -> list[float]:
        """Round numbers along it."""
        number = round((self.high - self.low) / self.step) if self.step else 1
        return [round(self.low + place * (self.high - self.low) / number, 10) for place in range(number + 1)]

    def share(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1; values beyond it are at its ends."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def draw_interval(figure: Figure, axis: Axis, unit: Unit, about: str, allowed: Range | None = None) -> Markup:
    """Draw a figure as a dot, its bounds as a bar, and what is allowed as a shade."""
    at = [None if each is None else 100 * axis.share(each) for each in (figure.low, figure.value, figure.high)]
    parts = [Markup('<line class="axis" x1="0%" x2="100%" y1="15" y2="15"/>')]
    if allowed is not None:
        start, end = axis.low if allowed[0] is None else allowed[0], axis.high if allowed[1] is None else allowed[1]
        left, right = 100 * axis.share(start), 100 * axis.share(end)
        parts.append(_rect("allowed", left, right - left, 2, 26))
        parts += [_upright("limit", 100 * axis.share(limit), 2, 28) for limit in allowed if limit is not None]
    if axis.low < 0 < axis.high:
        parts.append(_upright("zero", 100 * axis.share(0.0), 2, 28))
    low, value, high = at
    state = " beyond" if allowed is not None and is_beyond(figure, allowed) else ""
    if low is not None and high is not None:
        parts.append(_rect(f"bounds{state}", low, high - low, 11, 8))
    if value is not None:
        parts.append(Markup('<circle class="value{}" cx="{:.3f}%" cy="15" r="5"/>').format(state, value))
    said = f"{about}: {_said(figure, unit)}{'' if allowed is None else f'; allowed {say_range(allowed, unit)}'}"
    return Markup(
        '<svg class="interval" role="img" width="100%" height="30" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(said, said, Markup("").join(parts))


def is_beyond(figure: Figure, allowed: Range) -> bool:
    """Whether the bounds of a figure lie wholly outside what is allowed."""
    low, high = allowed
    above = high is not None and figure.low is not None and figure.low > high
    return above or (low is not None and figure.high is not None and figure.high < low)


def say_range(allowed: Range, unit: Unit) -> str:
    """Say what is allowed.

    >>> say_range((0.3, 0.8), "share"), say_range((None, 0.05), "share")
    ('30.0% to 80.0%', 'at most 5.0%')
    """
    low, high = (None if end is None else write(end, unit) for end in allowed)
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _said(figure: Figure, unit: Unit) -> str:
    if figure.value is None:
        return "nothing is known yet"
    bounds = f", between {write(figure.low, unit)} and {write(figure.high, unit)}"
    return write(figure.value, unit) + ("" if figure.low is None or figure.high is None else bounds)


@dataclass(frozen=True)
class Line:
    """A line over rounds, one value per round, None where there is none."""

    name: str
    style: str  # class names
    values: Sequence[float | None]


@dataclass(frozen=True)
class Stretch:
    """Rounds from `first` up to and with `last`, by place, and what is said of them."""

    first: int
    last: int
    text: str


@dataclass(frozen=True)
class Strip:
    """A row below a chart that marks rounds."""

    name: str
    style: str
    stretches: Sequence[Stretch]


@dataclass(frozen=True)
class Course:
    """Closed rounds along the edge of a chart: their numbers, and when each closed."""

    rounds: Sequence[int]
    times: Sequence[str]


def draw_rounds(
    about: str, course: Course, lines: Sequence[Line], strips: Sequence[Strip], axis: Axis, unit: Unit
) -> Markup:
    """Draw lines over rounds, with strips below that mark some of them; the labels of both axes are beside it."""
    many, strip_end = len(course.rounds), HEIGHT + 14 + STRIP * len(strips)
    labels, plot = [], []
    for tick in axis.ticks:
        height = _y(axis, tick)
        plot.append(Markup('<line class="grid" x1="0%" x2="100%" y1="{0:.2f}" y2="{0:.2f}"/>').format(height))
        labels.append(_text("100%", height + 4, "end", write(tick, unit).replace(".0%", "%")))
    for row, strip in enumerate(strips):
        top = HEIGHT + 14 + STRIP * row
        labels.append(_text("100%", top + 11, "end", strip.name))
        for each in strip.stretches:
            left, width = 100 * each.first / many, 100 * (each.last + 1 - each.first) / many
            plot.append(
                Markup(
                    '<rect class="{}" x="{:.3f}%" width="{:.3f}%" y="{}" height="{}"><title>{}</title></rect>'
                ).format(strip.style, left, width, top + 1, STRIP - 4, each.text)
            )
    paths = [
        Markup('<path class="line {}" d="{}"><title>{}</title></path>').format(
            line.style, path_of(line, axis), line.name
        )
        for line in lines
    ]
    plot.append(
        Markup(
            '<svg x="0" y="0" width="100%" height="{0}" viewBox="0 0 {1} {0}" preserveAspectRatio="none">{2}</svg>'
        ).format(HEIGHT + 10, many, Markup("").join(paths))
    )
    days = days_of(course.times)
    for place, at, anchor, style in _named(many):
        plot.append(_text(f"{at:g}%", strip_end + 14, anchor, f"round {course.rounds[place]}", style))
        plot.append(_text(f"{at:g}%", strip_end + 29, anchor, days[place], style))
    size = strip_end + 35
    return Markup(
        '<div class="rounds"><svg class="labels" width="100%" height="{0}" aria-hidden="true">{1}</svg>'
        '<svg class="plot" role="img" width="100%" height="{0}" aria-label="{2}"><title>{2}</title>{3}</svg></div>'
    ).format(size, Markup("").join(labels), about, Markup("").join(plot))


def _named(many: int) -> list[tuple[int, float, str, str]]:
    """Return the rounds that are named below a chart: place, where in percent, which end of the text, and its class.

    Those at the quarters are left out on small screens.
    """
    inner = [] if many < 3 else [(many // 2, "")] if many < 8 else [(many // 4, "quarter"), (many // 2, "")]
    inner += [(3 * many // 4, "quarter")] if many >= 8 else []
    between = [(place, 100 * (place + 0.5) / many, "middle", style) for place, style in inner]
    return [(0, 0.0, "start", ""), *between, *([(many - 1, 100.0, "end", "")] if many > 1 else [])]


def days_of(times: Sequence[str]) -> list[str]:
    """Write when rounds closed, by day; by the time of the day, if all of them closed on one.

    >>> days_of(["2026-11-16T05:39:12+00:00", "2026-11-17T05:39:12+00:00"])
    ['2026-11-16', '2026-11-17']
    >>> days_of(["2026-11-16T05:39:12+00:00", "2026-11-16T15:39:12+00:00"])
    ['2026-11-16 05:39', '15:39']
    """
    known = [datetime.fromisoformat(each) for each in times]
    if len({each.date() for each in known}) > 1:
        return [f"{each:%Y-%m-%d}" for each in known]
    return [f"{each:%H:%M}" if place else f"{each:%Y-%m-%d %H:%M}" for place, each in enumerate(known)]


def path_of(line: Line, axis: Axis) -> str:
    """Return the steps of a line: one unit wide per round, with a gap where there is no value.

    >>> path_of(Line("a", "g0", [0.0, None, 1.0, 1.0]), Axis(0.0, 1.0))
    'M0 205.00H1M2 5.00H3V5.00H4'
    """
    path, pen = "", False
    for place, value in enumerate(line.values):
        if value is not None:
            height = f"{_y(axis, value):.2f}"
            path += f"{f'V{height}' if pen else f'M{place} {height}'}H{place + 1}"
        pen = value is not None
    return path


def stretches(flags: Sequence[bool], rounds: Sequence[int], text: str) -> list[Stretch]:
    """Return the stretches of rounds that are flagged.

    >>> [each.text for each in stretches([True, True, False, True], [7, 8, 9, 10], "a lottery")]
    ['rounds 7 to 8: a lottery', 'round 10: a lottery']
    """
    found: list[Stretch] = []
    first = None
    for place, flag in enumerate([*flags, False]):
        if flag and first is None:
            first = place
        elif not flag and first is not None:
            last = place - 1
            named = f"round {rounds[first]}" if first == last else f"rounds {rounds[first]} to {rounds[last]}"
            found.append(Stretch(first, last, f"{named}: {text}"))
            first = None
    return found


def draw_share(part: int, whole: int, about: str) -> Markup:
    """Draw a part of a whole as a bar."""
    share = 100.0 * part / whole if whole else 0.0
    return Markup(
        '<svg class="share" role="img" width="100%" height="14" aria-label="{0}"><title>{0}</title>{1}{2}</svg>'
    ).format(about, _rect("whole", 0, 100, 1, 12), _rect("part", 0, share, 1, 12))


def _y(axis: Axis, value: float) -> float:
    return 5.0 + HEIGHT * (1.0 - axis.share(value))


def _rect(style: str, left: float, width: float, top: float, height: float) -> Markup:
    shape = '<rect class="{}" x="{:.3f}%" width="{:.3f}%" y="{}" height="{}"/>'
    return Markup(shape).format(style, left, max(width, 0.0), top, height)


def _upright(style: str, at: float, top: float, bottom: float) -> Markup:
    return Markup('<line class="{0}" x1="{1:.3f}%" x2="{1:.3f}%" y1="{2}" y2="{3}"/>').format(style, at, top, bottom)


def _text(at: str, height: float, anchor: str, text: str, style: str = "") -> Markup:
    shape = '<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>'
    return Markup(shape).format(at, height, anchor, style, text)
