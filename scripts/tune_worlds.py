"""Tune every baseline with one budget on development worlds, and write src/fairgate/worlds/tuned.toml.

    python -m scripts.tune_worlds                       # a quarter of an hour on two idle cores
    python -m scripts.tune_worlds --write               # the same, and write the file
    python -m scripts.tune_worlds --learners ofs,random # some of them
    python -m scripts.tune_worlds --quick               # few worlds and rounds, to see that it works

A baseline's default and 15 settings drawn from its space are played in the same worlds, side by side. The one of the
highest mean share (as `fairgate bench --worlds` ranks) is kept, for all worlds alike. Worlds from 10,000 on, which
learners are judged by, are never looked at. fairgate's own learners keep their defaults.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # numpy reads it once

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count

from fairgate.bench.share import Yardsticks, yardsticks_of
from fairgate.bench.worlds.blocks import WorldBlock, blocks_of
from fairgate.bench.worlds.measures import measure
from fairgate.bench.worlds.running import able
from fairgate.engines import Crashed, open_engine
from fairgate.learners import Learner, load_learner
from fairgate.settings import Array
from fairgate.simulation import simulate
from fairgate.worlds.loading import task_of
from fairgate.worlds.shapes import JUDGING

FILE = Path(__file__).resolve().parents[1] / "src" / "fairgate" / "worlds" / "tuned.toml"
WORLDS, ROUNDS, SETTINGS, ROOT = 60, 1500, 16, 77

SPACES: dict[str, dict[str, tuple[float, float]]] = {
    "ofs": {"c": (1e-5, 1.0), "exploration": (0.003, 0.2)},
    "unconstrained": {"step": (0.002, 0.3), "radius": (0.03, 0.6)},
    "primal-dual": {"step": (0.002, 0.3), "radius": (0.03, 0.6), "dual_step": (0.03, 8.0)},
    "two-point": {"epoch_length": (5, 80), "step": (0.05, 2.0), "dual_step": (0.5, 30.0), "radius": (0.02, 0.2)},
    "epoch-zeroth-order": {
        "epoch_length": (5, 80),
        "step": (0.05, 2.0),
        "dual_step": (0.5, 30.0),
        "radius": (0.02, 0.2),
    },
    "performative-gradient": {"epoch_length": (5, 80), "step": (0.02, 0.5), "radius": (0.01, 0.2), "width": (0.3, 4.0)},
    "pessimistic-optimistic": {"epoch_length": (2, 30), "width": (0.003, 0.2), "trade_off": (0.003, 0.3)},
    "exp3-primal-dual": {
        "epoch_length": (1, 10),
        "rate": (0.3, 10.0),
        "dual_step": (0.1, 10.0),
        "largest": (0.05, 3.0),
    },
    "explore-then-commit": {"epoch_length": (1, 40)},
    "epsilon-greedy": {"epoch_length": (2, 60), "exploration": (0.01, 1.0)},
    "bayesian": {"epoch_length": (5, 80), "length": (0.05, 0.6), "amplitude": (0.1, 1.0), "beta": (0.3, 4.0)},
    "safe-bayesian": {"epoch_length": (5, 80), "length": (0.05, 0.6), "amplitude": (0.1, 1.0), "beta": (0.3, 4.0)},
    "thompson": {"epoch_length": (2, 60), "inflation": (1.0, 30.0)},
    "conformal-tracker": {"epoch_length": (2, 40), "step": (0.03, 1.0), "radius": (0.01, 0.2)},
    "exploring-ips": {"explore": (0.005, 0.3), "width": (0.1, 6.0), "forgetting": (0.002, 0.2)},
    "exploring-dr": {"explore": (0.005, 0.3), "width": (0.1, 6.0), "forgetting": (0.002, 0.2)},
    "repeated-retraining": {"width": (0.1, 6.0), "forgetting": (0.001, 0.2)},
    "retraining-lottery": {"width": (0.1, 6.0), "forgetting": (0.001, 0.2)},
    "threshold-optimizer": {"collect": (5, 200)},
    "best-lottery": {"collect": (5, 100)},
}
"""Settings that are tuned, and the range of each, drawn evenly on a log scale; the burn-in is half of an epoch."""


def settings_of(name: str, count: int) -> dict[str, Array]:
    """Return the values of each tuned setting, the default first, (count,) each."""
    rng = np.random.default_rng([ROOT, *name.encode()])
    default: Any = load_learner(name)
    found: dict[str, Array] = {}
    for key, (low, high) in SPACES[name].items():
        drawn = np.exp(rng.uniform(np.log(low), np.log(high), count - 1))
        if key == "forgetting":
            key, drawn = "discount", 1.0 - drawn
        drawn = (
            np.round(drawn)
            if key in ("epoch_length", "collect")
            else np.array([float(f"{each:.2g}") for each in drawn])
        )
        found[key] = np.concatenate(([getattr(default, key)], drawn))
    if "epoch_length" in found:
        found["burn_in"] = np.concatenate(([default.burn_in], np.floor(found["epoch_length"][1:] / 2)))
    return found


def yardsticks(block: WorldBlock, rounds: int) -> Yardsticks:
    """Solve the worlds of a block."""
    solved = [vars(yardsticks_of(task_of([world]), rounds)) for world in block.worlds]
    return Yardsticks(**{name: np.concatenate([each[name] for each in solved]) for name in solved[0]})


def shares(name: str, block: WorldBlock, best: Yardsticks, rounds: int, count: int) -> Array:
    """Return the share of every setting in every world of a block, (count, worlds); side by side where that can be."""
    learner, tried, worlds = load_learner(name), settings_of(name, count), len(block.numbers)
    task = task_of([world for _ in range(count) for world in block.worlds])
    varied: Learner[Any] = replace(
        learner, **{key: np.repeat(values, worlds).tolist() for key, values in tried.items()}
    )
    run = simulate(task, varied, rounds, count * worlds, seed=block.root(ROOT), batch=block.shape.batch)
    tiled = Yardsticks(*(np.tile(each, (count, 1)) for each in vars(best).values()))
    return measure(run, task, tiled, learner.searched)["share"].reshape(count, worlds)


def main() -> None:
    """Tune, print, and write the file if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", default=",".join(SPACES))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    names = chosen.learners.split(",")
    worlds, rounds, count = (10, 60, 3) if chosen.quick else (WORLDS, ROUNDS, SETTINGS)
    assert worlds <= JUDGING
    blocks = blocks_of(range(worlds))
    lines: list[str] = []
    with open_engine(cpu_count(), None, print) as engine:
        solved: dict[int, Any] = dict(engine.run([partial(yardsticks, block, rounds) for block in blocks]))
        able_to = {
            name: [place for place, block in enumerate(blocks) if able(load_learner(name), block)] for name in names
        }
        places = [(name, place) for name in names for place in able_to[name]]
        calls = [partial(shares, name, blocks[place], solved[place], rounds, count) for name, place in places]
        found: dict[str, list[Array]] = {name: [] for name in names}
        for place, result in engine.run(calls):
            if isinstance(result, Crashed):
                raise SystemExit(result.text)
            found[places[place][0]].append(result)
    for name in names:
        mean = np.clip(np.concatenate(found[name], axis=1), -1.0, 1.0).mean(axis=1)
        best, tried = int(mean.argmax()), settings_of(name, count)
        print(f"{name:24} default {mean[0]:6.3f}, tuned {mean[best]:6.3f}: "
              + ", ".join(f"{key}={values[best]:g}" for key, values in tried.items()), flush=True)  # fmt: skip
        lines.append(f"[{name}]  # mean share {mean[best]:.3f}, default {mean[0]:.3f}")
        lines += [f"{key} = {values[best]:g}" for key, values in tried.items()]
        lines.append("")
    if chosen.write:
        head = (
            f"# Settings of baselines on random worlds: the best of {count} tried on worlds 0 to {worlds - 1}, "
            f"{rounds} rounds each,\n# by `python -m scripts.tune_worlds --write`. What is not here keeps its default. "
            f"The mean shares are those of the best\n# of {count} in the worlds it was chosen in, and so too high.\n\n"
        )
        FILE.write_text(head + "\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
