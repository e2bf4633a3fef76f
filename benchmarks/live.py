"""Load a live gate and, beside it, a bare service that inserts the same rows; time, memory, audit and cold start.

    python benchmarks/live.py                      # all of it, on SQLite and PostgreSQL: about a quarter of an hour
    python benchmarks/live.py --quick              # short runs and 100,000 decisions: two to three minutes
    python benchmarks/live.py --json figures.json

Both services are processes of their own, with one worker each; so is the load (`live_load.py`). Repetitions of the two
take turns, so that a slow moment of the machine hits them alike; the median of each counts, and ratios are of medians.
`benchmarks/README.md` tells what each line means. Needs ``pip install fairgate[test]``.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # numpy reads it once

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from fairgate.live import Gate, Spec
from fairgate.live.keys import create_key

HERE = Path(__file__).parent
NAME = "credit"
CONNECTIONS = 32
BATCH = 5000
BATCH_CONNECTIONS = 2
"""So that one batch is read while another is written."""
OURS, BARE = 8471, 8472  # ports


@dataclass(frozen=True)
class Size:
    """How long and how often."""

    seconds: float
    repeats: int
    decisions: int  # for memory, audit and cold start


FULL, QUICK = Size(5.0, 7, 1_000_000), Size(1.5, 3, 100_000)


@dataclass(frozen=True)
class Goal:
    """A goal, and what was measured."""

    what: str
    wanted: str
    measured: str
    reached: bool


def bench_spec() -> Spec:
    """A gate that learns, in rounds of 1,000 people."""
    return Spec(
        name=NAME,
        groups=["women", "men"],
        grid=[round(0.02 * step, 2) for step in range(1, 50)],
        constraints={"parity": 0.1},
        rounds={"people": 1000},
        start={"mode": "learn", "threshold": 0.5},
        guards={"pause_if_broken": False},
    )


# Processes


@contextmanager
def process(command: list[str], port: int) -> Iterator[psutil.Process]:
    """Run a service until the end; it is ready when it says so."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until_ready(port, running)
        yield psutil.Process(running.pid)
    finally:
        running.terminate()
        running.wait()


def wait_until_ready(port: int, running: subprocess.Popen[bytes]) -> None:
    """Ask for readiness until it is there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if running.poll() is not None:
            raise SystemExit(f"the service of port {port} ended with status {running.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.005)
    raise SystemExit(f"the service of port {port} was not ready within a minute")


def load(**plan: Any) -> dict[str, Any]:
    """Send load from a process of its own; every answer must be good."""
    ran = subprocess.run(
        [sys.executable, str(HERE / "live_load.py")],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    if found["bad"] or found["lost"]:
        raise SystemExit(f"{found['bad']} of {found['answers']} answers were refusals: {found['fault']}")
    return found


@dataclass
class Contender:
    """A service under load."""

    name: str
    port: int
    path: str
    token: str = ""
    sent: int = 0

    def run(self, people: int, seconds: float, rate: float | None = None) -> dict[str, Any]:
        """Send load with ids that are new."""
        self.sent += 1
        connections = CONNECTIONS if people == 1 else BATCH_CONNECTIONS
        path = f"{self.path}/decisions" + ("" if people == 1 else "/batch")
        plan = {"port": self.port, "path": path, "token": self.token, "people": people, "seconds": seconds}
        more = {"connections": connections if rate is None else 4 * connections, "rate": rate, "seed": self.sent}
        return load(**plan, **more, prefix=f"{people}-{self.sent}")


# What is measured


def side_by_side(kind: str, url: str, bare_url: str, size: Size, folder: Path, console: Console) -> dict[str, Any]:
    """Measure throughput of both services in turn, and our latency at half of our load."""
    gate = Gate(url, NAME, spec=bench_spec())
    token = create_key(gate, "bench", ["decide", "outcomes", "read", "admin"])
    gate.shut()
    waits = faster_way(bare_url, size)
    with process(serve_command(url, folder), OURS), process(bare_command(bare_url, waits), BARE):
        both = (Contender("gate", OURS, f"/v1/gates/{NAME}", token), Contender("bare", BARE, ""))
        found: dict[str, Any] = {"bare waits in": waits}
        for people, what in ((1, "single"), (BATCH, "batch")):
            for each in both:
                each.run(people, min(size.seconds, 1.0))  # to warm up
            rates: dict[str, list[float]] = {each.name: [] for each in both}
            for _ in range(size.repeats):
                for each in both:
                    rates[each.name].append(each.run(people, size.seconds)["per_second"])
            for name, values in rates.items():
                found[f"{what} {name}"] = statistics.median(values)
                console.print(f"{kind}, {what}, {name}: {', '.join(f'{value:,.0f}' for value in values)} a second")
        half = found["single gate"] / 2
        late = [both[0].run(1, size.seconds, rate=half) for _ in range(size.repeats)]
        for share in ("p50", "p99"):
            found[share] = statistics.median(each[share] for each in late)
        console.print(f"{kind}, p99 at {half:,.0f} a second: {', '.join(f'{1000 * e['p99']:.1f}' for e in late)} ms")
    return found


def faster_way(url: str, size: Size) -> str:
    """Whether the bare service does better where requests wait in threads, or in the event loop."""
    rates = {}
    for waits in ("loop", "thread"):
        with process(bare_command(url, waits), BARE):
            bare = Contender("bare", BARE, "", sent=1000 + len(rates))
            bare.run(1, 0.5)
            rates[waits] = bare.run(1, min(size.seconds, 2.0))["per_second"]
    return max(rates, key=lambda each: rates[each])


def bare_command(url: str, waits: str) -> list[str]:
    """Start the bare service."""
    return [sys.executable, str(HERE / "live_bare.py"), url, str(BARE), waits]


def serve_command(url: str, folder: Path) -> list[str]:
    """Start our service, as a user does."""
    raise NotImplementedError


def a_million(url: str, size: Size, folder: Path, console: Console) -> dict[str, Any]:
    """Send many decisions in batches: memory on the way, then audit and cold start."""
    gate = Gate(url, NAME, spec=bench_spec())
    token = create_key(gate, "bench", ["decide", "outcomes", "read", "admin"])
    gate.shut()
    memory = []
    with process(serve_command(url, folder), OURS) as service:
        ours = Contender("gate", OURS, f"/v1/gates/{NAME}", token)
        step = size.decisions // 10
        for part in range(10):
            plan = {"port": OURS, "path": f"{ours.path}/decisions/batch", "token": token, "people": 1000}
            load(**plan, seconds=600.0, requests=step // 1000, connections=4, prefix=f"m-{part}", seed=part)
            memory.append(service.memory_info().rss / 2**20)
    found: dict[str, Any] = {"memory": memory, **cold_start(url, folder, token), **audit(url, size)}
    console.print(f"memory after each tenth: {', '.join(f'{each:.0f}' for each in memory)} MB")
    return found


def cold_start(url: str, folder: Path, token: str) -> dict[str, float]:
    """Time a start with a full log: until the service is ready, and until a gate in Python has decided."""
    ready, first = [], []
    for repeat in range(3):
        begin = time.perf_counter()
        with process(serve_command(url, folder), OURS):
            ready.append(time.perf_counter() - begin)
        code = (
            "import time\nfrom fairgate.live import Gate\nbegin = time.perf_counter()\n"
            f"gate = Gate({url!r}, {NAME!r})\ngate.decide('cold-{repeat}', 'women', 0.5)\n"
            "print(time.perf_counter() - begin)\ngate.shut()\n"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        first.append(float(ran.stdout))
    return {"ready": statistics.median(ready), "first decision": statistics.median(first)}


def audit(url: str, size: Size) -> dict[str, float]:
    """Time the audit of the whole log, in a process of its own."""
    code = (
        "import time\nfrom fairgate.live import Gate\n"
        f"gate = Gate({url!r}, {NAME!r})\nbegin = time.perf_counter()\nfound = gate.audit()\n"
        "print(time.perf_counter() - begin)\ngate.shut()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {"audit": size.decisions / float(ran.stdout)}
