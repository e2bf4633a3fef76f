"""reproduce: run the whole paper, or the parts named, and write tables, figures, summary, manifest and report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from importlib import resources
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.engines import open_engine
from fairgate.errors import InputError, unknown_name
from fairgate.experiments import choices, claims, figures, findings, report, rivals, roots, tables, trials
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, SEMI_SYNTHETIC, STRICT, TASKS, Context, Plan
from fairgate.experiments.results import Claim, Drawing, Finding, Results, Table
from fairgate.origin import versions
from fairgate.plots import image
from fairgate.simulation import simulate
from fairgate.store import code_digest, complete, file_hash, prepare_folder, write_bytes, write_text
from fairgate.tasks import presets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = {
    each.__name__: each
    for each in (
        tables.table1,
        tables.table2,
        tables.table3,
        tables.table4,
        tables.table5,
        tables.table6,
    )
} | {"roots": roots.tables, "rivals": rivals.table}
FIGURES = {each.__name__: each for each in (figures.figure1, figures.figure2, figures.figure3)} | {
    "figure-rivals": rivals.figure
}
JOBS: dict[str, Callable[[Plan], Sequence[Job | trials.Trial]]] = {
    "chosen": lambda plan: [],
    "table1": lambda plan: plan.jobs(TASKS),
    "table2": lambda plan: plan.jobs(TASKS),
    "table3": lambda plan: plan.jobs(TASKS, ("primal-dual", "ofs")),
    "table4": lambda plan: [*map(plan.tuning, SEMI_SYNTHETIC), *plan.jobs(SEMI_SYNTHETIC, ("primal-dual",))],
    "table5": lambda plan: [plan.stress(task, method) for task in TASKS for method in METHODS],
    "table6": lambda plan: plan.jobs(STRICT),
    "figure1": lambda plan: plan.jobs(["mve-s"]),
    "figure2": lambda plan: plan.jobs(SEMI_SYNTHETIC),
    "figure3": lambda plan: plan.jobs(TASKS),
    "claims": claims.jobs,
    "findings": findings.jobs,
    "roots": lambda plan: [
        *(job for task in TASKS for method in METHODS for job in plan.stress_many(task, method)),
        *(job for task in SEMI_SYNTHETIC for job in plan.tuning_many(task)),
    ],
    "rivals": rivals.jobs,
    "figure-rivals": rivals.jobs,
    "choices": trials.jobs,
}
"""The jobs behind every part of the reproduction, by the name one can ask for."""

LONG = {
    "roots": "Tables IV and V over many roots of random numbers, two minutes more",
    "rivals": "learners that do what the rule's name promises, half a minute more",
    "figure-rivals": "their figure",
    "choices": "Tables I and VI with each open choice made otherwise, five minutes more",
}
"""Parts that are run only by name, or with ``all``."""

DPI = 200
"""Dots per inch of the figures."""

LIBRARIES = ("fairgate", "numpy", "scipy", "scikit-learn", "matplotlib", "pyarrow")


def reproduce(
    parts: Sequence[str], plan: Plan, out: Path, workers: int, say: Callable[[str], None], cluster: str | None = None
) -> tuple[dict[str, Any], bool]:
    """Run `parts` (if none is named, all but the long ones; ``all`` are all) and write everything under `out`.

    Simulations are run by `workers` processes or on a Dask `cluster`, tables and figures are made on this machine.
    Returns what ``summary.json`` holds, and whether anything had to be done: a second call with nothing changed only
    checks the files.
    """
    for part in parts:
        if part not in (*JOBS, "all"):
            raise unknown_name("part", part, (*JOBS, "all"))
    prepare_folder(out)
    chosen = [name for name in JOBS if name in parts or "all" in parts or (not parts and name not in LONG)]
    settings = describe(plan, chosen)
    if is_unchanged(out / "manifest.json", settings):
        found: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        return found, False

    folder = out / "runs"
    jobs = {job.name: job for name in chosen for job in JOBS[name](plan)}
    names = pieces(chosen)
    with open_engine(workers) as local:
        with nullcontext(local) if cluster is None else open_engine(workers, cluster, say) as engine:
            lost = complete(folder, [job.work() for job in jobs.values()], engine, say)
        if lost:
            raise InputError("; ".join(f"simulation {work.name} could not be done: {text}" for work, text in lost))
        say("Tables and figures")
        done = dict(local.run([partial(evaluate, name, plan, folder, "roots" in chosen) for name in names]))
    found = {name: done[place] for place, name in enumerate(names)}
    laid_out = [table for name in TABLES if name in found for table in found[name].tables]
    numbers = {name: value for table in laid_out for name, value in table.figures().items()}
    results = Results(
        laid_out,
        [drawing for name in FIGURES if name in found for drawing in found[name].drawings],
        found["claims"].claims if "claims" in found else [],
        found["findings"].findings if "findings" in found else [],
        settings,
        [
            *(choices.tables(plan, numbers) if "chosen" in chosen else []),
            *(found["choices"].tables if "choices" in found else []),
        ],
    )
    pictures = {key: files for each in found.values() for key, files in each.pictures.items()}
    write(results, pictures, choices.described(plan, numbers), out)
    return summary(results), True


@dataclass(frozen=True)
class Piece:
    """What a part of the reproduction yields; `pictures` are the PNG and PDF of every drawing by its key."""

    tables: Sequence[Table] = ()
    drawings: Sequence[Drawing] = ()
    claims: Sequence[Claim] = ()
    findings: Sequence[Finding] = ()
    pictures: Mapping[str, tuple[bytes, bytes]] = field(default_factory=dict)


def pieces(chosen: Sequence[str]) -> list[str]:
    """Return the parts in the order in which they are begun: those that take longest first."""
    made = [name for name in chosen if name != "chosen"]  # which is read off the others
    return sorted(made, key=lambda name: (name != "findings", name not in FIGURES, name not in ("claims", "table2")))


def evaluate(name: str, plan: Plan, folder: Path, roots: bool) -> Piece:
    """Compute a part from the outcomes of its jobs, and draw its figures."""
    context = _context(plan, folder, roots)
    if name in TABLES:
        return Piece(tables=TABLES[name](context))
    if name in FIGURES:
        drawing, figure = FIGURES[name](context)
        return Piece(drawings=[drawing], pictures={drawing.key: draw(figure)})
    if name == "claims":
        return Piece(claims=claims.compute(context))
    if name == "choices":
        return Piece(tables=trials.compute(context))
    told = findings.compute(context)
    pictures = {finding.drawing.key: draw(figure) for finding, figure in told}
    return Piece(findings=[finding for finding, _ in told], pictures=pictures)


@lru_cache(maxsize=1)
def _context(plan: Plan, folder: Path, roots: bool) -> Context:
    """One context for all parts that a process evaluates, so that runs are read once."""
    return Context(plan, folder, roots)


def draw(figure: Figure) -> tuple[bytes, bytes]:
    """Return the bytes of a figure's PNG and PDF files, laid out once."""
    png = image(figure, "png", DPI)
    figure.set_layout_engine("none")
    return png, image(figure, "pdf", DPI)


def describe(plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    """Everything the outcome depends on: size, parts, versions, data and code."""
    folder = resources.files("fairgate.data")
    data = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("german.csv", "compas.csv")}
    return {
        **{name: value for name, value in asdict(plan).items() if value != ""},
        "parts": list(parts),
        "versions": versions(LIBRARIES),
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


def write(
    results: Results, pictures: Mapping[str, tuple[bytes, bytes]], chosen: Sequence[Mapping[str, Any]], out: Path
) -> None:
    """Write every table, figure, the summary, the report and, last, the manifest that vouches for them."""
    written: list[Path] = []

    def keep(path: Path, content: str | bytes) -> None:
        write_text(path, content) if isinstance(content, str) else write_bytes(path, content)
        written.append(path)

    for table in results.all_tables:
        keep(out / "tables" / f"{table.key}.md", table.markdown())
        keep(out / "tables" / f"{table.key}.csv", table.csv())
        keep(out / "tables" / f"{table.key}.tex", table.latex())
    for key, (png, pdf) in pictures.items():
        keep(out / "figures" / f"{key}.png", png)
        keep(out / "figures" / f"{key}.pdf", pdf)
    keep(out / "summary.json", json.dumps(summary(results), indent=1, ensure_ascii=False) + "\n")
    keep(out / "report.html", report.render(results, {key: png for key, (png, _) in pictures.items()}))
    files = {path.relative_to(out).as_posix(): file_hash(path) for path in written}
    runs = {path.relative_to(out).as_posix(): file_hash(path) for path in sorted((out / "runs").glob("*.parquet"))}
    manifest = {"settings": results.settings, "choices": chosen, "files": {**files, **runs}}
    write_text(out / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def summary(results: Results) -> dict[str, Any]:
    """Every number of every table under its stable key, ours and the paper's, and every claim's verdict."""
    numbers = {name: value for table in results.all_tables for name, value in table.figures().items()}
    ledger = {
        claim.key: {
            "sentence": claim.sentence,
            "section": claim.section,
            "rule": claim.rule,
            "in_sample": claim.in_sample,
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
