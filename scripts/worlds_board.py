"""Write what `fairgate bench --worlds` found into docs/worlds.md, and SafeSearch by class into docs/learners.

For docs/worlds.md: `fairgate bench --worlds 500 --out worlds`, then `python -m scripts.worlds_board worlds`.

For docs/learners/safe-search.md, the same for other runs of safe-search in its classes, such as

- `fairgate bench --worlds 500 --rounds 300 --level selective-labels --out short`
- `fairgate bench --worlds 500 --history 5000 --learners safe-search,safe-search-lottery --out warm`
- `python -m scripts.worlds_board --classes worlds short warm`
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from fairgate.bench.worlds.board import CLASSES, lowest_tenth
from scripts.passages import rewrite


def ends(found: dict[str, float]) -> str:
    """Write an interval."""
    return f"[{found['low']:.2f}, {found['high']:.2f}]"


def signed(line: str) -> str:
    """Write the minus signs of a line of a table as such."""
    return line.replace(" -", " −").replace("[-", "[−") if line.startswith("| ") else line


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
            f"| `{level}`, {rows[0]['worlds']} worlds | among | share | median | worst tenth | violation | feasible in "
            "the tail | settled | ahead of the best baseline |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for row in rows:
            name = row["learner"] if row["rank"] else f"({row['learner']})"
            share, ahead = row["share"], row["ahead"]
            settled = "–" if row["settled"] is None else f"{row['settled']:.0%}"
            best = row["learner"] in document["best_baseline"].get(level, {}).values()
            alone = "best baseline" if best else "no baseline"
            far = alone if ahead is None else f"{ahead['value']:+.2f} {ends(ahead)}"
            found.append(
                f"| {name} | {CLASSES[row['among']]} | {round(share['value'], 2) + 0.0:.2f} {ends(share)} "
                f"| {row['median']:.2f} "
                f"| {row['worst_tenth']:.2f} | {row['violation']:.4f} | {row['feasible_tail']:.0%} | {settled} "
                f"| {far} |"
            )
    return [signed(line) for line in found]


LEVEL, SEARCH = "selective-labels", "safe-search"

CALLED = {
    SEARCH: "one threshold",
    f"{SEARCH}-no-lottery": "one threshold, without a lottery",
    f"{SEARCH}-lottery": "lottery of two thresholds",
    f"{SEARCH}:policies=per-group": "a threshold per group",
}
"""What SafeSearch is called in each class."""


def called(learner: str) -> str:
    """Name a learner in words, if it is SafeSearch.

    >>> called("safe-search-lottery"), called("ofs")
    ('lottery of two thresholds (`safe-search-lottery`)', '`ofs`')
    """
    return f"{CALLED[learner]} (`{learner}`)" if learner in CALLED else f"`{learner}`"


def classes_of(documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Return the passage on SafeSearch by class: its rows of all documents, each beside the best baseline."""
    yield (
        "| policies | worlds | rounds | past decisions | share | median | worst tenth "
        "| of the best threshold's: median, worst tenth | violation | feasible in the tail "
        "| “none is feasible”: wrongly, rightly |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for document in documents:
        settings = document["settings"]
        shown = [row for row in document["board"].get(LEVEL, []) if row["learner"].startswith(SEARCH)]
        baselines = document["best_baseline"].get(LEVEL, {}).values()
        shown += [row for row in document["board"].get(LEVEL, []) if row["learner"] in baselines]
        for row in shown:
            name = called(row["learner"]) + (", the best baseline there" if row["learner"] in baselines else "")
            warm = f"{settings['history']:,}" if row["learner"] in settings.get("warm", ()) else "none"
            said = ["–" if each is None else f"{each:.1%}" for each in (row["claimed_wrong"], row["claimed_right"])]
            within = document.get("of_threshold", {}).get(row["learner"])
            of_threshold = "–" if within is None else "{:.2f}, {:.2f}".format(*within).replace("-", "−")
            yield signed(
                f"| {name} | {settings['which']} | {settings['rounds']:,} | {warm} "
                f"| {row['share']['value']:.2f} {ends(row['share'])} | {row['median']:.2f} | {row['worst_tenth']:.2f} "
                f"| {of_threshold} | {row['violation']:.4f} | {row['feasible_tail']:.1%} | {', '.join(said)} |"
            )


def read(folder: Path) -> dict[str, Any]:
    """Return what a benchmark found, and shares of what the best threshold earns, where there is a feasible one."""
    found: dict[str, Any] = json.loads((folder / "worlds.json").read_text(encoding="utf-8"))
    rows = pq.read_table(folder / "worlds.parquet", columns=["learner", "share_threshold"]).to_pylist()
    shares: dict[str, list[float]] = {}
    for row in rows:
        if row["share_threshold"] is not None and np.isfinite(row["share_threshold"]):
            shares.setdefault(row["learner"], []).append(row["share_threshold"])
    found["of_threshold"] = {name: (np.median(each), lowest_tenth(np.array(each))) for name, each in shares.items()}
    return found


def main() -> None:
    """Read the documents and write the passages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="whose board goes into docs/worlds.md")
    parser.add_argument("--classes", type=Path, nargs="+", default=[], help="folders with safe-search in its classes")
    given = parser.parse_args()
    if given.folder is not None:
        rewrite("worlds.md", "board", lines_of(read(given.folder)))
    if given.classes:
        rewrite("learners/safe-search.md", "classes", list(classes_of(map(read, given.classes))))


if __name__ == "__main__":
    main()
