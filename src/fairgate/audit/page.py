"""The page: ``audit.html``, one file to read and to print, with pictures inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairgate.audit import drawings
from fairgate.audit.audit import Audit
from fairgate.pages import Drawing, flat, templates
from fairgate.plots import image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 140
"""Dots per inch of the figures."""

BADGES = {"broken": ("fails", "alarm"), "met": ("holds", "met"), "undecided": ("direction", "not yet decided")}
"""Style and words of each status; others have their own words."""

NAMES = {
    "alpha": "probability of any false alarm",
    "pooled": "groups compared over their own people alone",
    "constraints": "constraints",
    "cost": "cost of accepting somebody of a bad label",
    "benefit": "benefit of accepting somebody of a good label",
    "currency": "counted in",
    "columns": "column",
    "rows": "rows of the table",
    "dropped": "rows left out",
    "good": "good label",
    "fairgate": "version of fairgate",
}
"""What the settings are called on the page."""


def render(audit: Audit, document: Mapping[str, Any]) -> str:
    """Write the page; the same audit gives the same bytes."""
    page = templates("fairgate.audit")
    page.filters.update(
        share=lambda value: "–" if value is None else f"{value:.1%}",
        figure=lambda value: "–" if value is None else f"{value:.3f}".replace("-", "−"),
    )
    table = document["table"]
    settings = {**document["settings"], **{name: table[name] for name in ("columns", "rows", "dropped", "good")}}
    settings["fairgate"] = document["fairgate"]
    return page.get_template("audit.html.j2").render(
        audit=document,
        once=audit.once,
        table=table,
        value=document["value"],
        badges=BADGES,
        scopes=[document["overall"], *document["segments"]],
        drawings=_drawings(audit),
        lines=flat(
            {
                NAMES[name]: value
                for name, value in settings.items()
                if value is not False and value not in (None, [], "", {})
            }
        ),
    )


def _drawings(audit: Audit) -> list[Drawing]:
    held = "Bounds hold together" if audit.once else "Bands hold at all looks together"
    together = f"{held} with probability at least {1 - audit.alpha:.0%}."
    over, so_far = ("", "all decisions") if audit.once else (" over time", "all decisions so far")
    borders = " Dotted lines part the segments." if audit.segments and not audit.once else ""
    found = [
        _drawn(
            "rates",
            f"Acceptance{over}",
            f"Share accepted of {so_far}{' in a segment' if audit.segments else ''}. {together}{borders}",
            drawings.draw_rates(audit),
        )
    ]
    if audit.overall.gap is not None:
        said = "Gap: largest minus smallest acceptance rate of a group. Ratio: smallest by largest."
        shaded = " What is allowed is shaded." if drawings.shades_gap(audit) else ""
        caption = f"{said}{shaded} {together}"
        found.append(_drawn("gap", f"Gap and ratio{over}", caption, drawings.draw_gap(audit)))
    if audit.value is not None:
        said = f"Bands are {1 - audit.alpha:.0%} intervals for one look."
        found.append(_drawn("value", "Value of other thresholds", said, drawings.draw_value(audit, audit.value)))
    return found


def _drawn(key: str, title: str, caption: str, figure: Figure) -> Drawing:
    return Drawing.of(key, title, caption, image(figure, "png", DPI))
