"""Run the commands of README.md and put what they print, shortened, below them.

    python -m scripts.front_page             # all of it: two minutes
    python -m scripts.front_page advise none # the passages of these names

A passage stands between two comments that name it, below the commands that print it. "…" marks what is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.passages import rewrite

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
WIDTH = 80
LEFT_OUT = "…"


def commands(name: str) -> str:
    """Return the commands above the passage of this name."""
    above, found, _ = README.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    if not found:
        raise SystemExit(f"README.md must have <!-- {name} -->")
    return str(re.findall(r"^```sh[^\n]*\n(.*?)^```$", above, flags=re.MULTILINE | re.DOTALL)[-1])


def passage(name: str) -> str:
    """Return the passage of this name as README.md has it."""
    _, _, rest = README.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    return rest.partition(f"<!-- end of {name} -->\n")[0].strip()


def shown(name: str, said: str) -> str:
    """Return the passage of this name, from what its commands print."""
    return "\n".join(["```text", SHORTENED[name](said), "```"])


def recommendation(said: str, wanted: Sequence[str]) -> str:
    """Return the headline and those sentences of the recommendation that begin with these words."""
    headline, _, rest = said.partition("Recommendation\n")
    *_, headline = re.split(r"^Next: .*\n", headline, flags=re.MULTILINE)
    whole = " ".join(rest.partition("\n\n")[0].split())
    kept: list[str] = []
    for sentence in re.split(r"(?<=[a-z0-9)]\.) (?=[A-Z])", whole):
        if sentence.startswith(tuple(wanted)):
            kept.append(sentence)
        elif kept and kept[-1] != LEFT_OUT:
            kept.append(LEFT_OUT)
    kept = kept[:-1] if kept[-1] == LEFT_OUT else kept
    return "\n".join([textwrap.fill(" ".join(headline.split()), WIDTH), textwrap.fill(" ".join(kept), WIDTH)])


def advised(said: str) -> str:
    """Return what matters of an advice that keeps what is required."""
    begin = ("Accept people", "With probability", "On the people", "If more acceptance", "With feedback")
    _, found, table = said.partition("Accepted today")
    lines = (found + table.partition("Today (with")[0]).splitlines()
    return "\n".join([recommendation(said, begin), LEFT_OUT, *(line.rstrip() for line in lines if line.strip())])


def refused(said: str) -> str:
    """Return what matters of an advice that no rule keeps what is required."""
    return recommendation(
        said, ("No threshold", "In 0.0%", "To go on", "No lottery", "Thresholds by group", "Here none")
    )


def watched(said: str) -> str:
    """Return what came of a gate."""
    table = said[said.rindex("round ") :].partition("\n")[2].partition("Exact figures")[0]
    return "\n".join([LEFT_OUT, *(line.rstrip() for line in table.splitlines() if line.strip())])


def ranked(said: str) -> str:
    """Return the leaderboard without its legend."""
    board, _, legend = said.partition("Share: ")
    best = re.search(r"The best fixed threshold of every world .*?feasible\.", legend, flags=re.DOTALL)
    lines = [line.rstrip() for line in board.splitlines() if line.strip()]
    return "\n".join([*lines, LEFT_OUT, textwrap.fill(" ".join(best[0].split()), WIDTH) if best else LEFT_OUT])


SHORTENED: dict[str, Callable[[str], str]] = {"advise": advised, "none": refused, "demo": watched, "worlds": ranked}
"""How the output of each passage is shortened."""


def main(names: Sequence[str]) -> None:
    """Run the commands of these passages in one folder, and write what they print."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, ".programs")
        programs.mkdir()
        (programs / "fairgate").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairgate "$@"\n')
        (programs / "fairgate").chmod(0o755)
        path = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(WIDTH)}
        for name in names or SHORTENED:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands(name)],
                cwd=folder,
                env={**os.environ, **path, "NO_COLOR": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            rewrite("../README.md", name, shown(name, done.stdout).splitlines())


if __name__ == "__main__":
    main(sys.argv[1:])
