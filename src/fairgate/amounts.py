"""Amounts in words: one of a thing is singular."""

from __future__ import annotations


def amount(number: int, noun: str, several: str = "") -> str:
    """Say how many of something there are.

    >>> amount(1, "seed"), amount(12, "seed"), amount(2, "person", "people")
    ('1 seed', '12 seeds', '2 people')
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def times(number: int) -> str:
    """Say how often.

    >>> [times(each) for each in (1, 2, 3, 1000)]
    ['once', 'twice', '3 times', '1,000 times']
    """
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def part(some: int, total: int, noun: str) -> str:
    """Say how many of all these, with the verb that follows.

    >>> part(1, 1, "block"), part(1, 2, "block")
    ('1 of 1 block is', '1 of 2 blocks are')
    """
    return f"{some} of {amount(total, noun)} {'is' if total == 1 else 'are'}"
