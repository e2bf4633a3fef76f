"""reproduce: run the whole paper, or the parts named, and write tables, figures, summary, manifest and report."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata, resources
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fairgate.errors import unknown_name
from fairgate.experiments import (
    claims,
    figure1,
    figure2,
    figure3,
    findings,
    report,
    table1,
    table2,
    table3,
    table4,
    table5,
    table6,
)
from fairgate.experiments.jobs import Store
from fairgate.experiments.plan import Context, Plan
from fairgate.experiments.results import Claim, Drawing, Finding, Results, Table
from fairgate.plots import image
from fairgate.store import code_digest, file_hash, prepare_folder, write_bytes, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: dict[str, ModuleType] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
}
FIGURES: dict[str, ModuleType] = {"figure1": figure1, "figure2": figure2, "figure3": figure3}
PARTS: dict[str, ModuleType] = {**TABLES, **FIGURES, "claims": claims, "findings": findings}
"""Every part of the reproduction by the name one can ask for; each module has ``jobs(plan)``."""

DPI = 200
"""Dots per inch of the figures."""

LIBRARIES = ("fairgate", "numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow")


def reproduce(
    parts: Sequence[str], plan: Plan, out: Path, workers: int, say: Callable[[str], None]
) -> tuple[dict[str, Any], bool]:
    """Run `parts` (all if none is named) and write everything under `out`.

    Returns what ``summary.json`` holds, and whether anything had to be done: a second call with nothing changed only
    checks the files.
    """
    for part in parts:
        if part not in PARTS:
            raise unknown_name("part", part, PARTS)
    prepare_folder(out)
    chosen = {name: PARTS[name] for name in PARTS if not parts or name in parts}
    settings = describe(plan, chosen)
    if is_unchanged(out / "manifest.json", settings):
        found: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        return found, False

    store = Store(out / "runs", plan.tail)
    store.complete({job.name: job for module in chosen.values() for job in module.jobs(plan)}.values(), workers, say)
    context = Context(plan, store)
    say("Tables")
    tables: list[Table] = [table for name in chosen if name in TABLES for table in chosen[name].compute(context)]
    judged: list[Claim] = claims.compute(context) if "claims" in chosen else []
    say("Figures")
    drawn: list[tuple[Drawing, Figure]] = [chosen[name].draw(context) for name in chosen if name in FIGURES]
    told: list[tuple[Finding, Figure]] = findings.compute(context) if "findings" in chosen else []
    results = Results(tables, [drawing for drawing, _ in drawn], judged, [finding for finding, _ in told], settings)
    pictures = {drawing.key: figure for drawing, figure in drawn} | {f.drawing.key: figure for f, figure in told}
    write(results, pictures, out)
    return summary(results), True


def describe(plan: Plan, chosen: Mapping[str, ModuleType]) -> dict[str, Any]:
    """Everything the outcome depends on: size, parts, versions, data and code."""
    tables = resources.files("fairgate.data")
    data = {name: hashlib.sha256((tables / name).read_bytes()).hexdigest() for name in ("german.csv", "compas.csv")}
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {
        **asdict(plan),
        "parts": list(chosen),
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

    for table in [*results.tables, *(finding.table for finding in results.findings)]:
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
    numbers: dict[str, Any] = {}
    for table in [*results.tables, *(finding.table for finding in results.findings)]:
        numbers.update(table.figures())
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
    size = {name: results.settings[name] for name in ("rounds", "seeds", "many", "seed", "tail")}
    return {"settings": size, "numbers": numbers, "claims": ledger}
