"""Time a sweep of 100,000 loops in one process, in two workers and on a Dask cluster of two, and watch its memory.

    python benchmarks/sweep.py                # 1,000 settings × 100 seeds × 3000 rounds, on each engine: half an hour
    python benchmarks/sweep.py --quick        # 40 settings × 100 seeds × 600 rounds: a minute
    python benchmarks/sweep.py --million      # 10,000 settings × 100 seeds, of 60 rounds: how memory grows with loops
    python benchmarks/sweep.py --engines workers:1 workers:2    # only these

OFS on COMPAS over rate × epsilon. Every engine is a fresh process that writes to a fresh folder; time is on the wall,
from the call of `fg.sweep` to its result, with the start of the workers; memory is what the processes have resident,
looked at twice a second. The results of all engines must be the same, number for number.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # workers inherit it

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import fairgate as fg

ENGINES = ("workers:1", "workers:2", "local:2")
"""Processes of this machine, or a Dask cluster on it."""
WANTED, LIMIT = 1.8, 2e9
"""Speed-up by two workers, and bytes that a million loops may take."""
EVERY = 0.5
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Size:
    """How much is swept."""

    rates: int = 40
    epsilons: int = 25
    seeds: int = 100
    rounds: int = 3000

    @property
    def settings(self) -> int:
        """Number of settings."""
        return self.rates * self.epsilons

    @property
    def loops(self) -> int:
        """Number of loops."""
        return self.settings * self.seeds


QUICK, MILLION = Size(8, 5, rounds=600), Size(100, 100, rounds=60)


@dataclass(frozen=True)
class Outcome:
    """What a sweep took on an engine: seconds, peak bytes, blocks and their bytes, and a hash of all figures."""

    engine: str
    seconds: float
    client: int
    worker: int
    together: int
    blocks: int
    bytes: int
    digest: str


def sweep(engine: str, size: Size, folder: Path) -> dict[str, float | str]:
    """Sweep in this process, as `fg.sweep` does it."""
    kind, _, count = engine.partition(":")
    where: dict[str, int | str] = {"workers": int(count)} if kind == "workers" else {"cluster": engine}
    over = {"rate": np.linspace(0.01, 0.5, size.rates), "epsilon": np.linspace(0.01, 0.1, size.epsilons)}
    start = time.perf_counter()
    found = fg.sweep("compas", "ofs", over, size.seeds, rounds=size.rounds, out=folder, **where)  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for name in sorted(found.figures):
        digest.update(found.figures[name].tobytes())
    return {"seconds": seconds, "digest": digest.hexdigest()}


class Watch(threading.Thread):
    """Looks at the memory of a process and of those it started, until told to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(daemon=True)
        self.number, self.enough = number, threading.Event()
        self.client = self.worker = self.together = 0

    def run(self) -> None:
        """Look again and again."""
        while not self.enough.wait(EVERY):
            client, *workers = family(self.number)
            self.client = max(self.client, client)
            self.worker = max([self.worker, *workers])
            self.together = max(self.together, client + sum(workers))


def family(number: int) -> list[int]:
    """Return the bytes that a process has resident, and those of all processes that it started."""
    listed = subprocess.run(["ps", "-Ao", "pid=,ppid=,rss="], capture_output=True, text=True, check=True).stdout
    rows = [[int(each) for each in line.split()] for line in listed.splitlines()]
    size = {process: 1024 * resident for process, _, resident in rows}
    found = [number]
    for process in found:
        found += [one for one, parent, _ in rows if parent == process]
    return [size.get(process, 0) for process in found]


def measured(engine: str, size: Size) -> Outcome:
    """Sweep in a fresh process and watch it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--child", engine, json.dumps(asdict(size)), name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            watch = Watch(process.pid)
            watch.start()
            printed, _ = process.communicate()
            watch.enough.set()
            watch.join()
        if process.returncode:
            raise SystemExit(f"the sweep on {engine} failed")
        blocks = sorted((folder / "blocks").glob("*.parquet"))
        moved = sum(path.stat().st_size for path in blocks)
    found = json.loads(printed.splitlines()[-1])
    return Outcome(
        engine,
        found["seconds"],
        watch.client,
        watch.worker,
        watch.together,
        len(blocks),
        moved,
        found["digest"],
    )


def report(found: list[Outcome], size: Size, million: bool) -> list[str]:
    """Return the table and whether the goals are reached."""
    lines = [
        f"{size.settings:,} settings × {size.seeds} seeds × {size.rounds:,} rounds: {size.loops:,} loops, OFS on "
        "COMPAS over rate × epsilon.",
        "",
        "| engine | wall, s | loop-rounds/s | against one process | client, MB | largest worker, MB | all, MB | blocks "
        "| bytes per block |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    alone = next((each.seconds for each in found if each.engine == "workers:1"), None)
    for each in found:
        faster = "–" if alone is None else f"{alone / each.seconds:.2f} ×"
        memory = " | ".join(f"{number / 1e6:,.0f}" if number else "–" for number in (each.client, each.worker))
        lines.append(
            f"| {each.engine} | {each.seconds:.1f} | {size.loops * size.rounds / each.seconds:,.0f} | {faster} | "
            f"{memory} | {each.together / 1e6:,.0f} | {each.blocks:,} | {each.bytes / max(each.blocks, 1):,.0f} |"
        )
    same = len({each.digest for each in found}) == 1
    lines += ["", f"All figures are {'the same' if same else 'NOT THE SAME'} on {len(found)} engines."]
    if alone is not None:
        for each in found:
            if each.engine.endswith(":2"):
                faster_by = alone / each.seconds
                verdict = "reached" if faster_by >= WANTED else "missed"
                lines.append(f"{each.engine}: {faster_by:.2f} × one process, wanted {WANTED} ×: {verdict}.")
    if million:
        most = max(each.together for each in found)
        verdict = "reached" if most < LIMIT else "missed"
        lines.append(f"A million loops: {most / 1e9:.2f} GB at most in all processes, wanted 2 GB: {verdict}.")
    return lines


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        _, _, engine, asked, folder = sys.argv
        print(json.dumps(sweep(engine, Size(**json.loads(asked)), Path(folder))))
        return
    parser = argparse.ArgumentParser(description="Time a sweep on several engines and watch its memory.")
    parser.add_argument("--quick", action="store_true", help="fewer settings and rounds")
    parser.add_argument("--million", action="store_true", help="a million short loops, on two workers")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds per loop, instead of those above")
    parser.add_argument("--engines", nargs="+", metavar="ENGINE", help=f"such as {' '.join(ENGINES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    given = parser.parse_args()
    size = MILLION if given.million else QUICK if given.quick else Size()
    size = replace(size, rounds=given.rounds or size.rounds)
    engines = given.engines or (["workers:2"] if given.million else ENGINES)
    found = []
    for engine in engines:
        print(f"{engine} …", file=sys.stderr, flush=True)
        found.append(measured(engine, size))
    print("\n".join(report(found, size, given.million)))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
