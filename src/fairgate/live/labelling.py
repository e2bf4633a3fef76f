"""Labelling: outcomes that arrive, corrections of them, and decisions that a person overrides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from fairgate.errors import InputError
from fairgate.live.database import find, insert
from fairgate.live.events import Event
from fairgate.live.failures import ConflictError, MissingError
from fairgate.live.fold import sparse
from fairgate.live.replies import Decision, Recorded
from fairgate.live.requests import Correct, Decide, Outcomes, Override
from fairgate.live.schema import events, outcomes, overrides
from fairgate.live.turn import Turn, check_ids, check_labels, check_reason


def outcomes_of(turn: Turn, request: Outcomes) -> Recorded:
    """Record labels of accepted applications; the same label again changes nothing."""
    if not turn.keeps:
        return counted_outcomes(turn, request)
    labels = check_labels("labels", request.labels, len(request.ids))
    check_ids(request.ids)
    earlier = turn.before(request)
    if earlier is not None:
        return Recorded(seq=earlier.seq, new=0, repeated=len(request.ids))
    rows, overridden, reported = labelled(turn, request.ids)
    fresh = []
    for name, label in zip(request.ids, labels, strict=True):
        accepted = overridden.get(name, rows[name].accepted)
        if not accepted:
            raise InputError(f"ids must be of accepted applications, but {name!r} was rejected: it has no outcome")
        if name not in reported:
            fresh.append((name, label))
        elif reported[name][1] != label:
            raise ConflictError(
                f"labels: {name!r} was reported as {reported[name][1]}, now as {label}: correct it instead"
            )
    if not fresh:
        return Recorded(seq=0, new=0, repeated=len(request.ids))
    event = turn.record("outcomes", label_data(turn, fresh, rows, overridden), request, main=True)
    write_labels(turn, event, fresh)
    return Recorded(seq=event.seq, new=len(fresh), repeated=len(request.ids) - len(fresh))


def labelled(turn: Turn, ids: Sequence[str]) -> tuple[dict[str, Any], dict[str, int], dict[str, tuple[int, int]]]:
    """Return the rows, overrides, and first event and last label of applications; unknown ones are refused."""
    turn.flush()
    rows = {row.id: row for row in find(turn.connection, turn.number, ids)}
    lacking = next((name for name in ids if name not in rows), None)
    if lacking is not None:
        raise MissingError(f"id {lacking!r} has not been decided on at this gate")
    overridden = {row.id: row.accepted for row in find(turn.connection, turn.number, ids, overrides)}
    found = sorted(find(turn.connection, turn.number, ids, outcomes), key=lambda row: row.seq)
    first = {row.id: row.seq for row in reversed(found)}
    return rows, overridden, {row.id: (first[row.id], row.label) for row in found}


def label_data(
    turn: Turn, labelled: Sequence[tuple[str, int]], rows: Mapping[str, Any], overridden: Mapping[str, int]
) -> dict[str, Any]:
    """Return the body of an event of labels: how many by round, group, bin and label; overridden cases aside."""
    tallies: dict[str, dict[tuple[int, ...], int]] = {"tally": {}, "aside": {}}
    for name, label in labelled:
        row, kind = rows[name], "aside" if name in overridden else "tally"
        place = (row.round, row.group, row.bin, label)
        tallies[kind][place] = tallies[kind].get(place, 0) + 1
    listed = {kind: [[*place, count] for place, count in sorted(tally.items())] for kind, tally in tallies.items()}
    return {**listed, "digest": label_digest(labelled)}


def write_labels(turn: Turn, event: Event, labelled: Sequence[tuple[str, int]]) -> None:
    """Write labels, in the order of the request."""
    names, labels = zip(*labelled, strict=True)
    same = {"gate": [turn.number] * len(names), "seq": [event.seq] * len(names)}
    insert(turn.connection, outcomes, {**same, "id": names, "label": labels})


def counted_outcomes(turn: Turn, request: Outcomes) -> Recorded:
    """Record labels at a gate that keeps counts only: by round, group and score of accepted people."""
    if request.key is None or request.round is None or request.ids:
        raise InputError(
            "a gate that keeps counts only takes outcomes by round, groups and scores, not by ids, and needs a key "
            "(over HTTP the header Idempotency-Key)"
        )
    labels = check_labels("labels", request.labels, len(request.scores))
    ids = [str(place) for place in range(len(request.scores))]
    groups, _, bins = turn.people_of(Decide(ids, request.groups, request.scores))
    earlier = turn.before(request)
    if earlier is not None:
        return Recorded(seq=earlier.seq, new=0, repeated=len(labels))
    number = request.round
    if not 0 <= number <= turn.fold.round or (number == turn.fold.round and turn.fold.open is None):
        raise MissingError(f"round {number} has not been opened")
    tally = np.zeros(turn.fold.shape, dtype=np.int64)
    np.add.at(tally, (groups, bins, np.array(labels, dtype=np.int64)), 1)
    if (told_labels(turn, number) + tally.sum(axis=2) > accepted_of(turn, number)).any():
        raise InputError(f"labels must be of people accepted in round {number}, got more than were accepted")
    data = {"tally": [[number, *place] for place in sparse(tally)], "aside": [], "digest": ""}
    event = turn.record("outcomes", data, request, main=True)
    return Recorded(seq=event.seq, new=len(labels))


def accepted_of(turn: Turn, number: int) -> NDArray[np.int64]:
    """Return the people accepted in a round, by group and bin."""
    if number == turn.fold.round and turn.fold.open is not None:
        return turn.fold.open.counts[..., 1]
    found = np.zeros(turn.fold.shape, dtype=np.int64)
    for group, place, accepted, count in turn.one_event("closed", number).data["counts"]:
        found[group, place, accepted] += count
    return found[..., 1]


def told_labels(turn: Turn, number: int) -> NDArray[np.int64]:
    """Return the labels of a round that have arrived, by group and bin, at a gate that keeps counts only."""
    turn.flush()
    found = np.zeros(turn.fold.shape[:2], dtype=np.int64)
    first = turn.one_event("opened", number).seq
    bodies = turn.connection.execute(
        select(*(events.c[name] for name in Event._fields)).where(
            events.c.gate == turn.number, events.c.kind == "outcomes", events.c.seq > first
        )
    )
    for row in bodies:
        for origin, group, place, _, count in Event(*row).data["tally"]:
            if origin == number:
                found[group, place] += count
    return found


def correct(turn: Turn, request: Correct) -> Recorded:
    """Correct labels; those that the learner has been told stay as it learnt them."""
    labels = check_labels("labels", request.labels, len(request.ids))
    check_ids(request.ids)
    reason = check_reason(request.reason)
    if not turn.keeps:
        raise InputError("a gate that keeps counts only keeps no labels that could be corrected")
    earlier = turn.before(request)
    if earlier is not None:
        return Recorded(seq=earlier.seq, new=0, repeated=len(request.ids))
    rows, overridden, reported = labelled(turn, request.ids)
    unknown = next((name for name in request.ids if name not in reported), None)
    if unknown is not None:
        raise MissingError(f"id {unknown!r} has no outcome that could be corrected: report it as an outcome")
    changed = [(n, y) for n, y in zip(request.ids, labels, strict=True) if reported[n][1] != y]
    if not changed:
        return Recorded(seq=0, new=0, repeated=len(request.ids))
    untold = [each for each in changed if reported[each[0]][0] > turn.fold.closed_seq]
    told = [each for each in changed if reported[each[0]][0] <= turn.fold.closed_seq]
    data = label_data(turn, untold, rows, overridden) | {"told": label_data(turn, told, rows, {})["tally"]}
    event = turn.record("corrected", {**data, "digest": label_digest(changed), "reason": reason}, request, main=True)
    write_labels(turn, event, changed)
    return Recorded(seq=event.seq, new=len(changed), repeated=len(request.ids) - len(changed))


def override(turn: Turn, request: Override) -> Decision:
    """Decide otherwise on an application of the open round."""
    check_ids([request.id])
    reason = check_reason(request.reason)
    if not turn.keeps:
        raise InputError("a gate that keeps counts only keeps no decisions that could be overridden")
    turn.before(request)
    rows, overridden, reported = labelled(turn, [request.id])
    row, wanted = rows[request.id], int(bool(request.accepted))
    if request.id in overridden:
        if overridden[request.id] != wanted:
            raise ConflictError(f"id {request.id!r} was overridden before: a decision is overridden once")
        return Decision(id=request.id, accepted=bool(wanted), round=row.round, repeated=True)
    now = turn.fold.open
    if now is None or row.round != turn.fold.round:
        raise ConflictError(
            f"id {request.id!r} was decided in round {row.round}, which is closed: override while it is open"
        )
    if now.mode == "shadow":
        raise ConflictError(f"id {request.id!r} was reported, not decided: report what was done")
    if request.id in reported:
        raise ConflictError(f"id {request.id!r} has an outcome already: its decision cannot change")
    if row.accepted == wanted:
        raise ConflictError(
            f"id {request.id!r} was {'accepted' if wanted else 'rejected'} already: nothing to override"
        )
    data = {"id": request.id, "accepted": wanted, "before": row.accepted, "reason": reason}
    event = turn.record("overridden", {**data, "group": row.group, "bin": row.bin}, request, main=True)
    columns = {"gate": turn.number, "id": request.id, "seq": event.seq, "accepted": wanted, "reason": reason}
    insert(turn.connection, overrides, {name: [value] for name, value in columns.items()})
    return Decision(id=request.id, accepted=bool(wanted), round=row.round)


def label_digest(labelled: Sequence[tuple[str, int]]) -> str:
    """Return the hash of labels by application, in the order of ids."""
    lines = "".join(f"{name}\t{label}\n" for name, label in sorted(labelled))
    return hashlib.sha256(lines.encode()).hexdigest()
