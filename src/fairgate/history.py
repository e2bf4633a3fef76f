"""History: past decisions under an old policy, which a learner starts from instead of from nothing."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.people.old_policy import CUTOFF, OldPolicy, cutoffs_of, find_old_policy
from fairgate.people.past import UNKNOWN, Past, read_past
from fairgate.people.values import listed
from fairgate.policy import Policy
from fairgate.problem import Arrival, Feedback, Observation
from fairgate.setting import Setting
from fairgate.settings import Index, Settings, whole_number

Whole = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class History(Settings):
    """Past decisions, one table for all replicates or one per replicate; made by :meth:`of`.

    Parameters
    ----------
    tables
        What was decided, in the order it was.
    cutoffs
        The old policy's cut-off in each group, if it is known: one tuple per table, or none at all.

    Examples
    --------
    >>> import fairgate as fg
    >>> past = {"score": [0.2, 0.7, 0.4, 0.9], "group": ["f", "m", "m", "f"], "accepted": [0, 1, 0, 1],
    ...         "outcome": [None, 1, None, 0]}
    >>> history = fg.History.of(past)
    >>> history
    History(4 decisions, 2 accepted)
    >>> setting = fg.Setting(fg.Problem(fg.Utility(1.0)), [0.25, 0.5, 0.75], groups=2)
    >>> history.old_policy(setting).policy(setting.thresholds).single
    array([[0.5, 0.5]])
    >>> first, second = history.observations(setting, batch=2)
    >>> first.scores[0].tolist(), second.labels[0, 0].tolist()
    ([[1, 0, 0, 0], [0, 0, 1, 0]], [[0, 0], [0, 0], [0, 0], [1, 0]])
    """

    tables: tuple[Past, ...]
    cutoffs: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        score: str = "score",
        group: str = "group",
        accepted: str = "accepted",
        outcome: str = "outcome",
        time: str | None = None,
        threshold: CUTOFF | None = None,
        groups: Sequence[str] | None = None,
        descending: bool = False,
        max_lost: float = 0.0,
    ) -> Self:
        """Read past decisions, one row per person.

        Parameters
        ----------
        table
            A data frame, a mapping of columns, or the path of a file (CSV, Parquet and others); a list of them is one
            per replicate.
        score, group, accepted, outcome
            Names of its columns. Accepted is 0 or 1; outcome is 0 or 1, 1 being good, and empty where it is not known.
            Outcomes of rejected people are not used.
        time
            Column by which rows are put in order: numbers or dates. Without it they are in the order of the table.
        threshold
            The old policy's cut-off, if it is known: a number, or one per group in their order or by name. Without it,
            it is found as the one that explains the decisions best.
        groups
            Names of the groups, in the order of the setting's; without them, those found, sorted.
        descending
            Whether a higher score is worse. Scores are negated then, and the grid is one of negated scores.
        max_lost
            Largest share of rows that may be left out because their score, group, decision or time cannot be read.
        """
        each = list(table) if isinstance(table, list | tuple) else [table]
        if not each:
            raise InputError("history must be a table, or one per replicate, got an empty list")
        reading: dict[str, Any] = {
            "score": score, "group": group, "accepted": accepted, "outcome": outcome, "time": time,
            "groups": groups, "descending": descending, "max_lost": max_lost,
        }  # fmt: skip
        tables = tuple(read_past(one, **reading) for one in each)
        strange = next((past for past in tables if past.names != tables[0].names), None)
        if strange is not None:
            raise InputError(
                f"history must have the same groups in every table, got {listed(tables[0].names)} and "
                f"{listed(strange.names)}: name all of them (groups)"
            )
        if threshold is None:
            return cls(tables)
        sign = -1.0 if descending else 1.0
        return cls(tables, tuple(tuple(sign * cut for cut in cutoffs_of(threshold, past.names)) for past in tables))

    def __repr__(self) -> str:
        many = f"{len(self.tables)} tables of " if len(self.tables) > 1 else ""
        return (
            f"History({many}{self.people} decisions, {sum(int(past.accepted.sum()) for past in self.tables)} accepted)"
        )

    def __eq__(self, other: object) -> bool:
        return self.sha256 == other.sha256 if isinstance(other, History) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    @property
    def people(self) -> int:
        """Number of decisions, of all tables."""
        return sum(map(len, self.tables))

    @cached_property
    def sha256(self) -> str:
        """Digest of all that is in it."""
        told = [*(past.sha256 for past in self.tables), *(repr(cuts) for cuts in self.cutoffs)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return how many decisions there are and their digest, not the decisions."""
        several = {"tables": len(self.tables)} if len(self.tables) > 1 else {}
        return {"kind": type(self).__name__, **several, "rows": self.people, "sha256": self.sha256}

    @property
    def replicates(self) -> int | None:
        """How many replicates there is a table for; None if one is for all."""
        return len(self.tables) if len(self.tables) > 1 else None

    def rows(self, index: Index) -> Self:
        """Return the same for these replicates only."""
        if len(self.tables) == 1:
            return self
        places = np.arange(len(self.tables))[index]
        cut = tuple(self.cutoffs[place] for place in places) if self.cutoffs else ()
        return type(self)(tuple(self.tables[place] for place in places), cut)

    def batches(self, batch: int) -> int:
        """Return how many batches of so many people there are, those of the longest table."""
        return -(-max(map(len, self.tables)) // whole_number("batch", batch, 1))

    def observations(self, setting: Setting, replicates: int = 1, batch: int = 256) -> Iterator[Observation]:
        """Yield what a learner of level selective-labels would have seen: batches of so many people, oldest first.

        All tables end with the last batch. Where one is shorter than others, its first batches are of nobody, and its
        oldest batch has fewer people if its length is no multiple of `batch`. Arrays of one table for all replicates
        cannot be written to.
        """
        for people, accepted, labels in self._counts(setting, replicates, batch):
            known = labels.sum(axis=2)
            yield Observation(people.sum(axis=2), accepted.sum(axis=2), known[..., 1], known[..., 0], people, labels)

    def old_policy(self, setting: Setting, replicates: int = 1) -> OldPolicy:
        """Return the old policy: the nearest of the grid to what was given, or what explains decisions best."""
        people, accepted, _ = next(self._counts(setting, replicates, max(map(len, self.tables))))
        return find_old_policy(people, accepted, setting.thresholds, self.cutoffs)

    def rounds(self, setting: Setting, replicates: int = 1, batch: int = 256) -> Iterator[tuple[Policy, Feedback]]:
        """Yield the old threshold and what a learner of level selective-labels would have been told of each batch.

        A learner that has no better use of a history can observe these rounds before its first. Outcomes came with
        their batch as far as they are known; residuals that depend on labels are not.
        """
        played = self.old_policy(setting, replicates).policy(setting.thresholds)
        for people, accepted, labels in self._counts(setting, replicates, batch):
            decided = np.stack((people - accepted, accepted), axis=-1)
            cells = np.stack((decided, np.zeros_like(decided)), axis=-2)
            came = Arrival(-1, played, labels, people.sum(axis=2), accepted.sum(axis=2), last=True)
            yield played, setting.problem.reveal(Counts.of_bins(cells), "selective-labels", [came])

    def _counts(self, setting: Setting, replicates: int, batch: int) -> Iterator[tuple[Whole, Whole, Whole]]:
        """Yield people and accepted people (R, G, K + 1), and labels (R, G, K + 1, 2), batch by batch."""
        self._check(setting, replicates)
        batches, count = self.batches(batch), len(self.tables)
        sizes = np.array([len(past) for past in self.tables])
        ends = np.concatenate([np.arange(size, 0, -1) - 1 for size in sizes])  # people who came later
        place = batches - 1 - ends // batch
        shape = (count, setting.groups, len(setting.thresholds) + 1)
        bins = np.searchsorted(setting.thresholds, self._column("scores"), side="right")
        cells = np.ravel_multi_index((np.arange(count).repeat(sizes), self._column("groups"), bins), shape)
        accepted, outcomes, order = self._column("accepted"), self._column("outcomes"), np.argsort(place, kind="stable")
        for rows in np.split(order, np.searchsorted(place[order], np.arange(1, batches))):
            cell, chosen, outcome = cells[rows], accepted[rows], outcomes[rows]
            known = chosen & (outcome < UNKNOWN)
            found = (
                _counted(cell, shape),
                _counted(cell[chosen], shape),
                _counted(cell[known] * 2 + outcome[known], (*shape, 2)),
            )
            wide = replicates if count == 1 else count
            people, taken, labels = (np.broadcast_to(each, (wide, *each.shape[1:])) for each in found)
            yield people, taken, labels

    def _column(self, name: str) -> NDArray[Any]:
        """Return a column of all tables, one below the other."""
        return np.concatenate([getattr(past, name) for past in self.tables])

    def _check(self, setting: Setting, replicates: int) -> None:
        if self.replicates not in (None, replicates):
            raise InputError(
                f"history must be one table, or one for each of {replicates} replicates, got {len(self.tables)}"
            )
        for past in self.tables:
            if len(past.names) != setting.groups:
                raise InputError(
                    f"history must have the {setting.groups} groups of the setting, got {len(past.names)}: "
                    f"{listed(past.names)}"
                )


def as_history(value: Any) -> History | None:
    """Return a history as a learner's setting has it: itself, None, or what :meth:`History.of` makes of a table."""
    return value if value is None or isinstance(value, History) else History.of(value)


def _counted(cells: NDArray[Any], shape: tuple[int, ...]) -> Whole:
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
