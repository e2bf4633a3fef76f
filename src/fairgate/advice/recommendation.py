"""Recommendation: the threshold to use, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fairgate.advice.aims import Aims
from fairgate.advice.choice import INFEASIBLE, Choice
from fairgate.advice.intervals import quantile_of
from fairgate.advice.options import Option, other_ways
from fairgate.advice.report.words import put_into_words
from fairgate.advice.steady import Response, Steady, stands_until
from fairgate.advice.today import Today
from fairgate.estimates import Estimate
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING


@dataclass(frozen=True)
class Recommendation:
    """What to do, with the evidence.

    Attributes
    ----------
    status
        "safe", "uncertain" or "infeasible": whether the threshold keeps every constraint by two standard errors, only
        on these very people, or not at all because none does.
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
        Reward given up for the margin, against the best threshold that meets every constraint on these people.
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
    reward: Estimate
    gap: Estimate
    acceptance: Estimate
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
    applicants: Applicants, aims: Aims, today: Today, choice: Choice, steady: list[Steady], response: Response
) -> Recommendation:
    """Put a choice into figures and words.

    Parameters
    ----------
    applicants, today, choice
        The table with as many bins as `choice` has thresholds, its figures as it is, and what was chosen from it.
    steady
        Steady states under every strength of feedback looked at.
    response
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
        "feedback": response.strength,
        "reward": _reward(today, choice, response),
        "gap": _gap(today, choice, response),
        "acceptance": today.acceptance.at(cut)._replace(value=float(choice.counts.overall[cut])),
        "rates": dict(zip(applicants.groups, choice.counts.rates[cut].tolist(), strict=True)),
        "residuals": residuals,
        "misses": {name: value for name, value in residuals.items() if value > ROUNDING},
        "price": 0.0 if choice.status == INFEASIBLE else choice.price,
        "holds": choice.holds,
        "same": choice.same,
        "possible": choice.possible,
        "stands_until": stands_until(applicants, aims.problem, cut, response.balance),
        "options": other_ways(applicants, aims) if choice.status == INFEASIBLE else [],
    }
    made = Recommendation(**found, text="")
    return replace(made, text=put_into_words(made, applicants, aims, choice, steady))


def _reward(today: Today, choice: Choice, response: Response) -> Estimate:
    cut, reach = choice.cut, quantile_of() * float(choice.reward_error[choice.cut])
    if response.strength == 0.0:
        return today.reward.at(cut)
    value = float(choice.reward[cut])
    return Estimate(value, value - reach, value + reach)


def _gap(today: Today, choice: Choice, response: Response) -> Estimate:
    cut, reach = choice.cut, quantile_of() * choice.gap_error
    if response.strength == 0.0:
        return today.gap.at(cut)
    value = float(choice.counts.gap[cut])
    return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0))
