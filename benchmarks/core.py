"""Time the core of pure functions beside the loop for arrays: OFS, rounds per second.

    python benchmarks/core.py                           # one core: 1, 100 and 1,000 loops, both in turn; about a minute
    python benchmarks/core.py --device gpu --bits 32    # up to a million loops on a GPU, without the other

A rate is the best of several repeats, compiling excluded; on a CPU by processor time of this process, which other
programs disturb little, on a GPU by the clock on the wall. `first` is the first call, compiling included.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # one core; numpy reads it once

import argparse
import time
from collections.abc import Callable

import fairgate as fg
from fairgate.loops.simulation import Size, simulate

REPEATS = 3
SIZES = {"cpu": ((1, 3000), (100, 1500), (1000, 300)), "gpu": ((1, 3000), (1000, 1000), (10**5, 300), (10**6, 300))}


def timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the seconds of a call."""
    begun = clock()
    call()
    return clock() - begun


def main() -> None:
    """Print a line per number of loops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="compas")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--bits", choices=[32, 64], type=int, default=64)
    asked = parser.parse_args()
    task, learner, clock = fg.load_task(asked.task), fg.OFS(), time.perf_counter
    if asked.device == "cpu":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        clock = time.process_time
    size = Size(
        device=asked.device, bits=asked.bits, together=SIZES[asked.device][-1][0] if asked.device == "gpu" else None
    )
    print(f"{'loops':>9} {'first s':>8} {'core':>13} {'for arrays':>11} {'ratio':>6}")
    for loops, rounds in SIZES[asked.device]:

        def new(loops: int = loops, rounds: int = rounds) -> object:
            return simulate(task, learner, rounds, loops, keep="summary", size=size)

        def old(loops: int = loops, rounds: int = rounds) -> object:
            return fg.simulate(task, learner, rounds=rounds, seeds=loops, keep="summary")

        first, played = timed(new, clock), loops * rounds
        if asked.device == "gpu":
            rate = played / min(timed(new, clock) for _ in range(REPEATS))
            print(f"{loops:>9,} {first:>8.1f} {rate:>13,.0f}", flush=True)
            continue
        pairs = [(timed(new, clock), timed(old, clock)) for _ in range(REPEATS)]
        ours, theirs = (played / min(each) for each in zip(*pairs, strict=True))
        print(f"{loops:>9,} {first:>8.1f} {ours:>13,.0f} {theirs:>11,.0f} {ours / theirs:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
