"""audit: from a table of decisions to sequences, alarms and the value of other thresholds."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairgate.audit.alarms import BROKEN, Alarm, raise_alarms
from fairgate.audit.reading import ONCE, Decisions, read_decisions
from fairgate.audit.sequences import Sequences, follow
from fairgate.audit.value import Value, value_of
from fairgate.constraints import Constraint, PlainConstraint, as_constraint
from fairgate.constraints.base import check_names
from fairgate.errors import InputError
from fairgate.people.sources import Reader, frame_source, open_source
from fairgate.people.wanted import LOST
from fairgate.settings import whole_number

OVERALL = "all decisions"


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Everything found out about decisions.

    Attributes
    ----------
    source
        What the table is called.
    decisions
        The table, reduced to counts.
    constraints
        What is required of them.
    alpha
        Probability that any alarm ever rings without cause, over all constraints, groups, segments and looks.
    overall
        Acceptance, gap and ratio of all decisions at every look.
    pooled
        Whether groups are compared by averages over each group's own people alone.
    segments
        The same of every run of one policy; empty if no policy is told.
    alarms
        What is known of every constraint, overall and by segment.
    value
        What other thresholds would have earned, if propensities are known.
    """

    source: str
    decisions: Decisions
    constraints: tuple[Constraint, ...]
    alpha: float
    overall: Sequences
    segments: list[Sequences]
    alarms: list[Alarm]
    value: Value | None
    cost: float
    benefit: float
    currency: str
    pooled: bool = False

    @property
    def once(self) -> bool:
        """Whether decisions were looked at once, all together."""
        return self.decisions.by == ONCE

    def __repr__(self) -> str:
        made = self.decisions
        size = f"{made.people} decisions, {len(made.groups)} groups, {len(self.segments) or 1} segments"
        return f"Audit({size}, {len(self.rang)} of {len(self.alarms)} alarms rang)"

    @property
    def rang(self) -> list[Alarm]:
        """The alarms that rang at some look."""
        return [alarm for alarm in self.alarms if alarm.rang is not None]

    @property
    def broken(self) -> list[Alarm]:
        """The alarms whose constraint is broken at the last look."""
        return [alarm for alarm in self.alarms if alarm.status == BROKEN]

    def write(self, folder: str | Path) -> dict[str, Any]:
        """Write ``audit.json`` and ``audit.html`` under `folder`, and return what the first holds."""
        from fairgate.audit.report import write

        return write(self, Path(folder))

    def document(self) -> dict[str, Any]:
        """Return everything as plain data, that of ``audit.json``."""
        from fairgate.audit.report import document

        return document(self)


def audit(
    table: Any = None,
    *,
    decision: str,
    group: str | Sequence[str],
    date: str | None = None,
    order: str | None = None,
    period: str | None = None,
    once: bool = False,
    label: str | None = None,
    positive: object = None,
    accepted: object = None,
    score: str | None = None,
    descending: bool = False,
    policy: str | None = None,
    propensity: str | None = None,
    constraints: Sequence[PlainConstraint] = (),
    alpha: float = 0.05,
    pooled: bool = False,
    cost: float = 1.0,
    benefit: float = 1.0,
    currency: str = "",
    thresholds: Sequence[float] = (),
    min_group: int = 1,
    max_lost: float = LOST,
    query: str | None = None,
    reader: Reader | None = None,
) -> Audit:
    """Audit decisions that anybody made, by any system: a table with a row for each person decided on.

    Parameters
    ----------
    table
        A file such as ``"decisions.parquet"``, or a table of pandas, polars or pyarrow; nothing with a `query`.
    decision, group
        Columns: whether the person was accepted, 0 or 1, and the person's group; several columns of groups are crossed.
    date, order, period
        Column with the date of the decision, or with a number that orders them; and the length of the periods after
        which decisions are looked at: "day", "week", "month", "quarter" or "year". Without either column, decisions
        are looked at once, all together.
    once
        Whether to look once, although there are dates or an order: the table is complete, and nobody has looked before.
    label, positive, accepted
        Column with what came of the person; the label that is good; the decision that is an acceptance.
    score, descending, propensity
        Columns with the score and the probability with which a lottery accepted the person; with a label they tell
        what other thresholds would have earned.
    policy
        Column with the name of the policy; every run of one policy is a segment of its own.
    constraints
        From :mod:`fairgate.constraints`.
    alpha
        Probability that any alarm ever rings without cause, over everything that is looked at.
    pooled
        Whether a constraint between groups is broken if averages over each group's own people break it. Otherwise it
        is only if averages with the same weights of looks in both groups break it, too: rates that change together with
        the mix of groups are no gap.
    cost, benefit, currency
        What accepting somebody of a bad label costs and of a good one is worth, and in what.
    thresholds
        Thresholds to value; at even shares of people if none is given.
    min_group, max_lost
        Fewest people of a group, and largest share of rows that may be left out.

    Examples
    --------
    >>> import fairgate as fg
    >>> from fairgate.audit.example import example_decisions
    >>> found = fg.audit(example_decisions(), decision="accepted", group="sex", date="day", policy="policy",
    ...                  constraints=[fg.DemographicParity(0.05), fg.ServiceRate(0.3, 0.8)])
    >>> found
    Audit(12000 decisions, 2 groups, 2 segments, 2 of 9 alarms rang)
    >>> [(alarm.scope, alarm.name, found.decisions.looks[alarm.rang]) for alarm in found.rang]
    [('all decisions', 'parity', '2024-07'), ('scorecard', 'parity', '2024-06')]
    """
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real) or not 0.0 < alpha <= 0.5:
        raise InputError(f"alpha must be a probability above 0 and at most 0.5, such as 0.05, got {alpha!r}")
    for name, value in (("cost", cost), ("benefit", benefit)):
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 <= value < math.inf:
            raise InputError(f"{name} must be a number of at least 0, got {value!r}")
    if not 0.0 <= max_lost <= 1.0:
        raise InputError(f"max_lost must be a share from 0 to 1, got {max_lost!r}")
    least = whole_number("min_group", min_group, 1)
    required = tuple(as_constraint(each) for each in constraints)
    check_names(required)
    given = {"decision": decision, "date": date, "order": order, "label": label, "score": score}
    given |= {"policy": policy, "propensity": propensity}
    columns = {role: name for role, name in given.items() if name is not None}
    if propensity is not None and not {"score", "label"} <= set(columns):
        lacking = "score" if score is None else "label"
        raise InputError(f"propensity={propensity!r} values other thresholds and needs a {lacking} (--{lacking}) too")
    is_file = table is None or isinstance(table, str | Path)
    source = open_source(table, query, reader) if is_file else frame_source(table)
    made = read_decisions(
        source,
        columns,
        group,
        positive=positive,
        accepted=accepted,
        descending=descending,
        period=period,
        once=once,
        min_group=least,
        max_lost=max_lost,
    )
    lonely = next((each for each in required if each.compares_groups), None)
    if len(made.groups) < 2 and lonely is not None:
        raise InputError(
            f"{lonely.text} compares groups, but the column {made.columns['group']!r} has only the group "
            f"{made.groups[0]!r}"
        )
    labels = label is not None and any(each.needs != "decisions" for each in required)
    how = {"labels": labels, "once": made.by == ONCE}
    how["alike"] = not pooled and any(each.compares_groups for each in required)
    overall = follow(OVERALL, made.counts.sum(axis=1), levels(alpha, 0, policy is not None), **how)
    segments = [
        follow(_name(made, place), made.counts[:, place], levels(alpha, place + 1, True), **how)
        for place in range(len(made.segments) if policy is not None else 0)
    ]
    alarms = raise_alarms(overall, made.counts.sum(axis=(0, 1)), required, labelled=label is not None)
    for place, each in enumerate(segments):
        alarms += raise_alarms(each, made.counts[:, place].sum(axis=0), required, labelled=label is not None)
    value = None
    if made.cases is not None:
        options = {"cost": float(cost), "benefit": float(benefit), "level": 1.0 - alpha, "descending": descending}
        value = value_of(made.cases, len(made.groups), thresholds=thresholds, **options)
    return Audit(
        source.name, made, required, float(alpha), overall, segments, alarms, value, cost, benefit, currency, pooled
    )


def levels(alpha: float, segment: int, policies: bool) -> float:
    """Return the part of alpha for all decisions (segment 0) or for a segment, numbered from 1.

    Where policies are told, half of alpha is for all decisions together, and of the other half segment k gets
    1/(k (k + 1)): these add up to 1, however many segments are still to come.

    >>> levels(0.05, 0, False), levels(0.05, 0, True), [round(levels(0.05, k, True), 5) for k in (1, 2, 3)]
    (0.05, 0.025, [0.0125, 0.00417, 0.00208])
    """
    if segment == 0:
        return alpha / 2.0 if policies else alpha
    return alpha / 2.0 / (segment * (segment + 1))


def _name(made: Decisions, place: int) -> str:
    """Name a segment by its policy, and by its number where a policy came back."""
    name = made.segments[place].name
    again = sum(each.name == name for each in made.segments) > 1
    return f"{name} (segment {place + 1})" if again else name
