"""A plain, slow model of a gate: everything in lists in memory, counted again whenever a round closes.

It follows what the calls promise, case by case, with a loop of its own around the learner, and shares no code with the
gate but the learner, the policy of decisions made elsewhere, and the draw of an application.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.live.events import draws_of
from fairgate.live.failures import ConflictError, MissingError
from fairgate.live.played import empirical
from fairgate.live.spec import Spec
from fairgate.policy import Policy
from fairgate.problem import Arrival

Plain = dict[str, Any]


@dataclass
class Case:
    """An application."""

    round: int
    group: int
    score: float
    bin: int
    accepted: bool
    override: bool | None = None
    label: int | None = None
    told: bool = False  # the learner has been told of the label

    @property
    def final(self) -> bool:
        """Whether it was accepted in the end."""
        return self.accepted if self.override is None else self.override


@dataclass
class Round:
    """A round."""

    mode: str
    policy: Policy | None
    proposal: Policy
    opened: float
    played: Policy | None = None


@dataclass
class Model:
    """What a gate should do. A call returns what the reply should have, or raises what it should."""

    spec: Spec
    secret: bytes
    now: float = 0.0  # seconds
    cases: dict[str, Case] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    is_open: bool = False
    keys: dict[str, tuple[Any, Plain]] = field(default_factory=dict)
    waiting: Policy | None = None

    def __post_init__(self) -> None:
        self.learner = self.spec.make_learner()
        self.setting = self.spec.setting
        self.state = self.learner.start(self.setting, 1, np.random.default_rng(self.spec.seed))
        self.mode: str = self.spec.start.mode
        self.held = self.spec.first
        self.force = self.spec.first

    # What is looked at

    @property
    def round(self) -> int:
        """The number of the round that is open, or of the next."""
        return len(self.rounds) - self.is_open

    def of_round(self, number: int) -> dict[str, Case]:
        """The applications of a round."""
        return {name: case for name, case in self.cases.items() if case.round == number}

    def learnt(self) -> Any:
        """The learner's state as a file has it."""
        return json.loads(json.dumps(self.learner.save(self.state)))

    # Calls

    def decide(
        self, ids: list[str], groups: list[str], scores: list[float], key: str | None, single: bool = False
    ) -> Plain:
        """Decide on applications; those known before keep theirs. One by itself is another request than a list."""
        self._check_people(ids, groups, scores)
        asked = ("decide", single, ids, groups, scores)
        if first := self._replied(key, asked, when=bool(ids)):
            return first
        known = [name in self.cases for name in ids]
        self._check_same(ids, groups, scores)
        if not all(known):
            if self.mode == "shadow":
                raise ConflictError
            self._ensure_open()
            policy = self.rounds[-1].policy
            if policy is None:
                raise InputError
            for name, group, score in zip(ids, groups, scores, strict=True):
                if name not in self.cases:
                    code = self.spec.groups.index(group)
                    self.cases[name] = self._case(code, score, self._drawn(policy, name, code, score))
        rows = [self.cases[name] for name in ids]
        reply = {"accepted": [row.final for row in rows], "rounds": [row.round for row in rows]}
        self._close_if_full()
        return self._remember(key, asked, {**reply, "repeated": sum(known)}, when=bool(ids))

    def report(
        self, ids: list[str], groups: list[str], scores: list[float], accepted: list[bool], key: str | None
    ) -> Plain:
        """Record decisions made elsewhere."""
        self._check_people(ids, groups, scores)
        asked = ("report", ids, groups, scores, accepted)
        if first := self._replied(key, asked):
            return first
        self._check_same(ids, groups, scores)
        for name, yes in zip(ids, accepted, strict=True):
            if name in self.cases and self.cases[name].final != yes:
                raise ConflictError
        fresh = [place for place, name in enumerate(ids) if name not in self.cases]
        if fresh and self.mode != "shadow":
            raise ConflictError
        if fresh:
            self._ensure_open()
            for place in fresh:
                code = self.spec.groups.index(groups[place])
                self.cases[ids[place]] = self._case(code, scores[place], accepted[place])
            self._close_if_full()
        return self._remember(key, asked, {"new": len(fresh), "repeated": len(ids) - len(fresh)})

    def outcomes(self, ids: list[str], labels: list[int], key: str | None) -> Plain:
        """Record labels."""
        self._check_different(ids)
        if first := self._replied(key, ("outcomes", ids, labels)):
            return first
        self._check_known(ids)
        for name, label in zip(ids, labels, strict=True):
            case = self.cases[name]
            if not case.final:
                raise InputError
            if case.label not in (None, label):
                raise ConflictError
        fresh = [name for name in ids if self.cases[name].label is None]
        for name, label in zip(ids, labels, strict=True):
            self.cases[name].label = label
        reply = {"new": len(fresh), "repeated": len(ids) - len(fresh)}
        return self._remember(key, ("outcomes", ids, labels), reply)

    def correct(self, ids: list[str], labels: list[int], reason: str, key: str | None) -> Plain:
        """Correct labels: the learner hears of it only if it has not been told yet."""
        self._check_different(ids)
        if not reason.strip():
            raise InputError
        if first := self._replied(key, ("correct", ids, labels, reason)):
            return first
        self._check_known(ids)
        if any(self.cases[name].label is None for name in ids):
            raise MissingError
        changed = 0
        for name, label in zip(ids, labels, strict=True):
            changed += self.cases[name].label != label
            self.cases[name].label = label  # of no effect on the learner if it has been told the old one
        reply = {"new": changed, "repeated": len(ids) - changed}
        return self._remember(key, ("correct", ids, labels, reason), reply)

    def override(self, name: str, accepted: bool, reason: str, key: str | None) -> Plain:
        """Decide otherwise on an application of the open round."""
        if not reason.strip():
            raise InputError
        if first := self._replied(key, ("override", name, accepted, reason)):
            return first
        self._check_known([name])
        case = self.cases[name]
        if case.override is not None:
            if case.override != accepted:
                raise ConflictError
            reply = {"accepted": accepted, "round": case.round, "repeated": True}
            return self._remember(key, ("override", name, accepted, reason), reply)
        closed = not self.is_open or case.round != self.round
        if closed or self.rounds[-1].mode == "shadow" or case.label is not None or case.accepted == accepted:
            raise ConflictError
        case.override = accepted
        reply = {"accepted": accepted, "round": case.round, "repeated": False}
        return self._remember(key, ("override", name, accepted, reason), reply)

    def close(self, number: int | None, key: str | None) -> Plain:
        """Close a round; one that is closed stays so, and one that nobody came to is closed as well."""
        reply = self._replied(key, ("close", number))
        if reply:
            return reply
        wanted = self.round if number is None else number
        if 0 <= wanted < self.round:
            return self._remember(key, ("close", number), {"round": wanted, "people": len(self.of_round(wanted))})
        if wanted != self.round:
            raise ConflictError
        if not self.is_open:
            self._ensure_open()
        self._close()
        return self._remember(key, ("close", number), {"round": wanted, "people": len(self.of_round(wanted))})

    def set_mode(self, mode: str, reason: str, threshold: float | None, key: str | None) -> Plain:
        """Change who decides; the open round ends."""
        if not reason.strip() or (threshold is not None and mode not in ("hold", "shadow")):
            raise InputError
        if threshold is not None and threshold not in self.spec.grid:
            raise InputError
        if first := self._replied(key, ("mode", mode, reason, threshold)):
            return first
        policy = None if threshold is None else self.spec.fixed(threshold)
        if mode == "hold" and policy is None:
            lottery = self.force is not None and len(self.force.weights) > 1
            policy = (self.spec.first or self.force) if lottery else (self.force or self.spec.first)
            if policy is None:
                raise InputError
        if mode == "approve" and self.force is None:
            raise InputError
        if self.is_open:
            self._close()
        self.mode, self.held, self.waiting = mode, policy, None
        if mode in ("hold", "shadow"):
            self.force = policy
        return self._remember(key, ("mode", mode, reason, threshold), {"round": self.round, "open": False})

    def approve(self, right: bool, reason: str) -> None:
        """Let the proposal take effect that waits."""
        if not reason.strip():
            raise InputError
        if self.waiting is None or not right:
            raise ConflictError
        policy = self.waiting
        if self.is_open:
            self._close()
        self.force, self.waiting = policy, None

    def tick(self) -> None:
        """Close the round if its time is over."""
        self._close_if_over()

    # Rules

    def _check_people(self, ids: list[str], groups: list[str], scores: list[float]) -> None:
        self._check_different(ids)
        if not len(ids) == len(groups) == len(scores) or not set(groups) <= set(self.spec.groups):
            raise InputError
        if not np.isfinite(scores).all():
            raise InputError

    def _check_different(self, ids: list[str]) -> None:
        if len(set(ids)) < len(ids) or "" in ids:
            raise InputError

    def _check_known(self, ids: list[str]) -> None:
        if not set(ids) <= set(self.cases):
            raise MissingError

    def _check_same(self, ids: list[str], groups: list[str], scores: list[float]) -> None:
        for name, group, score in zip(ids, groups, scores, strict=True):
            case = self.cases.get(name)
            if case is not None and (self.spec.groups[case.group], case.score) != (group, score):
                raise ConflictError

    def _replied(self, key: str | None, asked: Any, when: bool = True) -> Plain | None:
        if key is None or key not in self.keys or not when:
            return None
        before, reply = self.keys[key]
        if before != asked:
            raise ConflictError
        return reply

    def _remember(self, key: str | None, asked: Any, reply: Plain, when: bool = True) -> Plain:
        """A key is taken once its request has a reply that is no refusal."""
        if key is not None and when:
            self.keys[key] = (asked, reply)
        return reply

    def _case(self, group: int, score: float, accepted: bool) -> Case:
        place = sum(score >= edge for edge in self.setting.thresholds)
        return Case(self.round, group, score + 0.0, int(place), bool(accepted))

    def _drawn(self, policy: Policy, name: str, group: int, score: float) -> bool:
        secret = hmac.digest(self.secret, f"round/{self.round}".encode(), "sha256")
        left = float(draws_of(secret, [name])[0])
        for thresholds, weight in zip(policy.thresholds[:-1, 0], policy.weights[:-1, 0], strict=True):
            if left < weight:
                return bool(score >= thresholds[group])
            left -= float(weight)
        return bool(score >= policy.thresholds[-1, 0, group])

    def commitment(self) -> str:
        """Hash of the secret of the round that is open, or the next."""
        return hashlib.sha256(hmac.digest(self.secret, f"round/{self.round}".encode(), "sha256")).hexdigest()

    def _ensure_open(self) -> None:
        self._close_if_over()
        if self.is_open:
            return
        proposal = self.learner.propose(self.state)
        played = millionths(proposal)
        if self.mode == "learn":
            policy: Policy | None = played
        elif self.mode == "approve":
            policy = self.force
            self.waiting = None if same(played, self.force) else played
        else:
            policy = self.held
        self.force = policy
        self.rounds.append(Round(self.mode, policy, proposal, self.now))
        self.is_open = True

    def _close_if_full(self) -> None:
        most = self.spec.rounds.people
        if self.is_open and most is not None and len(self.of_round(self.round)) >= most:
            self._close()

    def _close_if_over(self) -> None:
        seconds = self.spec.rounds.seconds
        if self.is_open and seconds is not None and self.now - self.rounds[-1].opened >= seconds:
            self._close()

    def _close(self) -> None:
        """Tell the learner: of those decided by the policy, and of labels that came since the last close."""
        number = self.round
        shape = (len(self.spec.groups), len(self.setting.thresholds) + 1)
        told = [case for case in self.cases.values() if case.override is None]
        cells = np.zeros((*shape, 2, 2), dtype=np.int64)
        for case in told:
            if case.round == number:
                cells[case.group, case.bin, 0, int(case.accepted)] += 1
        played = self._played(cells[:, :, 0])
        self.rounds[number].played = played
        fresh = [case for case in told if case.label is not None and not case.told]
        arrivals = [self._arrival(origin, told, fresh) for origin in sorted({number, *(case.round for case in fresh)})]
        counts = Counts.of_bins(cells[None])
        feedback = self.setting.problem.reveal(counts, self.learner.level, arrivals, round_number=number)
        self.learner.observe(self.state, played, feedback)
        for case in fresh:
            case.told = True
        self.is_open = False

    def _arrival(self, origin: int, told: list[Case], fresh: list[Case]) -> Arrival:
        groups, bins = len(self.spec.groups), len(self.setting.thresholds) + 1
        labels = np.zeros((1, groups, bins, 2), dtype=np.int64)
        for case in fresh:
            if case.round == origin and case.label is not None:
                labels[0, case.group, case.bin, case.label] += 1
        batch = [case for case in told if case.round == origin]
        people, accepted = (np.zeros((1, groups), dtype=np.int64) for _ in range(2))
        for case in batch:
            people[0, case.group] += 1
            accepted[0, case.group] += case.accepted
        last = all(case.label is not None for case in batch if case.accepted)
        played = self.rounds[origin].played
        if played is None:
            raise ValueError(f"round {origin} has not been closed")
        return Arrival(origin, played, labels, people, accepted, last)

    def _played(self, decided: NDArray[np.int64]) -> Policy:
        """The policy of the round; in shadow mode the stated one if everybody was decided by it."""
        now = self.rounds[-1]
        if now.mode != "shadow":
            if now.policy is None:
                raise ValueError("a round without a policy")
            return now.policy
        if now.policy is not None:
            mine = self.of_round(self.round).values()
            if all(case.accepted == (case.score >= now.policy.single[0, case.group]) for case in mine):
                return now.policy
        return empirical(decided, self.setting.thresholds)


def millionths(policy: Policy) -> Policy:
    """Return a policy whose weights are whole millionths, what is left over going to the heaviest."""
    parts = [round(float(weight) * 1e6) for weight in policy.weights[:, 0]]
    parts[parts.index(max(parts))] += 1_000_000 - sum(parts)
    kept = [place for place, part in enumerate(parts) if part]
    return Policy(policy.thresholds[kept], np.array([[parts[place] / 1e6] for place in kept]))


def same(one: Policy, other: Policy | None) -> bool:
    """Whether two policies are the same."""
    return other is not None and one.to_json() == other.to_json()
