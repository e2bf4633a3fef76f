"""The audit of a gate's log on a terminal of 80 columns."""

from __future__ import annotations

import re

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairgate.audit.terminal import WORDS
from fairgate.constraints.bounds import BROKEN
from fairgate.live.auditing.report import AuditReport, Bound, Stretch

SHOWN = 5
"""Findings printed; all that are kept are in the JSON."""

STRETCHES = 8
"""Stretches printed: all decisions, the last segment, those whose alarm rang, then those of most people."""


def show(report: AuditReport, console: Console) -> None:
    """Print what fits, what does not, what could not be checked, and the bounds."""
    for line in sentences(report):
        console.print(escape(line), highlight=False, style="bold red" if line == str(report.first) else "")
    if report.stretches:
        console.print(_rates(report))
    if any(each.constraints for each in report.stretches):
        console.print(_constraints(report))


def sentences(report: AuditReport) -> list[str]:
    """Say what was gone through, the first event that does not fit, and what could not be checked."""
    went = (
        f"{report.source}: {report.events} events, {report.rounds} rounds, {report.decisions} decisions, "
        f"{report.labels} labels, in {report.seconds:.1f} s."
    )
    if report.verdict == "clean":
        lines = [went, f"Everything fits. The last event is {report.last}, its hash {report.head}."]
    elif report.first is None:
        number = sum(len(each.rounds) for each in report.versions)
        text = f"Recomputed by another version: {number} policies differ, and all else fits."
        lines = [went, f"{text} The last event is {report.last}, its hash {report.head}."]
    else:
        lines = [went, "The first event that does not fit:", str(report.first)]
        lines += ["Then:"] if report.count > 1 else []
        lines += [str(each) for each in report.findings[1:SHOWN]]
        lines += [f"And {report.count - SHOWN} more differences."] if report.count > SHOWN else []
    return [*lines, *(each.text for each in report.versions), *report.unchecked, *report.remarks]


def _rates(report: AuditReport) -> Table:
    table = _table(f"Acceptance, with bounds that hold in all rounds together ({1 - report.alpha:.0%})")
    table.add_column("whose", overflow="fold")
    for heading in ("people", "acceptance", "gap", "reward"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = chosen(report.stretches)
    for each in shown:
        figures = (_figure(each.acceptance), _figure(each.gap), _figure(each.reward))
        table.add_row(escape(f"{each.name}, {_rounds(each)}"), str(each.people), *figures, style="bold")
        for group in each.groups:
            table.add_row(f"  {escape(group.name)}", str(group.people), _figure(group.acceptance), "", "")
    hidden = report.hidden + len(report.stretches) - len(shown)
    if hidden:
        table.caption = f"{hidden} more segments are not shown; --json has those of most people."
    return table


def _constraints(report: AuditReport) -> Table:
    table = _table("Constraints")
    for heading in ("whose", "constraint", "", "what is known"):
        table.add_column(heading, overflow="fold")
    for each in chosen(report.stretches):
        for known in each.constraints:
            rang = known.rang_in_round is not None
            style = "bold red" if known.status == BROKEN else "yellow" if rang else ""
            word = WORDS.get(known.status, known.status)
            table.add_row(escape(each.name), escape(known.name), word, escape(known.text), style=style)
    return table


def chosen(stretches: list[Stretch]) -> list[Stretch]:
    """Return the stretches that are printed, in their order."""
    places = range(1, len(stretches))
    rang = {place: any(each.rang_in_round is not None for each in stretches[place].constraints) for place in places}
    order = sorted(places, key=lambda place: (place != places[-1], not rang[place], -stretches[place].people))
    kept = {0, *order[: STRETCHES - 1]}
    return [each for place, each in enumerate(stretches) if place in kept]


def _rounds(each: Stretch) -> str:
    only = each.first_round == each.last_round
    return f"round {each.first_round}" if only else f"rounds {each.first_round}–{each.last_round}"


def _table(title: str) -> Table:
    return Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")


def _figure(found: Bound | None) -> str:
    """Write a figure with its bounds, zeros before the point left out to save room."""
    if found is None:
        return ""
    value = "–" if found.value is None else f"{found.value:.3f}"
    return re.sub(r"\b0\.", ".", f"{value} [{found.low:.2f},{found.high:.2f}]")
