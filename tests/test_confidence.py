"""Bounds that hold at every round at once: coverage under a learner that chases them, exactness, laws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py
from scipy.stats import binom, norm

import fairgate as fg
from fairgate.confidence import Sums, add_batch, box, gap_bounds, mean_bounds, rate_bounds, running_bounds

Array = NDArray[np.float64]
Bounds = Callable[[Array, Array, float], tuple[Array, Array]]

RUNS, LOOKS, DELTA, FALSE_ALARM = 2000, 400, 0.05, 1e-3
ALLOWED = int(binom.ppf(1 - FALSE_ALARM, RUNS, DELTA))
"""Bounds that miss with probability DELTA exactly would miss in more runs than this with probability FALSE_ALARM."""

RATES = {"middle": [0.3, 0.5, 0.7], "near 0": [0.001, 0.01, 0.05], "near 1": [0.999, 0.98, 0.9], "mixed": [0, 0.5, 1]}


def chase(low: Array, high: Array) -> NDArray[np.intp]:
    """Choose an arm in every run by the bounds (runs, arms): half the runs by the upper, half by the lower."""
    chosen = np.where(np.arange(RUNS) % 2 == 0, high.argmax(axis=1), low.argmin(axis=1))
    widest = (high - low).argmax(axis=1)  # now and then, so that no arm is given up
    return np.asarray(np.where(np.arange(RUNS) % 3 == 0, widest, chosen))


def wilson(successes: Array, trials: Array, alpha: float) -> tuple[Array, Array]:
    """The usual interval for one look at a sample of fixed size."""
    z2 = norm.isf(alpha / 2) ** 2
    centre = (successes + z2 / 2) / (trials + z2)
    width = np.sqrt(z2 * (successes * (trials - successes) / np.maximum(trials, 1) + z2 / 4)) / (trials + z2)
    return centre - width, centre + width


def runs_in_which_a_rate_is_missed(bounds: Bounds, rates: list[float], seed: int = 5) -> int:
    rng, truth, every = np.random.default_rng(seed), np.array(rates), np.arange(RUNS)
    hits, trials, missed = np.zeros((RUNS, 3)), np.zeros((RUNS, 3)), np.zeros(RUNS, dtype=bool)
    for _ in range(LOOKS):
        low, high = bounds(hits, trials, DELTA / 3)
        missed |= ((truth < low - 1e-12) | (truth > high + 1e-12)).any(axis=1)
        arm, size = chase(low, high), rng.integers(1, 40, RUNS)
        hits[every, arm] += rng.binomial(size, truth[arm])
        trials[every, arm] += size
    return int(missed.sum())


@pytest.mark.parametrize("rates", RATES.values(), ids=RATES.keys())
def test_rates_are_rarely_ever_missed_by_a_learner_that_chases_the_bounds(rates: list[float]) -> None:
    assert runs_in_which_a_rate_is_missed(rate_bounds, rates) <= ALLOWED


def test_wilsons_interval_fails_the_same_trial() -> None:
    assert runs_in_which_a_rate_is_missed(wilson, RATES["middle"]) > 4 * ALLOWED


@pytest.mark.slow
def test_gaps_are_rarely_ever_missed() -> None:
    """Two policies, three groups, one of them rare; batches hold a random number of each."""
    rng, every = np.random.default_rng(6), np.arange(RUNS)
    rates = np.array([[0.5, 0.5, 0.5], [0.9, 0.97, 0.2]])
    truth = rates.max(axis=1) - rates.min(axis=1)
    accepted, people, missed = np.zeros((RUNS, 2, 3)), np.zeros((RUNS, 2, 3)), np.zeros(RUNS, dtype=bool)
    for _ in range(LOOKS):
        low, high = gap_bounds(accepted, people, DELTA / 2)
        missed |= ((truth < low - 1e-12) | (truth > high + 1e-12)).any(axis=1)
        policy = chase(low, high)
        came = rng.multinomial(rng.integers(1, 60, RUNS), [0.55, 0.4, 0.05])
        people[every, policy] += came
        accepted[every, policy] += rng.binomial(came, rates[policy])
    assert missed.sum() <= ALLOWED


def runs_in_which_a_reward_is_missed(honest: bool, cost: float, seed: int = 7) -> int:
    """Three arms with rewards 1, −cost and 0."""
    rng, every = np.random.default_rng(seed), np.arange(RUNS)
    chances = np.array([[0.01, 0.002, 0.988], [0.5, 0.3, 0.2], [0.85, 0.15, 0.0]])
    truth = chances @ np.array([1.0, -cost, 0.0])
    total, spread, people = np.zeros((3, RUNS, 3))
    missed = np.zeros(RUNS, dtype=bool)
    for _ in range(LOOKS):
        if honest:
            low, high = mean_bounds(Sums(total, spread, people), -cost, 1.0, DELTA / 3)
        else:
            width = norm.isf(DELTA / 6) * np.sqrt(spread) / np.maximum(people, 1) + 1e9 * (people < 30)
            low, high = total / np.maximum(people, 1) - width, total / np.maximum(people, 1) + width
        missed |= ((truth < low) | (truth > high)).any(axis=1)
        arm, size = chase(low, high), rng.integers(1, 40, RUNS)
        good, bad, _ = rng.multinomial(size, chances[arm]).T
        before = Sums(total[every, arm], spread[every, arm], people[every, arm])
        after = add_batch(before, good - cost * bad, good + cost**2 * bad, size)
        total[every, arm], spread[every, arm], people[every, arm] = after
    return int(missed.sum())


@pytest.mark.parametrize("cost", [0.0, 1.0, 5.0])
def test_rewards_are_rarely_ever_missed(cost: float) -> None:
    assert runs_in_which_a_reward_is_missed(True, cost) <= ALLOWED


def test_the_normal_interval_of_a_mean_fails_the_same_trial() -> None:
    assert runs_in_which_a_reward_is_missed(False, 1.0) > 3 * ALLOWED


def test_all_rates_of_a_box_hold_together() -> None:
    """Checked at every round of a policy with three groups."""
    rng, rates, shares = np.random.default_rng(8), np.array([0.3, 0.6, 0.95]), np.array([0.5, 0.3, 0.2])
    accepted, people, missed = np.zeros((RUNS, 3)), np.zeros((RUNS, 3)), np.zeros(RUNS, dtype=bool)
    for _ in range(LOOKS // 2):
        came = rng.multinomial(30, shares, size=RUNS)
        people += came
        accepted += rng.binomial(came, rates)
        known = box(accepted, people, DELTA)
        missed |= ((rates < known.rates_low) | (rates > known.rates_high)).any(axis=1)
        missed |= (rates @ shares < known.overall_low) | (rates @ shares > known.overall_high)
    assert missed.sum() <= ALLOWED


def slow_low(hits: float, trials: float, alpha: float) -> float:
    """The lower end by the definition, its logarithm found by bisection."""

    def beyond(x: float) -> float:
        mixture = betaln(hits + 0.5, trials - hits + 0.5) - betaln(0.5, 0.5)
        return float(mixture - hits * x - xlog1py(trials - hits, -np.exp(x)) + np.log(alpha))

    least = -690.0
    if hits == 0 or beyond(least) < 0:
        return 0.0
    return float(np.exp(brentq(beyond, least, np.log(hits / trials), xtol=1e-13)))


def test_fast_bounds_equal_the_definition() -> None:
    rng = np.random.default_rng(1)
    trials = np.exp(rng.uniform(np.log(0.5), np.log(1e7), 1000))
    hits = trials * rng.beta(0.3, 0.3, 1000)
    trials[:500] = np.ceil(trials[:500])
    hits[:500] = np.round(hits[:500])
    hits[:20], hits[20:40] = 0.0, trials[20:40]
    alpha = 10.0 ** rng.uniform(-9, -0.01, 1000)
    low, high = rate_bounds(hits, trials, alpha)
    cases = list(zip(hits, trials, alpha, strict=True))
    np.testing.assert_allclose(low, [slow_low(*case) for case in cases], atol=1e-7, rtol=0)
    mirrored = [slow_low(tries - successes, tries, level) for successes, tries, level in cases]
    np.testing.assert_allclose(1 - high, mirrored, atol=1e-7, rtol=0)


def test_without_trials_nothing_is_known_and_edges_are_exact() -> None:
    low, high = rate_bounds([0.0, 0.0, 50.0, 1e-300], [0.0, 50.0, 50.0, 1e-300], 0.05)
    assert low.tolist() == [0.0, 0.0, pytest.approx(1 - high[1]), 0.0]
    assert high.tolist() == [1.0, pytest.approx(0.1046, abs=1e-4), 1.0, 1.0]


counts = st.tuples(st.floats(0, 1e6), st.floats(0, 1)).map(lambda pair: (pair[0] * pair[1], pair[0]))
levels = st.floats(1e-9, 0.9)


@given(counts, levels)
def test_bounds_surround_the_share_and_stay_in_the_unit_interval(pair: tuple[float, float], alpha: float) -> None:
    low, high = rate_bounds(*pair, alpha)
    assert 0 <= low <= high <= 1
    if pair[1] > 0:
        assert low <= pair[0] / pair[1] + 1e-12
        assert high >= pair[0] / pair[1] - 1e-12


@given(counts, levels)
def test_failures_mirror_successes(pair: tuple[float, float], alpha: float) -> None:
    low, high = rate_bounds(*pair, alpha)
    mirrored_low, mirrored_high = rate_bounds(pair[1] - pair[0], pair[1], alpha)
    np.testing.assert_allclose([mirrored_low, mirrored_high], [1 - high, 1 - low], atol=1e-9)


@given(counts, levels, st.floats(1.5, 100))
def test_more_of_the_same_narrows_the_bounds(pair: tuple[float, float], alpha: float, factor: float) -> None:
    low, high = rate_bounds(*pair, alpha)
    nearer_low, nearer_high = rate_bounds(factor * pair[0], factor * pair[1], alpha)
    assert nearer_high - nearer_low <= high - low + 1e-9


@given(counts, levels)
def test_a_smaller_alpha_widens_the_bounds(pair: tuple[float, float], alpha: float) -> None:
    low, high = rate_bounds(*pair, alpha)
    wide_low, wide_high = rate_bounds(*pair, alpha / 2)
    assert wide_low <= low + 1e-12
    assert wide_high >= high - 1e-12


@given(st.lists(counts, min_size=2, max_size=5), levels)
def test_the_gap_of_the_shares_lies_between_its_bounds(groups: list[tuple[float, float]], alpha: float) -> None:
    accepted, people = np.array([(hits, trials + 1.0) for hits, trials in groups]).T
    low, high = gap_bounds(accepted, people, alpha)
    shares = accepted / people
    assert 0 <= low <= shares.max() - shares.min() + 1e-9
    assert shares.max() - shares.min() - 1e-9 <= high <= 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=20), levels)
def test_reward_bounds_surround_the_mean_and_stay_in_the_range(batches: list[tuple[int, ...]], alpha: float) -> None:
    sums = Sums(0.0, 0.0, 0.0)
    for good, bad, other in batches:
        sums = add_batch(sums, good - 2.0 * bad, good + 4.0 * bad, good + bad + other)
    low, high = mean_bounds(sums, -2.0, 1.0, alpha)
    assert -2 <= low <= sums.total / sums.people <= high <= 1
    more = Sums(*(10.0 * np.asarray(value) for value in sums))
    nearer_low, nearer_high = mean_bounds(more, -2.0, 1.0, alpha)
    assert nearer_high - nearer_low <= high - low


def test_the_reward_bound_is_as_narrow_as_the_law_of_the_iterated_logarithm_asks() -> None:
    """σ = 0.5 on [−1, 1]: 50 batches of 256 give 0.02, and the width stays within 2.2 σ sqrt(2 log log n / n) after."""
    people = np.array([256.0 * 50, 1e6, 1e9, 1e12])
    low, high = mean_bounds(Sums(0.1 * people, 0.25 * people, people), -1.0, 1.0, 0.05)
    widths = (high - low) / 2
    assert widths[0] < 0.015
    assert (widths[1:] < 2.2 * 0.5 * np.sqrt(2 * np.log(np.log(people[1:])) / people[1:])).all()


def test_shapes_broadcast_and_alpha_may_differ_by_replicate() -> None:
    accepted, people, alpha = np.full((4, 3, 2), 5.0), np.full((4, 3, 2), 10.0), np.array([0.1, 0.05, 0.01])
    known = box(accepted, people, alpha)
    assert known.rates_low.shape == (4, 3, 2)
    assert known.overall_high.shape == (4, 3)
    assert (np.diff(known.overall_high, axis=1) > 0).all()
    assert gap_bounds(accepted, people, alpha)[1].shape == (4, 3)
    assert rate_bounds(np.zeros((2, 1)), np.ones(3), 0.1)[0].shape == (2, 3)
    assert rate_bounds(np.zeros((0, 2)), np.zeros((0, 2)), 0.1)[0].shape == (0, 2)
    lower, upper = mean_bounds(Sums(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3))), [-1.0, -2.0, -3.0], 1.0, 0.1)
    assert lower[0].tolist() == [-1.0, -2.0, -3.0]
    assert upper[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rate_bounds(1, 2, 0.0), r"alpha must be above 0 and below 1, got 0\.0"),
        (lambda: rate_bounds(1, 2, float("nan")), "alpha must be above 0 and below 1, got nan"),
        (lambda: rate_bounds([1, 3], [2, 2], 0.1), "successes must be between 0 and trials.* got 3 of 2 at position 1"),
        (lambda: rate_bounds(-1, 2, 0.1), "got -1 of 2"),
        (lambda: rate_bounds(1, float("inf"), 0.1), "trials finite, got 1 of inf"),
        (lambda: gap_bounds([1, 1], [2, 2, 2], 0.1), r"same shape \(…, groups\), got \(2,\) and \(3,\)"),
        (lambda: gap_bounds([1], [2], 0.1), "needs at least 2, got 1 group"),
        (lambda: mean_bounds(Sums(1.0, 1.0, 2.0), 1.0, 0.0, 0.1), "low must be below high, both finite"),
        (lambda: mean_bounds(Sums(5.0, 1.0, 2.0), 0.0, 1.0, 0.1), "sums must be of values between low=0.0 and high=1"),
        (lambda: mean_bounds(Sums(1.0, -1.0, 2.0), 0.0, 1.0, 0.1), "spread and people at least 0"),
    ],
)
def test_bad_input_gets_one_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        call()


def test_running_bounds_are_those_of_a_mean_batch_by_batch() -> None:
    rng = np.random.default_rng(12)
    trials = rng.integers(0, 50, size=(30, 3))
    hits = rng.binomial(trials, [0.1, 0.5, 0.9])
    low, high = running_bounds(hits, trials, [0.05, 0.01, 0.02])
    sums = Sums(np.zeros(3), np.zeros(3), np.zeros(3))
    for place in range(30):
        sums = add_batch(sums, hits[place], hits[place], trials[place], guess=0.5)
        ends = mean_bounds(sums, 0.0, 1.0, [0.05, 0.01, 0.02])
        np.testing.assert_allclose((low[place], high[place]), ends)


def test_the_average_of_a_rate_that_drifts_is_rarely_ever_missed() -> None:
    rng, rates = np.random.default_rng(13), np.linspace(0.05, 0.6, LOOKS)[:, None]
    trials = rng.integers(0, 40, size=(LOOKS, RUNS))
    hits = rng.binomial(trials, rates)
    low, high = running_bounds(hits, trials, DELTA)
    people = trials.cumsum(axis=0)
    truth = np.divide((trials * rates).cumsum(axis=0), people, out=np.zeros(people.shape), where=people > 0)
    missed = ((truth < low - 1e-12) | (truth > high + 1e-12)).any(axis=0)
    assert missed.sum() <= ALLOWED
