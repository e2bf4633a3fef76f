"""Many threads in several processes on one gate, each noting when it asked and when it was answered.

    echo '{"url": …, "folder": …}' | python -m tests.live.history

The monotonic clock is one for all processes of a machine, so that notes of different processes can be compared.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairgate.live import Gate

NAME = "credit"
GROUPS = ("women", "men")


@dataclass
class Plan:
    """What to run."""

    url: str
    folder: str
    processes: int = 3
    threads: int = 4
    requests: int = 20  # of each thread
    seed: int = 0


@dataclass
class Note:
    """A request and its answer, with the times of both."""

    asked: float
    answered: float
    kind: str  # decide, outcomes, close, close by number, or status
    ids: list[str]
    reply: dict[str, Any]


class Thread(threading.Thread):
    """Sends requests and notes them."""

    def __init__(self, gate: Gate, name: str, plan: Plan) -> None:
        super().__init__(name=name)
        self.gate, self.plan, self.rng = gate, plan, random.Random(f"{plan.seed}/{name}")
        self.notes: list[Note] = []
        self.accepted: list[str] = []
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Send all requests; keep what went wrong."""
        try:
            for number in range(self.plan.requests):
                self._step(number)
        except BaseException as error:
            self.fault = error

    def _step(self, number: int) -> None:
        choice = self.rng.random()
        asked = time.monotonic()
        ids: list[str] = []
        if choice < 0.15:
            kind, reply = self._close()
        elif choice < 0.3:
            kind, reply = "status", self.gate.status().model_dump()
        elif choice < 0.45 and self.accepted:
            kind, ids, self.accepted = "outcomes", self.accepted[:5], self.accepted[5:]
            reply = self.gate.outcomes(ids, [len(each) % 2 for each in ids]).model_dump()
        else:
            kind, people = "decide", 1 if choice < 0.8 else self.rng.randint(2, 8)
            ids = [f"{self.name}-{number}-{place}" for place in range(people)]
            groups = [self.rng.choice(GROUPS) for _ in ids]
            reply = self.gate.decide(ids, groups, [round(self.rng.random(), 2) for _ in ids]).model_dump()
            self.accepted += [each for each, yes in zip(ids, reply["accepted"], strict=True) if yes]
        self.notes.append(Note(asked, time.monotonic(), kind, ids, reply))

    def _close(self) -> tuple[str, dict[str, Any]]:
        """Close the round that is open, or, half of the time, the one that was just before, which others may close."""
        if self.rng.random() < 0.5:
            return "close", self.gate.close().model_dump()
        return "close by number", self.gate.close(self.gate.status().round).model_dump()


def work(number: int, plan: Plan) -> None:
    """Be one of the processes: run its threads and write their notes."""
    gate = Gate(plan.url, NAME)
    threads = [Thread(gate, f"{number}-{each}", plan) for each in range(plan.threads)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    gate.shut()
    for each in threads:
        if each.fault is not None:
            raise each.fault
    notes = [vars(note) for each in threads for note in each.notes]
    (Path(plan.folder) / f"notes-{number}.json").write_text(json.dumps(notes), encoding="utf-8")


def read_notes(folder: Path) -> list[Note]:
    """Return the notes of all processes, in the order of asking."""
    plain = [note for path in sorted(folder.glob("notes-*.json")) for note in json.loads(path.read_text("utf-8"))]
    return sorted((Note(**each) for each in plain), key=lambda note: note.asked)


def main() -> None:
    """Read a plan, fork the processes, and wait for them."""
    plan = Plan(**json.load(sys.stdin))
    children = []
    for number in range(plan.processes):
        child = os.fork()
        if not child:
            try:
                work(number, plan)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    sys.exit(max(os.waitpid(child, 0)[1] for child in children) > 0)


if __name__ == "__main__":
    main()
