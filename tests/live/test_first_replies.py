"""Same caller, same key, same body: the first reply, on every route that takes an Idempotency-Key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.database import reading, writing
from fairgate.live.events import START, Event, make_event
from fairgate.live.failures import ConflictError
from fairgate.live.keys import Retry, check_key, create_key, list_keys, revoke_key
from fairgate.live.prune import prune
from fairgate.live.retries import KEPT
from fairgate.live.schema import api_keys, events, gates, replies
from fairgate.live.service.routes import ROUTES
from tests.live.gates import Clock, make_spec
from tests.live.serving import Served, service

HOLD = {"start": {"mode": "hold", "threshold": 0.5}}


@pytest.fixture
def served(database_url: str) -> Iterator[Served]:
    with service(database_url, make_spec(learner="accept-all", **HOLD)) as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(database_url: str, clock: Clock) -> Iterator[Gate]:
    made = Gate(database_url, "credit", spec=make_spec(**HOLD), clock=clock)
    yield made
    made.shut()


def rows_of(gate: Gate, table: Any) -> list[Any]:
    with reading(gate.engine) as connection:
        return list(connection.execute(select(table).where(table.c.gate == gate.number)))


class Story:
    """Requests in an order, each sent again after something else has changed what a new one would be answered."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.gate: Gate = served.app.state.gates["credit"]
        self.paths: set[str] = set()

    def ask(self, path: str, body: Any, key: str) -> httpx.Response:
        return self.served.ask("POST", path, json=body, headers={"Idempotency-Key": key})

    def twice(self, route: str, body: Any, stir: Callable[[], Any], path: str | None = None) -> Any:
        """Send a request, change something, send it again: the same answer, and nothing is recorded."""
        key = f"key-{len(self.paths)}-{self.gate.status().seq}"
        self.paths.add(route)
        first = self.ask(path or route, body, key)
        assert first.status_code == 200, first.text
        stir()
        before = self.gate.status()
        again = self.ask(path or route, body, key)
        assert (again.status_code, again.content, again.headers) == (200, first.content, first.headers)
        assert self.gate.status() == before
        return first.json()

    def decide(self, name: str, score: float = 0.75) -> None:
        self.gate.decide(name, "men", score)


def test_every_route_gives_its_first_reply_again(served: Served) -> None:
    story = Story(served)
    gate, twice = story.gate, story.twice
    one = {"id": "a", "group": "men", "score": 0.75}
    assert not twice("/decisions", one, lambda: gate.override("a", False, "known to us"))["repeated"]
    known = {"id": "b", "group": "men", "score": 0.75}
    story.decide("b")
    assert twice("/decisions", known, lambda: gate.override("b", False, "known to us"))["repeated"]
    batch = {"ids": ["a", "b", "c", "d"], "groups": ["men"] * 4, "scores": [0.75] * 4}
    first = twice("/decisions/batch", batch, lambda: gate.override("c", False, "known to us"))
    assert (first["accepted"], first["repeated"]) == ([False, False, True, True], 2)
    assert twice("/decisions/batch", batch, lambda: gate.override("d", False, "known to us"))["repeated"] == 4
    person = {"id": "e", "accepted": False, "reason": "known to us"}
    story.decide("e")
    assert not twice("/overrides", person, lambda: story.decide("f"))["repeated"]
    assert twice("/overrides", person, lambda: story.decide("g"))["repeated"]
    labels = {"ids": ["f", "g"], "labels": [1, 0]}
    assert twice("/outcomes", labels, lambda: gate.correct(["f"], [0], "typed wrongly"))["new"] == 2
    labels["labels"] = [0, 0]
    assert twice("/outcomes", labels, lambda: gate.correct(["f"], [1], "typed rightly"))["seq"] == 0
    mended = {**labels, "reason": "once more"}
    assert twice("/corrections", mended, lambda: gate.correct(["f"], [1], "typed rightly"))["new"] == 1
    mended["labels"] = [1, 0]
    assert twice("/corrections", mended, lambda: gate.correct(["f"], [0], "no"))["new"] == 0
    assert twice("/rounds/close", None, lambda: story.decide("h"))["people"] == 7
    assert twice("/rounds/{number}/close", None, lambda: story.decide("i"), "/rounds/1/close")["people"] == 1
    assert twice("/rounds/{number}/close", None, lambda: story.decide("j"), "/rounds/0/close")["round"] == 0
    approve = {"mode": "approve", "reason": "with care"}
    assert twice("/mode", approve, lambda: story.decide("k"))["people"] == 0
    waiting = {"waiting": gate.status().waiting, "reason": "looks well"}
    assert twice("/approvals", waiting, lambda: gate.hold("in haste", 0.5))["mode"]["mode"] == "approve"
    gate.set_mode("shadow", "our own rule decides")
    own = {"ids": ["l", "m"], "groups": ["men"] * 2, "scores": [0.75] * 2, "accepted": [True, False]}
    assert twice("/reports", own, lambda: gate.hold("in haste", 0.5))["new"] == 2
    assert twice("/reports", own, gate.close)["seq"] == 0
    new = {"name": "branch", "scopes": ["read"], "expires": "2999-01-01T00:00:00+00:00"}
    token = twice("/keys", new, lambda: gate.resume("in haste"))["key"]
    assert [each.name for each in list_keys(gate.engine, "credit")].count("branch") == 1
    assert check_key(gate.engine, "credit", token, "read").name == "branch"
    assert twice("/secret", {"reason": "each quarter"}, lambda: gate.rotate_secret("in haste"))["round"] > 1
    assert story.paths == {route.path for route in ROUTES if route.method == "POST"}
    assert gate.audit().clean


def test_a_new_key_is_given_again_to_its_caller_alone_and_is_not_stored(served: Served) -> None:
    story, new = Story(served), {"name": "branch", "scopes": ["read"]}
    gate = story.gate
    token = story.ask("/keys", new, "monday").json()["key"]
    stored = repr([rows_of(gate, table) for table in (replies, events, api_keys)])
    assert token.split("_", 2)[2] not in stored
    assert story.ask("/keys", {**new, "scopes": ["decide"]}, "monday").status_code == 409
    assert story.ask("/keys", new, "tuesday").status_code == 409
    caller = served.keys["credit", "all"]
    revoke_key(gate, caller.split("_")[1])
    served.keys["credit", "all"] = create_key(gate, "all", ["admin"])
    other = story.ask("/keys", new, "monday")
    assert (other.status_code, token.split("_")[1] in other.json()["detail"]) == (409, True)
    with reading(gate.engine) as connection:
        asked = select(func.count()).select_from(api_keys).where(api_keys.c.name == "branch")
        assert connection.execute(asked).scalar_one() == 1


def test_callers_do_not_share_keys(gate: Gate) -> None:
    gate.outcomes([], [], key="one", actor="key:bank")
    gate.decide("a", "men", 0.75, key="one", actor="key:branch")
    assert gate.decide("b", "men", 0.75, key="one", actor="key:shop").id == "b"
    assert gate.outcomes(["a"], [1], key="two", actor="key:bank").new == 1
    assert gate.close(key="two", actor="key:branch").people == 2
    with pytest.raises(ConflictError) as told:
        gate.decide("c", "men", 0.75, key="one", actor="key:branch")
    assert str(told.value) == "key 'one' was used before for another request: choose a new one"
    stored = {event.key for event in gate.log() if event.key is not None}
    assert len(stored) == 4
    assert "one" not in stored


def test_a_key_is_used_even_if_nothing_new_was_recorded(gate: Gate) -> None:
    gate.decide(["a", "b"], ["men"] * 2, [0.75] * 2)
    gate.outcomes(["a"], [1])
    gate.outcomes(["a"], [1], key="k")
    with pytest.raises(ConflictError, match="for another request"):
        gate.outcomes(["b"], [1], key="k")
    gate.decide("a", "men", 0.75, key="d")
    with pytest.raises(ConflictError, match="for another request"):
        gate.decide("new", "men", 0.75, key="d")


def test_a_refusal_that_recorded_nothing_takes_no_key(gate: Gate) -> None:
    with pytest.raises(InputError):
        gate.outcomes(["a"], [1], key="k")
    gate.decide("a", "men", 0.75)
    assert gate.outcomes(["a"], [1], key="k").new == 1


def test_a_change_that_a_pause_refused_is_refused_again(database_url: str, clock: Clock) -> None:
    """Sent again as a new request it would set the mode learn, over the head of the guard."""
    spec = make_spec(guards={"pause_if_quiet_days": 7, "pause_if_broken": False})
    gate = Gate(database_url, "credit", spec=spec, clock=clock)
    gate.decide(["a", "b"], ["men"] * 2, [2.0] * 2)
    gate.close()
    for name in ("c", "d", "e"):
        gate.decide(name, "men", 2.0)
        clock.move(days=3)
    for _ in range(2):
        with pytest.raises(ConflictError, match="a guard paused the learner"):
            gate.set_mode("learn", "go on", key="k")
    assert gate.status().mode.mode == "hold"
    assert gate.set_mode("learn", "looked at it", key="l").mode.mode == "learn"
    gate.shut()


def asked_at_once(gates: list[Gate], ask: Callable[[Gate], Any]) -> list[Any]:
    """Ask several gates in the same moment, and return their answers."""
    found: list[Any] = [None] * len(gates)
    ready = threading.Barrier(len(gates))

    def run(place: int) -> None:
        ready.wait()
        found[place] = ask(gates[place])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(gates))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_retries_at_the_same_time_have_one_result(gate: Gate, database_url: str) -> None:
    other = Gate(database_url, "credit")
    both = [gate, other, gate, other]
    gate.decide("z", "men", 0.75)
    asks: list[Callable[[Gate], Any]] = [
        lambda each: each.decide(["a", "z"], ["men"] * 2, [0.75] * 2, key="d"),
        lambda each: each.decide("z", "men", 0.75, key="again"),
        lambda each: each.outcomes(["a"], [1], key="o"),
        lambda each: each.close(key="c"),
        lambda each: each.set_mode("shadow", "our own rule decides", key="m"),
        lambda each: create_key(each, "branch", ["read"], retry=Retry("k", "fg_x_y")),
    ]
    for ask in asks:
        found = asked_at_once(both, ask)
        assert found == found[:1] * len(both)
    kinds = [event.kind for event in gate.log()]
    assert [kinds.count(kind) for kind in ("decided", "outcomes", "closed", "mode", "key-added")] == [2, 1, 1, 1, 1]
    assert gate.audit().clean
    other.shut()


def test_a_stored_reply_goes_after_a_while_and_its_key_stays_used(gate: Gate, clock: Clock) -> None:
    gate.set_mode("shadow", "our own rule decides", key="m")
    gate.outcomes([], [], key="o")
    assert len(rows_of(gate, replies)) == 2
    clock.now += KEPT + timedelta(seconds=1)
    gate.outcomes([], [], key="p")
    assert len(rows_of(gate, replies)) == 1
    with pytest.raises(ConflictError, match="for this request, whose reply is not kept any more"):
        gate.set_mode("shadow", "our own rule decides", key="m")
    gate.hold("for the audit", 0.5)
    assert gate.audit().clean


def test_pruning_takes_old_replies_along(gate: Gate, clock: Clock) -> None:
    gate.decide("a", "men", 0.75)
    gate.decide("a", "men", 0.75, key="again")
    gate.close()
    clock.now += timedelta(days=800)
    prune(gate)
    assert rows_of(gate, replies) == []


def test_a_pruned_application_that_comes_again_is_not_the_first_reply(gate: Gate, clock: Clock) -> None:
    gate.decide("a", "men", 0.75, key="k")
    gate.close()
    clock.now += timedelta(days=800)
    prune(gate)
    gate.decide("a", "men", 0.1)
    with pytest.raises(ConflictError, match="whose applications were pruned since"):
        gate.decide("a", "men", 0.75, key="k")


def test_keys_of_the_revision_before_are_honoured(gate: Gate, database_url: str) -> None:
    """Their events have the key itself, and one caller's key was all callers'."""
    for name, scope in (("branch", "decide"), ("bank", "outcomes"), ("chief", "admin"), ("shop", "decide")):
        create_key(gate, name, [scope])
    first = gate.decide("a", "men", 0.75, key="old", actor="key:branch")
    labels = gate.outcomes(["a"], [1], key="labels", actor="key:bank")
    gate.set_mode("shadow", "our own rule decides", key="mode", actor="key:chief")
    gate.shut()
    as_before(gate, ["old", "labels", "mode"])
    again = Gate(database_url, "credit")
    assert again.decide("a", "men", 0.75, key="old", actor="key:branch") == first
    assert again.outcomes(["a"], [1], key="labels", actor="key:bank") == labels
    with pytest.raises(ConflictError, match="for another request"):
        again.decide("b", "men", 0.75, key="old", actor="key:branch")
    with pytest.raises(ConflictError, match="whose reply is not kept any more"):
        again.set_mode("shadow", "our own rule decides", key="mode", actor="key:chief")
    assert again.report(["b"], ["men"], [0.75], [True], key="old", actor="key:shop").new == 1
    assert [event.key for event in again.log() if event.key is not None][:3] == ["old", "labels", "mode"]
    assert again.audit().clean
    again.shut()


def as_before(gate: Gate, keys: list[str]) -> None:
    """Have the events that have a key hold these, as the revision before wrote them; it stored no replies."""
    head, left = START, iter(keys)
    with writing(gate.engine) as connection:
        for row in connection.execute(select(events).order_by(events.c.seq)).all():
            event = Event(*row[1:])
            key = None if event.key is None else next(left)
            made = make_event(head, *event[:3], event.data, event.at, event.actor, key, event.request)
            changed = update(events).where(events.c.seq == made.seq).values(key=made.key, hash=made.hash)
            connection.execute(changed)
            head = made.hash
        connection.execute(update(gates).values(head=head))
        connection.execute(replies.delete())
