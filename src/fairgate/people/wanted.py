"""Wanted: which columns of a table are read as what, and how; checked before anything is read."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from fairgate.errors import InputError, nearest
from fairgate.people.dates import LENGTHS
from fairgate.people.values import listed
from fairgate.settings import whole_number

STRAY = 10
"""A group of fewer people is left out if it is also below a hundredth of the table: a typing error or a rarity whose
acceptance rate, known to ± 0.3 at best, would decide the gap between groups alone."""

LOST = 0.2
"""Share of rows that may be left out: with more, those who are left need not be like those who are not."""


@dataclass(frozen=True)
class Wanted:
    """Names of columns and rules of reading; see :func:`fairgate.people.from_frame`."""

    score: str
    label: str
    group: str | Sequence[str]
    positive: object = None
    descending: bool = False
    decision: str | None = None
    date: str | None = None
    period: str | None = None
    weight: str | None = None
    min_group: int | None = None
    max_lost: float = LOST
    accepted: object = None

    def __post_init__(self) -> None:
        if not isinstance(self.descending, bool):
            raise InputError(f"descending must be True or False, got {self.descending!r}")
        if self.period is not None and self.period not in LENGTHS:
            raise InputError(f"period must be one of {', '.join(LENGTHS)}, got {self.period!r}")
        if self.period is not None and self.date is None:
            raise InputError(f"period {self.period!r} needs a column of dates: say --date NAME")
        if self.accepted is not None and self.decision is None:
            raise InputError(f"accepted {self.accepted!r} needs a column of decisions: say --decision NAME")
        if self.min_group is not None:
            whole_number("min_group", self.min_group, 1)
        number = isinstance(self.max_lost, numbers.Real) and not isinstance(self.max_lost, bool)
        if not number or math.isnan(self.max_lost) or not 0.0 <= self.max_lost <= 1.0:
            raise InputError(f"max_lost must be a share from 0 to 1, such as 0.2, got {self.max_lost!r}")
        if not isinstance(self.group, str) and (not isinstance(self.group, Sequence) or not self.group):
            raise InputError(f"group must be the name of a column, or a list of them, got {self.group!r}")

    @property
    def groups(self) -> tuple[str, ...]:
        """Columns whose crossing makes the groups."""
        return (self.group,) if isinstance(self.group, str) else tuple(self.group)

    @property
    def grouping(self) -> str:
        """What the groups are called after: the column, or several columns crossed."""
        return " × ".join(self.groups)

    def roles(self) -> Iterator[tuple[str, str]]:
        """Yield every column with what it is read as."""
        yield from (("score", self.score), ("label", self.label))
        yield from (("group", name) for name in self.groups)
        optional = {"decision": self.decision, "date": self.date, "weight": self.weight}
        yield from ((role, name) for role, name in optional.items() if name is not None)

    def least(self, people: float) -> int:
        """Return the fewest people of a group, in a table of so many."""
        return min(STRAY, math.ceil(people / 100)) if self.min_group is None else self.min_group

    def check(self, columns: Sequence[str]) -> list[str]:
        """Refuse columns that cannot be read; return those to read."""
        return check_columns(columns, list(self.roles()))


def check_columns(columns: Sequence[str], roles: Sequence[tuple[str, str]]) -> list[str]:
    """Refuse columns that are not there, there twice, or asked for twice; return those to read."""
    for role, name in roles:
        if not isinstance(name, str) or not name:
            raise InputError(f"{role} must be the name of a column, got {name!r}")
        if name not in columns:
            known = f"{nearest(name, columns)}Its columns: {listed(columns) or '(none)'}"
            raise InputError(f"the {role} column {name!r} is not in the table: {known}")
        if list(columns).count(name) > 1:
            raise InputError(f"the {role} column {name!r} is in the table more than once: rename all but one")
    for (role, name), (other, second) in combinations(roles, 2):
        if name == second:
            both = "both groups are" if role == other else f"{role} and {other} are both"
            raise InputError(f"{both} the column {name!r}: choose two different columns")
    return [name for _, name in roles]
