"""Words of the page: what modes mean, what to do about an alarm, what an event of the log says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairgate.live.page.shown import write
from fairgate.live.replies import LogEvent
from fairgate.live.spec import Mode, Spec

MODES: Mapping[Mode, str] = {
    "learn": "The learner decides, within the guards.",
    "hold": "A fixed policy decides. The learner learns from what is played, and changes nothing.",
    "shadow": "The operator's own rule decides. The learner learns from what is reported, and changes nothing.",
    "approve": "The policy stays as it is until a person approves what the learner proposes.",
}
"""Who decides in each mode."""

BADGES = {
    "broken": ("fails", "broken"),
    "met": ("holds", "met"),
    "undecided": ("direction", "not yet decided"),
}
"""Style and words of a constraint's status; others have their own words."""

ADVICE = {
    "learner": "Hold a threshold until it is known why; the log has the round in which it failed.",
    "paused": "Read the log up to the pause, then set a mode below; nothing resumes by itself.",
    "constraint": "Hold a threshold at which the constraint was met, and find out what has changed.",
    "infeasible": "Decide which constraint gives way; a gate of other limits is made under another name.",
    "labels": "Ask for them. One that never comes is not counted as bad, but teaches nothing.",
    "missing": "Check that applications of the group still reach the gate, and under the same name.",
    "waiting": "Read the proposal below; approve it, or leave the policy as it is.",
}
"""What to do about each kind of alarm."""

LOTTERY = "A lottery decided this: another application with the same score could have been accepted."
"""What is said of a rejection by lottery; the sentences of the case say what a notice needs."""

KINDS = {
    "created": "gate made",
    "opened": "round opened",
    "decided": "decisions",
    "reported": "decisions reported",
    "overridden": "decision overridden",
    "outcomes": "outcomes",
    "corrected": "outcomes corrected",
    "closed": "round closed",
    "mode": "mode changed",
    "approved": "proposal approved",
    "paused": "paused by a guard",
    "failed": "learner failed",
    "version": "another version",
    "key-added": "key added",
    "key-revoked": "key revoked",
    "pruned": "rows pruned",
    "rotated": "secret changed",
}
"""What each kind of event is called."""

CLOSED = {
    "people": "enough people had come",
    "time": "its time was over",
    "call": "it was told to",
    "mode": "the mode changed",
    "secret": "the gate got a new secret",
}
"""Why a round closed."""


def told(event: LogEvent) -> str:
    """Say in a few words what an event holds."""
    body = event.body
    match event.kind:
        case "decided" | "reported":
            accepted = sum(each[3] for each in body.get("tally", ()) if each[2])
            return f"{counted(body.get('people', 0), 'application')}, {accepted} accepted"
        case "overridden":
            return f"{'accepted' if body.get('accepted') else 'rejected'}: {body.get('reason', '')}"
        case "outcomes":
            tally = body.get("tally", ())
            good = sum(each[4] for each in tally if each[3])
            return f"{counted(sum(each[4] for each in tally), 'label')}, {good} good"
        case "mode":
            return f"{body.get('before', '')} → {body.get('mode', '')}: {body.get('reason', '')}"
        case "closed":
            why = CLOSED.get(body.get("why", ""), body.get("why", ""))
            return f"{counted(body.get('people', 0), 'application')}; {why}"
        case "opened":
            return " ".join([f"mode {body.get('mode', '')}", *(f"– {each}" for each in body.get("guards", ()))])
        case "paused" | "failed":
            return str(body.get("text", ""))
        case "corrected" | "approved" | "rotated":
            return str(body.get("reason", ""))
        case "key-added":
            return f"{body.get('name', '')} ({body.get('id', '')}): {', '.join(body.get('scopes', ()))}"
        case "key-revoked":
            return str(body.get("id", ""))
        case "version" | "created":
            return f"fairgate {body.get('library', '')}"
        case "pruned":
            rows = f"{counted(body.get('cases', 0), 'case')}, {counted(body.get('outcomes', 0), 'outcome')}"
            return f"up to round {body.get('through', '')}: {rows}"
    return ""


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "label"), counted(1200, "label")
    ('1 label', '1,200 labels')
    """
    return f"{number:,} {chosen(number, noun, f'{noun}s')}"


def chosen(number: float, one: str, many: str) -> str:
    """Return the words for one thing, or those for several.

    >>> chosen(1, "person", "people"), chosen(0, "person", "people")
    ('person', 'people')
    """
    return one if number == 1 else many


def empty_text(spec: Spec) -> str:
    """Say what is held if no threshold is given.

    >>> plain = {"name": "credit", "groups": ["a", "b"], "grid": [0.25, 0.5]}
    >>> empty_text(Spec(**plain, start={"threshold": 0.5}))
    'Empty: hold the policy in force; if that is a lottery, or there is none, the starting threshold, 0.5.'
    >>> empty_text(Spec(**plain, start={"mode": "shadow"}, guards={"pause_if_broken": False}))
    'Empty: hold the policy in force, a lottery too.'
    """
    if spec.first is None:
        return "Empty: hold the policy in force, a lottery too."
    start = spec.first.thresholds[0, 0].tolist()
    values = start[:1] if len(set(start)) == 1 else start
    named = ", ".join(write(each, "threshold") for each in values)
    return f"Empty: hold the policy in force; if that is a lottery, or there is none, the starting threshold, {named}."


def case_of(event: LogEvent) -> str | None:
    """Return the application an event is about, if it is about a single one that it names."""
    found: Any = event.body.get("id") if event.kind == "overridden" else None
    return None if found is None else str(found)
