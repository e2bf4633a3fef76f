"""Output: everything found out as ``report.json`` and ``report.html``, and every threshold as ``thresholds.csv``."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.advise import Advice
from fairgate.advice.aims import strength_name
from fairgate.advice.choice import RESAMPLES, STEP
from fairgate.advice.intervals import CAUTION, LEVEL
from fairgate.advice.loop import Outcome
from fairgate.advice.report.page import render
from fairgate.advice.steady import Steady
from fairgate.constraints import Constraint
from fairgate.problem import is_feasible
from fairgate.store import plain, write_text

FORMAT = 2
"""Version of ``report.json``."""

POINTS = 201
"""Points of a curve in ``report.json``, but for a few more that are spoken of; ``thresholds.csv`` has them all."""


def write(advice: Advice, folder: Path, source: str) -> dict[str, Any]:
    """Write the files under `folder`, each whole or not at all, and return what ``report.json`` holds."""
    found = document(advice, source)
    write_text(folder / "thresholds.csv", table(advice))
    write_text(folder / "report.html", render(found))
    write_text(folder / "report.json", json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return found


def table(advice: Advice) -> str:
    """Return ``thresholds.csv``: one row per threshold; what is not known is left empty."""
    columns = advice.thresholds()
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        lines.writerow(
            ["" if value != value else str(value).lower() if isinstance(value, bool) else value for value in row]
        )
    return text.getvalue()


def document(advice: Advice, source: str) -> dict[str, Any]:
    """Return everything as plain data; docs/your-data.md says what each part means."""
    applicants = advice.applicants
    advised = asdict(advice.recommendation)
    for name in ("reward", "gap", "acceptance"):
        advised[name] = advice.recommendation.__dict__[name].known()
    places = shown_cuts(advice)
    labelled = applicants.counts[..., :2].sum(axis=1)
    unknown = float(applicants.unknown[0])
    found = {
        "format": FORMAT,
        "fairgate": metadata.version("fairgate"),
        "table": {
            "source": source,
            "columns": applicants.columns._asdict(),
            "rows": applicants.rows,
            "people": applicants.people,
            "dropped": dict(applicants.dropped),
            "labels": {"meanings": dict(applicants.meanings), "missing": applicants.missing, "unknown_share": unknown},
            "groups": [
                {"name": name, "people": int(size), "labelled": int(known.sum()), "positive": int(known[1])}
                for name, size, known in zip(applicants.groups, applicants.sizes, labelled, strict=True)
            ],
            "descending": applicants.descending,
            "thresholds": len(applicants.cuts),
            "exact": applicants.exact,
            "lowest": float(applicants.shown(applicants.cuts).min()),
            "highest": float(applicants.shown(applicants.cuts).max()),
        },
        "aims": advice.aims.describe(),
        "constraints": [describe_constraint(each) for each in advice.aims.problem.constraints],
        "method": {"level": LEVEL, "caution": CAUTION, "resamples": RESAMPLES, "same_step": STEP},
        "findings": [finding._asdict() for finding in advice.findings],
        "today": curves(advice, places),
        "steady": [
            {
                "strength": each.response.strength,
                "name": strength_name(each.response.strength),
                "best": asdict(each.best) | {"written": advice.candidates.words(each.cut)},
                "recommended": asdict(each.sweep.point(advice.recommendation.cut)),
                "curve": steady_curves(advice, each, places),
            }
            for each in advice.steady
        ],
        "reference": advice.reference.describe(applicants.groups),
        "feedback": None if advice.feedback is None else asdict(advice.feedback),
        "backtest": [asdict(each) for each in advice.backtest],
        "loop": [
            {
                "strength": strength,
                "name": strength_name(strength),
                "learners": [describe_outcome(outcome) for outcome in outcomes],
            }
            for strength, outcomes in advice.loops.items()
        ],
        "recommendation": advised,
    }
    written: dict[str, Any] = plain(found)
    return written


def describe_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as it is written, what it requires, its residuals in words, and the figures it limits."""
    named = zip(constraint.names, constraint.words, strict=True)
    return {
        "text": constraint.text,
        "requirement": constraint.requirement,
        "residuals": [{"name": name, **words._asdict()} for name, words in named],
        "limits": [limit._asdict() for limit in constraint.limits()],
    }


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return what came of one way of choosing."""
    plainly = outcome._asdict()
    return plainly | {name: {"mean": each.mean, "sd": each.sd} for name, each in plainly.pop("summary").items()}


def shown_cuts(advice: Advice) -> NDArray[np.int64]:
    """Return the numbers of the candidates in ``report.json``: evenly spread, and all that the report speaks of."""
    count = len(advice.candidates.cuts)
    even = np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64)
    return np.union1d(even, [advice.recommendation.cut, *(each.cut for each in advice.steady)])


def curves(advice: Advice, places: NDArray[np.int64]) -> dict[str, Any]:
    """Return the figures of these candidates as columns, those of ``thresholds.csv``."""
    rows = np.searchsorted(advice.applicants.cuts, advice.candidates.cuts[places])
    columns = {name: values[rows].tolist() for name, values in advice.thresholds().items()}
    return {"written": [advice.candidates.words(int(place)) for place in places], **columns}


def steady_curves(advice: Advice, steady: Steady, places: NDArray[np.int64]) -> dict[str, Any]:
    """Return where these candidates lead under one strength of feedback, as columns like those of ``today``."""
    sweep = steady.sweep
    columns: dict[str, NDArray[Any]] = {"threshold": sweep.thresholds, "acceptance": sweep.acceptance}
    columns |= {
        f"acceptance {name}": rate for name, rate in zip(advice.applicants.groups, steady.counts.rates.T, strict=True)
    }
    columns |= {"gap": sweep.gap, "reward": np.where(advice.candidates.known, sweep.reward, np.nan)}
    for name, residual in zip(advice.aims.problem.names, sweep.residuals, strict=True):
        columns[f"residual {name}"] = residual
    columns["feasible"] = is_feasible(sweep.residuals)
    return {name: values[places].tolist() for name, values in columns.items()}
