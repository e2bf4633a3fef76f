"""Any calls in any order, with retries, restarts and a second gate on the same database: as the plain model has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, delete, update

from fairgate.errors import InputError
from fairgate.live import Gate, Spec, schema
from fairgate.live.database import connect, writing
from fairgate.live.failures import ConflictError
from fairgate.live.spec import Guards, Mode, Rounds, Scores, Start
from tests.live.databases import fresh_database, memory_folder
from tests.live.kept import folded, plain
from tests.live.model import Model
from tests.live.plain_log import check_log, read_log

GROUPS = ["women", "men", "others"]
GRID = [0.2, 0.4, 0.6, 0.8]
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
NUMBERS = itertools.count()
SECRET = b"a secret of thirty-two characters"

IDS = [f"a-{number}" for number in range(30)]
KEYS = [None, None, None, "k-1", "k-2", "k-3", "k-4", "k-5"]
score = st.sampled_from([*GRID, 0.0, -0.0, 0.39999999999999997, 0.5, 0.7, 0.9, 1.5, -3.0])
group = st.sampled_from(["women", "women", "men", "men", "men", "others"])
person = st.tuples(st.sampled_from(IDS), group, score)
reason = st.sampled_from(["as agreed", "as agreed", "as agreed", "as agreed", " "])
key = st.sampled_from(KEYS)
which = st.integers(0, 1)


class Machine(RuleBasedStateMachine):
    """A gate, opened twice, beside its model."""

    url: ClassVar[str]
    learner: ClassVar[str]

    @initialize(
        mode=st.sampled_from(["learn", "learn", "hold", "shadow", "approve"]), people=st.sampled_from([5, 9, None])
    )
    def begin(self, mode: Mode, people: int | None) -> None:
        self.spec = Spec(
            name=f"gate-{next(NUMBERS)}",
            groups=GROUPS,
            grid=GRID,
            constraints={"parity": 0.3},
            learner=self.learner,
            seed=3,
            rounds=Rounds(people=people, seconds=1000.0),
            start=Start(mode=mode, threshold=0.4),
            guards=Guards(pause_if_broken=False),
            scores=Scores(outside="accept"),
        )
        self.now = 0.0
        first = Gate(self.url, self.spec.name, spec=self.spec, clock=self.clock)
        first.shut()
        self.number = first.number
        with self.writing() as connection:  # the same draws whenever an example is run
            connection.execute(update(schema.gates).where(schema.gates.c.number == self.number).values(secret=SECRET))
        self.gates = [Gate(self.url, self.spec.name, clock=self.clock, actor=f"caller {at}") for at in range(2)]
        self.model = Model(self.spec, SECRET)
        self.known: dict[str, tuple[str, float]] = {}  # as they were first asked for

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Write to the database behind the gate's back."""
        engine = connect(self.url)
        with writing(engine) as connection:
            yield connection
        engine.dispose()

    def clock(self) -> datetime:
        """The time, which only a rule moves."""
        return EPOCH + timedelta(seconds=self.now)

    def both(self, ask: Callable[[], Any], expect: Callable[[], Any], key: str | None = None) -> None:
        """Ask the gate and the model: the same reply, or the same kind of refusal."""
        used = key in self.model.keys
        wanted, got = answer(expect), answer(ask)
        if isinstance(wanted, InputError):
            faults = {type(wanted), ConflictError} if used else {type(wanted)}  # a used key may be one fault of two
            assert type(got) in faults, f"{got!r} in place of {type(wanted).__name__}"
            return
        assert not isinstance(got, InputError), f"refused: {got}"
        if wanted is not None:
            assert {name: getattr(got, name) for name in wanted} == wanted

    def own(self, at: int, key: str | None) -> str | None:
        """Return what the model knows a key by: each gate is a caller with keys of its own."""
        return None if key is None else f"{key} of caller {at}"

    def honest(self, people: list[tuple[str, str, float]]) -> tuple[list[str], list[str], list[float]]:
        """Return columns in which an application that was asked for before has the facts it had then, as in a retry."""
        facts = [(name, *self.known.setdefault(name, (each, value))) for name, each, value in people]
        return [row[0] for row in facts], [row[1] for row in facts], [row[2] for row in facts]

    @rule(at=which, one=person, key=key)
    def decide_one(self, at: int, one: tuple[str, str, float], key: str | None) -> None:
        ids, groups, scores = self.honest([one])

        def expect() -> dict[str, Any]:
            found = self.model.decide(ids, groups, scores, self.own(at, key), single=True)
            return {"accepted": found["accepted"][0], "round": found["rounds"][0], "repeated": bool(found["repeated"])}

        self.both(lambda: self.gates[at].decide(ids[0], groups[0], scores[0], key=key), expect, self.own(at, key))

    @rule(at=which, people=st.lists(person, max_size=8, unique_by=lambda each: each[0]), key=key)
    def decide_many(self, at: int, people: list[tuple[str, str, float]], key: str | None) -> None:
        asked = self.honest(people)
        self.both(
            lambda: self.gates[at].decide(*asked, key=key),
            lambda: self.model.decide(*asked, self.own(at, key)),
            self.own(at, key),
        )

    @rule(at=which, people=st.lists(person, min_size=1, max_size=3))
    def decide_with_other_facts_or_twice(self, at: int, people: list[tuple[str, str, float]]) -> None:
        asked = [each[0] for each in people], [each[1] for each in people], [each[2] for each in people]
        for name, each, value in people:
            if name not in self.model.cases and len({row[0] for row in people}) == len(people):
                self.known.setdefault(name, (each, value))
        self.both(lambda: self.gates[at].decide(*asked), lambda: self.model.decide(*asked, None))

    @rule(at=which, wrong=st.sampled_from([("x", "nobody", 0.5), ("", "men", 0.5), ("x", "men", float("nan"))]))
    def decide_wrongly(self, at: int, wrong: tuple[str, str, float]) -> None:
        asked = [wrong[0], "y"], [wrong[1], "men"], [wrong[2], 0.5]
        self.both(lambda: self.gates[at].decide(*asked), lambda: self.model.decide(*asked, None))

    @rule(at=which, people=st.lists(person, max_size=8, unique_by=lambda each: each[0]), key=key, rule_of=st.data())
    def report(self, at: int, people: list[tuple[str, str, float]], key: str | None, rule_of: st.DataObject) -> None:
        ids, groups, scores = self.honest(people)
        own = rule_of.draw(st.sampled_from([0.4, 0.6]))
        odd = rule_of.draw(st.sampled_from([False, False, True]))
        accepted = [value >= own for value in scores]
        accepted[:1] = [accepted[0] != odd] if accepted else []
        self.both(
            lambda: self.gates[at].report(ids, groups, scores, accepted, key=key),
            lambda: self.model.report(ids, groups, scores, accepted, self.own(at, key)),
            self.own(at, key),
        )

    def some(self, data: st.DataObject, wanted: Callable[[Any], bool]) -> list[str]:
        """Draw applications of a kind, now and then with others among them."""
        names = [name for name, case in self.model.cases.items() if wanted(case)]
        ids = data.draw(st.lists(st.sampled_from(names), max_size=6, unique=True)) if names else []
        return ids + data.draw(st.sampled_from([[], [], [], [], ["a-0"], ["a-1"], ["unknown"]]))

    @rule(at=which, data=st.data(), key=key)
    def outcomes(self, at: int, data: st.DataObject, key: str | None) -> None:
        ids = self.some(data, lambda case: case.final)
        labels = [data.draw(st.sampled_from([1, 0])) if self.flips(data) else len(name) % 2 for name in ids]
        self.both(
            lambda: self.gates[at].outcomes(ids, labels, key=key),
            lambda: self.model.outcomes(ids, labels, self.own(at, key)),
            self.own(at, key),
        )

    def flips(self, data: st.DataObject) -> bool:
        """Whether a label is drawn and may contradict the one told before."""
        return data.draw(st.sampled_from([False, False, False, True]))

    @rule(at=which, data=st.data(), key=key)
    def outcomes_that_were_not_told(self, at: int, data: st.DataObject, key: str | None) -> None:
        names = [name for name, case in self.model.cases.items() if case.final and case.label is None]
        labels = [data.draw(st.sampled_from([1, 0])) for _ in names]
        self.both(
            lambda: self.gates[at].outcomes(names, labels, key=key),
            lambda: self.model.outcomes(names, labels, self.own(at, key)),
            self.own(at, key),
        )

    @rule(at=which, data=st.data(), reason=reason, key=key)
    def correct(self, at: int, data: st.DataObject, reason: str, key: str | None) -> None:
        ids = self.some(data, lambda case: case.label is not None)
        labels = [data.draw(st.sampled_from([0, 1])) for _ in ids]
        self.both(
            lambda: self.gates[at].correct(ids, labels, reason, key=key),
            lambda: self.model.correct(ids, labels, reason, self.own(at, key)),
            self.own(at, key),
        )

    @rule(at=which, data=st.data(), accepted=st.booleans(), reason=reason, key=key)
    def override(self, at: int, data: st.DataObject, accepted: bool, reason: str, key: str | None) -> None:
        now = self.model.round
        mine = [name for name, case in self.model.cases.items() if case.round == now]
        name = data.draw(st.sampled_from([*mine, *mine, "a-0", "unknown"]))
        self.both(
            lambda: self.gates[at].override(name, accepted, reason, key=key),
            lambda: self.model.override(name, accepted, reason, self.own(at, key)),
            self.own(at, key),
        )

    @rule(at=which, back=st.sampled_from([None, None, None, 0, 1, -1]), key=key)
    def close(self, at: int, back: int | None, key: str | None) -> None:
        number = None if back is None else self.model.round - back
        self.both(
            lambda: self.gates[at].close(number, key=key),
            lambda: self.model.close(number, self.own(at, key)),
            self.own(at, key),
        )

    @rule(
        at=which,
        mode=st.sampled_from(["learn", "learn", "hold", "shadow", "approve"]),
        reason=reason,
        threshold=st.sampled_from([None, None, 0.2, 0.6, 0.61]),
        key=key,
    )
    def set_mode(self, at: int, mode: Any, reason: str, threshold: float | None, key: str | None) -> None:
        self.both(
            lambda: self.gates[at].set_mode(mode, reason, threshold, key=key),
            lambda: self.model.set_mode(mode, reason, threshold, self.own(at, key)),
            self.own(at, key),
        )

    @rule(at=which, right=st.sampled_from([True, True, False]), reason=reason)
    def approve(self, at: int, right: bool, reason: str) -> None:
        waiting = self.gates[at].status().waiting if right else "0123456789abcdef"
        self.both(
            lambda: self.gates[at].approve(waiting, reason), lambda: self.model.approve(right and bool(waiting), reason)
        )

    @rule(at=which, seconds=st.sampled_from([1.0, 400.0, 999.0, 1000.0]))
    def wait(self, at: int, seconds: float) -> None:
        self.now += seconds
        self.model.now = self.now

    @rule(at=which)
    def tick(self, at: int) -> None:
        self.gates[at].tick()
        self.model.tick()

    @rule(at=which, forgets=st.booleans())
    def restart(self, at: int, forgets: bool) -> None:
        self.gates[at].shut()
        if forgets:
            with self.writing() as connection:
                connection.execute(delete(schema.snapshots).where(schema.snapshots.c.gate == self.number))
        self.gates[at] = Gate(self.url, self.spec.name, clock=self.clock, actor=f"caller {at}")

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def is_what_the_model_has(self) -> None:
        model = self.model
        for gate in self.gates:
            status = gate.status()
            assert (status.round, status.open, status.mode.mode) == (model.round, model.is_open, model.mode)
            assert status.people == (len(model.of_round(model.round)) if model.is_open else 0)
            assert bool(status.waiting) == (model.waiting is not None)
        state = plain(self.gates[0].snapshot())
        assert state["learner"] == model.learnt()

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        for gate in self.gates:
            gate.shut()
        log = read_log(self.url, self.spec.name)
        check_log(log)
        opened = [event.data for event in log.events if event.kind == "opened"]
        assert [each["policy"] for each in opened] == [
            None if each.policy is None else each.policy.to_json() for each in self.model.rounds
        ]
        assert {row["id"]: bool(row["accepted"]) for row in log.cases} == {
            name: case.accepted for name, case in self.model.cases.items()
        }
        assert folded(log)["learner"] == self.model.learnt()


def answer(ask: Callable[[], Any]) -> Any:
    """Return a reply, or the refusal in place of it."""
    try:
        return ask()
    except InputError as error:
        return error


def run(url: str, learner: str, examples: int) -> None:
    """Run the machine so many times."""
    machine = type("Chosen", (Machine,), {"url": url, "learner": learner})
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=checks),
    )


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["safe-forecast", "epsilon-greedy", "ofs"])
def test_any_calls_in_any_order(learner: str) -> None:
    with memory_folder() as folder:
        run(str(folder / "gate.db"), learner, examples=8)


@pytest.mark.slow
def test_any_calls_in_any_order_with_postgresql(postgresql: str) -> None:
    with fresh_database(postgresql) as url:
        run(url, "safe-forecast", examples=4)
