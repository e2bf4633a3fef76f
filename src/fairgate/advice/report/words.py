"""Words: what the page and the PDF say of ``report.json``, read by name; what is not in it is left out."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from fairgate.advice.aims import strength_name
from fairgate.advice.backtest import CHANCE
from fairgate.advice.money import Money
from fairgate.advice.recommendation import test_result, written
from fairgate.advice.requirements import Requirement, verdict

STATUS = {
    "safe": ("holds", "meets every requirement, with a margin"),
    "sure": ("holds", "meets every requirement"),
    "uncertain": ("direction", "feasible, margin too small to be confident"),
    "likely": ("direction", "meets every requirement on these people, but not with the probability asked for"),
    "infeasible": ("fails", "no threshold is feasible"),
}
"""Style and words of the badge of each status."""

TITLES = {
    "recommended": "Recommended",
    "nearest": "Nearest to what is required",
    "bolder": "Bolder",
    "current": "Today",
    "lottery": "Lottery",
    "per-group": "Thresholds per group",
    "unlabelled": "Where labels do not tell",
}
"""What the options are called."""

Document = Mapping[str, Any]


def badge(status: str, *, required: bool) -> tuple[str, str, str]:
    """Return the style of a badge, its word, and what that means; a status not known here speaks for itself.

    >>> badge("sure", required=True), badge("sure", required=False)
    (('holds', 'sure', 'meets every requirement'), ('plain', 'best', 'no constraint was asked for'))
    """
    if not required:
        return "plain", "best", "no constraint was asked for"
    style, words = STATUS.get(status, ("direction", status))
    return style, status, words


def money_in(document: Document) -> Money:
    """Return how to write the rewards of a report."""
    given = document["money"]
    people = {"total": given["people"]}
    return Money(**people, **{name: given[name] for name in ("cost", "benefit", "currency", "good", "bad")})


def labels_worth(labels: float, *, weighted: bool) -> str:
    """Say how many labels a rate is of; with weights that is what they tell, and not how many there are.

    >>> labels_worth(1234.2, weighted=False), labels_worth(51.3, weighted=True)
    ('of 1,234 labels', "of about 51 labels' worth")
    """
    return f"of about {labels:,.0f} labels' worth" if weighted else f"of {labels:,.0f} labels"


def missing_labels(document: Document) -> str:
    """Say how many labels of how many people are missing, all that the rows stand for; nothing if none is."""
    missing = sum(row["missing"] for row in by_key(document, "recommended"))
    return f"{missing:,.0f} of {document['money']['people']:,.0f}" if document["table"]["labels"]["missing"] else ""


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share.

    >>> percent(0.1234), percent(None)
    ('12.3%', '–')
    """
    return "–" if share is None else f"{share:.{digits}%}"


def chance(probability: float | None) -> str:
    """Write a probability that is promised, or asked for.

    >>> [chance(each) for each in (0.9, 0.999, None)]
    ['90%', '99.9%', '']
    """
    return "" if probability is None else written(probability)


def test_of(made: Document) -> str:
    """Write what came of the test of all requirements; nothing of a rule without a test, or that breaks one here.

    >>> test_of({"test_level": 0.27}), test_of({"test_level": None})
    ('passes at level 27%', 'fails even at level 50%')
    >>> test_of({"test_level": None, "misses": {"gap": 0.1}})
    ''
    """
    return "" if "test_level" not in made or made.get("misses") else test_result(made["test_level"])


def long_run(strength: float) -> str:
    """Say which people figures are of, if they are not those of the table.

    >>> long_run(0.0), long_run(0.5)
    ('', 'in the long run, with feedback of strength 0.5')
    """
    return f"in the long run, with feedback of strength {strength:.4g}" if strength else ""


def kept(found: list[Document] | None) -> str:
    """Say which requirements a rule keeps and which it breaks."""
    return verdict([Requirement(**each) for each in found or []])


def headline(document: Document) -> dict[str, Any]:
    """Return what the first card says."""
    advised, money = document["recommendation"], money_in(document)
    style, word, words = badge(advised["status"], required=bool(document["constraints"]))
    asked = chance(advised.get("sure"))
    if advised["status"] == "sure" and asked and document["constraints"]:
        words += f" with probability at least {asked}" + ("" if advised.get("exact", True) else ", approximately")
    reward, some = advised["reward"], advised["rule"] != "nobody"
    rows = by_key(document, "recommended")
    return {
        "style": style,
        "word": word,
        "status": words,
        "test": test_of(advised) if document["constraints"] else "",
        "level_asked": chance(1.0 - advised["sure"]) if advised.get("sure") else "",
        "surety": money.per_person(advised["price"]) if advised.get("price") else "",
        "surety_share": percent(advised["cost_of_surety"]) if advised.get("cost_of_surety") else "",
        "verb": "Nearest" if advised["status"] == "infeasible" else "Accept people with" if some else "Accept",
        "rule": advised["rule"],
        "person": money.per_person(reward["value"]),
        "person_range": _between(money, reward),
        "total": money.in_all(reward["value"]),
        "total_range": _between(money, reward, in_all=True),
        "bounds": _between(money, bounds(advised), in_all=True),
        "basis": long_run(advised["feedback"]),
        "requirements": [each["text"] for each in advised.get("requirements") or []],
        "gap": advised["gap"] if len(advised["rates"]) > 1 else None,
        "acceptance": advised["acceptance"],
        "rates": [(row["called"], rate) for row, rate in zip(rows, advised["rates"].values(), strict=True)],
        "people": f"{money.total:,.0f}",
        "warnings": sum(finding["level"] == "warning" for finding in document["findings"]),
    }


def bounds(advised: Document) -> Document | None:
    """Return the reward if every missing label were bad, and if every one were good, where the report has them."""
    for name in ("bounds", "reward_bounds"):
        found = advised.get(name)
        if isinstance(found, Mapping):
            return found
        if isinstance(found, list) and len(found) == 2:
            return {"low": found[0], "high": found[1]}
    return None


def _between(money: Money, figure: Document | None, *, in_all: bool = False) -> str:
    low, high = (None, None) if figure is None else (figure.get("low"), figure.get("high"))
    if low is None or high is None:
        return ""
    return money.between(low, high, in_all=in_all)


def by_key(document: Document, key: str) -> list[dict[str, Any]]:
    """Return the rows of the groups under one rule."""
    found: list[dict[str, Any]] = next(rule["groups"] for rule in document["by_group"]["rules"] if rule["key"] == key)
    return found


def reference(document: Document) -> str:
    """Return the group that ratios are to, in words."""
    wanted = document["by_group"]["rules"][0]["reference"]
    return str(next(row["called"] for row in by_key(document, "recommended") if row["name"] == wanted))


def cards(document: Document) -> list[dict[str, Any]]:
    """Return the options, the recommended one first: title, rule, reward, test level, acceptance by group, text."""
    advised, money = document["recommendation"], money_in(document)
    names = [row["called"] for row in by_key(document, "recommended")]
    nearest = advised["status"] == "infeasible"
    later, here = ("in the long run", "for the people as they are") if advised["feedback"] else ("", "")
    levels = {} if document["constraints"] else {"test": ""}  # nothing is required that could be tested
    found = [
        card(money, "nearest" if nearest else "recommended", names, advised, rule=advised["rule"], text="")
        | {"style": badge(advised["status"], required=bool(document["constraints"]))[0], "basis": later}
    ]
    bolder = advised.get("bolder")
    if bolder:
        found.append(card(money, "bolder", names, bolder, basis=later))
    change = document.get("change")
    if change:
        everybody = change["everybody"]
        now = {
            "rule": change["current"],
            "reward": everybody["money_now"] / (money.benefit * max(everybody["people"], 1e-300)),
            "rates": {part["name"]: part["rate_now"] for part in change["groups"]},
        }
        estimated = {"estimated": True} if change.get("estimated") else {}
        text = kept(change.get("requirements"))
        found.append(card(money, "current", names, now, basis=here, text=text, shown=True, **estimated))
    found += [card(money, option["kind"], names, option, basis=here) for option in advised.get("options") or []]
    return [each | levels for each in found]


def card(money: Money, kind: str, names: list[str], made: Document, **more: Any) -> dict[str, Any]:
    """Return one option; its figures are those that it has."""
    reward = made.get("reward")
    value = reward.get("value") if isinstance(reward, Mapping) else reward
    rates = list((made.get("rates") or {}).values())
    known = [rate for rate in rates if rate is not None]
    hidden = bounds(made) if value is None else None
    return {
        "kind": kind,
        "title": TITLES.get(kind, kind.capitalize()),
        "style": "",
        "rule": made.get("rule", ""),
        "text": made.get("text", ""),
        "person": _between(money, hidden) if value is None else money.per_person(value),
        "total": _between(money, hidden, in_all=True) if value is None else money.in_all(value),
        "test": test_of(made),
        "rates": list(zip(names, rates, strict=True)) if len(rates) == len(names) else [],
        "gap": max(known) - min(known) if len(known) > 1 else None,
        "basis": "",  # which people the figures are of, if options differ in that
        "shown": False,  # whether the text is shown unfolded
        "estimated": False,
        **more,
    }


def told_change(money: Money, change: Document, strength: float = 0.0) -> str:
    """Say what the change is worth, in one sentence; the advice is for this strength of feedback."""
    everybody = change["everybody"]
    more = everybody["money_then"] - everybody["money_now"]
    among = f" of the {_people(everybody['people'])} whose decision is known" if change["undecided"] >= 0.5 else ""
    joined, left = (_people(everybody[name]) for name in ("newly_accepted", "newly_rejected"))
    start = "For the people as they are, against today" if strength else "Against today"
    now, then = (money.amount(everybody[name]) for name in ("money_now", "money_then"))
    about = "an estimated " if change.get("estimated") else ""
    return (
        f"{start} ({change['current']}), {joined}{among} would be newly accepted and {left} newly rejected; "
        f"the total goes from {about}{now} to {then}, {money.amount(abs(more))} {'more' if more >= 0.0 else 'less'}."
    )


def _people(count: float) -> str:
    whole = round(count)
    return "nobody" if whole == 0 else "1 person" if whole == 1 else f"{whole:,} people"


STEADY = ("Feedback", "Best threshold in the long run", "Per person", "Gap", "Accepted", "Feasible", "{} there")
"""Headings of the table of the long run; {} is for the advised rule."""


def steady_row(strength: float, written: str, best: Document, advised: Document, money: Money) -> list[str]:
    """Return a row of the table of the long run: the best threshold there, and what the advised one comes to.

    The last cell says whether the advised threshold keeps every constraint there, and what it earns per person.

    >>> money = Money(2.0, 1.0, "", 500.0, "repaid = 1", "repaid = 0")
    >>> best = {"reward": 0.1588, "gap": 0.0123, "acceptance": 0.7, "feasible": True}
    >>> steady_row(0.8, "0.407", best, {"reward": 0.1, "feasible": False}, money)
    ['strong (0.8)', '0.407', '0.1588', '0.0123', '70.0%', 'yes', 'broken, 0.1000']
    """
    return [
        f"{strength_name(strength)} ({strength:g})",
        written,
        money.per_person(best["reward"]),
        f"{best['gap']:.4f}",
        percent(best["acceptance"]),
        "yes" if best["feasible"] else "no, the nearest",
        f"{'kept' if advised['feasible'] else 'broken'}, {money.per_person(advised['reward'])}",
    ]


def steady_table(document: Document) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the best threshold in the long run under every strength of feedback."""
    rule, money = document["recommendation"]["rule"], money_in(document)
    rows = [
        steady_row(each["strength"], each["best"]["written"], each["best"], each["recommended"], money)
        for each in document["steady"]
    ]
    return [name.format(rule) for name in STEADY], rows


def backtest_table(document: Document) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of what the advice would have given in each period, beside what was done."""
    rows, money = document.get("backtest") or [], money_in(document)
    if not rows:
        return [], []
    if not isinstance(rows[0].get("advised"), Mapping):  # rows of plain figures
        names = [name.replace("_", " ").capitalize() for name in rows[0]]
        return names, [[_plainly(value) for value in row.values()] for row in rows]
    done = any(row.get("done") for row in rows)
    required = bool(document["constraints"])
    headings = ["Period", "Threshold", "Status", "Accepted", "Gap", "Per person", *(["Required"] if required else [])]
    headings += ["Accepted then", "Gap then", "Per person then"] if done else []
    headings += ["Required then"] if done and required else []
    found = []
    for row in rows:
        cells = [row["period"], row["written"], row["status"], *_decided(row["advised"], money, required)]
        found.append([*cells, *(_decided(row.get("done"), money, required) if done else [])])
    return headings, found


def backtest_told(rows: list[Document], *, required: bool) -> str:
    """Say what a backtest is of, and in how many periods a requirement would have been broken, and was.

    >>> made = {"met": {"parity": False}, "people": 51, "beyond_chance": False}
    >>> told = backtest_told([{"advised": made, "done": None}], required=True)
    >>> told[: told.index(" Each")]  # doctest: +NORMALIZE_WHITESPACE
    'As advised, 1 of 1 period breaks a requirement, 0 by more than chance (5% of periods that keep everything would be,
    at most). A period has 51 people in the median.'
    """
    supposed = (
        "Each period's advice is made from all earlier ones, and supposes no feedback: that people would have come as "
        "they did."
    )
    if not required or not rows:
        return supposed
    whole = f"of {len(rows)} period{'s' if len(rows) != 1 else ''}"
    broken, beyond = (
        [sum(told(row[key]) for row in rows if row.get(key)) for key in ("advised", "done")]
        for told in (_broken, lambda made: bool(made.get("beyond_chance")))
    )
    chance = f", {beyond[0]} by more than chance ({CHANCE:.0%} of periods that keep everything would be, at most)"
    done = f", {beyond[1]} by more than chance" if broken[1] else ""
    done = f"; as decided then, {broken[1]}{done}" if any(row.get("done") for row in rows) else ""
    breaks = f"{'breaks' if broken[0] == 1 else 'break'} a requirement{chance if broken[0] else ''}"
    people = median(row["advised"]["people"] for row in rows)
    size = f"A period has {people:,.0f} people in the median."
    return f"As advised, {broken[0]} {whole} {breaks}{done}. {size} {supposed}"


def _broken(made: Document) -> bool:
    return any(met is False for met in made["met"].values())


def _decided(made: Document | None, money: Money, required: bool) -> list[str]:
    if not made:
        return ["–"] * (4 if required else 3)
    gap = "–" if made["gap"] is None else f"{made['gap']:.4f}"
    reward = money.between(made["reward_low"], made["reward_high"])
    told = "broken" if _broken(made) else "open" if None in made["met"].values() else "kept"
    return [percent(made["accepted"] / max(made["people"], 1)), gap, reward, *([told] if required else [])]


def _plainly(value: Any) -> str:
    return "–" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
