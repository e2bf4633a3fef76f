"""The advice on a terminal of 80 columns; the recommendation comes last."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairgate.advice.advise import Advice
from fairgate.advice.aims import strength_name
from fairgate.advice.recommendation import with_interval


def show(advice: Advice, console: Console) -> None:
    """Print findings, today's figures, the best thresholds in the long run, the loops, and the recommendation."""
    people = advice.applicants
    sizes = ", ".join(
        f"{people.called(name)}: {size}" for name, size in zip(people.groups, people.sizes.tolist(), strict=True)
    )
    console.print(escape(f"{people.people} people ({sizes}), {people.missing} labels missing."), highlight=False)
    for finding in advice.findings:
        console.print(escape(f"{finding.level.capitalize()}: {finding.text}"), highlight=False)
    for constraint in advice.aims.problem.constraints:
        console.print(escape(f"Required: {constraint.requirement}"), highlight=False)
    console.print(_today(advice))
    console.print(_steady(advice))
    console.print(escape(advice.reference.text), highlight=False)
    if advice.feedback is not None:
        console.print(escape(advice.feedback.text), highlight=False)
    moving = sorted(strength for strength in advice.loops if strength != 0.0) or list(advice.loops)
    console.print(_loop(advice, moving[len(moving) // 2]))
    console.print(
        "Exact figures of the population over the last rounds; violation is summed over all. "
        f"{_levels(advice)}{_dark(advice)}",
        highlight=False,
    )
    console.print()
    console.print("[bold]Recommendation[/bold]")
    console.print(escape(advice.recommendation.text), highlight=False)


def _today(advice: Advice) -> Table:
    """Nine thresholds at about even shares of people and the recommended one, each with 95% intervals."""
    today, advised = advice.today, advice.recommendation.threshold
    even = [int(np.abs(today.acceptance.value - share).argmin()) for share in np.linspace(0.9, 0.1, 9)]
    place = int(np.flatnonzero(today.thresholds == advised)[0])
    size = f"with 95% intervals; all {len(today.thresholds)} thresholds are in thresholds.csv"
    table = _table(f"Today ({size})", "threshold", "accepted", "gap", "reward", "met")
    for k in sorted({*even, place}):
        table.add_row(
            advice.applicants.words(k),
            f"{today.acceptance.value[k]:.1%}",
            with_interval(today.gap.at(k), 3),
            with_interval(today.reward.at(k), 3) if today.known[k] else "not known",
            "yes" if today.feasible[k] else "no",
            style="bold" if k == place else "",
        )
    return table


def _steady(advice: Advice) -> Table:
    headings = ("feedback", "threshold", "reward", "gap", "acceptance", "feasible")
    table = _table("Best threshold in the long run", *headings)
    table.columns[0].justify = "left"
    for each in advice.steady:
        best = each.best
        table.add_row(
            f"{strength_name(each.response.strength)} ({each.response.strength:g})",
            advice.candidates.words(each.cut),
            _short(best.reward, 4),
            f"{best.gap:.4f}",
            f"{best.acceptance:.1%}",
            "yes" if best.feasible else "no",
        )
    return table


def _loop(advice: Advice, strength: float) -> Table:
    size = f"{advice.aims.seeds} loops × {advice.aims.rounds} rounds"
    title = f"In the loop, feedback {strength_name(strength)} ({strength:g}): {size}"
    table = _table(title, "who chooses", "threshold", "reward", "gap", "accepted", "violation", "met")
    table.columns[0].justify, table.columns[0].no_wrap = "left", True
    for outcome in advice.loops[strength]:
        figures = outcome.summary
        table.add_row(
            outcome.title,
            outcome.written,
            _short(figures["population_reward"].mean, 4),
            _short(figures["population_gap"].mean, 4),
            f"{figures['acceptance'].mean:.1%}",
            _short(figures["population_violation"].mean, 1),
            f"{figures['feasible'].mean:.0%}",
        )
    return table


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
    if bool(advice.today.known.all()):
        return ""
    return " Where nothing is known of labels they are supposed to be like the nearest known ones: a guess."


def _short(value: float, digits: int) -> str:
    """Write a figure with so many decimals, or a large one with four digits in all."""
    return f"{value:.{digits}f}" if abs(value) < 100.0 else f"{value:.4g}"
