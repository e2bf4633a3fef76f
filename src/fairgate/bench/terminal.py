"""The leaderboard on a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from fairgate.bench.leaderboard import Leaderboard, Row
from fairgate.bench.matrix import Matrix
from fairgate.estimates import Estimate

NAME = 16
"""Characters of a learner's name on one line."""

SEES = {
    "bandit": "sees the counts under what it plays",
    "scores": "sees the scores of all",
    "selective-labels": "sees scores and the labels of the accepted",
    "full-labels": "sees scores and all labels",
}
"""What a learner of each level may see."""


def show(matrix: Matrix, board: Leaderboard, console: Console) -> None:
    """Print one table per feedback level, and the best learner of each level on each task."""
    total = len(matrix.tasks)
    for level, rows in board.levels.items():
        console.print(_ranked(level, rows, board.references[level], total))
    console.print(_by_task(board))
    console.print(
        "Target: share of seeds whose settled threshold is within the level's tolerance of the best feasible one. "
        "Share: of what the best fixed lottery of two thresholds earns beyond the best fair lottery, over all rounds "
        "played; a unit of violation costs 10, more than it earns. "
        "Shortfall: reward or constraint missed per round, whichever is larger, in the long run of what was played; "
        "interquartile mean with 95% interval. Beats: probability that a run has a smaller shortfall than one of the "
        "level's best baseline, and p of the test for it, Holm-corrected; the best is chosen on the same runs, which "
        "favours it. Viol.: summed over a run. Feas.: share of tail rounds; Time: first round from which 95% are "
        "feasible. Worst: largest shortfall of any seed.",
        highlight=False,
    )


def _ranked(level: str, rows: Sequence[Row], reference: str | None, total: int) -> Table:
    title = f"Feedback level `{level}`: {SEES[level]}\n{against(reference)}"
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=0, title_justify="left")
    table.add_column("\nlearner", overflow="fold", min_width=NAME)
    compared = () if reference is None else ("\nbeats", "\np")
    for heading in ("tar-\nget", "\nshare", "\nshortfall", *compared, "\nviol.", "feas.\ntime", "\nworst"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        partly = "" if row.tasks == total else f"\n{row.tasks} of {total} tasks"
        versus = (_estimate(row.better, 2) if row.better else "best\nbaseline", p_text(row.p))
        table.add_row(
            f"{folded(row.learner)}{partly}",
            f"{row.success:.0%}",
            "–" if row.share is None else f"{row.share.value:.2f}".replace("-", "−"),
            _estimate(row.shortfall, 4),
            *(versus if reference is not None else ()),
            f"{row.violation:.{1 if row.violation < 1000 else 0}f}",
            _feasible(row),
            f"{row.worst:.3f}",
        )
    return table


def _feasible(row: Row) -> str:
    if row.feasible_tail is None or row.time_to_feasible is None:
        return "–"
    return f"{row.feasible_tail:.0%}\n{row.time_to_feasible:.0f}"


def against(reference: str | None) -> str:
    """Say which learner those of a level are compared with."""
    if reference is None:
        return "No baseline has an outcome on every task, so there is none to compare with."
    return f"Compared with the best baseline, {reference}."


def _by_task(board: Leaderboard) -> Table:
    title = "Best of each feedback level: target and shortfall"
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
    table.add_column("task", overflow="fold")
    for level in board.levels:
        table.add_column(level, overflow="fold")
    for task, best in board.best.items():
        shown = {
            level: f"{folded(each.learner)}\n{each.success:.0%} {each.shortfall:.4f}" for level, each in best.items()
        }
        table.add_row(task, *(shown.get(level, "–") for level in board.levels))
    return table


def folded(name: str) -> str:
    r"""Break a long name where it has a hyphen or a dot, so that it fits its column.

    >>> folded("pessimistic-optimistic")
    'pessimistic-\noptimistic'
    """
    lines = [""]
    for part in re.findall(r"[^-.:]+[-.:]*|[-.:]+", name):
        if lines[-1] and len(lines[-1]) + len(part) > NAME:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _estimate(found: Estimate, digits: int) -> str:
    low, high = (f"{end:.{digits}f}".removeprefix("0") for end in (found.low, found.high))
    return f"{found.value:.{digits}f}\n{low}–{high}"


def p_text(p: float | None) -> str:
    """Write a p-value short: with two digits, or as below 0.001."""
    if p is None:
        return "–"
    return "<.001" if p < 0.001 else f"{p:.{2 if p >= 0.01 else 3}f}".removeprefix("0")
