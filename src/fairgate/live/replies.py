"""Replies: what a gate answers, the same in Python, over HTTP and on the page."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from fairgate.live.spec import Mode

Threshold = float | Literal["-inf", "inf"]
"""A threshold; "-inf" accepts everybody and "inf" nobody."""


class Reply(BaseModel):
    """Base of all replies."""

    model_config = ConfigDict(frozen=True)


class Decision(Reply):
    """The decision on one application. `repeated`: it had been decided before, and this is that decision."""

    id: str
    accepted: bool
    round: int
    repeated: bool = False


class Decisions(Reply):
    """The decisions on a batch, in its order; `repeated` of them had been made before."""

    accepted: list[bool]
    rounds: list[int]
    repeated: int = 0


class Recorded(Reply):
    """What was recorded: so many new entries, in the event `seq` (0 if all had been recorded before)."""

    seq: int
    new: int
    repeated: int = 0


class Closed(Reply):
    """A closed round."""

    round: int
    seq: int
    people: int


class Rotated(Reply):
    """The gate has a new secret from `round` on: the event that says so, and the SHA-256 that commits to it."""

    seq: int
    round: int
    commitment: str


class Component(Reply):
    """A threshold per group, used with a weight."""

    weight: float
    thresholds: dict[str, Threshold]


class PolicyNow(Reply):
    """A policy in words and numbers; one component unless it is a lottery."""

    text: str
    components: list[Component]
    since_round: int
    since: str


class ModeNow(Reply):
    """The mode, why, by whom and since when."""

    mode: Mode
    reason: str
    actor: str
    since: str


class WatchNow(Reply):
    """A rate that is watched for a change: the strength of the evidence, and that at which an alarm rings."""

    kind: str  # constraint, outcomes, acceptance or scores
    name: str  # of the residual, or of the group
    state: str  # quiet, alarm, baseline (too few came yet to compare with) or not watched
    strength: float  # logarithm of the evidence, below 0 if there is none
    limit: float
    since: int | None  # round from which on the evidence counts: the estimated round of a change
    text: str


class Status(Reply):
    """What is in force now."""

    gate: str
    library: str
    seq: int  # of the last event
    head: str  # and its hash
    round: int  # the one that is open, or the next
    open: bool
    people: int  # in the open round so far
    mode: ModeNow
    policy: PolicyNow | None  # what the next applicant gets; none in shadow mode, where the operator's rule decides
    proposal: PolicyNow | None  # what would be played in the mode learn; in the mode approve it waits for a person
    waiting: str  # the digest that approves the proposal, in the mode approve; empty if nothing waits
    watches: list[WatchNow] = []  # what guards watch for a change; a gate made before they did has none


class Figure(Reply):
    """A figure with its anytime-valid bounds; None if nothing is known."""

    value: float | None
    low: float | None
    high: float | None


class GroupFigures(Reply):
    """A group: people, accepted, acceptance, and the last round it was seen in (None: never)."""

    name: str
    people: int
    accepted: int
    acceptance: Figure
    last_round: int | None


class ConstraintFigures(Reply):
    """A residual of a constraint; its bounds are those of the residual, at most 0 if met."""

    constraint: str  # as it is written, parity=0.05
    name: str
    about: str
    status: str  # broken, met, undecided, not identified, not judged
    residual: Figure
    text: str  # one sentence


class Scope(Reply):
    """Figures of a stretch of rounds: all of them, or those under the policy in force."""

    name: str
    rounds: int
    people: int
    acceptance: Figure
    groups: list[GroupFigures]
    gap: Figure
    reward: Figure  # per applicant
    reward_rounds: int  # rounds that it is from: the first ones, of which nearly all labels have come
    constraints: list[ConstraintFigures]


class Labels(Reply):
    """Labels of accepted people: arrived, awaited, late (awaited for longer than they are due), by age."""

    arrived: int
    awaited: int
    late: int
    due_days: float
    ages: list[AgeBand]
    last: str | None  # when the last label came
    corrected: int  # labels that were corrected after they had been counted in the reward


class AgeBand(Reply):
    """Labels awaited of people accepted so many days ago."""

    about: str
    awaited: int


class RoundFigures(Reply):
    """One closed round, for the drawing of thresholds and rates over time."""

    round: int
    at: str
    mode: Mode
    people: int
    thresholds: list[float | None]  # by group; the mean of a lottery's finite ones, None if there is none
    lottery: bool
    proposed: list[float | None]  # what would have been played in the mode learn
    acceptance: list[float | None]  # by group
    would: list[float | None]  # what that would have accepted
    outcomes: list[float | None]  # by group, good ones of the labels that arrived until the round closed
    guards: list[str]


class Alarm(Reply):
    """Something an operator should know, and since when, if that is known."""

    kind: str
    text: str
    since: str | None


class Figures(Reply):
    """Everything the page shows."""

    status: Status
    alpha: float
    scopes: list[Scope]
    labels: Labels
    missing: list[str]  # groups nobody of which came lately
    alarms: list[Alarm]
    history: list[RoundFigures]  # the last rounds, or every so many of all, oldest first


class CaseFacts(Reply):
    """Why an application was accepted or rejected: the facts that a notice needs."""

    id: str
    seq: int  # of the event
    place: int  # in its request
    round: int
    at: str
    mode: Mode
    group: str
    score: float
    bin: str  # the range of scores of its bin
    policy: PolicyNow | None  # none in shadow mode
    proposal: PolicyNow | None  # what would have been played in the mode learn
    by_lottery: bool  # whether another lottery number would have led to another decision
    draw: float | None  # the lottery number, if the policy was a lottery
    threshold: Threshold | None  # the threshold that applied
    accepted: bool
    decided_by: str  # the policy, the operator's own rule, or a person
    override: str | None  # the reason of a person who overrode it
    label: int | None
    label_at: str | None
    text: str  # in sentences


class LogEvent(Reply):
    """An event of the log."""

    seq: int
    kind: str
    round: int
    at: str
    actor: str
    key: str | None
    request: str | None
    hash: str
    body: dict[str, Any]


Labels.model_rebuild()
