"""reproduce: run the whole paper, or the parts named, and write tables, figures, summary, manifest and report."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata, resources
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.errors import unknown_name
from fairgate.experiments import claims, figures, findings, report, rivals, tables
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, SEMI_SYNTHETIC, STRICT, TASKS, Context, Plan
from fairgate.experiments.results import Results
from fairgate.plots import image
from fairgate.simulation import simulate
from fairgate.store import code_digest, complete, file_hash, prepare_folder, write_bytes, write_text
from fairgate.tasks import presets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = {
    each.__name__: each
    for each in (tables.table1, tables.table2, tables.table3, tables.table4, tables.table5, tables.table6)
} | {"rivals": rivals.table}
FIGURES = {each.__name__: each for each in (figures.figure1, figures.figure2, figures.figure3)} | {
    "figure-rivals": rivals.figure
}
JOBS: dict[str, Callable[[Plan], list[Job]]] = {
    "table1": lambda plan: plan.jobs(TASKS),
    "table2": lambda plan: plan.jobs(TASKS),
    "table3": lambda plan: plan.jobs(TASKS, ("primal-dual", "ofs")),
    "table4": lambda plan: [plan.tuning(task) for task in SEMI_SYNTHETIC],
    "table5": lambda plan: [plan.stress(task, method) for task in TASKS for method in METHODS],
    "table6": lambda plan: plan.jobs(STRICT),
    "figure1": lambda plan: plan.jobs(["mve-s"]),
    "figure2": lambda plan: plan.jobs(SEMI_SYNTHETIC),
    "figure3": lambda plan: plan.jobs(TASKS),
    "claims": claims.jobs,
    "findings": findings.jobs,
    "rivals": rivals.jobs,
    "figure-rivals": rivals.jobs,
}
"""The jobs behind every part of the reproduction, by the name one can ask for."""

LONG = ("rivals", "figure-rivals")
"""Parts that take longer: run by name, or with all others by ``all``."""

DPI = 200
"""Dots per inch of the figures."""

LIBRARIES = ("fairgate", "numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow")


def reproduce(
    parts: Sequence[str], plan: Plan, out: Path, workers: int, say: Callable[[str], None]
) -> tuple[dict[str, Any], bool]:
    """Run `parts` (if none is named, all but the long ones; ``all`` runs these too) and write everything under `out`.

    Returns what ``summary.json`` holds, and whether anything had to be done: a second call with nothing changed only
    checks the files.
    """
    for part in parts:
        if part not in (*JOBS, "all"):
            raise unknown_name("part", part, [*JOBS, "all"])
    prepare_folder(out)
    chosen = [name for name in JOBS if name in parts or "all" in parts or (not parts and name not in LONG)]
    settings = describe(plan, chosen)
    if is_unchanged(out / "manifest.json", settings):
        found: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        return found, False

    context = Context(plan, out / "runs")
    jobs = {job.name: job for name in chosen for job in JOBS[name](plan)}
    complete(context.folder, [job.work(context.folder) for job in jobs.values()], workers, say)
    say("Tables")
    laid_out = [table for name in chosen if name in TABLES for table in TABLES[name](context)]
    judged = claims.compute(context) if "claims" in chosen else []
    say("Figures")
    drawn = [FIGURES[name](context) for name in chosen if name in FIGURES]
    told = findings.compute(context) if "findings" in chosen else []
    results = Results(laid_out, [drawing for drawing, _ in drawn], judged, [finding for finding, _ in told], settings)
    pictures = {drawing.key: figure for drawing, figure in drawn} | {f.drawing.key: figure for f, figure in told}
    write(results, pictures, out)
    return summary(results), True


def describe(plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """Everything the outcome depends on: size, parts, versions, data and code."""
    folder = resources.files("fairgate.data")
    data = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("german.csv", "compas.csv")}
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {
        **asdict(plan),
        "parts": list(parts),
        "versions": {"python": platform.python_version(), **versions},
        "data": data,
        "code": code_digest(reproduce),
    }


def is_unchanged(manifest: Path, settings: Mapping[str, Any]) -> bool:
    """Whether `manifest` tells of the same settings and every file it names is still as it was written."""
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
        same = document["settings"] == json.loads(json.dumps(settings))
        return same and all(file_hash(manifest.parent / name) == sha256 for name, sha256 in document["files"].items())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(results: Results, pictures: Mapping[str, Figure], out: Path) -> None:
    """Write every table, figure, the summary, the report and, last, the manifest that vouches for them."""
    written: list[Path] = []

    def keep(path: Path, content: str | bytes) -> None:
        write_text(path, content) if isinstance(content, str) else write_bytes(path, content)
        written.append(path)

    for table in results.all_tables:
        keep(out / "tables" / f"{table.key}.md", table.markdown())
        keep(out / "tables" / f"{table.key}.csv", table.csv())
        keep(out / "tables" / f"{table.key}.tex", table.latex())
    images = {}
    for key, figure in pictures.items():
        images[key] = image(figure, "png", DPI)
        keep(out / "figures" / f"{key}.png", images[key])
        keep(out / "figures" / f"{key}.pdf", image(figure, "pdf", DPI))
    keep(out / "summary.json", json.dumps(summary(results), indent=1, ensure_ascii=False) + "\n")
    keep(out / "report.html", report.render(results, images))
    files = {path.relative_to(out).as_posix(): file_hash(path) for path in written}
    runs = {path.relative_to(out).as_posix(): file_hash(path) for path in sorted((out / "runs").glob("*.parquet"))}
    manifest = {"settings": results.settings, "files": {**files, **runs}}
    write_text(out / "manifest.json", json.dumps(manifest, indent=1) + "\n")


def summary(results: Results) -> dict[str, Any]:
    """Every number of every table under its stable key, ours and the paper's, and every claim's verdict."""
    numbers = {name: value for table in results.all_tables for name, value in table.figures().items()}
    ledger = {
        claim.key: {
            "sentence": claim.sentence,
            "verdict": claim.verdict,
            "evidence": claim.evidence,
            "reason": claim.reason,
            "others": {
                view: {"verdict": verdict, "evidence": proof} for view, (verdict, proof) in claim.others.items()
            },
        }
        for claim in results.claims
    }
    size = {name: results.settings[name] for name in ("rounds", "seeds", "many", "seed", "tail", "parts")}
    size["batch"] = signature(simulate).parameters["batch"].default
    told = {each.key: {"title": each.title, "shown": each.shown, "follows": each.follows} for each in results.findings}
    drawings = [*results.drawings, *(finding.drawing for finding in results.findings)]
    return {
        "settings": size,
        "numbers": numbers,
        "claims": ledger,
        "findings": told,
        "tables": {table.key: table.layout() for table in results.all_tables},
        "drawings": {drawing.key: {"title": drawing.title, "caption": drawing.caption} for drawing in drawings},
        "presets": presets(("presets.toml",)),
    }
