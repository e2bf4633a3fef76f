"""Words: the recommendation in one paragraph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fairgate.advice.aims import Aims, strength_name
from fairgate.advice.choice import CAUTION, INFEASIBLE, RESAMPLES, SAFE, STEP, Choice
from fairgate.advice.steady import Steady
from fairgate.constraints import Constraint
from fairgate.counts import Counts
from fairgate.estimates import Estimate as Interval
from fairgate.people.applicants import Applicants
from fairgate.problem import Problem, is_feasible

if TYPE_CHECKING:
    from fairgate.advice.recommendation import Recommendation


def put_into_words(
    made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice, steady: list[Steady]
) -> str:
    """Write the paragraph."""
    rates = ", ".join(f"{applicants.called(name)}: {rate:.1%}" for name, rate in made.rates.items())
    gap = f", a gap of {_interval(made.gap)}" if len(made.rates) > 1 else ""
    figures = f"earns {_interval(made.reward)} per person and accepts {made.acceptance.value:.1%} ({rates}){gap}."
    if made.status == INFEASIBLE:
        known = "" if choice.known.all() else " among those whose reward the labels tell"
        long_run = "" if made.feedback == 0.0 else f" in the long run, with feedback of strength {made.feedback:g}"
        parts = [
            f"No threshold{known} meets every constraint{long_run}. The nearest is {made.rule}, where "
            f"{_broken(aims, made.misses)}. It {figures}",
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
    distance = choice.residuals[:, choice.cut] / np.maximum(choice.residual_errors[:, choice.cut], 1e-9)
    constraint, place = _residuals(aims.problem)[int(distance.argmax())]
    smallest = int(applicants.sizes.argmin())
    name = applicants.called(applicants.groups[smallest])
    few = f", above all of {name} ({applicants.sizes[smallest]})" if constraint.compares_groups else ""
    best = f"{applicants.columns.score} {applicants.sign} {applicants.words(choice.unguarded)}"
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


def _loosened(aims: Aims, choice: Choice) -> str:
    """Say how far each constraint alone would have to be loosened for some threshold to meet all."""
    ways = []
    for number, (constraint, place) in enumerate(_residuals(aims.problem)):
        others = is_feasible(np.delete(choice.residuals, number, axis=0)) & choice.known
        if others.any():
            best = int(np.where(others, choice.residuals[number], np.inf).argmin())
            relaxed = constraint.relaxed(place, Counts(choice.counts.cells[best]))
            about = constraint.words[place].about
            way = f"loosen {about[0].lower()}{about[1:]} by {choice.residuals[number, best]:.4f}"
            ways.append(way if relaxed is None else f"allow {relaxed.allows(place)}")
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
