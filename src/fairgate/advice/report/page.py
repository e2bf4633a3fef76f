"""The page: ``report.html``, made of ``report.json`` alone; a slider moves the threshold, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairgate.advice.report.axis import place_of, rising, skewed
from fairgate.advice.report.words import (
    backtest_table,
    backtest_told,
    cards,
    headline,
    labels_worth,
    missing_labels,
    money_in,
    percent,
    reference,
    steady_table,
    told_change,
)
from fairgate.pages import flat, templates

ASKED = {
    "cost": "cost of accepting somebody with a bad label",
    "benefit": "benefit of accepting somebody with a good label",
    "currency": "counted in",
    "sure": "probability with which the advice must hold",
    "loops": "whether learners run in the loop",
    "constraints": "constraints",
    "feedback": "strengths of feedback; the advice is for the first",
    "current": "threshold in use when the table was made",
    "seeds": "simulated loops",
    "rounds": "rounds of a loop",
    "seed": "seed of the random numbers",
    "level": "level of the intervals",
    "resamples": "resampled tables",
    "same_step": "share of people by which thresholds count as the same",
    "fairgate": "version of fairgate",
}
"""What the settings are called on the page."""


def render(document: Mapping[str, Any]) -> str:
    """Write the page; the same document gives the same bytes."""
    page = templates("fairgate.advice.report")
    money = money_in(document)
    page.filters.update(
        percent=percent,
        figure=lambda value, digits=4: "–" if value is None else f"{value:.{digits}f}".replace("-", "−"),
        labels=lambda of: labels_worth(of, weighted=bool(document["table"].get("weights"))),
        whole=lambda value: f"{value:,.0f}",
        between=lambda ends: money.between(*ends),
        person=lambda reward: "–" if reward is None else money.per_person(reward),
        total=lambda reward: "–" if reward is None else money.in_all(reward),
        amount=money.amount,
    )
    unused = () if document["loop"] else ("seeds", "rounds")
    aims = {name: value for name, value in document["aims"].items() if name not in unused}
    asked = {**aims, **document["method"], "fairgate": document["fairgate"]}
    change = document.get("change")
    return page.get_template("report.html.j2").render(
        report=document,
        table=document["table"],
        advised=document["recommendation"],
        money=money,
        head=headline(document),
        cards=cards(document),
        reference=reference(document),
        change=change,
        changed=told_change(money, change, document["recommendation"]["feedback"]) if change else "",
        feedback=document.get("feedback"),
        steady=steady_table(document),
        missing=missing_labels(document),
        backtest=backtest_table(document),
        tested=backtest_told(document.get("backtest") or [], required=bool(document["constraints"])),
        shown=shown(document),
        required={figure: write_limit(figure, *ends) for figure, ends in limits(document).items()},
        lines=flat({ASKED.get(name, name): value for name, value in asked.items() if value not in (None, [], "")}),
    )


def shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the script of the page draws: the columns of every view, and where to begin."""
    table = document["table"]
    today = rising(document["today"])
    advised = document["recommendation"]
    views: list[dict[str, Any]] = [{"title": "as they are", "columns": today, "best": None, "strength": 0.0}]
    for each in document["steady"]:
        best = today["threshold"].index(each["best"]["threshold"])
        if each["strength"] == 0.0:
            views[0]["best"] = best
        else:
            title = f"after {each['name']} feedback ({each['strength']:g})"
            columns = rising(each["curve"])
            views.append({"title": title, "columns": columns, "best": best, "strength": each["strength"]})
    money, found = document["money"], document["by_group"]
    current = document["aims"].get("current")
    return {
        "score": table["columns"]["score"],
        "money": {
            "benefit": money["benefit"],
            "currency": money["currency"],
            "people": money["people"],
            "given": money_in(document).given,
        },
        "called": [group["called"] for group in found["rules"][0]["groups"]],
        "current": None if current is None else {"score": current, "place": place_of(today, current, table)},
        "bars": {name: found[name] for name in ("edges", "bars", "beyond")},
        "bands": found["bands"],
        "observed": found["observed"],
        "frontier": document["frontier"],
        "sign": "≤" if table["descending"] else "≥",
        "groups": [group["name"] for group in table["groups"]],
        "limits": limits(document),
        "missing": table["labels"]["missing"] > 0,
        "residuals": [
            {**residual, "drawn": bool(each["limits"])}
            for each in document["constraints"]
            for residual in each["residuals"]
        ],
        "thresholds": today["written"],
        "advised": today["threshold"].index(advised["threshold"]),
        "nearest": advised["status"] == "infeasible",
        "axis": "share" if skewed(today) else "score",
        "views": views,
        "view": next((place for place, each in enumerate(views) if each["strength"] == advised["feedback"]), 0),
    }


def limits(document: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """Return the range that each figure must lie in, all constraints together; None where it has no end."""
    found: dict[str, list[float | None]] = {}
    for limit in (limit for each in document["constraints"] for limit in each["limits"]):
        low, high = found.get(limit["figure"], [None, None])
        lows = [end for end in (low, limit["low"]) if end is not None]
        highs = [end for end in (high, limit["high"]) if end is not None]
        found[limit["figure"]] = [max(lows, default=None), min(highs, default=None)]
    return found


def write_limit(figure: str, low: float | None, high: float | None) -> str:
    """Write the range a figure must lie in; all but the gap are percentages.

    >>> write_limit("acceptance", 0.3, 0.8), write_limit("gap", None, 0.05)
    ('30% to 80%', 'at most 0.05')
    """
    low_text, high_text = (
        None if end is None else f"{end:g}" if figure == "gap" else f"{100 * end:g}%" for end in (low, high)
    )
    if low_text is None:
        return f"at most {high_text}"
    return f"at least {low_text}" if high_text is None else f"{low_text} to {high_text}"
