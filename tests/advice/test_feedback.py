"""Feedback read off histories whose truth is known: estimates, intervals, the test of none, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.aims import STRENGTHS
from fairgate.advice.config import parse_strengths
from fairgate.advice.example_history import draw_history, example_people, threshold_path
from fairgate.advice.feedback import CALENDAR, FEWEST, calendar_share, contradict, estimate_feedback, joined
from fairgate.advice.response_fit import GRID, MIDDLE, acceptance_by_bin, fit, paths, series
from fairgate.advice.steady import Response, environment
from fairgate.errors import InputError
from fairgate.people import Applicants
from fairgate.people.period_counts import PeriodCounts
from scripts.feedback_power import DRAWS, calendar, cell

NAMES = ("a", "b")


def drawn(strength: float, periods: int, people: int, swing: float, seed: int, rate: float = 0.3) -> PeriodCounts:
    rng = np.random.default_rng(seed)
    return draw_history(strength, threshold_path(periods, 2, swing, rng), people, rng, rate=rate)


@pytest.mark.parametrize("strength", [0.6, -0.6])
@pytest.mark.parametrize("rate", [0.15, 0.3, 1.0])
def test_with_many_people_strength_and_speed_are_found(strength: float, rate: float) -> None:
    found = estimate_feedback(drawn(strength, 40, 50_000, 0.2, seed=3, rate=rate), NAMES)
    assert found.verdict == "feedback"
    assert found.strength is not None
    assert found.strength == pytest.approx(strength, abs=0.1)
    assert found.speed == pytest.approx(rate, rel=0.3)
    assert found.low < found.strength < found.high
    assert {each.group for each in found.groups} == set(NAMES)
    assert all(each.low <= strength + 0.1 and strength - 0.1 <= each.high for each in found.groups)
    assert found.strengths == (*(round(each, 2) for each in (found.strength, found.low, found.high)), 0.0)


def test_the_model_is_the_environment_s() -> None:
    """Without chance, the weights of `ScorePools` are the predicted ones, to the rounding of the pools."""
    history = drawn(0.45, 30, 10_000_000, 0.2, seed=0)
    seen = series(history)
    moved, basis = paths(seen.policy, seen.lift, 0.3)
    place = int(np.abs(GRID - 0.45).argmin())
    assert GRID[place] == pytest.approx(0.45)
    off = seen.weight.T - 0.5 - moved[place]
    explained = np.einsum("gtc,gsc,gs->gt", basis[place], basis[place], off)
    wrong = seen.weight.T - 0.5 - moved[MIDDLE]
    unexplained = wrong - np.einsum("gtc,gsc,gs->gt", basis[MIDDLE], basis[MIDDLE], wrong)
    assert np.abs(off - explained).max() < 0.004
    assert np.abs(unexplained).max() > 0.02


def test_no_variation_of_decisions_says_nothing_however_long_and_large() -> None:
    for strength in (0.0, 0.8):
        found = estimate_feedback(drawn(strength, 48, 20_000, 0.0, seed=1), NAMES)
        assert (found.verdict, found.strength, found.strengths) == ("cannot tell", None, None)
        assert "decisions have hardly varied" in found.text
        assert found.needed_periods is None
        assert found.needed_swing is not None
        assert 0.0 < found.needed_swing < 0.3


def test_a_short_history_of_few_people_cannot_tell_and_says_what_it_would_take() -> None:
    found = estimate_feedback(drawn(0.5, 12, 500, 0.2, seed=5, rate=0.25), NAMES)
    assert found.verdict == "cannot tell"
    assert found.strength is not None
    assert found.needed_periods is not None
    assert found.needed_periods >= 24
    assert f"about {found.needed_periods} periods like these" in found.text
    assert "To find feedback of strength 0.5 four times out of five, if a quarter of the way is gone" in found.text


def test_a_long_history_without_feedback_says_how_little_there_can_be() -> None:
    found = estimate_feedback(drawn(0.0, 48, 50_000, 0.3, seed=4), NAMES)
    assert found.verdict == "no feedback"
    assert -0.15 <= found.low <= 0.0 <= found.high <= 0.15
    assert found.p_value > 0.05
    assert f"more than a strength of ±{max(-found.low, found.high):.2f}" in found.text


def test_what_cannot_be_used_is_said() -> None:
    whole = drawn(0.5, 24, 500, 0.2, seed=5)
    undecided = whole.counts.sum(axis=4, keepdims=True)
    blank = PeriodCounts(whole.periods, np.concatenate((undecided, np.zeros_like(undecided)), axis=4))
    assert "no decisions" in estimate_feedback(blank, NAMES).text
    short = PeriodCounts(whole.periods[: FEWEST - 1], whole.counts[: FEWEST - 1])
    assert estimate_feedback(short, NAMES).text == (
        "This history cannot tell whether acceptance changes who applies: it has 7 periods, and at least 8 are needed."
    )


def test_periods_and_groups_without_anybody_are_passed_over() -> None:
    whole = drawn(0.6, 40, 20_000, 0.2, seed=6)
    counts = whole.counts.copy()
    counts[20, 0] = 0
    counts[31] = 0
    found = estimate_feedback(PeriodCounts(whole.periods, counts), NAMES)
    assert found.verdict == "feedback"
    assert found.low < 0.6 < found.high


def test_where_everybody_is_accepted_acceptance_did_not_vary() -> None:
    whole = drawn(0.6, 12, 500, 0.2, seed=6)
    counts = np.zeros_like(whole.counts)
    counts[..., 1] = whole.counts.sum(axis=4)
    found = estimate_feedback(PeriodCounts(whole.periods, counts), NAMES)
    assert found.verdict == "cannot tell"


def test_many_periods_are_joined() -> None:
    whole = drawn(0.6, 100, 2000, 0.2, seed=7)
    together = joined(whole)
    assert len(together.periods) == 34
    assert together.counts.sum() == whole.counts.sum()
    assert estimate_feedback(whole, NAMES).joined == 3


def test_bins_without_anybody_are_decided_like_their_neighbours() -> None:
    people = np.array([[[2.0, 0.0, 4.0]], [[0.0, 0.0, 0.0]]])
    accepted = np.array([[[0.0, 0.0, 4.0]], [[0.0, 0.0, 0.0]]])
    assert acceptance_by_bin(accepted, people).tolist() == [[[0.0, 0.5, 1.0]], [[0.0, 0.5, 1.0]]]


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "disturbed"), [(0.0, "trend"), (0.0, "season"), (0.0, "persistent"), (0.5, "")])
def test_intervals_hold_the_truth_and_the_test_keeps_its_level(strength: float, disturbed: str) -> None:
    """More than 6 misses of 25 would have a chance of 0.2% if intervals held the truth in 93%."""
    misses, periods = 0, 24
    for draw in range(25):
        rng = np.random.default_rng([11, draw])
        shares = threshold_path(periods, 2, 0.2, rng)
        away = np.zeros((periods, 2))
        if disturbed == "trend":
            away += np.linspace(-0.1, 0.1, periods)[:, None]
        if disturbed == "season":
            away += 0.04 * np.sin(2.0 * np.pi * (np.arange(periods) / 12.0 + rng.random()))[:, None]
        if disturbed == "persistent":
            for period in range(1, periods):
                away[period] = 0.8 * away[period - 1] + 0.018 * rng.normal(size=2)
        fitted = fit(series(draw_history(strength, shares, 1000, rng, disturbance=away)))
        low, high = fitted.interval(0.95)
        misses += not low - 0.02 <= strength <= high + 0.02  # the median of the history is not quite the pools' own
        assert low <= 0.0 <= high or fitted.p_value < 0.05
    assert misses <= 6


@pytest.mark.slow
def test_a_season_with_slow_disturbances_is_not_taken_for_feedback() -> None:
    """More than 4 of 25 would have a chance of 0.7% at a level of 5%; noise that is one or the other has 11 or so."""
    found, right = calendar(25, 36, 0.0)
    assert found <= 4
    assert right == 25 - found


@pytest.mark.parametrize("year", [4, 12])
def test_decisions_in_one_yearly_wave_cannot_be_told_from_a_season(year: int) -> None:
    rng = np.random.default_rng(8)
    wave = np.sin(2.0 * np.pi * (np.arange(24) + 0.5) / year)[:, None]
    shares = np.repeat(0.5 + 0.15 * wave, 2, axis=1)
    found = estimate_feedback(draw_history(0.0, shares, 20_000, rng, disturbance=0.1 * wave), NAMES)
    assert (found.verdict, found.strength, found.strengths, found.needed_periods) == ("cannot tell", None, None, None)
    assert "decisions went up and down with the calendar" in found.text
    assert found.needed_swing is not None


def test_how_much_of_decisions_goes_with_the_calendar() -> None:
    time = np.arange(24.0)[:, None]
    assert calendar_share(np.sin(time * np.pi / 6.0) + 0.3 * time) == pytest.approx(1.0)
    assert calendar_share(np.sin(time * np.pi / 2.0)) == pytest.approx(1.0)
    assert calendar_share(0.3 * time) == pytest.approx(0.0, abs=1e-6)
    halves = calendar_share(np.where(time % 12 < 6, 1.0, -1.0))
    assert 0.75 < halves < CALENDAR  # a square wave has overtones, which a season of one wave has not
    paths_ = [threshold_path(24, 2, 0.2, np.random.default_rng(seed)) for seed in range(50)]
    assert max(map(calendar_share, paths_)) < CALENDAR


@pytest.mark.parametrize("seed", range(2))
def test_groups_that_respond_in_opposite_ways_share_no_strength(seed: int) -> None:
    up, down = (drawn(strength, 24, 5000, 0.2, seed=40 + seed) for strength in (0.6, -0.6))
    opposite = PeriodCounts(up.periods, np.stack((up.counts[:, 0], down.counts[:, 1]), axis=1))
    found = estimate_feedback(opposite, NAMES)
    assert (found.verdict, found.strength, found.strengths) == ("cannot tell", None, None)
    first, second = found.groups
    assert (found.low, found.high) == (min(first.low, second.low), max(first.high, second.high))
    for each in found.groups:
        assert f"{each.group}: {each.strength:.2f} ({each.low:.2f} to {each.high:.2f})" in found.text
    assert contradict(found.groups)
    assert not contradict((first, replace(second, swing=0.0)))  # no decisions to respond to
    assert not contradict((first, replace(first, group="b")))


def with_history(history: PeriodCounts) -> Applicants:
    """The table that a history is made of."""
    counts = history.counts.sum(axis=(0, 4))
    made = example_people()
    decisions = history.counts.sum(axis=(0, 3))
    return replace(made, counts=counts, rows=int(counts.sum()), decisions=decisions, history=history)


@pytest.mark.slow
def test_what_the_history_tells_replaces_the_strengths_looked_at_unless_some_are_given() -> None:
    quick = Aims(constraints=[fg.DemographicParity(0.3)], seeds=1, rounds=5)
    told = advise(with_history(drawn(0.6, 40, 20_000, 0.2, seed=6)), quick)
    assert told.feedback is not None
    assert tuple(each.response.strength for each in told.steady) == told.feedback.strengths
    assert told.recommendation.feedback == round(told.feedback.strength or 0.0, 2)
    assert told.reference.where == "the decision column"
    assert np.ravel(told.steady[0].response.balance).tolist() == told.reference.rates.tolist()
    assert len(told.backtest) == 37
    given = advise(told.applicants, replace(quick, feedback=(0.3,)))
    assert [each.response.strength for each in given.steady] == [0.3]
    blind = advise(with_history(drawn(0.6, 12, 200, 0.0, seed=6)), quick)
    assert blind.feedback is not None
    assert blind.feedback.verdict == "cannot tell"
    assert tuple(each.response.strength for each in blind.steady) == STRENGTHS


def test_strengths_are_read_and_checked() -> None:
    assert parse_strengths(None) is None
    assert parse_strengths("-0.5,0,0.8") == (-0.5, 0.0, 0.8)
    with pytest.raises(InputError, match=r"above -1 and below 1, as in 0,0\.25,0\.5, got 'weak'"):
        parse_strengths("weak")
    for wrong in ((1.0,), (-1.0,)):
        with pytest.raises(InputError, match="feedback must be strengths above -1 and below 1, got"):
            Aims(feedback=wrong)
    assert Aims().feedback is None


def test_histories_are_drawn_from_the_environment_they_name() -> None:
    """A threshold that is kept leads to the steady state of the environment."""
    history = draw_history(0.6, np.full((60, 2), 0.7), 200_000, np.random.default_rng(0))
    pools = environment(example_people(), Response(0.6, 0.5), 0.3)
    last = history.counts[-10:].sum(axis=(0, 3))
    rates = last[..., 1].sum(axis=1) / last.sum(axis=(1, 2))
    cut = [2.0 * int(np.argmax(each[..., 1] > 0)) for each in last]
    state = pools.steady_state(np.array([cut]))
    expected = pools.probabilities(state, np.array([cut]))[0]
    np.testing.assert_allclose(rates, expected[..., 1].sum(axis=1) / expected.sum(axis=(1, 2)), atol=0.005)


@pytest.mark.slow
def test_the_documented_table_is_what_the_script_prints() -> None:
    page = (Path(__file__).parents[2] / "docs" / "feedback.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| 12 | 500 | ±20 points |"))
    assert row.split(" | ")[4] == cell(DRAWS, 0.5, 12, 500, 0.2)
