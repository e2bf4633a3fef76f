"""Who changes, and money, are what pandas gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairgate.advice import Aims
from fairgate.advice.change import Part, compare
from fairgate.constraints import DemographicParity, EqualOpportunity, ServiceRate
from fairgate.people.period_counts import PeriodCounts
from tests.advice.committee import counted, loans

MONEY: dict[str, Any] = {"cost": 900.0, "benefit": 120.0, "currency": "EUR"}


def worth(table: Any) -> Any:
    return table["repaid"].map({"yes": 120.0, "no": -900.0})


@pytest.mark.parametrize("descending", [False, True])
def test_against_a_threshold_in_use(descending: bool) -> None:
    table = loans(descending=descending, missing=0.0)
    people = counted(table, descending=descending)
    found = compare(people, Aims(**MONEY, current=0.6), float(people.shown(0.47)))
    assert found is not None
    now, then = (table["score"] <= at if descending else table["score"] >= at for at in (0.6, 0.47))
    assert (found.source, found.threshold, found.unknown) == ("threshold", 0.6, 0.0)
    assert found.current == f"score {'≤' if descending else '≥'} 0.6"
    for part in (*found.groups, found.everybody):
        own = table["sex"] == part.name if part.name else np.full(len(table), True)
        money = worth(table)
        assert part.people == own.sum()
        assert (part.accepted_now, part.accepted_then) == ((own & now).sum(), (own & then).sum())
        assert part.newly_accepted == (own & then & ~now).sum()
        assert part.newly_rejected == (own & now & ~then).sum()
        assert part.rate_now == pytest.approx(now[own].mean())
        assert part.money_now == pytest.approx(money[own & now].sum())
        assert part.money_then == pytest.approx(money[own & then].sum())
        assert part.money_of_accepted == pytest.approx(money[own & then & ~now].sum())
        assert part.money_of_rejected == pytest.approx(money[own & now & ~then].sum())
        difference = part.money_of_accepted - part.money_of_rejected
        assert part.money_then - part.money_now == pytest.approx(difference)


def test_against_decisions_people_are_counted_and_money_goes_by_score_and_group() -> None:
    table = loans(missing=0.0)
    found = compare(counted(table, decided=True), Aims(**MONEY, current=0.9), 0.47)
    assert found is not None
    assert (found.source, found.threshold) == ("decision", None)  # what was decided counts for more than a threshold
    now, then = table["granted"] == 1, table["score"] >= 0.47
    mean = worth(table).groupby([table["sex"], table["score"]]).transform("mean")
    for part in found.groups:
        own = table["sex"] == part.name
        assert part.accepted_now == pytest.approx((own & now).sum())
        assert part.newly_accepted == pytest.approx((own & then & ~now).sum())
        assert part.newly_rejected == pytest.approx((own & now & ~then).sum())
        assert part.money_now == pytest.approx(mean[own & now].sum())
        assert part.money_of_accepted == pytest.approx(mean[own & then & ~now].sum())
    assert totals(found.everybody) == pytest.approx(np.sum([totals(part) for part in found.groups], axis=0))


def test_people_whose_decision_is_missing_are_left_out_and_said() -> None:
    table = loans(missing=0.0)
    people = counted(table[table["sex"] != "x"], decided=True)
    assert people.decisions is not None
    known = people.decisions.copy()
    known[0] = 0  # nothing is known of the first group
    found = compare(replace(people, decisions=known), Aims(**MONEY), 0.47)
    assert found is not None
    first, second = found.groups
    assert (first.people, first.money_now, first.newly_accepted, first.rate_now) == (0.0, 0.0, 0.0, None)
    assert (second.people, found.undecided) == ((table["sex"] == "m").sum(), (table["sex"] == "f").sum())
    assert found.everybody.people == second.people


def totals(part: Part) -> list[float]:
    return [value for value in vars(part).values() if isinstance(value, float)]


def test_without_a_present_there_is_nothing_to_compare() -> None:
    assert compare(counted(loans()), Aims(), 0.5) is None


def test_people_of_whose_labels_nothing_is_known_are_counted() -> None:
    table = loans(missing=0.0)
    table.loc[table["score"] < 0.4, "repaid"] = None
    dark = compare(counted(table), Aims(current=0.2), 0.5)
    light = compare(counted(table), Aims(current=0.5), 0.6)
    assert dark is not None
    assert light is not None
    between = ((table["score"] >= 0.2) & (table["score"] < 0.4)).sum()
    assert 0.7 * between <= dark.unknown <= between  # bands at the edge have some labels
    assert light.unknown == 0.0


def dated(table: Any) -> Any:
    """Return applicants with decisions and a history of two periods."""
    people = counted(table, decided=True)
    counts = np.zeros((2, len(people.groups), len(people.cuts), 3, 2))
    place = np.searchsorted(people.cuts, people.shown(table["score"].to_numpy()))
    group = np.searchsorted(people.groups, table["sex"].to_numpy())
    label = table["repaid"].map({"no": 0, "yes": 1}).fillna(2).astype(int).to_numpy()
    np.add.at(counts, (np.arange(len(table)) % 2, group, place, label, table["granted"].to_numpy()), 1)
    return people.with_history(PeriodCounts(("2024-01", "2024-02"), counts))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_history_tells_the_labels_of_those_accepted(missing: float) -> None:
    table = loans(missing=0.0)
    bad = (table["granted"] == 1) & (table["repaid"] == "no") & (np.arange(len(table)) % 2 == 0)
    table.loc[bad, "repaid"] = "yes"  # those accepted are better than others of the same score
    table.loc[np.random.default_rng(1).random(len(table)) < missing, "repaid"] = None
    known = compare(dated(table), Aims(**MONEY), 0.47)
    guessed = compare(counted(table, decided=True), Aims(**MONEY), 0.47)
    assert known is not None
    assert guessed is not None
    assert (known.estimated, guessed.estimated) == (False, True)
    assert known.everybody.money_then == pytest.approx(guessed.everybody.money_then)
    truth = worth(table)[table["granted"] == 1].sum()
    if missing == 0.0:
        assert known.everybody.money_now == pytest.approx(truth)
    assert known.everybody.money_now > guessed.everybody.money_now
    for part in (*known.groups, known.everybody):
        difference = part.money_of_accepted - part.money_of_rejected
        assert part.money_then - part.money_now == pytest.approx(difference)


def test_decisions_by_the_score_alone_are_not_estimated() -> None:
    table = loans(missing=0.0)
    table["granted"] = (table["score"] >= 0.6).astype(int)
    found = compare(counted(table, decided=True), Aims(**MONEY), 0.47)
    assert found is not None
    assert not found.estimated
    assert found.everybody.money_now == pytest.approx(worth(table)[table["granted"] == 1].sum())


def test_todays_rule_is_held_against_what_is_required() -> None:
    table = loans(missing=0.0)
    rates = table.groupby("sex")["granted"].mean()
    gap = rates.max() - rates.min()
    constraints = [DemographicParity(gap - 0.01), ServiceRate(0.1, 0.9), EqualOpportunity(1.0)]
    found = compare(counted(table, decided=True), Aims(**MONEY, constraints=constraints), 0.47)
    assert found is not None
    assert [each.met for each in found.requirements] == [False, True, True, None]
    assert found.requirements[0].value == pytest.approx(gap)
    assert found.requirements[0].text.endswith("broken by 0.0100")
    told = compare(dated(table), Aims(**MONEY, constraints=constraints), 0.47)
    good = table[table["repaid"] == "yes"].groupby("sex")["granted"].mean()
    assert told is not None
    assert told.requirements[3].met
    assert told.requirements[3].value == pytest.approx(good.max() - good.min())
    in_use = compare(counted(table), Aims(**MONEY, constraints=constraints, current=0.5), 0.47)
    accepted = (table["score"] >= 0.5).groupby(table["sex"]).mean()
    assert in_use is not None
    assert in_use.requirements[0].value == pytest.approx(accepted.max() - accepted.min())
