"""FairThresholdClassifier: any scikit-learn classifier, with its threshold chosen under fairness constraints.

The one-shot counterpart of the loop: labelled data in, a threshold out. Candidates are judged by
:meth:`fairgate.Problem.assess`, as everywhere else, on counts of out-of-fold scores.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fairgate.constraints import Constraint, DemographicParity
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.oracle import Sweep
from fairgate.problem import ROUNDING, Problem, Utility, is_feasible, violation
from fairgate.settings import Array, as_floats, whole_number

METHODS = {"predict_proba": 0.5, "decision_function": 0.0}
"""Where scores come from, in order of preference, and the threshold a classifier uses by itself."""

CHUNK = 100_000
"""Combinations of thresholds assessed at once."""

EXHAUSTIVE = 1_000_000
"""Up to so many combinations of group thresholds all are tried."""


class FeasibilityWarning(UserWarning):
    """No threshold meets every constraint on the data; the message says by how much the chosen one misses."""


def _has(method: str) -> Callable[[FairThresholdClassifier], bool]:
    """Say whether the estimator inside has a method."""
    return lambda self: hasattr(self.estimator_ if hasattr(self, "estimator_") else self._unfitted(), method)


class FairThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
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
        you to know whether your law allows that. Up to a million combinations of `grid` acceptance rates a group all
        are tried, which is enough for two groups; beyond that the search goes from coarse to fine and may miss the
        very best. It never returns thresholds that do worse on the data than the best shared one.
    grid
        At most so many candidates, at even steps of the acceptance rate; or the candidates themselves.
    response_method
        ``"predict_proba"``, ``"decision_function"``, or ``"auto"`` for the first of them that there is.
    pos_label
        Label of those to accept; by default ``classes_[1]``.
    cv
        How the people are split for out-of-fold scores: as for :func:`sklearn.model_selection.check_cv`, and folds may
        overlap. ``"prefit"`` takes `estimator` as it is, fitted on other people than those given to `fit`, and never
        changes it; wrap it in ``sklearn.frozen.FrozenEstimator`` to have it survive ``clone``.
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
    curve_ : fairgate.Sweep
        `thresholds` (K,) shared by all groups with their `reward`, `gap`, `acceptance` (K,) and `residuals` (J, K);
        None while nobody has been scored.
    estimator_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (2,)
        The labels.
    n_features_in_, feature_names_in_
        As `estimator_` has them.

    Notes
    -----
    A threshold chosen once does not see that people react to it: who is accepted changes who applies next, and a gap
    closed on last year's data can open again. :func:`fairgate.simulate` plays that loop.

    Examples
    --------
    >>> import numpy as np
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
    _scored: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraints: Sequence[Constraint] | None = None,
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
        problem, edges, (X,) = self._checked_problem(sensitive_features), self._edges(), indexable(X)  # noqa: N806
        batch, template = _Batch.checked(X, y, sensitive_features, sample_weight), self._unfitted()
        method, fixed = self._method(template), self._prefit(params)
        self.classes_ = _fitted_classes(template) if fixed else batch.two_classes()
        positive = self._positive()
        if fixed:
            batch.check_labels(self.classes_)
            self.estimator_ = template
            scored = batch.scored(_scores(template, method, positive, X), self.classes_[positive], edges)
        else:
            fits = self._routed("fit", template, sensitive_features, sample_weight, batch, params)
            folds = list(check_cv(self.cv, batch.labels, classifier=True).split(X, batch.labels))
            found = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold)(clone(template), method, positive, X, batch.labels, fits, train, test)
                for train, test in folds
            )
            tested = zip(folds, found, strict=True)
            scored = _Scored.merged(
                [batch.rows(test).scored(scores, self.classes_[positive], edges) for (_, test), scores in tested]
            )
            self.estimator_ = clone(template).fit(X, batch.labels, **fits)
        self._choose(problem, scored, edges, growing=False)
        return self._with_features()

    def partial_fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        classes: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **params: Any,
    ) -> Self:
        """Score one more batch, count it with all before, choose the threshold anew, and then learn from the batch.

        An estimator with a ``partial_fit`` is updated after the batch is scored, so that every score is out of sample;
        its very first batch cannot be scored, and the estimator's own threshold holds until the second. Any other
        estimator is fitted on the first batch, as `fit` does it, and then left alone, as is one that is
        ``cv="prefit"``. Goes on from `fit`, if that was called before. A group may appear in a later batch. What is
        kept is one row of counts a distinct score; give `grid` as an array to keep no more rows than that.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`, but a batch may have people of one label only.
        classes
            Both labels; needed in the first call, if the estimator has a ``partial_fit``.
        **params
            For the estimator's ``partial_fit``.
        """
        template, started, fixed = self._unfitted(), hasattr(self, "_scored"), self._prefit(params)
        learns = not fixed and hasattr(template, "partial_fit")
        if not (started or learns or fixed):
            return self.fit(X, y, sensitive_features, sample_weight, **params)
        problem, edges, (X,) = self._checked_problem(sensitive_features), self._edges(), indexable(X)  # noqa: N806
        batch, method = _Batch.checked(X, y, sensitive_features, sample_weight), self._method(template)
        if started and (None in self.thresholds_) != (sensitive_features is None):
            raise InputError("sensitive_features must be given in every call of partial_fit or in none")
        if not started:
            self.classes_ = _both(classes) if learns else _fitted_classes(template)
        batch.check_labels(self.classes_)
        positive = self._positive()
        estimator = self.estimator_ if started else clone(template) if learns else template
        scored = self._scored if started else None
        if started or fixed:
            fresh = batch.scored(_scores(estimator, method, positive, X), self.classes_[positive], edges)
            scored = fresh if scored is None else _Scored.merged([scored, fresh])
        if learns:
            updates = self._routed("partial_fit", template, sensitive_features, sample_weight, batch, params)
            estimator.partial_fit(X, batch.labels, **updates, **({} if started else {"classes": self.classes_}))
        self.estimator_ = estimator
        if scored is None:
            self._keep(None, dict.fromkeys(batch.names, METHODS[method]), feasible=None, curve=None)
        else:
            self._choose(problem, scored, edges, growing=True)
        return self._with_features()

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:  # noqa: N803
        """Return a label a person; `sensitive_features` are looked at only if `per_group`."""
        check_is_fitted(self, "thresholds_")
        positive = self._positive()
        scores = _scores(self.estimator_, self._method(self.estimator_), positive, X)
        thresholds: Array = np.array([next(iter(self.thresholds_.values()))])
        if self.per_group:
            if sensitive_features is None:
                raise InputError("sensitive_features must be given to predict when per_group is True, got None")
            groups = _groups(sensitive_features, len(scores))
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

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the estimator's probabilities, which the threshold does not change."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """Return the estimator's decision values, which the threshold does not change."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.estimator_.decision_function(X))

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn that metadata is used here and handed to the estimator."""
        methods = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._unfitted(), method_mapping=methods)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags  # scikit-learn 1.6 and later, which alone calls this

        tags = super().__sklearn_tags__()
        inner = get_tags(self._unfitted())
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _more_tags(self) -> dict[str, bool]:
        """Say the same to scikit-learn 1.5."""
        return {"binary_only": True}

    def _unfitted(self) -> Any:
        """The estimator as given, or the default one."""
        if self.estimator is not None:
            return self.estimator
        default = LogisticRegression()
        return default.set_fit_request(sample_weight=True) if _routing() else default

    def _prefit(self, params: Mapping[str, Any]) -> bool:
        """Whether the estimator is to be left as it is."""
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise InputError(f"cv must be a number of folds, a splitter or 'prefit', got {self.cv!r}")
        if isinstance(self.cv, str) and params:
            raise InputError(f"params must be none when cv is 'prefit', which fits nothing, got {', '.join(params)}")
        return isinstance(self.cv, str)

    def _method(self, estimator: Any) -> str:
        if self.response_method not in ("auto", *METHODS):
            known = ", ".join(repr(method) for method in ("auto", *METHODS))
            raise InputError(f"response_method must be one of {known}, got {self.response_method!r}")
        wanted = METHODS if self.response_method == "auto" else (self.response_method,)
        for method in wanted:
            if hasattr(estimator, method):
                return method
        raise InputError(f"estimator must have {' or '.join(wanted)}, got {estimator!r}")

    def _positive(self) -> int:
        """Place of the positive label in `classes_`."""
        if self.pos_label is None:
            return 1
        found = np.flatnonzero(self.classes_ == self.pos_label)
        if len(found) != 1:
            raise InputError(f"pos_label must be one of {self.classes_.tolist()}, got {self.pos_label!r}")
        return int(found[0])

    def _checked_problem(self, sensitive_features: Any) -> Problem:
        """Utility and constraints; say so if they cannot be used."""
        if isinstance(self.cost, bool) or not isinstance(self.cost, numbers.Real) or not 0 <= self.cost < math.inf:
            raise InputError(f"cost must be a finite number of at least 0, got {self.cost!r}")
        if self.per_group and sensitive_features is None:
            raise InputError("sensitive_features must be given when per_group is True, got None")
        constraints = self.constraints
        if constraints is None:
            constraints = [] if sensitive_features is None else [DemographicParity(0.05)]
        if not isinstance(constraints, Sequence) or not all(
            hasattr(each, "names") and hasattr(each, "residuals") for each in constraints
        ):
            raise InputError(f"constraints must be a list such as [DemographicParity(0.05)], got {constraints!r}")
        problem = Problem(Utility(float(self.cost)), list(constraints))
        if problem.replicates is not None:
            raise InputError(f"constraints must each have one number a setting, got {constraints!r}")
        return problem

    def _edges(self) -> Array | None:
        """The candidates, if they are given."""
        if np.ndim(self.grid) == 0:
            whole_number("grid", self.grid, 2)  # type: ignore[arg-type]
            return None
        return np.unique(as_floats("grid", self.grid, ndim=1))

    def _routed(
        self, method: str, template: Any, groups: Any, weights: Any, batch: _Batch, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the estimator's method gets besides features and labels."""
        weights = None if weights is None else batch.weights
        if _routing():
            routed = process_routing(self, method, sensitive_features=groups, sample_weight=weights, **params)
            return dict(routed.estimator[method])
        takes = weights is not None and has_fit_parameter(template, "sample_weight")
        return {**params, "sample_weight": weights} if takes else dict(params)

    def _choose(self, problem: Problem, scored: _Scored, edges: Array | None, growing: bool) -> None:
        """Sweep the candidates and keep the best."""
        limit = int(self.grid) if edges is None else 0  # type: ignore[arg-type]
        candidates = _candidates(scored.scores) if edges is None else edges
        if 0 < limit < len(candidates):
            candidates = np.unique(_levels(scored.scores, scored.people.sum(axis=(1, 2)), limit))
        shared = np.repeat(candidates[:, None], len(scored.groups), axis=1)
        counts = Counts(scored.cells(scored.accepted(shared), growing))
        try:
            signals = problem.assess(counts)
        except InputError as error:
            if len(scored.groups) > 1:
                raise
            raise InputError(f"sensitive_features must name at least 2 groups: {error}") from None
        residuals = signals.residuals[..., 0]
        if np.isnan(residuals).any():
            name = problem.names[int(np.argwhere(np.isnan(residuals))[0, 0])]
            raise InputError(f"constraints must give numbers, but residual {name!r} is NaN at some threshold")
        curve = Sweep(candidates, signals.reward[:, 0], counts.gap[:, 0], counts.overall[:, 0], residuals)
        best = _Found.among(shared, curve.reward, residuals)
        if self.per_group:
            best = max(best, _search(problem, scored, edges, limit, growing), key=_rank)
        if not best.rank[0]:
            missed = zip(problem.names, best.residuals, strict=True)
            amounts = ", ".join(f"{name} by {value:.3g}" for name, value in missed if value > ROUNDING)
            message = f"no threshold meets every constraint on these data: the least violating one misses {amounts}"
            warnings.warn(message, FeasibilityWarning, stacklevel=3)
        thresholds = dict(zip(scored.groups, best.choice.tolist(), strict=True))
        self._keep(scored, thresholds, feasible=best.rank[0], curve=curve)

    def _keep(
        self, scored: _Scored | None, thresholds: dict[Any, float], feasible: bool | None, curve: Sweep | None
    ) -> None:
        self._scored = scored
        self.thresholds_, self.feasible_, self.curve_ = thresholds, feasible, curve
        self.__dict__.pop("threshold_", None)
        if not self.per_group:
            self.threshold_ = next(iter(thresholds.values()))

    def _with_features(self) -> Self:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self


class _Scored(NamedTuple):
    """People by distinct score, group and label: all that choosing a threshold needs to know.

    Attributes
    ----------
    scores
        (S,), increasing.
    people
        (S, G, 2).
    groups
        Names of the groups.
    """

    scores: Array
    people: Array
    groups: tuple[Any, ...]

    @classmethod
    def merged(cls, parts: Sequence[_Scored]) -> _Scored:
        """Add up tables of different people."""
        names = _in_order({group for part in parts for group in part.groups})
        scores, place = np.unique(np.concatenate([part.scores for part in parts]), return_inverse=True)
        people = np.zeros((len(scores), len(names), 2))
        places = np.split(place, np.cumsum([len(part.scores) for part in parts])[:-1])
        for part, rows in zip(parts, places, strict=True):
            people[rows[:, None], [names.index(group) for group in part.groups]] += part.people
        return cls(scores, people, names)

    def by_group(self) -> Iterator[Array]:
        """People by score and label, (S, 2), of one group after the other."""
        return iter(np.moveaxis(self.people, 1, 0))

    def accepted(self, thresholds: Array) -> Array:
        """People at or above the thresholds (K, G), (K, G, 2)."""
        tails = np.zeros((len(self.scores) + 1, *self.people.shape[1:]))
        tails[:-1] = self.people[::-1].cumsum(axis=0)[::-1]
        return np.asarray(tails[np.searchsorted(self.scores, thresholds), np.arange(len(self.groups))])

    def cells(self, accepted: Array, growing: bool) -> Array:
        """Cells (K, 1, G, 2, 2); while groups may still come, one that is alone is compared with an empty one."""
        rejected = np.maximum(self.people.sum(axis=0) - accepted, 0.0)
        cells = np.stack((rejected, accepted), axis=-1)[:, None]
        alone = growing and len(self.groups) == 1 and self.groups[0] is not None
        return np.concatenate((cells, np.zeros_like(cells)), axis=2) if alone else cells


class _Batch(NamedTuple):
    """Checked labels, groups and weights of the rows given to fit or partial_fit.

    Attributes
    ----------
    labels, group, weights
        Label, place of the group in `names`, and weight, (n,).
    names
        Names of the groups; (None,) if none were given.
    """

    labels: NDArray[Any]
    group: NDArray[np.int64]
    weights: Array
    names: tuple[Any, ...]

    @classmethod
    def checked(cls, features: Any, labels: Any, groups: Any, weights: Any) -> _Batch:
        rows = features.shape[0] if hasattr(features, "shape") else len(features)
        if labels is None:
            raise InputError("FairThresholdClassifier requires y to be passed, but the target y is None")
        labels = column_or_1d(labels, warn=True)
        _same_length("y", len(labels), rows)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        if type_of_target(labels, input_name="y") != "binary":
            found = np.unique(labels).tolist()
            raise InputError(f"Only binary classification is supported. y must have 2 classes, got {found}")
        names: tuple[Any, ...] = (None,)
        group = np.zeros(rows, dtype=np.int64)
        if groups is not None:
            each = _groups(groups, rows)
            names = _in_order(set(each))
            places = {name: place for place, name in enumerate(names)}
            group = np.array([places[name] for name in each], dtype=np.int64)
        checked = np.ones(rows) if weights is None else as_floats("sample_weight", weights, ndim=1)
        _same_length("sample_weight", len(checked), rows)
        if (checked < 0).any() or not checked.any():
            spread = f"{checked.min():g} to {checked.max():g}"
            raise InputError(f"sample_weight must be at least 0 and not zero for everybody, got {spread}")
        return cls(labels, group, checked, names)

    def two_classes(self) -> NDArray[Any]:
        """The labels there are; say so if they, or those of people who count, are not two."""
        found = np.unique(self.labels[self.weights > 0])
        if len(found) != 2:
            plural = "class" if len(found) == 1 else "classes"
            raise InputError(f"y must have 2 classes, got {len(found)} {plural} of positive weight: {found.tolist()}")
        return found

    def check_labels(self, classes: NDArray[Any]) -> None:
        """Say so if there are labels the estimator does not know."""
        unknown = np.setdiff1d(self.labels, classes)
        if len(unknown):
            raise InputError(f"y must be labels the estimator knows, {classes.tolist()}, got {unknown.tolist()}")

    def rows(self, index: NDArray[np.int64]) -> _Batch:
        """The same for these rows only."""
        return self._replace(labels=self.labels[index], group=self.group[index], weights=self.weights[index])

    def scored(self, scores: Array, positive: Any, edges: Array | None) -> _Scored:
        """Count people who have these scores by score, group and label; those of weight 0 are nobody."""
        if edges is not None:  # a score matters only through the highest candidate it reaches
            scores = np.concatenate(([-np.inf], edges))[np.searchsorted(edges, scores, side="right")]
        counts = self.weights > 0
        distinct, place = np.unique(scores[counts], return_inverse=True)
        shape = (len(distinct), len(self.names), 2)
        label = (self.labels[counts] == positive).astype(np.int64)
        cell = np.ravel_multi_index((place, self.group[counts], label), shape)
        people = np.bincount(cell, weights=self.weights[counts], minlength=math.prod(shape))
        return _Scored(distinct, people.reshape(shape).astype(np.float64), self.names)


class _Found(NamedTuple):
    """The best of several choices.

    Attributes
    ----------
    rank
        Whether it is feasible, and its reward or, if not, minus its violation: larger is better.
    choice
        What was chosen of each group, (G,).
    residuals
        (J,).
    """

    rank: tuple[bool, float]
    choice: NDArray[Any]
    residuals: Array

    @classmethod
    def among(cls, choices: NDArray[Any], reward: Array, residuals: Array) -> _Found:
        """Return the best of choices (K, G) with rewards (K,) and residuals (J, K)."""
        feasible = is_feasible(residuals)
        worth = np.where(feasible, reward, -np.inf) if feasible.any() else -violation(residuals)
        best = int(np.argmax(worth))
        return cls((bool(feasible[best]), float(worth[best])), choices[best], residuals[:, best])


def _search(problem: Problem, scored: _Scored, edges: Array | None, limit: int, growing: bool) -> _Found:
    """Look for the best thresholds of all groups together.

    Every group has as many levels: the candidates given, or thresholds at even steps of its acceptance rate. Up to
    `EXHAUSTIVE` combinations all are tried. Otherwise a coarse grid of them is, and all groups at the same level; from
    the best of these it goes uphill by ever smaller steps of one group, of all, and of all but one.
    """
    groups = len(scored.groups)
    if edges is None:
        levels = np.stack([_levels(scored.scores, people.sum(axis=1), limit) for people in scored.by_group()], axis=1)
    else:
        levels = np.repeat(edges[:, None], groups, axis=1)
    count, every, accepted = len(levels), np.arange(groups), scored.accepted(levels)

    def look(places: NDArray[np.int64]) -> _Found:
        signals = problem.assess(scored.cells(accepted[places, every], growing))
        return _Found.among(places, signals.reward[:, 0], signals.residuals[..., 0])

    whole = count**groups <= EXHAUSTIVE
    steps = np.arange(count) if whole else np.linspace(0, count - 1, int(CHUNK ** (1 / groups))).round().astype(int)
    best = look(np.repeat(np.arange(count)[:, None], groups, axis=1))
    for places in _combinations(steps, groups):
        best = max(best, look(places), key=_rank)
    if not whole:
        one, step = np.eye(groups, dtype=np.int64), count // 4
        moves = np.concatenate((one, 1 - one, np.ones((1, groups), np.int64)))
        moves = np.concatenate((moves, -moves))
        while step:
            last, best = best, max(best, look(np.clip(best.choice + step * moves, 0, count - 1)), key=_rank)
            step = step // 2 if best is last else step
    return best._replace(choice=levels[best.choice, every])


def _rank(found: _Found) -> tuple[bool, float]:
    return found.rank


def _combinations(steps: NDArray[np.int64], groups: int) -> Iterator[NDArray[np.int64]]:
    """All combinations of a step a group, (N, G), `CHUNK` at a time."""
    total = len(steps) ** groups
    for start in range(0, total, CHUNK):
        flat = np.arange(start, min(start + CHUNK, total))
        yield steps[np.stack(np.unravel_index(flat, (len(steps),) * groups), axis=1)]


def _candidates(scores: Array) -> Array:
    """-inf, all that lies halfway between neighbouring scores, and inf.

    >>> _candidates(np.array([0.0, 1.0, 4.0]))
    array([-inf,  0.5,  2.5,  inf])
    """
    halfway = scores[:-1] + 0.5 * np.diff(scores)
    halfway = np.where(halfway > scores[:-1], halfway, scores[1:])  # neighbouring floats have nothing between them
    return np.concatenate(([-np.inf], halfway, [np.inf]))


def _levels(scores: Array, people: Array, limit: int) -> Array:
    """Candidates, some perhaps repeated, nearest to `limit` even steps of the share rejected.

    >>> _levels(np.array([0.0, 1.0, 4.0]), np.array([2.0, 1.0, 1.0]), limit=3)
    array([-inf,  0.5,  inf])
    """
    scores, people = scores[people > 0], people[people > 0]
    rejected = np.concatenate(([0.0], people.cumsum()))
    steps = np.linspace(0.0, rejected[-1], limit)
    return _candidates(scores)[np.searchsorted(0.5 * (rejected[:-1] + rejected[1:]), steps)]


def _fold(
    estimator: Any,
    method: str,
    positive: int,
    features: Any,
    labels: NDArray[Any],
    params: Mapping[str, Any],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> Array:
    """Fit on one part of the people and score the other."""
    rows = len(labels)
    cut = {name: _safe_indexing(value, train) if _length(value) == rows else value for name, value in params.items()}
    estimator.fit(_safe_indexing(features, train), labels[train], **cut)
    return _scores(estimator, method, positive, _safe_indexing(features, test))


def _scores(estimator: Any, method: str, positive: int, features: Any) -> Array:
    """The estimator's scores for the positive label, (n,)."""
    _fitted_classes(estimator)
    found = np.asarray(getattr(estimator, method)(features), dtype=np.float64)
    if method == "predict_proba":
        found = found[:, positive]
    elif positive == 0:
        found = -found
    if not np.isfinite(found).all():
        raise InputError(f"estimator must give finite scores, but its {method} gave {found[~np.isfinite(found)][0]}")
    return found


def _fitted_classes(estimator: Any) -> NDArray[Any]:
    """The two labels a fitted classifier knows."""
    check_is_fitted(estimator)
    classes = np.asarray(estimator.classes_)
    if len(classes) != 2:
        raise InputError(f"estimator must be fitted on 2 classes, in every fold of cv, got {classes.tolist()}")
    return classes


def _both(classes: Any) -> NDArray[Any]:
    """The two labels announced in the first call of partial_fit."""
    if classes is None or len(np.unique(classes)) != 2:
        raise InputError(f"classes must be both labels in the first call of partial_fit, got {classes!r}")
    return np.unique(classes)


def _groups(values: Any, rows: int) -> list[Any]:
    """One group a row, as plain Python objects; say so if there are not that many, or one is missing."""
    found = np.asarray(values, dtype=object)  # else a NaN among text would become the text "nan"
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"sensitive_features must be one column, got shape {found.shape}: join columns into one first")
    _same_length("sensitive_features", len(found), rows)
    groups: list[Any] = found.tolist()
    for place, group in enumerate(groups):
        if _missing(group):
            raise InputError(f"sensitive_features must name a group for everybody, got {group} at position {place}")
    return groups


def _missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA; the last is neither equal to itself nor not."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _in_order(groups: set[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(groups))
    except TypeError:
        kinds = ", ".join(sorted({type(group).__name__ for group in groups}))
        raise InputError(f"sensitive_features must be of one kind that can be sorted, got {kinds}") from None


def _length(value: Any) -> int | None:
    """How many rows a value has, or None if it has none."""
    if getattr(value, "shape", None):
        return int(value.shape[0])
    return len(value) if hasattr(value, "__len__") and not isinstance(value, (str, dict)) else None


def _same_length(name: str, length: int, rows: int) -> None:
    if length != rows:
        raise InputError(f"{name} must have one value a row of X, which has {rows} rows, got {length} values")


def _routing() -> bool:
    return bool(sklearn.get_config()["enable_metadata_routing"])
