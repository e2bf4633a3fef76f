"""Simulate what a sweep takes on 1 to 2,000 cores, from block times and overheads measured here.

    python -m scripts.simulate_cluster                     # measure (three minutes), simulate, print, draw
    python -m scripts.simulate_cluster --write             # and put the tables into the guide
    python -m scripts.simulate_cluster --keep costs.json   # also keep what was measured
    python -m scripts.simulate_cluster --costs costs.json  # simulate from what was measured before

It is a simulation, not a measurement, of a cluster: blocks take as long as they do on a core of this machine, client
and scheduler as long per block as those of a real Dask cluster of this machine, and what the client does by itself
before the first block and after the last as long as here; all by processor time. A worker starts as a ``dask worker``
does here, by the clock. Assumed, not measured: cores differ in speed by 10% (sd), and results reach the client
at 100 MB/s. Writes docs/figures/cluster.png and prints the tables of docs/guides/cluster.md.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # numpy reads it once

import argparse
import heapq
import io
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

from fairgate.engines import InProcess, open_engine
from fairgate.engines.parcel import Packer
from fairgate.learners import load_learner
from fairgate.simulation import Size
from fairgate.store import Work, complete, write_table, write_text
from fairgate.sweep import Range, running, sweep
from fairgate.sweep.cells import Plan
from fairgate.sweep.packs import STACK, Pack
from fairgate.sweep.page import render
from fairgate.sweep.parameters import Known
from fairgate.sweep.running import LEAST, SHARE
from fairgate.tasks import load_task
from scripts.passages import rewrite

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "cluster.png"
ROUNDS, SEEDS, TASK = 3000, 100, "compas"
CORES = (1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000, 2000)
SHOWN = (1, 2, 16, 125, 500, 1000, 2000)
PACKS = (1, 2, 5, 10)
"""Settings of 100 seeds in a pack, of which the time is measured."""
SPREAD, BANDWIDTH, DRAWS = 0.1, 1e8, 5


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds and bytes.

    Attributes
    ----------
    blocks
        Of each learner, the time of a block of so many settings, in whole (3000 rounds).
    client, scheduler
        Processor time of either per block.
    keep
        Writing a block's file and noting it, in the client.
    start
        A ``dask worker``, from its start until the scheduler knows it and it has a task, by the clock.
    alone, alone_block, alone_setting
        What the client does by itself before the first block and after the last: planning, reading blocks back,
        tables and page; in any case, per block and per setting.
    sent, returned
        Bytes of a call and of its result, per setting of 100 seeds.
    """

    blocks: Mapping[str, Mapping[str, float]]
    client: float
    scheduler: float
    keep: float
    start: float
    sent: float
    returned: float
    alone: float
    alone_block: float
    alone_setting: float

    def block(self, learner: str, settings: int) -> float:
        """Return the time of a block, in between by interpolation."""
        known = self.blocks[learner]
        return float(np.interp(settings, [int(each) for each in known], list(known.values())))

    @property
    def central(self) -> float:
        """What a block takes of the slower of client and scheduler, through which all blocks go."""
        return max(self.client + self.keep, self.scheduler)

    def serial(self, blocks: int, settings: int) -> float:
        """Return what the client does by itself, while all workers are idle."""
        return self.alone + self.alone_block * blocks + self.alone_setting * settings


@dataclass(frozen=True)
class Job:
    """A sweep to simulate."""

    learner: str
    settings: int

    def __str__(self) -> str:
        return f"{self.settings:,} settings, {self.learner}"

    def per_block(self, cores: int) -> int:
        """Settings in a block, as `fg.sweep` chooses them."""
        total = self.settings * SEEDS
        some = max(total / (cores * SHARE), min(total / cores, LEAST))
        return max(1, min(STACK, math.ceil(some)) // SEEDS)

    def blocks(self, cores: int) -> int:
        """How many blocks there are."""
        return math.ceil(self.settings / self.per_block(cores))

    def ideal(self, costs: Costs) -> float:
        """Seconds of one core that does nothing but blocks, of the size that is the fastest."""
        return self.settings * min(costs.block(self.learner, settings) / settings for settings in PACKS)


JOBS = (Job("ofs", 1_000), Job("ofs", 10_000), Job("safe-forecast", 1_000), Job("safe-forecast", 10_000))


# What is measured.


def packs(learner: str, count: int, settings: int, rounds: int) -> list[Pack]:
    """Return packs of so many settings each, as a sweep over rate makes them."""
    task, made = load_task(TASK), load_learner(learner)
    known = Known(task, {learner: made})
    design = {"rate": np.linspace(0.05, 0.5, count * settings)}
    size = Size(rounds=rounds, seeds=SEEDS)
    plan = Plan(task, known.learners, size, design, {"rate": known.find("rate")})
    cells = list(plan.cells({learner: ""}))
    return [Pack(TASK, made, size, cells[first : first + settings]) for first in range(0, len(cells), settings)]


def block_seconds(learner: str, rounds: int, repeats: int) -> dict[str, float]:
    """Return the seconds of a block of 3000 rounds, by the settings in it; the fastest of some, by processor time."""
    found = {}
    for settings in PACKS:
        spent = []
        for pack in packs(learner, repeats, settings, rounds):
            start = time.process_time()
            pack.simulate("block")
            spent.append(time.process_time() - start)
        found[str(settings)] = min(spent) * ROUNDS / rounds
    return found


def cluster_seconds(calls: int, size: int) -> tuple[float, float, float]:
    """Return the processor time per call, of client and of scheduler, and how long a worker takes to start.

    They are those of a real Dask cluster with nothing to do but the calls, which return so many bytes.
    """
    import distributed

    connect: Any = distributed.Client
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        started: list[subprocess.Popen[bytes]] = []

        def launch(name: str, *options: str) -> float:
            """Start a part of the cluster, and return when."""
            command = [sys.executable, "-m", f"distributed.cli.{name}", "--scheduler-file", str(file), *options]
            local = ["--host", "127.0.0.1", "--no-dashboard"]
            began = time.monotonic()
            started.append(
                subprocess.Popen([*command, *local], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
            )
            return began

        try:
            launch("dask_scheduler", "--port", "0")
            while not file.is_file():
                time.sleep(0.1)
            with connect(scheduler_file=str(file)) as probe:
                starts = []
                for count in (1, 2, 3):
                    began = launch("dask_worker", "--nthreads", "1", "--no-nanny")
                    probe.wait_for_workers(count)
                    probe.run(load_task, TASK)
                    starts.append(time.monotonic() - began)
                with open_engine(cluster=str(file)) as engine:
                    for count in (50, calls):  # the first are for warming up
                        before = time.process_time(), probe.run_on_scheduler(time.process_time)
                        for _ in engine.run([partial(bytes, size)] * count):
                            pass
                        after = time.process_time(), probe.run_on_scheduler(time.process_time)
        finally:
            for process in started:
                process.terminate()
                process.wait()
    client, scheduler = ((late - early) / calls for early, late in zip(before, after, strict=True))
    return client, scheduler, min(starts)


def alone_seconds(settings: int) -> tuple[float, float, float]:
    """Return the processor time of the client by itself: in any case, per block, and per setting.

    It is that of a sweep whose blocks are all done: planned, read back, put in tables, saved and drawn.
    """
    few, many = settings // 10, settings
    _done_seconds(few, SEEDS)  # for warming up
    first, _ = _done_seconds(few, SEEDS)
    last, blocks = _done_seconds(many, SEEDS)  # a block for each setting
    large, fewer = _done_seconds(many, STACK)
    per_block = max(0.0, (last - large) / (blocks - fewer))
    per_setting = max(0.0, (last - first) / (many - few) - per_block)
    return max(0.0, first - few * (per_block + per_setting)), per_block, per_setting


def _done_seconds(settings: int, loops: int) -> tuple[float, int]:
    """Return the processor time of a sweep of which all is done, in blocks of so many loops, and their number."""
    over = {"rate": Range(0.05, 0.5, settings // 2), "epsilon": [0.02, 0.08]}
    given: dict[str, Any] = {"over": over, "seeds": SEEDS, "rounds": 1}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        with patch.object(running, "STACK", loops):
            sweep(TASK, "ofs", **given, out=out)
        start = time.process_time()
        found = sweep(TASK, "ofs", **given, out=out)
        found.save(out / "seeds.parquet")
        write_table(out / "sweep.parquet", found.columns(), found.settings)
        write_text(out / "sweep.html", render(found))
        return time.process_time() - start, len(list((out / "blocks").glob("*.parquet")))


def keep_seconds(blocks: int, size: int) -> float:
    """Return the seconds that the client takes to write a block's file and to note it."""
    work = [Work(f"block{k}", "", (f"block{k}",), 1.0, partial(_made, f"block{k}", size)) for k in range(blocks)]
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        complete(Path(folder), work, InProcess(), lambda text: None)
        return (time.process_time() - start) / blocks


def _made(name: str, size: int) -> dict[str, bytes]:
    return {name: bytes(size)}


def measure(quick: bool) -> Costs:
    """Measure everything."""
    rounds, repeats, calls, settings = (30, 1, 100, 20) if quick else (300, 5, 1000, 500)
    blocks = {name: block_seconds(name, rounds, repeats) for name in dict.fromkeys(job.learner for job in JOBS)}
    (pack,) = packs("ofs", 1, PACKS[-1], 10)
    returned = len(pack.simulate("block")["block"]) / PACKS[-1]
    size = round(returned * PACKS[-1])
    client, scheduler, start = cluster_seconds(calls, size)
    sent = len(Packer()(partial(pack.simulate, "block"))) / PACKS[-1]
    return Costs(blocks, client, scheduler, keep_seconds(calls, size), start, sent, returned, *alone_seconds(settings))


# The simulation.


def simulate(job: Job, cores: int, costs: Costs, spread: float = SPREAD) -> float:
    """Return the seconds of a sweep on so many cores, the mean over some draws of how fast they are."""
    return float(np.mean([simulate_once(job, cores, costs, spread, seed) for seed in range(DRAWS)]))


def simulate_once(job: Job, cores: int, costs: Costs, spread: float, seed: int) -> float:
    """Return the seconds of a sweep on so many cores.

    One client sends blocks and takes results one after the other; a worker begins the next block that has been sent
    as soon as it has finished one. What the client does for a block is done half when it is sent and half when its
    result has come.
    """
    rng = np.random.default_rng(seed)
    per = job.per_block(cores)
    blocks = [per] * (job.settings // per) + [job.settings % per] * (job.settings % per > 0)
    slow = np.exp(spread * rng.standard_normal(cores))
    slow *= (1.0 / slow).mean()  # together they are as fast as the core that was measured
    half = 0.5 * costs.central + 0.5 * (costs.sent + costs.returned) * per / BANDWIDTH
    free = 0.0  # when the client has nothing to do
    sent: list[float] = []  # when each block was there for a worker

    def send(now: float) -> float:
        done = max(now, free) + half
        sent.append(done)
        return done

    ahead = min(len(blocks), max(8, 3 * cores))
    for _ in range(ahead):
        free = send(0.0)
    idle = [(costs.start, worker) for worker in range(cores)]  # when each worker is free
    heapq.heapify(idle)
    coming: list[float] = []  # results on their way to the client
    end = 0.0
    for number, settings in enumerate(blocks):
        while number >= len(sent):  # the client takes a result, and sends the next block
            free = send(max(heapq.heappop(coming), free) + half)
        now, worker = heapq.heappop(idle)
        done = max(now, sent[number]) + costs.block(job.learner, settings) * slow[worker]
        heapq.heappush(idle, (done, worker))
        heapq.heappush(coming, done)
    while coming:
        end = free = max(heapq.heappop(coming), free) + half
    return end + costs.serial(len(blocks), job.settings)


def losses(job: Job, cores: int, costs: Costs) -> dict[str, float]:
    """Return the seconds beyond the ideal that each cause adds, one after the other."""
    idle = replace(costs, alone=0.0, alone_block=0.0, alone_setting=0.0)
    nothing = replace(idle, client=0.0, scheduler=0.0, keep=0.0, start=0.0, sent=0.0, returned=0.0)
    ideal = job.ideal(costs) / cores
    small = job.settings / job.per_block(cores) * costs.block(job.learner, job.per_block(cores)) / cores
    last = simulate(job, cores, nothing)  # among cores of different speed
    started = simulate(job, cores, replace(nothing, start=costs.start))
    return {
        "nothing lost": ideal,
        "smaller blocks": small - ideal,
        "waiting for the last blocks": last - small,
        "start of the workers": started - last,
        "client and scheduler, per block": simulate(job, cores, idle) - started,
        "client by itself, before and after": costs.serial(job.blocks(cores), job.settings),
    }


# What is printed and drawn.


def told(costs: Costs) -> list[str]:
    """Return what was measured, as a table."""
    lines = ["| measured here | |", "|---|---:|"]
    for learner, known in costs.blocks.items():
        for settings in (PACKS[0], PACKS[-1]):
            loops = f"{settings * SEEDS:,} loops of {ROUNDS:,} rounds"
            lines.append(f"| a block of {loops}, `{learner}` | {known[str(settings)]:.2f} s |")
    lines += [
        f"| Dask's client, per block | {1e3 * costs.client:.1f} ms |",
        f"| Dask's scheduler, per block | {1e3 * costs.scheduler:.1f} ms |",
        f"| writing a block's file and noting it, in the client | {1e3 * costs.keep:.1f} ms |",
        f"| the client by itself, before the first block and after the last | {costs.alone:.1f} s |",
        f"| and for each block, which is read back | {1e3 * costs.alone_block:.1f} ms |",
        f"| and for each setting, in tables and page | {1e3 * costs.alone_setting:.1f} ms |",
        f"| a `dask worker` from its start until it is registered and has a task | {costs.start:.1f} s |",
        f"| bytes of a call, per {SEEDS} loops | {costs.sent:,.0f} |",
        f"| bytes of its result, per {SEEDS} loops | {costs.returned:,.0f} |",
    ]
    return lines


def expected(costs: Costs) -> list[str]:
    """Return time and efficiency by number of cores, and where they are lost, as tables."""
    lines = ["| cores | " + " | ".join(str(job) for job in JOBS) + " |", "|---:|" + "---:|" * len(JOBS)]
    for cores in SHOWN:
        cells = []
        for job in JOBS:
            seconds = simulate(job, cores, costs)
            cells.append(f"{clock(seconds)} ({job.ideal(costs) / (cores * seconds):.0%})")
        lines.append(f"| {cores:,} | {' | '.join(cells)} |")
    lines += ["", "| seconds on 1,000 cores | " + " | ".join(str(job) for job in JOBS) + " |"]
    lines.append("|---|" + "---:|" * len(JOBS))
    lost = [losses(job, 1000, costs) for job in JOBS]
    lines += [f"| {cause} | {' | '.join(f'{each[cause]:.1f}' for each in lost)} |" for cause in lost[0]]
    return lines


def clock(seconds: float) -> str:
    """Write a duration."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def draw(costs: Costs, path: Path) -> None:
    """Draw efficiency against the number of cores."""
    from fairgate.plots import COLOURS, FONT, panels

    figure, (ax,) = panels(1, 1, 5.0, 3.0)
    for place, job in enumerate(JOBS):
        shares = [job.ideal(costs) / (cores * simulate(job, cores, costs)) for cores in CORES]
        style: dict[str, Any] = {"color": COLOURS[place], "marker": "os^D"[place], "markersize": 4, "linewidth": 1.2}
        ax.plot(CORES, [100 * each for each in shares], label=str(job), **style)
    ax.set_xscale("log")
    ax.set_xticks(SHOWN, [f"{cores:,}" for cores in SHOWN], fontsize=FONT)
    ax.minorticks_off()
    ax.set_ylim(0, 105)
    ax.set_xlabel("cores (simulated)", fontsize=FONT)
    ax.set_ylabel("efficiency, %", fontsize=FONT)
    ax.legend(fontsize=FONT, frameon=False, loc="lower left")
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=160)
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, simulate, print and draw."""
    parser = argparse.ArgumentParser(description="Simulate what a sweep takes on 1 to 2,000 cores.")
    parser.add_argument("--quick", action="store_true", help="measure little, to see that it works")
    parser.add_argument("--costs", type=Path, metavar="FILE", help="take what was measured from this file")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write what was measured to this file")
    parser.add_argument("--out", type=Path, default=FIGURE)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/guides/cluster.md")
    given = parser.parse_args(arguments)
    costs = Costs(**json.loads(given.costs.read_text())) if given.costs else measure(given.quick)
    if given.keep:
        given.keep.write_text(json.dumps(asdict(costs), indent=1) + "\n", encoding="utf-8")
    lines = [*told(costs), "", *expected(costs)]
    print("\n".join(lines))
    draw(costs, given.out)
    if given.write:
        rewrite("guides/cluster.md", "cluster", lines)


if __name__ == "__main__":
    main()
