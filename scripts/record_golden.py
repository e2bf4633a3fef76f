"""Record what learners play and count on tasks: ``python scripts/record_golden.py --reason "why"``.

``tests/golden.json`` keeps a hash per learner and task, and ``tests/test_golden.py`` checks them, so that no change
goes unnoticed. A deliberate change is recorded here, with its reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import fairgate as fg
from fairgate.learners import LEARNERS
from fairgate.tasks import presets

FILE = Path(__file__).parents[1] / "tests" / "golden.json"
ROUNDS, SEEDS, SEED = 300, 3, 7

DECIMALS = 4
"""Policies are compared to so many: kernels of linear algebra differ by up to 1e-11 from processor to processor.

A rounded number differs only if it lies that near to where rounding turns: about once in ten million numbers.
"""

TASKS = ("mve-s", "german", "compas", "interior", "strategic", "drift", "label-delay", "many-groups", "participation")
"""Tasks on which every learner is recorded."""

EVERYWHERE = (
    "ofs",
    "random",
    "best-lottery",
    "bayesian",
    "smooth-optimist",
    "repeated-retraining",
    "safe-forecast",
    "mixture",
    "per-group",
)
"""Learners that are recorded on every task."""


def fingerprint(task: str, learner: str) -> str:
    """Return a hash of what was played and counted, and of what was recommended in the end."""
    spec = f"fixed:threshold={fg.load_task(task).thresholds[20]}" if learner == "fixed" else learner
    run = fg.simulate(fg.load_task(task), fg.load_learner(spec, task), rounds=ROUNDS, seeds=SEEDS, seed=SEED)
    policies = [run.played(), *([] if run.final is None else [run.final])]
    seen = hashlib.sha256(run.counts.astype(np.int32).tobytes())
    for policy in policies:
        for values in (policy.published, policy.weights):
            seen.update((np.round(values, DECIMALS) + 0.0).tobytes())  # no negative zero
    return seen.hexdigest()[:16]


def names() -> list[tuple[str, str]]:
    """Return every task with some learners, and every learner on some tasks, which together touch all code there is."""
    return [(task, name) for task in presets() for name in LEARNERS if task in TASKS or name in EVERYWHERE]


def main() -> None:
    """Write the file, and say what changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reason", required=True, help="why runs differ from those recorded before")
    reason = parser.parse_args().reason
    before: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    runs = {f"{task}/{learner}": fingerprint(task, learner) for task, learner in names()}
    changed = sorted(key for key in runs if before.get("runs", {}).get(key) != runs[key])
    if changed:
        entry = {"reason": reason, "changed": len(changed)}
        document = {"reasons": [*before.get("reasons", []), entry], "runs": runs}
        FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{len(changed)} of {len(runs)} runs differ", *changed[:40], sep="\n  ")


if __name__ == "__main__":
    main()
