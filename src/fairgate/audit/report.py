"""Report: what an audit found, as plain data for ``audit.json`` and in sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from fairgate.amounts import times
from fairgate.audit.alarms import BROKEN, MET, UNDECIDED, Alarm
from fairgate.audit.audit import Audit
from fairgate.audit.exact import OneLook, least_told
from fairgate.audit.sequences import Sequences, Track
from fairgate.audit.value import EITHER, ENOUGH, Value
from fairgate.estimates import Estimate
from fairgate.store import plain, write_text

FORMAT = 1
"""Version of ``audit.json``."""

ONE_LOOK = (
    "One look at a complete table: a test of each requirement, and exact bounds of rates. They suppose that nobody has "
    "looked at part of these decisions before."
)
"""How decisions are judged that are looked at once."""

SEVERAL_LOOKS = "{} looks: bounds that hold at all of them, of the average of all decisions so far."
"""How decisions are judged that are looked at again and again."""

ALIKE = (
    "A constraint between groups is broken if it is so by averages over each group's own people and by averages with "
    "the same weights of looks in both groups. So no change in the mix of groups is taken for a gap. --pooled compares "
    "averages over each group's own people alone."
)
POOLED = "Groups are compared by averages over each group's own people, whatever the mix of groups at each look."
"""Which averages are compared."""


def write(audit: Audit, folder: Path) -> dict[str, Any]:
    """Write ``audit.json`` and ``audit.html``, each whole or not at all, and return what the first holds."""
    from fairgate.audit.page import render

    found = document(audit)
    write_text(folder / "audit.html", render(audit, found))
    write_text(folder / "audit.json", json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return found


def document(audit: Audit) -> dict[str, Any]:
    """Return everything as plain data; docs/audit.md says what each part means."""
    made = audit.decisions
    found = {
        "format": FORMAT,
        "fairgate": metadata.version("fairgate"),
        "table": {
            "source": audit.source,
            "columns": made.columns,
            "rows": made.total,
            "people": made.people,
            "dropped": made.dropped,
            "groups": list(made.groups),
            "good": made.good,
        },
        "settings": {
            "alpha": audit.alpha,
            "constraints": [each.text for each in audit.constraints],
            "cost": audit.cost,
            "benefit": audit.benefit,
            "pooled": audit.pooled,
            "currency": audit.currency,
        },
        "looks": {"by": made.by, "names": list(made.looks)},
        "summary": summary(audit),
        "alarms": [
            asdict(each)
            | {
                "rang": None if each.rang is None else made.looks[each.rang],
                "met": None if each.met is None else made.looks[each.met],
                "text": alarm_text(audit, each),
            }
            for each in audit.alarms
        ],
        "overall": describe_sequences(audit, audit.overall),
        "segments": [
            asdict(segment) | describe_sequences(audit, each)
            for segment, each in zip(made.segments, audit.segments, strict=False)
        ],
        "value": None if audit.value is None else describe_value(audit, audit.value),
    }
    written: dict[str, Any] = plain(found)
    return written


def describe_sequences(audit: Audit, found: Sequences) -> dict[str, Any]:
    """Return figures and bounds at every look."""
    made = audit.decisions
    groups = {
        name: {
            "called": made.called(name),
            "people": found.people[:, place].tolist(),
            **_track(Track(found.rates.value[:, place], found.rates.low[:, place], found.rates.high[:, place])),
        }
        for place, name in enumerate(made.groups)
    }
    return {
        "name": found.name,
        "level": found.level,
        "people": int(found.people[-1].sum()),
        "looks": [made.looks[look] for look in found.looks],
        "acceptance": _track(found.overall),
        "groups": groups,
        "gap": None if found.gap is None else _track(found.gap),
        "ratio": None if found.ratio is None else _track(found.ratio),
    }


def _track(track: Track) -> dict[str, Any]:
    return {name: getattr(track, name).tolist() for name in ("value", "low", "high")}


def describe_value(audit: Audit, value: Value) -> dict[str, Any]:
    """Return what other thresholds would have earned."""

    def known(estimate: Estimate | None) -> dict[str, float] | None:
        return None if estimate is None else estimate.known()

    return {
        "made": value.made.known(),
        "smallest_propensity": value.smallest,
        "lottery": value.lottery,
        "unlabelled": value.unlabelled,
        "notes": value_notes(audit, value),
        "thresholds": [
            asdict(each)
            | {
                "rates": dict(zip(audit.decisions.groups, each.rates, strict=True)),
                "ips": known(each.ips),
                "doubly_robust": known(each.doubly_robust),
                "gain": known(each.gain),
                "identified": each.ips is not None,
            }
            for each in value.thresholds
        ],
    }


def summary(audit: Audit) -> list[str]:
    """Say in a few sentences what was looked at, what rang, and with what certainty."""
    made, sizes = audit.decisions, audit.overall.people[-1]
    groups = ", ".join(f"{made.called(name)}: {size}" for name, size in zip(made.groups, sizes.tolist(), strict=True))
    if audit.once:
        when = "looked at once, all together"
    elif made.by == "rows":
        when = f"in the order of {made.columns['order']}, looked at {times(len(made.looks))}"
    else:
        when = f"from {made.looks[0]} to {made.looks[-1]}, looked at after every {made.by}"
    lines = [f"{made.people} decisions ({groups}), {when}."]
    if made.dropped:
        lines.append("Rows left out: " + ", ".join(f"{count} {reason}" for reason, count in made.dropped.items()) + ".")
    lines += made.notes
    if audit.segments:
        turns = "; policies took turns, so each is one segment" if made.turns else ""
        lines.append(f"{len(audit.segments)} segments of one policy each{turns}.")
    rang = audit.rang
    if not audit.alarms:
        lines.append("No constraint was asked for, so there is no alarm.")
    elif rang:
        first = min(rang, key=lambda each: (each.rang, each.scope))
        which = f", first that of {first.constraint} for {first.scope}, {_at(audit, first.rang)}"
        lines.append(f"{len(rang)} of {len(audit.alarms)} alarms rang{'' if audit.once else which}.")
    else:
        lines.append("No alarm rang." if len(audit.alarms) == 1 else f"None of {len(audit.alarms)} alarms rang.")
    if audit.alarms:
        split = (
            f" Of the {audit.alpha:.1%}, half is for all decisions together, and segment k has its part 1/(k (k + 1)) "
            "of the other half."
            if audit.segments
            else ""
        )
        lines.append(
            f"With probability at least {1.0 - audit.alpha:.1%} none rings without cause, over all constraints"
            f"{', groups and segments' if audit.segments else ' and groups'}"
            f"{'' if audit.once else ', however often one looks'}.{split}"
        )
        lines.append(ONE_LOOK if audit.once else SEVERAL_LOOKS.format(len(made.looks)))
    if any(each.compares_groups for each in audit.constraints) and not audit.once:
        lines.append(POOLED if audit.pooled else ALIKE)
    return lines


def alarm_text(audit: Audit, alarm: Alarm) -> str:
    """Say what is known of a constraint, in a sentence."""
    return alarm_sentence(alarm, lambda look: _at(audit, look))


def alarm_sentence(alarm: Alarm, at: Callable[[int | None], str]) -> str:
    """Say the same of any sequence of looks; `at` says when a look was, by its number."""
    lowest = 0.0 if alarm.lowest is None else alarm.lowest
    highest = 0.0 if alarm.highest is None else alarm.highest
    if alarm.test is not None:
        text = _tested(alarm, alarm.test)
    elif alarm.mixed:
        broken = alarm.broken.format(f"at least {_amount(lowest)}")
        before = "" if alarm.rang is None else f"; the alarm rang {at(alarm.rang)}, on the average up to then"
        text = (
            f"Not yet decided: on average {broken}, but not with the same weights of looks in both groups, because the "
            f"mix of groups changed as rates did{before}."
        )
    elif alarm.status == BROKEN:
        broken = alarm.broken.format(f"at least {_amount(lowest)}")
        if alarm.ratio is not None:
            broken = f"the lowest acceptance rate of a group is at most {alarm.ratio.high:.3f} of the highest"
            broken += f", where {alarm.ratio.asked:g} is asked for"
        text = f"{_capital(broken)}; the alarm rang {at(alarm.rang)}."
    elif alarm.status == MET:
        since = "" if alarm.rang is None else f" now; the alarm rang {at(alarm.rang)}, on the average up to then"
        margin = f"by at least {_amount(-highest)}"
        if alarm.ratio is not None:
            margin = f"with a ratio of at least {alarm.ratio.low:.3f} where {alarm.ratio.asked:g} is asked for"
        text = f"Met, {margin}{since}; first sure {at(alarm.met)}."
    elif alarm.status == UNDECIDED:
        before = "" if alarm.rang is None else f" now; the alarm rang {at(alarm.rang)}, on the average up to then"
        room = f"by up to {_amount(-lowest)} met, or by up to {_amount(highest)} broken"
        if alarm.ratio is not None:
            ends = f"{alarm.ratio.low:.3f} to {alarm.ratio.high:.3f}"
            room = f"the ratio may be anything from {ends}, and {alarm.ratio.asked:g} is asked for"
        text = f"Not yet decided: {room}{before}."
    else:
        earlier = "" if alarm.rang is None else f" now; the alarm rang {at(alarm.rang)}, on the average up to then"
        text = f"{alarm.status.capitalize()}{earlier}."
    return f"{text} {alarm.caveat}".strip()


def _tested(alarm: Alarm, test: OneLook) -> str:
    """Say what one look tells."""
    ratio, value = alarm.ratio, alarm.value
    if ratio is not None and ratio.value is not None:
        known = (
            f"the lowest acceptance rate of a group is {ratio.value:.3f} of the highest, {ratio.asked:g} is asked for"
        )
        known = {BROKEN: "Too low: ", MET: "Met: "}.get(test.status, "Not decided: ") + known
    elif value is None:
        known = {BROKEN: "Broken", MET: "Met"}.get(test.status, "Not decided")
    elif test.status == BROKEN:
        known = _capital(alarm.broken.format(_amount(value)))
    elif test.status == MET:
        known = f"Met, by {_amount(value)}"
    else:
        seems = f"met by {_amount(value)}" if value <= 0.0 else alarm.broken.format(_amount(value))
        known = f"Not decided: by the estimate, {seems}"
    how = "exact test" if test.exact else "test by bounds of each rate"
    if test.status == UNDECIDED:
        found = f"{_p_value(test.broken, test.level)} for broken and {_p_value(test.met, test.level)} for met"
    else:
        found = _p_value(test.broken if test.status == BROKEN else test.met, test.level)
    return f"{known}. One look, {how}: {found}, at the level {test.level:.2g}."


def _p_value(value: float, level: float) -> str:
    least = least_told(level)
    return f"p < {least:.1g}" if value <= least else f"p = {value:.2g}"


def value_notes(audit: Audit, value: Value) -> list[str]:
    """Say what the values rest on, and where nothing is known."""
    made = audit.decisions
    lines = [
        f"Per person, with {1.0 - audit.alpha:.0%} intervals for one look at all rows, each on its own. "
        f"Acceptance was by lottery for {value.lottery} of {made.people} people, the smallest probability above 0 is "
        f"{value.smallest:.3g}. The decisions made earned {value.made}."
    ]
    if value.misfit:
        lines.append(value.misfit)
    if value.unlabelled:
        lines.append(
            f"{value.unlabelled} accepted people have no label; those of similar score in the same group, accepted "
            "like them by lottery or for sure, are supposed to stand for them."
        )
    if value.blank:
        lines.append(
            f"For {value.blank} of them there are too few: what they earned is bounded by all bad, or all good, and no "
            "gain is told."
        )
    dark = [each for each in value.thresholds if each.dark is not None]
    if dark:
        most = max((each.dark for each in dark if each.dark is not None), key=lambda each: each.people)
        lines.append(
            f"Not identified for {len(dark)} of {len(value.thresholds)} thresholds: nobody like the {most.people} "
            f"people with {made.columns['score']} from {most.low:g} to {most.high:g} whom they accept could have been "
            "accepted, or too few of their outcomes are known. Their value is bounded by all of these turning out bad, "
            "or good."
        )
    few = [each.few for each in value.thresholds if each.few is not None]
    if few:
        lines.append(
            f"For {len(few)} of {len(value.thresholds)} thresholds the lottery has too few outcomes above them for an "
            f"interval ({min(few)} to {max(few)} of equal weight; {ENOUGH} are needed, and {EITHER} of either label). "
            "Their value is bounded by all people whom it may have accepted turning out bad, or good."
        )
    return lines


def _at(audit: Audit, look: int | None) -> str:
    if look is None:
        return "never"
    name = audit.decisions.looks[look]
    return f"after {name} rows" if audit.decisions.by == "rows" else f"in {name}"


def _amount(value: float) -> str:
    return f"{abs(value):.4f}" if abs(value) < 0.01 else f"{abs(value):.3f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
