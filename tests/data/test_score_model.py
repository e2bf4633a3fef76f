"""The score is the logit of a regression on the features alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairgate.data import Dataset, features, load_dataset, score_model, scores
from fairgate.errors import InputError

NAMES = ("german", "compas")


@pytest.fixture(params=NAMES)
def dataset(request: pytest.FixtureRequest) -> Dataset:
    return load_dataset(request.param)


def test_there_is_one_finite_score_a_person(dataset: Dataset) -> None:
    found = scores(dataset)
    assert found.dtype == np.float64
    assert found.shape == dataset.labels.shape
    assert np.isfinite(found).all()


def test_the_same_dataset_gives_the_same_scores(dataset: Dataset) -> None:
    np.testing.assert_array_equal(scores(dataset), scores(dataset))


@pytest.mark.parametrize(("name", "low", "high"), [("german", 0.82, 0.84), ("compas", 0.72, 0.74)])
def test_scores_rank_labels_as_well_as_written_down(name: str, low: float, high: float) -> None:
    dataset = load_dataset(name)
    assert low < roc_auc_score(dataset.labels, scores(dataset)) < high


def test_the_mean_predicted_probability_is_the_share_of_positives(dataset: Dataset) -> None:
    # A logistic regression with a free intercept matches the mean of its labels.
    probabilities = 1 / (1 + np.exp(-scores(dataset)))
    assert probabilities.mean() == pytest.approx(dataset.labels.mean(), abs=1e-3)


def test_a_score_is_the_log_odds_of_the_predicted_probability(dataset: Dataset) -> None:
    rows = features(dataset)
    probability = score_model().fit(rows, dataset.labels).predict_proba(rows)[:, 1]
    np.testing.assert_allclose(scores(dataset), np.log(probability / (1 - probability)), rtol=1e-9, atol=1e-9)


def test_permuting_groups_does_not_change_scores(dataset: Dataset) -> None:
    shuffled = np.random.default_rng(0).permutation(dataset.groups)
    assert (shuffled != dataset.groups).any()
    np.testing.assert_array_equal(scores(replace(dataset, groups=shuffled)), scores(dataset))


def test_scores_do_not_depend_on_which_group_is_asked_for() -> None:
    np.testing.assert_array_equal(scores(load_dataset("compas", "race")), scores(load_dataset("compas", "sex")))


@pytest.mark.parametrize(("name", "gain"), [("german", 1), ("compas", -1)])
def test_sex_as_a_feature_moves_each_group_towards_its_share_of_positives(name: str, gain: int) -> None:
    """Men have the larger share in german, women in compas; the regression then predicts each group's share."""
    blind, seeing = load_dataset(name), load_dataset(name, features=["sex"])
    apart = [np.subtract(*(scores(each)[each.groups == group].mean() for group in (1, 0))) for each in (blind, seeing)]
    assert gain * (apart[1] - apart[0]) > 0.2
    for group in (0, 1):
        member = seeing.groups == group
        predicted = 1 / (1 + np.exp(-scores(seeing)[member]))
        assert predicted.mean() == pytest.approx(seeing.labels[member].mean(), abs=0.01)


def test_the_model_sees_numbers_standardised_and_text_one_hot(dataset: Dataset) -> None:
    made = score_model().named_steps["features"].fit_transform(features(dataset))
    made = made if isinstance(made, np.ndarray) else made.toarray()
    width = sum(len(np.unique(column)) for column in dataset.categorical.T)
    one_hot, numbers = made[:, :width], made[:, width:]
    assert set(np.unique(one_hot)) == {0.0, 1.0}
    assert (one_hot.sum(axis=1) == len(dataset.categorical_names)).all()
    assert numbers.shape == dataset.numeric.shape
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(numbers.std(axis=0), 1, atol=1e-9)


def test_a_category_not_seen_in_the_fit_can_be_scored() -> None:
    dataset = load_dataset("compas")
    rows = features(dataset)
    model = score_model().fit(rows, dataset.labels)
    newcomer = rows[:1].copy()
    newcomer[0, -1] = "infraction"
    assert np.isfinite(model.decision_function(newcomer)).all()


def test_labels_that_are_all_the_same_are_refused(dataset: Dataset) -> None:
    with pytest.raises(InputError, match="are all the same, expected both 0 and 1"):
        scores(replace(dataset, labels=np.ones_like(dataset.labels)))


@pytest.mark.slow
def test_importing_the_data_package_does_not_import_scikit_learn() -> None:
    code = "import sys, fairgate.data; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
