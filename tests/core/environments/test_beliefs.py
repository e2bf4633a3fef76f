"""Groups learn of thresholds from applicants, each of whom meets the threshold that was drawn for them."""

from __future__ import annotations

import numpy as np

from fairgate.core.environments.beliefs import learned
from fairgate.core.policy import Policy
from fairgate.counts import Counts

BELIEFS = np.array([0.0, 1.0])
BOTH = Counts(np.ones((2, 2, 2)))
RATE = np.array(0.5)


def test_beliefs_follow_a_threshold_and_the_mean_of_a_lottery() -> None:
    np.testing.assert_allclose(learned(BELIEFS, Policy.at(np.array(2.0)), BOTH, RATE), [1.0, 1.5])
    lottery = Policy(np.array([[2.0, 0.0], [4.0, 2.0]]), np.array([0.25, 0.75]))
    np.testing.assert_allclose(learned(BELIEFS, lottery, BOTH, RATE), [1.75, 1.25])


def test_nobody_learns_from_infinite_thresholds() -> None:
    uniform = Policy.lottery(np.array([-np.inf, np.inf]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(learned(BELIEFS, uniform, BOTH, RATE), BELIEFS)


def test_where_a_lottery_accepts_all_only_the_others_learn() -> None:
    lottery = Policy.lottery(np.array([2.0, -np.inf]), np.array([0.4, 0.6]))
    np.testing.assert_allclose(learned(BELIEFS, lottery, BOTH, RATE), BELIEFS + 0.5 * 0.4 * (2.0 - BELIEFS))
    beliefs = BELIEFS
    for _ in range(200):
        beliefs = learned(beliefs, lottery, BOTH, RATE)
    np.testing.assert_allclose(beliefs, 2.0)


def test_a_rate_of_one_believes_exactly_in_what_was_published() -> None:
    thresholds = np.array([0.1 + 0.2, 1.0 / 3.0])
    found = learned(np.array([1e9, -7.7]), Policy.per_group(thresholds), BOTH, np.array(1.0))
    np.testing.assert_array_equal(found, thresholds)


def test_only_groups_with_applicants_learn() -> None:
    one = Counts(np.ones((2, 2, 2)) * np.array([1.0, 0.0])[:, None, None])
    np.testing.assert_allclose(learned(BELIEFS, Policy.at(np.array(2.0)), one, RATE), [1.0, 1.0])
