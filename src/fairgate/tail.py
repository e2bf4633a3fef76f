"""The tail: the rounds at the end of a run whose means are reported."""

from __future__ import annotations

from fairgate.errors import InputError, unknown_name
from fairgate.settings import whole_number

TAIL = 200
"""Rounds at the end of a run whose means are reported, as in the paper."""


KEEPS = ("run", "summary")
"""What a simulation can keep: everything that happened, or a line per replicate."""


def kept_tail(rounds: int, asked: int | None, keep: str) -> int:
    """Return how many rounds a summary's tail has, or say what is wrong with what was asked to be kept."""
    if keep not in KEEPS:
        raise unknown_name("keep", keep, KEEPS)
    if asked is not None and (keep == "run" or whole_number("tail", asked, 1) > rounds):
        raise InputError(f"tail must be at most the {rounds} rounds of a run that is kept as a summary, got {asked}")
    return tail_of(rounds, asked)


def tail_of(rounds: int, asked: int | None = None) -> int:
    """Return how many rounds at the end are a run's tail: as many as asked, else 200, or a fifth of a shorter run.

    >>> tail_of(3000), tail_of(300), tail_of(300, 100)
    (200, 60, 100)
    """
    return min(TAIL, max(1, rounds // 5)) if asked is None else whole_number("tail", asked, 1)
