"""FairThresholdClassifier keeps scikit-learn's contracts and chooses the threshold that a slow reference chooses."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import sklearn
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    equalized_odds_difference,
    selection_rate,
    true_positive_rate_difference,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.sklearn import FairThresholdClassifier, FeasibilityWarning
from tests.classifier.people import People, Score, draw


def at(fitted: FairThresholdClassifier, people: People, threshold: float) -> NDArray[np.int64]:
    """What it predicts with another threshold."""
    moved = pickle.loads(pickle.dumps(fitted))
    moved.thresholds_ = dict.fromkeys(fitted.thresholds_, threshold)
    return np.asarray(moved.predict(people.features))


@pytest.fixture
def people() -> People:
    return draw(400)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


THRESHOLD_IS_OURS = {
    "check_classifiers_train": "predict follows the chosen threshold, not probability 0.5 or decision value 0"
}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [FairThresholdClassifier(), FairThresholdClassifier(GaussianNB(), cost=1.2, cv=3)],
    expected_failed_checks=lambda _: THRESHOLD_IS_OURS,
)
def test_scikit_learn_finds_no_fault(estimator: Any, check: Any) -> None:
    check(estimator)


def test_what_the_excluded_check_asserts_besides_the_threshold_holds(people: People) -> None:
    model = FairThresholdClassifier().fit(people.features.tolist(), people.labels.tolist())
    assert model.predict(people.features).shape == (400,)
    assert model.score(people.features, people.labels) > 0.6
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="expecting 3 features"):
            method(people.features[:, :2])


# The curve


def test_the_curve_is_what_predicting_at_each_threshold_gives_by_fairlearns_metrics(people: People) -> None:
    constraints: list[Constraint] = [
        fg.DemographicParity(0.1),
        fg.ServiceRate(0.2, 0.6),
        fg.GroupService(0.3, 0.9),
        fg.DisparateImpact(0.8),
        fg.Budget(0.5),
        fg.EqualOpportunity(0.1),
        fg.EqualisedOdds(0.1),
    ]
    features, labels, groups = people
    prefit = LogisticRegression().fit(features[:200], labels[:200])
    model = FairThresholdClassifier(prefit, constraints=constraints, cost=1.5, cv="prefit")
    with pytest.warns(FeasibilityWarning):
        model.fit(features, labels, sensitive_features=groups)
    curve = model.curve_
    assert len(curve.thresholds) == 401  # all between two of 400 distinct scores, with both ends
    for k in range(0, 401, 8):
        d = at(model, people, curve.thresholds[k])
        rates = MetricFrame(
            metrics=selection_rate, y_true=labels, y_pred=d, sensitive_features=groups
        ).by_group.to_numpy()
        parity = demographic_parity_difference(labels, d, sensitive_features=groups)
        opportunity = true_positive_rate_difference(labels, d, sensitive_features=groups)
        expected = [
            parity - 0.1,
            0.2 - d.mean(),
            d.mean() - 0.6,
            0.3 - rates.min(),
            rates.max() - 0.9,
            0.8 * rates.max() - rates.min(),
            d.mean() - 0.5,
            opportunity - 0.1,
        ]
        assert curve.reward[k] == pytest.approx(np.mean(d * (labels - 1.5 * (1 - labels))))
        assert curve.acceptance[k] == pytest.approx(d.mean())
        assert curve.gap[k] == pytest.approx(parity)
        np.testing.assert_allclose(curve.residuals[:8, k], expected, atol=1e-12)
        odds = equalized_odds_difference(labels, d, sensitive_features=groups)
        assert curve.residuals[8:, k].max() == pytest.approx(odds - 0.1)


def test_the_threshold_is_chosen_on_out_of_fold_scores(people: People) -> None:
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    model = FairThresholdClassifier(cv=folds).fit(people.features, people.labels, sensitive_features=people.groups)
    scores = cross_val_predict(LogisticRegression(), people.features, people.labels, cv=folds, method="predict_proba")[
        :, 1
    ]
    best = -np.inf
    for threshold in (-np.inf, *np.sort(scores), np.inf):
        d = scores >= threshold
        if abs(d[people.groups == "a"].mean() - d[people.groups == "b"].mean()) <= 0.05:
            best = max(best, np.mean(d * (2 * people.labels - 1)))
    chosen = scores >= model.threshold_
    assert model.feasible_
    assert np.mean(chosen * (2 * people.labels - 1)) == pytest.approx(best)
    np.testing.assert_allclose(
        model.predict_proba(people.features), LogisticRegression().fit(*people[:2]).predict_proba(people.features)
    )


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.booleans()), min_size=4, max_size=40), st.data())
@settings(max_examples=40)
def test_tied_scores_weights_and_a_thinned_grid_change_no_figure(rows: list[tuple[int, bool, bool]], data: Any) -> None:
    scores, labels, groups = (np.array(column).astype(int) for column in zip(*rows, strict=True))
    groups[:2] = (0, 1)
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows))))
    model = FairThresholdClassifier(Score(), constraints=[fg.DemographicParity(1.0)], cv="prefit")
    given_weights = clone(model).set_params(grid=5)
    given_weights.fit(scores[:, None], labels, sensitive_features=groups, sample_weight=weights)
    scores, labels, groups = (np.repeat(column, weights) for column in (scores, labels, groups))
    model.fit(scores[:, None], labels, sensitive_features=groups)
    assert len(given_weights.curve_.thresholds) <= 5
    for k, threshold in enumerate(given_weights.curve_.thresholds):
        d = scores >= threshold
        assert given_weights.curve_.acceptance[k] == pytest.approx(d.mean())
        same = np.flatnonzero(model.curve_.thresholds == threshold)
        if len(same):
            np.testing.assert_allclose(given_weights.curve_.residuals[:, k], model.curve_.residuals[:, same[0]])
            np.testing.assert_allclose(given_weights.curve_.reward[k], model.curve_.reward[same[0]])


def test_candidates_can_be_given(people: People) -> None:
    grid = [0.2, 0.5, 0.8]
    model = FairThresholdClassifier(grid=grid, constraints=[]).fit(people.features, people.labels)
    scores = cross_val_predict(LogisticRegression(), *people[:2], cv=5, method="predict_proba")[:, 1]
    assert model.curve_.thresholds.tolist() == grid
    np.testing.assert_allclose(model.curve_.acceptance, [(scores >= each).mean() for each in grid])


def test_neighbouring_floats_are_told_apart() -> None:
    scores = np.array([0.0, np.nextafter(0.0, 1.0), 1.0, np.nextafter(1.0, 2.0)])
    fitted = FairThresholdClassifier(Score(), cv="prefit").fit(scores[:, None], [0, 0, 0, 1])
    assert fitted.predict(scores[:, None]).tolist() == [0, 0, 0, 1]


# The choice


def test_constraints_hold_on_new_people() -> None:
    constraints: list[Constraint] = [fg.DemographicParity(0.05), fg.ServiceRate(0.1, 0.9)]
    train, test = draw(40_000, seed=1, shift=0.2), draw(40_000, seed=2, shift=0.2)
    for per_group in (False, True):
        model = FairThresholdClassifier(constraints=constraints, per_group=per_group)
        model.fit(train.features, train.labels, sensitive_features=train.groups)
        d = model.predict(test.features, sensitive_features=test.groups)
        # Four standard errors of a difference of two rates of 20,000 people, in fit and here: 4 · √(4 · 0.25 / 20,000).
        assert demographic_parity_difference(test.labels, d, sensitive_features=test.groups) < 0.05 + 0.03
        assert 0.1 - 0.02 < d.mean() < 0.9 + 0.02


def test_without_groups_or_constraints_reward_alone_counts(people: People) -> None:
    model = FairThresholdClassifier(cost=2.0).fit(people.features, people.labels)
    assert model.feasible_
    assert model.curve_.residuals.shape[0] == 0
    assert model.thresholds_ == {None: model.threshold_}
    assert model.curve_.reward.max() == model.curve_.reward[model.curve_.thresholds == model.threshold_][0]


def test_groups_bring_demographic_parity_by_default(people: People) -> None:
    model = FairThresholdClassifier().fit(people.features, people.labels, sensitive_features=people.groups)
    np.testing.assert_allclose(model.curve_.residuals, [model.curve_.gap - 0.05])


def test_what_cannot_be_met_is_missed_least_and_said(people: People) -> None:
    impossible: list[Constraint] = [fg.ServiceRate(0.6, 0.7), fg.Budget(0.5)]
    model = FairThresholdClassifier(constraints=impossible)
    with pytest.warns(FeasibilityWarning, match=r"^no threshold meets every constraint .* misses .* by 0\.\d+$"):
        model.fit(people.features, people.labels)
    assert not model.feasible_
    found = model.curve_.acceptance[model.curve_.thresholds == model.threshold_][0]
    assert 0.5 <= found <= 0.6  # the two violations add up to the same all along the way


def test_a_users_own_constraint(people: People) -> None:
    class AtMostSoManyBad:
        names = ("bad",)

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [counts.cells[..., 0, 1].sum(axis=-1) / counts.total - 0.05]

    model = FairThresholdClassifier(constraints=[AtMostSoManyBad()], cost=0.0).fit(people.features, people.labels)
    place = np.flatnonzero(model.curve_.thresholds == model.threshold_)[0]
    assert -0.01 < model.curve_.residuals[0, place] <= 0.0


def test_a_constraint_that_gives_no_number_is_refused(people: People) -> None:
    class Broken:
        names = ("broken",)

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [np.full(counts.total.shape, np.nan)]

    with pytest.raises(fg.InputError, match=r"residual 'broken' is NaN"):
        FairThresholdClassifier(constraints=[Broken()]).fit(people.features, people.labels)


def test_a_constraint_whose_residuals_do_not_fit_its_names_is_refused(people: People) -> None:
    class Broken:
        names = ("one", "other")

        def residuals(self, counts: fg.Counts) -> list[NDArray[np.float64]]:
            return [np.zeros(counts.total.shape)]

    with pytest.raises(fg.InputError, match=r"residuals\(counts\) must return one array .* got 1$"):
        FairThresholdClassifier(constraints=[Broken()]).fit(people.features, people.labels)


@pytest.mark.parametrize("positive", ["bad", "good"])
@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()])
def test_either_label_may_be_the_one_to_accept(people: People, positive: str, estimator: Any) -> None:
    words = np.where(people.labels == (positive == "good"), "good", "bad")  # people.labels is 1 for `positive`
    model = FairThresholdClassifier(estimator, pos_label=positive, cv=3, constraints=[fg.Budget(0.3)])
    model.fit(people.features, words)
    accepted = model.predict(people.features) == positive
    assert set(model.predict(people.features)) == {"good", "bad"}
    assert 0.1 < accepted.mean() < 0.4
    assert people.labels[accepted].mean() > people.labels.mean() + 0.1


def test_folds_may_overlap(people: People) -> None:
    model = FairThresholdClassifier(cv=ShuffleSplit(3, test_size=0.5, random_state=0)).fit(*people[:2])
    assert len(model.curve_.thresholds) == 601


# A threshold a group


def best_reward(people: People, epsilon: float) -> float:
    """The highest reward of a feasible combination of thresholds, by trying them all."""
    scores, names = people.features[:, 0], np.unique(people.groups)
    tables = []
    for name in names:
        own, labels = scores[people.groups == name], people.labels[people.groups == name]
        tables.append([((own >= t).mean(), np.sum((own >= t) * (2 * labels - 1))) for t in (*np.unique(own), np.inf)])
    best = -np.inf
    for combination in itertools.product(*tables):
        rates = [rate for rate, _ in combination]
        if max(rates) - min(rates) <= epsilon + 1e-12:
            best = max(best, sum(reward for _, reward in combination) / len(scores))
    return best


@pytest.mark.parametrize(("names", "count"), [("ab", 120), ("abc", 60)])
def test_thresholds_of_groups_are_the_best_combination(names: str, count: int) -> None:
    people = draw(count, seed=3, names=names)
    model = FairThresholdClassifier(Score(), constraints=[fg.DemographicParity(0.05)], per_group=True, cv="prefit")
    model.fit(people.features, people.labels, sensitive_features=people.groups)
    d = model.predict(people.features, sensitive_features=people.groups)
    gap = demographic_parity_difference(people.labels, d, sensitive_features=people.groups)
    assert list(model.thresholds_) == list(names)
    assert not hasattr(model, "threshold_")
    assert gap <= 0.05 + 1e-12
    reached, best = np.mean(d * (2 * people.labels - 1)), best_reward(people, 0.05)
    assert reached == pytest.approx(best) if names == "ab" else best - 0.02 <= reached <= best + 1e-12


@pytest.mark.parametrize("names", ["ab", "abcdef"])
def test_thresholds_of_groups_do_no_worse_than_a_shared_one(names: str) -> None:
    people = draw(3000, seed=4, names=names, shift=0.3)
    model = FairThresholdClassifier(Score(), cv="prefit", grid=200, constraints=[fg.DemographicParity(0.1)])
    shared = clone(model).fit(people.features, people.labels, sensitive_features=people.groups)
    model.set_params(per_group=True).fit(people.features, people.labels, sensitive_features=people.groups)
    reward = [
        np.mean(each.predict(people.features, people.groups) * (2 * people.labels - 1)) for each in (shared, model)
    ]
    assert shared.feasible_
    assert model.feasible_
    assert reward[1] > reward[0] + 0.01  # groups differ, so it is even better


# Batches


@pytest.mark.parametrize("per_group", [False, True])
def test_batches_come_to_the_same_as_all_at_once_for_a_fixed_estimator(people: People, per_group: bool) -> None:
    features, labels, groups = people
    prefit = LogisticRegression().fit(*draw(200, seed=9)[:2])
    model = FairThresholdClassifier(prefit, cv="prefit", cost=1.1, per_group=per_group, grid=150)
    whole = FairThresholdClassifier(**model.get_params(deep=False)).fit(features, labels, sensitive_features=groups)
    order = np.argsort(groups, kind="stable")  # the first batches know one group only
    for part in np.array_split(order, 7):
        model.partial_fit(features[part], labels[part], sensitive_features=groups[part])
    assert model.thresholds_ == whole.thresholds_
    assert model.feasible_ == whole.feasible_
    for name in ("thresholds", "reward", "gap", "acceptance", "residuals"):
        np.testing.assert_array_equal(getattr(model.curve_, name), getattr(whole.curve_, name))
    assert model.estimator_ is prefit


def test_an_estimator_that_learns_is_scored_before_it_learns(people: People) -> None:
    features, labels, groups = people
    model = FairThresholdClassifier(GaussianNB(), constraints=[fg.DemographicParity(0.2)])
    twin, scores = GaussianNB(), []
    for part in np.array_split(np.arange(400), 5):
        model.partial_fit(features[part], labels[part], classes=[0, 1], sensitive_features=groups[part])
        if part[0] == 0:
            assert model.threshold_ == 0.5  # nobody could be scored yet
            assert model.feasible_ is None
        else:
            scores.append(twin.predict_proba(features[part])[:, 1])
        twin.partial_fit(features[part], labels[part], classes=[0, 1])
    np.testing.assert_allclose(model.predict_proba(features), twin.predict_proba(features))
    expected = (np.concatenate(scores) >= model.curve_.thresholds[:, None]).mean(axis=1)
    np.testing.assert_allclose(model.curve_.acceptance, expected)


def test_batches_go_on_from_a_fit(people: People) -> None:
    features, labels, groups = people
    for estimator in (LogisticRegression(), SGDClassifier(random_state=0)):
        model = FairThresholdClassifier(estimator).fit(features, labels, sensitive_features=groups)
        assert len(model.curve_.thresholds) == 401
        more = draw(100, seed=5)
        before = model.decision_function(features)
        model.partial_fit(more.features, more.labels, sensitive_features=more.groups)
        assert len(model.curve_.thresholds) == 501
        assert np.array_equal(before, model.decision_function(features)) == isinstance(estimator, LogisticRegression)


def test_candidates_that_are_given_bound_the_memory(people: People) -> None:
    model = FairThresholdClassifier(Score(), cv="prefit", grid=[-1.0, 0.0, 1.0], constraints=[fg.Budget(0.7)])
    whole = clone(model).fit(people.features, people.labels, sensitive_features=people.groups)
    for part in np.array_split(np.arange(400), 4):
        model.partial_fit(people.features[part], people.labels[part], sensitive_features=people.groups[part])
    assert len(model._scored.scores) == 4
    np.testing.assert_array_equal(model.curve_.residuals, whole.curve_.residuals)


def test_a_batch_that_is_refused_leaves_no_trace(people: People) -> None:
    model = FairThresholdClassifier(GaussianNB(), constraints=[])
    with pytest.raises(fg.InputError, match=r"y must be labels the estimator knows, \[0, 1\], got \[2\]"):
        model.partial_fit(people.features, people.labels + 1, classes=[0, 1])
    with pytest.raises(NotFittedError):
        model.predict(people.features)
    for _ in range(2):
        model.partial_fit(people.features, people.labels, classes=[0, 1])
    with pytest.raises(
        fg.InputError, match=r"^sensitive_features must be given in every call of partial_fit or in none$"
    ):
        model.partial_fit(people.features, people.labels, sensitive_features=people.groups)
    assert len(model.curve_.thresholds) == 401


# Inside scikit-learn


@pytest.mark.usefixtures("routing")
def test_groups_reach_it_through_pipeline_and_grid_search(people: People) -> None:
    model = FairThresholdClassifier(LogisticRegression(), per_group=True, grid=50, cv=3)
    model.set_fit_request(sensitive_features=True).set_predict_request(sensitive_features=True)
    model.set_score_request(sensitive_features=True)
    pipeline = Pipeline([("scale", StandardScaler()), ("gate", model)])
    options = {
        "gate__cost": [0.5, 2.0],
        "gate__constraints": [[fg.DemographicParity(0.05)], [fg.DemographicParity(0.5)]],
    }
    search = GridSearchCV(pipeline, options, cv=3)
    search.fit(people.features, people.labels, sensitive_features=people.groups)
    d = search.best_estimator_.predict(people.features, sensitive_features=people.groups)
    assert set(search.best_params_) == set(options)
    assert d.mean() == pytest.approx(search.score(people.features, np.ones_like(d), sensitive_features=people.groups))


@pytest.mark.usefixtures("routing")
def test_weights_reach_the_estimator_only_if_it_asks_for_them(people: People) -> None:
    weights = np.where(people.groups == "a", 1.0, 3.0)
    silent = FairThresholdClassifier(LogisticRegression().set_fit_request(sample_weight=False), cv=3)
    asking = FairThresholdClassifier(LogisticRegression().set_fit_request(sample_weight=True), cv=3)
    plain = LogisticRegression().fit(people.features, people.labels)
    weighted = LogisticRegression().fit(people.features, people.labels, sample_weight=weights)
    for model, reference in ((silent, plain), (asking, weighted), (FairThresholdClassifier(cv=3), weighted)):
        model.fit(people.features, people.labels, sensitive_features=people.groups, sample_weight=weights)
        np.testing.assert_allclose(
            model.decision_function(people.features), reference.decision_function(people.features)
        )


def test_without_routing_a_pipeline_takes_groups_by_step_name(people: People) -> None:
    pipeline = make_pipeline(StandardScaler(), FairThresholdClassifier())
    pipeline.fit(people.features, people.labels, fairthresholdclassifier__sensitive_features=people.groups)
    assert list(pipeline[-1].thresholds_) == ["a", "b"]


def test_further_arguments_reach_the_estimators_fit(people: People) -> None:
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    weights = np.where(people.groups == "a", 0.1, 3.0)
    model = FairThresholdClassifier(inner, cv=3)
    model.fit(people.features, people.labels, logisticregression__sample_weight=weights)
    alone = inner.fit(people.features, people.labels, logisticregression__sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(people.features), alone.predict_proba(people.features))


def test_it_survives_clone_and_pickle(people: People) -> None:
    model = FairThresholdClassifier(constraints=[fg.DemographicParity(0.1)], cost=2.0)
    assert clone(model).get_params() | {"constraints": None} == model.get_params() | {"constraints": None}
    model.fit(people.features, people.labels, sensitive_features=people.groups)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(people.features), model.predict(people.features))
    assert not hasattr(clone(model), "thresholds_")
    more = draw(50, seed=6)
    for each in (model, again):
        each.partial_fit(more.features, more.labels, sensitive_features=more.groups)
    assert again.threshold_ == model.threshold_


def test_tables_and_columns_of_pandas(people: People) -> None:
    table = pd.DataFrame(people.features, columns=["x", "y", "z"])
    for groups in (pd.Series(people.groups), pd.Series(people.groups, dtype="category"), pd.DataFrame(people.groups)):
        model = FairThresholdClassifier(per_group=True, grid=50).fit(table, pd.Series(people.labels), groups)
        assert model.feature_names_in_.tolist() == ["x", "y", "z"]
        assert model.predict(table, groups).mean() == model.predict(table, people.groups).mean()


def test_tables_and_columns_of_polars(people: People) -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(people.features, schema=["x", "y", "z"])
    groups = pl.Series(people.groups.tolist())
    model = FairThresholdClassifier(per_group=True, grid=50).fit(table, pl.Series(people.labels), groups)
    assert model.predict(table, groups).mean() == model.predict(table, people.groups).mean()


# What cannot be used

PREFIT = FairThresholdClassifier(Score(), cv="prefit")


def test_one_group_cannot_be_compared(people: People) -> None:
    with pytest.raises(
        fg.InputError, match=r"^sensitive_features must name at least 2 groups: DemographicParity .* 1 group$"
    ):
        FairThresholdClassifier().fit(people.features, people.labels, sensitive_features=["a"] * 400)
    with pytest.raises(
        fg.InputError, match=r"^sensitive_features must name at least 2 groups: DemographicParity .* 1 group$"
    ):
        FairThresholdClassifier(constraints=[fg.DemographicParity(0.1)]).fit(people.features, people.labels)
    model = FairThresholdClassifier(constraints=[fg.Budget(0.4)], per_group=True)
    model.fit(people.features, people.labels, sensitive_features=["a"] * 400)  # nothing is compared
    assert list(model.thresholds_) == ["a"]


def test_a_group_never_seen_has_no_threshold(people: People) -> None:
    groups = np.where(people.groups == "b", "c", people.groups)
    shared = FairThresholdClassifier().fit(people.features, people.labels, sensitive_features=people.groups)
    shared.predict(people.features, sensitive_features=groups)  # the threshold is everybody's
    model = FairThresholdClassifier(per_group=True, grid=20)
    model.fit(people.features, people.labels, sensitive_features=people.groups)
    with pytest.raises(
        fg.InputError,
        match=r"^sensitive_features must be groups seen in fit when per_group is True, \['a', 'b'\], got 'c'$",
    ):
        model.predict(people.features, sensitive_features=groups)
    with pytest.raises(
        fg.InputError, match=r"^sensitive_features must be given to predict when per_group is True, got None$"
    ):
        model.predict(people.features)
    with pytest.raises(fg.InputError, match=r"^sensitive_features must be given when per_group is True, got None$"):
        model.fit(people.features, people.labels)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
@pytest.mark.parametrize("kind", [list, pd.Series])
def test_a_missing_group_is_refused(people: People, missing: Any, kind: Any) -> None:
    groups = people.groups.tolist()
    groups[7] = missing
    with pytest.raises(
        fg.InputError, match=r"^sensitive_features must name a group for everybody, got \S+ at position 7$"
    ):
        FairThresholdClassifier().fit(people.features, people.labels, sensitive_features=kind(groups))


@pytest.mark.parametrize(
    ("model", "changed", "sentence"),
    [
        (
            PREFIT,
            {"y": [0, 1, 2, 1]},
            r"Only binary classification is supported\. y must have 2 classes, got \[0, 1, 2\]",
        ),
        (
            FairThresholdClassifier(),
            {"y": [1, 1, 1, 1]},
            r"y must have 2 classes, got 1 class of positive weight: \[1\]",
        ),
        (PREFIT, {"y": [0, 7, 0, 0]}, r"y must be labels the estimator knows, \[0, 1\], got \[7\]"),
        (PREFIT, {"y": [0, 1]}, r"y must have one value per row of X, which has 4 rows, got 2 values"),
        (
            PREFIT,
            {"sensitive_features": ["a", "b", "a"]},
            r"sensitive_features must have one value per row of X, which has 4 rows, got 3 values",
        ),
        (
            PREFIT,
            {"sample_weight": [1.0, 1.0]},
            r"sample_weight must have one value per row of X, which has 4 rows, got 2 values",
        ),
        (PREFIT, {"sample_weight": [1, 1, -1, 1]}, r"sample_weight must be at least 0 and not zero .* got -1 to 1"),
        (
            PREFIT,
            {"sensitive_features": [["a", "x"]] * 4},
            r"sensitive_features must be one column, got shape \(4, 2\): join columns into one first",
        ),
        (
            PREFIT,
            {"sensitive_features": ["a", 1, "a", 1]},
            r"sensitive_features must be of one kind that can be sorted, got int, str",
        ),
        (PREFIT, {"weights": [1] * 4}, r"params must be none when cv is 'prefit', which fits nothing, got weights"),
        (FairThresholdClassifier(cost=-1), {}, r"cost must be a finite number of at least 0, got -1"),
        (FairThresholdClassifier(grid=1), {}, r"grid must be a whole number of at least 2, got 1"),
        (FairThresholdClassifier(grid=[0.1, np.nan]), {}, r"grid must be finite, got nan at position 1"),
        (FairThresholdClassifier(cv="five"), {}, r"cv must be a number of folds, a splitter or 'prefit', got 'five'"),
        (FairThresholdClassifier(pos_label=2, cv=2), {}, r"pos_label must be one of \[0, 1\], got 2"),
        (
            FairThresholdClassifier(StandardScaler()),
            {},
            r"estimator must have predict_proba or decision_function, got .*",
        ),
        (
            FairThresholdClassifier(response_method="predict"),
            {},
            r"response_method must be one of 'auto', 'predict_proba', 'decision_function', got 'predict'",
        ),
        (
            FairThresholdClassifier(constraints=fg.Budget(0.5)),  # type: ignore[arg-type]
            {},
            r"constraints must be a list such as \[DemographicParity\(0\.05\)\], got Budget\(share=0\.5\)",
        ),
        (
            FairThresholdClassifier(constraints=[fg.Budget([0.5, 0.6])]),
            {},
            r"constraints must each have one number per setting, got .*",
        ),
    ],
)
def test_one_sentence_says_what_is_wrong(model: Any, changed: dict[str, Any], sentence: str) -> None:
    arguments = {"X": np.arange(4.0)[:, None], "y": [0, 1, 0, 1], **changed}
    with pytest.raises(fg.InputError, match=f"^{sentence}$"):
        model.fit(**arguments)


def test_the_first_batch_must_announce_both_labels(people: People) -> None:
    with pytest.raises(
        fg.InputError, match=r"^classes must be both labels in the first call of partial_fit, got None$"
    ):
        FairThresholdClassifier(GaussianNB()).partial_fit(people.features, people.labels)


def test_prefit_wants_an_estimator_that_is_fitted(people: People) -> None:
    with pytest.raises(NotFittedError):
        FairThresholdClassifier(LogisticRegression(), cv="prefit").fit(people.features, people.labels)


def test_scores_must_be_finite() -> None:
    with pytest.raises(fg.InputError, match=r"^estimator must give finite scores, but its decision_function gave inf$"):
        PREFIT.fit(np.array([[1.0], [np.inf]]), [0, 1])


def test_a_fold_with_one_label_is_refused() -> None:
    splits = [(np.array([0, 2]), np.array([1, 3]))]
    model = FairThresholdClassifier(GaussianNB(), cv=splits)
    with pytest.raises(fg.InputError, match=r"^estimator must be fitted on 2 classes, in every fold of cv, got \[0\]$"):
        model.fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
