"""Options: what could be done instead where no single threshold meets every constraint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.advice.applicants import Applicants, tail
from fairgate.advice.labels import LabelModel

THRESHOLDS = 64
"""Thresholds that lotteries and per-group thresholds are made of."""


@dataclass(frozen=True)
class Option:
    """Something else than one threshold for all, what it would earn on the people of the table, and its standing."""

    kind: str
    reward: float | None
    rates: dict[str, float]
    thresholds: dict[str, float]
    text: str


def other_ways(applicants: Applicants, aims: Aims) -> list[Option]:
    """Return the best lottery between shared thresholds, and the best thresholds by group, on today's people."""
    coarse = applicants.coarsened(THRESHOLDS)
    people = LabelModel.of(coarse).fill(coarse.counts)
    size = people.sum(axis=(1, 2))
    accepted = np.concatenate((tail(people), np.zeros((len(size), 1, 2))), axis=1)  # the last accepts nobody
    rates = accepted.sum(axis=2) / size[:, None]
    worth = (accepted[..., 1] - aims.cost * accepted[..., 0]) / size.sum()
    shares = size / size.sum()
    lottery = _best(rates, worth, shares, aims, shared=True)
    by_group = _best(rates, worth, shares, aims, shared=False)
    found = []
    text = "A lottery between two thresholds treats people with the same score by chance; where that is accepted, "
    if lottery is None:
        text = "No lottery between shared thresholds meets every constraint either. "
        found.append(Option("lottery", None, {}, {}, text.strip()))
    else:
        mixed = (rates * lottery).sum(axis=1)
        reward = float((worth * lottery).sum())
        text += f"it can meet every constraint and would earn {reward:.4f} a person."
        found.append(Option("lottery", reward, dict(zip(coarse.groups, mixed.tolist(), strict=True)), {}, text))
    text = (
        "Thresholds by group treat people with the same score differently because of their group; in credit, housing "
        "and employment that is often unlawful, so ask a lawyer first. "
    )
    if by_group is None:
        found.append(Option("per-group", None, {}, {}, text + "Here they could not meet every constraint either."))
        return found
    wanted = (rates * by_group).sum(axis=1)
    place = np.abs(rates[:, :-1] - wanted[:, None]).argmin(axis=1)
    each = {name: float(coarse.shown(coarse.cuts[k])) for name, k in zip(coarse.groups, place, strict=True)}
    reward = float((worth * by_group).sum())
    listed = ", ".join(f"{applicants.sign} {value:.6g} for {name}" for name, value in each.items())
    text += f"They could meet every constraint, about {listed}, and would earn about {reward:.4f} a person."
    found.append(Option("per-group", reward, dict(zip(coarse.groups, wanted.tolist(), strict=True)), each, text))
    return found


def _best(rates: Any, worth: Any, shares: Any, aims: Aims, *, shared: bool) -> Any:
    """Solve for the weights of thresholds, (G, K), with the highest reward under every constraint; None if none does.

    A linear program: reward and rates are linear in the weights.
    """
    from scipy.optimize import linprog

    groups, arms = rates.shape
    blocks = np.zeros((groups, groups, arms))
    blocks[np.arange(groups), np.arange(groups)] = rates
    by_group = blocks.reshape(groups, -1)  # acceptance rate of each group
    rows, limits = [], []
    if aims.parity is not None:
        for a, b in combinations(range(groups), 2):
            rows += [by_group[a] - by_group[b], by_group[b] - by_group[a]]
            limits += [aims.parity, aims.parity]
    if aims.service is not None:
        overall = shares @ by_group
        rows += [-overall, overall]
        limits += [-aims.service[0], aims.service[1]]
    ones = np.kron(np.eye(groups), np.ones(arms))
    matrix, objective = np.array(rows).reshape(-1, groups * arms), -worth.reshape(-1)
    if shared:
        fold = np.tile(np.eye(arms), (groups, 1))
        matrix, objective, ones = matrix @ fold, objective @ fold, np.ones((1, arms))
    solved = linprog(
        objective,
        A_ub=matrix if len(rows) else None,
        b_ub=limits if len(rows) else None,
        A_eq=ones,
        b_eq=np.ones(len(ones)),
    )
    if solved.status != 0:
        return None
    return np.tile(solved.x, (groups, 1)) if shared else solved.x.reshape(groups, arms)
