"""Write the tables of docs/learners/index.md from the outcome of `fairgate bench`.

Run `fairgate bench --workers 2 --out bench` first, and then `python -m scripts.evidence bench`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairgate.learners.registry import RECOMMENDED
from scripts.passages import rewrite

BESIDE = {"selective-labels": ("safe-search-lottery",)}
"""Learners that are shown task by task beside the recommended ones, if they took part."""


def by_task(bench: dict[str, Any]) -> Iterator[str]:
    """Return target and violation of the recommended learners on each task beside their levels' best baselines."""
    settings, outcomes = bench["settings"], bench["results"]
    pairs = [
        (level, name)
        for level, own in RECOMMENDED.items()
        for name in (settings["reference"].get(level), own, *BESIDE.get(level, ()))
    ]
    shown = {name: settings["levels"][level] for level, name in pairs if name in outcomes}
    yield "| task | " + " | ".join(f"{name}: target, violation" for name in shown) + " |"
    yield "|---|" + "---|" * len(shown)
    for task, known in bench["tasks"].items():
        cells = [
            f"{found[target]['mean']:.0%}, {found['violation']['mean']:.2f}"
            if (found := outcomes[name].get(task))
            else "–"
            for name, target in shown.items()
        ]
        none = "" if known["feasible"] else " (none feasible)"
        yield f"| {task}{none} | " + " | ".join(cells) + " |"


def by_level(bench: dict[str, Any]) -> Iterator[str]:
    """Return the size of the run, and a table of all learners per feedback level."""
    settings, outcomes = bench["settings"], bench["results"]
    pairs = sum(len(each) for each in outcomes.values())
    yield (
        f"One run: {len(outcomes)} learners, {len(bench['tasks'])} tasks, {pairs} pairs, {settings['seeds']} seeds × "
        f"{settings['rounds']:,} rounds."
    )
    for level, rows in bench["leaderboard"].items():
        reference = settings["reference"][level]
        yield f"\n**Level `{level}`**" + (f", best baseline: `{reference}`\n" if reference else "\n")
        yield "| learner | target met | share | shortfall per round | beats best baseline | violation |"
        yield "|---|---|---|---|---|---|"
        for row in rows:
            short, share, better = row["shortfall"], row["share"], row["better"]
            earned, improved = ("–" if each is None else f"{each['value']:.2f}" for each in (share, better))
            yield (
                f"| {row['learner']} | {row['success']:.0%} | {earned.replace('-', '−')} | {short['value']:.4f} "
                f"({short['low']:.4f} to {short['high']:.4f}) | {improved} | {row['violation']:.1f} |"
            )


def main() -> None:
    """Read bench.json of the folder given, and write both passages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    bench: dict[str, Any] = json.loads((parser.parse_args().folder / "bench.json").read_text(encoding="utf-8"))
    rewrite("learners/index.md", "tasks", list(by_task(bench)))
    rewrite("learners/index.md", "learners", list(by_level(bench)))


if __name__ == "__main__":
    main()
