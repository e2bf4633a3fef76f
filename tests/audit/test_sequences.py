"""Confidence sequences and alarms: what is missed, and what rings without cause, in worlds of known truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import fairgate as fg
from fairgate.audit.alarms import raise_alarms
from fairgate.audit.audit import levels
from fairgate.audit.report import alarm_sentence
from fairgate.audit.sequences import follow, ratio_range
from fairgate.constraints import Constraint
from fairgate.constraints.bounds import counting_labels, uneven

RUNS, ALPHA, FALSE_ALARM = 300, 0.05, 1e-4
ALLOWED = int(binom.ppf(1 - FALSE_ALARM, RUNS, ALPHA))
"""Alarms that ring without cause with probability ALPHA would ring in more runs with probability FALSE_ALARM."""

Rates = NDArray[np.float64]


def decide(rates: Rates, rng: np.random.Generator, size: int = 60) -> NDArray[np.int64]:
    """Draw counts (T, G, 3, 2) of decisions at rates (T, G), labels all missing; batches of about `size`."""
    looks, groups = rates.shape
    came = rng.poisson(size / groups, size=(looks, groups)) + 1
    accepted = rng.binomial(came, rates)
    counts = np.zeros((looks, groups, 3, 2), dtype=np.int64)
    counts[:, :, 2, 0], counts[:, :, 2, 1] = came - accepted, accepted
    return counts


def drifting(start: float, end: float, looks: int = 80) -> Rates:
    return np.linspace(start, end, looks)


WORLDS = {
    "constant": np.stack((np.full(80, 0.4), np.full(80, 0.45)), axis=1),
    "drifting": np.stack((drifting(0.2, 0.6), drifting(0.25, 0.55)), axis=1),
    "jumping": np.stack((np.where(np.arange(80) < 40, 0.1, 0.9), np.full(80, 0.5)), axis=1),
    "rare": np.stack((np.full(80, 0.01), np.full(80, 0.02)), axis=1),
}


@pytest.mark.parametrize("rates", WORLDS.values(), ids=WORLDS.keys())
def test_rates_gap_and_ratio_so_far_are_rarely_ever_missed(rates: Rates) -> None:
    rng, missed = np.random.default_rng(1), 0
    for _ in range(RUNS):
        counts = decide(rates, rng)
        found = follow("all", counts, ALPHA, labels=False)
        people = counts.sum(axis=(2, 3))
        total = people.cumsum(axis=0)
        truth = (people * rates).cumsum(axis=0) / total
        overall = (people * rates).sum(axis=1).cumsum() / total.sum(axis=1)
        gap, ratio = truth.max(axis=1) - truth.min(axis=1), truth.min(axis=1) / truth.max(axis=1)
        tracks = ((found.rates, truth), (found.overall, overall), (found.gap, gap), (found.ratio, ratio))
        missed += any(
            bool(((exact < track.low - 1e-12) | (exact > track.high + 1e-12)).any())
            for track, exact in tracks
            if track is not None
        )
    assert missed <= ALLOWED


BINDING: list[Constraint] = [fg.DemographicParity(0.1), fg.DisparateImpact(0.75), fg.GroupService(0.3, 0.4)]
"""Constraints that rates of 0.3 and 0.4 meet with nothing to spare."""


def test_alarms_of_constraints_that_are_just_met_rarely_ever_ring() -> None:
    rng, rang = np.random.default_rng(2), 0
    rates = np.tile([0.3, 0.4], (80, 1))
    for _ in range(RUNS):
        counts = decide(rates, rng)
        found = follow("all", counts, ALPHA, labels=False)
        alarms = raise_alarms(found, counts.sum(axis=0), BINDING, labelled=False)
        rang += any(alarm.rang is not None for alarm in alarms)
    assert rang <= ALLOWED


def test_a_fixed_sample_interval_looked_at_continuously_fails_the_same_trial() -> None:
    """The test can fail: two standard errors of the difference, looked at 80 times."""
    rng, rang = np.random.default_rng(2), 0
    for _ in range(RUNS):
        counts = decide(np.tile([0.3, 0.4], (80, 1)), rng)
        people = counts.sum(axis=(2, 3)).cumsum(axis=0)
        rate = counts[:, :, 2, 1].cumsum(axis=0) / people
        error = np.sqrt((rate * (1 - rate) / people).sum(axis=1))
        rang += bool((np.abs(rate[:, 1] - rate[:, 0]) - 0.1 > 1.96 * error).any())
    assert rang > ALLOWED


def test_an_alarm_rings_once_there_are_people_enough_and_says_when() -> None:
    rates = np.tile([0.3, 0.6], (80, 1))
    counts = decide(rates, np.random.default_rng(3))
    found = follow("all", counts, ALPHA, labels=False)
    parity, ratio = raise_alarms(
        found, counts.sum(axis=0), [fg.DemographicParity(0.1), fg.DisparateImpact(0.8)], labelled=False
    )
    assert (parity.status, ratio.status) == ("broken", "broken")
    assert parity.rang is not None
    assert 0 < parity.rang < 79
    assert found.gap is not None
    assert found.alike is not None
    same = found.alike.low[:, 2, 0] - found.alike.high[:, 1, 1]
    both = np.minimum(found.gap.low, same)
    assert both[parity.rang] > 0.1 >= both[parity.rang - 1]


def test_what_was_broken_may_be_met_later_and_both_are_told() -> None:
    rates = np.concatenate((np.tile([0.2, 0.8], (10, 1)), np.tile([0.5, 0.5], (300, 1))))
    counts = decide(rates, np.random.default_rng(4), size=200)
    found = follow("all", counts, ALPHA, labels=False)
    (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.DemographicParity(0.2)], labelled=False)
    assert alarm.status == "met"
    assert alarm.rang is not None
    assert alarm.met is not None
    assert alarm.rang < 10 < alarm.met


def test_an_alarm_that_the_mix_of_groups_makes_says_so() -> None:
    """Both groups have the same rate in every look, 0.6 then 0.4, and one comes early, the other late."""
    counts = np.zeros((24, 2, 3, 2), dtype=np.int64)
    counts[:12, :, 2] = [[300, 450], [100, 150]]
    counts[12:, :, 2] = [[150, 100], [450, 300]]
    asked: list[Constraint] = [fg.DemographicParity(0.05)]
    (alarm,) = raise_alarms(follow("all", counts, ALPHA, labels=False), counts.sum(axis=0), asked, labelled=False)
    assert (alarm.status, alarm.rang, alarm.mixed) == ("undecided", None, True)
    assert "because the mix of groups changed as rates did." in alarm_sentence(alarm, str)
    pooled = follow("all", counts, ALPHA, labels=False, alike=False)
    (alarm,) = raise_alarms(pooled, counts.sum(axis=0), asked, labelled=False)
    assert (alarm.status, alarm.rang is None, alarm.mixed) == ("broken", False, False)
    counts[12:, 0, 2] = [50, 200]
    (alarm,) = raise_alarms(follow("all", counts, ALPHA, labels=False), counts.sum(axis=0), asked, labelled=False)
    assert (alarm.status, alarm.mixed) == ("broken", False)


def test_labels_of_everybody_tell_equal_opportunity_and_of_the_accepted_alone_do_not() -> None:
    rng = np.random.default_rng(5)
    counts = np.zeros((40, 2, 3, 2), dtype=np.int64)
    for group, accepted in enumerate((0.5, 0.8)):
        good = rng.binomial(50, accepted, size=40)
        counts[:, group, 1, 1], counts[:, group, 1, 0] = good, 50 - good
        bad = rng.binomial(50, 0.2, size=40)
        counts[:, group, 0, 1], counts[:, group, 0, 0] = bad, 50 - bad
    constraints: list[Constraint] = [fg.EqualOpportunity(0.1), fg.EqualisedOdds(0.15)]
    found = follow("all", counts, ALPHA, labels=True)
    alarms = raise_alarms(found, counts.sum(axis=0), constraints, labelled=True)
    assert [alarm.status for alarm in alarms] == ["broken", "broken", "met"]
    hidden = counts.copy()
    hidden[:, :, 2, 0] = counts[:, :, :2, 0].sum(axis=2)
    hidden[:, :, :2, 0] = 0
    alarms = raise_alarms(follow("all", hidden, ALPHA, labels=True), hidden.sum(axis=0), constraints, labelled=True)
    assert {alarm.status for alarm in alarms} == {"not identified"}
    assert "100% of the accepted and 0% of the rejected" in alarms[0].caveat


def test_labels_of_looks_that_are_selective_count_for_nothing() -> None:
    """Half of the good are accepted in both groups; in the first looks nothing is known of one group's rejected."""
    counts = np.full((40, 2, 3, 2), 250)
    counts[:, :, 2] = 0
    counts[:2, 0, 2, 0], counts[:2, 0, :2, 0] = 500, 0
    found = follow("all", counts, ALPHA, labels=True)
    (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.EqualOpportunity(0.1)], labelled=True)
    assert (alarm.status, alarm.rang) == ("met", None)
    assert "Labels of 2 of 40 looks do not count" in alarm.caveat
    later = counts[::-1]
    found = follow("all", later[-2:], ALPHA, labels=True)
    (alarm,) = raise_alarms(found, later[-2:].sum(axis=0), [fg.EqualOpportunity(0.1)], labelled=True)
    assert (alarm.status, alarm.rang) == ("not identified", None)


def test_labels_that_are_rare_are_relied_on_only_if_they_are_known_alike() -> None:
    """Of 5% of the rejected and 9% of the accepted: nearly two thirds of the labels are those of accepted people."""
    few = np.array([[[250, 450], [250, 450], [9500, 9100]]] * 2)
    assert uneven(few)
    assert not counting_labels(few)
    alike = np.array([[[250, 255], [250, 255], [9500, 9490]]] * 2)
    assert not uneven(alike)


def test_labels_missing_alike_count_however_small_a_look_is() -> None:
    rng = np.random.default_rng(7)
    counts = rng.multinomial(20, np.outer([0.35, 0.35, 0.3], [0.5, 0.5]).ravel(), size=(400, 2)).reshape(400, 2, 3, 2)
    found = follow("all", counts, ALPHA, labels=True)
    assert found.uncounted < 80
    (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.EqualOpportunity(0.2)], labelled=True)
    assert (alarm.status, alarm.rang) == ("met", None)


def test_parts_of_alpha_add_up_to_alpha() -> None:
    assert levels(0.05, 0, True) + sum(levels(0.05, k, True) for k in range(1, 5000)) == pytest.approx(0.05, abs=1e-5)


def test_the_ratio_of_rates_in_a_box_lies_between_its_ends() -> None:
    rng = np.random.default_rng(6)
    low = rng.uniform(0.0, 0.8, size=(200, 3))
    high = low + rng.uniform(0.0, 0.2, size=(200, 3))
    smallest, largest = ratio_range(low, high)
    inside = low + rng.random((500, 200, 3)) * (high - low)
    ratios = inside.min(axis=-1) / inside.max(axis=-1)
    assert (ratios >= smallest - 1e-12).all()
    assert (ratios <= largest + 1e-12).all()
    corners = np.stack([np.where(np.arange(3) == k, low, high) for k in range(3)])
    assert (corners.min(axis=-1) / corners.max(axis=-1)).min(axis=0) == pytest.approx(smallest)


@pytest.mark.parametrize("first", [[[0, 0], [20, 30]], [[49, 1], [0, 1]], [[0, 0], [0, 0]]])
def test_whoever_comes_first_a_changing_mix_is_no_gap_and_a_gap_is_one(first: list[list[int]]) -> None:
    """Equal rates of 60% and then 30%, with 75% and then 25% of group 0; at first nobody of a group comes, or few."""

    def judged(*looks: list[list[int]]) -> str:
        counts = np.zeros((len(looks), 2, 3, 2), dtype=np.int64)
        counts[:, :, 2] = looks
        found = follow("all", counts, ALPHA, labels=False)
        (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.DemographicParity(0.05)], labelled=False)
        return alarm.status

    assert judged(first, [[3000, 4500], [1000, 1500]], [[1750, 750], [5250, 2250]]) == "undecided"
    assert judged(first, *[[[35, 15], [20, 30]]] * 60) == "broken"  # 30% and 60%, 50 people of each in a look


def test_a_third_group_that_is_rare_hides_no_gap_of_the_others() -> None:
    counts = np.zeros((60, 3, 3, 2), dtype=np.int64)
    counts[:, :2, 2] = [[350, 150], [200, 300]]
    counts[::20, 2, 2] = [1, 1]
    found = follow("all", counts, ALPHA, labels=False)
    (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.DemographicParity(0.05)], labelled=False)
    assert alarm.status == "broken"
