"""A sweep on a terminal of 80 columns: who wins where, answer first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from fairgate.bench.terminal import folded
from fairgate.sweep.answer import Answer

if TYPE_CHECKING:
    from fairgate.sweep.result import Sweep


def show(sweep: Sweep, console: Console) -> None:
    """Print who wins where, every learner's means over the settings and its worst setting."""
    answer = Answer(sweep)
    for sentence in answer.sentences():
        console.print(sentence, highlight=False, markup=False)
    if not answer.settings:
        return
    console.print(_learners(answer))
    if answer.regions:
        console.print(_regions(answer))
    for sentence in filter(None, (answer.excesses(), _footnote(answer))):
        console.print(sentence, highlight=False, markup=False)


def _footnote(answer: Answer) -> str:
    """Say what the figures are."""
    where = " where something is feasible" if answer.nothing else ""
    text = (
        f"Means over settings{where}. Success: share of seeds within 0.01 of the best reward and of every constraint "
        "at the end. Share: of what can be earned in all settings together. Viol.: exact, summed over all rounds. "
        "Shortfall: the larger of regret and largest residual, per round"
        f"{'' if answer.alone else '; by it, learners win, significantly by a paired t-test over seeds'}."
    )
    if answer.nothing:
        text += (
            " Where nothing is feasible, shortfall is the violation beyond the least there is, and a success one of at "
            "most 0.01 at the end."
        )
    return text


def _learners(answer: Answer) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("learner", overflow="fold", max_width=20)
    for heading in (() if answer.alone else ("wins",)) + ("success", "share", "viol.", "shortfall"):
        table.add_column(heading, justify="right", no_wrap=True)
    if len(answer.sweep) > 1:
        table.add_column("worst setting, its shortfall", overflow="fold")
    for row in answer.standings:
        wins = [] if answer.alone else [f"{row.wins / answer.settings:.0%}"]
        figures = [percent(row.success), percent(row.share), number(row.violation, 1), number(row.shortfall, 4)]
        worst = (
            [f"{row.worst}: {number(row.worst_shortfall, 3)}" if row.worst else "–"] if len(answer.sweep) > 1 else []
        )
        table.add_row(folded(row.learner), *wins, *figures, *worst)
    return table


def _regions(answer: Answer) -> Table:
    what = "Success" if answer.alone else "Share of settings won"
    table = Table(
        title=f"{what}, by ranges of each parameter", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left"
    )
    table.add_column("parameter", overflow="fold", max_width=20)
    table.add_column("values", overflow="fold")
    for name in answer.sweep.learners:
        table.add_column(folded(name), justify="right")
    last = ""
    for region in answer.regions:
        parameter = "" if region.parameter == last else region.parameter
        table.add_row(parameter, region.values, *(percent(share) for share in region.shares))
        last = region.parameter
    return table


def percent(share: float) -> str:
    """Write a share as a percentage; a dash if it is not known."""
    return "–" if math.isnan(share) else f"{share:.0%}"


def number(value: float, digits: int) -> str:
    """Write a number with some digits after the point; a dash if it is not known."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
