"""The answer of a sweep: which learner wins in how many settings and where, and in how many nothing is feasible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.plots.maps import SIGNIFICANT
from fairgate.plots.scales import written
from fairgate.plots.swept import failed, unattainable
from fairgate.settings import Array

if TYPE_CHECKING:
    from fairgate.sweep.result import Sweep

EACH = 4
"""Values of a parameter up to which each is told of by itself; more are cut into three ranges."""


@dataclass(frozen=True)
class Standing:
    """A learner over all settings: where it wins, its means, and its worst setting, by the shortfall."""

    learner: str
    wins: int
    sure: int
    success: float
    share: float
    violation: float
    shortfall: float
    worst: str
    worst_shortfall: float


@dataclass(frozen=True)
class Region:
    """A range of one parameter, and the share of its settings that each learner wins; of one alone, its success."""

    parameter: str
    values: str
    settings: int
    shares: tuple[float, ...]


class Answer:
    """What a sweep says, answer first; `by` is the figure that decides which learner wins."""

    def __init__(self, sweep: Sweep, by: str = "shortfall") -> None:
        self.sweep = sweep
        self.by = by
        self.found = sweep.winners(by)

    @property
    def settings(self) -> int:
        """Number of settings."""
        return len(self.found.learner)

    @property
    def alone(self) -> bool:
        """Whether there is one learner, who has nobody to win against."""
        return len(self.sweep.learners) == 1

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """In which settings the winner's advantage is significant, (S,)."""
        return np.asarray(self.found.p_value < SIGNIFICANT)

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """In which settings there is a winner, (S,)."""
        return np.asarray(self.found.learner >= 0)

    @cached_property
    def nothing(self) -> int:
        """In how many settings no threshold meets every constraint."""
        return int(unattainable(self.sweep).sum())

    @cached_property
    def unsure(self) -> int:
        """In how many settings the difference of the two best is not significant."""
        return int((self.compared & ~self.sure).sum())

    @cached_property
    def failed(self) -> int:
        """How many cells failed."""
        return int(failed(self.sweep).sum())

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """Every learner, the one that wins most settings first."""
        rows = [self._standing(place, name) for place, name in enumerate(self.sweep.learners)]
        return tuple(sorted(rows, key=lambda row: (-row.wins, row.shortfall)))

    def _standing(self, place: int, name: str) -> Standing:
        won = self.found.learner == place
        short = self.sweep.mean("shortfall")[:, place]
        known = np.isfinite(short)
        worst = int(np.nanargmax(short)) if known.any() else None
        return Standing(
            learner=name,
            wins=int(won.sum()),
            sure=int((won & self.sure).sum()),
            success=mean_of(self.sweep.mean("success")[:, place]),
            share=self._share(place),
            violation=mean_of(self.sweep.mean("population_violation")[:, place]),
            shortfall=mean_of(short),
            worst="" if worst is None else self.name(worst),
            worst_shortfall=math.nan if worst is None else float(short[worst]),
        )

    def _share(self, place: int) -> float:
        """Return the reward of all settings as a share of what was attainable in all: a mean of shares says nothing."""
        known = np.isfinite(self.sweep.mean("share")[:, place])
        best = self.sweep.truth["best_reward"][known]
        return float(self.sweep.mean("population_reward")[known, place].sum() / best.sum()) if known.any() else math.nan

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The settings by ranges of each parameter that has more than one value."""
        return tuple(region for name in self.sweep.parameters for region in self._regions(name))

    def _regions(self, name: str) -> list[Region]:
        values = self.sweep.design[name]
        distinct = np.unique(values)
        if len(distinct) < 2:
            return []
        found = []
        for part in np.array_split(distinct, min(len(distinct), EACH if len(distinct) <= EACH else 3)):
            members = np.isin(values, part) & ~failed(self.sweep).all(axis=1)
            words = " to ".join(f"{end:.3g}" for end in dict.fromkeys((part[0], part[-1])))
            found.append(Region(name, words, int(members.sum()), self._shares(members)))
        return found

    def _shares(self, members: NDArray[np.bool_]) -> tuple[float, ...]:
        if self.alone:
            return (mean_of(self.sweep.mean("success")[members, 0]),)
        best = self.found.learner[members & self.compared]
        return tuple(mean_of((best == place).astype(np.float64)) for place in range(len(self.sweep.learners)))

    def name(self, setting: int) -> str:
        """Name a setting by its values."""
        return named({name: self.sweep.design[name][setting] for name in self.sweep.parameters})

    def sentences(self) -> list[str]:
        """Say it in words, the most important first."""
        total = self.settings
        found = [self._first()] if self.alone else [self._winners()]
        if not self.alone and self.unsure:
            found.append(
                f"The two best do not differ significantly in {counted(self.unsure, total)} "
                f"(two-sided paired test over seeds, Holm-corrected p ≥ {SIGNIFICANT:g})."
            )
        nothing = f"Nothing is feasible in {counted(self.nothing, total)}."
        found.append(nothing if self.nothing else "Some threshold is feasible in every setting.")
        if self.failed:
            cells = total * len(self.sweep.learners)
            found.append(f"{self.failed} of {cells} cells failed: they are left out of all figures.")
        return found

    def _first(self) -> str:
        row = self.standings[0]
        half = int((np.nan_to_num(self.sweep.mean("success")[:, 0]) >= 0.5).sum())
        return (
            f"{row.learner} meets the target in {row.success:.0%} of its loops, and in at least half of the seeds in "
            f"{counted(half, self.settings)}."
        )

    def _winners(self) -> str:
        parts: list[str] = []
        for row in self.standings:
            wins = counted(row.wins, self.settings) if not parts else f"{row.wins} ({row.wins / self.settings:.0%})"
            told = f"{wins}, significantly in {row.sure}" if row.wins else "none"
            parts.append(f"{row.learner} {'wins ' if not parts else ''}in {told}")
        return "; ".join(parts) + "."


def counted(some: int, total: int) -> str:
    """Say how many settings of all these are.

    >>> counted(3, 12), counted(1, 1)
    ('3 of 12 settings (25%)', '1 of 1 setting (100%)')
    """
    return f"{some} of {total} setting{'s' if total != 1 else ''} ({some / total:.0%})"


def named(setting: Mapping[str, Any]) -> str:
    """Name a setting by its values.

    >>> named({"rate": 0.1, "batch": 256})
    'rate 0.1, batch 256'
    """
    return ", ".join(f"{name} {written(value)}" for name, value in setting.items()) or "the only setting"


def mean_of(values: Array) -> float:
    """Return the mean of the values that are known, NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
