"""Losses: rows that are left out, and when they are too many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairgate.errors import InputError
from fairgate.people.rows import Rows, dated
from fairgate.people.values import listed, natural, too_many
from fairgate.people.wanted import Wanted

GROUPS = 50
"""Most groups; a column with more is rather a number or a name than a group."""


def leave_out_strays(rows: Rows, wanted: Wanted) -> dict[str, int]:
    """Leave out the people of groups that are too small; return their numbers by the name of the group."""
    if not len(rows):
        return {}
    sizes, names = rows.sizes(), rows.groups.names()
    least = rows.least = wanted.least(len(rows))
    small = (sizes > 0) & (sizes < least)
    if (sizes >= least).sum() > GROUPS:
        raise too_many("group", wanted.grouping, GROUPS, names)
    if not (sizes >= least).any():
        raise InputError(
            f"the group column {wanted.grouping!r} has no group of at least {least} people (--min-group), the largest "
            f"being {names[int(sizes.argmax())]!r} with {sizes.max()}: choose a column with few values"
        )
    if small.any():
        rows.keep(lambda part: {"group too small": small[part.group]})
    return {
        names[code]: int(sizes[code]) for code in sorted(np.flatnonzero(small), key=lambda code: natural(names[code]))
    }


def refuse_losses(source: str, rows: Rows, wanted: Wanted) -> None:
    """Refuse a table of which nothing, or not enough, is left."""
    if not rows.total:
        raise InputError(f"{source} has no rows: it must have one row per person")
    if not len(rows):
        _refuse_all(rows, wanted)
    lost = {reason: count for reason, count in rows.dropped.items() if count and reason != "weight zero"}
    total = sum(lost.values())
    if total > wanted.max_lost * rows.total:
        share = np.ceil(1000.0 * total / rows.total) / 1000.0
        reasons = "; ".join(f"{count} {_told(reason, rows, wanted)}" for reason, count in lost.items())
        raise InputError(
            f"{total} of {rows.total} rows would be left out, more than a share of {wanted.max_lost:g}: {reasons}; "
            f"repair them, or say --max-lost {share:g} if those who are left are like the others"
        )
    if wanted.date is not None:
        _refuse_dates(rows, wanted)


def _told(reason: str, rows: Rows, wanted: Wanted) -> str:
    """Say what is wrong with rows, with some examples and what would help."""
    texts = {
        "score not a number": f"have no number as score ({wanted.score!r})",
        "score infinite": f"have an infinite score ({wanted.score!r})",
        "group missing": f"have no group ({wanted.grouping!r})",
        "group too small": f"belong to groups ({wanted.grouping!r}) of fewer than {rows.least} people (--min-group)",
        "weight not a number": f"have no number as weight ({wanted.weight!r})",
        "line malformed": f"have more or fewer fields than there are column names, such as {wanted.score!r}",
    }
    column = {"score not a number": rows.score, "weight not a number": rows.weight}.get(reason)
    if column is None:
        return texts[reason]
    return texts[reason] + _seen(column.unread) + (f" – {column.hint}" if column.hint else "")


def _seen(unread: Sequence[str]) -> str:
    return f", such as {listed(unread[:4])}" if unread else ""


def _refuse_all(rows: Rows, wanted: Wanted) -> None:
    reason, _ = rows.dropped.most_common(1)[0]
    if reason == "line malformed":
        raise InputError(
            f"none of the {rows.total} lines has as many fields as there are column names, such as {wanted.score!r}"
        )
    if reason == "group missing":
        raise InputError(
            f"the group column {wanted.grouping!r} is missing for all {rows.total} rows: every row needs a group"
        )
    if reason.startswith("weight"):
        raise InputError(f"the weight column {wanted.weight!r} is above 0 in none of {rows.total} rows: some must be")
    seen = f", got {listed(rows.score.unread)}" if rows.score.unread else ", all are missing, NaN or infinite"
    hint = f" ({rows.score.hint})" if rows.score.hint else ""
    raise InputError(
        f"the score column {wanted.score!r} has no number in any of {rows.total} rows{seen}: it must be numbers{hint}"
    )


def _refuse_dates(rows: Rows, wanted: Wanted) -> None:
    known = sum(int(dated(part).sum()) for part in rows.parts)
    unread = rows.dates.unread
    if not known or (unread and known < (1.0 - wanted.max_lost) * len(rows)):
        seen = f", got {listed(unread)}" if unread else ", all are missing"
        few = "no date in any" if not known else f"a date in only {known}"
        raise InputError(
            f"the date column {wanted.date!r} has {few} of {len(rows)} rows{seen}: write dates as 2024-01-31"
        )
