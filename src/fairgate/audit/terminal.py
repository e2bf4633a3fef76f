"""The audit on a terminal of 80 columns."""

from __future__ import annotations

import math
import re

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairgate.audit.alarms import BROKEN, MET, UNDECIDED, UNIDENTIFIED
from fairgate.audit.audit import Audit
from fairgate.audit.report import alarm_text, describe_value, summary
from fairgate.audit.sequences import Track
from fairgate.estimates import Estimate

WORDS = {BROKEN: "ALARM", MET: "met", UNDECIDED: "undecided", UNIDENTIFIED: "unknown"}
"""The status of a constraint in a word."""


def show(audit: Audit, console: Console) -> None:
    """Print what was looked at, the rates, every alarm, and the value of other thresholds."""
    for line in summary(audit):
        console.print(escape(line), highlight=False)
    console.print(_rates(audit))
    if audit.alarms:
        console.print(_alarms(audit))
    if audit.value is not None:
        console.print(_value(audit))
        for line in describe_value(audit, audit.value)["notes"]:
            console.print(escape(line), highlight=False)


def _rates(audit: Audit) -> Table:
    known = (
        "Acceptance, with exact bounds that hold"
        if audit.once
        else "Acceptance so far, with bounds that hold at all looks"
    )
    table = _table(f"{known} together ({1 - audit.alpha:.0%})")
    for heading in ("whose", "people", "acceptance", "gap", "ratio"):
        table.add_column(heading, justify="left" if heading == "whose" else "right", overflow="fold")
    for found in (audit.overall, *audit.segments):
        gap = "" if found.gap is None else _last(found.gap)
        ratio = "" if found.ratio is None else _last(found.ratio)
        people = int(found.people[-1].sum())
        table.add_row(escape(found.name), str(people), _last(found.overall), gap, ratio, style="bold")
        for place, name in enumerate(audit.decisions.groups):
            own = Track(found.rates.value[:, place], found.rates.low[:, place], found.rates.high[:, place])
            table.add_row(f"  {escape(audit.decisions.called(name))}", str(found.people[-1, place]), _last(own), "", "")
    return table


def _alarms(audit: Audit) -> Table:
    table = _table("Constraints")
    for heading in ("whose", "constraint", "", "what is known"):
        table.add_column(heading, overflow="fold")
    for alarm in audit.alarms:
        style = "bold red" if alarm.status == BROKEN else "yellow" if alarm.rang is not None else ""
        word = WORDS.get(alarm.status, alarm.status)
        known = escape(alarm_text(audit, alarm))
        table.add_row(escape(alarm.scope), escape(alarm.name), word, known, style=style)
    return table


def _value(audit: Audit) -> Table:
    name = audit.decisions.columns["score"]
    unit = f" in {audit.currency}" if audit.currency else ""
    table = _table(
        f"Value of accepting {name} {'≤' if audit.decisions.descending else '≥'} a threshold, per person{unit}"
    )
    for heading in ("threshold", "accepted", "IPS", "doubly robust", "gain"):
        table.add_column(heading, justify="right", overflow="fold")
    for each in audit.value.thresholds if audit.value is not None else ():
        figures = [_figure(found) for found in (each.ips, each.doubly_robust, each.gain)]
        if each.ips is None:
            why = "not identified" if each.dark is not None else f"too few outcomes: {each.few}"
            figures = [why, f"[{each.low:.3f}, {each.high:.3f}]", ""]
        table.add_row(f"{each.threshold:.6g}", f"{each.acceptance:.1%}", *figures)
    return table


def _table(title: str) -> Table:
    return Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")


def _last(track: Track) -> str:
    value, low, high = (float(getattr(track, name)[-1]) for name in ("value", "low", "high"))
    return "–" if math.isnan(value) else _figure(Estimate(value, low, high))


def _figure(found: Estimate | None) -> str:
    """Write a figure and its bounds with three decimals; zeros before the point are left out to save room."""
    return "" if found is None else re.sub(r"\b0\.", ".", found.text(3))
