"""Spec: what a gate is for, fixed when it is made: groups, grid, constraints, costs, learner, rounds, guards."""

from __future__ import annotations

import functools
import math
import re
import reprlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, model_validator

from fairgate.constraints import make_constraint
from fairgate.errors import InputError
from fairgate.importing import NotAllowedError, allowed_names
from fairgate.learners import Learner, load_learner
from fairgate.learners.base import check_level
from fairgate.learners.warm import takes_history, with_history
from fairgate.live.past import PastDecisions
from fairgate.policy import Policy
from fairgate.problem import Problem, Utility
from fairgate.setting import Setting
from fairgate.settings import Array

Mode = Literal["learn", "hold", "shadow", "approve"]
"""Who decides: the learner; a fixed policy; the operator's own rule; the learner once a person has approved."""

DIGITS = 10
"""Decimals that thresholds are rounded to: half of a plain linspace would print as −1.2999999999999998."""

YEAR = 365.25 * 86400.0
"""Seconds."""

ROUNDS_A_YEAR = 10_000.0
"""Rounds that a year is taken to have if their number depends on who comes."""

MOST_THRESHOLDS = 1000
"""Longest grid: some learners keep a covariance of all pairs of thresholds."""

MOST_RATES = 10_000
"""Groups times thresholds. Learners keep several numbers of each, and a log may not exhaust its auditor's memory."""

MOST_COST = 1e9
"""Highest cost of a false positive, in units of what a true positive is worth."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]


class Part(BaseModel):
    """A part of a spec: nothing unknown in it, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Rounds(Part):
    """When a round closes: after so many people, after so many seconds, or, with neither, when it is told to."""

    people: Annotated[int, Field(ge=1)] | None = 200
    seconds: Annotated[float, Field(gt=0)] | None = None


class Start(Part):
    """How a gate begins: its mode, and the threshold (or one per group) that is in force."""

    mode: Mode = "hold"
    threshold: float | list[float] | None = None


class Scores(Part):
    """Scores that are decided on: from `range` (none: the grid's span, widened by its own width on each side).

    `outside` says what becomes of another one: it is refused, with its whole request; counts as the nearest bound
    (clip); or is decided on as it is (accept).
    """

    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    outside: Literal["refuse", "clip", "accept"] = "refuse"


class Subjects(Part):
    """How long a subject, whom callers name by a pseudonym, keeps its first decision."""

    days: Annotated[float, Field(gt=0, le=36500)] = 30.0


class Guards(Part):
    """Limits that no proposal goes beyond, when learning is paused, and how soon changes are noticed."""

    lowest: float | None = None
    highest: float | None = None
    step: Annotated[float, Field(gt=0)] | None = None  # largest change of a threshold from one policy to the next
    floor: Annotated[float, Field(ge=0, le=1)] | None = None  # least expected acceptance of each group
    lotteries: bool = True
    pause_if_broken: bool = True  # hold once a constraint is broken, at the level alpha
    pause_if_changed: bool = True  # hold once outcomes of a group change by more than the tolerance, at the level alpha
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.1  # by how much rates may differ from their baseline
    pause_if_quiet_days: Annotated[float, Field(gt=0)] | None = None  # hold once labels are awaited, and none came
    alpha: Annotated[float, Field(gt=0, le=0.5)] = 0.05  # probability of a false alarm in a year of rounds
    rounds_a_year: Annotated[float, Field(ge=1)] | None = None  # see Spec.rounds_a_year


class Trust(NamedTuple):
    """What the person who reads a spec allows it: code by its name, and a folder that its paths are seen from."""

    allow: frozenset[str] = frozenset()
    folder: Path | None = None  # the current one if not given


class Spec(Part):
    """Everything a gate's policies follow from. It is the first event of the log and never changes.

    A constraint of one's own, ``{"mine:Harm": 0.1}``, is code that the spec names: :meth:`read` allows it.

    >>> spec = Spec(name="credit", groups=["women", "men"], grid=[0.25, 0.5, 0.75], start={"threshold": 0.5})
    >>> spec.setting.groups, spec.first.single
    (2, array([[0.5, 0.5]]))
    """

    name: Name
    groups: list[Annotated[str, Field(min_length=1, max_length=100)]]
    grid: list[float]
    constraints: dict[str, float | str | list[float] | None] = {}
    false_positive_cost: Annotated[float, Field(ge=0, le=MOST_COST)] = 1.0
    learner: str = "safe-forecast"
    seed: Annotated[int, Field(ge=0)] = 0
    rounds: Rounds = Rounds()
    start: Start = Start()
    guards: Guards = Guards()
    label_due_days: Annotated[float, Field(gt=0)] = 30.0  # after which a label counts as late
    store: Literal["cases", "counts"] = "cases"
    per_group: str = ""  # the reason why groups may have thresholds of their own; empty: they may not
    history: PastDecisions | None = None  # the past decisions that the learner starts from
    scores: Scores = Scores()
    subjects: Subjects | None = None  # none: applications are known by their ids alone
    _trust: Trust = PrivateAttr(default=Trust())  # no part of the spec, so that no spec can allow itself anything

    @classmethod
    def stored(cls, plain: Any, allow: Collection[str] = (), folder: Path | None = None) -> Self:
        """Return the spec that a log begins with.

        A gate made before scores had a range accepts them all, and one made before outcomes were watched does not pause
        because of them.
        """
        if isinstance(plain, dict) and isinstance(plain.get("guards", {}), dict):
            guards = {"pause_if_changed": False, **plain.get("guards", {})}
            plain = {"scores": {"outside": "accept"}, **plain, "guards": guards}
        return cls.read(plain, allow, folder)

    @classmethod
    def read(cls, plain: Any, allow: Collection[str] = (), folder: Path | None = None) -> Self:
        """Return the spec that plain data describe, or say in one sentence what is wrong with them.

        Constraints may name code that is in `allow`, as ``package.module:Class``, and nothing else. The table of past
        decisions is looked for in `folder`, by default the current one.
        """
        try:
            return cls.model_validate(plain, context=Trust(allowed_names(allow), folder))
        except ValidationError as error:
            cause = error.errors()[0].get("ctx", {}).get("error")
            if isinstance(cause, NotAllowedError):
                raise cause from None
            raise InputError(f"the gate's {first_fault(error)}") from None
        except UnicodeEncodeError:  # a sentence about half a surrogate pair, which no library can repeat
            raise InputError("the gate's spec has a text that is not Unicode") from None

    @model_validator(mode="after")
    def _fits(self, info: ValidationInfo) -> Self:
        if isinstance(info.context, Trust):
            self._trust = info.context
        if len(self.grid) > MOST_THRESHOLDS:
            raise InputError(f"grid must have at most {MOST_THRESHOLDS} thresholds, got {len(self.grid)}")
        if len(self.groups) * len(self.grid) > MOST_RATES:
            raise InputError(
                f"groups times thresholds must be at most {MOST_RATES}, got {len(self.groups)} × {len(self.grid)}"
            )
        if len(set(self.groups)) < len(self.groups) or not self.groups:
            raise InputError(f"groups must be different names, at least one, got {self.groups}")
        if not self.allowed.size:
            raise InputError(
                f"guards: lowest and highest must have a threshold of the grid between them, got {self.guards.lowest} "
                f"and {self.guards.highest}"
            )
        if self.guards.step is not None and len(self.grid) > 1 and self.guards.step < np.diff(self.grid).min():
            raise InputError(
                f"guards: step must be at least the distance of two thresholds of the grid, "
                f"{np.diff(self.grid).min():g}, or none could be reached, got {self.guards.step:g}"
            )
        lonely = next((each.text for each in self.setting.problem.constraints if each.compares_groups), "")
        if lonely and len(self.groups) < 2:
            raise InputError(f"groups must be at least 2, as {lonely} compares them, got {self.groups}")
        if self.subjects is not None and self.store == "counts":
            raise InputError(
                'subjects: a gate with store = "counts" cannot remember whom it decided on: choose store = '
                '"cases", or leave [subjects] out'
            )
        low, high = self.score_range
        if not (low < high and ((self.setting.thresholds >= low) & (self.setting.thresholds <= high)).any()):
            raise InputError(
                f"scores: range must be two increasing numbers with a threshold of the grid between them, got "
                f"[{low:g}, {high:g}]"
            )
        learner = load_built_in(self.learner)
        if self.history is not None and not takes_history(learner):
            raise InputError(f"learner {self.learner} takes no history: choose one that does, such as safe-search")
        check_level(learner, self.setting.problem)
        _check_labels(learner, self.setting.problem)
        if learner.policies == "per-group" and not self.per_group:
            raise InputError(f"learner {self.learner} has thresholds per group: give the reason in per_group")
        if self.start.threshold is None:
            if self.start.mode in ("hold", "approve"):
                raise InputError(f"start: threshold must be given to begin in the mode {self.start.mode}, got none")
            if self.guards.pause_if_broken or self.guards.pause_if_quiet_days is not None:
                raise InputError(
                    "start: threshold must be given, as it is held when a guard pauses the learner, got none: "
                    "or set guards.pause_if_broken = false"
                )
        elif not np.isin(self.fixed(self.start.threshold).thresholds, self.allowed).all():
            raise InputError(f"start: threshold must lie within the bounds of the guards, got {self.start.threshold}")
        return self

    @functools.cached_property
    def setting(self) -> Setting:
        """What the learner is told."""
        required = [make_constraint(name, value, *self._trust) for name, value in self.constraints.items()]
        problem = Problem(Utility(self.false_positive_cost), required)
        return Setting(problem, np.round(np.asarray(self.grid, dtype=np.float64), DIGITS), len(self.groups))

    @functools.cached_property
    def allowed(self) -> Array:
        """The thresholds of the grid that lie between the bounds of the guards."""
        grid = self.setting.thresholds
        low = -np.inf if self.guards.lowest is None else round(self.guards.lowest, DIGITS)
        high = np.inf if self.guards.highest is None else round(self.guards.highest, DIGITS)
        return np.asarray(grid[(grid >= low) & (grid <= high)])

    @property
    def trust(self) -> Trust:
        """What the person who read it allowed it."""
        return self._trust

    @functools.cached_property
    def score_range(self) -> tuple[float, float]:
        """Bounds that scores are held to; infinite where none are. A grid of one threshold has no width to go by."""
        grid, given = self.setting.thresholds, self.scores.range
        if self.scores.outside == "accept" or (given is None and len(grid) < 2):
            return -math.inf, math.inf
        if given is not None:
            return given[0], given[1]
        width = grid[-1] - grid[0]
        return round(float(grid[0] - width), DIGITS), round(float(grid[-1] + width), DIGITS)

    def counted(self, scores: Array) -> Array:
        """Return scores as decisions count them: those outside the range as its nearest bound, if they are clipped."""
        return np.clip(scores, *self.score_range) if self.scores.outside == "clip" else scores

    @property
    def rounds_a_year(self) -> float:
        """The rounds for which the error of the guards is stated.

        By default those of `rounds.seconds` if rounds close by time alone, else 10,000, more than one an hour: ten
        times as many add 2.3 to the evidence that an alarm needs, about a tenth.
        """
        if self.guards.rounds_a_year is not None:
            return self.guards.rounds_a_year
        if self.rounds.people is None and self.rounds.seconds is not None:
            return max(YEAR / self.rounds.seconds, 1.0)
        return ROUNDS_A_YEAR

    def make_learner(self) -> Learner[Any]:
        """Return the learner, which starts from past decisions if there are any: their table must be there."""
        learner = load_built_in(self.learner)
        if self.history is None:
            return learner
        return with_history(learner, self.history.history(self.groups, self._trust.folder))

    @property
    def first(self) -> Policy | None:
        """The policy that is in force at the start, if one is given."""
        return None if self.start.threshold is None else self.fixed(self.start.threshold)

    def fixed(self, threshold: float | list[float]) -> Policy:
        """Return the policy of one threshold of the grid, or of one per group."""
        given = threshold if isinstance(threshold, list) else [threshold] * len(self.groups)
        with np.errstate(over="ignore"):  # what cannot be rounded is no threshold of the grid
            values = np.round(np.asarray(given, dtype=np.float64), DIGITS) + 0.0
        if len(values) != len(self.groups):
            told = reprlib.repr(threshold)
            raise InputError(f"threshold must be a number, or {len(self.groups)} of them, got {told}")
        strange = values[~np.isin(values, self.setting.thresholds)]
        if strange.size:
            nearest = self.setting.thresholds[np.abs(self.setting.thresholds - strange[0]).argmin()]
            raise InputError(f"threshold must be one of the grid, such as {nearest:g}, got {strange[0]:g}")
        if len(set(values.tolist())) > 1 and not self.per_group:
            told = reprlib.repr(threshold)
            raise InputError(
                f"threshold {told} differs between groups: that is refused unless per_group gives a reason"
            )
        return Policy.of(values[None])


def load_built_in(learner: str) -> Learner[Any]:
    """Return the learner that a spec names, with its settings; a setting that is a path would open any file."""
    if re.search(r"[:,]\s*history\s*=", learner):
        raise InputError(
            f"learner {learner!r} must have no setting history: past decisions are the spec's own entry, history in "
            "[learner] of gate.toml"
        )
    return load_learner(learner)


def _check_labels(learner: Learner[Any], problem: Problem) -> None:
    """Refuse a learner that is told residuals on labels, which come after a gate's rounds have closed."""
    needy = [each.text for each in problem.constraints if each.needs == "accepted-labels"]
    if needy and learner.level in ("bandit", "scores") and not learner.blind:
        raise InputError(
            f"constraints: {needy[0]} asks for labels of the accepted, which come after a round of a gate has closed, "
            f"so a learner of level {learner.level!r} cannot be told whether it is met: choose one of level "
            "'selective-labels', which estimates it, or let a constraint of yours say needs = \"decisions\" if it "
            "looks at no label"
        )


def first_fault(error: ValidationError, whole: str = "spec") -> str:
    """Say in a few words what is wrong first: where, what would be right, and what was given."""
    return told_fault(error.errors(include_url=False)[0], whole)


UNTOLD = (("subject",), ("subjects",))
"""Fields whose value no sentence repeats: pseudonyms of people."""


def told_fault(fault: Mapping[str, Any], whole: str) -> str:
    """Say in a few words what one of pydantic's faults is; `whole` names what has the fault if no part of it does."""
    silent = fault["type"] in ("missing", "json_invalid") or fault["loc"][:1] in UNTOLD
    given = "" if silent else f", got {shorten(reprlib.repr(fault['input']))}"  # lists of lists of texts are long
    message: str = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error" and not fault["loc"]:
        return message
    place = shorten(".".join(str(part) for part in fault["loc"])) or whole  # the caller may have made its names
    return f"{place}: {message[:1].lower()}{message[1:]}{given}"


def shorten(text: str, most: int = 80) -> str:
    """Cut a text that a caller gave, so that a refusal does not repeat all of it.

    >>> shorten("incomes", 5)
    'inco…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
