"""What every constraint offers, and how a user's own that offers less is made to fit."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.pieces import Pieces
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.settings import Array, Index, Number, Settings, replicates_of, rows_of

Needs = Literal["decisions", "accepted-labels", "all-labels"]
"""What a constraint looks at: decisions alone, labels of the accepted, or also labels of the rejected."""


class PlainConstraint(Protocol):
    """The least a constraint of one's own must have: `names` and `residuals`. See :func:`as_constraint`."""

    @property
    def names(self) -> Sequence[str]:
        """Return a short name for each residual."""

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return one array (…, replicates) per name, each ≤ 0 exactly when met."""


class Words(NamedTuple):
    """A residual in words: what it is about, and that it is broken, with ``{}`` for the amount."""

    about: str
    broken: str


class Limit(NamedTuple):
    """A range that a figure of a report must lie in: "acceptance", "rates" (of every group) or "gap"."""

    figure: str
    low: float | None
    high: float | None


class Measure(NamedTuple):
    """The figure that a residual limits, in words, its values (…,), and the end that it may not go beyond."""

    about: str
    value: Array
    end: str  # "at least" or "at most"
    limit: float
    percent: bool = False  # whether it is written as a percentage

    @property
    def beyond(self) -> Array:
        """How far the figure is on the wrong side of its limit; 0 or less where it is not."""
        away = self.value - self.limit
        return away if self.end == "at most" else -away


@dataclass(frozen=True)
class Constraint(Settings, ABC):
    """Everything the project knows of a constraint, in one place.

    A subclass is a frozen dataclass with its settings as fields. It must have `names` and `residuals`; all else has a
    default that is right, if not always telling.

    Attributes
    ----------
    name
        What it is called in presets, policy files and on the command line.
    help
        A line for the command line.
    needs
        "decisions", "accepted-labels" or "all-labels". Residuals of the last kind are shown to learners of level
        `full-labels` only; those of the first are read off pooled counts, others are means of batches.
    compares_groups
        Whether a single group is refused.
    must, may
        What is required, in a sentence, and what is allowed, to follow "allow", with ``{0.setting}`` for a setting.
    """

    name: ClassVar[str] = ""
    help: ClassVar[str] = ""
    compares_groups: ClassVar[bool] = False
    must: ClassVar[str] = "{0.text} must be met."
    may: ClassVar[str] = "{0.text}"

    @property
    def needs(self) -> Needs:
        """What it looks at."""
        return "accepted-labels"

    @property
    def bounded(self) -> bool:
        """Whether `lowest` and `highest` say something: by default, if there is a `lowest` of its own."""
        return type(self).lowest is not Constraint.lowest

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """A short name for each residual."""

    @abstractmethod
    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return one array (…, replicates) per name, each ≤ 0 exactly when met."""

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest value of each residual while the rates lie in the box; above 0 it is broken there."""
        return [np.full(np.shape(box.overall_low), -np.inf) for _ in self.names]

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest value of each residual while the rates lie in the box; at most 0 it is met there."""
        return [np.full(np.shape(box.overall_low), np.inf) for _ in self.names]

    def span(self, groups: int) -> list[tuple[float, float]]:
        """Return the ends that each residual lies between, whatever the decisions are."""
        anything = Box(np.zeros((1, groups)), np.ones((1, groups)), np.zeros(1), np.ones(1))
        ends = zip(self.lowest(anything), self.highest(anything), strict=True)
        return [(float(np.min(low)), float(np.max(high))) for low, high in ends]

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the lowest and highest probability at which accepting everybody with it meets the constraint."""
        return 0.0, 1.0

    def pieces(self, groups: int) -> Sequence[Pieces] | None:
        """Return each residual as the largest of straight lines in acceptance rates; None if it is not one."""
        return None

    @property
    def text(self) -> str:
        """The constraint as it is written in a policy file or on the command line, such as ``parity=0.05``."""
        return written(self.name, self)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return self.must.format(self)

    @property
    def words(self) -> Sequence[Words]:
        """Each residual in words."""
        return [Words(f"The residual {name!r}", f"the residual {name!r} is {{}} too large") for name in self.names]

    def limits(self) -> Sequence[Limit]:
        """Return the ranges of figures that a page can draw."""
        return ()

    def measures(self, counts: Counts) -> Sequence[Measure]:
        """Return the figure behind each residual, such as a ratio of rates; by default the residual itself."""
        named = [f"{words.about}, beyond what is allowed" for words in self.words]
        residuals = zip(named, self.residuals(counts), strict=True)
        return [Measure(about, np.asarray(residual), "at most", 0.0) for about, residual in residuals]

    def relaxed(self, place: int, counts: Counts) -> Self | None:
        """Return the same constraint, loosened until these counts meet its residual number `place`; None if it cannot.

        The counts (groups, 2, 2) break that residual. Settings are rounded towards what is looser.
        """
        return None

    def allows(self, place: int) -> str:
        """Say what residual number `place` allows, to follow "allow"."""
        return self.may.format(self)


@dataclass(frozen=True, repr=False)
class _Adapted(Constraint):
    """A user's own constraint that is no :class:`Constraint`, with defaults for what it does not have.

    It may declare `needs`; otherwise its residuals are shown to every learner and are means of batches
    ("accepted-labels"), unless it has `lowest` and `highest`, which only a constraint on decisions can.
    """

    inner: Any

    def __post_init__(self) -> None:
        lacking = [part for part in ("names", "residuals") if not hasattr(self.inner, part)]
        if lacking or isinstance(self.inner, type):
            raise InputError(
                "constraints must be a list such as [DemographicParity(0.05)], each with names and residuals(counts), "
                f"got [{self.inner!r}]"
            )
        _check_texts(self, self.inner.names)

    def __repr__(self) -> str:
        return repr(self.inner)

    @property
    def needs(self) -> Needs:
        declared: Needs = getattr(self.inner, "needs", "decisions" if self.bounded else "accepted-labels")
        return declared

    @property
    def bounded(self) -> bool:
        return hasattr(self.inner, "lowest") and hasattr(self.inner, "highest")

    @property
    def names(self) -> Sequence[str]:
        return tuple(self.inner.names)

    def residuals(self, counts: Counts) -> Sequence[Array]:
        found: Sequence[Array] = self.inner.residuals(counts)
        return found

    def lowest(self, box: Box) -> Sequence[Array]:
        return self.inner.lowest(box) if self.bounded else super().lowest(box)

    def highest(self, box: Box) -> Sequence[Array]:
        return self.inner.highest(box) if self.bounded else super().highest(box)

    @property
    def text(self) -> str:
        return written("", self.inner)

    @property
    def replicates(self) -> int | None:
        return replicates_of(self.inner)

    def rows(self, index: Index) -> Self:
        return dataclasses.replace(self, inner=rows_of(self.inner, index))

    def describe(self) -> dict[str, Any]:
        return self.inner.describe() if isinstance(self.inner, Settings) else {"kind": repr(self.inner)}


def as_constraint(constraint: PlainConstraint) -> Constraint:
    """Return what offers everything a :class:`Constraint` does, made of an object with `names` and `residuals`."""
    return constraint if isinstance(constraint, Constraint) else _Adapted(constraint)


def check_names(constraints: Sequence[Constraint]) -> None:
    """Say so if names are no sequence of texts, or two residuals have the same."""
    for each in constraints:
        _check_texts(each, each.names)
    names = [name for each in constraints for name in each.names]
    if len(set(names)) < len(names):
        raise InputError(
            f"constraints must have residuals of different names to tell them apart, got {', '.join(names)}"
        )


def _check_texts(constraint: Constraint, names: object) -> None:
    texts = isinstance(names, Iterable) and not isinstance(names, str) and all(isinstance(each, str) for each in names)
    if not texts:
        raise InputError(f'{constraint!r}: names must be a sequence of texts such as ("harm",), got {names!r}')


def check_residuals(constraints: Sequence[Constraint], counts: Counts) -> None:
    """Say so if names or residuals do not fit together; once per problem, so that nothing is checked in each round."""
    check_names(constraints)
    wanted = np.shape(counts.total)
    for each in constraints:
        found: Any = each.residuals(counts)
        told = f"{each!r}: residuals(counts) must return one array of shape {wanted} per name {tuple(each.names)!r}"
        if not isinstance(found, list | tuple) and np.ndim(found) == 0:
            raise InputError(f"{told}, in a list, got {found!r}")
        if len(found) != len(each.names):
            raise InputError(f"{told}, got {len(found)}")
        for residual in found:
            if np.shape(residual) != wanted:
                raise InputError(f"{told}, got one of shape {np.shape(residual)}")


def written(name: str, constraint: object) -> str:
    """Write a constraint by its name, or its place, and its settings."""
    kind = type(constraint)
    fields = dataclasses.fields(constraint) if dataclasses.is_dataclass(constraint) else ()
    values = [np.asarray(getattr(constraint, field.name)).tolist() for field in fields if field.init]
    settings = ":".join(map(str, values))
    place = name or f"{kind.__module__}:{kind.__qualname__}"
    return f"{place}={settings}" if settings else place


def rounded(value: Any, digits: int, *, up: bool) -> float:
    """Round a share to so many decimals, up or down, but not beyond 0 and 1.

    >>> rounded(0.12341, 3, up=True), rounded(0.12341, 3, up=False)
    (0.124, 0.123)
    """
    scaled = float(value) * 10.0**digits
    whole = math.ceil(scaled - 1e-9) if up else math.floor(scaled + 1e-9)  # but for rounding
    return min(max(whole / 10.0**digits, 0.0), 1.0)


def compare_groups(constraint: object, count: int) -> None:
    """Say so if there are not at least two groups to compare."""
    if count < 2:
        raise InputError(f"{type(constraint).__name__} compares groups and needs at least 2, got {count} group")
