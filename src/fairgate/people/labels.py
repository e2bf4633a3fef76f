"""Labels: what is known of labels that are missing.

People of similar score in the same group are supposed to have a positive label as often whether or not it is known
(missing at random given score and group). Where hardly anybody's label is known, as below the threshold of a policy
that never accepted anybody there, nothing is known, and that is said. What is filled in can be shifted by an odds
ratio, up to all bad and all good [1]_.

References
----------
.. [1] C. F. Manski. Partial identification of probability distributions. Springer, 2003.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array

BANDS = 32
"""Most bands of similar scores in a group."""

BAND_PEOPLE = 25
"""Fewest people of a band, unless the group is smaller."""

BAND_LABELS = 12
"""Fewest labels per band of a group, on average."""

LABELLED = 0.05
"""Share of a band's people, and at least so many hundredths of 100, whose label must be known."""

UNKNOWN = 0.01
"""Share of all people that may be accepted with nothing known of their label."""

CHANCE = 0.01
"""Probability below which people without a label beyond all that have one are not so by chance."""


@dataclass(frozen=True)
class LabelModel:
    """Bands of similar scores in each group, and in which of them labels are known."""

    bands: NDArray[np.int64]  # band of each bin, (G, B), from 0 up
    donor: NDArray[np.int64]  # band whose labels speak for a band, (G, bands): itself, or the nearest that has labels
    known: NDArray[np.bool_]  # whether labels are known in a band, (G, bands)
    lit: NDArray[np.bool_]  # whether labels tell about a bin, (G, B)

    @classmethod
    def fit(cls, counts: NDArray[np.int64], starts: NDArray[np.int64]) -> LabelModel:
        """Lay out the bands for counts (G, B, 3), each of about as many people.

        A band is made of whole runs of bins, which begin at `starts`, so that :meth:`joined` has the same bands.
        """
        people = np.add.reduceat(counts.sum(axis=2), starts, axis=1)
        sizes = counts.sum(axis=(1, 2))
        most = BANDS if counts[..., 2].any() else 1
        labels = counts[..., :2].sum(axis=(1, 2))  # in each band there should be some
        count = np.minimum(sizes // BAND_PEOPLE, labels // BAND_LABELS)
        count = np.clip(count, 1, most).astype(np.int64)  # weights make sizes fractions
        middle = people.cumsum(axis=1) - people / 2.0
        bands = np.minimum((middle * (count / np.maximum(sizes, 1))[:, None]).astype(np.int64), count[:, None] - 1)
        bands = np.repeat(bands, np.diff(starts, append=counts.shape[1]), axis=1)
        totals = sum_bands(counts, bands, most)
        labelled, everybody = totals[..., :2].sum(axis=-1), totals.sum(axis=-1)
        known = (everybody > 0) & (
            (labelled == everybody) | (labelled >= np.maximum(LABELLED * everybody, 100 * LABELLED))
        )
        places = np.arange(most)
        donor = np.tile(places, (len(bands), 1))
        for group in range(len(bands)):
            if known[group].any():
                have = places[known[group]]
                donor[group] = have[np.abs(places[:, None] - have).argmin(axis=1)]
        lit = np.take_along_axis(known, bands, axis=1)
        for own, band, seen in zip(counts, bands, lit, strict=True):
            seen[beyond(own, band)] = False
            seen[len(seen) - 1 - beyond(own[::-1], band[::-1])] = False
        return cls(bands, donor, known, lit)

    def joined(self, starts: NDArray[np.int64]) -> LabelModel:
        """Return the same model for runs of bins, which begin at `starts`."""
        lit = np.logical_and.reduceat(self.lit, starts, axis=1)
        return LabelModel(self.bands[:, starts], self.donor, self.known, lit)

    def rates(self, counts: NDArray[np.int64]) -> Array:
        """Return the share of positive labels in each group and bin, (…, G, B), for counts (…, G, B, 3)."""
        totals = sum_bands(counts, self.bands, self.donor.shape[1])
        labelled = totals[..., :2].sum(axis=(-3, -2), keepdims=True) + 1e-9  # of all groups: where a band has none
        usual = (labelled[..., 1] / labelled.sum(axis=-1)) * 1e-9
        share = (totals[..., 1] + usual) / (totals[..., 0] + totals[..., 1] + 1e-9)
        taken = np.take_along_axis(share, np.broadcast_to(self.donor, share.shape), axis=-1)
        return np.take_along_axis(taken, np.broadcast_to(self.bands, (*share.shape[:-1], self.bands.shape[1])), axis=-1)

    def fill(self, counts: NDArray[np.int64], odds: float = 1.0) -> Array:
        """Return people by group, bin and label 0 or 1, (…, G, B, 2), the missing labels shared out.

        Where nothing is known of labels they count as 0, so that nobody is accepted there on a guess.
        The odds of label 0 among people without a label are `odds` times those of people with one of similar score in
        the same group; ``inf`` makes all of them 0, and 0 makes all of them 1.
        """
        if not counts[..., 2].any():
            return counts[..., :2].astype(np.float64)
        rates = np.where(self.lit, self.rates(counts), 0.0)
        if odds != 1.0:
            rates = np.full(rates.shape, float(odds == 0.0)) if odds in (0.0, np.inf) else tilted(rates, odds)
        return np.asarray(counts[..., :2] + counts[..., 2, None] * np.stack((1.0 - rates, rates), axis=-1))

    def unknown(self, counts: NDArray[np.int64]) -> Array:
        """Return the share of all people who are accepted at each cut with nothing known of their label, (B,)."""
        dark = ~self.lit * counts[..., 2]
        return np.asarray(tail(dark).sum(axis=0) / counts.sum())


def tilted(rates: Array, odds: float) -> Array:
    """Return shares of label 1 where the odds of label 0 are so many times as high.

    >>> tilted(np.array([0.5, 0.8]), 4.0)
    array([0.2, 0.5])
    """
    return np.asarray(rates / (rates + odds * (1.0 - rates)))


def beyond(counts: NDArray[np.int64], band: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bins before the first label of a group, counts (B, 3), unless labels are so rare that it is chance.

    >>> rows = np.array([[0, 0, 9], [0, 0, 9], [3, 6, 0], [2, 7, 0]])
    >>> beyond(rows, np.zeros(4, int))
    array([0, 1])
    >>> rows[:, 2] = 9, 9, 90, 90                  # one in eleven has a label
    >>> beyond(rows, np.zeros(4, int))
    array([], dtype=int64)
    """
    labelled = counts[:, :2].sum(axis=1)
    if not labelled.any():
        return np.arange(len(counts))
    first = int(np.flatnonzero(labelled)[0])
    inside = (band == band[first]) & (np.arange(len(band)) >= first)
    share = labelled[inside].sum() / counts[inside].sum()
    return np.arange(first if (1.0 - share) ** counts[:first].sum() < CHANCE else 0)


def sum_bands(counts: NDArray[np.int64], bands: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Sum counts (…, G, B, 3) over the bins of each band, (…, G, bands, 3)."""
    found = np.zeros((*counts.shape[:-2], most, counts.shape[-1]), dtype=counts.dtype)
    for group, band in enumerate(bands):
        starts = np.flatnonzero(np.diff(band, prepend=-1))
        found[..., group, band[starts], :] = np.add.reduceat(counts[..., group, :, :], starts, axis=-2)
    return found


def tail(counts: NDArray[Any], axis: int = 1) -> NDArray[Any]:
    """Sum over each place and all after it.

    >>> tail(np.array([[1, 2, 3]]))
    array([[6, 5, 3]])
    """
    return np.flip(np.flip(counts, axis).cumsum(axis), axis)
