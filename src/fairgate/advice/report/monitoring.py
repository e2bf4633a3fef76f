"""What a look at later people found, in plain sentences and on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from fairgate.advice.drift import LARGE, MODERATE, Drift
from fairgate.advice.monitor import Check, Monitored
from fairgate.constraints.bounds import BROKEN, MET

KINDS = {
    "scores": "score above the old median",
    "acceptance": "would be accepted",
    "calibration": "good among people with a label",
    "missing labels": "without a label",
}
"""What the shares of each kind of drift are of."""

NO_DRIFT = "no drift could be told"
"""What a headline says if nothing drifted."""


def show(found: Monitored, console: Console) -> None:
    """Print what is broken, what drifted, and what has not."""

    def line(text: str, style: str = "") -> None:
        console.print(escape(text), style=style, highlight=False)

    line(headline(found), "bold")
    line(certainty(found))
    for note in notes(found):
        line(note)
    for title, told in (("Drifted", True), ("No drift that could be told", False)):
        some = [each for each, drifted in zip(found.drifts, found.drifted, strict=True) if drifted is told]
        if some:
            line("")
            line(f"{title}:", "bold")
        for each in some:
            line(f"- {drift_text(each)}")
    if found.checks:
        line("")
        line(f"Constraints at {found.reference.rule}:", "bold")
    for check in found.checks:
        line(f"- {check_text(check)}", "bold red" if check.is_broken else "")


def headline(found: Monitored) -> str:
    """Say in a sentence whether the advice still stands."""
    people = int(found.newcomers.totals.sum())
    drifted = sum(found.drifted)
    moved = f"{drifted} of {len(found.drifts)} comparisons show drift: {what(found)}" if drifted else NO_DRIFT
    broken = ", ".join(dict.fromkeys(each.constraint for each in found.broken))
    if broken:
        stands = f"broken with the stated certainty: {broken}"
    else:
        stands = "no constraint is broken with the stated certainty" if found.checks else "there are no constraints"
    return f"Look {found.look}, {people} people: {stands}; {moved}."


def what(found: Monitored) -> str:
    """Name what drifted, by group."""
    kinds: dict[str, list[str]] = {}
    for each, drifted in zip(found.drifts, found.drifted, strict=True):
        if drifted:
            kinds.setdefault(each.called or each.group, []).append(each.kind)
    return " and ".join(f"{', '.join(some)} of {group}" for group, some in kinds.items())


def certainty(found: Monitored) -> str:
    """Say how sure this is."""
    alpha = 1.0 - found.reference.sure
    return (
        f"Over all months together, however many, the probability that a constraint that is met is called broken is at "
        f"most {alpha:.1%}, and so is the probability that anything is called drifted that is not; this look's share "
        f"of the latter is {found.level:.2%}."
    )


def notes(found: Monitored) -> list[str]:
    """Say what could not be compared."""
    new = found.newcomers
    lines = []
    if new.dropped:
        lines.append("Rows left out: " + ", ".join(f"{count} {reason}" for reason, count in new.dropped.items()) + ".")
    if new.strangers:
        called = found.reference.called
        whom = ", ".join(f"{called(name)} ({count})" for name, count in list(new.strangers.items())[:8])
        lines.append(f"Groups that the advice does not know were left out: {whom}.")
    gone = [name for name, each in zip(found.reference.groups, new.counts, strict=True) if not each.sum()]
    if gone:
        lines.append(f"Nobody came of {', '.join(map(found.reference.called, gone))}.")
    if new.unread:
        whom = ", ".join(f"{label!r} ({count})" for label, count in list(new.unread.items())[:8])
        lines.append(f"Labels that the advice does not know count as missing: {whom}.")
    if not new.labelled:
        lines.append(f"There is no column {found.reference.label!r}, so calibration is not judged.")
    return lines


def drift_text(drift: Drift) -> str:
    """Say what changed, how much, and with which certainty."""
    named = f"{drift.called or drift.group}, {drift.kind}"
    if drift.p_value is None or drift.then is None or drift.now is None or drift.change is None:
        return f"{named}: too few people to tell ({drift.people})."
    expected = "expected from their scores" if drift.kind == "calibration" else "at the time of the advice"
    points = f"{100 * drift.change:+.1f} points [{100 * (drift.low or 0):+.1f}, {100 * (drift.high or 0):+.1f}]"
    text = f"{named}: {drift.now:.1%} {KINDS[drift.kind]}, {drift.then:.1%} {expected}, {points}"
    if drift.psi is not None and drift.by_chance is not None:
        size = "large" if drift.psi >= LARGE else "moderate" if drift.psi >= MODERATE else "small"
        text += f"; PSI {drift.psi:.3f}, {size} ({drift.by_chance:.3f} by chance)"
    if drift.band and drift.band_then is not None and drift.band_now is not None:
        of = "good" if drift.kind == "calibration" else "of the people"
        then = "expected" if drift.kind == "calibration" else "then"
        text += f"; most at scores {drift.band}: {drift.band_now:.1%} {of}, {drift.band_then:.1%} {then}"
    p = "p < 0.0001" if drift.p_value < 1e-4 else f"p = {drift.p_value:.4f}"
    return f"{text}; {p}."


def check_text(check: Check) -> str:
    """Say whether a constraint is met by the new people, and by all since the advice."""
    if check.now == check.since == "not identified":
        return f"{check.name} ({check.constraint}): not identified. {check.caveat}"
    now = _judged(check, check.now, check.lowest, check.highest)
    since = _judged(check, check.since, check.since_lowest, check.since_highest)
    text = f"{check.name} ({check.constraint}): this look, {now}; all since the advice, {since}."
    return f"{text} {check.caveat}".strip()


def _judged(check: Check, status: str, lowest: float | None, highest: float | None) -> str:
    if lowest is None or highest is None:
        return status
    if status == BROKEN:
        return f"BROKEN: {check.broken.format(f'at least {lowest:.3f}')}"
    if status == MET:
        return f"met by at least {-highest:.3f}"
    return f"not decided ({-lowest:.3f} met to {highest:.3f} broken)"
