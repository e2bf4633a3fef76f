"""The advice on a terminal of 80 columns: the recommendation first, then the evidence."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fairgate.advice.advise import Advice
from fairgate.advice.aims import strength_name
from fairgate.advice.by_group import Rate, Rule
from fairgate.advice.change import Change
from fairgate.advice.loop import Outcome
from fairgate.advice.money import Money, money_of
from fairgate.advice.recommendation import with_interval
from fairgate.advice.report.output import advised_requirements
from fairgate.advice.report.words import STEADY, backtest_told, badge, long_run, percent, steady_row, told_change
from fairgate.advice.requirements import verdict
from fairgate.estimates import Estimate

COLOURS = {"holds": "black on green", "direction": "black on yellow", "fails": "white on red", "plain": "reverse"}
"""Colours of the badge of a status."""


def show(advice: Advice, console: Console) -> None:
    """Print the recommendation, findings, figures by group, who changes, thresholds, the long run, and the loops."""
    say = partial(console.print, highlight=False)
    say(_badge(advice))
    say("[bold]Recommendation[/bold]")
    say(escape(advice.recommendation.text))
    money, groups = money_of(advice.applicants, advice.aims), advice.groups.rules[0].groups
    if advice.change is not None:
        say(escape(told_change(money, asdict(advice.change), advice.recommendation.feedback)))
    say()
    sizes = ", ".join(f"{each.called}: {each.people:,.0f}" for each in groups)
    missing = sum(each.missing for each in groups)
    say(escape(f"{money.total:,.0f} people ({sizes}), {missing:,.0f} labels missing."))
    say(escape(money.terms))
    for constraint in advice.aims.problem.constraints:
        say(escape(f"Required: {constraint.requirement}"))
    found = verdict(advised_requirements(advice))
    if found:
        basis = long_run(advice.recommendation.feedback)
        say(escape(f"{advice.recommendation.rule}{f', {basis}' if basis else ''}: {_small(found)}"))
        if advice.change is not None:
            say(escape(f"Today ({advice.change.current}): {_small(verdict(advice.change.requirements))}"))
    for finding in advice.findings:
        say(escape(f"{finding.level.capitalize()}: {finding.text}"))
    weights = advice.applicants.weights
    for rule in advice.groups.rules:
        console.print(_groups(rule, long_run(advice.recommendation.feedback), "about " if weights else ""))
    if weights:
        one = advice.applicants.stands_for(1.0)
        say(escape(f"Precision is of so many labels' worth, each of which stands for about {one:,.4g} people."))
    for note in dict.fromkeys(rule.note for rule in advice.groups.rules if rule.note):
        say(escape(note))
    if advice.change is not None:
        console.print(_change(advice.change, money))
    console.print(_today(advice, money))
    console.print(_steady(advice, money))
    say(escape(advice.reference.text))
    if advice.feedback is not None:
        say(escape(advice.feedback.text))
    if advice.backtest:
        required = bool(advice.aims.problem.constraints)
        say(escape(f"Backtest: {backtest_told([asdict(each) for each in advice.backtest], required=required)}"))
    if advice.loops:
        moving = sorted(strength for strength in advice.loops if strength != 0.0) or list(advice.loops)
        console.print(_loop(advice, moving[len(moving) // 2], money))
        say(
            "Exact figures of the population over the last rounds; violation is summed over all. "
            f"{_levels(advice)}{_dark(advice)}"
        )


def _badge(advice: Advice) -> Text:
    """The status in colour, whom to accept, and what that gives."""
    made, money = advice.recommendation, money_of(advice.applicants, advice.aims)
    required = bool(advice.aims.problem.constraints)
    style, word, words = badge(made.status, required=required)
    text = Text(f" {word.upper()} ", style=COLOURS[style])
    text.append(f" {made.rule}", style="bold")
    text.append("" if required else f" · {words}", style="not bold")
    reward = made.reward.value
    rates = ", ".join(f"{advice.applicants.called(name)}: {rate:.0%}" for name, rate in made.rates.items())
    basis = long_run(made.feedback)
    text.append(f" · {money.in_all(reward)} in all, {money.per_person(reward)} per person · {rates}", style="not bold")
    text.append(f" ({basis})" if basis else "", style="not bold")
    warnings = sum(finding.level == "warning" for finding in advice.findings)
    if warnings:
        text.append(f" · {warnings} warning{'s' if warnings > 1 else ''}", style="not bold")
    return text


def _groups(rule: Rule, basis: str, about: str) -> Table:
    whom = ", for the people as they are" if basis else ""
    title = f"By group, {rule.title}{whom} (ratio to the largest group, {rule.reference})"
    table = _table(title, "group", "people", "accepted", "ratio", "TPR", "FPR", "precision")
    table.columns[0].justify = "left"
    for each in rule.groups:
        low, high = each.acceptance.low, each.acceptance.high
        table.add_row(
            escape(each.called),
            f"{each.people:,.0f}",
            f"{percent(each.acceptance.value)} ({percent(low)[:-1]}–{percent(high)[:-1]})",
            "–" if each.ratio.value is None else f"{each.ratio.value:.2f}",
            *(percent(None if rate is None else rate.value) for rate in (each.tpr, each.fpr)),
            _precision(each.precision, about),
        )
    return table


def _precision(rate: Rate | None, about: str) -> str:
    return "–" if rate is None or rate.value is None else f"{percent(rate.value)} of {about}{rate.of:,.0f}"


def _change(change: Change, money: Money) -> Table:
    title = f"Accepted today ({change.current}) and as advised: who changes, and what that is worth"
    title += " (today's is estimated: labels are not known by decision)" if change.estimated else ""
    unit = money.currency or ("money" if money.given else "reward")
    headings = ("group", "today", "advised", "newly in", "newly out", f"{unit} today", f"{unit} advised")
    table = _table(title, *headings)
    table.columns[0].justify = "left"
    for part in (*change.groups, change.everybody):
        table.add_row(
            escape(part.called),
            percent(part.rate_now),
            percent(part.rate_then),
            f"{part.newly_accepted:,.0f}",
            f"{part.newly_rejected:,.0f}",
            money.bare(money.amount(part.money_now)),
            money.bare(money.amount(part.money_then)),
        )
    return table


def _today(advice: Advice, money: Money) -> Table:
    """Nine thresholds at about even shares of people and the recommended one, each with 95% intervals."""
    today, advised = advice.today, advice.recommendation.threshold
    even = [int(np.abs(today.acceptance.value - share).argmin()) for share in np.linspace(0.9, 0.1, 9)]
    place = int(np.flatnonzero(today.thresholds == advised)[0])
    size = f"with 95% intervals; all {len(today.thresholds)} thresholds are in thresholds.csv"
    table = _table(f"Today ({size})", "threshold", "accepted", "gap", "per person", "met")
    for k in sorted({*even, place}):
        table.add_row(
            advice.applicants.words(k),
            f"{today.acceptance.value[k]:.1%}",
            with_interval(today.gap.at(k), 3),
            _reward(today.reward.at(k), money) if today.known[k] else "not known",
            "yes" if today.feasible[k] else "no",
            style="bold" if k == place else "",
        )
    return table


def _steady(advice: Advice, money: Money) -> Table:
    made = advice.recommendation
    title, rest = "Best threshold in the long run", [name.format(made.rule).lower() for name in STEADY]
    table = _table(title, rest[0], "threshold", *rest[2:])
    table.columns[0].justify = "left"
    for each in advice.steady:
        best, here = asdict(each.best), asdict(each.sweep.point(made.cut))
        table.add_row(*steady_row(each.response.strength, advice.candidates.words(each.cut), best, here, money))
    return table


def _loop(advice: Advice, strength: float, money: Money) -> Table:
    size = f"{advice.aims.seeds} loops × {advice.aims.rounds} rounds"
    title = f"In the loop, feedback {strength_name(strength)} ({strength:g}): {size}"
    table = _table(title, "who chooses", "threshold", "per person", "gap", "accepted", "violation", "met")
    table.columns[0].justify, table.columns[0].no_wrap = "left", True
    for outcome in advice.loops[strength]:
        figures = outcome.summary
        table.add_row(
            outcome.title,
            outcome.written,
            _earned(advice, outcome, money),
            _short(figures["population_gap"].mean, 4),
            f"{figures['acceptance'].mean:.1%}",
            _short(figures["population_violation"].mean, 1),
            f"{figures['feasible'].mean:.0%}",
        )
    return table


def _earned(advice: Advice, outcome: Outcome, money: Money) -> str:
    """What a way of choosing earns per person; a range where labels leave that open."""
    if outcome.bounds is not None:
        return f"{'about ' if outcome.level else ''}{money.between(*outcome.bounds)}"
    if advice.applicants.unknown[0] > 0.0:
        return "not known"
    return money.per_person(outcome.summary["population_reward"].mean)


def _small(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _reward(figure: Estimate, money: Money) -> str:
    return f"{money.bare(money.per_person(figure.value))} {money.interval(figure)}"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")  # a number that is cut is a wrong number
    return table


def _levels(advice: Advice) -> str:
    """Say what each learner sees."""
    found = next(iter(advice.loops.values()))
    level = {each.level: each.title for each in found}
    blind = f"{level['bandit']} sees only what comes of its own threshold; " if "bandit" in level else ""
    return f"{blind}{level['selective-labels']} sees scores and the labels of the accepted."


def _dark(advice: Advice) -> str:
    if advice.applicants.unknown[0] <= 0.0:
        return ""
    return (
        " Where nothing is known of labels they are supposed to be like the nearest known ones, a guess: rewards are "
        "ranges, those of the threshold in the long run if all missing labels were bad, or good."
    )


def _short(value: float, digits: int) -> str:
    """Write a figure with so many decimals, or a large one with four digits in all."""
    return f"{value:.{digits}f}" if abs(value) < 100.0 else f"{value:.4g}"
