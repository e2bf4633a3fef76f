"""DelayedLabels: labels of accepted people on their way, batch by batch."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import across_groups, over_bins
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import Arrivals

Whole = NDArray[np.int64]


class _Batch(NamedTuple):
    """A batch some of whose labels are on their way."""

    played: Policy
    counts: Whole  # people and accepted, (2, groups, replicates); 0 where nobody was accepted, as all is known of these


class DelayedLabels:
    """Labels of accepted people on their way: each arrives in any round with the same probability, or is lost."""

    def __init__(self, arrival: float, nature: Nature, loss: float = 0.0) -> None:
        self.arrival, self.nature, self.loss = arrival, nature, loss
        self.batches: dict[int, _Batch] = {}  # where labels come from, while any is on its way
        self.open: dict[int, int] = {}  # labels of each of these that are
        self.lost: dict[int, bool] = {}  # whether any of these never arrives, which nobody can know
        self.due: dict[int, list[tuple[int, Whole]]] = defaultdict(list)  # batch and places, by arrival

    def arrive(self, now: int, played: Policy, cells: Whole) -> tuple[Arrivals, Whole]:
        """Send the labels of a batch on their way, and return those that arrive now: by batch, and all by score bin."""
        accepted = cells[..., 1]
        coarse = over_bins(cells) if cells.ndim == 5 else cells
        by_group = coarse[..., 0, 1] + coarse[..., 1, 1]
        people = by_group + coarse[..., 0, 0] + coarse[..., 1, 0]
        taken = across_groups(np.add, by_group)
        counts = np.array((people.T, by_group.T), order="C")  # replicates last in memory, as those of labels
        self.batches[now] = _Batch(played.copy(), np.where(taken == 0, 0, counts))
        place = np.repeat(np.arange(accepted.size), accepted.ravel())
        delays = self.nature.delays(taken, int(people.sum(axis=1).max()), self.arrival, self.loss)
        if self.loss:
            place, delays = place[delays >= 0], delays[delays >= 0]
        self.open[now] = len(delays)
        self.lost[now] = len(delays) < int(taken.sum())
        self._send(now, place, delays)

        arrived = dict(self.due.pop(now, ()))
        origins = sorted({now, *arrived})
        members = [arrived.get(origin, place[:0]) for origin in origins]
        batches = [*(self.batches[origin] for origin in origins[:-1]), _Batch(self.batches[now].played, counts)]
        last = [self._less(origin, len(each)) for origin, each in zip(origins, members, strict=True)]
        places = np.concatenate(members)
        labels = _by_batch(places, [len(each) for each in members], accepted.shape)
        stacked = np.concatenate([batch.counts for batch in batches], axis=1).reshape(
            2, len(batches), *counts.shape[1:]
        )
        come, taken_in = stacked.swapaxes(2, 3)
        found = Arrivals(origins, [batch.played for batch in batches], labels, come, taken_in, last)
        return found, np.bincount(places, minlength=accepted.size).reshape(accepted.shape)

    def _send(self, now: int, place: Whole, delay: Whole) -> None:
        """Send labels on their way, each of a place among the accepted and so many rounds late."""
        sizes = np.bincount(delay)
        small = len(sizes) < 2**15  # small numbers are sorted much faster
        place = place[np.argsort(delay.astype(np.int16) if small else delay, kind="stable")]
        first = 0
        for late in np.flatnonzero(sizes).tolist():
            end = first + int(sizes[late])
            self.due[now + late].append((now, place[first:end]))
            first = end

    def _less(self, origin: int, labels: int) -> bool:
        """Note that so many labels of a batch have arrived, and return whether these were the last."""
        self.open[origin] -= labels
        if self.open[origin]:
            return False
        del self.batches[origin], self.open[origin]
        return not self.lost.pop(origin)


def _by_batch(places: Whole, sizes: list[int], shape: tuple[int, ...]) -> Whole:
    """Count places in an array (replicates, groups, …, 2) by batch, (batches, replicates, groups, 2).

    In memory replicates come last, as what is read off the labels of a group lies together then.
    """
    replicates, groups, batches = *shape[:2], len(sizes)
    replicate, kind = (table.take(places) for table in _tables(shape))
    kind *= batches * replicates
    kind += replicate
    kind += np.repeat(np.arange(batches) * replicates, sizes)
    counted = np.bincount(kind, minlength=groups * 2 * batches * replicates)
    return counted.reshape(groups, 2, batches, replicates).transpose(2, 3, 0, 1)


@functools.lru_cache(maxsize=8)
def _tables(shape: tuple[int, ...]) -> tuple[Whole, Whole]:
    """Return the replicate, and group and label as one number, of every place: looked up faster than divided."""
    places = np.arange(math.prod(shape))
    member, label = places // math.prod(shape[2:]), places % 2
    return member // shape[1], member % shape[1] * 2 + label
