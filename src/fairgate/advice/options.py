"""Options: what could be done instead where no single threshold meets every constraint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.people.applicants import Applicants, tail
from fairgate.people.labels import UNKNOWN, LabelModel
from fairgate.problem import ROUNDING
from fairgate.settings import Array

LOWEST, PRICES = 400, 20
"""Lowest rates and prices of acceptance tried in the search for thresholds by group."""


@dataclass(frozen=True)
class Option:
    """Something else than one threshold for all, with its exact figures on the people of the table, and its standing.

    Attributes
    ----------
    kind
        "lottery" or "per-group".
    reward, rates
        Reward a person, None if the constraints cannot be met this way, and acceptance rate by group.
    weights
        Of a lottery: how often each threshold is drawn; the threshold None accepts nobody.
    thresholds
        By group.
    text
        In words.
    """

    kind: str
    reward: float | None
    rates: dict[str, float]
    weights: list[tuple[float | None, float]]
    thresholds: dict[str, float]
    text: str


def other_ways(applicants: Applicants, aims: Aims) -> list[Option]:
    """Return the best lottery between shared thresholds, and thresholds by group, on the people as they are.

    Thresholds that would accept people of whose labels nothing is known are left out.
    """
    model = LabelModel.of(applicants)
    people = model.fill(applicants.counts)
    size = people.sum(axis=(1, 2))
    known = np.flatnonzero(model.unknown(applicants) <= UNKNOWN)
    accepted = np.concatenate((tail(people)[:, known], np.zeros((len(size), 1, 2))), axis=1)  # the last accepts nobody
    rates = accepted.sum(axis=2) / size[:, None]
    worth = (accepted[..., 1] - aims.cost * accepted[..., 0]) / size.sum()
    shares = size / size.sum()
    return [
        _lottery(applicants, known, rates, worth, shares, aims),
        _per_group(applicants, known, rates, worth, shares, aims),
    ]


def _lottery(
    applicants: Applicants, known: NDArray[np.int64], rates: Array, worth: Array, shares: Array, aims: Aims
) -> Option:
    weights = best_lottery(rates, worth, shares, aims)
    if weights is None:
        text = "No lottery between shared thresholds meets every constraint either."
        return Option("lottery", None, {}, [], {}, text)
    weights = np.where(weights < 1e-9, 0.0, weights)
    weights /= weights.sum()
    drawn = np.flatnonzero(weights)
    reward = float(worth.sum(axis=0) @ weights)
    rules = [f"{applicants.sign} {applicants.words(int(known[k]))}" if k < len(known) else "nobody" for k in drawn]
    parts = percentages(weights[drawn])
    listed = ", ".join(f"{rule} with {part}" for rule, part in zip(rules, parts, strict=True))
    text = (
        "A lottery treats people with the same score by chance; where that is accepted, it can meet every constraint: "
        f"drawn anew for every person, accept {listed} probability (exact weights are in report.json). It would earn "
        f"{reward:.4f} a person."
    )
    shown = [float(applicants.shown(applicants.cuts[known[k]])) if k < len(known) else None for k in drawn]
    mixed = dict(zip(applicants.groups, (rates @ weights).tolist(), strict=True))
    return Option("lottery", reward, mixed, list(zip(shown, weights[drawn].tolist(), strict=True)), {}, text)


def percentages(weights: Array) -> list[str]:
    """Write shares that sum to 1 as percentages that sum to 100.

    >>> percentages(np.array([1 / 3, 1 / 3, 1 / 3]))
    ['33.34%', '33.33%', '33.33%']
    """
    exact = weights * 1e4
    whole = np.floor(exact + 1e-6).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: 10_000 - whole.sum()]] += 1
    return [f"{part / 100:.2f}%" for part in whole.tolist()]


def _per_group(
    applicants: Applicants, known: NDArray[np.int64], rates: Array, worth: Array, shares: Array, aims: Aims
) -> Option:
    text = (
        "Thresholds by group treat people with the same score differently because of their group; in credit, housing "
        "and employment that is often unlawful, so ask a lawyer first. "
    )
    found = best_per_group(rates, worth, shares, aims)
    if found is None:
        return Option("per-group", None, {}, [], {}, text + "Here none were found that meet every constraint either.")
    groups, cuts = range(len(found)), known[found].tolist()
    reward = float(worth[groups, found].sum())
    listed = ", ".join(
        f"{applicants.sign} {applicants.words(cut)} for {applicants.called(name)}"
        for name, cut in zip(applicants.groups, cuts, strict=True)
    )
    thresholds = {
        name: float(applicants.shown(applicants.cuts[cut])) for name, cut in zip(applicants.groups, cuts, strict=True)
    }
    kept = dict(zip(applicants.groups, rates[groups, found].tolist(), strict=True))
    text += f"They could meet every constraint, {listed}, and would earn {reward:.4f} a person."
    return Option("per-group", reward, kept, [], thresholds, text)


def best_per_group(rates: Array, worth: Array, shares: Array, aims: Aims) -> NDArray[np.int64] | None:
    """Return the number of each group's threshold, (G,), that together earn much under every constraint, or None.

    All rates lie between some lowest rate a and a + ε. Given a, and a price on acceptance that brings the overall rate
    into its window, every group chooses for itself; many a and a grid of prices are tried.
    """
    rates, worth = rates[:, :-1], worth[:, :-1]  # a group of which nobody is accepted has no threshold
    if not rates.size:
        return None
    low, high = aims.service or (0.0, 1.0)
    width = 1.0 if aims.parity is None else aims.parity
    prices = np.concatenate(([0.0], *(sign * np.geomspace(0.001, 1.0 + aims.cost, PRICES) for sign in (1.0, -1.0))))
    paid = worth + prices[:, None, None] * shares[:, None] * rates  # (P, G, K)
    groups = np.arange(len(rates))
    best, found = -np.inf, None
    lowest_rates = np.unique(rates)
    for lowest in lowest_rates[np.linspace(0, len(lowest_rates) - 1, min(len(lowest_rates), LOWEST)).astype(np.int64)]:
        allowed = (rates >= lowest - ROUNDING) & (rates <= lowest + width + ROUNDING)
        if not allowed.any(axis=1).all():
            continue
        picks = np.where(allowed, paid, -np.inf).argmax(axis=2)  # (P, G)
        chosen = rates[groups, picks]
        overall = chosen @ shares
        fine = (overall >= low - ROUNDING) & (overall <= high + ROUNDING)
        earned = np.where(fine, worth[groups, picks].sum(axis=1), -np.inf)
        if earned.max() > best:
            best, found = float(earned.max()), picks[earned.argmax()]
    return found


def best_lottery(rates: Array, worth: Array, shares: Array, aims: Aims) -> Array | None:
    """Return the weights of shared thresholds, (K,), with the highest reward under every constraint, or None.

    A linear program: reward and rates are linear in the weights.
    """
    from scipy.optimize import linprog

    rows, limits = [], []
    if aims.parity is not None:
        for one, other in permutations(rates, 2):
            rows.append(one - other)
            limits.append(aims.parity)
    if aims.service is not None:
        rows += [-(shares @ rates), shares @ rates]
        limits += [-aims.service[0], aims.service[1]]
    solved = linprog(
        -worth.sum(axis=0),
        A_ub=np.array(rows) if rows else None,
        b_ub=limits if rows else None,
        A_eq=np.ones((1, rates.shape[1])),
        b_eq=[1.0],
    )
    return np.asarray(solved.x) if solved.status == 0 else None
