"""Score distributions and repayment by group: the Federal Reserve's TransRisk tables of Liu et al. 2018."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name

FICO_SHA256 = "0351b9697387f4695943153d2c8f901310be8f47b347a6f53bad1e403751402c"
"""SHA-256 of ``fico.csv`` in the package."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """How scores are spread in each group, and how likely people of a score repay.

    Parameters
    ----------
    group_names
        Names of the groups, G of them.
    people
        How many people of each group the table rests on, (G,).
    scores
        Increasing scores, (S,).
    pdf
        Share of a group that has each score, (G, S).
    repay
        Probability that a person of a group with each score repays, (G, S).

    Examples
    --------
    >>> load_fico()
    ScoreTable(198 scores from 300 to 850, people={'white': 133165, 'black': 18274, 'hispanic': 14702, 'asian': 7906})
    """

    group_names: tuple[str, ...]
    people: NDArray[np.int64]
    scores: NDArray[np.float64]
    pdf: NDArray[np.float64]
    repay: NDArray[np.float64]

    def __repr__(self) -> str:
        people = dict(zip(self.group_names, self.people.tolist(), strict=True))
        return f"ScoreTable({len(self.scores)} scores from {self.scores[0]:g} to {self.scores[-1]:g}, people={people})"

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each group among the people of these groups, (G,)."""
        return np.asarray(self.people / self.people.sum())


def load_fico(groups: Sequence[str] = ("white", "black", "hispanic", "asian")) -> ScoreTable:
    """Load the scores of some groups, in this order; no network is needed.

    >>> table = load_fico(["black", "white"])
    >>> table.shares.round(4), (table.pdf @ table.scores).round(1)
    (array([0.1207, 0.8793]), array([515.8, 651.3]))
    """
    rows = list(csv.DictReader((files("fairgate.data") / "fico.csv").read_text(encoding="utf-8").splitlines()))
    known = {row["group"]: int(row["people"]) for row in rows}
    for group in groups:
        if group not in known:
            raise unknown_name("group of fico", group, known)
    if len(set(groups)) < len(groups) or not groups:
        raise InputError(f"groups must be different groups of fico, at least one, got {list(groups)}")

    def column(name: str) -> NDArray[np.float64]:
        return np.array([[float(row[name]) for row in rows if row["group"] == group] for group in groups])

    people = np.array([known[group] for group in groups], dtype=np.int64)
    return ScoreTable(tuple(groups), people, column("score")[0], column("pdf"), column("repay"))
