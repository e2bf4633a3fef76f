"""Fold: everything a gate knows, as a fold over the events of its log. Snapshots of it only save time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.constraints.bounds import BROKEN, residual_bounds, verdict
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners.epochs import LONGEST_DELAY
from fairgate.live.events import START, Event, canonical
from fairgate.live.guards import guard
from fairgate.live.played import empirical, same
from fairgate.live.spec import Mode, Spec
from fairgate.live.watch import Watch
from fairgate.policy import Policy
from fairgate.problem import Arrival
from fairgate.settings import Array

MEMORY = 0.95
"""How much of the people who came of late is kept from round to round, for the guard of the floor."""


@dataclass
class ModeSet:
    """Who decides, why, by whose will and since when."""

    mode: Mode
    reason: str
    actor: str
    since: str
    policy: Policy | None = None  # the one that is held, or the operator's own as he states it


@dataclass
class OpenRound:
    """The round that is open: its policy, and people by group, bin and decision."""

    mode: Mode
    policy: Policy | None  # in shadow mode the operator's own as stated, if it is
    proposal: Policy
    at: str
    guards: list[str]
    counts: NDArray[np.int64]  # (G, K + 1, 2), all of them
    told: NDArray[np.int64]  # those that the policy decided: no overrides


@dataclass
class Origin:
    """A closed round whose labels have not all arrived."""

    policy: Policy
    at: str
    people: list[int]  # by group, those the learner was told of
    accepted: list[int]
    told: int  # labels of these that are still to come
    awaited: int  # labels of all that are


class Opening(NamedTuple):
    """What the event that opens a round says of its policy."""

    policy: Policy | None
    proposal: Policy
    guards: list[str]
    waiting: str


@dataclass
class Fold:
    """What the log amounts to so far. `apply` is the one place where events change it."""

    spec: Spec
    seq: int = 0
    head: str = START
    library: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    round: int = 0  # the one that is open, or the next
    open: OpenRound | None = None
    mode: ModeSet = field(init=False)
    force: Policy | None = None  # the policy in force
    force_round: int = 0
    force_at: str = ""
    proposal: Policy | None = None
    waiting: str = ""  # the digest that approves the proposal
    candidate: Policy | None = None  # which then takes effect
    labels: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # since the last close, by round: (G, K + 1, 2)
    aside: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # the same of overridden decisions
    origins: dict[int, Origin] = field(default_factory=dict)
    watches: list[Watch] = field(init=False)
    seen: list[int | None] = field(init=False)  # round in which each group was last seen
    people: int = 0
    arrived: int = 0
    label_at: str | None = None
    paused: bool = False
    closed_at: str = ""
    closed_seq: int = 0  # the event of the last close: labels recorded later have not been learnt from

    def __post_init__(self) -> None:
        groups, start = len(self.spec.groups), self.spec.start
        self.setting = self.spec.setting
        self.learner = self.spec.make_learner()
        self.state = self.learner.start(self.setting, 1, np.random.default_rng(self.spec.seed))
        self.shape = (groups, len(self.setting.thresholds) + 1, 2)
        self.mode = ModeSet(start.mode, "as the gate was made", "", "", self.spec.first)
        self.force = self.spec.first
        self.watches = [Watch.begin(number, 0, groups) for number in (0, 1, 1)]
        self.seen = [None] * groups
        self.recent: Array = np.zeros(self.shape[:2])
        self.planned = False

    # What the next events say.

    def plan(self) -> Opening:
        """Ask the learner for a proposal, guard it, and return what the event that opens the next round says."""
        return self.opening(self.propose())

    def propose(self) -> Policy:
        """Ask the learner for a proposal, which moves its random numbers; the event that opens a round must follow."""
        self.planned = True
        return self.learner.propose(self.state)

    def opening(self, proposal: Policy) -> Opening:
        """Return what the event that opens the next round says for a proposal."""
        mode = self.mode.mode
        if mode in ("shadow", "hold"):
            return Opening(self.mode.policy, proposal, [], "")
        allowed, notes = guard(self.spec, proposal, self.force, self.recent)
        if mode == "learn":
            return Opening(allowed, proposal, notes, "")
        if same(allowed, self.force):
            return Opening(self.force, proposal, notes, "")
        return Opening(self.force, proposal, notes, policy_digest(allowed))

    def guarded(self, proposal: Policy) -> Policy:
        """Return what would be played for a proposal."""
        return guard(self.spec, proposal, self.force, self.recent).policy

    def closing(self) -> dict[str, Any]:
        """Return what the event that closes the open round says the learner is told."""
        now = self._open()
        told = [[origin, *place] for origin, tally in sorted(self.labels.items()) for place in sparse(tally)]
        played = self.played().to_json()
        return {"people": int(now.counts.sum()), "counts": sparse(now.told), "labels": told, "played": played}

    def played(self) -> Policy:
        """Return the policy that the open round was decided by."""
        now = self._open()
        if now.mode != "shadow":
            if now.policy is None:
                raise InputError("the round has no policy")
            return now.policy
        stated = now.policy
        if stated is not None:
            share = stated.accepted_share(self.setting.thresholds)[0]
            people = now.told.sum(axis=2)
            if (now.told[..., 1] == share * people).all():
                return stated
        return empirical(now.told, self.setting.thresholds)

    def pause_due(self, at: str) -> dict[str, Any] | None:
        """Return what the event that pauses the learner says, if a guard asks for it after a round closed."""
        if self.mode.mode not in ("learn", "approve"):
            return None
        limits = self.spec.guards
        plain = plain_policy(self.spec.first)
        if limits.pause_if_broken:
            for constraint, name, status, low in self.judged(self.watches[1]):
                if status == BROKEN:
                    text = f"{constraint} ({name}) is broken by {low:.3g} or more since the mode was set"
                    sure = f"a false alarm has a probability of at most {limits.alpha:g}"
                    return {"why": "broken", "text": f"{text}; {sure}", "policy": plain}
        quiet, awaited = limits.pause_if_quiet_days, self.awaited
        if quiet is not None and awaited:
            first = min(each.at for each in self.origins.values() if each.awaited)
            since = max(first, self.label_at or "", self.mode.since)
            if days_between(since, at) > quiet:
                text = f"no label has arrived for more than {quiet:g} days, and {awaited} are awaited"
                return {"why": "quiet", "text": text, "policy": plain}
        return None

    def judged(self, watch: Watch) -> Iterable[tuple[str, str, str, float]]:
        """Judge each residual on decisions over a stretch: constraint, residual, status, and its lower bound."""
        if not np.any(watch.rates.people):
            return
        known = watch.bounds(self.spec.guards.alpha)
        for constraint in self.setting.problem.constraints:
            bounds = residual_bounds(constraint, known) if constraint.needs == "decisions" else None
            if bounds is not None:
                for name, low, high in zip(constraint.names, *bounds, strict=True):
                    yield constraint.text, name, verdict(float(low), float(high)), float(low)

    @property
    def awaited(self) -> int:
        """Labels still to come, of closed rounds."""
        return sum(each.awaited for each in self.origins.values())

    def _open(self) -> OpenRound:
        if self.open is None:
            raise InputError("no round is open")
        return self.open

    # How events change it.

    def apply(self, event: Event, data: dict[str, Any] | None = None) -> None:
        """Take in the next event; `data` is its body, if it is at hand."""
        if event.seq != self.seq + 1:
            raise InputError(f"event {event.seq} does not follow event {self.seq}")
        apply = getattr(self, "_" + event.kind.replace("-", "_"), None)
        if apply is not None:
            apply(event, event.data if data is None else data)
        self.seq, self.head = event.seq, event.hash

    def _created(self, event: Event, data: dict[str, Any]) -> None:
        self.library, self.versions = data["library"], data["versions"]
        self.mode.actor, self.mode.since = event.actor, event.at
        self.force_at = event.at

    def _version(self, event: Event, data: dict[str, Any]) -> None:
        self.library, self.versions = data["library"], data["versions"]

    def _opened(self, event: Event, data: dict[str, Any]) -> None:
        if not self.planned:
            self.learner.propose(self.state)  # which moves its random numbers
        self.planned = False
        self.proposal = Policy.from_json(data["proposal"])
        policy = None if data["policy"] is None else Policy.from_json(data["policy"])
        self.waiting = data["waiting"]
        self.candidate = self.guarded(self.proposal) if self.waiting else None
        self._enforce(policy, event)
        empty = np.zeros(self.shape, dtype=np.int64)
        mode = self.mode.mode
        self.open = OpenRound(mode, policy, self.proposal, event.at, data["guards"], empty, empty.copy())

    def _decided(self, event: Event, data: dict[str, Any]) -> None:
        now = self._open()
        for group, place, accepted, number in data["tally"]:
            now.counts[group, place, accepted] += number
            now.told[group, place, accepted] += number
            self.seen[group] = self.round
        self.people += data["people"]

    _reported = _decided

    def _overridden(self, event: Event, data: dict[str, Any]) -> None:
        now = self._open()
        place = data["group"], data["bin"]
        now.counts[(*place, data["before"])] -= 1
        now.told[(*place, data["before"])] -= 1
        now.counts[(*place, int(data["accepted"]))] += 1

    def _outcomes(self, event: Event, data: dict[str, Any]) -> None:
        for told, where in ((data["tally"], self.labels), (data["aside"], self.aside)):
            for origin, group, place, label, number in told:
                where.setdefault(origin, np.zeros(self.shape, dtype=np.int64))[group, place, label] += number
                self.arrived += number
        if data["tally"] or data["aside"]:
            self.label_at = event.at

    def _corrected(self, event: Event, data: dict[str, Any]) -> None:
        """Change labels that the learner has not been told yet; what it has learnt stays as it is."""
        for told, where in ((data["tally"], self.labels), (data["aside"], self.aside)):
            for origin, group, place, label, number in told:
                where[origin][group, place, 1 - label] -= number
                where[origin][group, place, label] += number

    def _closed(self, event: Event, data: dict[str, Any]) -> None:
        now, number, played = self._open(), self.round, self.played()
        by_group = now.counts.sum(axis=1)
        told = now.told.sum(axis=1)
        taken, all_taken = int(told[:, 1].sum()), int(by_group[:, 1].sum())
        mine = Origin(played, now.at, told.sum(axis=1).tolist(), told[:, 1].tolist(), taken, all_taken)
        self.origins[number] = mine
        feedback = self.setting.problem.reveal(
            Counts.of_bins(np.stack((now.told, np.zeros_like(now.told)), axis=2)[None]),
            self.learner.level,
            self._arrivals(number, played),
            round_number=number,
        )
        self.learner.observe(self.state, played, feedback)
        self._look(by_group)
        for origin in [*self.labels, *self.aside, number]:
            if origin in self.origins and not self.origins[origin].awaited:
                del self.origins[origin]
        while len(self.origins) > LONGEST_DELAY:
            del self.origins[next(iter(self.origins))]
        self.recent = MEMORY * self.recent + now.counts.sum(axis=2)
        self.labels, self.aside, self.open = {}, {}, None
        self.round += 1
        self.closed_seq, self.closed_at = event.seq, event.at

    def _arrivals(self, number: int, played: Policy) -> list[Arrival]:
        """Return the labels that arrived since the last close, by the round of the people; this one's among them."""
        found = []
        for origin in sorted({number, *self.labels}):
            batch = self.origins.get(origin)
            if batch is None:
                continue  # too long ago to be learnt from
            labels = self.labels.get(origin, np.zeros(self.shape, dtype=np.int64))
            came = int(labels.sum())
            batch.told -= came
            batch.awaited -= came
            people, accepted = (np.array([each]) for each in (batch.people, batch.accepted))
            found.append(Arrival(origin, batch.policy, labels[None], people, accepted, last=batch.told == 0))
        for origin, labels in self.aside.items():
            if origin in self.origins:
                self.origins[origin].awaited -= int(labels.sum())
        return found

    def _look(self, by_group: NDArray[np.int64]) -> None:
        cost = self.spec.false_positive_cost
        for watch in self.watches:
            tallies = [
                tally.sum(axis=(0, 1))
                for kind in (self.labels, self.aside)
                for origin, tally in kind.items()
                if origin >= watch.first
            ]
            watch.look(by_group, sum(tallies, np.zeros(2)), cost)

    def _mode(self, event: Event, data: dict[str, Any]) -> None:
        policy = None if data["policy"] is None else Policy.from_json(data["policy"])
        self.mode = ModeSet(data["mode"], data["reason"], event.actor, event.at, policy)
        self.waiting, self.candidate, self.paused = "", None, event.kind == "paused"
        number = self.watches[1].number + (1 if self.watches[1].rounds else 0)
        self.watches[1] = Watch.begin(number, self.round, len(self.spec.groups))
        if self.mode.mode in ("hold", "shadow"):
            self._enforce(policy, event)

    def _paused(self, event: Event, data: dict[str, Any]) -> None:
        self._mode(event, {"mode": "hold", "reason": data["text"], "policy": data["policy"]})

    def _approved(self, event: Event, data: dict[str, Any]) -> None:
        self._enforce(Policy.from_json(data["policy"]), event)
        self.waiting, self.candidate = "", None

    def _enforce(self, policy: Policy | None, event: Event) -> None:
        """Let a policy take force, if it is another one: a stretch of its own begins."""
        if not same(policy, self.force):
            self.force, self.force_round, self.force_at = policy, self.round, event.at
            number = self.watches[2].number + (1 if self.watches[2].rounds else 0)
            self.watches[2] = Watch.begin(number, self.round, len(self.spec.groups))


def sparse(tally: NDArray[Any]) -> list[list[int]]:
    """Return the counts that are not 0, each after its place."""
    places = np.nonzero(tally)
    return np.column_stack((*places, tally[places])).tolist() if places[0].size else []


def policy_digest(policy: Policy) -> str:
    """Return a short text by which a person names the policy that is approved."""
    return hashlib.sha256(canonical(policy.to_json()).encode()).hexdigest()[:16]


def days_between(since: str, until: str) -> float:
    """Return the days from one time to another."""
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds() / 86400.0


def plain_policy(policy: Policy | None) -> Any:
    """Return a policy as JSON has it, None if there is none."""
    return None if policy is None else policy.to_json()
