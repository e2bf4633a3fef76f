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
import secrets
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

from rich.console import Console
from rich.table import Table

from fairgate.live import Gate
from fairgate.live.config import read_config
from fairgate.live.keys import create_key

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.live_stall import HOSTILE, LEGITIMATE, Service, stalls
from tests.live.databases import fresh_database, running_server

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


CONFIG = """
[gate]
name = "credit"
groups = ["women", "men"]

[scores]
low = 0.02
high = 0.98
steps = 49

[constraints]
parity = 0.1

[rounds]
people = 1000

[start]
mode = "learn"
threshold = 0.5

[guards]
pause_if_broken = false

[database]
url = {url}

[service]
port = {port}
"""
"""A gate that learns, in rounds of 1,000 people."""


# Processes


@contextmanager
def process(command: list[str], port: int) -> Iterator[int]:
    """Run a service until the end; it is ready when it says so."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until_ready(port, running)
        yield running.pid
    finally:
        running.terminate()
        running.wait()


def megabytes(number: int) -> float:
    """Return the memory that a process has now."""
    ran = subprocess.run(["ps", "-o", "rss=", "-p", str(number)], capture_output=True, text=True, check=True)
    return int(ran.stdout) / 1024


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
        return load(**plan, **more, prefix=secrets.token_hex(4))


# What is measured


def side_by_side(kind: str, url: str, bare_url: str, size: Size, folder: Path, console: Console) -> dict[str, Any]:
    """Measure throughput of both services in turn, and our latency at half of our load."""
    config, token = make_gate(url, folder)
    waits = faster_way(bare_url, size)
    with process(serve_command(config), OURS), process(bare_command(bare_url, waits), BARE):
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
                listed = ", ".join(f"{value:,.0f}" for value in values)
                console.print(f"{kind}, {what}, {name}: {listed} decisions a second")
            if people == 1:  # before the batches: what they leave to the disk would hold up everybody after them
                found |= half_load(kind, both[0], found["single gate"] / 2, size, console)
    return found


def half_load(kind: str, ours: Contender, rate: float, size: Size, console: Console) -> dict[str, float]:
    """Measure how long decisions take when they come at random times, half as many as the gate can take."""
    late = [ours.run(1, size.seconds, rate=rate) for _ in range(size.repeats)]
    tails = ", ".join(f"{1000 * each['p99']:.1f}" for each in late)
    console.print(f"{kind}, p99 at {rate:,.0f} a second: {tails} ms")
    return {share: statistics.median(each[share] for each in late) for share in ("p50", "p99")}


def faster_way(url: str, size: Size) -> str:
    """Whether the bare service does better where requests wait in threads, or in the event loop."""
    rates = {}
    for waits in ("loop", "thread"):
        with process(bare_command(url, waits), BARE):
            bare = Contender("bare", BARE, "")
            bare.run(1, 0.5)
            rates[waits] = bare.run(1, min(size.seconds, 2.0))["per_second"]
    return max(rates, key=lambda each: rates[each])


def bare_command(url: str, waits: str) -> list[str]:
    """Start the bare service."""
    return [sys.executable, str(HERE / "live_bare.py"), url, str(BARE), waits]


def serve_command(config: Path) -> list[str]:
    """Start our service, as a user does."""
    return [sys.executable, "-m", "fairgate", "live", "serve", "--config", str(config)]


def make_gate(url: str, folder: Path) -> tuple[Path, str]:
    """Write the settings of a gate, make it and a key, and return the file and the key."""
    config = folder / "gate.toml"
    config.write_text(CONFIG.format(url=json.dumps(url), port=OURS), encoding="utf-8")
    gate = Gate(url, NAME, spec=read_config(config).gates[0])
    token = create_key(gate, "bench", ["decide", "outcomes", "read", "admin"])
    gate.shut()
    return config, token


def longest_stalls(url: str, size: Size, folder: Path, console: Console) -> dict[str, float]:
    """Measure how long `/health` waits at most while large requests arrive, hostile or not."""
    config, token = make_gate(url, folder)
    with process(serve_command(config), OURS):
        return stalls(Service(OURS, NAME, token), min(size.seconds, 2.0), size.repeats, console)


def a_million(url: str, size: Size, folder: Path, console: Console) -> dict[str, Any]:
    """Send many decisions in batches: memory on the way, then audit and cold start."""
    config, token = make_gate(url, folder)
    memory = []
    with process(serve_command(config), OURS) as service:
        ours = Contender("gate", OURS, f"/v1/gates/{NAME}", token)
        step = size.decisions // 10
        for part in range(10):
            plan = {"port": OURS, "path": f"{ours.path}/decisions/batch", "token": token, "people": 1000}
            load(**plan, seconds=600.0, requests=step // 1000, connections=4, prefix=f"m-{part}", seed=part)
            memory.append(megabytes(service))
    found: dict[str, Any] = {"memory": memory, **cold_start(url, config), **audit(url, size)}
    console.print(f"memory after each tenth: {', '.join(f'{each:.0f}' for each in memory)} MB")
    return found


def cold_start(url: str, config: Path) -> dict[str, float]:
    """Time a start with a full log: until the service is ready, and until a gate in Python has decided."""
    ready, first = [], []
    for repeat in range(3):
        begin = time.perf_counter()
        with process(serve_command(config), OURS):
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
        "print(time.perf_counter() - begin, int(found.clean))\ngate.shut()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, clean = ran.stdout.split()
    if clean != "1":
        raise SystemExit("the audit found a fault")
    return {"audit": size.decisions / float(seconds)}


# What is told


def goals(sides: dict[str, dict[str, Any]], many: dict[str, Any], stalled: dict[str, float]) -> list[Goal]:
    """Hold what was measured against what is wanted."""
    found = []
    for kind, side in sides.items():
        single, batch = (side[f"{what} gate"] / side[f"{what} bare"] for what in ("single", "batch"))
        rate = side["batch gate"]
        found += [
            Goal(f"{kind}: single decisions against the bare service", "≥ 0.70", f"{single:.2f}", single >= 0.7),
            Goal(f"{kind}: batches of {BATCH:,} against the bare service", "≥ 0.50", f"{batch:.2f}", batch >= 0.5),
            Goal(f"{kind}: decisions in batches", "≥ 50,000/s", f"{rate:,.0f}/s", rate >= 50_000),
            Goal(f"{kind}: p99 at half load", "≤ 25 ms", f"{1000 * side['p99']:.1f} ms", side["p99"] <= 0.025),
        ]
    grown = (many["memory"][-1] - many["memory"][1]) / 8
    audited, ready, first = many["audit"], many["ready"], many["first decision"]
    hostile, legitimate = (max(stalled[name] for name in names) for names in (HOSTILE, LEGITIMATE))
    return [
        *found,
        Goal("longest wait of /health, hostile requests", "≤ 0.25 s", f"{hostile:.3f} s", hostile <= 0.25),
        Goal("longest wait of /health, largest batches", "≤ 0.25 s", f"{legitimate:.3f} s", legitimate <= 0.25),
        Goal("memory by tenth of the decisions, after two", "≤ 1 MB", f"{grown:.1f} MB", grown <= 1.0),
        Goal("audit", "≥ 50,000/s", f"{audited:,.0f}/s", audited >= 50_000),
        Goal("from the start of the service until it is ready", "≤ 1 s", f"{ready:.2f} s", ready <= 1.0),
        Goal("from opening a gate to its first decision", "≤ 1 s", f"{first:.2f} s", first <= 1.0),
    ]


def show(sides: dict[str, dict[str, Any]], reached: list[Goal], console: Console) -> None:
    """Print the tables."""
    table = Table("decisions a second", "gate", "bare", "ratio")
    for kind, side in sides.items():
        for what in ("single", "batch"):
            ours, bare = side[f"{what} gate"], side[f"{what} bare"]
            table.add_row(f"{kind}, {what}", f"{ours:,.0f}", f"{bare:,.0f}", f"{ours / bare:.2f}")
    console.print(table)
    table = Table("goal", "wanted", "measured", "")
    for goal in reached:
        table.add_row(goal.what, goal.wanted, goal.measured, "reached" if goal.reached else "missed")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs, 100,000 decisions in place of a million")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--folder", type=Path, help="where databases are made; a temporary folder if not given")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    size, console = QUICK if options.quick else FULL, Console(width=120)
    kinds = ["SQLite", "PostgreSQL"]
    kinds = kinds if options.database == "both" else [each for each in kinds if each.lower() == options.database]
    sides = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for kind in kinds:
            with databases(kind, folder) as (url, bare_url):
                sides[kind] = side_by_side(kind, url, bare_url, size, folder, console)
        stalled = longest_stalls(str(folder / "stalls.db"), size, folder, console)
        many = a_million(str(folder / "million.db"), size, folder, console)
    reached = goals(sides, many, stalled)
    show(sides, reached, console)
    if options.json is not None:
        plain = {**sides, "stalls": stalled, "million": many, "goals": [asdict(each) for each in reached]}
        options.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


@contextmanager
def databases(kind: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Make two empty databases of a kind: ours and that of the bare service."""
    if kind == "SQLite":
        yield str(folder / "ours.db"), f"sqlite:///{folder}/bare.db"
        return
    with running_server() as server, fresh_database(server) as ours, fresh_database(server) as bare:
        yield ours, bare.replace("postgresql://", "postgresql+psycopg://")


if __name__ == "__main__":
    main()
