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
from fairgate.advice.loop import Outcome
from fairgate.advice.money import money_of
from fairgate.advice.reference import reference
from fairgate.advice.report.page import render
from fairgate.advice.report.pdf import write_pdf
from fairgate.advice.requirements import Requirement, limit, requirements
from fairgate.advice.steady import Response, Steady, settle
from fairgate.constraints import Constraint
from fairgate.counts import Counts
from fairgate.estimates import LEVEL
from fairgate.problem import is_feasible
from fairgate.store import plain, write_text

FORMAT = 3
"""Version of ``report.json``."""

POINTS = 201
"""Points of a curve in ``report.json``, but for a few more that are spoken of; ``thresholds.csv`` has them all."""


def write(advice: Advice, folder: Path, source: str, *, pdf: bool = False) -> dict[str, Any]:
    """Write the files under `folder`, each whole or not at all, and return what ``report.json`` holds."""
    found = document(advice, source)
    if pdf:
        write_pdf(found, folder / "report.pdf")
    write_text(folder / "thresholds.csv", table(advice))
    write_text(folder / "report.html", render(found))
    compared = reference(advice.applicants, advice.aims, advice.recommendation)
    write_text(folder / "reference.json", json.dumps(compared, ensure_ascii=False, allow_nan=False) + "\n")
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
    if advice.recommendation.feedback != 0.0:
        advised["acceptance"] |= {"low": None, "high": None}  # which is known for the people as they are only
    constraints = advice.aims.problem.constraints
    advised["requirements"] = [asdict(each) for each in advised_requirements(advice)]
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
            "weights": None if applicants.weights is None else applicants.weights._asdict(),
            "dropped": dict(applicants.dropped),
            "labels": {"meanings": dict(applicants.meanings), "missing": applicants.missing, "unknown_share": unknown},
            "groups": [
                {
                    "name": name,
                    "called": applicants.called(name),
                    "people": int(size),
                    "labelled": int(known.sum()),
                    "positive": int(known[1]),
                }
                for name, size, known in zip(applicants.groups, applicants.sizes, labelled, strict=True)
            ],
            "descending": applicants.descending,
            "thresholds": len(applicants.cuts),
            "exact": applicants.exact,
            "lowest": float(applicants.shown(applicants.cuts).min()),
            "highest": float(applicants.shown(applicants.cuts).max()),
        },
        "money": money_of(applicants, advice.aims).described(),
        "aims": advice.aims.describe(),
        "constraints": [describe_constraint(each, advice.steady[0].counts) for each in constraints],
        "method": {"level": LEVEL, "resamples": RESAMPLES, "same_step": STEP},
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
        "by_group": asdict(advice.groups),
        "change": describe_change(advice),
        "frontier": [describe_frontier(advice, strength) for strength in advice.frontiers],
    }
    written: dict[str, Any] = plain(found)
    return written


def advised_requirements(advice: Advice) -> list[Requirement]:
    """Hold the recommended threshold against what is required, under the feedback that it is made for."""
    counts = Counts(advice.steady[0].counts.cells[advice.recommendation.cut])
    return requirements(advice.aims.problem.constraints, counts)


def describe_constraint(constraint: Constraint, counts: Counts) -> dict[str, Any]:
    """Return a constraint as it is written, what it requires, its residuals in words, and the figures it limits."""
    named = zip(constraint.names, constraint.words, constraint.measures(counts), strict=True)
    return {
        "text": constraint.text,
        "requirement": constraint.requirement,
        "residuals": [
            {"name": name, **words._asdict()}
            | {"measure": {"about": each.about, "percent": each.percent, "required": limit(each)}}
            for name, words, each in named
        ],
        "limits": [limit._asdict() for limit in constraint.limits()],
    }


def describe_change(advice: Advice) -> dict[str, Any] | None:
    """Return who changes, with acceptance rates."""
    change = advice.change
    if change is None:
        return None
    parts = [asdict(part) | {"rate_now": part.rate_now, "rate_then": part.rate_then} for part in change.groups]
    whole = asdict(change.everybody)
    whole |= {"rate_now": change.everybody.rate_now, "rate_then": change.everybody.rate_then}
    return asdict(change) | {"groups": parts, "everybody": whole}


def describe_frontier(advice: Advice, strength: float) -> dict[str, Any]:
    """Return a frontier with its thresholds written, and where the options that the report speaks of lie."""
    found, made, aims = advice.frontiers[strength], advice.recommendation, advice.aims
    points: list[dict[str, Any]] = []

    def add(kind: str, gap: float, reward: float) -> None:
        points.append({"kind": kind, "gap": gap, "reward": reward})

    change = advice.change
    if strength == 0.0:
        row = int(np.searchsorted(advice.applicants.cuts, advice.candidates.cuts[made.cut]))
        today = advice.today
        add("recommended", float(today.gap.value[row]), float(today.reward.value[row]))
        if change is not None:
            rates = [part.rate_now for part in change.groups if part.rate_now is not None]
            worth = change.everybody.money_now / (aims.benefit * max(change.everybody.people, 1e-300))
            add("current", max(rates, default=0.0) - min(rates, default=0.0), worth)
        for option in made.options:
            if option.reward is not None and option.rates:
                add(option.kind, max(option.rates.values()) - min(option.rates.values()), option.reward)
    else:
        add("recommended", made.gap.value, made.reward.value)
    words = [advice.candidates.words(cut) for cut in found.cuts]
    return {"strength": strength, "name": strength_name(strength), "written": words, "points": points} | asdict(found)


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return what came of one way of choosing."""
    plainly = outcome._asdict()
    return plainly | {name: {"mean": each.mean, "sd": each.sd} for name, each in plainly.pop("summary").items()}


def shown_cuts(advice: Advice) -> NDArray[np.int64]:
    """Return the numbers of the candidates in ``report.json``: evenly spread, and all that the report speaks of."""
    count = len(advice.candidates.cuts)
    even = np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64)
    spoken = [advice.recommendation.cut, *(each.cut for each in advice.steady)]
    if advice.aims.current is not None:
        in_use = int(np.searchsorted(advice.candidates.cuts, advice.candidates.shown(advice.aims.current)))
        spoken.append(min(in_use, count - 1))
    return np.union1d(even, spoken)


def curves(advice: Advice, places: NDArray[np.int64]) -> dict[str, Any]:
    """Return the figures of these candidates as columns, those of ``thresholds.csv``."""
    rows = np.searchsorted(advice.applicants.cuts, advice.candidates.cuts[places])
    columns = {name: values[rows].tolist() for name, values in advice.thresholds().items()}
    counts = settle(advice.candidates, advice.aims.problem, Response(0.0, 0.0)).counts
    columns |= {name: values[places].tolist() for name, values in measured(advice, counts).items()}
    return {"written": [advice.candidates.words(int(place)) for place in places], **columns}


def measured(advice: Advice, counts: Counts) -> dict[str, NDArray[Any]]:
    """Return the figure behind each residual at every candidate."""
    return {
        f"measure {name}": each.value
        for constraint in advice.aims.problem.constraints
        for name, each in zip(constraint.names, constraint.measures(counts), strict=True)
    }


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
    columns |= measured(advice, steady.counts)
    columns["feasible"] = is_feasible(sweep.residuals)
    return {name: values[places].tolist() for name, values in columns.items()}
