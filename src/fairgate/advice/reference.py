"""Reference: the people an advice was made for, in few numbers, so that later people can be compared with them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.advice.recommendation import Recommendation
from fairgate.constraints import Constraint, parse_constraint
from fairgate.errors import InputError
from fairgate.people.applicants import Applicants
from fairgate.people.values import group_in_words
from fairgate.reading import DOCUMENT, parse_json, read_bytes
from fairgate.settings import Array
from fairgate.store import plain

FORMAT = 1
"""Version of ``reference.json``."""

BINS = 64
"""Most score bins of a group."""

CROSSED = " × "
"""What joins the names of several group columns."""


def reference(applicants: Applicants, aims: Aims, recommendation: Recommendation) -> dict[str, Any]:
    """Return what ``reference.json`` holds: columns and meanings, each group's people by score bin, and the advice.

    A group's bins hold about as many people each, and one begins at the threshold. `cuts` are the scores that they
    begin at, as they read in the table; `counts` their people of a bad, a good and no label.
    """
    at = int(np.searchsorted(applicants.cuts, applicants.shown(recommendation.threshold)))
    groups = []
    for name, own in zip(applicants.groups, applicants.counts, strict=True):
        each = own.sum(axis=1)
        share = (each.cumsum() - each) * (BINS - 1) / max(each.sum(), 1)
        number = np.minimum(share.astype(np.int64), BINS - 2)  # one more may begin at the threshold
        starts = np.union1d(np.flatnonzero(np.diff(number, prepend=-1)), at)
        groups.append(
            {
                "name": name,
                "cuts": applicants.shown(applicants.cuts[starts]).tolist(),
                "counts": np.add.reduceat(own, starts, axis=0).tolist(),
            }
        )
    found = {
        "format": FORMAT,
        "fairgate": metadata.version("fairgate"),
        "columns": applicants.columns._asdict() | {"group": applicants.columns.group.split(CROSSED)},
        "meanings": dict(applicants.meanings),
        "descending": applicants.descending,
        "groups": groups,
        "threshold": recommendation.threshold,
        "rule": recommendation.rule,
        "status": recommendation.status,
        "constraints": [each.text for each in aims.problem.constraints],
        "sure": aims.sure,
    }
    written: dict[str, Any] = plain(found)
    return written


@dataclass(frozen=True, eq=False)
class Reference:
    """What ``reference.json`` tells, scores the higher the better."""

    score: str
    label: str
    group: list[str]  # columns
    meanings: dict[str, int]
    descending: bool
    groups: tuple[str, ...]
    cuts: list[Array]  # by group
    counts: list[NDArray[np.float64]]  # by group, (bins, 3)
    threshold: float  # as it reads in the table
    rule: str
    constraints: list[Constraint]
    sure: float

    def called(self, group: str) -> str:
        """Name a group in words, such as "sex = f"."""
        return group_in_words(self.group, group)

    @property
    def at(self) -> float:
        """The threshold, the higher the stricter."""
        return 0.0 - self.threshold if self.descending else self.threshold

    @property
    def digest(self) -> str:
        """A text that is the same for the same advice on the same people."""
        told = [self.rule, self.sure, *(each.text for each in self.constraints)]
        people = b"".join(each.astype("<f8").tobytes() for each in self.counts)
        return hashlib.sha256(repr(told).encode() + people).hexdigest()[:16]


def read_reference(folder: Path, report_format: int, allow: Collection[str] = ()) -> Reference:
    """Read the reference of the advice in a folder, or say in a sentence why there is none.

    Constraints of one's own are imported if `allow` has their names.
    """
    if not folder.is_dir():
        raise InputError(f"--against {str(folder)!r} is no folder: name the one that fairgate advise wrote (--out)")
    report = _read(folder / "report.json", report_format)
    found = _read(folder / "reference.json", FORMAT)
    try:
        if report["recommendation"]["threshold"] != found["threshold"]:
            raise InputError(f"report.json and reference.json in {str(folder)!r} are of two advices: run advise again")
        sign = -1.0 if found["descending"] else 1.0
        made = Reference(
            score=found["columns"]["score"],
            label=found["columns"]["label"],
            group=found["columns"]["group"],
            meanings=found["meanings"],
            descending=found["descending"],
            groups=tuple(each["name"] for each in found["groups"]),
            cuts=[sign * np.array(each["cuts"], dtype=np.float64) for each in found["groups"]],
            counts=[np.array(each["counts"], dtype=np.float64).reshape(-1, 3) for each in found["groups"]],
            threshold=float(found["threshold"]),
            rule=str(found["rule"]),
            constraints=[parse_constraint(text, allow) for text in found["constraints"]],
            sure=_share(found["sure"]),
        )
        _check(made)
        return made
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"reference.json in {str(folder)!r} is damaged ({error}): run advise again") from None


def _check(made: Reference) -> None:
    """Refuse bins that do not fit together, and names that are none."""
    names = (made.score, made.label, *made.group, *made.groups, *made.meanings)
    if not all(isinstance(each, str) for each in names) or not all(each in (0, 1) for each in made.meanings.values()):
        raise ValueError("its names must be text, and its meanings 0 or 1")
    for cuts, counts in zip(made.cuts, made.counts, strict=True):
        if cuts.ndim != 1 or len(cuts) != len(counts) or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
            raise ValueError("each group must have bins in order, with counts of their own")
        if not np.isfinite(counts).all() or (counts < 0).any():
            raise ValueError("counts must be at least 0")


def _share(sure: float) -> float:
    if not 0.0 < sure < 1.0:
        raise ValueError(f"sure is {sure}, which is not between 0 and 1")
    return float(sure)


def _read(path: Path, version: int) -> dict[str, Any]:
    try:
        found = parse_json(read_bytes(path, DOCUMENT))
    except OSError as error:
        raise InputError(
            f"cannot read {path} ({error.strerror}): run fairgate advise with --out {path.parent}"
        ) from None
    except ValueError:
        raise InputError(f"{path} is not JSON: run fairgate advise again") from None
    got = found.get("format") if isinstance(found, dict) else None
    if got != version:
        raise InputError(f"{path} must be of format {version}, got {got!r}: run fairgate advise of this version again")
    result: dict[str, Any] = found
    return result
