"""Recommendation: the threshold to use, how sure that is, and what would change it, in one paragraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.advice.aims import Aims, strength_name
from fairgate.people.applicants import Applicants
from fairgate.advice.choice import CAUTION, NONE, RESAMPLES, STEP, SURE, Choice
from fairgate.advice.intervals import quantile_of
from fairgate.advice.options import Option, other_ways
from fairgate.advice.steady import Feedback, Steady, stands_until
from fairgate.advice.today import Today
from fairgate.problem import ROUNDING
from fairgate.statistics import Interval

WORDS = {
    "parity": "the gap between groups is {:.4f} too large",
    "service-low": "the acceptance rate is {:.4f} too low",
    "service-high": "the acceptance rate is {:.4f} too high",
}
"""What a positive residual means."""

KEPT = {
    "parity": "The gap between groups",
    "service-low": "The lowest acceptance rate",
    "service-high": "The highest acceptance rate",
}
"""What each constraint is about."""


@dataclass(frozen=True)
class Recommendation:
    """What to do, with the evidence.

    Attributes
    ----------
    status
        "sure", "unsure" or "none": whether the threshold keeps every constraint by two standard errors, only on these
        very people, or not at all because none does.
    cut, threshold
        Its number, and as it reads in the table.
    rule
        Whom to accept.
    feedback
        Strength of feedback it is made for.
    reward, gap, acceptance
        Expected figures with 95% intervals.
    rates
        Acceptance rate by group.
    residuals, misses
        Residuals by constraint, and by how much the constraints that are broken are.
    price
        Reward given up for the distance to the constraints, against the best threshold that meets them all on these
        people.
    holds, same, possible
        Shares of resampled tables: threshold feasible; about the same threshold chosen; any threshold feasible.
    stands_until
        Strength of feedback up to which it stays feasible; None if not even without.
    options
        What else could be done, if no threshold meets every constraint.
    text
        All of this in words.
    """

    status: str
    cut: int
    threshold: float
    rule: str
    feedback: float
    reward: Interval
    gap: Interval
    acceptance: Interval
    rates: dict[str, float]
    residuals: dict[str, float]
    misses: dict[str, float]
    price: float
    holds: float
    same: float
    possible: float
    stands_until: float | None
    options: list[Option]
    text: str


def recommend(
    applicants: Applicants, aims: Aims, today: Today, choice: Choice, steady: list[Steady], feedback: Feedback
) -> Recommendation:
    """Put a choice into figures and words.

    Parameters
    ----------
    applicants, today, choice
        The table with as many bins as `choice` has thresholds, its figures as it is, and what was chosen from it.
    steady
        Steady states under every strength of feedback looked at.
    feedback
        The one the choice was made for.
    """
    cut = choice.cut
    threshold = float(applicants.shown(applicants.cuts[cut]))
    names = aims.problem.names
    residuals = dict(zip(names, choice.residuals[:, cut].tolist(), strict=True))
    found: dict[str, Any] = {
        "status": choice.status,
        "cut": cut,
        "threshold": threshold,
        "rule": f"{applicants.columns.score} {applicants.sign} {applicants.words(cut)}",
        "feedback": feedback.strength,
        "reward": _reward(today, choice, feedback),
        "gap": _gap(today, choice, feedback),
        "acceptance": Interval(
            float(choice.acceptance[cut]), float(today.acceptance_low[cut]), float(today.acceptance_high[cut])
        ),
        "rates": dict(zip(applicants.groups, choice.rates[cut].tolist(), strict=True)),
        "residuals": residuals,
        "misses": {name: value for name, value in residuals.items() if value > ROUNDING},
        "price": 0.0 if choice.status == NONE else choice.price,
        "holds": choice.holds,
        "same": choice.same,
        "possible": choice.possible,
        "stands_until": stands_until(applicants, aims.problem, cut, feedback.balance),
        "options": other_ways(applicants, aims) if choice.status == NONE else [],
    }
    made = Recommendation(**found, text="")
    return Recommendation(**found, text=put_into_words(made, applicants, aims, choice, steady))


def _reward(today: Today, choice: Choice, feedback: Feedback) -> Interval:
    cut, reach = choice.cut, quantile_of() * float(choice.reward_error[choice.cut])
    if feedback.strength == 0.0:
        return Interval(float(today.reward[cut]), float(today.reward_low[cut]), float(today.reward_high[cut]))
    value = float(choice.reward[cut])
    return Interval(value, value - reach, value + reach)


def _gap(today: Today, choice: Choice, feedback: Feedback) -> Interval:
    cut, reach = choice.cut, quantile_of() * float(choice.gap_error[choice.cut])
    if feedback.strength == 0.0:
        return Interval(float(today.gap[cut]), float(today.gap_low[cut]), float(today.gap_high[cut]))
    value = float(choice.gap[cut])
    return Interval(value, max(value - reach, 0.0), min(value + reach, 1.0))


def put_into_words(
    made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice, steady: list[Steady]
) -> str:
    """Write the paragraph."""
    rates = ", ".join(f"{applicants.called(name)}: {rate:.1%}" for name, rate in made.rates.items())
    gap = f", a gap of {_interval(made.gap)}" if len(made.rates) > 1 else ""
    figures = f"earns {_interval(made.reward)} a person and accepts {made.acceptance.value:.1%} ({rates}){gap}."
    if made.status == NONE:
        misses = " and ".join(WORDS[name].format(value) for name, value in made.misses.items())
        known = "" if choice.known.all() else " among those whose reward the labels tell"
        long_run = "" if made.feedback == 0.0 else f" in the long run, with feedback of strength {made.feedback:g}"
        parts = [
            f"No threshold{known} meets every constraint{long_run}. The nearest is {made.rule}, where {misses}. It "
            + figures,
            f"In {made.possible:.1%} of {RESAMPLES} resampled tables some threshold meets them all.",
            f"To go on, {_loosened(aims, choice)}find a better score, or choose among these"
            + (", worked out for the people as they are." if long_run else "."),
            *(option.text for option in made.options),
        ]
        return " ".join(parts)
    today = "On the people of the table"
    whom = today if made.feedback == 0.0 else f"With feedback of strength {made.feedback:g}, in the long run,"
    parts = [f"Accept people with {made.rule}. {whom} that {figures}"]
    if made.reward.value < 0.0:
        parts.append("That is less than accepting nobody would.")
    same = f"in {made.same:.1%} the threshold chosen is the same but for at most {STEP:.1%} of all people"
    if not made.residuals:
        parts.append(f"No constraint was asked for. Of {RESAMPLES} resampled tables, {same}.")
    else:
        parts.append(_surety(made, applicants, choice))
        holds = f"it meets every constraint in {made.holds:.1%}"
        parts.append(f"Of {RESAMPLES} resampled tables, {holds}, and {same}.")
    parts.append(_what_would_change_it(made, applicants, steady))
    return " ".join(filter(None, parts))


def _surety(made: Recommendation, applicants: Applicants, choice: Choice) -> str:
    """Say by how much the constraints are kept, what that costs, and what more people would help."""
    free = made.price < 0.00005
    if made.status == SURE:
        cost = "which costs nothing here" if free else f"a distance that costs {made.price:.4f} of reward a person"
        return f"It keeps every constraint by at least {CAUTION:g} standard errors, {cost}."
    distance = choice.residuals[:, choice.cut] / np.maximum(choice.residual_errors[:, choice.cut], 1e-9)
    tight = str(list(made.residuals)[int(distance.argmax())])
    smallest = int(applicants.sizes.argmin())
    name = applicants.called(applicants.groups[smallest])
    few = f", above all of {name} ({applicants.sizes[smallest]})" if tight == "parity" else ""
    best = f"{applicants.columns.score} {applicants.sign} {applicants.words(choice.unguarded)}"
    other = "" if free else f" {best} would earn {made.price:.4f} more a person, and is less sure to meet them."
    where = "on these people" if made.feedback == 0.0 else "in the long run, going by these people"
    return (
        f"It meets every constraint {where}, but they are too few to be sure: no threshold keeps all of them by "
        f"{CAUTION:g} standard errors, and this one is the surest. {KEPT[tight]} is the hardest to be sure of; more "
        f"people would help{few}.{other}"
    )


def _loosened(aims: Aims, choice: Choice) -> str:
    """Say how far each constraint alone would have to be loosened for some threshold to meet all."""
    ways = []
    for place, name in enumerate(aims.problem.names):
        others = np.delete(choice.residuals, place, axis=0).max(axis=0, initial=-np.inf)
        needed = choice.residuals[place][(others <= ROUNDING) & choice.known]
        if needed.size:
            more = float(needed.min())
            low, high = aims.service or (0.0, 1.0)
            ways.append(
                f"allow a gap of {np.ceil(((aims.parity or 0.0) + more) * 1e4) / 1e4:.4f}"
                if name == "parity"
                else f"allow acceptance from {np.floor((low - more) * 1e3) / 1e3:.1%}"
                if name == "service-low"
                else f"allow acceptance up to {np.ceil((high + more) * 1e3) / 1e3:.1%}"
            )
    return ", or ".join(ways) + " (then a threshold meets them all), " if ways else "loosen more than one constraint, "


def _interval(value: Interval) -> str:
    return f"{value.value:.4f} ({value.low:.4f} to {value.high:.4f})"


def _what_would_change_it(made: Recommendation, applicants: Applicants, steady: list[Steady]) -> str:
    """Say how feedback moves the answer."""
    parts = []
    if made.residuals and made.stands_until is not None:
        always = made.stands_until >= 0.99
        reach = "however strongly" if always else f"up to a feedback strength of {made.stands_until:.2f}"
        parts.append(f"If acceptance changes who applies, it stays feasible {reach}.")
    strongest = max(steady, key=lambda each: each.feedback.strength)
    strength, best = strongest.feedback.strength, strongest.best
    under = f"Under {strength_name(strength)} feedback ({strength:g})"
    if strength > made.feedback and not best.feasible:
        parts.append(f"{under} no threshold would meet every constraint in the long run.")
    elif strength > made.feedback and strongest.cut != made.cut:
        here = strongest.sweep.point(made.cut)
        instead = f"instead of {here.reward:.4f}" if here.feasible else "while this one would break a constraint"
        parts.append(
            f"{under} the best threshold in the long run would be {applicants.words(strongest.cut)}, earning "
            f"{best.reward:.4f} a person {instead}."
        )
    return " ".join(parts)
