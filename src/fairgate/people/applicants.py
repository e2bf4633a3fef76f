"""Applicants: a table of people reduced to counts by group, score bin and label, which is all the advice is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.people.labels import UNKNOWN, LabelModel, tail
from fairgate.people.period_counts import PeriodCounts
from fairgate.people.values import group_in_words, in_words
from fairgate.settings import Array

CANDIDATES = 512
"""Most thresholds that are candidates for a recommendation, at even shares of people."""


class Columns(NamedTuple):
    """Names of the columns that hold score, label and group; of several group columns "sex × race"."""

    score: str
    label: str
    group: str


class Weights(NamedTuple):
    """How many people the rows of a table stand for."""

    column: str
    total: float  # sum of the weights
    effective: float  # people that errors are worked out with, by Kish's (Σw)² / Σw² of the group it is least for


class Decided(NamedTuple):
    """How a column of decisions was read."""

    accepted: str  # decisions that count as an acceptance, such as "granted = 1"
    people: tuple[float, float]  # rejected and accepted
    labelled: tuple[float, float]  # those among them whose label is known


@dataclass(frozen=True, eq=False, repr=False)
class Applicants:
    """People counted by group × score bin × label.

    Attributes
    ----------
    groups
        Names of the groups.
    cuts
        Lowest score of each bin, (B,), increasing: the thresholds one can choose. Higher is better; where the table has
        it the other way round (`descending`), scores are negated here and only here.
    tops
        Highest score of each bin, (B,).
    counts
        People by group, bin and label (0, 1, missing), (G, B, 3). With weights these are shares of the people the table
        stands for, times the effective number of people, rounded, as errors have to know.
    columns
        Where they come from.
    rows
        Rows of the table, those dropped included.
    dropped
        Rows left out, by reason.
    meanings
        What each label of the table was taken for, 0 or 1.
    descending
        Whether a higher score is worse in the table.
    exact
        Whether every distinct score is a bin of its own.
    lines
        Lines of a text file that are not blank; 0 of other tables.
    fitted
        What is known of missing labels, if it has been worked out before the bins were joined.
    decisions
        People rejected and accepted in the past, by group and bin, (G, B, 2); None without a column of decisions.
        People whose decision is missing are in neither.
    history
        People by period, if there is a column of dates.
    weights
        What the weights add up to, if there is a column of weights.
    positive
        Labels that were said to be good; empty if nobody said.
    decided
        How decisions were read, if there is a column of them.
    strays
        Rows of groups that were left out as too small, by name.
    notes
        How the table was read, where that is worth saying.
    """

    groups: tuple[str, ...]
    cuts: Array
    tops: Array
    counts: NDArray[Any]
    columns: Columns
    rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    meanings: Mapping[str, int] = field(default_factory=dict)
    descending: bool = False
    exact: bool = True
    lines: int = 0
    fitted: LabelModel | None = None
    decisions: NDArray[Any] | None = None
    history: PeriodCounts | None = None
    weights: Weights | None = None
    positive: tuple[str, ...] = ()
    decided: Decided | None = None
    strays: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        size = f"{self.people} people, {len(self.groups)} groups, {len(self.cuts)} thresholds"
        return f"Applicants({size}, {self.missing} labels missing)"

    @cached_property
    def people(self) -> int:
        """Number of people, those dropped not included; with weights the effective number."""
        return round(float(self.counts.sum()))

    @property
    def total(self) -> float:
        """Number of people the table stands for: the sum of the weights, or the number of people without any."""
        return float(self.people) if self.weights is None else self.weights.total

    def stands_for(self, people: float) -> float:
        """Return how many people of the table so many of the effective ones stand for; the same without weights."""
        return people if self.weights is None else people * self.total / max(self.people, 1)

    @cached_property
    def missing(self) -> int:
        """Number of people without a label; with weights of the effective number."""
        return round(float(self.counts[..., 2].sum()))

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """People of each group, (G,)."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @cached_property
    def current_rates(self) -> Array | None:
        """Share of each group that was accepted in the past, (G,), NaN where nobody's decision is known."""
        if self.decisions is None:
            return None
        each = self.decisions.sum(axis=1, dtype=np.float64)
        people = each.sum(axis=1)
        return np.asarray(np.divide(each[:, 1], people, out=np.full(len(each), np.nan), where=people > 0))

    @property
    def good(self) -> str:
        """Which labels count as good, 1, such as "repaid = 1"."""
        return in_words(self.columns.label, self.meanings, 1)

    @property
    def bad(self) -> str:
        """Which labels count as bad, 0, such as "repaid = 0"."""
        return in_words(self.columns.label, self.meanings, 0)

    @cached_property
    def above(self) -> NDArray[Any]:
        """People at or above each cut, (G, B, 3)."""
        return tail(self.counts)

    @cached_property
    def label_model(self) -> LabelModel:
        """What is known of missing labels; worked out once, also for :meth:`coarsened` bins."""
        return self.fitted or LabelModel.fit(self.counts, self.starts(CANDIDATES))

    @cached_property
    def filled(self) -> Array:
        """People by group, bin and label 0 or 1, (G, B, 2), missing labels shared out."""
        return self.label_model.fill(self.counts)

    @cached_property
    def unknown(self) -> Array:
        """Share of all people who are accepted at each cut with nothing known of their label, (B,)."""
        return self.label_model.unknown(self.counts)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Cuts at which labels tell the reward, (B,): at most 1% of all people are accepted in the dark."""
        return self.unknown <= UNKNOWN

    @property
    def sign(self) -> str:
        """How a score compares with the threshold if the person is accepted."""
        return "≤" if self.descending else "≥"

    def shown(self, scores: Any) -> Any:
        """Return scores, or thresholds, as they read in the table; and the other way round."""
        return 0.0 - scores if self.descending else scores  # no negative zero

    def called(self, group: str) -> str:
        """Name a group in words, by its columns, such as "sex = f", or "sex = f · race = black"."""
        return group_in_words(self.columns.group.split(" × "), group)

    def words(self, place: int) -> str:
        """Write a threshold as it reads in the table, short, but so that it accepts the very same people.

        More than six digits are left away towards those accepted, as long as nobody scores in between.

        >>> cuts = np.array([0.1, 2 / 3, 0.6666667, 0.7])
        >>> people = Applicants(("a",), cuts, cuts, np.ones((1, 4, 3), dtype=np.int64), Columns("s", "y", "g"), 12)
        >>> [people.words(place) for place in range(4)]
        ['0.1', '0.666666', '0.6666667', '0.7']
        """
        exact = Decimal(repr(float(self.shown(self.cuts[place]))))
        below = float(self.shown(self.tops[place - 1])) if place else None
        for digits in range(6, 17):
            step = Decimal(1).scaleb(exact.adjusted() + 1 - digits)
            short = exact.quantize(step, ROUND_CEILING if self.descending else ROUND_FLOOR)
            if below is None or (float(short) < below if self.descending else float(short) > below):
                break
        else:
            short = exact
        text = f"{short.normalize():f}" if -7 < exact.adjusted() < 12 else repr(float(short))
        return min(text, repr(float(exact)).removesuffix(".0"), key=len)

    def starts(self, bins: int) -> NDArray[np.int64]:
        """Return the first of each run of neighbouring bins, at most `bins` runs of about as many people each."""
        if len(self.cuts) <= bins:
            return np.arange(len(self.cuts))
        each = self.counts.sum(axis=(0, 2))
        run = np.minimum((each.cumsum() - each) * bins // self.people, bins - 1)
        return np.flatnonzero(np.diff(run, prepend=-1))

    def with_history(self, history: PeriodCounts) -> Applicants:
        """Return the same people with their history, whose bins are those of :meth:`coarsened`."""
        return replace(self, history=history)

    def with_nobody(self) -> Applicants:
        """Return the same people with one more threshold, above all scores, so that accepting nobody is one of them.

        It reads as a short number.

        >>> cuts = np.array([0.25, 0.98])
        >>> people = Applicants(("a",), cuts, cuts, np.ones((1, 2, 3), dtype=np.int64), Columns("s", "y", "g"), 6)
        >>> people.with_nobody().cuts
        array([0.25 , 0.98 , 0.981])
        """
        top = float(self.tops[-1])
        step = 10.0 ** (math.floor(math.log10(max(abs(top), abs(float(self.cuts[0])), 1e-290))) - 2)
        above = float(f"{math.floor(top / step) * step:.12g}")
        while above <= top:
            above = max(float(f"{above + step:.12g}"), math.nextafter(above, math.inf))
        history = self.history
        if history is not None:
            old = self.starts(CANDIDATES)
            extended = replace(self, history=None).with_nobody().starts(CANDIDATES)
            history = history.joined(np.searchsorted(old, extended[extended < len(self.cuts)]))
            if extended[-1] == len(self.cuts):
                history = replace(history, counts=_with_empty_bin(history.counts, 2))
        return replace(
            self,
            cuts=np.append(self.cuts, above),
            tops=np.append(self.tops, above),
            counts=_with_empty_bin(self.counts, 1),
            fitted=None,
            decisions=None if self.decisions is None else _with_empty_bin(self.decisions, 1),
            history=history,
        )

    def coarsened(self, bins: int = CANDIDATES, at: Sequence[int] = ()) -> Applicants:
        """Join neighbouring bins until there are at most `bins`, of about as many people each.

        With cuts also `at` some places there are a few more; a history has no such bins, and is left out.
        """
        if len(self.cuts) <= bins:
            return self
        if self.history is not None and bins != CANDIDATES and len(self.cuts) > CANDIDATES:
            return self.coarsened().coarsened(bins)  # a history has no finer bins than that
        starts = np.union1d(self.starts(bins), np.asarray(at, dtype=np.int64))
        history = self.history if self.history is None or bins == CANDIDATES else self.history.joined(starts)
        history = None if len(at) else history
        return replace(
            self,
            cuts=self.cuts[starts],
            tops=np.maximum.reduceat(self.tops, starts),
            counts=np.add.reduceat(self.counts, starts, axis=1),
            exact=False,
            decisions=None if self.decisions is None else np.add.reduceat(self.decisions, starts, axis=1),
            history=history,
            fitted=self.label_model.joined(starts) if bins == CANDIDATES else None,  # whole bands
        )


def _with_empty_bin(counts: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return counts with one more bin, the last on its axis, of nobody."""
    return np.concatenate((counts, 0 * counts.take([0], axis=axis)), axis=axis)
