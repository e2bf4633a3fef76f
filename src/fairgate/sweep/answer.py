"""The answer of a sweep: which learner wins in how many settings and where, and in how many nothing is feasible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairgate.amounts import amount
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
    """A learner over all settings: where it wins, and where something is feasible its means and largest shortfall.

    Where nothing is feasible, `excess` is the mean of its violation beyond the least there is; NaN if that is nowhere.
    """

    learner: str
    wins: int
    sure: int
    success: float
    share: float
    violation: float
    shortfall: float
    worst: str
    worst_shortfall: float
    excess: float

    @property
    def beside(self) -> str:
        """What must stand beside the number of settings that it wins: success and violation; empty if not known."""
        if math.isnan(self.success):
            return ""
        return f" (success {self.success:.0%}, violation {self.violation:.1f})"


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

    @cached_property
    def lost(self) -> int:
        """Number of settings in which every learner failed."""
        return int(failed(self.sweep).all(axis=1).sum())

    @property
    def settings(self) -> int:
        """Number of settings in which some learner did not fail: those of which shares are told."""
        return len(self.sweep) - self.lost

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
    def ties(self) -> int:
        """In how many settings the best learners have exactly the same mean."""
        return int(self.found.tied.sum())

    @cached_property
    def nothing(self) -> int:
        """In how many settings no threshold meets every constraint."""
        return int(self._unattainable.sum())

    @cached_property
    def _unattainable(self) -> NDArray[np.bool_]:
        return unattainable(self.sweep)

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
        short = self._where_feasible("shortfall", place)
        known = np.isfinite(short)
        worst = int(np.nanargmax(short)) if known.any() else None
        return Standing(
            learner=name,
            wins=int(won.sum()),
            sure=int((won & self.sure).sum()),
            success=mean_of(self._where_feasible("success", place)),
            share=self._share(place),
            violation=mean_of(self._where_feasible("population_violation", place)),
            shortfall=mean_of(short),
            worst="" if worst is None else self.name(worst),
            worst_shortfall=math.nan if worst is None else float(short[worst]),
            excess=mean_of(self.sweep.mean("excess_violation")[self._unattainable, place]),
        )

    def _where_feasible(self, figure: str, place: int) -> Array:
        """Return a learner's mean of a figure, (S,); NaN where nothing is feasible: it means something else there."""
        return np.where(self._unattainable, np.nan, self.sweep.mean(figure)[:, place])

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
            return (mean_of(self._where_feasible("success", 0)[members]),)
        best = self.found.learner[members & (self.compared | self.found.tied)]
        return tuple(mean_of((best == place).astype(np.float64)) for place in range(len(self.sweep.learners)))

    def name(self, setting: int) -> str:
        """Name a setting by its values."""
        return named({name: self.sweep.design[name][setting] for name in self.sweep.parameters})

    def sentences(self) -> list[str]:
        """Say it in words, the most important first."""
        if not self.settings:
            return [f"Every setting failed: {amount(self.lost, 'setting')}."]
        total = self.settings
        found = [self._first()] if self.alone else [*filter(None, (self._winners(), self._levels()))]
        if self.ties:
            ties = "1 setting is a tie" if self.ties == 1 else f"{self.ties} settings are ties"
            found.append(f"{ties}: the best learners have exactly the same mean.")
        if not self.alone and self.unsure:
            found.append(
                f"The two best do not differ significantly in {counted(self.unsure, total)} "
                f"(two-sided paired t-test over seeds, Holm-corrected p ≥ {SIGNIFICANT:g})."
            )
        nothing = f"Nothing is feasible in {counted(self.nothing, total)}."
        found.append(nothing if self.nothing else "Some threshold is feasible in every setting.")
        if self.lost:
            found.append(f"{self.lost} of {len(self.sweep)} settings failed: they are left out of all figures.")
        some = self.failed - self.lost * len(self.sweep.learners)
        if some:
            cells = total * len(self.sweep.learners)
            where = " in the others" if self.lost else ""
            found.append(f"{some} of {cells} cells{where} failed: they are left out of all figures.")
        return found

    def excesses(self) -> str:
        """Say what the learners came to where nothing is feasible; empty if that is nowhere."""
        if not self.nothing:
            return ""
        parts = [f"{row.learner} {row.excess:.4f}" for row in self.standings if not math.isnan(row.excess)]
        return f"Violation per round beyond the least, where nothing is feasible: {', '.join(parts)}."

    def _first(self) -> str:
        row, some = self.standings[0], self.settings - self.nothing
        if not some:
            success = mean_of(self.sweep.mean("success")[:, 0])
            return f"{row.learner} comes within 0.01 of the least violation in {success:.0%} of its loops."
        half = int((np.nan_to_num(self._where_feasible("success", 0)) >= 0.5).sum())
        where = " where something is feasible" if self.nothing else ""
        return (
            f"{row.learner} meets the target in {row.success:.0%} of its loops{where}, and in at least half of the "
            f"seeds in {counted(half, some)}."
        )

    def _winners(self) -> str:
        if not self.compared.any():
            return "No learner wins a setting."
        parts: list[str] = []
        for row in self.standings:
            wins = counted(row.wins, self.settings) if not parts else f"{row.wins} ({row.wins / self.settings:.0%})"
            told = f"{wins}, significantly in {row.sure}" if row.wins else "none"
            parts.append(f"{row.learner} {'wins ' if not parts else ''}in {told}{row.beside}")
        return "; ".join(parts) + "."

    def _levels(self) -> str:
        """Say what learners see, if that differs: who sees more should win; empty if all see the same."""
        known = self.sweep.settings.get("levels", {})
        seen: dict[str, list[str]] = {}
        for name in self.sweep.learners:
            seen.setdefault(known.get(name, ""), []).append(name)
        if "" in seen or len(seen) < 2:
            return ""
        parts = [f"{' and '.join(names)} at level {level}" for level, names in seen.items()]
        return f"They do not see the same feedback: {', '.join(parts)}."


def counted(some: int, total: int) -> str:
    """Say how many settings of all these are.

    >>> counted(3, 12), counted(1, 1)
    ('3 of 12 settings (25%)', '1 of 1 setting (100%)')
    """
    return f"{some} of {amount(total, 'setting')} ({some / total:.0%})"


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
