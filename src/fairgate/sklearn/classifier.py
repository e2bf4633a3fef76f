"""The classifier: fits or takes an estimator, has a threshold chosen, and keeps scikit-learn's contracts."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from fairgate.constraints import PlainConstraint
from fairgate.errors import InputError
from fairgate.settings import Array
from fairgate.sklearn.choice import Choice, Chooser
from fairgate.sklearn.people import METHODS, Batch, Reader, Scored, fitted_classes, groups_of, method_of


class FeasibilityWarning(UserWarning):
    """No threshold meets every constraint on the data; the message says by how much the chosen one misses."""


def _has(method: str) -> Callable[[FairThresholdClassifier], bool]:
    """Say whether the estimator inside has a method."""
    return lambda self: hasattr(self.estimator_ if hasattr(self, "estimator_") else self._unfitted(), method)


class FairThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # no types in sklearn
    r"""A classifier whose threshold earns most among those that meet every constraint.

    Positive is who scores at least the threshold, d = 1 if s ≥ θ, and θ is chosen on people that the scoring model
    has not been fitted on:

    .. math:: \max_\theta \; \mathbb{E}[d \cdot (y - cost \cdot (1 - y))] \quad\text{subject to}\quad g_j(\theta) \le 0

    where y = 1 is the positive label. If no threshold meets every constraint on the data, the one with the smallest
    sum of violations is taken and a :class:`FeasibilityWarning` says by how much it misses. Candidates lie halfway
    between neighbouring scores, with -inf (everybody) and inf (nobody), and all are assessed exactly by cumulative
    counts. Of equally good ones the lowest is taken.

    Parameters
    ----------
    estimator
        A binary classifier with ``predict_proba`` or ``decision_function``; by default ``LogisticRegression()``.
    constraints
        From :mod:`fairgate.constraints`, or any objects with ``names`` and ``residuals(counts)``. By default
        ``[DemographicParity(0.05)]`` if sensitive features are given, none otherwise.
    cost
        Cost of accepting somebody whose label is negative; accepting a positive earns 1.
    per_group
        Whether every group gets a threshold of its own; `predict` then needs the sensitive features too, and it is for
        you to know whether your law allows that. Up to a million combinations of candidates all are tried, which is
        enough for two groups; beyond that the search goes from coarse to fine and may miss the very best. It never
        returns thresholds that do worse on the data than the best shared one.
    grid
        At most so many candidates, at even steps of the acceptance rate; or the candidates themselves.
    response_method
        ``"predict_proba"``, ``"decision_function"``, or ``"auto"`` for the first of them that there is.
    pos_label
        Label of those to accept; by default ``classes_[1]``.
    cv
        How the people are split for out-of-fold scores: as for :func:`sklearn.model_selection.check_cv`, and folds may
        overlap. ``"prefit"`` takes `estimator` as it is, fitted on other people than those given to `fit`, and never
        changes it. One in a ``sklearn.frozen.FrozenEstimator`` is taken so with any `cv`, and survives ``clone``.
    n_jobs
        Folds fitted at once, as in scikit-learn.

    Attributes
    ----------
    threshold_ : float
        The threshold; absent if `per_group`.
    thresholds_ : dict
        The threshold of every group; of ``None`` if no sensitive features were given.
    feasible_ : bool
        Whether every constraint is met on the data; None while nobody has been scored.
    curve_ : fairgate.ThresholdSweep
        `thresholds` (K,) shared by all groups with their `reward`, `gap`, `acceptance` (K,) and `residuals` (J, K);
        None while nobody has been scored. If `per_group` found better ones, the last are the figures of these together,
        with the threshold NaN, so that ``curve_.best`` is what was chosen.
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        The labels.
    n_features_in_, feature_names_in_
        As `estimator_` has them.

    Examples
    --------
    >>> import numpy as np
    >>> from fairgate import DemographicParity
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], 2000)
    >>> X = rng.normal(size=(2000, 2)) + 0.5 * (group == "b")[:, None]
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> model = FairThresholdClassifier(constraints=[DemographicParity(0.1)]).fit(X, y, sensitive_features=group)
    >>> model.feasible_, round(model.threshold_, 2)
    (True, 0.13)
    >>> accepted = model.predict(X)
    >>> [round(float(accepted[group == each].mean()), 2) for each in "ab"]
    [0.83, 0.94]
    """

    curve_: Any
    _reader: Reader
    _scored: Scored

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraints: Sequence[PlainConstraint] | None = None,
        cost: float = 1.0,
        per_group: bool = False,
        grid: int | ArrayLike = 1000,
        response_method: str = "auto",
        pos_label: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.constraints = constraints
        self.cost = cost
        self.per_group = per_group
        self.grid = grid
        self.response_method = response_method
        self.pos_label = pos_label
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **params: Any,
    ) -> Self:
        """Fit the estimator, and choose the threshold on its out-of-fold scores.

        Parameters
        ----------
        X, y
            Features and labels of n people; there must be two labels.
        sensitive_features
            The group of each of them, (n,); text, numbers or anything else that can be sorted.
        sample_weight
            How many people each row stands for, (n,). The estimator gets it too, if it takes it.
        **params
            For the estimator's `fit`; routed if scikit-learn's metadata routing is enabled.
        """
        return self._fit(X, y, None, sensitive_features, sample_weight, params, growing=False)

    def partial_fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        classes: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **params: Any,
    ) -> Self:
        """Score one more batch, count it with all before, choose the threshold again, and then learn from the batch.

        The very first batch of an estimator with a ``partial_fit`` cannot be scored, and the estimator's own threshold
        holds until the second. Any other estimator is fitted on the first batch, as `fit` does it, and then left alone.
        Goes on from `fit`, if that was called before. A group may appear in a later batch, and one of which nobody has
        been scored has the threshold that is best for all. What is kept is one row of counts per distinct score; give
        `grid` as an array to keep no more rows than that.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`, but a batch may have people of one label only.
        classes
            Both labels; needed in the first call, if the estimator has a ``partial_fit``.
        **params
            For the estimator's ``partial_fit``.
        """
        return self._fit(X, y, classes, sensitive_features, sample_weight, params, growing=True)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:  # noqa: N803
        """Return one label per person; `sensitive_features` are looked at only if `per_group`."""
        check_is_fitted(self, "thresholds_")
        scores, positive = self._reader.read(self.estimator_, X), self._reader.positive
        thresholds: Array = np.array([next(iter(self.thresholds_.values()))])
        if not hasattr(self, "threshold_"):
            if sensitive_features is None:
                raise InputError("sensitive_features must be given to predict when per_group is True, got None")
            groups = groups_of(sensitive_features, len(scores))
            unseen = [group for group in groups if group not in self.thresholds_]
            if unseen:
                raise InputError(
                    f"sensitive_features must be groups seen in fit when per_group is True, {list(self.thresholds_)}, "
                    f"got {unseen[0]!r}"
                )
            thresholds = np.array([self.thresholds_[group] for group in groups])
        return np.asarray(self.classes_[np.where(scores >= thresholds, positive, 1 - positive)])

    def score(self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None) -> float:  # noqa: N803
        """Return the accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X, sensitive_features), sample_weight=sample_weight))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]  # no types in sklearn
    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the estimator's probabilities, which the threshold does not change."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]  # no types in sklearn
    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Return the estimator's decision values, which the threshold does not change."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.estimator_.decision_function(X))

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn that metadata is used here and handed to the estimator."""
        methods = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._unfitted(), method_mapping=methods)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._unfitted())
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _fit(
        self,
        features: Any,
        labels: Any,
        announced: Any,
        groups: Any,
        weights: Any,
        params: Mapping[str, Any],
        growing: bool,
    ) -> Self:
        """Count people and choose; everything that can be refused is, before an estimator learns from them.

        Scores are those of an estimator that is fixed or has learnt before, or out of fold of one that is fitted here.
        """
        chooser = Chooser.checked(self.cost, self.constraints, self.per_group, self.grid, groups is not None, growing)
        (features,) = indexable(features)
        batch, template, fixed = Batch.checked(features, labels, groups, weights), self._unfitted(), self._fixed(params)
        started = growing and hasattr(self, "_scored")
        learns = growing and not fixed and hasattr(template, "partial_fit")
        if started:
            if (None in self.thresholds_) != (groups is None):
                raise InputError("sensitive_features must be given in every call of partial_fit or in none")
            classes, reader, estimator = self.classes_, self._reader, self.estimator_
        else:
            method = method_of(template, self.response_method)
            classes = fitted_classes(template) if fixed else _both(announced) if learns else batch.two_classes()
            reader, estimator = Reader.checked(method, classes, self.pos_label), template if fixed else clone(template)
        if announced is not None and not np.array_equal(np.unique(announced), np.unique(classes)):
            raise InputError(f"classes must be those the estimator knows, {classes.tolist()}, got {announced!r}")
        batch.check_labels(classes)
        positive = classes[reader.positive]
        if started or fixed:
            table = batch.counted(reader.read(estimator, features), positive, chooser.edges)
            table = Scored.merged([self._scored, table]) if started else table
        elif learns:  # nobody can be scored yet
            table = Scored(np.zeros(0), np.zeros((0, len(batch.names), 2)), batch.names)
        else:
            fits = self._routed("fit", template, groups, weights, batch, params)
            scored = self._out_of_fold(reader, template, features, batch, fits)
            table = Scored.merged([part.counted(scores, positive, chooser.edges) for part, scores in scored])
            estimator.fit(features, batch.labels, **fits)
        unscored = learns and not started
        choice = Choice(dict.fromkeys(batch.names, METHODS[reader.method])) if unscored else chooser.choose(table)
        if learns:
            updates = self._routed("partial_fit", template, groups, weights, batch, params)
            estimator.partial_fit(features, batch.labels, **updates, **({} if started else {"classes": classes}))
        return self._keep(classes, reader, estimator, table, choice)

    def _keep(self, classes: NDArray[Any], reader: Reader, estimator: Any, table: Scored, choice: Choice) -> Self:
        self.classes_, self.estimator_, self._reader, self._scored = classes, estimator, reader, table
        self.thresholds_, self.feasible_, self.curve_ = choice.thresholds, choice.feasible, choice.curve
        for name in ("threshold_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if not self.per_group:
            self.threshold_ = next(iter(choice.thresholds.values()))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        if choice.missed:
            message = "no threshold meets every constraint on these data: the least violating one misses "
            warnings.warn(message + choice.missed, FeasibilityWarning, stacklevel=4)
        return self

    def _unfitted(self) -> Any:
        """The estimator as given, or the default one."""
        if self.estimator is not None:
            return self.estimator
        default = LogisticRegression()
        return default.set_fit_request(sample_weight=True) if _routing() else default

    def _fixed(self, params: Mapping[str, Any]) -> bool:
        """Whether the estimator is to be left as it is."""
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise InputError(f"cv must be a number of folds, a splitter or 'prefit', got {self.cv!r}")
        if isinstance(self.cv, str) and params:
            raise InputError(f"params must be none when cv is 'prefit', which fits nothing, got {', '.join(params)}")
        return isinstance(self.cv, str) or isinstance(self.estimator, FrozenEstimator)

    def _out_of_fold(
        self, reader: Reader, template: Any, features: Any, batch: Batch, params: Mapping[str, Any]
    ) -> list[tuple[Batch, Array]]:
        """The people of every fold, scored by an estimator fitted on the others."""
        try:
            folds = list(check_cv(self.cv, batch.labels, classifier=True).split(features, batch.labels))
        except ValueError as error:
            raise InputError(
                f"cv must be able to split {len(batch.labels)} people, got {self.cv!r}: {error}"
            ) from error
        if not folds:
            raise InputError(f"cv must make at least one split, got {self.cv!r}")
        scores = Parallel(n_jobs=self.n_jobs)(
            delayed(reader.read_fold)(clone(template), features, batch.labels, params, *fold) for fold in folds
        )
        return [(batch.rows(test), found) for (_, test), found in zip(folds, scores, strict=True)]

    def _routed(
        self, method: str, template: Any, groups: Any, weights: Any, batch: Batch, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the estimator's method gets in addition to features and labels."""
        weights = None if weights is None else batch.weights
        if _routing():
            routed = process_routing(self, method, sensitive_features=groups, sample_weight=weights, **params)
            return dict(routed.estimator[method])
        takes = weights is not None and "sample_weight" in inspect.signature(getattr(template, method)).parameters
        return {**params, "sample_weight": weights} if takes else dict(params)


def _both(classes: Any) -> NDArray[Any]:
    """The two labels announced in the first call of partial_fit."""
    if classes is None or len(np.unique(classes)) != 2:
        raise InputError(f"classes must be both labels in the first call of partial_fit, got {classes!r}")
    return np.unique(classes)


def _routing() -> bool:
    return bool(sklearn.get_config()["enable_metadata_routing"])
