"""The board of random worlds on a terminal of 80 columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from fairgate.amounts import amount
from fairgate.bench.share import PRICE, PRICES
from fairgate.bench.terminal import NAME, SEES, folded, p_text
from fairgate.bench.worlds.board import CLASSES, FEWEST, WorldBoard, WorldRow
from fairgate.estimates import Estimate

NOTES = (
    "Share: of what the best fixed {best} earns in the long run beyond the best fair lottery, over the whole run, at a "
    "price of {price:g} per unit of violation, more than it earns. Mean over worlds, each cut to [−1, 1], with 95% "
    "interval over shapes of worlds; worst: mean of the lowest tenth, uncut. Viol.: per round. Feas.: of tail rounds. "
    "Settl.: settled within 0.01 of the best threshold. None: said rightly, and ever wrongly, that nothing is "
    "feasible. Ahead: share beyond that of the best baseline of the class of policies, within which learners are "
    "ranked, and p of the paired test over shapes, Holm-corrected."
)


def show(board: WorldBoard, document: Mapping[str, Any], console: Console) -> None:
    """Print one table per feedback level."""
    settings = document["settings"]
    console.print(f"{settings['worlds']} random worlds for {settings['purpose']}: {settings['which']}", highlight=False)
    if "history" in settings:
        console.print(_told_history(settings), highlight=False)
    for level, rows in board.levels.items():
        console.print(_ranked(level, rows, board))
        console.print(_ranks(level, board), highlight=False)
        if board.shapes[level] < FEWEST:
            console.print(
                f"Worlds of {amount(board.shapes[level], 'shape')}, fewer than {FEWEST}: no intervals or tests.",
                highlight=False,
            )
    best = "threshold" if board.allowed == "threshold" else "lottery of two thresholds"
    console.print(NOTES.format(best=best, price=PRICE), highlight=False)
    if board.allowed != "threshold":
        console.print(
            f"The best fixed threshold of every world has a share of {board.threshold:.2f}, 0 where none is feasible.",
            highlight=False,
        )


def _told_history(settings: Mapping[str, Any]) -> str:
    """Say what came before the rounds that count, and who got to know of it."""
    warm = ", ".join(settings["warm"]) or "no learner here"
    return (
        f"Before the run, an old threshold decided on {settings['history']:,} people in every world. "
        f"{warm} started from these decisions, all others from nothing, in the state they led to."
    )


def _ranks(level: str, board: WorldBoard) -> str:
    """Say the ranks at every price, where they are not the same at all."""
    prices = ", ".join(f"{price:g}" for price in PRICES)
    moved = [row for row in board.levels[level] if len(set(row.ranks)) > 1]
    if not moved:
        return f"Ranks are the same at prices of {prices}."
    return f"Ranks at prices of {prices}, where they differ: " + "; ".join(
        f"{row.learner} {', '.join(map(str, row.ranks))}" for row in moved
    )


def _ranked(level: str, rows: Sequence[WorldRow], board: WorldBoard) -> Table:
    title = f"Feedback level `{level}` on {rows[0].worlds} worlds: {SEES[level]}"
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=0, title_justify="left")
    table.add_column("\nlearner", overflow="fold", min_width=NAME)
    heads = ("\nshare", "me-\ndian", "\nworst", "\nviol.", "\nfeas.", "\nsettl.", "\nnone", "\nahead", "\np")
    for heading in heads:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, row in enumerate(rows):
        if not place or (row.among, not row.rank) != (rows[place - 1].among, not rows[place - 1].rank):
            name = CLASSES[row.among] if row.rank else "not ranked here"
            table.add_row(f"[italic]{name}[/]", *[""] * len(heads))
        table.add_row(
            _name(row),
            _estimate(row.share),
            _signed(row.median),
            _signed(row.worst_tenth, 1 if row.worst_tenth < -9.9 else 2),
            f"{row.violation:.4f}".removeprefix("0"),
            f"{row.feasible_tail:.0%}",
            _percent(row.settled),
            f"{_percent(row.claimed_right)}\n{_percent(row.claimed_wrong)}",
            "best\nbaseline" if board.baselines[level].get(row.among) == row.learner else _estimate(row.ahead),
            p_text(row.p),
        )
    return table


def _name(row: WorldRow) -> str:
    """Write a learner's name, why it has no rank, and in how many worlds it did not play."""
    lines = [
        f"{row.rank}. {folded(row.learner)}" if row.rank else folded(row.learner),
        *([] if row.rank else [f"({row.policies})"]),
    ]
    return "\n".join([*lines, *([f"not in {row.lacking}"] if row.lacking else [])])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _estimate(found: Estimate | None) -> str:
    if found is None:
        return "–"
    if math.isnan(found.low):
        return _signed(found.value)
    low, high = (_signed(end).replace("0.", ".") for end in (found.low, found.high))
    return f"{_signed(found.value)}\n{low}–{high}"


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")
