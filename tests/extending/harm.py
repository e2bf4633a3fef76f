"""A module of a user's own, outside the package: constraints with and without the optional parts, and a reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

import fairgate as fg
from fairgate.constraints import Constraint, Words
from fairgate.settings import Share

Array = NDArray[np.float64]


class FewHarmed:
    """At most a share of everybody is accepted and then fails: nothing but names and residuals."""

    names = ("harm",)

    def __init__(self, most: float) -> None:
        self.most = most

    def residuals(self, counts: fg.Counts) -> Sequence[Array]:
        return (counts.cells[..., 0, 1].sum(axis=-1) / counts.total - self.most,)


@dataclass(frozen=True)
class FewHarmedInWords(Constraint):
    """The same, with words, limits on its settings, and how it is relaxed."""

    most: Share

    names: ClassVar[Sequence[str]] = ("harm",)
    words: ClassVar[Sequence[Words]] = (Words("The harm done", "{} too many people are harmed"),)

    def residuals(self, counts: fg.Counts) -> Sequence[Array]:
        return (counts.cells[..., 0, 1].sum(axis=-1) / counts.total - np.asarray(self.most),)

    @property
    def requirement(self) -> str:
        return f"At most {self.most:.0%} of everybody may be harmed."

    def relaxed(self, place: int, counts: fg.Counts) -> Self:
        return replace(self, most=float(np.ceil((self.residuals(counts)[0] + self.most) * 1000) / 1000))

    def allows(self, place: int) -> str:
        return f"{self.most:.1%} of harm"


def read_lines(path: Path) -> Any:
    """Read one JSON object per line."""
    import pyarrow as pa

    return pa.Table.from_pylist([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
