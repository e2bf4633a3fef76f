"""Figures: everything the page shows, with bounds that hold at all times together; figures are of closed rounds."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, select

from fairgate.confidence import gap_range
from fairgate.constraints.bounds import BROKEN, MET
from fairgate.counts import Counts
from fairgate.live.clock import days_between
from fairgate.live.fold import Fold, read_policy
from fairgate.live.guards import acceptance
from fairgate.live.replies import (
    AgeBand,
    Alarm,
    ConstraintFigures,
    Figure,
    Figures,
    GroupFigures,
    Labels,
    RoundFigures,
    Scope,
)
from fairgate.live.schema import events
from fairgate.live.spec import Spec
from fairgate.live.views import status
from fairgate.live.watch import Watch
from fairgate.policy import Policy

NAMES = ("all rounds", "since the mode was set", "the policy in force")
"""What the watched stretches are called."""

OVER = ("all rounds", "the rounds since the mode was set", "the rounds under the policy in force")
"""The same, to follow "over"."""

MISSING = 10
"""Rounds after which a group of which nobody came is called missing."""

UNKNOWN = Figure(value=None, low=None, high=None)

MIXED = (
    "{}: broken on average, but not with the same weights of rounds in both groups: the mix of groups changed as rates "
    "did, so look at rounds one by one."
)

NOT_JUDGED = {
    "decisions": "It cannot be judged while rates are uncertain.",
    "accepted-labels": "It depends on labels of the accepted, which come later: the learner estimates it.",
    "all-labels": "It depends on labels of the rejected, which nobody sees.",
}
"""Why a constraint is not judged, by what it looks at."""


def figures(fold: Fold, at: str) -> Figures:
    """Return everything the page shows but the history; figures are those of closed rounds."""
    scopes = [scope(fold, watch, name) for watch, name in zip(fold.watches, NAMES, strict=True)]
    labels, missing = label_figures(fold, at), missing_groups(fold)
    return Figures(
        status=status(fold),
        alpha=fold.spec.guards.alpha,
        scopes=scopes,
        labels=labels,
        missing=missing,
        alarms=alarms(fold, labels, missing),
        history=[],
    )


def missing_groups(fold: Fold) -> list[str]:
    """Return the groups of which nobody came lately."""
    last = zip(fold.spec.groups, fold.seen, strict=True)
    return [name for name, seen in last if fold.round - (-1 if seen is None else seen) > MISSING]


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
    gap = UNKNOWN
    if len(spec.groups) > 1 and (people[groups] > 0).any():
        present = rates[groups][~np.isnan(rates[groups])]
        low, high = gap_range(known.low[None, groups], known.high[None, groups])
        gap = figure(float(present.max() - present.min()), float(low[0]), float(high[0]))
    reward = watch.reward(alpha, spec.false_positive_cost)
    return Scope(
        name=name,
        rounds=watch.rounds,
        people=int(people[0]),
        acceptance=figure(rates[0], known.low[0], known.high[0]),
        groups=shown,
        gap=gap,
        reward=UNKNOWN if reward is None else figure(*reward),
        reward_rounds=watch.worth.rounds,
        constraints=constraint_figures(fold, watch),
    )


def figure(value: float, low: float, high: float) -> Figure:
    """Return a figure with its bounds, nothing if there is no value."""
    if np.isnan(value):
        return UNKNOWN
    return Figure(value=float(value), low=float(low), high=float(high))


def constraint_figures(fold: Fold, watch: Watch) -> list[ConstraintFigures]:
    """Return what is known of each residual of each constraint."""
    people, taken = np.asarray(watch.rates.people)[1:], np.asarray(watch.rates.total)[1:]
    constraints = fold.setting.problem.constraints
    verdicts = watch.judge(constraints, fold.spec.guards.alpha)
    found = []
    for constraint in constraints:
        judged = constraint.needs == "decisions"
        values = constraint.residuals(Counts.of_decisions(people[None], taken[None])) if judged else ()
        for place, (name, words) in enumerate(zip(constraint.names, constraint.words, strict=True)):
            known, residual = next(verdicts), UNKNOWN
            if known is None:
                state = "not identified" if constraint.needs == "all-labels" else "not judged"
                text = NOT_JUDGED[constraint.needs]
            else:
                state = known.status
                value = float(np.asarray(values[place])[0]) if people.any() else np.nan
                residual = figure(value, known.low, known.high)
                text = constraint_text(words.about, words.broken, state, known.low)
                text = MIXED.format(words.about) if known.mixed else text
            about = {"constraint": constraint.text, "name": name, "about": words.about}
            found.append(ConstraintFigures(**about, status=state, residual=residual, text=text))
    return found


def constraint_text(about: str, broken: str, state: str, low: float) -> str:
    """Say in one sentence what is known of a residual."""
    if state == BROKEN:
        said = broken.format(f"{low:.3g}")
        return f"{said[:1].upper()}{said[1:]}, or more."
    return f"{about}: {'within its limit' if state == MET else 'cannot be told yet'}."


def label_figures(fold: Fold, at: str) -> Labels:
    """Return how many labels arrived and are awaited, by age; those of the open round as well."""
    due = fold.spec.label_due_days
    ends = (due / 3, 2 * due / 3, due)
    names = [f"up to {ends[0]:g} days", *(f"{low:g} to {high:g} days" for low, high in itertools.pairwise(ends))]
    awaited = [0] * 4
    rounds = [(number, each.at, each.awaited) for number, each in fold.origins.items()]
    if fold.open is not None:
        rounds.append((fold.round, fold.open.at, int(fold.open.counts[..., 1].sum())))
    for number, begun, left in rounds:
        came = sum(int(tallies[number].sum()) for tallies in (fold.labels, fold.aside) if number in tallies)
        awaited[int(np.searchsorted(ends, max(days_between(begun, at), 0.0)))] += left - came
    return Labels(
        arrived=fold.arrived,
        awaited=sum(awaited),
        late=awaited[3],
        due_days=due,
        ages=[
            AgeBand(about=about, awaited=number)
            for about, number in zip([*names, f"late: more than {due:g} days"], awaited, strict=True)
        ],
        last=fold.label_at,
        corrected=fold.corrected,
    )


def alarms(fold: Fold, labels: Labels, missing: list[str]) -> list[Alarm]:
    """Return what an operator should know."""
    found = []
    if fold.paused:
        text = f"Learning is paused: {fold.mode.reason}. Look into it, then set the mode."
        found.append(Alarm(kind="paused", text=text, since=fold.mode.since))
    if fold.failure:
        text = f"The learner failed and is not asked any more: {fold.failure}. The mode learn begins it afresh."
        found.append(Alarm(kind="learner", text=text, since=None))
    for each in fold.ringing.values():
        text = f"{each.text[:1].upper()}{each.text[1:]}."
        found.append(Alarm(kind="broken" if each.kind == "constraint" else "changed", text=text, since=each.at))
    found += broken(fold)
    if np.any(getattr(fold.state, "infeasible", False)):
        text = "The learner has strong evidence that no threshold meets all constraints: widen a limit or change means."
        found.append(Alarm(kind="infeasible", text=text, since=None))
    if labels.late:
        text = f"{labels.late} labels have been awaited for more than {labels.due_days:g} days: ask whether they come."
        found.append(Alarm(kind="labels", text=text, since=None))
    if missing:
        text = f"Nobody of {', '.join(missing)} came in the last {MISSING} rounds: their acceptance is not known."
        found.append(Alarm(kind="missing", text=text, since=None))
    if fold.waiting:
        found.append(Alarm(kind="waiting", text="A proposal of the learner waits for approval.", since=None))
    return found


def broken(fold: Fold) -> list[Alarm]:
    """Return an alarm for each residual that is broken, over the longest of the stretches in which it is."""
    alpha, constraints = fold.spec.guards.alpha, fold.setting.problem.constraints
    words = {name: said for each in constraints for name, said in zip(each.names, each.words, strict=True)}
    places: dict[str, list[int]] = defaultdict(list)
    lows: dict[str, float] = {}
    for place, watch in enumerate(fold.watches):
        for known in watch.judge(constraints, alpha):
            if known is not None and known.status == BROKEN:
                places[known.name].append(place)
                lows.setdefault(known.name, known.low)
    found = []
    for name, where in places.items():
        said = constraint_text(words[name].about, words[name].broken, BROKEN, lows[name])
        others = "".join(f"; broken over {OVER[place]} as well" for place in where[1:])
        chance = f"The chance of a false alarm is at most {alpha:g}."
        since = fold.alarmed.get(f"{where[0]} {name}")
        found.append(
            Alarm(kind="constraint", text=f"{said} On average over {OVER[where[0]]}{others}. {chance}", since=since)
        )
    return found


def history(
    spec: Spec, connection: Connection, gate: int, wanted: range, known: Mapping[int, RoundFigures]
) -> list[RoundFigures]:
    """Return closed rounds, oldest first; those that are not `known` are read."""
    unknown = [number for number in wanted if number not in known]
    found: dict[int, RoundFigures] = {}
    if unknown:
        rows: dict[str, dict[int, Any]] = {}
        for kind in ("opened", "closed"):
            asked = select(events.c.round, events.c.at, events.c.body).where(
                events.c.gate == gate,
                events.c.kind == kind,
                events.c.round.between(unknown[0], unknown[-1]),
                events.c.round % wanted.step == 0,
            )
            rows[kind] = {row.round: row for row in connection.execute(asked)}
        for number in rows["closed"]:
            found[number] = round_figures(spec, rows["opened"][number], rows["closed"][number])
    return [found.get(number) or known[number] for number in wanted if number in found or number in known]


def rounds_shown(end: int, rounds: int, *, whole: bool) -> range:
    """Return the last closed rounds before `end`, or every 2nd, 4th, 8th … of all of them, so that they are few enough.

    >>> rounds_shown(900, 400, whole=False), rounds_shown(900, 400, whole=True)
    (range(500, 900), range(0, 900, 4))
    """
    if not whole:
        return range(max(0, end - rounds), end)
    every = 1
    while end > every * rounds > 0:
        every *= 2
    return range(0, end if rounds else 0, every)


def round_figures(spec: Spec, opened: Row[Any], closed: Row[Any]) -> RoundFigures:
    """Return one closed round."""
    begun, ended = json.loads(opened.body), json.loads(closed.body)
    grid = spec.setting.thresholds
    people = np.zeros((len(spec.groups), len(grid) + 1), dtype=np.int64)
    for group, place, _, number in ended["counts"]:
        people[group, place] += number
    played = Policy.from_json(ended["played"])
    allowed = read_policy(begun["allowed"])
    labels = np.zeros((len(spec.groups), 2), dtype=np.int64)
    for _, group, _, label, number in ended["labels"]:
        labels[group, label] += number
    nothing: list[float | None] = [None] * len(spec.groups)
    return RoundFigures(
        round=closed.round,
        at=closed.at,
        mode=begun["mode"],
        people=ended["people"],
        thresholds=_known(played.published[0]),
        lottery=bool(played.is_lottery[0]),
        proposed=nothing if allowed is None else _known(allowed.published[0]),
        acceptance=[taken / came if came else None for came, taken in ended["groups"]],
        would=nothing if allowed is None else _known(acceptance(allowed, people, grid)),
        outcomes=[good / (bad + good) if bad + good else None for bad, good in labels.tolist()],
        guards=begun["guards"],
    )


def _known(values: Any) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in values]
