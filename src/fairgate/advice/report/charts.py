"""Charts: the pictures of ``report.pdf``, drawn from ``report.json`` alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.advice.report.axis import place_of, rising, skewed
from fairgate.advice.report.words import by_key, money_in
from fairgate.plots import COLOURS, LINES, SHADE, image, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 6.9
"""Inches that a page leaves for pictures."""

FONT = 8.0

LONGEST = 24
"""Letters of a group's name in a legend."""

Document = Mapping[str, Any]


def draw(document: Document) -> bytes:
    """Return the pictures as one PDF: acceptance, gap and reward by threshold, the frontier, scores and labels."""
    from matplotlib import rc_context

    paints: list[Callable[[Axes, Document], None]] = [
        partial(thresholds, what=what) for what in ("acceptance", "gap", "reward")
    ]
    paints += [frontier, scores, labels] if len(document["table"]["groups"]) > 1 else [scores, labels]
    rows = (len(paints) + 1) // 2
    with rc_context({"pdf.fonttype": 42, "font.size": FONT}):  # letters stay letters: text can be selected
        figure, axes = panels(rows, 2, WIDTH, 2.2 * rows)
        for each, paint in zip(axes, paints, strict=False):
            paint(each, document)
        for each in axes[len(paints) :]:
            each.set_visible(False)
        return image(figure, "pdf", 200)


def look(index: int) -> dict[str, Any]:
    """Return how a group's line looks."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": LINES[index % len(LINES)], "linewidth": 1.2}


def names(document: Document) -> list[str]:
    """Return the groups in words, short."""
    return [row["called"][:LONGEST] for row in by_key(document, "recommended")]


def figures(values: list[Any], unit: float = 1.0) -> Any:
    """Return a column as numbers, NaN where it is not known."""
    return unit * np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def across(document: Document) -> tuple[Any, bool]:
    """Return where each threshold lies on the axis, and whether that is the share accepted, as of a skewed score."""
    today = document["today"]
    share = skewed(today)
    return (figures(today["acceptance"], 100.0) if share else figures(today["threshold"])), share


def thresholds(axes: Axes, document: Document, what: str) -> None:
    """Draw a figure of every threshold, what is allowed, the threshold in use, and the recommended one."""
    today, money = document["today"], money_in(document)
    unit = money.benefit if what == "reward" and money.given else 100.0 if what == "acceptance" else 1.0
    at, share = across(document)
    groups = [f" {group['name']}" for group in document["table"]["groups"]] if what == "acceptance" else [""]
    for index, suffix in enumerate(groups):
        style = look(index) if what == "acceptance" else {"color": "black", "linewidth": 1.2}
        label = names(document)[index] if what == "acceptance" else None
        axes.plot(at, figures(today[what + suffix], unit), label=label, **style)
        if len(groups) < 5:
            ends = (figures(today[f"{what}_{end}{suffix}"], unit) for end in ("low", "high"))
            axes.fill_between(at, *ends, color=style["color"], alpha=0.15, linewidth=0)
    for limit in (limit for each in document["constraints"] for limit in each["limits"]):
        if limit["figure"] == what:
            low, high = limit["low"], limit["high"]
            allowed = (unit * (0.0 if low is None else low), unit * (1.0 if high is None else high))
            axes.axhspan(*allowed, color=SHADE, zorder=0, linewidth=0)
    if what == "gap":
        axes.set_ylim(0.0, 1.05 * max(np.nanmax(figures(today["gap_high"])), 0.01))
    dark = at[~np.array(today["known"], dtype=bool)]
    if len(dark):
        axes.axvspan(dark.min(), dark.max(), color="0.88", zorder=0, linewidth=0)
    mark(axes, document, (lambda score: float(at[place_in(today, score, document)])) if share else float)
    titles = {"acceptance": "Share accepted, %", "gap": "Gap between groups", "reward": "Reward per person"}
    money_title = f"Money per person{f', {money.currency}' if money.currency else ''}"
    axes.set_title(money_title if what == "reward" and money.given else titles[what], fontsize=FONT)
    if share:
        axes.set_xlim(0.0, 100.0)
    inner = at[(figures(today["acceptance"]) <= 0.995) & (figures(today["acceptance"]) >= 0.005)]
    if not share and len(inner) > 1 and np.ptp(at) > 2.0 * np.ptp(inner):
        axes.set_xlim(inner.min(), inner.max())
    name = "share of everybody accepted, %" if share else document["table"]["columns"]["score"]
    axes.set_xlabel(name, fontsize=FONT)
    if what == "acceptance":
        small_legend(axes)


def mark(axes: Axes, document: Document, place: Callable[[float], float] = float) -> None:
    """Draw where the recommended threshold and the one in use lie."""
    advised, current = document["recommendation"], document["aims"].get("current")
    word = "nearest" if advised["status"] == "infeasible" else "recommended"
    axes.axvline(place(advised["threshold"]), color="#1b7837", linewidth=1.4, label=word)
    if current is not None:
        axes.axvline(place(current), color="#b2182b", linewidth=1.2, linestyle="--", label="in use")


def place_in(today: Document, score: float, document: Document) -> int:
    """Return the place of the threshold that accepts the same people."""
    places = place_of(rising(today), score, document["table"])
    back = today["threshold"][0] > today["threshold"][-1]
    return len(today["threshold"]) - 1 - places if back else places


def small_legend(axes: Axes) -> None:
    """Say what the lines are, unless they are too many."""
    if len(axes.get_legend_handles_labels()[0]) <= 8:
        axes.legend(fontsize=FONT - 1.5, frameon=False, loc="best", handlelength=1.6)


def frontier(axes: Axes, document: Document) -> None:
    """Draw the highest reward that each gap allows, and where the options lie."""
    found, money = document["frontier"][0], money_in(document)
    unit = money.benefit if money.given else 1.0
    axes.step(
        found["gap"], figures(found["reward"], unit), where="post", color="black", linewidth=1.2, label="one for all"
    )
    if found["per_group_gap"]:
        axes.plot(found["per_group_gap"], figures(found["per_group_reward"], unit), label="per group", **look(1))
    spots = {"recommended": ("#1b7837", "o"), "current": ("#b2182b", "s"), "per-group": ("#0072B2", "D")}
    heights = []
    for point in found["points"]:
        colour, marker = spots.get(point["kind"], ("0.4", "^"))
        advised = "nearest" if document["recommendation"]["status"] == "infeasible" else "recommended"
        title = {"current": "today", "per-group": "per group", "recommended": advised}.get(point["kind"], point["kind"])
        axes.plot([point["gap"]], [unit * point["reward"]], marker, color=colour, markersize=5)
        right = point["gap"] > 0.6 * max(*found["gap"], *(each["gap"] for each in found["points"]))
        height = 5 if point["kind"] == "current" else -9
        where, side = ((-5, height), "right") if right else ((5, height), "left")
        place = (point["gap"], unit * point["reward"])
        axes.annotate(title, place, where, textcoords="offset points", ha=side, fontsize=FONT - 1)
        heights.append(unit * point["reward"])
    top = max([*heights, *(unit * value for value in (*found["reward"], *found["per_group_reward"]))])
    low = min(0.0, top, *heights)
    space = 0.08 * (top - low or 1.0)
    axes.set_ylim(low - space if low < 0.0 else 0.0, top + space)
    axes.set_title("Money against gap" if money.given else "Reward against gap", fontsize=FONT)
    axes.set_xlabel("gap between groups", fontsize=FONT)
    small_legend(axes)


def scores(axes: Axes, document: Document) -> None:
    """Draw the scores of each group."""
    found = document["by_group"]
    for index, (shares, name) in enumerate(zip(found["bars"], names(document), strict=True)):
        axes.stairs(figures(shares, 100.0), found["edges"], label=name, **look(index))
    mark(axes, document)
    axes.set_xlim(found["edges"][0], found["edges"][-1])
    axes.set_title("Scores, % of each group", fontsize=FONT)
    axes.set_xlabel(document["table"]["columns"]["score"], fontsize=FONT)
    small_legend(axes)


def labels(axes: Axes, document: Document) -> None:
    """Draw the share of labels by score, and the diagonal where scores are probabilities."""
    found = document["by_group"]
    likely = all(band["predicted"] is not None for band in found["bands"])
    ends = (found["edges"][0], found["edges"][-1])
    for index, name in enumerate(names(document)):
        points = [
            (
                band["predicted"][index] if likely else np.clip((band["low"], band["high"]), *ends).mean(),
                band["observed"][index],
            )
            for band in found["bands"]
            if band["observed"][index]["value"] is not None
        ]
        at = [place for place, _ in points]
        value, low, high = (figures([rate[end] for _, rate in points], 100.0) for end in ("value", "low", "high"))
        reach = (np.maximum(value - low, 0.0), np.maximum(high - value, 0.0))
        axes.errorbar(at, value, yerr=reach, label=name, marker="o", markersize=2.5, elinewidth=0.7, **look(index))
    if likely:
        axes.plot([0, 1], [0, 100], color="0.5", linewidth=0.8, linestyle=":")
    if likely and skewed(document["today"]):
        drawn = [
            max(mean, rate["high"])
            for band in found["bands"]
            for mean, rate in zip(band["predicted"], band["observed"], strict=True)
            if rate["value"] is not None
        ]
        top = min(1.1 * max(drawn, default=1.0), 1.0)
        axes.set_xlim(0.0, top)
        axes.set_ylim(0.0, 100.0 * top)
    axes.set_title(f"% with {found['observed']}, by score", fontsize=FONT)
    axes.set_xlabel(document["table"]["columns"]["score"], fontsize=FONT)
