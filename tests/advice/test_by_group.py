"""Figures by group are what pandas gives, and intervals of ratios cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairgate.advice.by_group import Rate, by_group, ratios_of
from fairgate.estimates import wilson
from tests.advice.committee import counted, loans


def ends(rate: Rate) -> Any:
    return rate.low, rate.high


@pytest.mark.parametrize("descending", [False, True])
def test_every_figure_is_what_pandas_gives(descending: bool) -> None:
    table = loans(descending=descending, missing=0.05)  # so few that they are missing evenly
    people = counted(table, descending=descending)
    found = by_group(people, float(people.shown(0.47)), "score", 0.6)
    assert [rule.key for rule in found.rules] == ["recommended", "current"]
    for rule, threshold in zip(found.rules, (0.47, 0.6), strict=True):
        assert rule.reference == "m"
        accepted = table["score"] <= threshold if descending else table["score"] >= threshold
        usual = accepted[table["sex"] == "m"].mean()
        for each in rule.groups:
            own = table[table["sex"] == each.name]
            taken = accepted[table["sex"] == each.name]
            good, bad = own["repaid"] == "yes", own["repaid"] == "no"
            assert (each.called, each.people, each.accepted) == (f"sex = {each.name}", len(own), taken.sum())
            assert each.acceptance.value == pytest.approx(taken.mean())
            assert ends(each.acceptance) == wilson(taken.sum(), len(own))
            assert each.ratio.value == pytest.approx(taken.mean() / usual)
            assert each.missing == own["repaid"].isna().sum()
            assert each.tpr is not None
            assert each.fpr is not None
            assert each.precision is not None
            assert each.confusion is not None
            assert each.tpr.value == pytest.approx(taken[good].mean())
            assert ends(each.tpr) == wilson(taken[good].sum(), good.sum())
            assert each.fpr.value == pytest.approx(taken[bad].mean())
            assert each.precision.value == pytest.approx((taken & good).sum() / (taken & (good | bad)).sum())
            assert each.precision.of == (taken & (good | bad)).sum()
            unknown = own["repaid"].isna()
            counts = [
                (taken & good),
                (taken & bad),
                (taken & unknown),
                (~taken & good),
                (~taken & bad),
                (~taken & unknown),
            ]
            assert list(vars(each.confusion).values()) == [count.sum() for count in counts]


@pytest.mark.parametrize("descending", [False, True])
def test_calibration_and_scores_are_what_pandas_gives(descending: bool) -> None:
    table = loans(descending=descending)
    found = by_group(counted(table, descending=descending), 0.5, "score")
    assert found.observed == ("repaid = no" if descending else "repaid = yes")
    assert sum(sum(band.people) for band in found.bands) == len(table)
    assert [band.low for band in found.bands] == sorted(band.low for band in found.bands)
    for band in found.bands:
        inside = table[(table["score"] >= band.low) & (table["score"] <= band.high)]
        assert 0.05 * len(table) < len(inside) < 0.2 * len(table)
        for place, name in enumerate("fmx"):
            own = inside[inside["sex"] == name]
            labels = own["repaid"].dropna() == ("no" if descending else "yes")
            assert band.people[place] == len(own)
            assert band.predicted is not None
            assert band.predicted[place] == pytest.approx(own["score"].mean())
            assert band.observed[place].value == pytest.approx(labels.mean())
            assert ends(band.observed[place]) == wilson(labels.sum(), len(labels))
    for shares, name in zip(found.bars, "fmx", strict=True):
        own = table.loc[table["sex"] == name, "score"]
        wanted = np.histogram(own, found.edges)[0] / len(own)
        assert shares == pytest.approx(wanted.tolist())
        assert sum(shares) == pytest.approx(1.0)
    assert found.beyond == pytest.approx(0.0)


def test_scores_that_are_no_probabilities_have_no_prediction_and_far_ones_are_not_drawn() -> None:
    table = loans()
    table["score"] = 100.0 * table["score"] + 300.0
    table.loc[0, "score"] = 1e6
    found = by_group(counted(table), 350.0, "score")
    assert all(band.predicted is None for band in found.bands)
    assert found.edges[-1] < 500.0
    assert found.beyond >= 1 / len(table)
    assert sum(sum(band.people) for band in found.bands) == len(table)


def test_few_scores_have_a_bar_each() -> None:
    table = loans()
    table["score"] = (4.0 * table["score"]).round()
    found = by_group(counted(table), 2.0, "score")
    assert found.edges == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5]
    shares = table.loc[table["sex"] == "f", "score"].value_counts(normalize=True).sort_index()
    assert found.bars[0] == pytest.approx(shares.tolist())


def test_decisions_have_acceptance_and_ratio_alone() -> None:
    table = loans()
    found = by_group(counted(table, decided=True), 0.5, "score", 0.4)
    assert [rule.key for rule in found.rules] == ["recommended", "current", "in-use"]
    rates = table.groupby("sex")["granted"].mean()
    for each in found.rules[1].groups:
        assert each.acceptance.value == pytest.approx(rates[each.name])
        assert each.ratio.value == pytest.approx(rates[each.name] / rates["m"])
        assert each.tpr is None
        assert each.confusion is None


def test_nobody_accepted_and_no_labels_are_said_and_not_divided_by() -> None:
    table = loans(people=200)
    table.loc[table["sex"] == "x", "repaid"] = None
    found = by_group(counted(table), 2.0, "score")
    for each in found.rules[0].groups:
        assert each.acceptance.value == 0.0
        assert each.ratio.value is None
        assert each.precision is not None
        assert each.precision.value is None
    last = found.rules[0].groups[-1]
    assert last.tpr is not None
    assert (last.name, last.tpr.value, last.tpr.of) == ("x", None, 0.0)


def test_rates_by_label_are_left_out_where_only_the_accepted_have_labels() -> None:
    table = loans(missing=0.0)
    table.loc[(table["score"] < 0.5) & (table["sex"] == "f"), "repaid"] = None
    rule = by_group(counted(table), 0.5, "score").rules[0]
    assert [each.tpr is None for each in rule.groups] == [True, False, False]
    assert [each.fpr is None for each in rule.groups] == [True, False, False]
    assert "0% to 100% of the rejected" in rule.note
    accepted = table[(table["score"] >= 0.5) & (table["sex"] == "f")]
    precision = rule.groups[0].precision
    assert precision is not None
    assert (precision.value, precision.of) == ((accepted["repaid"] == "yes").mean(), len(accepted))
    assert by_group(counted(table), 0.6, "score").rules[0].groups[1].tpr is not None


@pytest.mark.parametrize(
    ("one", "other", "sizes"), [(0.3, 0.5, (200, 800)), (0.05, 0.1, (300, 600)), (0.9, 0.8, (60, 400))]
)
def test_the_interval_of_a_ratio_covers_the_truth(one: float, other: float, sizes: tuple[int, int]) -> None:
    """4,000 draws: 95% less three standard errors of 0.35 points, and half a point for Wilson's own shortfall."""
    rng = np.random.default_rng(1)
    hits = rng.binomial(sizes, (one, other), size=(4000, 2))
    covered = 0
    for accepted in hits:
        reference, (ratio, own) = ratios_of(accepted, np.array(sizes))
        assert reference == 1
        assert (own.low, own.high) == (1.0, 1.0)
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= one / other <= ratio.high
    assert 0.935 <= covered / 4000 <= 0.97


def test_a_ratio_lies_in_its_interval_also_at_the_ends() -> None:
    for accepted, people in (([0, 5], [10, 20]), ([10, 5], [10, 20]), ([3, 0], [10, 20]), ([10, 20], [10, 20])):
        _, (ratio, _) = ratios_of(np.array(accepted), np.array(people))
        assert ratio.low is not None
        if ratio.value is not None:
            assert ratio.low <= ratio.value
            assert ratio.high is None or ratio.value <= ratio.high
        else:
            assert ratio.high is None
