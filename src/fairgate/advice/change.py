"""Change: who would be decided differently from today, by group, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.advice.requirements import Requirement, requirements
from fairgate.constraints.bounds import label_gaps
from fairgate.counts import Counts
from fairgate.people.applicants import CANDIDATES, Applicants
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

    With decisions that went by more than the score, a history tells the labels of those accepted; without one, people
    of the same score and group are taken to be alike, and money today is estimated.
    """

    source: str  # "decision" or "threshold": where the present comes from
    current: str  # the present rule in words
    threshold: float | None  # as it reads in the table
    groups: list[Part]
    everybody: Part
    unknown: float  # people accepted now or then with nothing known of their label: their worth is a guess
    undecided: float  # people whose decision is missing, who are left out
    estimated: bool  # whether labels of the accepted are told from those of others of the same score, who were rejected
    requirements: list[Requirement]  # whether the present keeps what is required


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
    whole, labelled = np.maximum(each, 1e-300), None
    bins = np.arange(len(applicants.cuts))
    if applicants.decisions is not None:
        rejected, accepted = np.moveaxis(applicants.decisions, -1, 0)
        each = (rejected + accepted).astype(np.float64)  # people whose decision is known
        now = accepted / np.maximum(each, 1e-300)
        labelled = labels_by_decision(applicants)
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
    worth_now = worth * now
    if labelled is not None:
        worth_now = scale * each * now * worth_of_accepted(applicants, aims, labelled)
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
            money_now=total(worth_now),
            money_then=total(worth, then),
            money_of_accepted=total(worth - worth_now, then),
            money_of_rejected=total(worth_now, 1.0 - then),
        )

    model = applicants.label_model
    dark = people * ~np.take_along_axis(model.known, model.bands, axis=1) * applicants.counts[..., 2] / whole
    undecided = max(applicants.total - float(people.sum()), 0.0)
    unknown = float((np.maximum(now, then) * dark).sum())
    groups = [
        part(name, applicants.called(name), slice(place, place + 1)) for place, name in enumerate(applicants.groups)
    ]
    return Change(
        source,
        current,
        threshold,
        groups,
        part("", "everybody", slice(None)),
        unknown,
        undecided,
        estimated=labelled is None and bool(((now > 0.0) & (now < 1.0)).any()),
        requirements=required_now(applicants, aims, labelled),
    )


def labels_by_decision(applicants: Applicants) -> Array | None:
    """Return people by group, candidate bin, label and decision, (G, K, 3, 2), if the history has everybody."""
    history, decisions = applicants.history, applicants.decisions
    if history is None or decisions is None or not history.decided:
        return None
    found = history.counts.sum(axis=0).astype(np.float64)
    same = np.allclose(found.sum(axis=(1, 2)), decisions.sum(axis=1), rtol=0.01, atol=1.0)
    return found if same else None


def worth_of_accepted(applicants: Applicants, aims: Aims, labelled: Array) -> Array:
    """Return what one of the accepted was worth on average, by group and bin, (G, B).

    Labels that are known are theirs; one that is missing counts as shared out among people of similar score and group.
    """
    starts = applicants.starts(CANDIDATES)
    filled = np.add.reduceat(applicants.filled - applicants.counts[..., :2], starts, axis=1)
    missing = np.add.reduceat(applicants.counts[..., 2], starts, axis=1)
    guess = (aims.benefit * filled[..., 1] - aims.cost * filled[..., 0]) / np.maximum(missing, 1e-300)
    bad, good, unknown = np.moveaxis(labelled[..., 1], -1, 0)
    total = aims.benefit * good - aims.cost * bad + guess * unknown
    mean = total / np.maximum(bad + good + unknown, 1e-300)
    return np.asarray(np.repeat(mean, np.diff([*starts.tolist(), len(applicants.cuts)]), axis=1))


def required_now(applicants: Applicants, aims: Aims, labelled: Array | None) -> list[Requirement]:
    """Hold the present rule against what is required.

    Constraints that look at labels go by known ones, by decision, if those are as often known of the accepted as of the
    rejected; of a threshold in use missing labels are shared out, as of the recommended one.
    """
    constraints = aims.problem.constraints
    if applicants.decisions is None:
        place = int(np.searchsorted(applicants.cuts, applicants.shown(aims.current)))
        filled = applicants.filled
        cells = np.stack((filled[:, :place].sum(axis=1), filled[:, place:].sum(axis=1)), axis=-1)
        return requirements(constraints, Counts(cells))
    decided = applicants.decisions.sum(axis=1, dtype=np.float64)
    by_label = Counts(np.zeros((len(decided), 2, 2))) if labelled is None else Counts(labelled[:, :, :2].sum(axis=1))
    untold = "labels by decision are not known without dates"
    if labelled is not None:
        reason = label_gaps(labelled.sum(axis=1))[0]
        untold = reason[:1].lower() + reason[1:].rstrip(".")
    found = []
    for constraint in constraints:
        decisions = constraint.needs == "decisions"
        counts = Counts.of_decisions(decided.sum(axis=1), decided[:, 1]) if decisions else by_label
        found += requirements([constraint], counts, untold)
    return found
