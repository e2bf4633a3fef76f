"""Fold: everything a gate knows, as a fold over the events of its log. Snapshots of it only save time."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.constraints.bounds import BROKEN
from fairgate.counts import Counts
from fairgate.errors import InputError, told
from fairgate.learners.epochs import LONGEST_DELAY
from fairgate.live.clock import Clock, days_between
from fairgate.live.detectors import Detectors, Ring
from fairgate.live.events import KINDS, START, Event, canonical
from fairgate.live.guards import guard
from fairgate.live.played import empirical, same
from fairgate.live.spec import Mode, Spec
from fairgate.live.watch import Watch
from fairgate.live.words import policy_name
from fairgate.policy import Policy
from fairgate.problem import Arrival, Feedback
from fairgate.settings import Array

ALLOWED = ("policy", "allowed")
"""Policies that the event which opens a round has, beside the proposal."""

NEARLY = 0.9
"""Share of a round's labels with which its worth is counted; those that are missing are bounded."""

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
    at: str
    guards: list[str]
    counts: NDArray[np.int64]  # (G, K + 1, 2), all of them
    told: NDArray[np.int64]  # those that the policy decided: no overrides


@dataclass
class Origin:
    """A closed round whose labels have not all arrived, or whose worth has not been counted yet."""

    policy: Policy
    at: str
    people: list[int]  # by group, those the learner was told of
    accepted: list[int]
    told: int  # labels of these that are still to come
    awaited: int  # labels of all that are
    everybody: int
    taken: int  # accepted of everybody
    labels: list[int]  # bad and good ones that came

    def come(self, labels: NDArray[np.int64]) -> None:
        """Count labels that came, (G, K + 1, 2)."""
        bad, good = labels.sum(axis=(0, 1)).tolist()
        self.labels = [self.labels[0] + bad, self.labels[1] + good]
        self.awaited -= bad + good


class Opening(NamedTuple):
    """What the event that opens a round says of its policy."""

    policy: Policy | None
    proposal: Policy | None  # of the learner; none if it failed
    allowed: Policy | None  # what the guards leave of it: what is played in the mode learn
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
    successor: str = ""  # the gate that decides instead of this one
    force: Policy | None = None  # the policy in force
    force_round: int = 0
    force_at: str = ""
    last: Policy | None = None  # what was played last, by whomever
    allowed: Policy | None = None  # what would be played in the mode learn
    waiting: str = ""  # the digest that approves it
    failure: str = ""  # why the learner is not asked any more; as the log has it
    error: str = ""  # the same, as it happened
    labels: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # since the last close, by round: (G, K + 1, 2)
    aside: dict[int, NDArray[np.int64]] = field(default_factory=dict)  # the same of overridden decisions
    origins: dict[int, Origin] = field(default_factory=dict)
    watches: list[Watch] = field(init=False)
    detectors: Detectors | None = None  # none in the part of a log that was written before there were any
    clock: Clock | None = None  # none in the part of a log that was written before there was one
    seen: list[int | None] = field(init=False)  # round in which each group was last seen
    people: int = 0
    arrived: int = 0
    counted: int = 0  # the next round whose worth is counted
    corrected: int = 0  # labels corrected after that
    alarmed: dict[str, str] = field(default_factory=dict)  # since when constraints are broken, by stretch and residual
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

    def preview(self) -> Opening:
        """Return the same without asking: what the next round would be opened with."""
        return self.opening(self._proposed(copy.deepcopy(self.state)))

    def propose(self) -> Policy | None:
        """Ask the learner for a proposal, which moves its random numbers; the event that opens a round must follow."""
        self.planned = True
        return self._proposed(self.state)

    def _proposed(self, state: Any) -> Policy | None:
        """Return a proposal; none if the learner fails, which is then no longer asked."""
        if self.failure or self.error:
            return None
        try:
            found: Policy = self.learner.propose(state)
            return found.checked(self.learner, (1, len(self.spec.groups)))
        except Exception as error:
            self.error = told(error)
            return None

    def opening(self, proposal: Policy | None) -> Opening:
        """Return what the event that opens the next round says for a proposal."""
        mode = self.mode.mode
        allowed, notes = None, list[str]()
        if proposal is not None:
            allowed, notes = guard(self.spec, proposal, self.force, self.recent, self.last)
        if mode in ("shadow", "hold"):
            return Opening(self.mode.policy, proposal, allowed, [], "")
        if mode == "learn" or allowed is None or same(allowed, self.force):
            policy = self.force if allowed is None or mode == "approve" else allowed
            return Opening(policy, proposal, allowed, notes, "")
        return Opening(self.force, proposal, allowed, notes, policy_digest(allowed))

    def closing(self) -> dict[str, Any]:
        """Return what the event that closes the open round says the learner is told."""
        now = self._open()
        told = [[origin, *place] for origin, tally in sorted(self.labels.items()) for place in sparse(tally)]
        played = self.played().to_json()
        groups = [[int(each.sum()), int(each[1])] for each in now.counts.sum(axis=1)]
        people = {"people": int(now.counts.sum()), "groups": groups, "counts": sparse(now.told)}
        return {**people, "labels": told, "played": played}

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
        if self.failure:
            text = f"the learner failed ({self.failure}) and is not asked any more: the mode learn begins it afresh"
            return self._pause("learner", text)
        ring = None if self.detectors is None else self.detectors.pausing()
        if ring is not None:
            sure = (
                f"a false alarm has a probability of at most {limits.alpha:g} in {self.spec.rounds_a_year:,.0f} rounds"
            )
            return self._pause("broken" if ring.kind == "constraint" else "changed", f"{ring.text}; {sure}", ring)
        if limits.pause_if_broken:
            watched = [] if self.detectors is None else [each.text for each in self.detectors.watched]
            averaged = [each for each in self.setting.problem.constraints if each.text not in watched]
            for found in self.watches[1].judge(averaged, limits.alpha):
                if found is not None and found.status == BROKEN:
                    text = (
                        f"{found.constraint} ({found.name}) is broken by {found.low:.3g} or more since the mode was set"
                    )
                    sure = f"a false alarm has a probability of at most {limits.alpha:g}"
                    return self._pause("broken", f"{text}; {sure}")
        quiet, awaited = limits.pause_if_quiet_days, self.awaited
        if quiet is not None and awaited and self._quiet_days(at) > quiet:
            text = f"no label has arrived for more than {quiet:g} days, and {awaited} are awaited"
            return self._pause("quiet", text)
        return None

    def _pause(self, why: str, text: str, ring: Ring | None = None) -> dict[str, Any]:
        """Return what the event that pauses the learner says: the policy to hold, and why."""
        middle = self.setting.thresholds[len(self.setting.thresholds) // 2]
        start = self.spec.first or self.force or Policy.shared([middle], len(self.spec.groups))
        if self.detectors is None:
            return {"why": why, "text": text, "policy": start.to_json()}
        found = self.detectors.retreat(ring, start)
        said = f"{text}; {policy_name(found.policy)} is held: {found.text}"
        return {"why": why, "text": said, "policy": found.policy.to_json(), "evidence": found.evidence}

    @property
    def ringing(self) -> dict[str, Ring]:
        """The alarms of the detectors that stand."""
        return {} if self.detectors is None else dict(self.detectors.alarms)

    def _quiet_days(self, at: str) -> float:
        """Return for how long no label has arrived, though some are awaited."""
        if self.clock is not None:
            return self.clock.quiet_days(min(number for number, each in self.origins.items() if each.awaited))
        first = min(each.at for each in self.origins.values() if each.awaited)
        return days_between(max(first, self.label_at or "", self.mode.since), at)

    @property
    def rules(self) -> dict[str, int]:
        """The rules of later versions that the log goes by."""
        return {"clock": 0 if self.clock is None else self.clock.rule, "detection": int(self.detectors is not None)}

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
        if self.clock is not None:
            self.clock.step(event.at)
        apply = getattr(self, "_" + event.kind.replace("-", "_"), None) if event.kind in KINDS else None
        if apply is not None:
            apply(event, event.data if data is None else data)
        self.seq, self.head = event.seq, event.hash

    def _created(self, event: Event, data: dict[str, Any]) -> None:
        self.library, self.versions = data["library"], data["versions"]
        self.detectors = Detectors(self.spec) if data.get("detection") else None
        self.mode.actor, self.mode.since = event.actor, event.at
        self.force_at = event.at
        self._begin_clock(event, data)

    def _version(self, event: Event, data: dict[str, Any]) -> None:
        self.library, self.versions = data["library"], data["versions"]
        if data.get("detection") and self.detectors is None:
            self.detectors = Detectors(self.spec)
        self._begin_clock(event, data)

    def _begin_clock(self, event: Event, data: dict[str, Any]) -> None:
        """Count the time that passes by the rule that an event says; what was until then stays as it was counted."""
        rule, before = int(data.get("clock") or 0), self.clock
        if rule <= (0 if before is None else before.rule):
            return
        quiet, subjects = self.spec.guards.pause_if_quiet_days, self.spec.subjects
        period = None if subjects is None else subjects.days
        clock = Clock.begin(event.at, quiet=quiet, due=self.spec.label_due_days, period=period, rule=rule)
        opened = {number: each.at for number, each in self.origins.items()}
        if self.open is not None:
            opened[self.round] = self.open.at
        if before is None:
            clock.rounds = {n: clock.ago(*[max(days_between(at, event.at), 0.0)] * 2) for n, at in opened.items()}
            clock.told = clock.ago(max(days_between(max(self.label_at or "", self.mode.since), event.at), 0.0), 0.0)
        else:
            clock.rounds = {number: clock.ago(*before.opened_ago(number)) for number in opened}
            clock.told = clock.ago(before.told_days, 0.0)
        self.clock = clock

    def _opened(self, event: Event, data: dict[str, Any]) -> None:
        if not self.planned:
            self.propose()  # which moves the learner's random numbers
        self.planned = False
        policy, self.allowed = (read_policy(data[name]) for name in ALLOWED)
        self.waiting = data["waiting"]
        self._enforce(policy, event)
        empty = np.zeros(self.shape, dtype=np.int64)
        mode = self.mode.mode
        self.open = OpenRound(mode, policy, event.at, data["guards"], empty, empty.copy())
        if self.clock is not None:
            self.clock.open(self.round)
            if "subjects" in data:
                self.clock.begin_period(data["subjects"]["began"])

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
        for tally, where in ((data["tally"], self.labels), (data["aside"], self.aside)):
            for origin, group, place, label, number in tally:
                where.setdefault(origin, np.zeros(self.shape, dtype=np.int64))[group, place, label] += number
                self.arrived += number
        if data["tally"] or data["aside"]:
            self.label_at = event.at
            if self.clock is not None:
                self.clock.tell()

    def _corrected(self, event: Event, data: dict[str, Any]) -> None:
        """Change labels that the learner has not been told yet; what it has learnt stays as it is."""
        for tally, where in ((data["tally"], self.labels), (data["aside"], self.aside)):
            for origin, group, place, label, number in tally:
                where[origin][group, place, 1 - label] -= number
                where[origin][group, place, label] += number
        for origin, _, _, label, number in data["told"]:
            if origin in self.origins and origin >= self.counted:
                self.origins[origin].labels[1 - label] -= number
                self.origins[origin].labels[label] += number
            else:
                self.corrected += number

    def _failed(self, event: Event, data: dict[str, Any]) -> None:
        self.failure = self.error = data["text"]

    def _closed(self, event: Event, data: dict[str, Any]) -> None:
        now, number, played = self._open(), self.round, self.played()
        by_group = now.counts.sum(axis=1)
        told = now.told.sum(axis=1)
        taken, all_taken = int(told[:, 1].sum()), int(by_group[:, 1].sum())
        people, accepted = told.sum(axis=1).tolist(), told[:, 1].tolist()
        everybody = int(by_group.sum())
        mine = Origin(played, now.at, people, accepted, taken, all_taken, everybody, all_taken, [0, 0])
        self.origins[number] = mine
        feedback = self.setting.problem.reveal(
            Counts.of_bins(np.stack((now.told, np.zeros_like(now.told)), axis=2)[None]),
            self.learner.level,
            self._arrivals(number, played),
            round_number=number,
        )
        self._observe(played, feedback)
        for watch in self.watches:
            watch.look(by_group)
        if self.detectors is not None:
            labels = sum(self.labels.values(), np.zeros(self.shape, dtype=np.int64))
            share = None if now.mode == "shadow" else played.accepted_share(self.setting.thresholds)[0]
            self.detectors.look(number, event.at, now.counts, now.told, labels, share)
        seen = {*self.labels, *self.aside, number, *self._count_worth(event.at)}
        for origin in seen & self.origins.keys():
            if not self.origins[origin].awaited and origin < self.counted:
                del self.origins[origin]
        while len(self.origins) > LONGEST_DELAY:
            oldest = next(iter(self.origins))
            self.counted = max(self.counted, oldest + 1)
            del self.origins[oldest]
        if self.clock is not None:
            self.clock.keep(self.origins)
        self._note_alarms(event.at)
        self.last = played
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
            batch.come(labels)
            people, accepted = (np.array([each]) for each in (batch.people, batch.accepted))
            found.append(Arrival(origin, batch.policy, labels[None], people, accepted, last=batch.told == 0))
        for origin, labels in self.aside.items():
            if origin in self.origins:
                self.origins[origin].come(labels)
        return found

    def _observe(self, played: Policy, feedback: Feedback) -> None:
        """Tell the learner of a round; one that fails is not told of others."""
        if self.failure or self.error:
            return
        try:
            self.learner.observe(self.state, played, feedback)
        except Exception as error:
            self.error = told(error)

    def _count_worth(self, at: str) -> list[int]:
        """Count what rounds were worth, in their order, once nearly all of their labels have come or are overdue."""
        cost, due, found = self.spec.false_positive_cost, self.spec.label_due_days, []
        while self.counted <= self.round:
            batch = self.origins.get(self.counted)
            if batch is not None:
                came = sum(batch.labels)
                waited = days_between(batch.at, at) if self.clock is None else self.clock.due_days(self.counted)
                if came < NEARLY * batch.taken and waited <= due:
                    break
                for watch in self.watches:
                    if self.counted >= watch.first:
                        watch.worth.add(batch.everybody, batch.taken, batch.labels[0], batch.labels[1], cost)
            found.append(self.counted)
            self.counted += 1
        return found

    def _note_alarms(self, at: str) -> None:
        """Note since when constraints are broken."""
        constraints, alpha = self.setting.problem.constraints, self.spec.guards.alpha
        broken = [
            f"{place} {found.name}"
            for place, watch in enumerate(self.watches)
            for found in watch.judge(constraints, alpha)
            if found is not None and found.status == BROKEN
        ]
        self.alarmed = {each: self.alarmed.get(each, at) for each in broken}

    def _mode(self, event: Event, data: dict[str, Any]) -> None:
        policy = read_policy(data["policy"])
        self.mode = ModeSet(data["mode"], data["reason"], event.actor, event.at, policy)
        if self.clock is not None:
            self.clock.tell()
        self.successor = data.get("successor", "")
        self.waiting, self.paused = "", event.kind == "paused"
        if self.detectors is not None:
            self.detectors.acknowledge(by_person=event.kind == "mode")
        if self.failure and data["mode"] in ("learn", "approve"):  # it begins afresh
            self.state = self.learner.start(self.setting, 1, np.random.default_rng(self.spec.seed))
            self.failure = self.error = ""
        number = self.watches[1].number + (1 if self.watches[1].rounds else 0)
        self.watches[1] = Watch.begin(number, self.round, len(self.spec.groups))
        if self.mode.mode in ("hold", "shadow"):
            self._enforce(policy, event)

    def _paused(self, event: Event, data: dict[str, Any]) -> None:
        self._mode(event, {"mode": "hold", "reason": data["text"], "policy": data["policy"]})

    def _approved(self, event: Event, data: dict[str, Any]) -> None:
        self._enforce(Policy.from_json(data["policy"]), event)
        self.waiting = ""

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


def read_policy(plain: Any) -> Policy | None:
    """Undo :func:`plain_policy`."""
    return None if plain is None else Policy.from_json(plain)


def plain_policy(policy: Policy | None) -> Any:
    """Return a policy as JSON has it, None if there is none."""
    return None if policy is None else policy.to_json()
