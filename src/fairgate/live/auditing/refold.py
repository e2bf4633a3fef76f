"""Refold: the log gone through once more from its first event, and what each event should have said.

What depends on the learner alone, its proposal, may differ between versions of the library or of numpy; all else that
an event says follows from the events before it, and from the proposal as it is logged.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any

from fairgate.errors import InputError
from fairgate.importing import NotAllowedError
from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.rows import Say
from fairgate.live.clock import is_over
from fairgate.live.events import Event
from fairgate.live.fold import Fold, plain_policy, read_policy
from fairgate.live.past import MissingTableError
from fairgate.live.played import rounded, same
from fairgate.live.saving import save
from fairgate.live.spec import DIGITS, Spec, Trust, load_built_in
from fairgate.policy import Policy
from fairgate.reading import parse_json

NEAR = 1e-6
"""By how much the weights of a policy may differ when they are recomputed."""

FIGURE = 2e-3
"""By how much a figure in a sentence may: it is printed with three digits."""

Differs = Callable[[Event, Fold], None]
"""Told of a round whose proposal differs from the recomputed one."""


class Refold:
    """Follows events with a fold of its own, from nothing, and says which of them does not follow from the others."""

    def __init__(self, say: Say, differs: Differs, gate: str, trust: Trust) -> None:
        self.say = say
        self.differs = differs
        self.gate = gate
        self.trust = trust
        self.fold: Fold | None = None
        self.remarks: list[str] = []
        self.stopped: int | None = None  # the event from which on nothing could be recomputed
        self._due: dict[str, Any] | None = None  # what a pause that must come next says

    def begin(self, parsed: Parsed, fits: bool) -> Spec | None:
        """Read the first event; return the spec it holds.

        A learner that is not known is bad input, and so is code that the auditor has not allowed.
        """
        event, data = parsed
        if event.kind != "created":
            self.say(event, f"the first event must be 'created', found {event.kind!r}")
        try:
            spec = Spec.stored(data.get("spec"), *self.trust)
            self.fold = Fold(spec)
        except (MissingTableError, NotAllowedError) as error:
            if fits:
                raise
            self.say(event, f"its spec cannot be used: {error}")
            return None
        except Exception as error:  # whatever a changed spec brings about
            own = data["spec"].get("learner") if isinstance(data.get("spec"), dict) else None
            if fits and isinstance(own, str) and not _loads(own):
                raise InputError(
                    f"this version does not know the learner {own!r} of this gate: audit with that which made the gate"
                ) from None
            self.say(event, f"its spec cannot be used: {_first_line(error)}")
            return None
        if spec.name != self.gate:
            self.say(event, f"its spec is that of the gate {spec.name!r}, and the gate is called {self.gate!r}")
        return spec

    def step(self, parsed: Parsed) -> None:
        """Check what the next event says, and take it in."""
        fold, event, data = self.fold, *parsed
        if fold is None:
            return
        try:
            wrong = self._order(fold, event) or self._expected(fold, event, data)
            if wrong:
                self.say(event, wrong)
            fold.apply(event, data)
            self._due = fold.pause_due(event.at) if event.kind in ("closed", "failed") else None
        except Exception as error:  # whatever a changed body brings about
            self.say(event, f"it cannot follow the events before it: {_first_line(error)}")
            self.stop(event)

    def stop(self, event: Event) -> None:
        """Give up recomputing, at an event that cannot be followed."""
        if self.fold is not None:
            self.fold, self.stopped = None, event.seq

    def _order(self, fold: Fold, event: Event) -> str:
        """Say what is wrong with the place of an event among the others."""
        kind, now = event.kind, fold.open
        if event.round != fold.round:
            return f"it has the round {event.round}, and the round is {fold.round}"
        if kind != "failed" and (self._due is not None) != (kind == "paused"):
            return "a guard had to pause the learner before it" if kind != "paused" else "no guard asked for a pause"
        if kind in ("decided", "reported", "overridden", "closed") and now is None:
            return "no round is open"
        if kind in ("opened", "mode", "approved", "rotated") and now is not None:
            return f"round {fold.round} is still open"
        if kind in ("decided", "reported") and (fold.mode.mode == "shadow") != (kind == "reported"):
            return f"it does not belong to the mode {fold.mode.mode!r}"
        if kind in ("decided", "reported") and fold.successor:
            return f"the gate had handed over to the gate {fold.successor!r}"
        most = fold.spec.rounds.people
        if kind != "closed" and now is not None and most is not None and now.counts.sum() >= most:
            return f"round {fold.round} had to close before it, after {most} people"
        return "it is a second first event" if kind == "created" and event.seq > 1 else ""

    def _expected(self, fold: Fold, event: Event, data: dict[str, Any]) -> str:
        """Say what an event says otherwise than the events before it make it."""
        if event.kind == "opened":
            return self._opened(fold, event, data)
        if event.kind == "closed":
            return _closed(fold, event, data)
        if event.kind == "approved":
            if data["waiting"] != fold.waiting or not same(Policy.from_json(data["policy"]), fold.allowed):
                return "it approves another policy than the one that waited"
        elif event.kind == "paused" and self._due is not None:
            if not _alike(data, self._due):
                return f"it says {_brief(data)}, and the guards say {_brief(self._due)}"
        elif event.kind == "failed":
            if not fold.error and fold.propose() is not None:
                self.remarks.append(
                    f"The learner is said to have failed at event {event.seq}, and does not when it is recomputed: the "
                    "service's own log of that time tells why."
                )
        elif event.kind == "mode":
            return _mode(fold, data)
        elif event.kind in ("outcomes", "corrected"):
            return _labels(fold, data)
        return ""

    def _opened(self, fold: Fold, event: Event, data: dict[str, Any]) -> str:
        proposal = read_policy(data["proposal"])
        made = fold.propose()
        if not near(*(None if each is None else rounded(each, DIGITS) for each in (proposal, made))):
            self.differs(event, fold)
        should = fold.opening(proposal)
        if data["mode"] != fold.mode.mode:
            return f"it says the mode is {data['mode']!r}, and it is {fold.mode.mode!r}"
        policy = read_policy(data["policy"])
        since = fold.force_round if same(should.policy, fold.force) else fold.round
        if data["since"] != since:
            return f"it says that its policy is in force since round {data['since']}, and recomputed it is {since}"
        if not near(read_policy(data["allowed"]), should.allowed):
            guarded = _brief(plain_policy(should.allowed))
            return f"it allows {_brief(data['allowed'])}, and recomputed the guards allow {guarded}"
        if not near(policy, should.policy):
            return f"its policy is {_brief(data['policy'])}, and recomputed it is {_brief(plain_policy(should.policy))}"
        if data["waiting"] != should.waiting:
            return f"it lets the proposal {data['waiting']!r} wait, and recomputed it is {should.waiting!r}"
        if not _alike(data["guards"], should.guards):
            return f"it says of the guards {_brief(data['guards'])}, and recomputed {_brief(should.guards)}"
        return ""

    def snapshot(self, library: str, state: str) -> str:
        """Say how a stored state differs from the recomputed one."""
        if self.fold is None:
            return ""
        if library != self.fold.library:
            return f"the state stored after it is of fairgate {library}, and the log is then of {self.fold.library}"
        try:
            stored = parse_json(state)
        except (TypeError, ValueError):
            return "the state stored after it cannot be read"
        place = _difference(stored, json.loads(json.dumps(save(self.fold))))
        return f"the state stored after it is not the recomputed one: {place} differs" if place else ""


def _loads(learner: str) -> bool:
    try:
        load_built_in(learner)
    except InputError:
        return False
    return True


PARTS = (("people", "people"), ("groups", "people by group"), ("counts", "people told"), ("labels", "labels told"))
"""What the event that closes a round counts, and how it is called."""


def _closed(fold: Fold, event: Event, data: dict[str, Any]) -> str:
    should = fold.closing()
    for name, about in PARTS:
        if data[name] != should[name]:
            return f"its {about} are {_brief(data[name])}, and recomputed {_brief(should[name])}"
    if not near(Policy.from_json(data["played"]), Policy.from_json(should["played"])):
        return f"the policy played is {_brief(data['played'])}, and recomputed {_brief(should['played'])}"
    now, rounds = fold.open, fold.spec.rounds
    if now is None:
        return ""
    full = rounds.people is not None and now.counts.sum() >= rounds.people
    over = rounds.seconds is not None and is_over(now.at, event.at, rounds.seconds)
    if data["why"] not in ("people", "time", "call", "mode", "secret") or (data["why"], False) in (
        ("people", full),
        ("time", over),
    ):
        return f"it closes the round because of {data['why']!r}, which is not so"
    return ""


def _mode(fold: Fold, data: dict[str, Any]) -> str:
    if data["before"] != fold.mode.mode:
        return f"it changes the mode {data['before']!r}, and the mode is {fold.mode.mode!r}"
    if data["policy"] is not None:
        if data["mode"] not in ("hold", "shadow"):
            return f"it gives a policy to the mode {data['mode']!r}"
        shape = (1, len(fold.spec.groups))
        Policy.from_json(data["policy"]).checked("the mode", shape, fold.setting.thresholds)
    return ""


def _labels(fold: Fold, data: dict[str, Any]) -> str:
    groups, bins, _ = fold.shape
    last = fold.round if fold.open is not None else fold.round - 1
    for origin, group, place, label, people in [*data["tally"], *data["aside"]]:
        if not (0 <= origin <= last and 0 <= group < groups and 0 <= place < bins and label in (0, 1) and people > 0):
            return f"it counts {people} labels {label} of group {group} in bin {place} of round {origin}"
    return ""


def near(one: Policy | None, other: Policy | None) -> bool:
    """Whether two policies have the same thresholds, and the same weights but for rounding."""
    if one is None or other is None:
        return one is other
    if one.thresholds.shape != other.thresholds.shape:
        return False
    return bool((one.thresholds == other.thresholds).all() and (abs(one.weights - other.weights) <= NEAR * 1.5).all())


def fits(commitment: object, secret: bytes) -> bool:
    """Whether a round's secret is the one that was committed to."""
    return hashlib.sha256(secret).hexdigest() == commitment


NUMBERS = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def _alike(one: Any, other: Any) -> bool:
    """Whether plain data are the same, but for the last digit of numbers in sentences."""
    if isinstance(one, str) and isinstance(other, str) and one != other:
        figures = [[float(each) for each in NUMBERS.findall(text)] for text in (one, other)]
        same_words = NUMBERS.sub("#", one) == NUMBERS.sub("#", other)
        return same_words and all(abs(a - b) <= FIGURE for a, b in zip(*figures, strict=True))
    return _difference(one, other, alike=True) == ""


def _difference(one: Any, other: Any, place: str = "", *, alike: bool = False) -> str:
    """Return where plain data differ by more than rounding; nothing if nowhere."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return place or "its parts"
        pairs: Any = ((f"{place}.{key}".lstrip("."), one[key], other[key]) for key in one)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return place or "its length"
        pairs = ((f"{place}[{key}]", *each) for key, each in enumerate(zip(one, other, strict=True)))
    elif isinstance(one, float) and isinstance(other, float):
        equal = math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR) or (math.isnan(one) and math.isnan(other))
        return "" if equal else place or "a number"
    elif alike and isinstance(one, str) and isinstance(other, str):
        return "" if one == other or _alike(one, other) else place or "a text"
    else:
        return "" if type(one) is type(other) and one == other else place or "a value"
    return next((found for where, a, b in pairs if (found := _difference(a, b, where, alike=alike))), "")


def _brief(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:157]}…"


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else ""
    return text if isinstance(error, InputError) else f"{type(error).__name__} {text}".strip()
