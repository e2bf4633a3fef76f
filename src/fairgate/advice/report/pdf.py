"""PDF: ``report.pdf``, a few pages for a committee to sign, typeset from ``report.json`` alone."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from fairgate.advice.money import Money
from fairgate.advice.report.charts import across, draw
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
from fairgate.errors import InputError
from fairgate.store import write_bytes

FEW, MANY = 4, 8
"""Up to so many groups their acceptance is told with each option, and their figures under today's rule, too."""


def need_typst() -> None:
    """Say so if the PDF cannot be made, before anything is worked out."""
    if find_spec("typst") is None:
        raise InputError("--pdf is typeset by typst, which is not installed: pip install 'fairgate[paper]'")


def write_pdf(document: Mapping[str, Any], path: Path) -> None:
    """Typeset the report; the same document gives the same pages."""
    need_typst()
    import typst

    with tempfile.TemporaryDirectory(prefix="report-") as folder:
        root = Path(folder)
        (root / "words.json").write_text(json.dumps(words(document), ensure_ascii=False), encoding="utf-8")
        (root / "charts.pdf").write_bytes(draw(document))
        template = resources.files("fairgate.advice.report").joinpath("report.typ").read_bytes()
        made = typst.Compiler(template, root=root, ignore_system_fonts=True).compile(format="pdf")
    write_bytes(path, cast(bytes, made))


def words(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the pages say, written out."""
    money, table, change = money_in(document), document["table"], document.get("change")
    advised, feedback = document["recommendation"], document.get("feedback")
    head = headline(document)
    gap, acceptance, rules = head["gap"], head["acceptance"], document["by_group"]["rules"]
    facts = [
        ("In all" + (f" ({money.currency})" if money.currency else ""), money.bare(head["total"]), head["total_range"]),
        ("Per person", head["person"], head["person_range"]),
        ("Accepted", percent(acceptance["value"]), _range(acceptance)),
    ]
    if gap:
        facts.append(("Gap", f"{gap['value']:.4f}", f"{gap['low']:.4f} to {gap['high']:.4f}"))
    if head["test"]:
        asked = f"{head['level_asked']} asked for" if head["level_asked"] else ""
        facts.append(("Test of requirements", head["test"], asked))
    if head["bounds"]:
        facts.append(("If all missing labels were bad, or good", head["bounds"], ""))
    return {
        "score": table["columns"]["score"],
        "source": table["source"],
        "people": head["people"],
        "terms": money.terms,
        "good": money.good,
        "bad": money.bad,
        "required": [each["requirement"] for each in document["constraints"]],
        "head": {name: head[name] for name in ("style", "word", "status", "verb", "rule", "basis", "requirements")},
        "facts": facts,
        "rates": [(name, percent(share)) for name, share in head["rates"]],
        "text": advised["text"],
        "changed": told_change(money, change, advised["feedback"]) if change else "",
        "change": [change_row(money, part) for part in (*change["groups"], change["everybody"])] if change else [],
        "cards": [card_words(each) for each in cards(document)],
        "rules": [
            rule_words(rule, weighted=bool(table.get("weights")))
            for rule in (rules[:1] if len(head["rates"]) > MANY else rules)
        ],
        "reference": reference(document),
        "findings": [(finding["level"].capitalize(), finding["text"]) for finding in document["findings"]],
        "feedback": " ".join(each["text"] for each in (feedback, document.get("reference")) if each),
        "backtest": backtest_table(document),
        "tested": backtest_told(document.get("backtest") or [], required=bool(document["constraints"])),
        "notes": list(dict.fromkeys(rule["note"] for rule in rules if rule["note"])),
        "across": "Curves are over the share of everybody accepted, as scores are very skewed." * across(document)[1],
        "steady": steady_table(document),
        "several": len(table["groups"]) > 1,
        "missing": missing_labels(document),
        "descending": table["descending"],
        "fairgate": document["fairgate"],
    }


def card_words(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return an option with its figures as lines."""
    in_all = "In all, estimated" if card["estimated"] else "In all"
    lines = [(in_all, card["total"]), ("Per person", card["person"])] if card["total"] else []
    if card["test"]:
        lines.append(("Test", card["test"]))
    if len(card["rates"]) <= FEW:
        lines += [(name, percent(share)) for name, share in card["rates"]]
    if card["gap"] is not None:
        lines.append(("Gap", f"{card['gap']:.4f}"))
    return {name: card[name] for name in ("title", "rule", "text", "basis")} | {"lines": lines}


def change_row(money: Money, part: Mapping[str, Any]) -> list[str]:
    """Return a row of the table of who changes."""
    people = [f"{part[name]:,.0f}" for name in ("newly_accepted", "newly_rejected")]
    amounts = [money.amount(part[name]) for name in ("money_now", "money_then")]
    return [part["called"], percent(part["rate_now"]), percent(part["rate_then"]), *people, *amounts]


def rule_words(rule: Mapping[str, Any], *, weighted: bool = False) -> dict[str, Any]:
    """Return the figures by group under one rule as rows of value and interval."""
    return {"title": rule["title"], "rows": [group_row(group, weighted=weighted) for group in rule["groups"]]}


def group_row(group: Mapping[str, Any], *, weighted: bool = False) -> list[list[str]]:
    """Return the row of a group: each cell has a value and its interval."""
    ratio = group["ratio"]
    value = "–" if ratio["value"] is None else f"{ratio['value']:.2f}"
    ends = "" if ratio["low"] is None or ratio["high"] is None else f"{ratio['low']:.2f} to {ratio['high']:.2f}"
    rates = [group[name] for name in ("tpr", "fpr", "precision")]
    precision = _range(rates[2])
    precision += f", {labels_worth(rates[2]['of'], weighted=weighted)}" if precision else ""
    return [
        [group["called"], ""],
        [f"{group['people']:,.0f}", ""],
        [percent(group["acceptance"]["value"]), _range(group["acceptance"])],
        [value, "" if ratio["low"] == ratio["high"] else ends],
        *([percent(rate and rate["value"]), _range(rate)] for rate in rates[:2]),
        [percent(rates[2] and rates[2]["value"]), precision],
    ]


def _range(rate: Mapping[str, Any] | None) -> str:
    if not rate or rate["low"] is None:
        return ""
    return f"{percent(rate['low'])} to {percent(rate['high'])}"
