"""Parts of learners: what they say of one loop is what the parts for many replicates say of one replicate."""

from __future__ import annotations

from collections import Counter

import numpy as np

import fairgate as fg
from fairgate.core.learners.components.chance import any_of, happens, normal, side
from fairgate.core.learners.components.drift_models import DriftModels
from fairgate.core.learners.components.epochs import pooled
from fairgate.core.learners.components.location_scale import LocationScale
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.played import arm_played, as_proposed
from fairgate.core.learners.components.uniform import feasible_window
from fairgate.core.learners.components.worth import Rates, worth
from fairgate.core.policy import Policy
from fairgate.learners import drift_models as of_many
from fairgate.learners.baselines.location_scale_model import LocationScaleModel
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.shapes import filled
from fairgate.random import Draws, Purpose
from tests.core.learners.cases import setting_of

GROUPS, ARMS, FEATURES = 2, 5, 3


def test_chance_is_uniform_fair_and_normal() -> None:
    words = Draws.of(0, 0, 0).words(Purpose.LEARNER, 40_000)
    assert abs(happens(words, 0.3).mean() - 0.3) < 0.01
    assert abs(side(words).mean()) < 0.02
    assert min(Counter(any_of(words, 7).tolist()).values()) > 5400
    drawn = normal(words)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - 1.0) < 0.02
    assert abs((drawn < -1.0).mean() - 0.1587) < 0.008


def test_a_batch_counts_for_the_threshold_that_all_were_held_to() -> None:
    grid = np.linspace(0.0, 1.0, 3)
    assert arm_played(grid, Policy.at(np.array(0.5))).tolist() == [0, 1, 0]
    assert arm_played(grid, Policy.per_group(np.array([0.5, 0.5]))).tolist() == [0, 1, 0]
    assert arm_played(grid, Policy.lottery(np.array([0.5, np.inf]), np.array([1.0, 0.0]))).tolist() == [0, 1, 0]
    for other in (
        Policy.at(np.array(0.4)),
        Policy.at(np.array(-np.inf)),
        Policy.per_group(np.array([0.5, 1.0])),
        Policy.lottery(np.array([0.5, np.inf]), np.array([0.9, 0.1])),
    ):
        assert arm_played(grid, other).sum() == 0.0
        assert not as_proposed(grid, other, np.array(0.5))


def test_one_of_two_records_is_chosen_whole() -> None:
    one, other = Policy.at(np.array(0.0)), Policy.at(np.array(1.0))
    assert either(np.array(True), one, other) is one
    assert either(np.array(False), one, other) is other


def test_residuals_on_decisions_are_read_off_summed_counts() -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.OutcomeImprovement(), fg.DemographicParity(0.1)])
    found = pooled(problem, np.array([0.3, -0.2, 9.0]), np.array([100.0, 50.0]), np.array([60.0, 10.0]))
    np.testing.assert_allclose(found, [0.3, -0.2, 0.4 - 0.1])


def test_worth_is_that_of_many_replicates() -> None:
    rng = np.random.default_rng(3)
    shape = GROUPS, ARMS
    accepted = rng.random(shape)
    positives = accepted * rng.random(shape)
    everybody = positives + (1.0 - accepted) * rng.random(shape)
    shares, errors = np.array([0.3, 0.7]), 0.1 * rng.random((2, *shape))
    problem = fg.Problem(fg.Utility(0.7), [fg.DemographicParity(0.1), fg.OutcomeImprovement()])
    found = worth(problem, Rates(shares, accepted, positives, everybody, *errors))
    many = (each[None] for each in (shares, accepted, positives, everybody, *errors))
    for ours, theirs in zip(found, Prediction(*many).value(problem), strict=True):
        np.testing.assert_allclose(ours, theirs[:, 0], atol=1e-12)


def test_drift_models_are_those_of_many_replicates() -> None:
    rng, spread = np.random.default_rng(4), np.array([1.0, 0.5, 0.2])
    setting = setting_of()
    ours = DriftModels.unknown(setting, spread)
    theirs = of_many.DriftModels.of({"R": 1, "G": GROUPS, "F": FEATURES}, spread)
    for number in range(60):
        features, direction = rng.normal(size=(2, GROUPS, FEATURES))
        ours = ours.begun(features, direction, np.array(5.0))
        theirs.begin(np.ones(1, bool), features[None], direction[None], np.full(1, 5))
        for _ in range(2):
            features = rng.normal(size=(GROUPS, FEATURES))
            weight, value = rng.uniform(0.0, 500.0, GROUPS) * (number % 7 > 0), rng.normal(size=GROUPS)
            ours = ours.with_value(features, weight, value)
            theirs.add(features[None], weight[None], value[None])
        ours = ours.ended()
        theirs.end(np.ones(1, bool))
    believed, (means, covariance) = ours.believed(), theirs.solved()
    np.testing.assert_allclose(ours.support, theirs.support[:, 0], rtol=1e-6)
    np.testing.assert_allclose(believed.mean, means[0], rtol=1e-6)
    np.testing.assert_allclose(believed.covariance, covariance[0], rtol=1e-6)


def test_the_window_of_feasible_lotteries_is_that_of_many_replicates() -> None:
    for name in ("interior", "german", "german-strict"):
        task = fg.load_task(name)
        np.testing.assert_allclose(feasible_window(task.problem, 2), acceptance_window(task.problem, 2)[:, 0])


def test_a_location_scale_family_is_that_of_many_replicates() -> None:
    rng, setting = np.random.default_rng(5), setting_of()
    ours = LocationScale.unknown(setting)
    theirs = filled(LocationScaleModel, {"R": 1, "G": GROUPS})
    for threshold in (0.25, 0.75, 0.5, 0.0):
        labels = rng.integers(0, 40, (GROUPS, ARMS + 1, 2)).astype(np.float64)
        scores = labels.sum(axis=2) + rng.integers(0, 9, (GROUPS, ARMS + 1))
        ours = ours.faded(np.array(0.9)).with_epoch(setting.grid, np.array(threshold), scores, labels)
        theirs.fade(np.array([0.9]), np.ones(1, bool))
        theirs.add(setting.grid, np.array([threshold]), scores[None], labels[None], np.ones(1, bool))
    found, wanted = ours.rates(setting.grid), theirs.predict(setting.grid)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other[0], atol=1e-9)
