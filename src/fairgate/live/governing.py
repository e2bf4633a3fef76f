"""Governing: closing rounds, changing who decides, approving proposals, notes in the log."""

from __future__ import annotations

import hmac

from fairgate.errors import InputError, unknown_name
from fairgate.live.failures import ConflictError
from fairgate.live.replies import Closed, Rotated, Status
from fairgate.live.requests import Approve, Close, Note, Rotate, SetMode, Tick
from fairgate.live.turn import Turn, check_reason, check_text
from fairgate.live.views import status

MODES = ("learn", "hold", "shadow", "approve")

PAUSED = ConflictError(
    "a guard paused the learner as the round closed, so nothing was changed: look at the page, then ask again"
)
"""Answered by a request that had a round closed whose figures made a guard step in."""


def close(turn: Turn, request: Close) -> Closed:
    """Close a round; one that is closed already stays as it is."""
    number = turn.fold.round if request.round is None else request.round
    if 0 <= number < turn.fold.round:
        closed = turn.one_event("closed", number)
        return Closed(round=closed.round, seq=closed.seq, people=closed.data["people"])
    if number != turn.fold.round:
        raise ConflictError(f"round {number} cannot be closed: the round now is {turn.fold.round}")
    if turn.fold.open is None:
        turn.ensure_open(request)
    closed = turn.close_round("call", request)
    return Closed(round=number, seq=closed.seq, people=closed.data["people"])


def tick(turn: Turn, request: Tick) -> None:
    """Close the open round if its time is over."""
    turn.close_if_over(request)


def set_mode(turn: Turn, request: SetMode) -> Status | ConflictError:
    """Change who decides; the open round is closed first."""
    reason, fold, policy = check_reason(request.reason), turn.fold, None
    if request.mode not in MODES:
        raise unknown_name("mode", request.mode, MODES)
    if request.threshold is not None:
        if request.mode not in ("hold", "shadow"):
            raise InputError(f"threshold is for the modes hold and shadow, not for {request.mode!r}")
        policy = fold.spec.fixed(request.threshold)
    if request.successor:
        check_text("successor", request.successor)
        if request.mode != "shadow" or request.successor == fold.spec.name:
            raise InputError(
                f"successor must be another gate, in the mode shadow, got {request.successor!r} in {request.mode!r}"
            )
    if request.mode == "hold" and policy is None:
        lottery = fold.force is not None and bool(fold.force.is_lottery[0])
        policy = (fold.spec.first or fold.force) if lottery else (fold.force or fold.spec.first)
        if policy is None:
            raise InputError("threshold must be given to hold, as no policy is in force yet")
    if request.mode == "approve" and fold.force is None:
        raise InputError("the mode approve needs a policy in force to begin with: hold one first")
    paused = fold.paused
    if fold.open is not None:
        turn.close_round("mode", request)
    if fold.paused and not paused and request.mode in ("learn", "approve"):
        return PAUSED
    plain = None if policy is None else policy.to_json()
    data = {"mode": request.mode, "before": fold.mode.mode, "reason": reason, "policy": plain}
    turn.record("mode", data | ({"successor": request.successor} if request.successor else {}), request, main=True)
    return status(fold)


def rotate(turn: Turn, request: Rotate) -> Rotated:
    """Give the gate a new secret; the open round is closed first, which reveals its own."""
    reason = check_reason(request.reason)
    if turn.fold.open is not None:
        turn.close_round("secret", request)
    event = turn.rotate(reason, request)
    return Rotated(seq=event.seq, round=event.round, commitment=event.data["commitment"])


def approve(turn: Turn, request: Approve) -> Status | ConflictError:
    """Let the proposal that waits take effect, from the next round on."""
    reason = check_reason(request.reason)
    candidate = turn.fold.allowed if turn.fold.waiting else None
    if candidate is None or not hmac.compare_digest(request.waiting.encode(), turn.fold.waiting.encode()):
        waits = f"{turn.fold.waiting!r} does" if turn.fold.waiting else "nothing does"
        raise ConflictError(f"waiting {request.waiting!r} is not the proposal that waits: {waits}")
    if turn.fold.open is not None:
        turn.close_round("mode", request)
    if turn.fold.paused:
        return PAUSED
    turn.record(
        "approved",
        {"policy": candidate.to_json(), "waiting": request.waiting, "reason": reason},
        request,
        main=True,
    )
    return status(turn.fold)


def note(turn: Turn, request: Note) -> dict[str, str]:
    """Record an event that changes no policy, and other rows with it."""
    turn.flush()
    if request.also is not None:
        request.also(turn.connection, turn.number)
    turn.record(request.kind, request.data, request, main=True)
    return request.reply
