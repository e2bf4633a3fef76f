"""Views: what can be looked at: the status, the figures of the page, cases and the log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, select, tuple_

from fairgate.confidence import gap_range
from fairgate.constraints.bounds import BROKEN, MET, residual_bounds, verdict
from fairgate.counts import Counts
from fairgate.live.events import Event
from fairgate.live.failures import MissingError
from fairgate.live.fold import Fold, days_between
from fairgate.live.guards import acceptance
from fairgate.live.played import rounded
from fairgate.live.replies import (
    AgeBand,
    Alarm,
    CaseFacts,
    ConstraintFigures,
    Figure,
    Figures,
    GroupFigures,
    Labels,
    LogEvent,
    ModeNow,
    RoundFigures,
    Scope,
    Status,
)
from fairgate.live.schema import cases, events, outcomes, overrides
from fairgate.live.spec import DIGITS, Spec
from fairgate.live.watch import Watch
from fairgate.live.words import bin_text, policy_now, policy_text, rule_text, threshold_of
from fairgate.policy import Policy

NAMES = ("all rounds", "since the mode was set", "the policy in force")
"""What the watched stretches are called."""

MISSING = 10
"""Rounds after which a group of which nobody came is called missing."""

BLOCK = 2000
"""Events that are read at a time."""


def created(connection: Connection, gate: int) -> dict[str, Any]:
    """Return the body of a gate's first event."""
    found = connection.execute(select(events.c.body).where(events.c.gate == gate, events.c.seq == 1)).scalar()
    if found is None:
        raise MissingError("the log has no first event")
    data: dict[str, Any] = json.loads(found)
    return data


def events_after(connection: Connection, gate: int, seq: int) -> Iterator[Event]:
    """Yield the events after one, in order."""
    while True:
        rows = connection.execute(
            select(*(events.c[name] for name in Event._fields))
            .where(events.c.gate == gate, events.c.seq > seq)
            .order_by(events.c.seq)
            .limit(BLOCK)
        ).all()
        for row in rows:
            yield Event(*row)
        if len(rows) < BLOCK:
            return
        seq = rows[-1].seq


def status(fold: Fold) -> Status:
    """Return what is in force now."""
    from fairgate import __version__

    now, mode, proposal = fold.open, fold.mode, fold.candidate
    if proposal is None and fold.proposal is not None:
        proposal = rounded(fold.proposal, DIGITS)  # as it would be played, without components of no weight
    since = (fold.force_round, fold.force_at)
    asked = now.at if now is not None else fold.closed_at or mode.since
    shown = None if fold.force is None or mode.mode == "shadow" else policy_now(fold.spec, fold.force, *since)
    return Status(
        gate=fold.spec.name,
        library=__version__,
        seq=fold.seq,
        head=fold.head,
        round=fold.round,
        open=now is not None,
        people=0 if now is None else int(now.counts.sum()),
        mode=ModeNow(mode=mode.mode, reason=mode.reason, actor=mode.actor, since=mode.since),
        policy=shown,
        proposal=None if proposal is None else policy_now(fold.spec, proposal, fold.round, asked),
        waiting=fold.waiting,
    )


def figures(fold: Fold, at: str) -> Figures:
    """Return everything the page shows but the history; figures are those of closed rounds."""
    scopes = [scope(fold, watch, name) for watch, name in zip(fold.watches, NAMES, strict=True)]
    labels = label_figures(fold, at)
    here = [
        name
        for name, last in zip(fold.spec.groups, fold.seen, strict=True)
        if fold.round and (last is None or fold.round - last > MISSING)
    ]
    return Figures(
        status=status(fold),
        alpha=fold.spec.guards.alpha,
        scopes=scopes,
        labels=labels,
        missing=here,
        alarms=alarms(fold, scopes, labels, here),
        history=[],
    )


def scope(fold: Fold, watch: Watch, name: str) -> Scope:
    """Return the figures of a stretch of rounds."""
    spec, alpha = fold.spec, fold.spec.guards.alpha
    people, taken = np.asarray(watch.rates.people), np.asarray(watch.rates.total)
    known = watch.bounds(alpha)
    rates = np.divide(taken, people, out=np.full(len(people), np.nan), where=people > 0)
    groups = slice(1, 1 + len(spec.groups))
    shown = [
        GroupFigures(
            name=each,
            people=int(people[1 + place]),
            accepted=int(taken[1 + place]),
            acceptance=figure(rates[1 + place], known.low[1 + place], known.high[1 + place]),
            last_round=fold.seen[place],
        )
        for place, each in enumerate(spec.groups)
    ]
    gap = Figure(value=None, low=None, high=None)
    if len(spec.groups) > 1 and (people[groups] > 0).any():
        present = rates[groups][~np.isnan(rates[groups])]
        low, high = gap_range(known.low[None, groups], known.high[None, groups])
        gap = figure(float(present.max() - present.min()), float(low[0]), float(high[0]))
    value, low_reward, high_reward = watch.reward(alpha, spec.false_positive_cost)
    return Scope(
        name=name,
        rounds=watch.rounds,
        people=int(people[0]),
        acceptance=figure(rates[0], known.low[0], known.high[0]),
        groups=shown,
        gap=gap,
        reward=Figure(value=value, low=low_reward, high=high_reward),
        constraints=constraint_figures(fold, watch),
    )


def figure(value: float, low: float, high: float) -> Figure:
    """Return a figure with its bounds, nothing if there is no value."""
    if np.isnan(value):
        return Figure(value=None, low=None, high=None)
    return Figure(value=float(value), low=float(low), high=float(high))


def constraint_figures(fold: Fold, watch: Watch) -> list[ConstraintFigures]:
    """Return what is known of each residual of each constraint."""
    people, taken = np.asarray(watch.rates.people)[1:], np.asarray(watch.rates.total)[1:]
    known = watch.bounds(fold.spec.guards.alpha)
    found = []
    for constraint in fold.setting.problem.constraints:
        judged = constraint.needs == "decisions"
        bounds = residual_bounds(constraint, known) if judged else None
        values = constraint.residuals(Counts.of_decisions(people[None], taken[None])) if bounds else ()
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            if bounds is None:
                text = "It depends on labels of the rejected, which nobody sees."
                text = "It cannot be judged while rates are uncertain." if judged else text
                state, residual = "not judged" if judged else "not identified", Figure(value=None, low=None, high=None)
            else:
                low, high = float(bounds[0][place]), float(bounds[1][place])
                state = verdict(low, high) if people.any() else "undecided"
                residual = figure(float(np.asarray(values[place])[0]) if people.any() else np.nan, low, high)
                text = constraint_text(words.about, words.broken, state, low)
            found.append(
                ConstraintFigures(
                    constraint=constraint.text,
                    name=name,
                    about=words.about,
                    status=state,
                    residual=residual,
                    text=text,
                )
            )
    return found


def constraint_text(about: str, broken: str, state: str, low: float) -> str:
    """Say in one sentence what is known of a residual."""
    if state == BROKEN:
        said = broken.format(f"{low:.3g}")
        return f"{said[:1].upper()}{said[1:]}, or more."
    return f"{about}: {'within its limit' if state == MET else 'cannot be told yet'}."


def label_figures(fold: Fold, at: str) -> Labels:
    """Return how many labels arrived and are awaited, by age."""
    due = fold.spec.label_due_days
    ends = (due / 3, 2 * due / 3, due)
    names = [f"up to {ends[0]:g} days", *(f"{low:g} to {high:g} days" for low, high in itertools.pairwise(ends))]
    tallies = np.zeros((4, 2), dtype=np.int64)
    for number, each in fold.origins.items():
        age = max(days_between(each.at, at), 0.0)
        came = sum(int(kind[number].sum()) for kind in (fold.labels, fold.aside) if number in kind)
        tallies[int(np.searchsorted(ends, age))] += (sum(each.accepted), each.awaited - came)
    awaited = tallies[:, 1]
    return Labels(
        arrived=fold.arrived,
        awaited=int(awaited.sum()),
        late=int(awaited[3]),
        due_days=due,
        ages=[
            AgeBand(about=about, accepted=int(row[0]), awaited=int(row[1]))
            for about, row in zip([*names, f"late: more than {due:g} days"], tallies, strict=True)
        ],
        last=fold.label_at,
    )


def alarms(fold: Fold, scopes: list[Scope], labels: Labels, missing: list[str]) -> list[Alarm]:
    """Return what an operator should know."""
    found = []
    if fold.paused:
        text = f"Learning is paused: {fold.mode.reason}. Look into it, then set the mode."
        found.append(Alarm(kind="paused", text=text, since=fold.mode.since))
    alpha = fold.spec.guards.alpha
    for each in scopes:
        for judged in each.constraints:
            if judged.status == BROKEN:
                text = f"{judged.text} On average over {each.name}; the chance of a false alarm is at most {alpha:g}."
                found.append(Alarm(kind="constraint", text=text, since=fold.closed_at))
    if np.any(getattr(fold.state, "infeasible", False)):
        text = "The learner finds that no threshold meets all constraints: widen a limit, or change the means."
        found.append(Alarm(kind="infeasible", text=text, since=fold.closed_at))
    if labels.late:
        text = f"{labels.late} labels are late by more than {labels.due_days:g} days: find out whether they will come."
        found.append(Alarm(kind="labels", text=text, since=labels.last or fold.closed_at))
    if missing:
        text = f"Nobody of {', '.join(missing)} came in the last {MISSING} rounds: their acceptance is not known."
        found.append(Alarm(kind="missing", text=text, since=fold.closed_at))
    if fold.waiting:
        text = "A proposal of the learner waits for approval."
        found.append(Alarm(kind="waiting", text=text, since=fold.closed_at or fold.mode.since))
    return found


def history(
    spec: Spec, connection: Connection, gate: int, end: int, rounds: int, known: Mapping[int, RoundFigures]
) -> list[RoundFigures]:
    """Return the last closed rounds before `end`, oldest first; those that are not `known` are read."""
    wanted = range(max(0, end - rounds), end)
    unknown = [number for number in wanted if number not in known]
    found: dict[int, RoundFigures] = {}
    if unknown:
        rows: dict[str, dict[int, Any]] = {}
        for kind in ("opened", "closed"):
            asked = select(events.c.round, events.c.at, events.c.body).where(
                events.c.gate == gate, events.c.kind == kind, events.c.round >= unknown[0], events.c.round < end
            )
            rows[kind] = {row.round: row for row in connection.execute(asked)}
        for number in rows["closed"]:
            found[number] = round_figures(spec, rows["opened"][number], rows["closed"][number])
    return [found.get(number) or known[number] for number in wanted if number in found or number in known]


def round_figures(spec: Spec, opened: Row[Any], closed: Row[Any]) -> RoundFigures:
    """Return one closed round."""
    begun, ended = json.loads(opened.body), json.loads(closed.body)
    grid = spec.setting.thresholds
    counts = np.zeros((len(spec.groups), len(grid) + 1, 2), dtype=np.int64)
    for group, place, accepted, number in ended["counts"]:
        counts[group, place, accepted] += number
    people = counts.sum(axis=(1, 2))
    rates = np.divide(counts[..., 1].sum(axis=1), people, out=np.full(len(people), np.nan), where=people > 0)
    played, proposed = Policy.from_json(ended["played"]), Policy.from_json(begun["proposal"])
    return RoundFigures(
        round=closed.round,
        at=closed.at,
        mode=begun["mode"],
        people=ended["people"],
        thresholds=_known(played.published[0]),
        lottery=bool(played.is_lottery[0]),
        proposed=_known(proposed.published[0]),
        acceptance=_known(rates),
        would=_known(acceptance(proposed, counts.sum(axis=2), grid)),
        guards=begun["guards"],
    )


def _known(values: Any) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in values]


def case(spec: Spec, connection: Connection, gate: int, name: str) -> CaseFacts:
    """Return why an application was accepted or rejected."""
    if spec.store == "counts":
        raise MissingError(f"the gate {spec.name!r} keeps counts only, no applications")
    row = connection.execute(select(cases).where(cases.c.gate == gate, cases.c.id == name)).first()
    if row is None:
        raise MissingError(f"there is no application {name!r} at the gate {spec.name!r}")
    return case_facts(spec, connection, gate, row)


def case_list(spec: Spec, connection: Connection, gate: int, after: tuple[int, int], limit: int) -> list[CaseFacts]:
    """Return applications in the order they were decided."""
    later = tuple_(cases.c.seq, cases.c.place) > after
    asked = select(cases).where(cases.c.gate == gate, later).order_by(cases.c.seq, cases.c.place).limit(limit)
    return [case_facts(spec, connection, gate, row) for row in connection.execute(asked).all()]


def case_facts(spec: Spec, connection: Connection, gate: int, row: Row[Any]) -> CaseFacts:
    """Return the facts of one row."""
    grid = spec.setting.thresholds
    event = connection.execute(select(events).where(events.c.gate == gate, events.c.seq == row.seq)).one()
    opened = connection.execute(
        select(events).where(events.c.gate == gate, events.c.kind == "opened", events.c.round == row.round)
    ).one()
    changed = connection.execute(select(overrides).where(overrides.c.gate == gate, overrides.c.id == row.id)).first()
    labelled = connection.execute(
        select(outcomes.c.label, events.c.at)
        .join(events, and_(events.c.gate == outcomes.c.gate, events.c.seq == outcomes.c.seq))
        .where(outcomes.c.gate == gate, outcomes.c.id == row.id)
        .order_by(outcomes.c.seq.desc())
        .limit(1)
    ).first()
    data = json.loads(opened.body)
    reported = event.kind == "reported"
    policy = Policy.from_json(data["proposal"] if data["policy"] is None else data["policy"])
    component = int(np.searchsorted(policy.weights[:-1, 0].cumsum(), row.draw, side="right"))
    threshold = float(policy.thresholds[component, 0, row.group])
    lottery = bool(policy.is_lottery[0])
    accepted = bool(row.accepted if changed is None else changed.accepted)
    by = "the operator's own rule" if reported else "the policy in force" if changed is None else "a person"
    verb = "accepted" if accepted else "rejected"
    said = [
        f"Application {row.id} of the group {spec.groups[row.group]}, with the score {row.score:g}, was {verb} by {by} "
        f"in round {row.round}, on {event.at[:10]}."
    ]
    if reported:
        said.append(f"The learner proposed to {policy_text(spec, policy)}." if data["policy"] is None else "")
    else:
        said.append(f"The policy in force was: {policy_text(spec, policy)}.")
        if lottery:
            rule = rule_text(spec, policy.thresholds[component, 0])
            said.append(f"Its lottery number {row.draw:.6f} drew the rule: accept {rule}.")
            if not accepted and changed is None:
                said.append("A rejection by lottery needs a reason that counsel accepts.")
    if changed is not None:
        said.append(
            f"The policy had {'accepted' if row.accepted else 'rejected'} it; a person overrode that: {changed.reason}"
        )
    return CaseFacts(
        id=row.id,
        seq=row.seq,
        place=row.place,
        round=row.round,
        at=event.at,
        mode=data["mode"],
        group=spec.groups[row.group],
        score=row.score,
        bin=bin_text(grid, row.bin),
        policy=policy_now(spec, policy, row.round, opened.at),
        draw=row.draw if lottery and not reported else None,
        threshold=None if reported else threshold_of(threshold),
        accepted=accepted,
        decided_by=by,
        override=None if changed is None else changed.reason,
        label=None if labelled is None else labelled.label,
        label_at=None if labelled is None else labelled.at,
        text=" ".join(filter(None, said)),
    )


def log(
    connection: Connection, gate: int, after: int, limit: int, newest: bool = False, kind: str | None = None
) -> list[LogEvent]:
    """Return events after one, or the newest before it."""
    asked = select(events).where(events.c.gate == gate)
    place = [events.c.seq]
    if kind is not None:
        asked = asked.where(events.c.kind == kind)
        place = [events.c.round, events.c.seq]  # the same order, which the index of kinds has
    if newest:
        asked = (asked.where(events.c.seq < after) if after else asked).order_by(*(each.desc() for each in place))
    else:
        asked = asked.where(events.c.seq > after).order_by(*place)
    rows = connection.execute(asked.limit(limit)).all()
    names = [name for name in LogEvent.model_fields if name != "body"]
    return [LogEvent(**{name: getattr(row, name) for name in names}, body=json.loads(row.body)) for row in rows]
