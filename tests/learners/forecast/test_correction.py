"""Corrections bring predictions to what played policies showed, and tell the monitor how far off they were."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.learners.forecast.correction import GridCorrection, ShiftCorrection
from fairgate.learners.forecast.play import Play
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.shapes import filled

ROW = np.array([0])
ZERO = np.zeros(1, dtype=np.int64)


def played(accepted: float, predicted: float, people: float = 1000.0) -> Play:
    """Return what an epoch of one replicate and one group showed, at a predicted steady rate of one half."""
    play = Play.start(1, 1, 2)
    play.rates[:] = 0.5
    play.variance[:] = 0.01**2
    shares = np.array([1.0, accepted, accepted, 0.5 * accepted, predicted, 0.5 * predicted])
    play.tally[:, 0, 0] = people * shares
    return play


def prediction(rates: list[float]) -> Prediction:
    rate = np.array(rates)[None, None]
    return Prediction(np.ones((1, 1)), rate, 0.5 * rate, 0.5 + 0.0 * rate, 0.01 + 0.0 * rate, 0.0 * rate)


def test_the_grid_learns_from_played_thresholds_about_their_neighbours() -> None:
    correction, arm = filled(GridCorrection, {"R": 1, "G": 1, "K": 3}), np.array([1])
    early = prediction([0.9, 0.5, 0.1])
    correction.keep_prior(ROW, np.array([True]), early)
    play = played(accepted=0.7, predicted=0.5, people=1e6)
    play.transient[:] = True
    correction.compare(ROW, arm, play, ZERO)
    assert correction.apply(ROW, np.array([False]), early) is early
    after = correction.apply(ROW, np.array([True]), early)
    assert after.rates[0, 0, 1] == pytest.approx(0.7, abs=1e-3)
    assert after.positives[0, 0, 1] == pytest.approx(0.35, abs=1e-3)
    near = np.exp(-0.5 * (0.5 / 0.2) ** 2)  # correlation with a neighbour half a grid away
    assert after.rates[0, 0, 2] == pytest.approx(0.1 + near * 0.2, abs=1e-3)
    assert after.error[0, 0, 1] < 0.001 < 0.1 < after.error[0, 0, 2]


def test_only_the_first_epoch_on_a_threshold_tests_its_prediction() -> None:
    correction, arm = filled(GridCorrection, {"R": 1, "G": 1, "K": 3}), np.array([1])
    play = played(accepted=0.6, predicted=0.5)
    play.transient[:] = True
    squared, tested, distance = correction.compare(ROW, arm, play, ZERO)
    assert tested.all()
    assert squared == pytest.approx(0.1**2 / (0.25 / 1000 + 0.01**2))
    assert not distance.any()  # nothing to compare with
    play.transient[:] = False
    _, tested, distance = correction.compare(ROW, arm, play, ZERO)
    assert not tested.any()
    assert distance == pytest.approx(0.0, abs=1e-20)
    play.tally[1] = 900.0
    _, _, distance = correction.compare(ROW, arm, play, ZERO)
    share = 2101 / 3002
    assert distance == pytest.approx(0.3**2 / (share * (1 - share) * (1 / 1000 + 1 / 2000)))  # 2000 people before
    assert correction.trials.tolist() == [1.0]


def test_the_shift_is_the_latest_misfit_and_older_ones_fade() -> None:
    correction = filled(ShiftCorrection, {"R": 1, "G": 1})
    squared, _, _ = correction.compare(ROW, played(accepted=0.6, predicted=0.5), ZERO)
    assert squared == pytest.approx(0.1**2 / (0.6 * 0.4 / 1000 + 0.01**2), rel=0.001)
    assert not correction.shift(ROW, ZERO).any()  # predictions are still trusted
    assert correction.shift(ROW, ZERO + 1)[:, 0, 0] == pytest.approx([0.1, 0.05])
    squared, _, _ = correction.compare(ROW, played(accepted=0.6, predicted=0.5), ZERO + 1)
    assert squared == pytest.approx(0.0, abs=1e-20)  # the shift explains it
    _, _, distance = correction.compare(ROW, played(accepted=0.5, predicted=0.5), ZERO + 1)
    assert distance == pytest.approx(0.1**2 / (0.25 * 2 / 1000))  # from the 1000 people of the epoch before
    assert correction.amount[0, 0, 0] == pytest.approx(0.1 * 750 / 1750)


def test_resets_forget() -> None:
    grid, shift = filled(GridCorrection, {"R": 2, "G": 1, "K": 3}), filled(ShiftCorrection, {"R": 2, "G": 1})
    for array in (grid.counts, grid.excess, grid.trials, shift.amount, shift.weight, shift.before):
        array[:] = 1.0
    grid.reset(np.array([1]))
    shift.reset(np.array([1]))
    assert grid.counts.sum(axis=(0, 2, 3)).tolist() == [12.0, 0.0]
    assert grid.trials.tolist() == grid.excess.tolist() == [1.0, 0.0]
    assert shift.amount.sum(axis=(0, 2)).tolist() == shift.before.sum(axis=(0, 2)).tolist() == [2.0, 0.0]


def test_labels_that_have_not_arrived_are_unknown_not_bad() -> None:
    play = played(accepted=0.6, predicted=0.5)
    play.tally[2:4, 0, 0] = 60.0, 30.0  # of 600 people accepted, 60 labels are known, half of them positive
    assert play.shown(ROW)[2] == pytest.approx(300.0)
    play.tally[2:4] = 0.0
    assert play.shown(ROW)[2] == pytest.approx(250.0)  # as predicted
