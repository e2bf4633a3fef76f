"""Amounts in words: one of a thing has no plural."""

from __future__ import annotations


def amount(number: int, noun: str) -> str:
    """Say how many of something there are.

    >>> amount(1, "seed"), amount(12, "seed")
    ('1 seed', '12 seeds')
    """
    return f"{number} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Return the noun for so many of it.

    >>> plural(1, "block"), plural(0, "block")
    ('block', 'blocks')
    """
    return noun if number == 1 else f"{noun}s"
