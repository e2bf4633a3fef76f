"""Today's figures: exact against counting people, intervals that hold as often as they say, honest bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.intervals import gap_interval
from fairgate.advice.today import look
from fairgate.estimates import wilson
from fairgate.people import from_frame
from tests.advice.people import SERVICE

COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "group"}


def least(trials: int, level: float = 0.95, alarm: float = 1e-5) -> float:
    """Hits that intervals of this level fall short of with probability `alarm`."""
    return float(binom.ppf(alarm, trials, level))


def test_figures_equal_counting_people() -> None:
    table = SERVICE.draw(400, np.random.default_rng(0))
    found = look(
        from_frame(table, **COLUMNS), Aims(cost=2.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.2, 0.8)])
    )
    score, label, group = (table[name].to_numpy() for name in COLUMNS)
    for place in (0, 7, 200, 399):
        accepted = score >= found.thresholds[place]
        rates = [accepted[group == each].mean() for each in (0, 1)]
        assert found.acceptance.value[place] == pytest.approx(accepted.mean())
        np.testing.assert_allclose(found.rates.value[:, place], rates)
        assert found.gap.value[place] == pytest.approx(abs(rates[0] - rates[1]))
        assert found.reward.value[place] == pytest.approx((accepted * np.where(label == 1, 1.0, -2.0)).mean())
        assert found.residuals[0, place] == pytest.approx(found.gap.value[place] - 0.1)
    assert found.known.all()
    np.testing.assert_allclose(found.worst, found.reward.value)
    np.testing.assert_allclose(found.best, found.reward.value)


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.5, 0.49), (0.1, 0.1), (0.02, 0.03), (0.9, 0.6)])
@pytest.mark.parametrize("people", [(40, 60), (300, 1000)])
def test_the_gap_interval_covers_also_near_a_gap_of_0(rates: tuple[float, float], people: tuple[int, int]) -> None:
    """2000 draws; false alarm 1e-5. Newcombe's interval is known to be a little short of its level at times: 1%."""
    rng = np.random.default_rng(0)
    accepted = rng.binomial(people, rates, size=(2000, 2))
    low, high = gap_interval(accepted, np.broadcast_to(people, (2000, 2)))
    true = abs(rates[0] - rates[1])
    assert ((low <= true + 1e-12) & (true <= high + 1e-12)).sum() >= least(2000, level=0.94)


def test_the_gap_interval_covers_for_five_groups() -> None:
    rng = np.random.default_rng(1)
    rates, people = np.array([0.4, 0.42, 0.38, 0.4, 0.41]), np.array([200, 100, 150, 80, 300])
    low, high = gap_interval(rng.binomial(people, rates, size=(2000, 5)), np.broadcast_to(people, (2000, 5)))
    assert ((low <= 0.04) & (high >= 0.04)).sum() >= least(2000)


def test_wilson_knows_the_ends() -> None:
    low, high = wilson([0, 5, 0], [5, 5, 0])
    assert (low[0], high[1]) == (0.0, 1.0)
    assert (low[2], high[2]) == (0.0, 1.0)
    assert 0.4 < high[0] < 0.5


@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_intervals_of_reward_gap_and_rates_cover_the_truth(missing: float) -> None:
    """300 tables of 1000, thresholds with many, some and few accepted; false alarm 1e-5 each.

    Missing labels depend on the score, and the interval of reward knows that they were filled in.
    """
    rng = np.random.default_rng(2)
    hits = np.zeros((3, 3))
    for _ in range(300):
        people = from_frame(SERVICE.draw(1000, rng, missing), **COLUMNS)
        found = look(people, SERVICE.aims)
        for column, threshold in enumerate((-0.5, 0.4, 2.0)):
            place = int(np.searchsorted(people.cuts, threshold))
            reward, gap, residuals = (np.squeeze(each) for each in SERVICE.figures(people.cuts[place]))
            overall = 0.45 - residuals[1]
            hits[0, column] += found.reward.low[place] <= reward <= found.reward.high[place]
            hits[1, column] += found.gap.low[place] <= gap <= found.gap.high[place]
            hits[2, column] += found.acceptance.low[place] <= overall <= found.acceptance.high[place]
    assert hits.min() >= least(300, level=0.94), hits / 300


def test_bounds_hold_whatever_the_missing_labels_are() -> None:
    table = SERVICE.draw(600, np.random.default_rng(3), missing=0.9)
    aims = Aims(cost=2.0)
    found = look(from_frame(table, **COLUMNS), aims)
    label = table["label"].to_numpy()
    for filled, bound in ((0.0, found.worst), (1.0, found.best)):
        full = table.set_column(1, "label", pa.array(np.where(np.isnan(label), filled, label)))
        np.testing.assert_allclose(look(from_frame(full, **COLUMNS), aims).reward.value, bound, atol=1e-12)
    assert (found.worst <= found.reward.value + 1e-12).all()
    assert (found.reward.value <= found.best + 1e-12).all()


def test_labels_missing_at_random_are_filled_in_without_bias() -> None:
    """The mean error over 200 tables is within 5 of its standard errors, also where half of the labels are missing."""
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(200):
        people = from_frame(SERVICE.draw(2000, rng, missing=0.9), **COLUMNS)
        place = int(np.searchsorted(people.cuts, -1.0))
        errors.append(look(people, SERVICE.aims).reward.value[place] - SERVICE.figures(people.cuts[place])[0][0])
    assert abs(np.mean(errors)) <= 5.0 * np.std(errors) / np.sqrt(200) + 0.001  # bands have a width


def test_where_nobody_has_a_label_no_reward_is_claimed() -> None:
    table = SERVICE.draw(2000, np.random.default_rng(5))
    score = table["score"].to_numpy()
    label = np.where(score < 0.0, np.nan, table["label"].to_numpy())
    hidden = table.set_column(1, "label", pa.array(label, from_pandas=True))
    found = look(from_frame(hidden, **COLUMNS), SERVICE.aims)
    assert not found.known[found.thresholds < -0.2].any()
    assert found.known[found.thresholds > 0.0].all()


def test_a_threshold_earns_the_same_with_all_bins_and_with_bins_joined() -> None:
    people = from_frame(SERVICE.draw(3000, np.random.default_rng(4), missing=0.8), **COLUMNS)
    joined = people.coarsened()
    assert len(joined.cuts) < len(people.cuts)
    fine, coarse = look(people, SERVICE.aims), look(joined, SERVICE.aims)
    places = np.searchsorted(people.cuts, joined.cuts)
    np.testing.assert_allclose(coarse.reward.value, fine.reward.value[places], atol=1e-12)
    np.testing.assert_array_equal(coarse.known, fine.known[places])
    np.testing.assert_allclose(coarse.gap.value, fine.gap.value[places], atol=1e-12)
