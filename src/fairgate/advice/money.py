"""Money: rewards as amounts, per person and for everybody the table stands for, in the currency if one is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairgate.advice.aims import Aims
from fairgate.estimates import Estimate
from fairgate.people.applicants import Applicants

MINUS = "−"


@dataclass(frozen=True)
class Money:
    """How to write rewards, which are in units of the benefit of a good acceptance.

    >>> words = {"good": "default = No", "bad": "default = Yes"}
    >>> money = Money(cost=900.0, benefit=120.0, currency="EUR", total=10_000.0, **words)
    >>> money.per_person(0.0442), money.in_all(0.0442)
    ('5.30 EUR', '53,040 EUR')
    >>> money.terms
    'Accepting somebody with default = No is worth 120 EUR; with default = Yes it costs 900 EUR.'
    >>> plain = Money(cost=2.0, benefit=1.0, currency="", total=500.0, good="repaid = 1", bad="repaid = 0")
    >>> plain.per_person(-0.0442), plain.in_all(0.0442)
    ('−0.0442', '22.1')
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
        text = f"{value:,.4f}" if not self.given else f"{value:,.2f}" if abs(value) < 10_000.0 else f"{value:,.0f}"
        return self._with_currency(text)

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
        value, low, high = (self.per_person(each) for each in figure[:3])
        person = f"{value} ({self.bare(low)} to {self.bare(high)}) per person"
        return f"{person}, {self.in_all(figure.value)} in all," if self.given else person

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
        return self._with_currency(f"{value:,.1f}" if abs(value) < 1000.0 and not self.given else f"{value:,.0f}")

    def bare(self, amount: str) -> str:
        """Leave the currency away, where it is said elsewhere."""
        return amount.removesuffix(self.currency).rstrip()

    def _amount(self, value: float) -> str:
        return self._with_currency(f"{value:,.10g}")

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
