"""Labelling: outcomes that arrive, corrections of them, and decisions that a person overrides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from fairgate.errors import InputError
from fairgate.live.database import find, insert
from fairgate.live.events import Event
from fairgate.live.failures import ConflictError, MissingError
from fairgate.live.fold import sparse
from fairgate.live.replies import Decision, Recorded
from fairgate.live.requests import Correct, Decide, Outcomes, Override, Request
from fairgate.live.schema import events, outcomes, overrides
from fairgate.live.turn import Turn, check_ids, check_labels, check_reason


class Known(NamedTuple):
    """What is stored of applications, by id: rows, overrides, and the first event and the last label."""

    rows: dict[str, Any]
    overridden: dict[str, int]
    reported: dict[str, tuple[int, int]]


def outcomes_of(turn: Turn, request: Outcomes) -> Recorded:
    """Record labels of accepted applications; the same label again changes nothing."""
    if not turn.keeps:
        return counted_outcomes(turn, request)
    labels = check_labels("labels", request.labels, len(request.ids))
    check_ids(request.ids)
    known = labelled(turn, request.ids)
    given = list(zip(request.ids, labels, strict=True))
    faults = {name: fault for name, label in given if (fault := _label_fault(known, name, label)) is not None}
    refuse_first(request, faults, "the label of id {!r} cannot be recorded")
    fresh = [(name, label) for name, label in given if name not in known.reported]
    if not fresh:
        return Recorded(seq=0, new=0, repeated=len(request.ids))
    event = turn.record("outcomes", label_data(turn, fresh, known.rows, known.overridden), request, main=True)
    write_labels(turn, event, fresh)
    return Recorded(seq=event.seq, new=len(fresh), repeated=len(request.ids) - len(fresh))


def labelled(turn: Turn, ids: Sequence[str]) -> Known:
    """Return what is stored of applications, by the same queries whether they are known or not."""
    turn.flush()
    rows = {row.id: row for row in find(turn.connection, turn.number, ids)}
    overridden = {row.id: row.accepted for row in find(turn.connection, turn.number, ids, overrides)}
    found = sorted(find(turn.connection, turn.number, ids, outcomes), key=lambda row: row.seq)
    first = {row.id: row.seq for row in reversed(found)}
    return Known(rows, overridden, {row.id: (first[row.id], row.label) for row in found})


def refuse_first(request: Request, faults: Mapping[str, InputError], neutral: str) -> None:
    """Refuse a request for the faults of its ids, if there are any.

    A caller who may not read learns the first id that has one, to take it out of a batch, and the same sentence for
    every kind of fault; others learn which, of ids that are not known first.
    """
    first = next(iter(faults), None)
    if first is None:
        return
    if not request.reads:
        raise ConflictError(f"{neutral.format(first)}: a key with the scope read can look up why")
    raise next((each for each in faults.values() if isinstance(each, MissingError)), faults[first])


def _missing(name: str) -> MissingError:
    return MissingError(f"id {name!r} has not been decided on at this gate")


def _label_fault(known: Known, name: str, label: int) -> InputError | None:
    """Return why an application cannot have a label, None if it can or has it."""
    if name not in known.rows:
        return _missing(name)
    if not known.overridden.get(name, known.rows[name].accepted):
        return InputError(f"ids must be of accepted applications, but {name!r} was rejected: it has no outcome")
    before = known.reported.get(name, (0, label))[1]
    if before != label:
        return ConflictError(f"labels: {name!r} was reported as {before}, now as {label}: correct it instead")
    return None


def label_data(
    turn: Turn, labelled: Sequence[tuple[str, int]], rows: Mapping[str, Any], overridden: Mapping[str, int]
) -> dict[str, Any]:
    """Return the body of an event of labels: how many by round, group, bin and label; overridden cases aside.

    Each round has a digest of its own, so that those of later rounds can be checked when rows of earlier ones are gone.
    """
    tallies: dict[str, dict[tuple[int, ...], int]] = {"tally": {}, "aside": {}}
    for name, label in labelled:
        row, kind = rows[name], "aside" if name in overridden else "tally"
        place = (row.round, row.group, row.bin, label)
        tallies[kind][place] = tallies[kind].get(place, 0) + 1
    listed = {kind: [[*place, count] for place, count in sorted(tally.items())] for kind, tally in tallies.items()}
    return {**listed, "digests": label_digests((rows[name].round, name, label) for name, label in labelled)}


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
    number = request.round
    opened = 0 <= number < turn.fold.round + (turn.fold.open is not None)
    if not opened and request.reads:
        raise MissingError(f"round {number} has not been opened")
    tally = np.zeros(turn.fold.shape, dtype=np.int64)
    np.add.at(tally, (groups, bins, np.array(labels, dtype=np.int64)), 1)
    if not opened or (told_labels(turn, number) + tally.sum(axis=2) > accepted_of(turn, number)).any():
        raise InputError(f"labels must be of people accepted in round {number}, got more than were accepted")
    data = {"tally": [[number, *place] for place in sparse(tally)], "aside": [], "digests": {}}
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
    """Correct labels; those that the learner has been told stay as it learnt them.

    It has been told of an application, with whatever label, if its first label came before the last close.
    """
    labels = check_labels("labels", request.labels, len(request.ids))
    check_ids(request.ids)
    reason = check_reason(request.reason)
    if not turn.keeps:
        raise InputError("a gate that keeps counts only keeps no labels that could be corrected")
    rows, overridden, reported = labelled(turn, request.ids)
    none = "id {!r} has no outcome that could be corrected: report it as an outcome"
    faults: dict[str, InputError] = {
        name: MissingError(none.format(name)) if name in rows else _missing(name)
        for name in request.ids
        if name not in reported
    }
    refuse_first(request, faults, "the label of id {!r} cannot be corrected")
    changed = [(n, y) for n, y in zip(request.ids, labels, strict=True) if reported[n][1] != y]
    if not changed:
        return Recorded(seq=0, new=0, repeated=len(request.ids))
    untold = [each for each in changed if reported[each[0]][0] > turn.fold.closed_seq]
    told = [each for each in changed if reported[each[0]][0] <= turn.fold.closed_seq]
    data = {
        **label_data(turn, untold, rows, overridden),
        "told": label_data(turn, told, rows, {})["tally"],
        "digests": label_data(turn, changed, rows, {})["digests"],
        "reason": reason,
    }
    event = turn.record("corrected", data, request, main=True)
    write_labels(turn, event, changed)
    return Recorded(seq=event.seq, new=len(changed), repeated=len(request.ids) - len(changed))


def override(turn: Turn, request: Override) -> Decision:
    """Decide otherwise on an application of the open round."""
    check_ids([request.id])
    reason = check_reason(request.reason)
    if not turn.keeps:
        raise InputError("a gate that keeps counts only keeps no decisions that could be overridden")
    known, wanted = labelled(turn, [request.id]), int(bool(request.accepted))
    fault = _override_fault(turn, known, request.id, wanted)
    refuse_first(request, {} if fault is None else {request.id: fault}, "the decision on id {!r} cannot be overridden")
    row = known.rows[request.id]
    if request.id in known.overridden:
        return Decision(id=request.id, accepted=bool(wanted), round=row.round, repeated=True)
    data = {"id": request.id, "accepted": wanted, "before": row.accepted, "reason": reason}
    event = turn.record("overridden", {**data, "group": row.group, "bin": row.bin}, request, main=True)
    columns = {"gate": turn.number, "id": request.id, "seq": event.seq, "accepted": wanted, "reason": reason}
    insert(turn.connection, overrides, {name: [value] for name, value in columns.items()})
    return Decision(id=request.id, accepted=bool(wanted), round=row.round)


def _override_fault(turn: Turn, known: Known, name: str, wanted: int) -> InputError | None:
    """Return why a decision cannot be overridden, None if it can or was, in the same way."""
    row, now = known.rows.get(name), turn.fold.open
    if row is None:
        return _missing(name)
    if name in known.overridden:
        again = known.overridden[name] == wanted
        return None if again else ConflictError(f"id {name!r} was overridden before: a decision is overridden once")
    if now is None or row.round != turn.fold.round:
        return ConflictError(
            f"id {name!r} was decided in round {row.round}, which is closed: override while it is open"
        )
    if now.mode == "shadow":
        return ConflictError(f"id {name!r} was reported, not decided: report what was done")
    if name in known.reported:
        return ConflictError(f"id {name!r} has an outcome already: its decision cannot change")
    if row.accepted == wanted:
        return ConflictError(f"id {name!r} was {'accepted' if wanted else 'rejected'} already: nothing to override")
    return None


def label_digests(labelled: Iterable[tuple[int, str, int]]) -> dict[str, str]:
    """Return the hash of labels by application, of each round; they are given as round, application and label."""
    found: dict[int, list[tuple[str, int]]] = {}
    for number, name, label in labelled:
        found.setdefault(number, []).append((name, label))
    return {str(number): label_digest(found[number]) for number in sorted(found)}


def label_digest(labelled: Sequence[tuple[str, int]]) -> str:
    """Return the hash of labels by application, in the order of ids."""
    lines = "".join(f"{name}\t{label}\n" for name, label in sorted(labelled))
    return hashlib.sha256(lines.encode()).hexdigest()
