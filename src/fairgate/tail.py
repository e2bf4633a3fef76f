"""The tail: the rounds at the end of a run whose means are reported."""

from __future__ import annotations

from fairgate.settings import whole_number

TAIL = 200
"""Rounds at the end of a run whose means are reported, as in the paper."""


def tail_of(rounds: int, asked: int | None = None) -> int:
    """Return how many rounds at the end are a run's tail: as many as asked, else 200, or a fifth of a shorter run.

    >>> tail_of(3000), tail_of(300), tail_of(300, 100)
    (200, 60, 100)
    """
    return min(TAIL, max(1, rounds // 5)) if asked is None else whole_number("tail", asked, 1)
