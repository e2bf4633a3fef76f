"""Handling: requests of any kind, in their order, in one turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairgate.errors import InputError
from fairgate.live.deciding import decide_all, report
from fairgate.live.governing import approve, close, note, rotate, set_mode, tick
from fairgate.live.labelling import correct, outcomes_of, override
from fairgate.live.replies import Closed, Decision, Recorded, Rotated, Status
from fairgate.live.requests import (
    Approve,
    Close,
    Correct,
    Decide,
    Note,
    Outcomes,
    Override,
    Report,
    Request,
    Rotate,
    SetMode,
    Tick,
)
from fairgate.live.retries import answer
from fairgate.live.turn import Turn

HANDLERS: dict[type[Request], tuple[Callable[[Turn, Any], Any], Any]] = {
    Report: (report, Recorded),
    Outcomes: (outcomes_of, Recorded),
    Correct: (correct, Recorded),
    Override: (override, Decision),
    Close: (close, Closed),
    Tick: (tick, None),
    SetMode: (set_mode, Status),
    Rotate: (rotate, Rotated),
    Approve: (approve, Status),
    Note: (note, dict[str, str]),
}
"""What handles each kind of request, and its replies; decisions that follow each other are handled together."""


def handle_all(turn: Turn, requests: Sequence[Request]) -> list[Any]:
    """Handle requests in their order and return their replies; bad input is its request's reply."""
    replies: list[Any] = []
    while len(replies) < len(requests):
        start = end = len(replies)
        while end < len(requests) and isinstance(requests[end], Decide):
            end += 1
        before = turn.fold.seq
        try:
            if end > start:
                replies += decide_all(turn, [each for each in requests[start:end] if isinstance(each, Decide)])
            else:
                replies.append(answer(turn, requests[start], *HANDLERS[type(requests[start])]))
        except InputError as error:
            if turn.fold.seq != before or turn.fold.planned:  # not bad input: something failed half way
                raise RuntimeError(f"the request could not be finished: {error}") from error
            replies.append(error)
    return replies
