"""Options: what could be done instead where no single threshold meets every constraint.

All are worked out over every threshold of the table: the best lottery by a linear program, and the threshold with the
smallest sum of violations, :func:`fairgate.problem.violation`, which is what "nearest" means here. They are chosen to
meet the constraints on these people just so; with what probability they do in the population is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.money import Money
from fairgate.constraints import Constraint
from fairgate.constraints.pieces import rates_of
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants
from fairgate.people.labels import tail
from fairgate.people.search import search
from fairgate.problem import Problem, best_feasible, is_feasible
from fairgate.settings import Array

DRAWN, WEIGHTS = 48, 20
"""Thresholds and weights tried for a lottery of two, where a constraint is not made of straight lines."""

LEVELS = 400
"""Steps of the acceptance rate in the search for thresholds by group."""

NOT_SHOWN = "That it meets them for all whom they were drawn from is not shown."
"""An option is chosen by all people, of whom none are left to test it."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Something else than one threshold for all, with its exact figures on the people of the table."""

    kind: str  # "lottery" or "per-group"
    rule: str = ""  # whom to accept
    reward: float | None = None  # per person; None if the constraints cannot be met this way
    rates: dict[str, float] = field(default_factory=dict)  # acceptance rate by group
    weights: list[tuple[float | None, float]] = field(default_factory=list)  # of a lottery; None accepts nobody
    thresholds: dict[str, float] = field(default_factory=dict)  # by group
    text: str


class Candidates(NamedTuple):
    """Thresholds, and last of all one that accepts nobody."""

    places: NDArray[np.int64]  # numbers of these thresholds, (K - 1,)
    accepted: Array  # people by label whom each of them accepts, (G, K, 2)
    people: Array  # all people by label, (G, 2)

    def counts(self, accepted: Array) -> Counts:
        """Return the counts (…, G, 2, 2) where these people (…, G, 2) are accepted."""
        return Counts(np.stack((np.maximum(self.people - accepted, 0.0), accepted), axis=-1))


def other_ways(applicants: Applicants, candidates: Applicants, problem: Problem, money: Money) -> list[Option]:
    """Return the best lottery between shared thresholds, and thresholds by group.

    The first is the best over all thresholds of the table, `applicants`; the others are searched for among the
    `candidates`.
    """
    return [_lottery(applicants, problem, money), _per_group(candidates, problem, money)]


def rules_of(applicants: Applicants) -> Candidates:
    """Return all thresholds, and accepting nobody."""
    places, accepted = np.arange(len(applicants.cuts)), tail(applicants.filled)
    accepted = np.concatenate((accepted, np.zeros_like(accepted[:, :1])), axis=1)
    return Candidates(places, accepted, applicants.filled.sum(axis=1))


def _lottery(applicants: Applicants, problem: Problem, money: Money) -> Option:
    candidates = rules_of(applicants)
    weights = best_lottery(candidates, problem)
    if weights is None:
        text = "No lottery between shared thresholds was found that meets every constraint either."
        return Option(kind="lottery", text=text)
    weights = np.where(weights < 1e-9, 0.0, weights)
    weights /= weights.sum()
    drawn, places = np.flatnonzero(weights), candidates.places
    counts = candidates.counts(np.einsum("gky,k->gy", candidates.accepted, weights))
    reward = float(problem.utility.reward(counts))
    rules = [f"{applicants.sign} {applicants.words(int(places[k]))}" if k < len(places) else "nobody" for k in drawn]
    parts = percentages(weights[drawn])
    listed = ", ".join(f"{rule} with {part}" for rule, part in zip(rules, parts, strict=True))
    text = (
        "A lottery treats people with the same score by chance; where that is accepted, it can meet every constraint: "
        f"drawn for each person, accept {listed} probability (exact weights are in report.json). It "
        f"would earn {money.per_person(reward)} per person, the most of all lotteries that meet every constraint. "
        f"{NOT_SHOWN}"
    )
    shown = [float(applicants.shown(applicants.cuts[places[k]])) if k < len(places) else None for k in drawn]
    mixed = dict(zip(applicants.groups, counts.rates.tolist(), strict=True))
    pairs = list(zip(shown, weights[drawn].tolist(), strict=True))
    return Option(kind="lottery", rule=listed, reward=reward, rates=mixed, weights=pairs, text=text)


def percentages(weights: Array) -> list[str]:
    """Write shares that sum to 1 as percentages that sum to 100.

    >>> percentages(np.array([1 / 3, 1 / 3, 1 / 3]))
    ['33.34%', '33.33%', '33.33%']
    """
    exact = weights * 1e4
    whole = np.floor(exact + 1e-6).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: 10_000 - whole.sum()]] += 1
    return [f"{part / 100:.2f}%" for part in whole.tolist()]


def _per_group(applicants: Applicants, problem: Problem, money: Money) -> Option:
    text = (
        "Thresholds by group treat people with the same score differently because of their group; in credit, housing "
        "and employment that is often unlawful, so ask a lawyer first. "
    )
    candidates = rules_of(applicants)
    accepted = candidates.accepted[:, :-1]  # a group of which nobody is accepted would have no threshold
    rates = accepted.sum(axis=2) / candidates.people.sum(axis=1)[:, None]  # falling
    steps = np.linspace(1.0, 0.0, LEVELS)
    even = [np.clip(np.searchsorted(-own, -steps), 0, len(own) - 1) for own in rates]
    found = search(list(accepted), even, lambda chosen: problem.assess(candidates.counts(chosen)))
    if not found.rank[0]:
        return Option(kind="per-group", text=text + "Here none were found that meet every constraint either.")
    counts = candidates.counts(accepted[np.arange(len(accepted)), found.choice])
    places = candidates.places[found.choice]
    cuts = dict(zip(applicants.groups, places.tolist(), strict=True))
    listed = ", ".join(
        f"{applicants.sign} {applicants.words(cut)} for {applicants.called(name)}" for name, cut in cuts.items()
    )
    reward = float(problem.utility.reward(counts))
    thresholds = {name: float(applicants.shown(applicants.cuts[cut])) for name, cut in cuts.items()}
    kept = dict(zip(applicants.groups, counts.rates.tolist(), strict=True))
    text += (
        f"They could meet every constraint, {listed}, and would earn {money.per_person(reward)} per person. {NOT_SHOWN}"
    )
    return Option(
        kind="per-group",
        rule=listed,
        reward=reward,
        rates=kept,
        thresholds=thresholds,
        text=text,
    )


def best_lottery(candidates: Candidates, problem: Problem) -> Array | None:
    """Return the weights of shared thresholds, (K,), with the highest reward under every constraint, or None.

    Where every residual is the largest of straight lines, a linear program: reward and rates are linear in the weights.
    Otherwise lotteries between any two of some thresholds are tried.
    """
    from scipy.optimize import linprog

    every = candidates.counts(np.moveaxis(candidates.accepted, 1, 0))
    lines = _lines(problem.constraints, every)
    if lines is None:
        return _best_pair(candidates, problem)
    rows, limits = lines
    solved = linprog(
        -problem.utility.reward(every),
        A_ub=rows if len(rows) else None,
        b_ub=limits if len(rows) else None,
        A_eq=np.ones((1, len(every.total))),
        b_eq=[1.0],
    )
    return np.asarray(solved.x) if solved.status == 0 else None


def _lines(constraints: Sequence[Constraint], every: Counts) -> tuple[Array, Array] | None:
    """Return the rows (M, K) and limits (M,) of a linear program, or None if some constraint has none."""
    rates, sizes = (each.T for each in rates_of(every))
    empty = sizes[:, 0] <= 0
    rates = np.where(empty[:, None], 0.0, rates)
    rows, limits = [np.zeros((0, rates.shape[1]))], [np.zeros(0)]
    for constraint in constraints:
        pieces = constraint.pieces(every.group_count)
        if pieces is None:
            return None
        for lines, limit in pieces:
            used = lines[~(lines[:, empty] != 0.0).any(axis=1)]
            rows.append(used @ rates)
            limits.append(np.full(len(used), limit))
    return np.concatenate(rows), np.concatenate(limits)


def _best_pair(candidates: Candidates, problem: Problem) -> Array | None:
    count = candidates.accepted.shape[1]
    tried = np.unique(np.linspace(0, count - 1, min(count, DRAWN)).round().astype(np.int64))
    pairs = np.array(list(combinations(tried.tolist(), 2))).reshape(-1, 2)
    share = np.linspace(0.0, 1.0, WEIGHTS + 1)[:, None, None, None]
    one, other = (np.moveaxis(candidates.accepted[:, places], 1, 0) for places in pairs.T)
    found = problem.assess(candidates.counts(share * one + (1.0 - share) * other))  # (W, pairs)
    flat = found.residuals.reshape(len(found.residuals), -1)
    best = int(best_feasible(found.reward.ravel(), flat))
    if not is_feasible(flat[:, best]):
        return None
    step, pair = np.unravel_index(best, found.reward.shape)
    weights = np.zeros(count)
    weights[pairs[pair]] = share[step].item(), 1.0 - share[step].item()
    return weights
