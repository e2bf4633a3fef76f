"""Change: who would be decided differently from today, by group, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.people.applicants import Applicants
from fairgate.settings import Array


@dataclass(frozen=True)
class Part:
    """Current against recommended for one group, or for everybody: people, and amounts in the currency of the aims."""

    name: str  # "" for everybody
    called: str
    people: float
    accepted_now: float
    accepted_then: float
    newly_accepted: float
    newly_rejected: float
    money_now: float
    money_then: float
    money_of_accepted: float  # what those newly accepted are worth
    money_of_rejected: float  # what those newly rejected were worth

    @property
    def rate_now(self) -> float | None:
        """Share accepted today; None where nobody's decision is known."""
        return self.accepted_now / self.people if self.people else None

    @property
    def rate_then(self) -> float | None:
        """Share accepted under the recommendation, of the same people."""
        return self.accepted_then / self.people if self.people else None


@dataclass(frozen=True)
class Change:
    """Who changes. Money goes by known labels, missing ones shared out among people of similar score and group.

    With decisions that went by more than the score, people of the same score and group are taken to be alike.
    """

    source: str  # "decision" or "threshold": where the present comes from
    current: str  # the present rule in words
    threshold: float | None  # as it reads in the table
    groups: list[Part]
    everybody: Part
    unknown: float  # people accepted now or then with nothing known of their label: their worth is a guess
    undecided: float  # people whose decision is missing, who are left out


def compare(applicants: Applicants, aims: Aims, cut: float) -> Change | None:
    """Compare the decisions made, or the threshold in use, with the recommended `cut`; None if neither is known.

    >>> import pyarrow as pa
    >>> import fairgate as fg
    >>> table = pa.table({"score": [1, 2, 3, 4], "label": [0, 1, 0, 1], "group": ["a", "b", "a", "b"]})
    >>> people = fg.from_frame(table, score="score", label="label", group="group")
    >>> found = compare(people, fg.Aims(cost=900, benefit=120, currency="EUR", current=3.0), 2.0)
    >>> found.current, found.everybody.newly_accepted, found.everybody.money_now, found.everybody.money_then
    ('score ≥ 3', 1.0, -780.0, -660.0)
    """
    each = applicants.counts.sum(axis=2).astype(np.float64)
    whole = np.maximum(each, 1e-300)
    bins = np.arange(len(applicants.cuts))
    if applicants.decisions is not None:
        rejected, accepted = np.moveaxis(applicants.decisions, -1, 0)
        each = (rejected + accepted).astype(np.float64)  # people whose decision is known
        now = accepted / np.maximum(each, 1e-300)
        source, current, threshold = "decision", "the decisions made", None
    elif aims.current is not None:
        in_use = int(np.searchsorted(applicants.cuts, applicants.shown(aims.current)))
        now = np.broadcast_to((bins >= in_use).astype(np.float64), each.shape)
        source, threshold = "threshold", aims.current
        current = f"{applicants.columns.score} {applicants.sign} {aims.current:g}"
    else:
        return None
    then = np.broadcast_to((bins >= np.searchsorted(applicants.cuts, cut)).astype(np.float64), each.shape)
    scale = applicants.total / applicants.counts.sum()
    people = scale * each
    worth = people * (aims.benefit * applicants.filled[..., 1] - aims.cost * applicants.filled[..., 0]) / whole
    joined, left = then * (1.0 - now), now * (1.0 - then)

    def part(name: str, called: str, rows: slice) -> Part:
        def total(values: Array, share: Array | float = 1.0) -> float:
            return float((values * share)[rows].sum())

        return Part(
            name=name,
            called=called,
            people=total(people),
            accepted_now=total(people, now),
            accepted_then=total(people, then),
            newly_accepted=total(people, joined),
            newly_rejected=total(people, left),
            money_now=total(worth, now),
            money_then=total(worth, then),
            money_of_accepted=total(worth, joined),
            money_of_rejected=total(worth, left),
        )

    model = applicants.label_model
    dark = people * ~np.take_along_axis(model.known, model.bands, axis=1) * applicants.counts[..., 2] / whole
    undecided = max(applicants.total - float(people.sum()), 0.0)
    unknown = float((np.maximum(now, then) * dark).sum())
    groups = [
        part(name, applicants.called(name), slice(place, place + 1)) for place, name in enumerate(applicants.groups)
    ]
    return Change(source, current, threshold, groups, part("", "everybody", slice(None)), unknown, undecided)
