"""The tail: the rounds at the end of a run whose means are reported."""

from __future__ import annotations

from fairgate.errors import InputError, unknown_name
from fairgate.settings import whole_number

TAIL = 200
"""Rounds at the end of a run whose means are reported, as in the paper."""


KEEPS = ("run", "summary")
"""Results that a simulation can keep: every round, or one line of figures per replicate."""


def kept_tail(rounds: int, asked: int | None, keep: str) -> int:
    """Return the number of rounds in a summary's tail; raise an error if `asked` or `keep` is invalid."""
    if keep not in KEEPS:
        raise unknown_name("keep", keep, KEEPS)
    if asked is not None and (keep == "run" or whole_number("tail", asked, 1) > rounds):
        raise InputError(f"tail must be at most the {rounds} rounds of a run that is kept as a summary, got {asked}")
    return tail_of(rounds, asked)


def tail_of(rounds: int, asked: int | None = None) -> int:
    """Return the number of rounds in a run's tail: `asked`, or by default a fifth of the run, from 1 to 200 rounds.

    >>> tail_of(3000), tail_of(300), tail_of(300, 100)
    (200, 60, 100)
    """
    return min(TAIL, max(1, rounds // 5)) if asked is None else whole_number("tail", asked, 1)
