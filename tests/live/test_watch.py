"""Watch: bounds made step by step are those of the audit, and rarely miss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairgate.confidence import running_bounds
from fairgate.live.watch import Watch


@given(arrays(np.int64, (7, 3, 2), elements=st.integers(0, 60)))
def test_rates_are_bounded_as_running_bounds_does(batches: np.ndarray) -> None:
    watch = Watch.begin(2, 0, 3)
    for each in batches:
        watch.look(each, np.zeros(2), 1.0)
    known = watch.bounds(0.05)
    both = np.concatenate((batches.sum(axis=1, keepdims=True), batches), axis=1)
    level = 0.05 / 3 / 6 / 5  # a third for this kind of stretch, 1/(2 · 3) for the second, five figures
    some = batches.any(axis=(1, 2))
    if some.any():
        low, high = running_bounds(both[some, :, 1], both[some].sum(axis=2), level)
        came = both.sum(axis=(0, 2)) > 0
        assert known.low[:4] == pytest.approx(np.where(came, low[-1], 0.0))
        assert known.high[:4] == pytest.approx(np.where(came, high[-1], 1.0))
    assert Watch.load(watch.save()).bounds(0.05).low.tolist() == known.low.tolist()


def test_levels_of_all_stretches_add_up_to_no_more_than_alpha() -> None:
    everything = Watch.begin(0, 0, 2).level(0.05)
    stretches = 2 * sum(Watch.begin(number, 0, 2).level(0.05) for number in range(1, 2000))
    assert everything + stretches <= 0.05
    assert everything + stretches >= 0.0499


def test_rewards_are_missed_no_more_often_than_said() -> None:
    rng = np.random.default_rng(4)
    alpha, cost, missed = 0.3, 2.0, 0
    for _ in range(200):
        watch = Watch.begin(0, 0, 1)
        for _ in range(30):
            accepted = rng.binomial(40, 0.6)
            good = rng.binomial(accepted, 0.8)
            watch.look(np.array([[40 - accepted, accepted]]), np.array([accepted - good, good]), cost)
            value, low, high = watch.reward(alpha, cost)
            truth = 0.6 * (0.8 - cost * 0.2)
            if value is not None and not (low or 0.0) <= truth <= (high or 0.0):
                missed += 1
                break
    assert missed <= 200 * alpha / 3
