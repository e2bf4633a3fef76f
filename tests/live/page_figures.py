"""Figures made by hand for the tests of the page: everything at once, with words to stumble over; and nothing yet."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

from fairgate.live.replies import (
    AgeBand,
    Alarm,
    CaseFacts,
    Component,
    ConstraintFigures,
    Figure,
    Figures,
    GroupFigures,
    Labels,
    LogEvent,
    ModeNow,
    PolicyNow,
    RoundFigures,
    Scope,
    Status,
)
from fairgate.live.spec import Mode, Spec

NASTY = "<script>window.hurt = 1</script>"
QUOTED = "\"quoted' & <b>bold</b> {{ 7 * 7 }}"
LONG = "applicants-from-a-region-with-a-very-long-name-that-does-not-break-anywhere"
GROUPS = [NASTY, QUOTED, LONG]
AT = "2026-11-16T05:39:12.250000+00:00"
BEGAN = datetime.fromisoformat("2026-07-19T05:39:12+00:00")

SPEC = Spec.model_validate(
    {
        "name": "credit",
        "groups": GROUPS,
        "grid": [round(0.1 * step, 10) for step in range(1, 10)],
        "constraints": {"parity": 0.05, "service": [0.3, 0.8]},
        "start": {"mode": "hold", "threshold": 0.5},
        "guards": {"lowest": 0.2, "highest": 0.8, "step": 0.1},
    }
)

NOTHING = Figure(value=None, low=None, high=None)


def known(value: float, width: float = 0.03) -> Figure:
    return Figure(value=value, low=value - width, high=value + width)


def policy(*components: tuple[float, float | str], text: str = "accept from 0.5") -> PolicyNow:
    parts = [
        Component.model_validate({"weight": weight, "thresholds": dict.fromkeys(GROUPS, threshold)})
        for weight, threshold in components
    ]
    return PolicyNow(text=text, components=parts, since_round=41, since=AT)


LOTTERY = policy((0.25, 0.4), (0.7, 0.5), (0.05, "inf"), text=f"a lottery of three thresholds {NASTY}")


def scope(name: str, rounds: int, people: int, gap: Figure) -> Scope:
    groups = [
        GroupFigures(name=GROUPS[0], people=people, accepted=people // 2, acceptance=known(0.512), last_round=119),
        GroupFigures(
            name=GROUPS[1], people=people // 3, accepted=people // 9, acceptance=known(0.333, 0.05), last_round=119
        ),
        GroupFigures(name=GROUPS[2], people=0, accepted=0, acceptance=NOTHING, last_round=None),
    ]
    constraints = [
        ConstraintFigures(
            constraint="parity=0.05", name="gap", about="gap between groups", status="broken", residual=known(0.129),
            text=f"the gap is at least 0.049 too large {NASTY}",
        ),
        ConstraintFigures(
            constraint="service=0.3:0.8", name="low", about="share accepted", status="met", residual=known(-0.12),
            text="at least 30% of people are accepted",
        ),
        ConstraintFigures(
            constraint="opportunity=0.1", name="opportunity", about="gap of those with good labels",
            status="not identified", residual=NOTHING, text="labels of the rejected are not known",
        ),
    ]  # fmt: skip
    return Scope(
        name=name, rounds=rounds, people=people + people // 3, acceptance=known(0.4678, 0.02), groups=groups, gap=gap,
        reward=Figure(value=-0.0123, low=-0.0804, high=0.0551), reward_rounds=rounds // 2, constraints=constraints,
    )  # fmt: skip


def round_figures(number: int) -> RoundFigures:
    mode: Mode = "shadow" if number < 20 else "hold" if number < 60 else "learn"
    threshold = round(0.5 + 0.2 * math.sin(number / 12), 1)
    guards = [f"the step of 0.3 was cut to 0.1 {NASTY}"] if number % 37 == 5 else []
    return RoundFigures(
        round=number, at=(BEGAN + timedelta(days=number)).isoformat(), mode=mode, people=200 + number,
        thresholds=[None] * 3 if mode == "shadow" else [0.5] * 3 if mode == "hold" else [threshold] * 3,
        lottery=80 <= number < 100, proposed=[threshold] * 3,
        would=[0.45, 0.42, None],
        acceptance=[0.5 + 0.1 * math.sin(number / 3), 0.4 + 0.05 * math.cos(number), None],
        outcomes=[0.8 if number < 90 else 0.0, 0.7 + 0.1 * math.cos(number / 5), None], guards=guards,
    )  # fmt: skip


def rich(mode: str = "hold", waiting: str = "") -> Figures:
    """Everything at once: a lottery, a broken constraint, a pause, a group that is missing, names to stumble over."""
    reason = f"a guard paused learning {NASTY} {QUOTED}"
    return Figures(
        status=Status(
            gate="credit", library="0.1.0", seq=54_321, head="ab" * 32, round=120, open=True, people=34,
            mode=ModeNow.model_validate({"mode": mode, "reason": reason, "actor": f"key:{NASTY}", "since": AT}),
            policy=None if mode == "shadow" else LOTTERY, proposal=policy((1.0, 0.6), text="accept from 0.6"),
            waiting=waiting,
        ),
        alpha=0.05,
        scopes=[scope("all rounds", 120, 36_000, known(0.179)), scope("in force", 79, 900, known(0.179, 0.13))],
        labels=Labels(
            arrived=8_123, awaited=4_567, late=321, due_days=30.0, last=AT, corrected=3,
            ages=[
                AgeBand(about="up to 7 days ago", awaited=1_990),
                AgeBand(about="8 to 30 days ago", awaited=2_256),
                AgeBand(about="more than 30 days ago", awaited=321),
            ],
        ),
        missing=[LONG],
        alarms=[
            Alarm(kind="constraint", text=f"parity=0.05 is broken: the gap is 0.049 too large {NASTY}", since=AT),
            Alarm(kind="missing", text=f"nobody of {LONG} came in the last 20 rounds", since=None),
        ],
        history=[round_figures(number) for number in range(120)],
    )  # fmt: skip


def empty() -> Figures:
    """A gate that nobody has asked anything yet."""
    groups = [GroupFigures(name=name, people=0, accepted=0, acceptance=NOTHING, last_round=None) for name in GROUPS]
    nothing = {
        "rounds": 0,
        "people": 0,
        "acceptance": NOTHING,
        "gap": NOTHING,
        "reward": NOTHING,
        "reward_rounds": 0,
        "constraints": [],
    }
    return Figures(
        status=Status(
            gate="credit", library="0.1.0", seq=1, head="ab" * 32, round=0, open=False, people=0,
            mode=ModeNow(mode="hold", reason="", actor="python", since=AT), policy=policy((1.0, 0.5)), proposal=None,
            waiting="",
        ),
        alpha=0.05,
        scopes=[Scope.model_validate({"name": name, "groups": groups, **nothing}) for name in ("all", "in force")],
        labels=Labels(arrived=0, awaited=0, late=0, due_days=30.0, ages=[], last=None, corrected=0),
        missing=[], alarms=[], history=[],
    )  # fmt: skip


BODIES: list[tuple[str, dict[str, Any]]] = [
    ("created", {"library": "0.1.0"}),
    ("decided", {"people": 200, "tally": [[0, 1, 1, 83], [0, 0, 0, 117]]}),
    ("outcomes", {"tally": [[3, 0, 1, 1, 40], [3, 0, 1, 0, 2]]}),
    ("overridden", {"id": f"a/1?{QUOTED}", "accepted": True, "reason": f"appeal {NASTY}"}),
    ("mode", {"mode": "hold", "before": "learn", "reason": f"{NASTY}"}),
    ("key-added", {"id": "k1", "name": NASTY, "scopes": ["read"]}),
    ("closed", {"people": 200, "why": "people"}),
]

EVENTS = [
    LogEvent(
        seq=seq, kind=kind, round=119, at=AT, actor=f"key:{NASTY}", key=None, request=None, hash="cd" * 32, body=body
    )
    for seq, (kind, body) in enumerate(BODIES, start=54_315)
]

CASE = CaseFacts(
    id=f"a/1?{QUOTED}", seq=54_316, place=3, round=118, at=AT, mode="learn", group=NASTY, score=0.4321,
    bin="0.4 to 0.5", policy=LOTTERY, proposal=policy((1.0, 0.6), text="accept from 0.6"), by_lottery=True,
    draw=0.7312345, threshold=0.5, accepted=False, decided_by=f"a person {NASTY}", override=None, label=None,
    label_at=None, text=f"The score 0.4321 is below the threshold 0.5 that was drawn. {NASTY}",
)  # fmt: skip
