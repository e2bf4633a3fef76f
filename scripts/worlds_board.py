"""Write the board of random worlds into docs/worlds.md, from what `fairgate bench --worlds` found.

Run `fairgate bench --worlds 500 --out worlds` first, and then `python -m scripts.worlds_board worlds`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from scripts.passages import rewrite


def ends(found: dict[str, float]) -> str:
    """Write an interval."""
    return f"[{found['low']:.2f}, {found['high']:.2f}]"


def lines_of(document: dict[str, Any]) -> list[str]:
    """Return the passage: which worlds, and a table per feedback level."""
    settings = document["settings"]
    found = [
        f"Worlds {settings['which']}, for {settings['purpose']}, {settings['rounds']:,} rounds, {settings['seeds']} "
        f"run each. The best fixed threshold of every world has a mean share of {document['threshold_share']:.2f}.",
    ]
    for level, rows in document["board"].items():
        found += [
            "",
            f"| `{level}`, {rows[0]['worlds']} worlds | share | median | worst tenth | violation | feasible in the "
            "tail | settled | ahead of the best baseline |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for row in rows:
            name = row["learner"] if row["rank"] else f"({row['learner']})"
            share, ahead = row["share"], row["ahead"]
            settled = "–" if row["settled"] is None else f"{row['settled']:.0%}"
            far = "best baseline" if ahead is None else f"{ahead['value']:+.2f} {ends(ahead)}"
            found.append(
                f"| {name} | {round(share['value'], 2) + 0.0:.2f} {ends(share)} | {row['median']:.2f} "
                f"| {row['worst_tenth']:.2f} | {row['violation']:.4f} | {row['feasible_tail']:.0%} | {settled} "
                f"| {far} |"
            )
    return [line.replace(" -", " −").replace("[-", "[−") if line.startswith("| ") else line for line in found]


def main() -> None:
    """Read the document and write the passage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    document = json.loads((parser.parse_args().folder / "worlds.json").read_text(encoding="utf-8"))
    rewrite("worlds.md", "board", lines_of(document))


if __name__ == "__main__":
    main()
