"""FairThresholdClassifier as people use it: in searches, saved, on any kind of column, batch by batch, and wrongly."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.sklearn import FairThresholdClassifier, FeasibilityWarning
from tests.classifier.people import People, Score

PARITY = [fg.DemographicParity(0.2)]
IMPOSSIBLE: list[Constraint] = [fg.ServiceRate(0.6, 0.7), fg.Budget(0.5)]


@pytest.fixture
def people() -> People:
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 300)
    features = rng.normal(size=(300, 3)) + 0.3 * (groups == "b")[:, None]
    return People(features, (rng.random(300) < 1 / (1 + np.exp(-2 * features[:, 0]))).astype(np.int64), groups)


# In scikit-learn's tools


def test_a_search_over_cost_and_over_the_estimators_own_settings(people: People) -> None:
    options = {"cost": [0.5, 2.0], "estimator__C": [0.1, 1.0]}
    model = FairThresholdClassifier(LogisticRegression(), constraints=PARITY)
    search = GridSearchCV(model, options, cv=3).fit(*people[:2], sensitive_features=people.groups)
    assert set(search.best_params_) == set(options)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=False)
        routed = GridSearchCV(model, options, cv=3).fit(*people[:2], sensitive_features=people.groups)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], routed.cv_results_["mean_test_score"])


def test_cross_validation_hands_groups_to_fit(people: People) -> None:
    model = FairThresholdClassifier(constraints=PARITY).set_params(n_jobs=1)
    plain = cross_val_score(model, *people[:2], cv=3, params={"sensitive_features": people.groups})
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=False)
        routed = cross_val_score(model, *people[:2], cv=3, params={"sensitive_features": people.groups})
    np.testing.assert_array_equal(plain, routed)


@pytest.mark.parametrize("per_group", [False, True])
def test_the_last_step_of_a_pipeline(people: People, per_group: bool) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        gate = FairThresholdClassifier(constraints=PARITY, per_group=per_group, grid=20)
        gate.set_fit_request(sensitive_features=True).set_predict_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), gate).fit(*people[:2], sensitive_features=people.groups)
        routed = pipeline.predict(people.features, sensitive_features=people.groups)
    pipeline.fit(*people[:2], fairthresholdclassifier__sensitive_features=people.groups)
    np.testing.assert_array_equal(routed, pipeline.predict(people.features, sensitive_features=people.groups))


def test_joblib_saves_it(people: People, tmp_path: Path) -> None:
    model = FairThresholdClassifier(constraints=PARITY, per_group=True, grid=20).fit(*people)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert again.thresholds_ == model.thresholds_
    np.testing.assert_array_equal(
        again.predict(people.features, people.groups), model.predict(people.features, people.groups)
    )


def test_folds_in_parallel_come_to_the_same(people: People) -> None:
    one, two = (FairThresholdClassifier(constraints=PARITY, n_jobs=jobs).fit(*people) for jobs in (1, 2))
    assert one.threshold_ == two.threshold_


# Columns


COLUMNS = {
    "list": lambda groups: groups.tolist(),
    "numpy scalars": list,
    "objects": lambda groups: groups.astype(object),
    "whole numbers": lambda groups: (groups == "b").astype(int),
    "booleans": lambda groups: groups == "b",
    "index of its own": lambda groups: pd.Series(groups, index=range(1000, 1300)),
    "categories": lambda groups: pd.Series(groups, dtype="category"),
    "text of Arrow": lambda groups: pd.Series(groups, dtype="string[pyarrow]"),
    "Arrow": lambda groups: pa.chunked_array([groups.tolist()]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_any_kind_of_column_says_the_same(people: People, kind: str) -> None:
    groups = COLUMNS[kind](people.groups)  # type: ignore[no-untyped-call]
    model = FairThresholdClassifier(constraints=PARITY, per_group=True, grid=20)
    expected = clone(model).fit(*people)
    model.fit(*people[:2], sensitive_features=groups)
    assert list(model.thresholds_.values()) == list(expected.thresholds_.values())
    assert all(type(name) in (str, int, bool) for name in model.thresholds_)
    assert model.predict(people.features, groups).mean() == expected.predict(people.features, people.groups).mean()


@pytest.mark.parametrize("kind", [str, object, "category", "string"])
def test_labels_of_any_kind(people: People, kind: Any) -> None:
    words = np.where(people.labels, "good", "bad")
    given = words.astype(kind) if kind in (str, object) else pd.Series(words, dtype=kind)
    model = FairThresholdClassifier(constraints=PARITY, pos_label="good").fit(people.features, given, people.groups)
    plain = FairThresholdClassifier(constraints=PARITY).fit(*people)
    assert model.threshold_ == plain.threshold_
    np.testing.assert_array_equal(model.predict(people.features) == "good", plain.predict(people.features))


# The choice


class RejectsOneAndTheFirstRare:
    """Of group 0 exactly so many are rejected, of group 1 nobody."""

    names = ("exactly",)

    def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
        rejected = counts.people - counts.accepted
        return [np.abs(rejected[..., 0] - (1 + 1e-6)) + rejected[..., 1] - 1e-9]


def test_a_rare_score_is_a_candidate_of_its_group_as_well() -> None:
    """Every threshold is tried if there are no more than `grid`, however few people lie between two of them."""
    scores, weights = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 3.0]), np.array([1.0, 1e-6, 1e-6, 1.0, 1.0, 1.0])
    model = FairThresholdClassifier(Score(), cv="prefit", per_group=True, constraints=[RejectsOneAndTheFirstRare()])
    model.fit(scores[:, None], [0, 0, 1, 1, 0, 1], sensitive_features=list("aaaabb"), sample_weight=weights)
    assert model.feasible_
    assert model.thresholds_ == {"a": 1.5, "b": -np.inf}


def test_a_group_of_no_weight_gets_the_shared_threshold() -> None:
    rng = np.random.default_rng(1)
    groups, features = np.array(["a", "b", "c"] * 100), rng.normal(size=(300, 1))
    features[groups == "b"] += 1.0
    labels = (rng.random(300) < 1 / (1 + np.exp(-2 * features[:, 0] + (groups == "b")))).astype(int)
    model = FairThresholdClassifier(Score(), cv="prefit", constraints=PARITY)
    options: dict[str, Any] = {"sensitive_features": groups, "sample_weight": (groups != "c").astype(float)}
    shared = clone(model).fit(features, labels, **options)
    model.set_params(per_group=True).fit(features, labels, **options)
    assert model.thresholds_["a"] != model.thresholds_["b"]
    assert model.thresholds_["c"] == shared.threshold_


def test_what_is_fitted_does_not_change_with_the_settings(people: People) -> None:
    model = FairThresholdClassifier(constraints=PARITY).fit(*people)
    before = model.predict(people.features)
    model.set_params(per_group=True, pos_label=0, response_method="decision_function")
    np.testing.assert_array_equal(model.predict(people.features), before)
    grouped = FairThresholdClassifier(constraints=PARITY, per_group=True, grid=20).fit(*people)
    grouped.set_params(per_group=False)
    with pytest.raises(fg.InputError, match=r"^sensitive_features must be given to predict"):
        grouped.predict(people.features)


def test_a_warning_made_an_error_leaves_a_fitted_model(people: People) -> None:
    model = FairThresholdClassifier(constraints=IMPOSSIBLE)
    with pytest.raises(FeasibilityWarning):  # as it is in these tests
        model.fit(*people)
    assert model.feasible_ is False
    assert model.predict(people.features).shape == (300,)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_the_warning_points_at_the_call(people: People, method: str) -> None:
    model = FairThresholdClassifier(constraints=IMPOSSIBLE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model, method)(*people[:2], sensitive_features=people.groups)
    assert [each.filename for each in caught] == [__file__]


# Batches


@pytest.mark.parametrize("per_group", [False, True])
def test_groups_of_the_first_batch_are_not_forgotten(people: People, per_group: bool) -> None:
    features, labels, groups = people
    model = FairThresholdClassifier(GaussianNB(), constraints=PARITY, per_group=per_group, grid=20)
    model.partial_fit(features[:100], labels[:100], classes=[0, 1], sensitive_features=groups[:100])
    only = groups == "a"
    model.partial_fit(features[only], labels[only], sensitive_features=groups[only])
    assert model.thresholds_["b"] == model.thresholds_["a"]  # nobody of b has been scored yet
    model.partial_fit(features[:1], labels[:1], sensitive_features=["c"])
    assert list(model.thresholds_) == ["a", "b", "c"]
    assert model.predict(features, sensitive_features=groups).shape == (300,)


def test_the_first_batch_may_have_one_group_whatever_the_estimator(people: People) -> None:
    features, labels, groups = people
    first, second = groups == "a", groups == "b"
    model = FairThresholdClassifier(LogisticRegression(), constraints=PARITY)
    model.partial_fit(features[first], labels[first], sensitive_features=groups[first])
    assert list(model.thresholds_) == ["a"]
    model.partial_fit(features[second], labels[second], sensitive_features=groups[second])
    assert list(model.thresholds_) == ["a", "b"]


def test_a_frozen_estimator_stays_as_it_is(people: People) -> None:
    inner = SGDClassifier(random_state=0).fit(*people[:2])
    before, frozen = inner.coef_.copy(), FrozenEstimator(inner)
    batches = FairThresholdClassifier(frozen, constraints=PARITY)
    for part in np.array_split(np.arange(300), 3):
        batches.partial_fit(people.features[part], people.labels[part], sensitive_features=people.groups[part])
    np.testing.assert_array_equal(inner.coef_, before)
    for cv in (5, "prefit"):
        whole = clone(FairThresholdClassifier(frozen, constraints=PARITY, cv=cv)).fit(*people)
        assert whole.threshold_ == batches.threshold_


def test_weights_go_to_the_method_that_takes_them(people: People) -> None:
    class Fussy(GaussianNB):  # type: ignore[misc]
        def partial_fit(self, features: Any, labels: Any, classes: Any = None) -> Any:
            return super().partial_fit(features, labels, classes)

    model = FairThresholdClassifier(Fussy(), constraints=[])
    for _ in range(2):
        model.partial_fit(*people[:2], classes=[0, 1], sample_weight=np.ones(300))
    assert model.feasible_


def test_nothing_is_learnt_from_a_batch_that_is_refused(people: People) -> None:
    class Fragile:
        names = ("fragile",)

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [np.where(counts.total > 300, np.nan, 0.0)]

    model = FairThresholdClassifier(GaussianNB(), constraints=[Fragile()])
    for _ in range(2):
        model.partial_fit(*people[:2], classes=[0, 1])
    before = pickle.dumps(model.estimator_)
    with pytest.raises(fg.InputError, match=r"residual 'fragile' is NaN"):
        model.partial_fit(*people[:2])
    assert pickle.dumps(model.estimator_) == before


# What cannot be used


@pytest.mark.parametrize(
    ("settings", "changed", "sentence"),
    [
        ({}, {"sensitive_features": "sex"}, r"sensitive_features must be one column of groups, got str"),
        ({}, {"sensitive_features": {"sex": 1}}, r"sensitive_features must be one column of groups, got dict"),
        (
            {},
            {"sensitive_features": [["a"], ["a"], ["a", "b"], ["b"]]},
            r"sensitive_features must be of one kind that can be sorted, got list",
        ),
        (
            {},
            {"sensitive_features": np.ma.array([0, 1, 0, 1], mask=[False, False, True, False])},
            r"sensitive_features must name a group for everybody, got None at position 2",
        ),
        ({}, {"y": ["good", None, "good", "bad"]}, r"y must have a label for everybody, got None at position 1"),
        (
            {},
            {"y": np.array(["a", 1, 1, "a"], dtype=object)},
            r"y must be of one kind that can be sorted, got int, str",
        ),
        ({}, {"X": np.zeros((0, 1)), "y": []}, r"X must have at least one row, got none"),
        ({}, {"X": None}, r"X must have at least one row, got None"),
        ({"constraints": [fg.DemographicParity]}, {}, r"constraints must be a list such as .*, got \[<class .*>\]"),
        ({"constraints": ["parity"]}, {}, r"constraints must be a list such as .*, got \['parity'\]"),
        ({"per_group": "yes"}, {}, r"per_group must be True or False, got 'yes'"),
        ({"pos_label": [1]}, {}, r"pos_label must be one of \[0, 1\], got \[1\]"),
        (
            {"estimator": LogisticRegression},
            {},
            r"estimator must be an estimator such as LogisticRegression\(\), got the class itself",
        ),
        ({"cv": 1}, {}, r"cv must be able to split 4 people, got 1: .*"),
        ({"cv": 5}, {}, r"cv must be able to split 4 people, got 5: .*"),
        ({"cv": GroupKFold(2)}, {}, r"cv must be able to split 4 people, got GroupKFold\(.*\): .*"),
        ({"cv": []}, {}, r"cv must make at least one split, got \[\]"),
    ],
)
def test_one_sentence_says_what_is_wrong(settings: dict[str, Any], changed: dict[str, Any], sentence: str) -> None:
    model = FairThresholdClassifier(**{"estimator": LogisticRegression(), "cv": 2, **settings})
    with pytest.raises(fg.InputError, match=f"^{sentence}$"):
        model.fit(**{"X": np.arange(4.0)[:, None], "y": [0, 1, 0, 1], **changed})


def test_classes_do_not_change_between_batches(people: People) -> None:
    model = FairThresholdClassifier(GaussianNB(), constraints=[])
    model.partial_fit(*people[:2], classes=[0, 1])
    with pytest.raises(fg.InputError, match=r"^classes must be those the estimator knows, \[0, 1\], got \[1, 2\]$"):
        model.partial_fit(*people[:2], classes=[1, 2])


def test_an_estimator_that_clone_unfitted_is_told_apart(people: People) -> None:
    model = clone(FairThresholdClassifier(LogisticRegression().fit(*people[:2]), cv="prefit"))
    with pytest.raises(NotFittedError, match=r"^estimator must be fitted already .* sklearn\.frozen\.FrozenEstimator$"):
        model.fit(*people)


@pytest.mark.parametrize("constraints", [PARITY, [fg.DemographicParity(0.0), fg.ServiceRate(0.3, 0.6)]])
@pytest.mark.parametrize("per_group", [False, True])
def test_feasible_and_the_best_of_the_curve_are_about_the_same_thresholds(
    people: People, per_group: bool, constraints: list[fg.constraints.Constraint]
) -> None:
    """Thresholds by group may be feasible where no shared one is."""
    model = FairThresholdClassifier(constraints=constraints, per_group=per_group, grid=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeasibilityWarning)
        model.fit(*people)
    best = model.curve_.best
    assert best.feasible == model.feasible_
    shared = set(model.thresholds_.values())
    assert np.isnan(best.threshold) if len(shared) > 1 else best.threshold in shared
