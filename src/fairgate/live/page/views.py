"""Views: figures, events and cases as HTML. Nothing is computed here that the API does not give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment

from fairgate.live.page.assets import addresses
from fairgate.live.page.charts import draw_share
from fairgate.live.page.drawn import (
    COLOURS,
    draw_acceptance,
    draw_outcomes,
    draw_residuals,
    draw_thresholds,
    guarded,
    legend,
    limits_of,
    rows_of,
    stretches,
)
from fairgate.live.page.shown import Shown, write
from fairgate.live.page.words import ADVICE, BADGES, KINDS, LOTTERY, MODES, case_of, chosen, empty_text, told
from fairgate.live.replies import CaseFacts, Figures, LogEvent, RoundFigures
from fairgate.live.spec import Spec
from fairgate.pages import templates

GUARDS_TOLD = 5
"""Stretches of rounds in which guards stepped in that are told."""

ROUNDS_TOLD = 12
"""Rounds in the table of the last rounds."""


@dataclass(frozen=True)
class Visitor:
    """Who looks: the key's name, whether buttons are shown, and what forms must send back."""

    gate: str
    name: str
    admin: bool
    token: str

    @property
    def home(self) -> str:
        """Where the gate's page is."""
        return f"/gates/{self.gate}"


@dataclass(frozen=True)
class Told:
    """What a form is told back: a sentence, whether it is a refusal, and what had been written into it."""

    text: str
    refused: bool
    written: Mapping[str, str]


@cache
def environment() -> Environment:
    """Return the templates of the page."""
    found = templates("fairgate.live.page")
    found.filters.update(write=write, quote=lambda text: quote(text, safe=""), noun=chosen)
    found.globals.update(modes=MODES, badges=BADGES, kinds=KINDS, lottery=LOTTERY, told_of=told, case_of=case_of)
    found.tests["by_group"] = lambda thresholds: len(set(thresholds.values())) > 1
    found.globals.update(assets=addresses(), advice=ADVICE, colours=COLOURS, empty_text=empty_text)
    return found


def render(template: str, **context: Any) -> str:
    """Fill in a template."""
    return environment().get_template(f"{template}.html.j2").render(**context)


def gate_page(
    visitor: Visitor,
    figures: Figures,
    spec: Spec,
    events: Sequence[LogEvent],
    key: str,
    told: Told | None = None,
    *,
    whole: bool = False,
) -> str:
    """Write the page of a gate; `key` makes a form that is sent twice harmless, `whole` keeps the whole history."""
    context = _context(figures, spec)
    return render("gate", visitor=visitor, spec=spec, events=events, key=key, told=told, whole=whole, **context)


def fragment(visitor: Visitor, figures: Figures, spec: Spec, events: Sequence[LogEvent], key: str) -> str:
    """Write the parts of the page that change, for the script that puts them in the place of the old ones."""
    return render("now", visitor=visitor, spec=spec, events=events, key=key, told=None, **_context(figures, spec))


def _context(figures: Figures, spec: Spec) -> dict[str, Any]:
    plain = figures.model_dump(mode="json")
    groups = [each.name for each in figures.scopes[0].groups] if figures.scopes else list(spec.groups)
    limits = limits_of(spec)
    return {
        "figures": plain,
        "shown": Shown(plain),
        "groups": groups,
        "stretches": stretches(figures.scopes),
        "rows": [rows_of(place, scope, limits) for place, scope in enumerate(figures.scopes)],
        "residuals": [draw_residuals(scope) for scope in figures.scopes],
        "thresholds": draw_thresholds(figures.history, groups, spec),
        "acceptance": draw_acceptance(figures.history, groups),
        "outcomes": draw_outcomes(figures.history, groups),
        "every": _step(figures.history),
        "keys_of": legend(figures.history, groups),
        "bars": [draw_share(each.awaited, figures.labels.awaited, each.about) for each in figures.labels.ages],
        "last": list(enumerate(figures.history))[: -ROUNDS_TOLD - 1 : -1],
        "guarded": guarded(figures.history)[: -GUARDS_TOLD - 1 : -1],
        "certainty": write(1 - figures.alpha, "share").replace(".0%", "%"),
        "changes": figures.status.mode.mode in ("learn", "approve"),
    }


def _step(history: Sequence[RoundFigures]) -> int:
    """Return how many rounds lie from one that is shown to the next."""
    return history[1].round - history[0].round if len(history) > 1 else 1


def log_page(visitor: Visitor, events: Sequence[LogEvent], kind: str, older: int | None, newest: bool) -> str:
    """Write a page of the log, newest first."""
    return render("log", visitor=visitor, events=events, kind=kind, older=older, newest=newest)


def event_page(visitor: Visitor, event: LogEvent, cases: Sequence[CaseFacts], more: int | None) -> str:
    """Write the page of an event with the cases it decided."""
    return render("event", visitor=visitor, event=event, cases=cases, more=more)


def case_page(visitor: Visitor, case: CaseFacts | None) -> str:
    """Write the page of a case; without one, the form that finds one."""
    is_lottery = case is not None and case.draw is not None
    return render("case", visitor=visitor, case=case, is_lottery=is_lottery)
