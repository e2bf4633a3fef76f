"""Money: rewards as amounts, per person and for everybody the table stands for, in the currency if one is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairgate.advice.aims import Aims
from fairgate.estimates import Estimate
from fairgate.people.applicants import Applicants

MINUS = "−"

LARGE = 10_000.0
"""Benefit from which rewards per person, and people from which totals of bare rewards have no decimals."""


@dataclass(frozen=True)
class Money:
    """How to write rewards, which are in units of the benefit of a good acceptance.

    How many decimals there are depends on the kind of amount and on the table, never on the amount itself, so that
    amounts that stand beside each other are written alike.

    >>> words = {"good": "default = No", "bad": "default = Yes"}
    >>> money = Money(cost=900.0, benefit=120.0, currency="EUR", total=10_000.0, **words)
    >>> money.per_person(0.0442), money.in_all(0.0442)
    ('5.30 EUR', '53,040 EUR')
    >>> money.terms
    'Accepting somebody with default = No is worth 120 EUR; with default = Yes it costs 900 EUR.'
    >>> Money(0.5, 1.25, "EUR", 10.0, "paid = 1", "paid = 0").terms
    'Accepting somebody with paid = 1 is worth 1.25 EUR; with paid = 0 it costs 0.50 EUR.'
    >>> plain = Money(cost=2.0, benefit=1.0, currency="", total=500.0, good="repaid = 1", bad="repaid = 0")
    >>> plain.per_person(-0.0442), plain.in_all(0.0442)
    ('−0.0442', '22.1')
    >>> plain.amount(917.0), plain.amount(1714.25)
    ('917.0', '1,714.2')
    """

    cost: float
    benefit: float
    currency: str
    total: float  # people the table stands for
    good: str
    bad: str

    @property
    def given(self) -> bool:
        """Whether rewards are amounts of something, and not only multiples of a good acceptance."""
        return bool(self.currency) or self.benefit != 1.0

    @property
    def terms(self) -> str:
        """What acceptances are worth, in words."""
        return (
            f"Accepting somebody with {self.good} is worth {self._amount(self.benefit)}; with {self.bad} it costs "
            f"{self._amount(self.cost)}."
        )

    def per_person(self, reward: float) -> str:
        """Write a reward per person."""
        value = reward * self.benefit
        digits = 4 if not self.given else 2 if self.benefit < LARGE else 0
        return self._with_currency(f"{value:,.{digits}f}")

    def in_all(self, reward: float) -> str:
        """Write the total of a reward per person over everybody."""
        return self.amount(reward * self.benefit * self.total)

    def told(self, figure: Estimate) -> str:
        """Write a reward per person with its interval, and the total where amounts are given.

        >>> words = {"good": "default = No", "bad": "default = Yes"}
        >>> Money(900.0, 120.0, "EUR", 10_000.0, **words).told(Estimate(0.0442, 0.032, 0.0564))
        '5.30 EUR (3.84 to 6.77) per person, 53,040 EUR in all,'
        >>> Money(2.0, 1.0, "", 500.0, **words).told(Estimate(0.0442, 0.032, 0.0564))
        '0.0442 (0.0320 to 0.0564) per person'
        """
        value = self.per_person(figure.value)
        person = f"{value} {self.interval(figure)} per person"
        return f"{person}, {self.in_all(figure.value)} in all," if self.given else person

    def interval(self, figure: Estimate) -> str:
        """Write the ends of a reward's interval, as its value is written."""
        low, high = (self.bare(self.per_person(each)) for each in (figure.low, figure.high))
        return f"({low} to {high})"

    def between(self, low: float, high: float, *, in_all: bool = False) -> str:
        """Write a range of rewards, per person or in all, or one amount where both ends read the same.

        >>> money = Money(900.0, 120.0, "EUR", 10_000.0, "default = No", "default = Yes")
        >>> money.between(0.0442, 0.0564), money.between(0.08, 0.080001)
        ('5.30 to 6.77 EUR', '9.60 EUR')
        """
        first, last = map(self.in_all if in_all else self.per_person, (low, high))
        return last if first == last else f"{self.bare(first)} to {last}"

    def amount(self, value: float) -> str:
        """Write an amount of the currency, or of good acceptances, that is a total."""
        return self._with_currency(f"{value:,.{0 if self.given or self.total >= LARGE else 1}f}")

    def bare(self, amount: str) -> str:
        """Leave the currency away, where it is said elsewhere."""
        return amount.removesuffix(self.currency).rstrip()

    def _amount(self, value: float) -> str:
        digits = 0 if value == round(value) else 2 if self.given and value == round(value, 2) else None
        return self._with_currency(f"{value:,.10g}" if digits is None else f"{value:,.{digits}f}")

    def _with_currency(self, text: str) -> str:
        signed = MINUS + text[1:] if text.startswith("-") and text.strip("-0.,") else text.lstrip("-")
        return f"{signed} {self.currency}".rstrip()

    def described(self) -> dict[str, Any]:
        """Return the terms as plain data, for ``report.json``."""
        return {
            "cost": self.cost,
            "benefit": self.benefit,
            "currency": self.currency,
            "people": self.total,
            "good": self.good,
            "bad": self.bad,
            "terms": self.terms,
        }


def money_of(applicants: Applicants, aims: Aims) -> Money:
    """Return how to write the rewards of these people under these aims."""
    return Money(aims.cost, aims.benefit, aims.currency, applicants.total, applicants.good, applicants.bad)
