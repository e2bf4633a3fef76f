"""Shares: how often the label of an accepted person is known, by group, score band, and lottery or not.

Labels are supposed to be missing at random given these. Bands are of accepted people, apart for those whom a lottery
accepted (propensity below 1) and those who were sure to be, and as fine as their labels allow: who is accepted by
lottery has mostly a lower score, and labels of low scores are often those that are still missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.audit.reading import Cases
from fairgate.settings import Array

BANDS = 20
"""Most score bands of a group."""

LABELS = 15
"""Labels per band."""

FEWEST = 10
"""Fewest labels of a band where others are missing: with fewer, nothing is said about it."""


@dataclass(frozen=True, eq=False)
class LabelShares:
    """Share of accepted people whose label is known, NaN where there are too few labels to tell.

    `edges` and `shares` are by group, those of the lottery before those who were sure to be accepted.
    """

    edges: list[Array]
    shares: list[Array]

    def of(self, cases: Cases, rows: slice) -> Array:
        """Return the share of each row; 1 where no label is missing."""
        scores, kind = cases.scores[rows], _kind(cases, rows)
        found = np.ones(len(scores))
        for place, shares in enumerate(self.shares):
            if len(shares) > 1 or shares[0] != 1.0:
                own = kind == place
                found[own] = shares[np.searchsorted(self.edges[place], scores[own], side="right")]
        return found


def label_shares(cases: Cases, groups: int) -> LabelShares:
    """Count labels of the accepted."""
    edges, shares = [], []
    everybody = slice(0, len(cases.scores))
    kind = np.where(cases.accepted, _kind(cases, everybody), -1)
    known = cases.labels < 2
    for place in range(2 * groups):
        own = np.flatnonzero(kind == place)
        if known[own].all():
            edges.append(np.empty(0))
            shares.append(np.ones(1))
            continue
        own = own[np.argsort(cases.scores[own], kind="stable")]
        bands = _bands(cases.scores[own], known[own])
        edges.append(bands[0])
        shares.append(bands[1])
    return LabelShares(edges, shares)


def _kind(cases: Cases, rows: slice) -> NDArray[np.int64]:
    return np.asarray(cases.groups[rows].astype(np.int64) * 2 + (cases.propensities[rows] >= 1.0))


def _bands(scores: Array, known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Part accepted people, in the order of their scores, into bands of as many labels, and return edges and shares.

    A band is left open (NaN) if it has too few labels, or if all of them are in one half of its people: then there are
    scores in it of which nothing is known.
    """
    labels = np.flatnonzero(known)
    count = int(np.clip(len(labels) // LABELS, 1, BANDS))
    edges = np.unique(scores[labels[(np.arange(1, count) * len(labels)) // count]]) if count > 1 else np.empty(0)
    starts = np.searchsorted(scores, edges, side="left")
    shares = []
    for band in np.split(known, starts):
        half = len(band) // 2
        halves = int(band[:half].sum()), int(band[half:].sum())
        open_ended = len(band) > 0 and not band.all() and (sum(halves) < FEWEST or min(halves) == 0)
        shares.append(np.nan if open_ended else float(band.mean()) if len(band) else 1.0)
    return edges, np.array(shares)
