"""Detection: evidence has a mean of at most 1 while a line holds, and a change is found as soon in an old gate."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fairgate.detection import MOST, Detector, log_evidence, log_limit

LINES = [
    ([1.0, -1.0], 0.1),  # parity
    ([0.8, -1.0], 0.0),  # a ratio
    ([0.3, 0.7], 0.4),  # a budget
    ([-0.3, -0.7], -0.4),  # a service rate
    ([-1.0, 0.0], -0.97),  # a group's service rate, near the edge
    ([1.0, 0.0], 1.0),  # always kept
    ([1.0, 1.0], 0.0),  # kept if nobody is accepted
]
PARITY = [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.parametrize(("row", "limit"), LINES)
@pytest.mark.parametrize("sizes", [(3, 4), (6, 1)])
@pytest.mark.parametrize("known", [(0.5, 0.5), (0.02, 0.95), (0.9, 0.3), (1.0, 1.0)])
def test_evidence_has_a_mean_of_at_most_1_while_the_line_holds(
    row: list[float], limit: float, sizes: tuple[int, int], known: tuple[float, float]
) -> None:
    """Exactly, over all outcomes of a round."""
    trials, likely = np.array(sizes, dtype=float), np.array(known)
    places = [np.arange(size + 1) for size in sizes]
    evidence = np.array(
        [
            np.exp(log_evidence(np.array(hits, dtype=float), trials, np.array([row]), np.array([limit]), likely)[0])
            for hits in itertools.product(*places)
        ]
    )
    steps = np.linspace(0.0, 1.0, 11)
    for rates in itertools.product(steps, steps):
        if np.dot(row, rates) <= limit + 1e-12:
            chances = [binom.pmf(place, size, rate) for place, size, rate in zip(places, sizes, rates, strict=True)]
            assert (np.outer(*chances).ravel() @ evidence).max() <= 1.0 + 1e-9


@settings(max_examples=15)
@given(
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.floats(0, 1),
)
def test_only_the_mean_rate_of_a_round_matters(one: list[float], other: list[float], known: float) -> None:
    """Applicants of a group may differ in the probability of being accepted."""
    limit = max(float(np.mean(one) - np.mean(other)), -0.9)
    mean = np.zeros(3)
    for taken in itertools.product((0, 1), repeat=8):
        chance = np.prod([p if x else 1.0 - p for p, x in zip([*one, *other], taken, strict=True)])
        hits = np.array([sum(taken[:4]), sum(taken[4:])], dtype=float)
        trials, likely = np.array([4.0, 4.0]), np.array([known, 0.5])
        mean += chance * np.exp(log_evidence(hits, trials, np.array(PARITY[:1]), np.array([limit]), likely)[0])
    assert mean.max() <= 1.0 + 1e-6


def test_false_alarms_are_no_more_frequent_than_stated() -> None:
    """120 detectors, 60 rounds at the boundary: if each rang with probability 0.2, more than 35 would in 1% of runs."""
    rng, rang = np.random.default_rng(5), 0
    limit = log_limit(lines=2, rounds=60, alpha=0.2)
    for _ in range(120):
        found = Detector.begin(lines=2, cells=2)
        for number in range(60):
            found.update(number, rng.binomial(20, [0.55, 0.45]), [20, 20], PARITY, [0.1, 0.1])
            if found.logs.max() >= limit:
                rang += 1
                break
    assert rang <= 35


@pytest.mark.parametrize("gap", [0.2, 0.52])
def test_a_change_is_found_as_soon_in_an_old_gate(gap: float) -> None:
    limit, found, delays = log_limit(lines=2, rounds=10_000, alpha=0.05), {}, []
    rng, old = np.random.default_rng(6), Detector.begin(lines=2, cells=2)
    for number in range(1001):
        if number in (50, 1000):
            found[number] = json.dumps(old.save())
        old.update(number, rng.binomial(100, 0.48, 2), [100, 100], PARITY, [0.1, 0.1])
    for age, saved in found.items():
        now, rng = Detector.load(json.loads(saved)), np.random.default_rng(7)
        number = age
        while now.logs.max() < limit:
            now.update(number, rng.binomial(100, [0.48 + gap, 0.48]), [100, 100], PARITY, [0.1, 0.1])
            number += 1
        delays.append(number - age)
        assert abs(now.change(0) - age) <= 4
    assert abs(delays[1] - delays[0]) <= 1
    assert delays[1] <= (3 if gap > 0.5 else 30)


def test_groups_without_people_say_nothing() -> None:
    found = Detector.begin(lines=2, cells=2)
    for number in range(50):
        found.update(number, [50, 0], [50, 0], PARITY, [0.1, 0.1])
    assert (found.evidence == 0.0).all()


def test_evidence_stays_finite() -> None:
    found = Detector.begin(lines=2, cells=2)
    for number in range(20):
        found.update(number, [10**6, 0], [10**6, 10**6], PARITY, [0.1, 0.1])
    assert found.logs.max() == pytest.approx(MOST, abs=3.0)
    found.restart()
    assert not found.evidence.any()
