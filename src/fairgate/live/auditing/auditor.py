"""Auditor: goes through a log once, in chunks, and puts the checks together."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from itertools import compress
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.live.auditing.actors import Actors, granted
from fairgate.live.auditing.chain import Chain
from fairgate.live.auditing.chunks import Chunk, Parsed, chunks
from fairgate.live.auditing.labels import TALLIES, check_labels
from fairgate.live.auditing.log import Log
from fairgate.live.auditing.periods import Periods
from fairgate.live.auditing.refold import Refold, fits
from fairgate.live.auditing.removed import Removed
from fairgate.live.auditing.report import MANY, AuditReport, Findings, Stretch, Verdict
from fairgate.live.auditing.room import Room
from fairgate.live.auditing.rows import Round, RowCheck
from fairgate.live.auditing.segments import OWN_RULE, Tallies, stretches
from fairgate.live.auditing.versions import Versions
from fairgate.live.events import START, Event, round_secret
from fairgate.live.fold import Fold
from fairgate.live.spec import Spec, Trust
from fairgate.live.subjects import counted_days
from fairgate.live.words import policy_name
from fairgate.policy import Policy


class Auditor:
    """One audit of one log; `head` and `last` are what the auditor noted of it earlier, `trust` is what it may name."""

    def __init__(self, log: Log, head: str | None = None, last: int | None = None, trust: Trust | None = None) -> None:
        self.log = log
        self.last = last
        self.findings = Findings()
        self.chain = Chain(self.findings, head)
        self.refold = Refold(self.say, self.differs, log.facts.gate, trust or Trust())
        self.spec: Spec | None = None
        self.rows: RowCheck | None = None
        self.tallies: Tallies | None = None
        self.room: Room | None = None
        self.rounds: dict[int, Round] = {}  # those that decisions may still be checked by
        self.commitments: dict[int, Any] = {}  # of the open round
        self.revealed: dict[int, bytes] = {}
        self.closed_before: dict[int, int] = {}  # by event that brings labels, the last close before it
        self.versions = Versions()
        self.actors = Actors()
        self.unrevealed: list[int] = []
        self.removed = Removed(log)
        self.periods = Periods(log)
        self.counted: float | None = None  # days of the period of subjects before the event that is checked
        self.rotations = [event.seq for event in log.events("rotated")]
        self.pruned = self.removed.through
        self.events = self.decisions = self.labels = 0
        self.snapshots = set(log.snapshots())
        self.stale: list[int] = []  # snapshots of another version
        self.keys: dict[str, dict[str, Any]] = {}
        self.unsound: set[Any] = set()  # numbers of events whose columns hold what they must not
        self.homeless: list[tuple[int, str]] = []  # what is said of rows of events that there are not

    def say(self, event: Event, text: str) -> None:
        """Add a finding."""
        self.findings.add(event.seq, str(event.kind), str(event.at), text)

    def run(self) -> AuditReport:
        """Go through the log."""
        begun = time.perf_counter()
        self._look_ahead()
        for chunk in chunks(self.log):
            for parsed in chunk.events:
                self._event(parsed)
            self._rows(chunk)
        self._end()
        return self._report(time.perf_counter() - begun)

    def _look_ahead(self) -> None:
        """Read the secrets of rounds from the events that close them, if that of the gate at that time is not known."""
        if self.log.facts.secret is None or self.rotations:
            for event in self.log.events("closed"):
                try:
                    self.revealed[event.round] = bytes.fromhex(event.data["secret"])
                except (AttributeError, KeyError, TypeError, ValueError):
                    continue  # the event itself is checked later

    # Event by event.

    def _event(self, parsed: Parsed) -> None:
        event = parsed.event
        fits = self.chain.follow(event)
        self.events += 1
        if not parsed.sound:
            self.unsound.add(event.seq)
            self.refold.stop(event)
            return
        if self.events == 1:
            self.spec = self.refold.begin(parsed, fits)
            if self.spec is not None:
                self.rows = RowCheck(self.say, self.spec)
                self.tallies = Tallies(len(self.spec.groups))
                through = math.inf if self.spec.store == "counts" else self.pruned
                self.room = Room(len(self.spec.groups), len(self.spec.setting.thresholds) + 1, through)
        if event.kind in ("outcomes", "corrected"):
            fold = self.refold.fold
            self.closed_before[event.seq] = 0 if fold is None else fold.closed_seq
        self.counted = self._counted(event)
        self.refold.step(parsed)
        try:
            self._note(parsed)
        except Exception as error:  # whatever a changed body brings about
            if self.refold.stopped != event.seq:
                self.say(event, f"its body cannot be read: {type(error).__name__} {error}")
        if event.seq in self.snapshots:
            self._snapshot(event)

    def _counted(self, event: Event) -> float | None:
        """Return the days of the period of subjects that are counted when a round opens."""
        fold = self.refold.fold
        if event.kind != "opened" or fold is None:
            return None
        try:
            return counted_days(fold.clock, event.at)
        except InputError:  # of its time, which is said when it is taken in
            return None

    def _note(self, parsed: Parsed) -> None:
        """Keep what rows are checked by, and count for the bounds."""
        event, data = parsed
        kind, number = event.kind, event.round
        if wrong := self.actors.follow(parsed):
            self.say(event, wrong)
        if kind in ("created", "version"):
            self._made(parsed)
        elif kind == "opened":
            self._opened(parsed)
        elif kind == "rotated":
            self._rotated(parsed)
        elif kind == "closed":
            self._closed(event, data)
        elif kind in ("decided", "reported"):
            self.decisions += data["people"]
            for group, _, accepted, people in data["tally"]:
                self._tally().decide(number, group, accepted, people)
        elif kind == "overridden":
            self._tally().decide(number, data["group"], data["before"], -1)
            self._tally().decide(number, data["group"], data["accepted"], 1)
        elif kind in ("outcomes", "corrected"):
            for name in TALLIES:
                for origin, group, _, label, people in data.get(name, ()):
                    if kind == "corrected":
                        self._tally().label(origin, group, 1 - label, -people)
                    else:
                        self.labels += people
                    self._tally().label(origin, group, label, people)
        elif kind in ("key-added", "key-revoked"):
            self._key(event, data)
        elif kind == "pruned" and (wrong := self.removed.check(parsed, self.spec)):
            self.say(event, wrong)
        self.removed.note(parsed)
        if self.room is not None and (wrong := self.room.follow(parsed)):
            self.say(event, wrong)

    def _tally(self) -> Tallies:
        if self.tallies is None:
            raise ValueError("no spec")
        return self.tallies

    def _made(self, parsed: Parsed) -> None:
        """Note the versions; check the gate's secret against what it was committed to, where both are known."""
        commitment, own = parsed.data.get("commitment"), self._secret(parsed.event)
        if parsed.event.kind == "created" and commitment is not None and own is not None and not fits(commitment, own):
            self.say(parsed.event, "its commitment is not that of the gate's secret: another was put in its place")
        self.versions.follow(parsed)

    def _secret(self, event: Event) -> bytes | None:
        """Return the secret of the gate from an event on, if it is known: a database has the newest alone."""
        return None if self.rotations and event.seq < self.rotations[-1] else self.log.facts.secret

    def _rotated(self, parsed: Parsed) -> None:
        """Check a new secret of the gate."""
        event, own = parsed.event, self._secret(parsed.event)
        if own is not None and not fits(parsed.data["commitment"], own):
            self.say(event, "its commitment is not that of the gate's secret: another was put in its place")
        if wrong := self.periods.rotate(parsed):
            self.say(event, wrong)

    def _opened(self, parsed: Parsed) -> None:
        event, data = parsed
        number, own = event.round, self._secret(event)
        policy = None if data["policy"] is None or data["mode"] == "shadow" else Policy.from_json(data["policy"])
        commitment = self.commitments[number] = data["commitment"]
        if self.tallies is not None:
            self.tallies.open(OWN_RULE if policy is None else policy_name(policy))
        if own is not None:
            secret: bytes | None = round_secret(own, number)
            if not fits(commitment, round_secret(own, number)):
                self.say(event, "its commitment is not that of the secret which the gate's gives for this round")
                secret = None
        else:
            secret = self.revealed.get(number)
            if secret is None:
                self.unrevealed.append(number)
            elif not fits(commitment, secret):
                secret = None  # said of the event that closes it
        if self.spec is not None and (wrong := self.periods.open(parsed, self.spec, own, self.counted)):
            self.say(event, wrong)
        self.rounds[number] = Round(policy, secret, self.periods.key)

    def _closed(self, event: Event, data: dict[str, Any]) -> None:
        secret, commitment = bytes.fromhex(data["secret"]), self.commitments.pop(event.round, None)
        if not fits(commitment, secret):
            self.say(event, "the secret it reveals is not the one that was committed to when the round was opened")

    def differs(self, event: Event, fold: Fold) -> None:
        """Tell a proposal that another version makes differently from one that nothing explains."""
        what = "its proposal is not the one that the learner makes of the events before it"
        if wrong := self.versions.differs(event.round, what):
            self.say(event, wrong)

    def _snapshot(self, event: Event) -> None:
        library, state = self.log.snapshot(event.seq)
        fold = self.refold.fold
        if fold is not None and not self.versions.own:
            self.stale.append(event.seq)
        elif wrong := self.refold.snapshot(library, state):
            self.say(event, wrong)

    def _key(self, event: Event, data: dict[str, Any]) -> None:
        facts = {"seq": event.seq, "kind": event.kind, "at": event.at}
        if event.kind == "key-added":
            self.keys[data["id"]] = {"revoked": None, **data, **facts, "scopes": granted(data)}
        elif data["id"] in self.keys:
            self.keys[data["id"]] |= {**data, **facts}

    # Rows of people.

    def _rows(self, chunk: Chunk) -> None:
        """Check the rows of a chunk of events."""
        sound = [each for each in chunk.events if each.event.seq not in self.unsound]
        by_seq = {each.event.seq: each for each in chunk.events}
        cases, labels = self.log.cases(chunk.first, chunk.last), self.log.labels(chunk.first, chunk.last)
        for fault in self.log.faults:
            self._stray(fault.seq, by_seq, fault.text)
        self.log.faults.clear()
        keeps = self.spec is not None and self.spec.store == "cases"
        people = [each for each in sound if each.event.kind in ("decided", "reported")]
        kept = [each for each in people if keeps and each.event.round > self.pruned]
        seqs = {each.event.seq for each in kept}
        for place in _firsts(cases.seq, seqs):
            event = by_seq.get(int(cases.seq[place]))
            gone = event is not None and event in people and keeps
            text = "and it was pruned" if gone else "and it recorded none"
            self._stray(int(cases.seq[place]), by_seq, f"the application {cases.ids[place]!r} hangs on it, {text}")
        if self.rows is not None:
            self.rows.check(kept, _chosen(cases, seqs), self.rounds)
        brought = [each for each in sound if keeps and each.event.kind in ("outcomes", "corrected")]
        seqs = {each.event.seq for each in brought}
        for place in _firsts(labels.seq, seqs):
            text = f"a label of {labels.ids[place]!r} hangs on it, and it brought none"
            self._stray(int(labels.seq[place]), by_seq, text)
        check_labels(self.say, brought, _chosen(labels, seqs), self.closed_before, self.pruned)
        self.closed_before.clear()
        self._overrides(chunk, sound, by_seq)
        now = max(self.rounds, default=0)
        self.rounds = {number: each for number, each in self.rounds.items() if number == now}

    def _overrides(self, chunk: Chunk, sound: list[Parsed], by_seq: dict[int, Parsed]) -> None:
        stored = defaultdict(list)
        for row in self.log.overrides(chunk.first, chunk.last):
            stored[row.seq].append(row)
        for event, data in sound:
            if event.kind != "overridden":
                continue
            found = stored.pop(event.seq, [])
            if event.round <= self.pruned and not found:
                continue
            names = ("id", "accepted", "reason", "round", "group", "bin", "before")
            told = tuple(event.round if name == "round" else data.get(name) for name in names)
            there = [(row.id, row.accepted, row.reason, row.round, row.group, row.bin, row.decided) for row in found]
            if there != [told]:
                self.say(event, f"it overrides {told!r}, and {there!r} is stored")
        for seq, rows in stored.items():
            self._stray(seq, by_seq, f"the override of {rows[0].id!r} hangs on it, and it made none")

    def _stray(self, seq: int, by_seq: dict[int, Parsed], text: str) -> None:
        """Say something of rows of an event; of one that there is not, it is said after the hole in the log is."""
        if seq in by_seq:
            self.say(by_seq[seq].event, text)
        elif len(self.homeless) < MANY:
            self.homeless.append((seq, f"{text}; there is no such event"))

    # The end.

    def _end(self) -> None:
        facts, chain = self.log.facts, self.chain
        if chain.last != facts.last:
            what = f"the log ends at event {chain.last}, and the gate's last event is {facts.last}"
            self.findings.add(min(chain.last, facts.last) + 1, "", "", what)
        elif chain.head != facts.head:
            self.findings.add(
                chain.last, "", "", f"its hash is {chain.head[:12]}…, and the gate's is {facts.head[:12]}…"
            )
        if chain.noted_at is None:
            text = f"no event has the hash {str(chain.noted)[:12]}… that was noted"
            self.findings.add(self.last or chain.last + 1, "", "", f"{text}: events were removed or changed since")
        elif self.last is not None and chain.noted not in (None, START) and chain.noted_at != self.last:
            text = f"the hash that was noted of event {self.last} is that of event {chain.noted_at}"
            self.findings.add(min(self.last, chain.noted_at), "", "", text)
        if self.last is not None and chain.last < self.last:
            text = f"the log ends at event {chain.last}, and event {self.last} was noted"
            self.findings.add(chain.last + 1, "", "", f"{text}: events were removed since")
        for seq, text in self.homeless:
            self.findings.add(seq, "", "", text)
        for fault in self.log.beyond():
            self.findings.add(fault.seq, "", "", fault.text)
        for seq in sorted(self.snapshots):
            if seq > chain.last or seq < 1:
                self.findings.add(seq, "", "", "a state is stored after it, and there is no such event")
        if facts.secret is not None and (wrong := self.periods.pseudonyms(facts.subject_key)):
            self.findings.add(chain.last, "", "", wrong, late=True)
        self._check_keys()

    def _check_keys(self) -> None:
        """Compare the keys as they are with what the log says of them."""
        for row in self.log.keys() or ():
            told = self.keys.pop(row.id, None)
            if told is None:
                text = f"the key {row.id} ({row.name}) is stored, and no event added it"
                self.findings.add(self.chain.last, "", "", text, late=True)
                continue
            there = row._asdict() | {"scopes": granted({**told, "scopes": str(row.scopes).split(",")})}
            for name in [name for name in there if name in told and there[name] != told[name]]:
                text = f"the key {row.id} has {name} {there[name]!r} stored, and the log says {told[name]!r}"
                self.findings.add(told["seq"], told["kind"], told["at"], text, late=True)
        if self.log.keys() is not None:
            for name, told in self.keys.items():
                self.findings.add(told["seq"], told["kind"], told["at"], f"the key {name} is not stored", late=True)

    def _report(self, seconds: float) -> AuditReport:
        facts, found = self.log.facts, self.findings.found
        bounds, hidden, alpha = list[Stretch](), 0, 0.05
        if self.spec is not None and self.tallies is not None:
            alpha = self.spec.guards.alpha
            bounds, hidden = stretches(self.tallies, self.spec, alpha)
        changes = self.versions.changes
        verdict: Verdict = "findings" if found else "versions" if changes else "clean"
        return AuditReport(
            clean=verdict == "clean",
            verdict=verdict,
            gate=facts.gate,
            source=self.log.name,
            last=self.chain.last,
            head=self.chain.head,
            events=self.events,
            rounds=0 if self.tallies is None else len(self.tallies.policies),
            decisions=self.decisions,
            labels=self.labels,
            first=found[0] if found else None,
            findings=list(found),
            count=self.findings.count,
            versions=changes,
            unchecked=self._unchecked(),
            remarks=[*self.actors.remarks, *self.refold.remarks],
            pruned=None if self.pruned < 0 else self.pruned,
            alpha=alpha,
            hidden=hidden,
            stretches=bounds,
            seconds=seconds,
        )

    def _unchecked(self) -> list[str]:
        said = []
        if self.spec is not None and self.spec.store == "counts":
            said.append("The gate keeps counts only: there are no applications to check draws and decisions by.")
        if self.pruned >= 0:
            said.append(
                f"The rows of rounds 0 to {self.pruned} were pruned: their draws and decisions can no longer be "
                "checked; their hashes, tallies and policies were."
            )
        if self.unrevealed and (self.spec is None or self.spec.store == "cases"):
            numbers = ", ".join(map(str, self.unrevealed))
            said.append(
                f"Draws of round {numbers} cannot be checked yet: its secret is revealed when it closes (an audit of "
                "the database has it)."
            )
        if self.periods.waiting is not None:
            said.append(
                f"Draws of subjects from round {self.periods.waiting} on cannot be checked yet: their key is revealed "
                "when their period ends (an audit of the database has it)."
            )
        if self.rotations and self.log.facts.secret is not None:
            said.append(
                f"The gate got a new secret at event {self.rotations[-1]}: the secret of each round before was checked "
                "against the commitment of that round only."
            )
        if self.log.facts.secret is None and (self.spec is None or self.spec.store == "cases"):
            said.append(
                "The gate's secret is not in the file: the secret of each round was checked against the commitment of "
                "that round only (an audit of the database checks it against the gate's)."
            )
        if self.tallies is not None and not self.tallies.sound:
            said.append("Bounds are not told, as the tallies do not fit each other.")
        if self.refold.stopped is not None:
            said.append(f"Policies after event {self.refold.stopped} could not be recomputed.")
        if self.stale:
            said.append("The stored state is of another version of the library, and was not compared.")
        return said


def _firsts(seqs: Any, known: set[int]) -> list[int]:
    """Return the place of the first row of each event that is not known."""
    found, first = np.unique(seqs, return_index=True)
    return [place for seq, place in zip(found.tolist(), first.tolist(), strict=True) if seq not in known]


def _chosen(rows: Any, seqs: set[int]) -> Any:
    """Return the rows of these events."""
    kept = np.isin(rows.seq, np.array(sorted(seqs), dtype=np.int64))
    if kept.all():
        return rows
    texts = kept.tolist()
    return type(rows)(*(list(compress(each, texts)) if isinstance(each, list) else each[kept] for each in rows))
