"""Choosing thresholds: of all candidates, the one that earns most among those that meet every constraint."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgate.constraints import DemographicParity
from fairgate.constraints.base import check_residuals
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.people.search import Found, search
from fairgate.problem import ROUNDING, Assessment, Problem, Utility
from fairgate.settings import Array, as_floats, whole_number
from fairgate.sklearn.people import Scored
from fairgate.thresholds import ThresholdSweep


class Choice(NamedTuple):
    """What was chosen; feasible and curve are None while nobody has been scored."""

    thresholds: dict[Any, float]  # of every group
    feasible: bool | None = None
    curve: ThresholdSweep | None = None  # of shared thresholds; and of those by group, if they are better, as the last
    missed: str = ""  # which constraints are missed, and by how much, in words


class Chooser(NamedTuple):
    """What is wanted and required of thresholds, and which are candidates."""

    problem: Problem
    edges: Array | None  # the candidates, if they were given
    limit: int  # otherwise, how many there are at most
    per_group: bool  # whether every group gets a threshold of its own
    growing: bool  # whether more groups may come

    @classmethod
    def checked(cls, cost: Any, constraints: Any, per_group: Any, grid: Any, grouped: bool, growing: bool) -> Chooser:
        """Say so if any of these cannot be used; `grouped` is whether sensitive features are given."""
        if isinstance(cost, bool) or not isinstance(cost, numbers.Real) or not 0 <= float(cost) < math.inf:
            raise InputError(f"cost must be a finite number of at least 0, got {cost!r}")
        if not isinstance(per_group, (bool, np.bool_)):
            raise InputError(f"per_group must be True or False, got {per_group!r}")
        if per_group and not grouped:
            raise InputError("sensitive_features must be given when per_group is True, got None")
        if constraints is None:
            constraints = [DemographicParity(0.05)] if grouped else []
        if not isinstance(constraints, Sequence):
            raise InputError(f"constraints must be a list such as [DemographicParity(0.05)], got {constraints!r}")
        problem = Problem(Utility(float(cost)), constraints)
        if problem.replicates is not None:
            raise InputError(f"constraints must each have one number per setting, got {constraints!r}")
        if np.ndim(grid) == 0:
            return cls(problem, None, whole_number("grid", grid, 2), bool(per_group), growing)
        return cls(problem, np.unique(as_floats("grid", grid, ndim=1)), 0, bool(per_group), growing)

    def choose(self, table: Scored) -> Choice:
        """ThresholdSweep the candidates and return the best."""
        groups = len(table.groups)
        candidates = self._candidates(table.scores, table.people.sum(axis=(1, 2)))
        counts = self._counts(table, np.stack(table.accepted([candidates] * groups), axis=1))
        try:
            check_residuals(self.problem.constraints, counts)
        except InputError as error:
            if counts.group_count > 1 or not any(each.compares_groups for each in self.problem.constraints):
                raise
            raise InputError(f"sensitive_features must name at least 2 groups: {error}") from None
        assessment = self._assess(counts)
        curve = _sweep(candidates, counts, assessment)
        best = Found.among(np.repeat(candidates[:, None], groups, axis=1), assessment)
        if self.per_group:
            found = self._search(table)
            if found.rank > best.rank:
                unseen = table.people.sum(axis=(0, 2)) == 0  # nothing is known of these groups
                best = found._replace(choice=np.where(unseen, best.choice, found.choice))
                own = self._counts(table, np.stack(table.accepted(list(best.choice[:, None])), axis=1))
                curve = _joined(curve, _sweep(np.array([np.nan]), own, self._assess(own)))
        missed = zip(self.problem.names, best.residuals, strict=True)
        amounts = ", ".join(f"{name} by {value:.3g}" for name, value in missed if value > ROUNDING)
        return Choice(dict(zip(table.groups, best.choice.tolist(), strict=True)), best.rank[0], curve, amounts)

    def _candidates(self, scores: Array, people: Array) -> Array:
        """Those given, or all there are between the scores of these people, or `limit` of them."""
        if self.edges is not None:
            return self.edges
        every = _between(scores[people > 0])
        return every if len(every) <= self.limit else np.unique(_levels(scores, people, self.limit))

    def _counts(self, table: Scored, accepted: Array) -> Counts:
        """Counts (K, G, 2, 2) if these people (K, G, 2) are accepted.

        While groups may still come, one that is alone is compared with an empty one.
        """
        cells = np.stack((np.maximum(table.people.sum(axis=0) - accepted, 0.0), accepted), axis=-1)
        if self.growing and len(table.groups) == 1 and table.groups[0] is not None:
            cells = np.concatenate((cells, np.zeros_like(cells)), axis=1)
        return Counts(cells)

    def _assess(self, counts: Counts) -> Assessment:
        """Reward (K,) and residuals (J, K)."""
        assessment = self.problem.assess(counts)
        unknown = np.isnan(assessment.residuals)
        if unknown.any():
            name = self.problem.names[int(np.argwhere(unknown)[0, 0])]
            raise InputError(f"constraints must give numbers, but residual {name!r} is NaN at some threshold")
        return assessment

    def _search(self, table: Scored) -> Found:
        """Return the best thresholds of all groups together, as far as :func:`~fairgate.people.search.search` looks."""
        by_group = [people.sum(axis=1) for people in np.moveaxis(table.people, 1, 0)]
        every = [self._candidates(table.scores, own) for own in by_group]
        even = [self.edges if self.edges is not None else _levels(table.scores, own, self.limit) for own in by_group]
        places = [np.searchsorted(own, level) for own, level in zip(every, even, strict=True)]
        found = search(table.accepted(every), places, lambda accepted: self._assess(self._counts(table, accepted)))
        return found._replace(choice=np.array([own[place] for own, place in zip(every, found.choice, strict=True)]))


def _sweep(thresholds: Array, counts: Counts, found: Assessment) -> ThresholdSweep:
    return ThresholdSweep(thresholds, found.reward, counts.gap, counts.overall, found.residuals)


def _joined(one: ThresholdSweep, other: ThresholdSweep) -> ThresholdSweep:
    """Return one curve after the other."""
    parts = zip(vars(one).values(), vars(other).values(), strict=True)
    return ThresholdSweep(*(np.concatenate(pair, axis=-1) for pair in parts))


def _between(scores: Array) -> Array:
    """-inf, all that lies halfway between neighbouring scores, and inf.

    >>> _between(np.array([0.0, 1.0, 4.0]))
    array([-inf,  0.5,  2.5,  inf])
    """
    halfway = scores[:-1] + 0.5 * np.diff(scores)
    halfway = np.where(halfway > scores[:-1], halfway, scores[1:])  # neighbouring floats have nothing between them
    return np.concatenate(([-np.inf], halfway, [np.inf]))


def _levels(scores: Array, people: Array, limit: int) -> Array:
    """Candidates, some perhaps repeated, nearest to `limit` even steps of the share rejected.

    >>> _levels(np.array([0.0, 1.0, 4.0]), np.array([2.0, 1.0, 1.0]), limit=3)
    array([-inf,  0.5,  inf])
    """
    scores, people = scores[people > 0], people[people > 0]
    rejected = np.concatenate(([0.0], people.cumsum()))
    steps = np.linspace(0.0, rejected[-1], limit)
    return _between(scores)[np.searchsorted(0.5 * (rejected[:-1] + rejected[1:]), steps)]
