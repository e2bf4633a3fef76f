"""The report: claims, tables, figures and findings of a reproduction as one HTML page that needs no other file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from markupsafe import Markup, escape

from fairgate.estimates import Estimate
from fairgate.experiments.plan import ROOT_SEED, TITLES, open_choices
from fairgate.experiments.results import DIRECTION, FAILS, HOLDS, Cell, Claim, Results, Row, Table
from fairgate.pages import Picture, anchor, flat, templates

BADGES = {HOLDS: "holds", DIRECTION: "direction", FAILS: "fails"}
"""The style of each verdict's badge."""


LONG = 40
"""Characters from which on words in a table get a width of their own."""


def render(results: Results, images: Mapping[str, bytes]) -> str:
    """Write the page; `images` holds the PNG of every drawing, those of the findings included, by its key.

    The same results give the same bytes.
    """
    drawings = [*results.drawings, *(finding.drawing for finding in results.findings)]
    missing = [drawing.key for drawing in drawings if drawing.key not in images]
    if missing:
        raise ValueError(f"images must hold the PNG of every drawing; there is none for {', '.join(missing)}")
    page = templates("fairgate.experiments")
    page.filters |= {
        each.__name__: each for each in (anchor, behind, groups, heading, key_width, prose, titled, written)
    }
    page.tests |= {"numeric": numeric, "detail": detail}
    return page.get_template("report.html.j2").render(
        results=results,
        pictures={drawing.key: Picture.of(drawing.key, images[drawing.key]) for drawing in drawings},
        tally=tally(results.claims),
        wavering=sum(bool(claim.others) for claim in results.claims),
        settings=results.settings,
        lines=flat(results.settings),
        badges=BADGES,
        choice_counts=Counter(entry["kind"] for entry in open_choices().values()),
        root_seed=ROOT_SEED,
    )


def tally(claims: Sequence[Claim]) -> dict[str, int]:
    """Count the claims of each verdict."""
    found = Counter(claim.verdict for claim in claims)
    if unknown := found.keys() - BADGES:
        raise ValueError(f"a claim's verdict must be one of {', '.join(BADGES)}; got {', '.join(sorted(unknown))}")
    return {verdict: found[verdict] for verdict in BADGES}


def groups(table: Table) -> list[tuple[str, list[Row]]]:
    """Split rows where their first key changes, if that key is shared by neighbours; else one group without a name."""
    if len(table.heads) > 1:
        split = [(first, list(rows)) for first, rows in groupby(table.rows, key=lambda row: row.keys[0])]
        if len(split) < len(table.rows):
            return split
    return [("", list(table.rows))]


def behind(table: Table, results: Results) -> list[str]:
    """Return the choices that were made for figures of a table, by the names they have in the table of choices."""
    targets = [row for each in getattr(results, "choices", ()) if each.key == "targets" for row in each.rows]
    names = [row.cells["choices"].written("ours") for row in targets if row.keys[0].startswith(f"{table.key}.")]
    return list(dict.fromkeys(name for each in names for name in each.split(", ")))


def numeric(column: str, table: Table) -> bool:
    """Whether a column holds figures rather than words."""
    cells = [row.cells[column] for row in table.rows if column in row.cells]
    return any(isinstance(value, Estimate) for cell in cells for value in (cell.ours, cell.paper))


def detail(table: Table) -> bool:
    """Whether a table is long detail that is folded away at first."""
    return "-grid" in table.key or "-settings" in table.key


def written(cell: Cell, source: str) -> Markup:
    """Write a figure with a true minus sign, an interval below it; words as they are."""
    text = cell.written(source)
    if isinstance(cell.values.get(source), Estimate):
        parts = [escape(part) for part in re.split(r" (?=[±\[]|to )", text.replace("-", "−"), maxsplit=1)]
        style = "interval" if "[" in text else "more"
        return Markup(f' <span class="{style}">').join(parts) + Markup("</span>") * (len(parts) - 1)
    return Markup('<span class="long">{}</span>').format(prose(text)) if len(text) > LONG else prose(text)


def prose(text: str) -> Markup:
    """Set the index of a symbol such as F_t or α_min below it."""
    return Markup(re.sub(r"\b([^\W\d_])_(\w+)\b", r"\1<sub>\2</sub>", str(escape(text))))


def key_width(table: Table) -> int:
    """Width, in characters, that a narrow screen gives the first column that stays in place while others scroll."""
    keys = [titled(row.keys[-1]) for row in table.rows]
    return min(16, 2 + max((len(word) for word in [*keys, table.heads[-1]]), default=0))


def titled(key: str) -> str:
    """Write a task or method the way the paper does."""
    return TITLES.get(key, key)


def heading(text: str) -> str:
    """Start a heading with a capital, but leave symbols such as η alone."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text
