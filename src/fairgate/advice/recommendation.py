"""Recommendation: the threshold to use, with the evidence, in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairgate.advice.aims import Aims, strength_name
from fairgate.advice.choice import INFEASIBLE, RESAMPLES, SAFE, STEP, Choice
from fairgate.advice.intervals import CAUTION, quantile_of
from fairgate.advice.options import Option, other_ways
from fairgate.advice.steady import Steady, stands_until
from fairgate.advice.today import Today
from fairgate.constraints import Constraint
from fairgate.counts import Counts
from fairgate.estimates import Estimate
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING, Problem, is_feasible


@dataclass(frozen=True)
class Recommendation:
    """What to do, with the evidence.

    The status is "safe", "uncertain" or "infeasible": the threshold keeps every constraint by two standard errors, only
    on these very people, or not at all because none does.
    """

    status: str
    cut: int  # number of the threshold
    threshold: float  # as it reads in the table
    rule: str  # whom to accept
    feedback: float  # strength it is made for
    reward: Estimate  # figures have 95% intervals
    gap: Estimate
    acceptance: Estimate
    rates: dict[str, float]  # acceptance rate by group
    residuals: dict[str, float]
    misses: dict[str, float]  # the residuals that are broken
    price: float  # reward given up for the margin, against the best threshold that is feasible on these people
    holds: float  # share of resampled tables in which the threshold is feasible
    same: float  # in which about the same threshold is chosen
    possible: float  # in which any threshold is feasible
    stands_until: float | None  # strength of feedback up to which it stays feasible; None if not even without
    options: list[Option]  # what else could be done, if no threshold meets every constraint
    text: str  # all of this in words


def recommend(applicants: Applicants, aims: Aims, today: Today, choice: Choice, steady: list[Steady]) -> Recommendation:
    """Put a choice into figures and words; `applicants` and `today` have as many thresholds as `choice`."""
    cut, counts, response = choice.cut, choice.steady.counts, choice.steady.response
    point = choice.steady.sweep.point(cut)
    residuals = dict(zip(aims.problem.names, point.residuals, strict=True))
    reward, gap, infeasible = today.reward.at(cut), today.gap.at(cut), choice.status == INFEASIBLE
    if response.strength != 0.0:
        reach = quantile_of() * choice.reward_error
        reward = Estimate(point.reward, point.reward - reach, point.reward + reach)
        reach = quantile_of() * choice.gap_error
        gap = Estimate(point.gap, max(point.gap - reach, 0.0), min(point.gap + reach, 1.0))
    made = Recommendation(
        status=choice.status,
        cut=cut,
        threshold=point.threshold,
        rule=f"{applicants.columns.score} {applicants.sign} {applicants.words(cut)}",
        feedback=response.strength,
        reward=reward,
        gap=gap,
        acceptance=today.acceptance.at(cut)._replace(value=point.acceptance),
        rates=dict(zip(applicants.groups, counts.rates[cut].tolist(), strict=True)),
        residuals=residuals,
        misses={name: value for name, value in residuals.items() if value > ROUNDING},
        price=0.0 if infeasible else choice.price,
        holds=choice.holds,
        same=choice.same,
        possible=choice.possible,
        stands_until=stands_until(applicants, aims.problem, cut, response.balance),
        options=other_ways(applicants, aims.problem) if infeasible else [],
        text="",
    )
    return replace(made, text=put_into_words(made, applicants, aims, choice, steady))


def put_into_words(
    made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice, steady: list[Steady]
) -> str:
    """Write the recommendation as one paragraph."""
    rates = ", ".join(f"{applicants.called(name)}: {rate:.1%}" for name, rate in made.rates.items())
    gap = f", a gap of {with_interval(made.gap)}" if len(made.rates) > 1 else ""
    figures = f"earns {with_interval(made.reward)} per person and accepts {made.acceptance.value:.1%} ({rates}){gap}."
    if made.status == INFEASIBLE:
        known = "" if applicants.known.all() else " among those whose reward the labels tell"
        long_run = "" if made.feedback == 0.0 else f" in the long run, with feedback of strength {made.feedback:g}"
        parts = [
            f"No threshold{known} meets every constraint{long_run}. The nearest is {made.rule}, where "
            f"{_broken(aims, made.misses)}. It {figures}",
            f"In {made.possible:.1%} of {RESAMPLES} resampled tables some threshold meets them all.",
            f"To go on, {_loosened(aims.problem, choice, applicants)}find a better score, or choose among these"
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
        parts.append(_margin(made, applicants, aims, choice))
        holds = f"it meets every constraint in {made.holds:.1%}"
        parts.append(f"Of {RESAMPLES} resampled tables, {holds}, and {same}.")
    parts.append(_what_would_change_it(made, applicants, steady))
    return " ".join(filter(None, parts))


def _margin(made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice) -> str:
    """Say by how much the constraints are kept, what that costs, and what more people would help."""
    free = made.price < 0.00005
    if made.status == SAFE:
        cost = "which costs nothing here" if free else f"a margin that costs {made.price:.4f} of reward per person"
        return f"It keeps every constraint by at least {CAUTION:g} standard errors, {cost}."
    residuals = choice.steady.sweep.residuals[:, made.cut]
    distance = residuals / np.maximum(choice.residual_errors[:, made.cut], 1e-9)
    constraint, place = _residuals(aims.problem)[int(distance.argmax())]
    smallest = int(applicants.sizes.argmin())
    name = applicants.called(applicants.groups[smallest])
    few = f", above all of {name} ({applicants.sizes[smallest]})" if constraint.compares_groups else ""
    best = f"{applicants.columns.score} {applicants.sign} {applicants.words(choice.steady.cut)}"
    other = "" if free else f" {best} would earn {made.price:.4f} more per person, with a smaller margin."
    where = "on these people" if made.feedback == 0.0 else "in the long run, going by these people"
    return (
        f"It meets every constraint {where}, but they are too few to be confident: no threshold keeps all of them by "
        f"{CAUTION:g} standard errors, and this one has the largest margin. {constraint.words[place].about} has the "
        f"smallest; more people would help{few}.{other}"
    )


def _residuals(problem: Problem) -> list[tuple[Constraint, int]]:
    """Return the constraint of each residual, and which of its residuals it is."""
    return [(constraint, place) for constraint in problem.constraints for place in range(len(constraint.names))]


def _broken(aims: Aims, misses: Mapping[str, float]) -> str:
    """Say by how much each broken residual is."""
    found = zip(aims.problem.names, _residuals(aims.problem), strict=True)
    texts = {name: constraint.words[place].broken for name, (constraint, place) in found}
    return " and ".join(texts[name].replace("{}", f"{value:.4f}") for name, value in misses.items())


def _loosened(problem: Problem, choice: Choice, applicants: Applicants) -> str:
    """Say how far each constraint alone would have to be loosened for some threshold to meet all."""
    ways, residuals = [], choice.steady.sweep.residuals
    for number, (constraint, place) in enumerate(_residuals(problem)):
        others = is_feasible(np.delete(residuals, number, axis=0)) & applicants.known
        if others.any():
            best = int(np.where(others, residuals[number], np.inf).argmin())
            relaxed = constraint.relaxed(place, Counts(choice.steady.counts.cells[best]))
            about = constraint.words[place].about
            way = f"loosen {about[0].lower()}{about[1:]} by {residuals[number, best]:.4f}"
            ways.append(way if relaxed is None else f"allow {relaxed.allows(place)}")
    return ", or ".join(ways) + " (then a threshold meets them all), " if ways else "loosen more than one constraint, "


def with_interval(figure: Estimate, digits: int = 4) -> str:
    """Write a figure and the ends of its interval."""
    value, low, high = (f"{each:.{digits}f}" for each in (figure.value, figure.low, figure.high))
    return f"{value} ({low} to {high})"


def _what_would_change_it(made: Recommendation, applicants: Applicants, steady: list[Steady]) -> str:
    """Say how feedback moves the answer."""
    parts = []
    if made.residuals and made.stands_until is not None:
        always = made.stands_until >= 0.99
        reach = "however strongly" if always else f"up to a feedback strength of {made.stands_until:.2f}"
        parts.append(f"If acceptance changes who applies, it stays feasible {reach}.")
    strongest = max(steady, key=lambda each: each.response.strength)
    strength, best = strongest.response.strength, strongest.best
    under = f"Under {strength_name(strength)} feedback ({strength:g})"
    if strength > made.feedback and not best.feasible:
        parts.append(f"{under} no threshold would meet every constraint in the long run.")
    elif strength > made.feedback and strongest.cut != made.cut:
        here = strongest.sweep.point(made.cut)
        instead = f"instead of {here.reward:.4f}" if here.feasible else "while this one would break a constraint"
        parts.append(
            f"{under} the best threshold in the long run would be {applicants.words(strongest.cut)}, earning "
            f"{best.reward:.4f} per person {instead}."
        )
    return " ".join(parts)
