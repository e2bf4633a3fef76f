"""Table I: tail reward, tail gap and cumulative violation of the three methods on the three tasks."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from fairgate.experiments.output import write_text
from fairgate.learners import load_learner
from fairgate.progress import progress
from fairgate.run import Estimate
from fairgate.simulation import simulate
from fairgate.tasks import load_task

METRICS = {"reward": "Reward", "gap": "DP gap (batch)", "violation": "Cum. violation"}


class Row(NamedTuple):
    """One method on one task: our summary, and the paper's figures for the three metrics."""

    task: str
    learner: str
    ours: dict[str, Estimate]
    paper: dict[str, Estimate]


def paper() -> dict[str, Any]:
    """Read the paper's printed values."""
    return tomllib.loads(resources.files("fairgate.experiments").joinpath("paper.toml").read_text(encoding="utf-8"))


def compute(rounds: int = 3000, seeds: int = 10, seed: int = 0) -> list[Row]:
    """Run every method on every task of the table."""
    cases = [(task, learner, values) for task, rows in paper()["table1"].items() for learner, values in rows.items()]
    rows = []
    with progress(rounds * seeds * len(cases)) as start:
        for task, learner, values in cases:
            report = start(f"Table I: {task}, {learner}")
            run = simulate(load_task(task), load_learner(learner, task), rounds, seeds, seed=seed, progress=report)
            printed = {metric: Estimate(*values[metric]) for metric in METRICS}
            rows.append(Row(task, learner, run.summary(), printed))
    return rows


def render(rows: list[Row]) -> Table:
    """Lay the table out for a terminal."""
    table = Table(title="Table I: ours, and the paper's below it")
    table.add_column("task")
    table.add_column("method")
    for metric in METRICS.values():
        table.add_column(metric, justify="right")
    for row in rows:
        ours = [_written(row.ours[metric], metric) for metric in METRICS]
        theirs = [_written(row.paper[metric], metric) for metric in METRICS]
        table.add_row(row.task, row.learner, *ours)
        table.add_row("", "  paper", *theirs, style="dim", end_section=row.learner == "ofs")
    return table


def _written(value: Estimate, metric: str) -> str:
    digits = 2 if metric == "violation" else 4
    return f"{value.mean:.{digits}f} ± {value.sd:.{digits}f}"


def write(rows: list[Row], out: Path) -> None:
    """Write the table as Markdown, CSV and JSON."""
    lines = ["| task | method | source | " + " | ".join(METRICS.values()) + " |", "|---" * (3 + len(METRICS)) + "|"]
    buffer = io.StringIO()
    sheet = csv.writer(buffer, lineterminator="\n")
    sheet.writerow(["task", "method", "source", *(f"{metric}_{part}" for metric in METRICS for part in ("mean", "sd"))])
    for row in rows:
        for source, values in (("ours", row.ours), ("paper", row.paper)):
            written = " | ".join(_written(values[metric], metric) for metric in METRICS)
            lines.append(f"| {row.task} | {row.learner} | {source} | {written} |")
            sheet.writerow([row.task, row.learner, source, *(part for metric in METRICS for part in values[metric])])
    document = {
        row.task + "." + row.learner: {
            "ours": {metric: value._asdict() for metric, value in row.ours.items()},
            "paper": {metric: value._asdict() for metric, value in row.paper.items()},
        }
        for row in rows
    }
    write_text(out / "table1.md", "\n".join(lines) + "\n")
    write_text(out / "table1.csv", buffer.getvalue())
    write_text(out / "table1.json", json.dumps(document, indent=2) + "\n")
