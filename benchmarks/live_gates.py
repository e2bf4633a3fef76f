"""Open many live gates of one database in one process: time, threads, memory and connections.

    python benchmarks/live_gates.py                     # 1,000 gates, on SQLite and then on PostgreSQL
    python benchmarks/live_gates.py --gates 150 --database postgresql

The gates are made by one process; another one, which is measured, opens them, decides at one of them and then once at
each, all at the same time. `benchmarks/README.md` says what each line means. Needs ``pip install fairgate[test]``.
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
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event

from fairgate.live import Spec
from fairgate.live.config import ServiceSettings
from fairgate.live.requests import Decide
from fairgate.live.service.gates import Gates
from fairgate.live.service.metrics import Metrics

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.live.databases import fresh_database, running_server

TICKS = 5
"""Ticks that are timed."""


def settings_of(url: str, count: int) -> ServiceSettings:
    """Return the settings of gates that learn, in rounds that end by people or by time."""
    about: dict[str, Any] = {"groups": ["women", "men"], "constraints": {"parity": 0.1}, "start": {"threshold": 0.5}}
    grid = [round(0.02 * step, 2) for step in range(1, 50)]
    rounds = {"people": 1000, "seconds": 3600}
    names = [f"gate-{place}" for place in range(count)]
    specs = [Spec.read({"name": name, "grid": grid, "rounds": rounds, **about}) for name in names]
    return ServiceSettings(database=url, gates=specs)


def measure(url: str, count: int) -> dict[str, Any]:
    """Open the gates in this process, decide, and return the figures."""
    settings = settings_of(url, count)
    gates = Gates(settings)
    idle = megabytes()
    begin = time.perf_counter()
    gates.try_to_open()
    opened = time.perf_counter() - begin
    gates["gate-0"].decide(f"first-{time.time_ns()}", "women", 0.7)
    found: dict[str, Any] = {"open": opened, "first decision": time.perf_counter() - begin}
    gates.tick()
    gates.read()
    found["all read"] = time.perf_counter() - begin
    begin = time.perf_counter()
    asked = [gate.submit(Decide([f"all-{time.time_ns()}"], ["men"], [0.7], single=True)) for gate in gates.values()]
    for each in asked:
        each.result()
    found["a decision at each"] = time.perf_counter() - begin
    metrics = Metrics(gates)
    for name in ("metrics", "metrics again"):
        begin = time.perf_counter()
        metrics.written()
        found[name] = time.perf_counter() - begin
    statements = []
    event.listen(gates.database.engine, "before_cursor_execute", lambda *_: statements.append(1))
    times = []
    for _ in range(TICKS):
        begin = time.perf_counter()
        gates.tick()
        times.append(time.perf_counter() - begin)
    found |= {"tick": statistics.median(times), "statements of a tick": len(statements) / TICKS}
    found |= {"threads": threading.active_count(), "memory": megabytes() - idle}
    pool: Any = gates.database.engine.pool
    found["connections"] = pool.checkedin() + pool.checkedout()
    gates.shut()
    return found


def megabytes() -> float:
    """Return the memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def run(url: str, count: int) -> dict[str, Any]:
    """Make the gates in one process, and measure another one."""
    found = {}
    for what in ("make", "measure"):
        told = [sys.executable, __file__, "--gates", str(count), "--url", url, "--what", what]
        ran = subprocess.run(told, stdout=subprocess.PIPE, text=True, check=True)
        found[what] = json.loads(ran.stdout)
    return {**found["measure"], "make": found["make"]["seconds"]}


def make(url: str, count: int) -> dict[str, Any]:
    """Make the gates."""
    gates = Gates(settings_of(url, count))
    begin = time.perf_counter()
    gates.try_to_open()
    seconds = time.perf_counter() - begin
    gates.shut()
    return {"seconds": seconds}


@contextmanager
def databases(kind: str) -> Iterator[str]:
    """Make an empty database of a kind."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "gates.db")
        return
    with running_server() as server, fresh_database(server) as url:
        yield url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--url", help=argparse.SUPPRESS)  # of the processes that this one starts
    parser.add_argument("--what", choices=["make", "measure"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.what:
        print(json.dumps({"make": make, "measure": measure}[options.what](options.url, options.gates)))
        return
    kinds = ["sqlite", "postgresql"] if options.database == "both" else [options.database]
    for kind in kinds:
        with databases(kind) as url:
            for name, value in run(url, options.gates).items():
                print(f"{kind}, {options.gates} gates, {name}: {value:,.3f}")


if __name__ == "__main__":
    main()
