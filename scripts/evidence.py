"""Print the tables of docs/learners/index.md from the outcome of `fairgate bench`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read bench.json of the folder given, and print Markdown."""
    bench: dict[str, Any] = json.loads((Path(sys.argv[1]) / "bench.json").read_text(encoding="utf-8"))
    outcomes = bench["results"]
    shown = {"ofs": "success", "smooth-optimist": "success", "safe-forecast": "success_tight"}
    print("| task | " + " | ".join(f"{name}: target, violation" for name in shown) + " |")
    print("|---|" + "---|" * len(shown))
    for task in bench["tasks"]:
        cells = []
        for name, target in shown.items():
            found = outcomes[name][task]
            cells.append(f"{found[target]['mean']:.0%}, {found['violation']['mean']:.2f}")
        print(f"| {task} | " + " | ".join(cells) + " |")
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


if __name__ == "__main__":
    main()
