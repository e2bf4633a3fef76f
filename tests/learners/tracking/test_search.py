"""The search: thresholds and lotteries against loops and an exhaustive search."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairgate.constraints import (
    DemographicParity,
    EqualOpportunity,
    GroupService,
    ServiceRate,
)
from fairgate.learners.tracking import search
from fairgate.learners.tracking.outlook import Outlook
from fairgate.learners.tracking.search import (
    best_lottery,
    best_threshold,
    cheapest_probe,
    glance,
    look,
    upper_bound,
)
from tests.learners.tracking.parts import ALL, outlook_of, some_lotteries


@pytest.mark.parametrize("seed", range(6))
def test_the_best_threshold_is_that_of_a_loop(seed: int) -> None:
    outlook = outlook_of([DemographicParity(0.25), ServiceRate(0.2, 0.8)], seed, variance=0.001, thresholds=9)
    for near, reach in product((2.0, 6.0), (1, 2, 9)):
        found = best_threshold(outlook, 1.5, np.full(2, near), reach)
        for r in range(2):
            told = {place: value_of(outlook, r, (place, 10, 1.0), 1.5) for place in range(1, 10)}
            allowed = [place for place in told if abs(place - near) <= reach or told[int(near)][1] > 0]
            safe = [place for place in allowed if told[place][1] <= 0]
            best = max(safe, key=lambda place: told[place][0]) if safe else min(allowed, key=lambda p: told[p][1])
            assert found.lottery[:, r].tolist() == [best, 10.0, 1.0]
            assert found.safe[r] == bool(safe)


def value_of(outlook: Outlook, r: int, lottery: tuple[float, float, float], width: float) -> tuple[float, float]:
    """Return reward and upper bound of the largest residual of one lottery, in one replicate."""
    one = outlook.rows(np.arange(2) == r)
    mixed = one.mix(np.array(lottery, dtype=float)[:, None, None])
    reward, (residuals, error) = one.reward(mixed), one.bounds(mixed, width)
    return float(reward[0, 0]), float((residuals + error).max())


@pytest.mark.parametrize("seed", range(6))
def test_the_best_lottery_is_near_that_of_an_exhaustive_search(seed: int) -> None:
    outlook = outlook_of([DemographicParity(0.1), ServiceRate(0.2, 0.8)], seed, variance=0.001, thresholds=5)
    tried = [(low, high, w) for low in range(7) for high in range(low + 1, 7) for w in np.linspace(0.0, 1.0, 41)]
    every = np.array(tried).T[:, None].repeat(2, axis=1)
    reward, upper, *_ = look(outlook, every, 1.5)
    found = best_lottery(outlook, 1.5, None, np.ones(2))
    for r in range(2):
        fine = upper[:, r] <= -search.ROOM
        mine, bound = value_of(outlook, r, tuple(found.lottery[:, r].tolist()), 1.5)
        assert found.safe[r] == fine.any()
        assert not found.infeasible[r]
        assert bound <= -search.ROOM + 1e-9
        assert mine >= reward[fine, r].max() - 0.01
        low, high, weight = found.lottery[:, r]
        assert 0 <= low < high <= 6
        assert 0.0 <= weight <= 1.0
        stay = best_lottery(outlook, 1.5, found.lottery, found.ratio)
        again, bound = value_of(outlook, r, tuple(stay.lottery[:, r].tolist()), 1.5)
        assert again >= mine - 0.006  # what is in play is kept, or bettered
        assert bound <= -search.ROOM + 1e-9


def test_where_nothing_can_be_feasible_the_search_says_so_and_violates_least() -> None:
    outlook = outlook_of([ServiceRate(0.9, 1.0), GroupService(0.0, 0.2)], variance=1e-4)
    found = best_lottery(outlook, 1.5, None, np.ones(2))
    assert found.infeasible.all()
    assert not found.safe.any()
    threshold = best_threshold(outlook, 1.5, np.full(2, 2.0), 9)
    assert threshold.infeasible.all()
    assert not threshold.safe.any()


def test_a_glance_sees_what_a_look_does_where_the_ratio_is_known() -> None:
    outlook = outlook_of([DemographicParity(0.1), ServiceRate(0.3, 0.6)])
    lotteries = some_lotteries()
    reward, upper, _, ratio = look(outlook, lotteries, 1.5)
    for c in range(lotteries.shape[2]):
        quick = glance(outlook, lotteries[..., c : c + 1], 1.5, ratio[c])
        np.testing.assert_allclose(quick[0][0], reward[c])
        np.testing.assert_allclose(quick[1][0], upper[c], atol=1e-9)


def test_how_many_lotteries_are_looked_at_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    outlook = outlook_of(ALL)
    whole = look(outlook, some_lotteries(), 1.5)
    monkeypatch.setattr("fairgate.learners.tracking.search.CACHE", 1)
    for one, other in zip(look(outlook, some_lotteries(), 1.5), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_cheapest_probe_accepts_anybody_at_the_least_price() -> None:
    outlook = outlook_of([EqualOpportunity(0.1), ServiceRate(0.2, 0.8)], variance=0.001, thresholds=5)
    played = best_lottery(outlook, 1.5, None, np.ones(2)).lottery
    probe, price = cheapest_probe(outlook, 1.5, played)
    for r in range(2):
        had = value_of(outlook, r, tuple(played[:, r].tolist()), 1.5)[0]
        asked = []
        for high, weight in product(range(1, 7), search.PROBES):
            reward, upper = value_of(outlook, r, (0, high, weight), 1.5)
            if upper <= -search.ROOM:
                asked.append((max(had - reward, 1e-6) / weight, high, weight))
        each, high, weight = min(asked)
        np.testing.assert_allclose(probe[:, r], [0.0, high, weight])
        assert price[r] == pytest.approx(each * weight)
    hopeless = outlook_of([ServiceRate(0.9, 1.0), GroupService(0.0, 0.2)])
    assert np.isinf(cheapest_probe(hopeless, 1.5, played)[1]).all()


def test_pairs_with_several_weights_are_looked_at_as_one_by_one() -> None:
    """Whatever the constraints need; and one lottery each has the upper bound that a look tells."""
    rng = np.random.default_rng(3)
    low = rng.integers(0, 4, size=(2, 1, 7))
    pairs = (low, low + rng.integers(1, 3, size=low.shape), rng.random((2, 4, 7)))
    together = np.stack(np.broadcast_arrays(*pairs))
    for constraints in (ALL, ALL[3:], ALL[:1]):
        outlook = outlook_of(constraints)
        found = look(outlook, together, 1.5)
        for one, other in zip(found, look(outlook, together.reshape(3, 2, -1), 1.5), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(upper_bound(outlook, together[:, :, 0, 0], 1.5), found[1][0])
