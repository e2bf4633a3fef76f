"""Kill −9: writers and a service that are killed at random moments, and ledgers of what they were told.

    echo '{"url": …, "folder": …, "kills": 50}' | python -m tests.live.kills

A process that has imported everything forks the others, so that a killed one is back within milliseconds: two writers
with a `Gate` of their own, one that writes through the service, and the service. A writer notes every request in its
ledger before it sends it, and the answer after. A killed writer reads its ledger and sends again, with the same ids and
key, what was not answered. (What `write` took survives the process: a ledger needs no fsync against SIGKILL.)
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairgate.live import Gate, Spec
from fairgate.live.client import Client
from fairgate.live.config import ServiceSettings
from fairgate.live.failures import UnavailableError
from fairgate.live.service import server
from fairgate.live.spec import Guards, Rounds, Start

NAME = "credit"
GROUPS = ("women", "men")
WRITERS = ("first", "second", "web")
PATIENCE = 60.0
"""Seconds after which a request that is never answered is a failure of the test."""


@dataclass
class Plan:
    """What to run."""

    url: str
    folder: str
    kills: int
    port: int
    token: str
    seed: int = 0
    answers: int = 3  # between two kills, so that a busy machine has as much to lose as an idle one
    pause: float = 0.05  # seconds after these, on average


@dataclass
class Done:
    """What was done."""

    kills: int
    seconds: float
    killed: dict[str, int]


def kill_spec(learner: str = "epsilon-greedy") -> Spec:
    """The gate that the writers share: it learns from the start, with random numbers of its own, in short rounds."""
    return Spec(
        name=NAME,
        groups=list(GROUPS),
        grid=[round(0.1 * step, 1) for step in range(1, 10)],
        constraints={"parity": 0.2},
        learner=learner,
        seed=7,
        rounds=Rounds(people=40),
        start=Start(mode="learn", threshold=0.5),
        guards=Guards(pause_if_broken=False),
    )


# A writer: its ledger, and the requests it makes up as it goes


class Ledger:
    """What a writer asked and was answered, a line each; the line that a kill cut short is cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        whole = path.read_bytes() if path.exists() else b""
        kept = whole[: whole.rfind(b"\n") + 1]
        if kept != whole:
            os.truncate(path, len(kept))
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in kept.splitlines()]
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, line: dict[str, Any]) -> None:
        """Add a line."""
        self.lines.append(line)
        os.write(self.file, json.dumps(line).encode() + b"\n")

    @property
    def unanswered(self) -> dict[str, Any] | None:
        """The request at the end that has no answer."""
        return self.lines[-1] if self.lines and "ask" in self.lines[-1] else None

    def pairs(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield requests with their answers."""
        yield from zip(self.lines[::2], self.lines[1::2], strict=False)


class Writer:
    """Sends requests one after the other to a gate, or to a client of one, which has the same calls."""

    def __init__(self, name: str, plan: Plan, gate: Any) -> None:
        self.name, self.plan, self.gate = name, plan, gate
        self.ledger = Ledger(ledger_path(plan.folder, name))
        self.count = len(self.ledger.lines) // 2
        self.unlabelled = self._unlabelled()

    def _unlabelled(self) -> list[str]:
        """Applications that were accepted and have no label yet, as the ledger has it."""
        accepted: dict[str, None] = {}
        for asked, answered in self.ledger.pairs():
            self._learn(asked, answered, accepted)
        return list(accepted)

    @staticmethod
    def _learn(asked: dict[str, Any], answered: dict[str, Any], accepted: dict[str, None]) -> None:
        if asked["ask"] == "decide" and "accepted" in answered:
            for each, yes in zip(asked["ids"], answered["accepted"], strict=True):
                if yes and not asked.get("again"):
                    accepted[each] = None
        elif asked["ask"] == "outcomes" and not asked.get("again"):
            for each in asked["ids"]:
                accepted.pop(each, None)

    def step(self) -> None:
        """Send again what was not answered, or else the next request."""
        asked = self.ledger.unanswered
        if asked is None:
            asked = self.invented()
            self.ledger.note(asked)
        request = asked
        answered = patiently(lambda: self._asked(request))
        self.ledger.note(answered)
        self.count += 1
        accepted = dict.fromkeys(self.unlabelled)
        self._learn(asked, answered, accepted)
        self.unlabelled = list(accepted)

    def invented(self) -> dict[str, Any]:
        """Make up the next request."""
        rng = random.Random(f"{self.plan.seed}/{self.name}/{self.count}")
        key = f"{self.name}-{self.count}" if rng.random() < 0.5 else None
        kind = rng.random()
        if kind < 0.25 and self.unlabelled:
            ids = self.unlabelled[: rng.randint(1, 12)]
            return {"ask": "outcomes", "key": key, "ids": ids, "labels": [label_of(each) for each in ids]}
        if kind < 0.32:
            return {"ask": "close", "key": key, "round": patiently(self.gate.status).round}
        if kind < 0.4 and self.count:
            asked, _ = list(self.ledger.pairs())[rng.randrange(len(self.ledger.lines) // 2)]
            return {**asked, "again": True}
        people = 1 if kind < 0.75 else rng.randint(2, 25)
        ids = [f"{self.name}-{self.count}-{place}" for place in range(people)]
        groups = [rng.choice(GROUPS) for _ in ids]
        scores = [rng.choice((0.5, round(rng.random(), 3))) for _ in ids]
        return {"ask": "decide", "key": key, "ids": ids, "groups": groups, "scores": scores}

    def _asked(self, asked: dict[str, Any]) -> dict[str, Any]:
        kind, key = asked["ask"], asked["key"]
        if kind == "decide" and len(asked["ids"]) == 1:
            found = self.gate.decide(asked["ids"][0], asked["groups"][0], asked["scores"][0], key=key)
            return {"accepted": [found.accepted], "rounds": [found.round], "repeated": int(found.repeated)}
        if kind == "decide":
            found = self.gate.decide(asked["ids"], asked["groups"], asked["scores"], key=key)
            return {"accepted": found.accepted, "rounds": found.rounds, "repeated": found.repeated}
        if kind == "outcomes":
            found = self.gate.outcomes(asked["ids"], asked["labels"], key=key)
            return {"seq": found.seq, "new": found.new, "repeated": found.repeated}
        found = self.gate.close(asked["round"], key=key)
        return {"round": found.round, "seq": found.seq, "people": found.people}


def label_of(name: str) -> int:
    """The label of an application: always the same."""
    return random.Random(name).randrange(2)


def ledger_path(folder: str, name: str) -> Path:
    """Where a writer's ledger is."""
    return Path(folder) / f"{name}.jsonl"


# The processes

STOPPING: list[int] = []
"""Signals that told this process to stop; the handler is set before the fork, so that none comes too early."""


def write(name: str, plan: Plan) -> None:
    """Be a writer until told to stop."""
    gate = client(plan) if name == "web" else patiently(lambda: Gate(plan.url, NAME))
    writer = Writer(name, plan, gate)
    while not STOPPING or writer.ledger.unanswered is not None:
        writer.step()


def client(plan: Plan) -> Any:
    """Return a client of the service."""
    return Client(f"http://127.0.0.1:{plan.port}", NAME, plan.token, retries=0)


def patiently(make: Callable[[], Any]) -> Any:
    """Make something, again if the service or the database is not to be had for a moment."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return make()
        except UnavailableError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def serve(name: str, plan: Plan) -> None:
    """Be the service; its log tells of starts and kills, and of no error."""
    log = os.open(Path(plan.folder) / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, sys.stderr.fileno())
    server.run(ServiceSettings(database=plan.url, port=plan.port, gates=[kill_spec()]), lambda address: None)


def start(name: str, plan: Plan) -> int:
    """Fork a process that is a writer or the service, and return its number."""
    number = os.fork()
    if number:
        return number
    try:
        (serve if name == "service" else write)(name, plan)
    except BaseException as error:
        print(f"{name}: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def run(plan: Plan) -> Done:
    """Start all, kill one at a time, start it again; at the end let the writers finish."""
    signal.signal(signal.SIGTERM, lambda number, _: STOPPING.append(number))
    rng, begin = random.Random(plan.seed), time.monotonic()
    names = (*WRITERS, "service")
    running = {start(name, plan): name for name in names}
    killed = dict.fromkeys(names, 0)
    try:
        for _ in range(plan.kills):
            _wait_for_answers(plan)
            time.sleep(rng.uniform(0.0, 2.0) * plan.pause)
            _check_alive(running)
            number = rng.choice(sorted(running))
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            name = running.pop(number)
            killed[name] += 1
            running[start(name, plan)] = name
        for number, name in list(running.items()):
            if name != "service":
                _finish(number, name)
                del running[number]
    finally:
        for number in running:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
    return Done(plan.kills, time.monotonic() - begin, killed)


def _wait_for_answers(plan: Plan) -> None:
    """Wait until the writers have noted so many more answers."""
    end = time.monotonic() + PATIENCE
    wanted = _lines(plan) + 2 * plan.answers
    while _lines(plan) < wanted:
        if time.monotonic() > end:
            raise RuntimeError(f"the writers had no {plan.answers} answers within {PATIENCE:g} seconds")
        time.sleep(0.005)


def _lines(plan: Plan) -> int:
    paths = [ledger_path(plan.folder, name) for name in WRITERS]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.exists())


def _check_alive(running: dict[int, str]) -> None:
    number, status = os.waitpid(-1, os.WNOHANG)
    if number:
        name = running.pop(number)
        raise RuntimeError(f"{name} ended by itself with status {status}")


def _finish(number: int, name: str) -> None:
    os.kill(number, signal.SIGTERM)
    _, status = os.waitpid(number, 0)
    if status:
        raise RuntimeError(f"{name} ended with status {status}")


def main() -> None:
    """Read a plan, run it, and write what was done."""
    plan = Plan(**json.load(sys.stdin))
    json.dump(asdict(run(plan)), sys.stdout)


if __name__ == "__main__":
    main()
