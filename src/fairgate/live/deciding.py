"""Deciding: on applications, one or many, and recording what the operator's own rule decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.live.database import find
from fairgate.live.events import People, draws_of
from fairgate.live.failures import ConflictError
from fairgate.live.replies import Decision, Decisions, Recorded
from fairgate.live.requests import Decide, Report
from fairgate.live.retries import first_of, keep
from fairgate.live.schema import overrides
from fairgate.live.turn import Turn, check_labels
from fairgate.policy import Policy
from fairgate.settings import Array

UNTOLD = (
    "key must be given (over HTTP the header Idempotency-Key): a gate that keeps counts only cannot tell a retry "
    "otherwise"
)
"""Said of a request without a key."""


def decide_all(turn: Turn, requests: Sequence[Decide]) -> list[Any]:
    """Decide on the applications of requests that arrived together; a bad one gets its error as its reply.

    Single requests of one actor become one event, cut where a round is full; a batch is never cut.
    """
    replies: list[Any] = [None] * len(requests)
    parsed: dict[int, tuple[NDArray[np.int64], Array, NDArray[np.int64]]] = {}
    for place, request in enumerate(requests):
        try:
            parsed[place] = turn.people_of(request)
            if not request.ids:
                replies[place] = _reply(request, [], [])
                continue
            if request.key is None and not turn.keeps:
                raise InputError(UNTOLD)
            replies[place] = first_reply(turn, request, parsed[place])
        except InputError as error:
            replies[place] = error
    fresh = [place for place in range(len(requests)) if replies[place] is None]
    known = turn.found([each for place in fresh for each in requests[place].ids]) if turn.keeps and fresh else {}
    kin = met_before(turn, [requests[place] for place in fresh])
    keys: set[str] = set()
    while fresh:
        request = requests[fresh[0]]
        try:
            if request.stored_key is not None:
                if request.stored_key in keys:  # that of a request just before
                    replies[fresh[0]] = first_reply(turn, request, parsed[fresh[0]])
                keys.add(request.stored_key)
            if replies[fresh[0]] is None and turn.keeps:
                recall(turn, request, parsed[fresh[0]], known, kin)
                replies[fresh[0]] = repeated(turn, request, parsed[fresh[0]], known)
            if replies[fresh[0]] is None:
                refuse_new(turn, request)
        except InputError as error:
            replies[fresh[0]] = error
        if replies[fresh[0]] is not None:
            fresh = fresh[1:]
        else:
            fresh = decide_some(turn, requests, parsed, fresh, known, kin, replies)
    return replies


def refuse_new(turn: Turn, request: Decide | Report) -> None:
    """Refuse new people if another gate or the mode has it so.

    A caller who may not read is refused in the same way if the people are not new: else ids could be tried out, and
    nothing would be recorded of it.
    """
    mode = turn.fold.mode.mode
    if turn.fold.successor:
        raise ConflictError(
            f"the gate {turn.fold.spec.name!r} has handed over to the gate {turn.fold.successor!r}: send new "
            "applications there, and outcomes to the gate that decided"
        )
    if isinstance(request, Decide) and mode == "shadow":
        raise ConflictError(
            "the gate is in the mode 'shadow', where the operator's own rule decides: report its decisions"
        )
    if isinstance(request, Report) and mode != "shadow":
        now = f"in the mode {mode!r}" if request.reads else "not in it"
        raise ConflictError(f"decisions are reported in the mode 'shadow', but the gate is {now}")


def decide_some(
    turn: Turn,
    requests: Sequence[Decide],
    parsed: Mapping[int, tuple[NDArray[np.int64], Array, NDArray[np.int64]]],
    fresh: list[int],
    known: dict[str, Any],
    kin: dict[str, Any],
    replies: list[Any],
) -> list[int]:
    """Decide on the first requests, as many as one event takes, and return those that are left."""
    first = requests[fresh[0]]
    turn.ensure_open(first)
    now, most = turn.fold.open, turn.fold.spec.rounds.people
    if now is None or now.policy is None:
        raise InputError("no policy is in force")
    room = math.inf if most is None else most - int(now.counts.sum())
    taken: list[int] = []
    subjects: list[str] = []
    claimed: set[str] = set()
    named = any(requests[place].subjects for place in fresh)
    spoken: set[str] = set(kin)
    size = 0
    for place in fresh:
        request = requests[place]
        alone = request.key is not None or not request.single
        met = not claimed.isdisjoint(request.ids) or not known.keys().isdisjoint(request.ids)
        hashed = turn.hidden(request.subjects) or [""] * len(request.ids) if named else []
        met = met or not spoken.isdisjoint(hashed)
        if taken and (alone or met or size >= room or request.actor != first.actor):
            break
        taken.append(place)
        claimed.update(request.ids)
        subjects += hashed
        spoken.update(filter(None, hashed))
        size += len(request.ids)
        if alone:
            break
    names = [name for place in taken for name in requests[place].ids]
    columns = [np.concatenate([parsed[place][part] for place in taken]) for part in range(3)]
    again = not known.keys().isdisjoint(names)  # some of a batch, which then is alone
    if again:
        new = np.array([name not in known for name in names], dtype=bool)
        subjects = [each for each, name in zip(subjects, names, strict=bool(subjects)) if name not in known]
        names, columns = [name for name in names if name not in known], [column[new] for column in columns]
    group, score, spot = columns
    draws = turn.draws(names, subjects)
    accepted = now.policy.decide(turn.fold.spec.counted(score), group, draws)
    number, flags = turn.fold.round, accepted.tolist()
    turn.add("decided", People(names, group, score, spot, draws, accepted.astype(np.int64), subjects), first)
    if again or (turn.keeps and len(taken) < len(fresh)):
        facts = zip(group.tolist(), score.tolist(), flags, strict=True)
        known |= {name: (number, *each) for name, each in zip(names, facts, strict=True)}
    if subjects:
        facts = zip(group.tolist(), score.tolist(), accepted.tolist(), strict=True)
        kin |= {each: (number, *rest) for each, rest in zip(subjects, facts, strict=True) if each}
    if again:
        mine = [known[name] for name in first.ids]
        old = len(mine) - len(names)
        replies[taken[0]] = _reply(first, [row[3] for row in mine], [row[0] for row in mine], old)
        if first.key is not None and any(first.subjects):  # whose ids need not be in the table
            keep(turn, first, replies[taken[0]])
    else:
        for place in taken:
            count = len(requests[place].ids)
            replies[place] = _reply(requests[place], flags[:count], [number] * count)
            flags = flags[count:] if len(taken) > 1 else flags
    turn.close_if_full(first)
    return fresh[len(taken) :]


def met_before(turn: Turn, requests: Sequence[Decide | Report]) -> dict[str, Any]:
    """Return what was decided on those subjects of requests who were decided on in this period."""
    given = [each for request in requests for each in request.subjects if each is not None]
    return turn.found(turn.hidden(given), by="subject") if given else {}


def recall(turn: Turn, request: Decide | Report, parsed: Any, known: dict[str, Any], kin: Mapping[str, Any]) -> None:
    """Let applications be known by the decision on their subject in this period; other facts than then are refused."""
    if not kin:
        return
    groups, scores, _ = parsed
    found: dict[str, Any] = {}
    facts = zip(request.ids, turn.hidden(request.subjects), groups.tolist(), scores.tolist(), strict=False)
    for place, (name, subject, group, score) in enumerate(facts):
        row = kin.get(subject) if subject and name not in known else None
        if row is not None and (row[1], row[2]) != (group, score):
            where = "subject" if isinstance(request, Decide) and request.single else f"subjects[{place}]"
            if not request.reads:
                refuse_new(turn, request)
            raise ConflictError(
                f"{where} was decided on before in this period, with another group or score: a subject is decided on "
                "once"
            )
        if row is not None:
            found[name] = row
    known |= found


def repeated(turn: Turn, request: Decide, parsed: Any, known: Mapping[str, Any]) -> Decision | Decisions | None:
    """Return the decisions made before if all were, None if some were not; other facts than then are refused."""
    if not known:
        return None
    refuse_other_facts(turn, request, parsed, known)
    rows = [known.get(each) for each in request.ids]
    if not rows or None in rows:
        return None
    reply = _reply(request, [row[3] for row in rows if row], [row[0] for row in rows if row], len(rows))
    if request.key is not None:
        keep(turn, request, reply if any(request.subjects) else None)
    return reply


def refuse_other_facts(
    turn: Turn, request: Decide | Report, parsed: Any, known: Mapping[str, Any], taken: Sequence[int] | None = None
) -> None:
    """Refuse ids that were used with other facts. A caller who may not read learns the first of them, and no fact."""
    groups, scores, _ = parsed
    stated = repeat(None) if taken is None else taken
    for name, group, score, now in zip(request.ids, groups.tolist(), scores.tolist(), stated, strict=False):
        row = known.get(name)
        if row is None or ((row[1], row[2]) == (group, score) and now in (None, row[3])):
            continue
        if not request.reads:
            refuse_new(turn, request)
            raise ConflictError(f"id {name!r} was used before with other facts: ids are used once")
        if (row[1], row[2]) == (group, score):
            raise ConflictError(f"id {name!r} was reported before with another decision: a report is final")
        told = f"as {turn.fold.spec.groups[row[1]]!r} with the score {row[2]!r}"
        raise ConflictError(f"id {name!r} was decided before, in round {row[0]}, {told}: ids are used once")


def first_reply(turn: Turn, request: Decide, parsed: Any) -> Decision | Decisions | None:
    """Return the first reply under the key of a request, None if the key is new.

    It follows from the rows of that time: later overrides change the decision that stands, not the reply. At a gate
    that keeps counts only it is recomputed from the policy and the secret of its round.
    """
    first = first_of(turn, request)
    if first is None:
        return None
    if first.body is not None:
        return (Decision if request.single else Decisions).model_validate_json(first.body)
    event = first.event
    if event is not None and not turn.keeps:
        policy = Policy.from_json(turn.one_event("opened", event.round).data["policy"])
        draws = draws_of(turn.secret_of(event.round), request.ids)
        accepted = policy.decide(turn.fold.spec.counted(parsed[1]), parsed[0], draws).astype(np.int64).tolist()
        return _reply(request, accepted, [event.round] * len(accepted))
    rows = {row.id: row for row in find(turn.connection, turn.number, request.ids) if row.seq <= first.seq}
    if len(rows) < len(request.ids):
        raise ConflictError(
            f"key {request.key!r} was used before for this request, whose applications were pruned since"
        )
    changed = find(turn.connection, turn.number, request.ids, overrides)
    stood = {row.id: row.accepted for row in changed if row.seq <= first.seq}
    mine = [rows[name] for name in request.ids]
    old = sum(event is None or row.seq != event.seq for row in mine)
    return _reply(request, [stood.get(row.id, row.accepted) for row in mine], [row.round for row in mine], old)


def report(turn: Turn, request: Report) -> Recorded:
    """Record what the operator's own rule decided; the same decisions again change nothing."""
    parsed = turn.people_of(request)
    taken = check_labels("accepted", request.accepted, len(request.ids))
    if not turn.keeps and request.key is None:
        raise InputError(UNTOLD)
    known = turn.found(request.ids) if turn.keeps else {}
    recall(turn, request, parsed, known, met_before(turn, [request]))
    refuse_other_facts(turn, request, parsed, known, taken)
    fresh = [place for place, name in enumerate(request.ids) if name not in known]
    if fresh:
        refuse_new(turn, request)
    if not fresh:
        return Recorded(seq=0, new=0, repeated=len(request.ids))
    turn.ensure_open(request)
    names = [request.ids[place] for place in fresh]
    subjects = [
        each for name, each in zip(request.ids, turn.hidden(request.subjects), strict=False) if name not in known
    ]
    draws = turn.draws(names, subjects)
    group, score, spot = parsed
    accepted = np.array(taken, dtype=np.int64)[fresh]
    people = People(names, group[fresh], score[fresh], spot[fresh], draws, accepted, subjects)
    event = turn.add("reported", people, request)
    turn.close_if_full(request)
    return Recorded(seq=event.seq, new=len(fresh), repeated=len(request.ids) - len(fresh))


def _reply(request: Decide, accepted: Sequence[int], rounds: Sequence[int], repeated: int = 0) -> Decision | Decisions:
    if request.single:
        return Decision(id=request.ids[0], accepted=bool(accepted[0]), round=rounds[0], repeated=repeated > 0)
    return Decisions(accepted=[bool(each) for each in accepted], rounds=list(rounds), repeated=repeated)
