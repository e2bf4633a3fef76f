"""Print the tables of docs/learners/index.md from the outcome of `fairgate bench`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fairgate.learners.registry import RECOMMENDED


def main() -> None:
    """Read bench.json of the folder given, and print Markdown."""
    bench: dict[str, Any] = json.loads((Path(sys.argv[1]) / "bench.json").read_text(encoding="utf-8"))
    by_task(bench)
    for level, rows in bench["leaderboard"].items():
        reference = bench["settings"]["reference"][level]
        print(f"\n**Level `{level}`**" + (f", best baseline: `{reference}`\n" if reference else "\n"))
        print("| learner | target met | share | shortfall per round | beats best baseline | violation |")
        print("|---|---|---|---|---|---|")
        for row in rows:
            short, share, better = row["shortfall"], row["share"], row["better"]
            earned, improved = ("–" if each is None else f"{each['value']:.2f}" for each in (share, better))
            print(
                f"| {row['learner']} | {row['success']:.0%} | {earned.replace('-', '−')} | {short['value']:.4f} "
                f"({short['low']:.4f} to {short['high']:.4f}) | {improved} | {row['violation']:.1f} |"
            )


def by_task(bench: dict[str, Any]) -> None:
    """Print target and violation of the recommended learners on each task beside their levels' best baselines."""
    settings, outcomes = bench["settings"], bench["results"]
    pairs = [(level, name) for level, own in RECOMMENDED.items() for name in (settings["reference"].get(level), own)]
    shown = {name: settings["levels"][level] for level, name in pairs if name in outcomes}
    print("| task | " + " | ".join(f"{name}: target, violation" for name in shown) + " |")
    print("|---|" + "---|" * len(shown))
    for task, known in bench["tasks"].items():
        cells = [
            f"{found[target]['mean']:.0%}, {found['violation']['mean']:.2f}"
            if (found := outcomes[name].get(task))
            else "–"
            for name, target in shown.items()
        ]
        none = "" if known["feasible"] else " (none feasible)"
        print(f"| {task}{none} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
