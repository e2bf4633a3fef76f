"""Recommendation: the threshold to use, with the evidence, in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.advice.choice import INFEASIBLE, NOBODY, RESAMPLES, STEP, SURE, Choice
from fairgate.advice.guarantee import FLOOR, rests_on_unknown
from fairgate.advice.money import Money, money_of
from fairgate.advice.options import Option, other_ways
from fairgate.advice.sensitivity import flips_at, reward_bounds
from fairgate.advice.steady import Steady, settle, stands_until
from fairgate.advice.today import Today
from fairgate.constraints import Constraint
from fairgate.counts import Counts
from fairgate.estimates import Estimate, quantile_of
from fairgate.learners.registry import RECOMMENDED
from fairgate.people.applicants import Applicants
from fairgate.problem import ROUNDING, Problem, is_feasible


@dataclass(frozen=True)
class Alternative:
    """Another threshold, with its figures and the lowest level at which it passes the test of all constraints."""

    cut: int
    threshold: float
    rule: str
    reward: float
    test_level: float | None
    rates: dict[str, float]
    text: str


@dataclass(frozen=True)
class Recommendation:
    """What to do, with the evidence.

    The status is "sure", "uncertain" or "infeasible": the threshold meets every constraint with the probability that
    was asked for; it does on these very people, with a lower probability; or none does.
    """

    status: str
    sure: float  # the probability that was asked for
    exact: bool  # whether "sure" holds for any number of people, or approximately
    cut: int  # number of the threshold
    threshold: float  # as it reads in the table
    rule: str  # whom to accept; "nobody" if that is best
    feedback: float  # strength it is made for
    reward: Estimate  # figures have 95% intervals
    reward_bounds: tuple[float, float] | None  # if all missing labels were bad, or good; None if none is missing
    unlabelled: float  # share of those accepted whose label is missing
    dark: float  # share of all people who are accepted with nothing known of their label, and count as bad
    flips_at: float | None  # odds ratio of a bad label, missing against known, at which the advice is another
    gap: Estimate
    acceptance: Estimate
    rates: dict[str, float]  # acceptance rate by group
    residuals: dict[str, float]
    misses: dict[str, float]  # the residuals that are broken
    test_level: float | None  # lowest at which it passes the test that every constraint is met; None above 0.5
    price: float  # reward given up for being sure, against the best threshold that is feasible on these people
    cost_of_surety: float | None  # the same as a share of that reward; None if there is no reward to share
    bolder: Alternative | None  # the threshold of highest reward that is feasible on these people, if another
    same: float  # share of resampled tables in which about the same threshold is chosen
    possible: float  # in which any threshold is feasible
    stands_until: float | None  # strength of feedback up to which it stays feasible; None if not even without
    options: list[Option]  # what else could be done, if no threshold meets every constraint or is worth anything
    learner: str | None  # which to run live, over the policies that can keep every constraint; None if none is known to
    text: str  # all of this in words

    @property
    def rule_in_words(self) -> str:
        """The rule as a title of figures."""
        return "accepting nobody" if self.rule == NOBODY else self.rule


def recommend(
    applicants: Applicants,
    aims: Aims,
    today: Today,
    choice: Choice,
    steady: list[Steady],
    *,
    whole: Applicants | None = None,
) -> Recommendation:
    """Put a choice into figures and words; `applicants` and `today` have as many thresholds as `choice`.

    `whole` is the table before its bins were joined, where options are looked for.
    """
    cut, counts, response = choice.cut, choice.steady.counts, choice.steady.response
    point, problem = choice.steady.sweep.point(cut), aims.problem
    money = money_of(applicants, aims)
    residuals = dict(zip(problem.names, point.residuals, strict=True))
    reward, gap, infeasible = today.reward.at(cut), today.gap.at(cut), choice.status == INFEASIBLE
    if response.strength != 0.0:
        reach = quantile_of() * choice.reward_error
        reward = Estimate(point.reward, point.reward - reach, point.reward + reach)
        reach = choice.gap_reach
        gap = Estimate(point.gap, max(point.gap - reach, 0.0), min(point.gap + reach, 1.0))
    nobody = _rule(applicants, cut) == NOBODY
    options = other_ways(whole or applicants, applicants, problem, money) if infeasible or nobody else []
    options = [each for each in options if infeasible or (each.reward or 0.0) > ROUNDING]
    accepted = applicants.above[:, cut].sum(axis=0)
    missing = float(accepted[2] / max(accepted.sum(), 1e-300))
    bounds = [float(end[cut]) for end in reward_bounds(applicants, problem, response)] if missing else []
    in_use = -1 if aims.current is None else np.searchsorted(applicants.cuts, applicants.shown(aims.current))
    other = (np.abs(counts.overall - counts.overall[cut]) > STEP + 1e-9) | (np.arange(len(applicants.cuts)) == in_use)
    rivals = choice.allowed & other
    made = Recommendation(
        status=choice.status,
        sure=choice.sure,
        exact=choice.exact,
        cut=cut,
        threshold=point.threshold,
        rule=_rule(applicants, cut),
        feedback=response.strength,
        reward=reward,
        reward_bounds=(bounds[0], bounds[1]) if bounds else None,
        unlabelled=missing,
        dark=float(applicants.unknown[cut]),
        flips_at=flips_at(applicants, problem, response, cut, rivals) if missing and not infeasible else None,
        gap=gap,
        acceptance=today.acceptance.at(cut)._replace(value=point.acceptance),
        rates=dict(zip(applicants.groups, counts.rates[cut].tolist(), strict=True)),
        residuals=residuals,
        misses={name: value for name, value in residuals.items() if value > ROUNDING},
        test_level=choice.test_level if residuals else None,
        price=choice.price,
        cost_of_surety=choice.cost_of_surety,
        bolder=_bolder(applicants, choice, money, whole or applicants),
        same=choice.same,
        possible=choice.possible,
        stands_until=stands_until(applicants, problem, cut, response.balance),
        options=options,
        learner=live_learner(infeasible or nobody, options),
        text="",
    )
    every = settle(whole or applicants, problem, response) if infeasible else choice.steady
    return replace(made, text=put_into_words(made, applicants, aims, choice, steady, every))


def live_learner(infeasible: bool, options: Sequence[Option]) -> str | None:
    """Return the learner for a gate: over thresholds if one meets every constraint, else over lotteries if one does.

    >>> live_learner(True, [Option(kind="lottery", text="none"), Option(kind="per-group", rule=">= 1", text="")])
    >>> live_learner(True, [Option(kind="lottery", rule=">= 1 with 50%", text="")])
    'safe-search-lottery'
    """
    if not infeasible:
        return RECOMMENDED["selective-labels"]
    drawn = any(option.kind == "lottery" and option.rule for option in options)
    return f"{RECOMMENDED['selective-labels']}-lottery" if drawn else None


def _rule(applicants: Applicants, cut: int) -> str:
    if not applicants.above[:, cut].any():
        return NOBODY
    return f"{applicants.columns.score} {applicants.sign} {applicants.words(cut)}"


def _bolder(applicants: Applicants, choice: Choice, money: Money, whole: Applicants) -> Alternative | None:
    """Name the threshold of highest reward, and the lowest level at which it passes the test of all constraints."""
    cut = choice.bolder
    if cut is None:
        return None
    point, level = choice.steady.sweep.point(cut), choice.bolder_test_level
    still = choice.steady.response.strength == 0.0
    where = "on these people" if still else "in the long run, going by the table"
    compared = len((whole if still else applicants).cuts)  # the best of all for these people is among the candidates
    text = (
        f"{_rule(applicants, cut)} would earn the most among the {compared:,} rules compared, of those feasible "
        f"{where}, {money.per_person(point.reward)} per person. A test that it keeps every constraint for all whom "
        f"they were drawn from {test_result(level)}, where {written(1.0 - choice.sure)} was asked for."
    )
    rates = dict(zip(applicants.groups, choice.steady.counts.rates[cut].tolist(), strict=True))
    return Alternative(cut, point.threshold, _rule(applicants, cut), point.reward, level, rates, text)


def test_result(level: float | None) -> str:
    """Write the lowest level at which a test passes.

    >>> test_result(0.27), test_result(None), test_result(0.0)
    ('passes at level 27%', 'fails even at level 50%', 'passes at any level')
    """
    if level == 0.0:
        return "passes at any level"
    return f"fails even at level {written(1.0 - FLOOR)}" if level is None else f"passes at level {written(level)}"


def written(level: float) -> str:
    """Write the level of a test.

    >>> written(1.0 - 0.9), written(0.001)
    ('10%', '0.1%')
    """
    return f"{100.0 * level:.4g}%"


def put_into_words(
    made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice, steady: list[Steady], every: Steady
) -> str:
    """Write the recommendation as one paragraph, the answer first; `every` has all thresholds of the table."""
    rates = ", ".join(f"{applicants.called(name)}: {rate:.1%}" for name, rate in made.rates.items())
    gap = f", a gap of {with_interval(made.gap)}" if len(made.rates) > 1 else ""
    money = money_of(applicants, aims)
    figures = f"earns {money.told(made.reward)} and accepts {made.acceptance.value:.1%} ({rates}){gap}."
    if made.status == INFEASIBLE:
        long_run = "" if made.feedback == 0.0 else f" in the long run, with feedback of strength {made.feedback:g}"
        parts = [
            f"No threshold meets every constraint{long_run}. The nearest is {made.rule}, where "
            f"{_broken(aims, made.misses)}. It {figures}",
            _labels(made, money),
            f"In {made.possible:.1%} of {RESAMPLES} resampled tables some threshold meets them all.",
            f"To go on, {_loosened(aims.problem, every)}find a better score, or choose among these"
            + (", worked out for the people as they are." if long_run else "."),
            *(option.text for option in made.options),
            _live(made),
        ]
        return " ".join(filter(None, parts))
    if made.rule == NOBODY:
        return " ".join(filter(None, _nobody(made, applicants, aims, choice, steady, money)))
    whom = "On the people of the table it"
    whom = whom if made.feedback == 0.0 else f"With feedback of strength {made.feedback:g}, in the long run, it"
    parts = [f"Accept people with {made.rule}.", _promise(made, applicants, aims, choice), f"{whom} {figures}"]
    if made.reward.value < 0.0:
        parts.append("That is less than accepting nobody would, which breaks a constraint.")
    parts += [_labels(made, money), _cost(made, money)]
    parts.append(
        f"In {made.same:.1%} of {RESAMPLES} resampled tables a threshold is chosen that differs for at most {STEP:.1%} "
        "of all people."
    )
    parts += [_what_would_change_it(made, applicants, steady, money), _live(made)]
    return " ".join(filter(None, parts))


def _nobody(
    made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice, steady: list[Steady], money: Money
) -> list[str]:
    """Say why nobody should be accepted, and what would be worth more."""
    others = is_feasible(choice.steady.sweep.residuals) & (np.arange(len(applicants.cuts)) != made.cut)
    where = "" if made.feedback == 0.0 else f" in the long run, with feedback of strength {made.feedback:g},"
    if not made.residuals:
        why = "no threshold that accepts anybody is worth more than accepting nobody"
    elif not others.any():
        why = "no threshold that accepts anybody keeps every constraint, accepting nobody does"
    elif made.bolder is None:
        why = "no threshold that accepts anybody and keeps every constraint is worth more than accepting nobody"
    else:
        shown = f"could be shown to keep every constraint with the {made.sure:.4g} asked for"
        why = f"no threshold that accepts anybody and {shown} is worth more than accepting nobody"
    parts = [f"Accept nobody:{where} {why}.", _cost(made, money) if made.bolder else ""]
    if made.options:
        parts += ["Worth more, for the people as they are, would be:", *(option.text for option in made.options)]
    return [*parts, _what_would_change_it(made, applicants, steady, money), _live(made)]


def _live(made: Recommendation) -> str:
    """Say which learner goes on from here, as people respond."""
    if made.learner is None or not made.residuals:
        return ""
    what = "lotteries" if made.learner.endswith("-lottery") else "thresholds"
    return f"To go on live as people respond, give a gate the learner {made.learner}: it searches {what} that are safe."


def _promise(made: Recommendation, applicants: Applicants, aims: Aims, choice: Choice) -> str:
    """Say with what probability every constraint is kept, and what stands in the way of more."""
    if not made.residuals:
        return "No constraint was asked for."
    where = "" if made.feedback == 0.0 else f" in the long run, if feedback has strength {made.feedback:g}"
    if made.status == SURE:
        so = (
            ""
            if made.exact
            else " (approximately: weights, missing labels, feedback, outcomes or your own constraint play a part)"
        )
        return (
            f"With probability at least {made.sure:.4g} this keeps every constraint{where}, not only for these people "
            f"but for all whom they were drawn from{so}."
        )
    if rests_on_unknown(applicants, aims.problem):
        missing = applicants.stands_for(float(applicants.counts[..., 2].sum()))
        return (
            f"Whether it keeps every constraint cannot be told: a constraint looks at labels, {missing:,.0f} of which "
            f"are missing, and too little is known of them, nothing at all of {float(applicants.unknown[0]):.1%} of "
            "all people. Going by the labels there are, it does."
        )
    residuals = choice.steady.sweep.residuals[:, made.cut]
    distance = residuals / np.maximum(choice.margins[:, made.cut], 1e-9)
    constraint, place = _residuals(aims.problem)[int(distance.argmax())]
    smallest = int(applicants.sizes.argmin())
    name = applicants.called(applicants.groups[smallest])
    few = f", above all of {name} ({applicants.sizes[smallest]:.0f})" if constraint.compares_groups else ""
    these = "on these people" if made.feedback == 0.0 else "in the long run, going by the table"
    return (
        f"It keeps every constraint {these}. A test that it does so for all whom they were drawn from "
        f"{test_result(made.test_level)}; no threshold that accepts anybody passes at the {written(1.0 - made.sure)} "
        f"asked for. The level is the share of tables, at most, in which a rule that breaks a constraint "
        "passes; it is not the probability that this rule breaks one. "
        f"{constraint.words[place].about} has the smallest margin; more people would help{few}."
    )


def _cost(made: Recommendation, money: Money) -> str:
    """Say what being sure costs, and name the bolder threshold."""
    if not made.residuals:
        return ""
    if made.bolder is None:
        return "That caution costs nothing here: no feasible threshold earns more."
    share = "" if made.cost_of_surety is None else f", {made.cost_of_surety:.1%} of the best reward"
    return f"That caution costs {money.per_person(made.price)} per person{share}. Bolder: {made.bolder.text}"


def _labels(made: Recommendation, money: Money) -> str:
    """Say what missing labels hide."""
    if made.reward_bounds is None:
        return ""
    low, high = made.reward_bounds
    ended = f", and bad where labels have ended ({made.dark:.1%} of all people)" if made.dark > 0.0 else ""
    text = (
        f"Of those accepted, {made.unlabelled:.1%} have no label; the reward supposes that they are like people of "
        f"similar score and the same group who have one{ended}. Whatever their labels are, it lies between "
        f"{money.per_person(low)} (all bad) and {money.per_person(high)} (all good) per person."
    )
    if made.status == INFEASIBLE:
        return text
    if made.flips_at is None:
        return f"{text} Even if all of them were bad, no other threshold that may be chosen would be better."
    odds = f"{made.flips_at:.3g}"
    many = {"1": "as high as", "2": "twice"}.get(odds, f"{odds} times")
    return (
        f"{text} The advice flips if their odds of a bad label are {many} those of people with a label, at the same "
        "score and group."
    )


def _residuals(problem: Problem) -> list[tuple[Constraint, int]]:
    """Return the constraint of each residual, and which of its residuals it is."""
    return [(constraint, place) for constraint in problem.constraints for place in range(len(constraint.names))]


def _broken(aims: Aims, misses: Mapping[str, float]) -> str:
    """Say by how much each broken residual is."""
    found = zip(aims.problem.names, _residuals(aims.problem), strict=True)
    texts = {name: constraint.words[place].broken for name, (constraint, place) in found}
    return " and ".join(texts[name].replace("{}", f"{value:.4f}") for name, value in misses.items())


def _loosened(problem: Problem, steady: Steady) -> str:
    """Say how far each constraint alone would have to be loosened for some threshold to meet all."""
    ways, residuals = [], steady.sweep.residuals
    for number, (constraint, place) in enumerate(_residuals(problem)):
        others = is_feasible(np.delete(residuals, number, axis=0))
        if others.any():
            best = int(np.where(others, residuals[number], np.inf).argmin())
            relaxed = constraint.relaxed(place, Counts(steady.counts.cells[best]))
            about = constraint.words[place].about
            way = f"loosen {about[0].lower()}{about[1:]} by {residuals[number, best]:.4f}"
            ways.append(way if relaxed is None else f"allow {relaxed.allows(place)}")
    return ", or ".join(ways) + " (then a threshold meets them all), " if ways else "loosen more than one constraint, "


def with_interval(figure: Estimate, digits: int = 4) -> str:
    """Write a figure and the ends of its interval."""
    value, low, high = (f"{each:.{digits}f}" for each in (figure.value, figure.low, figure.high))
    return f"{value} ({low} to {high})"


def _what_would_change_it(made: Recommendation, applicants: Applicants, steady: list[Steady], money: Money) -> str:
    """Say how feedback moves the answer."""
    others = [each for each in steady if each.response.strength != made.feedback]
    if made.feedback != 0.0:
        return _at_other_strengths(made, others)
    parts = []
    if made.residuals and made.stands_until is not None:
        always = made.stands_until >= 0.99
        reach = "however strongly" if always else f"up to a feedback strength of {made.stands_until:.2f}"
        parts.append(f"If more acceptance draws better applicants, it stays feasible {reach}.")
    if not others:
        return " ".join(parts)
    strongest = max(others, key=lambda each: abs(each.response.strength))
    strength, best, here = strongest.response.strength, strongest.best, strongest.sweep.point(made.cut)
    under, earned, kept = f"With feedback of strength {strength:g}", *map(money.per_person, (best.reward, here.reward))
    if not best.feasible:
        parts.append(f"{under} no threshold would meet every constraint in the long run.")
    elif not here.feasible or earned != kept:
        instead = f"instead of {kept}" if here.feasible else "while this one would break a constraint"
        parts.append(
            f"{under} the best threshold in the long run would be {applicants.words(strongest.cut)}, earning "
            f"{earned} per person {instead}."
        )
    return " ".join(parts)


def _at_other_strengths(made: Recommendation, others: list[Steady]) -> str:
    """Say at which other strengths that were looked at, such as the ends of an interval, it stays feasible."""
    fine: dict[bool, list[str]] = {True: [], False: []}
    for each in others:
        fine[each.sweep.point(made.cut).feasible].append(f"{each.response.strength:.2g}")
    said = {True: "it is feasible in the long run", False: "it would break a constraint in the long run"}
    parts = [f"with a strength of {' or '.join(fine[met])} {said[met]}" for met in (True, False) if fine[met]]
    return f"If feedback is another, {'; '.join(parts)}." if made.residuals and parts else ""
