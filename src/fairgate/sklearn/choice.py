"""Choosing thresholds: of all candidates, the one that earns most among those that meet every constraint."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.constraints import DemographicParity
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.oracle import Sweep
from fairgate.problem import ROUNDING, Assessment, Problem, Utility, is_feasible, violation
from fairgate.settings import Array, as_floats, whole_number
from fairgate.sklearn.people import Table

CHUNK = 100_000
"""Combinations of thresholds assessed at once."""

EXHAUSTIVE = 1_000_000
"""Up to so many combinations of group thresholds all are tried."""


class Choice(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    thresholds
        The threshold of every group.
    feasible, curve
        Whether every constraint is met, and the sweep of shared thresholds; None while nobody has been scored.
    missed
        Which constraints are missed, and by how much, in words.
    """

    thresholds: dict[Any, float]
    feasible: bool | None = None
    curve: Sweep | None = None
    missed: str = ""


class Chooser(NamedTuple):
    """What is wanted and required of thresholds, and which are candidates.

    Attributes
    ----------
    problem
        Utility and constraints.
    edges
        The candidates, if they were given.
    limit
        Otherwise, how many there are at most.
    per_group
        Whether every group gets a threshold of its own.
    growing
        Whether more groups may come.
    """

    problem: Problem
    edges: Array | None
    limit: int
    per_group: bool
    growing: bool

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
        if not isinstance(constraints, Sequence) or not all(
            hasattr(each, "names") and hasattr(each, "residuals") and not isinstance(each, type) for each in constraints
        ):
            raise InputError(f"constraints must be a list such as [DemographicParity(0.05)], got {constraints!r}")
        problem = Problem(Utility(float(cost)), list(constraints))
        if problem.replicates is not None:
            raise InputError(f"constraints must each have one number a setting, got {constraints!r}")
        if np.ndim(grid) == 0:
            return cls(problem, None, whole_number("grid", grid, 2), bool(per_group), growing)
        return cls(problem, np.unique(as_floats("grid", grid, ndim=1)), 0, bool(per_group), growing)

    def choose(self, table: Table) -> Choice:
        """Sweep the candidates and return the best."""
        groups = len(table.groups)
        candidates = self._candidates(table.scores, table.people.sum(axis=(1, 2)))
        shared = np.repeat(candidates[:, None], groups, axis=1)
        counts, assessment = self._assess(table, np.stack(table.accepted([candidates] * groups), axis=1))
        reward, residuals = assessment.reward[:, 0], assessment.residuals[..., 0]
        curve = Sweep(candidates, reward, counts.gap[:, 0], counts.overall[:, 0], residuals)
        best = _Found.among(shared, reward, residuals)
        if self.per_group:
            found = self._search(table)
            if _rank(found) > _rank(best):
                unseen = table.people.sum(axis=(0, 2)) == 0  # nothing is known of these groups
                best = found._replace(choice=np.where(unseen, best.choice, found.choice))
        missed = zip(self.problem.names, best.residuals, strict=True)
        amounts = ", ".join(f"{name} by {value:.3g}" for name, value in missed if value > ROUNDING)
        return Choice(dict(zip(table.groups, best.choice.tolist(), strict=True)), best.rank[0], curve, amounts)

    def _candidates(self, scores: Array, people: Array) -> Array:
        """Those given, or all there are between the scores of these people, or `limit` of them."""
        if self.edges is not None:
            return self.edges
        every = _between(scores[people > 0])
        return every if len(every) <= self.limit else np.unique(_levels(scores, people, self.limit))

    def _assess(self, table: Table, accepted: Array) -> tuple[Counts, Assessment]:
        """Reward and residuals of accepting these people (K, G, 2)."""
        counts = Counts(table.cells(accepted, self.growing))
        try:
            assessment = self.problem.assess(counts)
        except InputError as error:
            if len(table.groups) > 1:
                raise
            raise InputError(f"sensitive_features must name at least 2 groups: {error}") from None
        unknown = np.isnan(assessment.residuals)
        if unknown.any():
            name = self.problem.names[int(np.argwhere(unknown)[0, 0])]
            raise InputError(f"constraints must give numbers, but residual {name!r} is NaN at some threshold")
        return counts, assessment

    def _search(self, table: Table) -> _Found:
        """Look for the best thresholds of all groups together.

        All combinations of candidates are tried, up to `EXHAUSTIVE` of them, after those that accept every group at the
        same rate. If there are more, a coarse grid of them is, and from the best of these it goes uphill by ever
        smaller steps of one group, of all, and of all but one.
        """
        groups, by_group = len(table.groups), [people.sum(axis=1) for people in table.by_group()]
        even = [self.edges if self.edges is not None else _levels(table.scores, own, self.limit) for own in by_group]
        count, look = len(even[0]), self._looker(table, even)
        best = look(np.repeat(np.arange(count)[:, None], groups, axis=1))
        every = [self._candidates(table.scores, own) for own in by_group]
        if math.prod(len(own) for own in every) <= EXHAUSTIVE:
            look_at_all = self._looker(table, every)
            found = max(map(look_at_all, _combinations([np.arange(len(own)) for own in every])), key=_rank)
            return max(best.of(even), found.of(every), key=_rank)
        steps = np.linspace(0, count - 1, int(CHUNK ** (1 / groups))).round().astype(np.int64)
        best = max(best, *map(look, _combinations([steps] * groups)), key=_rank)
        one, step = np.eye(groups, dtype=np.int64), count // 4
        moves = np.concatenate((one, 1 - one, np.ones((1, groups), np.int64)))
        moves = np.concatenate((moves, -moves))
        while step:
            last, best = best, max(best, look(np.clip(best.choice + step * moves, 0, count - 1)), key=_rank)
            step = step // 2 if best is last else step
        return best.of(even)

    def _looker(self, table: Table, levels: Sequence[Array]) -> Callable[[NDArray[np.int64]], _Found]:
        """Return what finds the best of several places (K, G) in the levels of each group."""
        accepted = table.accepted(levels)

        def look(places: NDArray[np.int64]) -> _Found:
            chosen = np.stack([own[places[:, group]] for group, own in enumerate(accepted)], axis=1)
            _, assessment = self._assess(table, chosen)
            return _Found.among(places, assessment.reward[:, 0], assessment.residuals[..., 0])

        return look


class _Found(NamedTuple):
    """The best of several choices.

    Attributes
    ----------
    rank
        Whether it is feasible, and its reward or, if not, minus its violation: larger is better.
    choice
        What was chosen of each group, (G,).
    residuals
        (J,).
    """

    rank: tuple[bool, float]
    choice: NDArray[Any]
    residuals: Array

    @classmethod
    def among(cls, choices: NDArray[Any], reward: Array, residuals: Array) -> _Found:
        """Return the best of choices (K, G) with rewards (K,) and residuals (J, K)."""
        feasible = is_feasible(residuals)
        worth = np.where(feasible, reward, -np.inf) if feasible.any() else -violation(residuals)
        best = int(np.argmax(worth))
        return cls((bool(feasible[best]), float(worth[best])), choices[best], residuals[:, best])

    def of(self, levels: Sequence[Array]) -> _Found:
        """The same with the levels that were chosen instead of their places."""
        return self._replace(choice=np.array([own[place] for own, place in zip(levels, self.choice, strict=True)]))


def _rank(found: _Found) -> tuple[bool, float]:
    return found.rank


def _combinations(places: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """All combinations of a place a group, (N, G), `CHUNK` at a time."""
    shape = tuple(len(own) for own in places)
    for start in range(0, math.prod(shape), CHUNK):
        flat = np.arange(start, min(start + CHUNK, math.prod(shape)))
        chosen = np.unravel_index(flat, shape)
        yield np.stack([own[index] for own, index in zip(places, chosen, strict=True)], axis=1)


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
