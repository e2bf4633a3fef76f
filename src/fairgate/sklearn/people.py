"""The people given to fit or partial_fit: checked, scored by an estimator, and counted by score, group and label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted

from fairgate.errors import InputError
from fairgate.settings import Array, as_floats

METHODS = {"predict_proba": 0.5, "decision_function": 0.0}
"""Where scores come from, in order of preference, and the threshold a classifier uses by itself."""


class Scored(NamedTuple):
    """People by distinct score, group and label, which is all that choosing a threshold needs to know."""

    scores: Array  # (S,), increasing
    people: Array  # (S, G, 2)
    groups: tuple[Any, ...]  # names; (None,) if none were given

    @classmethod
    def merged(cls, parts: Sequence[Scored]) -> Scored:
        """Add up different people."""
        names = in_order("sensitive_features", (group for part in parts for group in part.groups))
        scores, place = np.unique(np.concatenate([part.scores for part in parts]), return_inverse=True)
        people = np.zeros((len(scores), len(names), 2))
        places = np.split(place, np.cumsum([len(part.scores) for part in parts])[:-1])
        for part, rows in zip(parts, places, strict=True):
            people[rows[:, None], [names.index(group) for group in part.groups]] += part.people
        return cls(scores, people, names)

    def accepted(self, thresholds: Sequence[Array]) -> list[Array]:
        """People by label at or above the thresholds (K,) of each group, (K, 2) per group."""
        tails = np.zeros((len(self.scores) + 1, *self.people.shape[1:]))
        tails[:-1] = self.people[::-1].cumsum(axis=0)[::-1]
        return [tails[np.searchsorted(self.scores, own), group] for group, own in enumerate(thresholds)]


class Batch(NamedTuple):
    """Checked rows given to fit or partial_fit: label, place of the group in `names`, and weight, (n,)."""

    labels: NDArray[Any]
    group: NDArray[np.int64]
    weights: Array
    names: tuple[Any, ...]  # of the groups; (None,) if none were given

    @classmethod
    def checked(cls, features: Any, labels: Any, groups: Any, weights: Any) -> Batch:
        """Check everything but the features, which are for the estimator to check."""
        rows = 0 if features is None else _num_samples(features)
        if not rows:
            raise InputError(f"X must have at least one row, got {'None' if features is None else 'none'}")
        checked = np.ones(rows) if weights is None else as_floats("sample_weight", weights, ndim=1)
        _same_length("sample_weight", len(checked), rows)
        if (checked < 0).any() or not checked.any():
            spread = f"{checked.min():g} to {checked.max():g}"
            raise InputError(f"sample_weight must be at least 0 and not zero for everybody, got {spread}")
        named = [None] * rows if groups is None else groups_of(groups, rows)
        names = in_order("sensitive_features", named)
        places = {name: place for place, name in enumerate(names)}
        group = np.array([places[name] for name in named], dtype=np.int64)
        return cls(_labels(labels, rows), group, checked, names)

    def two_classes(self) -> NDArray[Any]:
        """The labels there are; say so if they, or those of people who count, are not two."""
        found = np.unique(self.labels[self.weights > 0])
        if len(found) != 2:
            plural = "class" if len(found) == 1 else "classes"
            raise InputError(f"y must have 2 classes, got {len(found)} {plural} of positive weight: {found.tolist()}")
        return found

    def check_labels(self, classes: NDArray[Any]) -> None:
        """Say so if there are labels the estimator does not know."""
        unknown = sorted(set(self.labels.tolist()) - set(classes.tolist()))
        if unknown:
            raise InputError(f"y must be labels the estimator knows, {classes.tolist()}, got {unknown}")

    def rows(self, index: NDArray[np.int64]) -> Batch:
        """The same for these rows only."""
        return self._replace(labels=self.labels[index], group=self.group[index], weights=self.weights[index])

    def counted(self, scores: Array, positive: Any, edges: Array | None) -> Scored:
        """Count people who have these scores by score, group and label; those of weight 0 are nobody."""
        if edges is not None:  # a score matters only through the highest candidate it reaches
            scores = np.concatenate(([-np.inf], edges))[np.searchsorted(edges, scores, side="right")]
        counts = self.weights > 0
        distinct, place = np.unique(scores[counts], return_inverse=True)
        shape = (len(distinct), len(self.names), 2)
        label = (self.labels[counts] == positive).astype(np.int64)
        cell = np.ravel_multi_index((place, self.group[counts], label), shape)
        people = np.bincount(cell, weights=self.weights[counts], minlength=math.prod(shape))
        return Scored(distinct, people.reshape(shape).astype(np.float64), self.names)


class Reader(NamedTuple):
    """How the score of the positive label is read from an estimator."""

    method: str  # one of `METHODS`
    positive: int  # place of the positive label in the estimator's ``classes_``

    @classmethod
    def checked(cls, method: str, classes: NDArray[Any], positive: Any) -> Reader:
        """Find the positive label among both; None is the second."""
        if positive is None:
            return cls(method, 1)
        if positive not in classes.tolist():
            raise InputError(f"pos_label must be one of {classes.tolist()}, got {positive!r}")
        return cls(method, classes.tolist().index(positive))

    def read(self, estimator: Any, features: Any) -> Array:
        """The estimator's scores for the positive label, (n,)."""
        found = np.asarray(getattr(estimator, self.method)(features), dtype=np.float64)
        if self.method == "predict_proba":
            found = found[:, self.positive]
        elif self.positive == 0:
            found = -found
        if not np.isfinite(found).all():
            wrong = found[~np.isfinite(found)][0]
            raise InputError(f"estimator must give finite scores, but its {self.method} gave {wrong}")
        return found

    def read_fold(
        self,
        estimator: Any,
        features: Any,
        labels: NDArray[Any],
        params: Mapping[str, Any],
        train: NDArray[np.int64],
        test: NDArray[np.int64],
    ) -> Array:
        """Fit on one part of the people and score the other."""
        cut = _check_method_params(features, params, indices=train)
        estimator.fit(_safe_indexing(features, train), labels[train], **cut)
        _two(np.asarray(estimator.classes_))
        return self.read(estimator, _safe_indexing(features, test))


def in_order(argument: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct values, sorted; say so if they are no kind of name."""
    values = list(values)
    try:
        return tuple(sorted(set(values)) if len(set(values)) > 1 else set(values))
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InputError(f"{argument} must be of one kind that can be sorted, got {kinds}") from None


def groups_of(values: Any, rows: int) -> list[Any]:
    """One group per row, as plain Python objects; say so if there are not that many, or one is missing."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), np.array(None), values.data)
    found = np.asarray(values, dtype=object)  # else a NaN among text would become the text "nan"
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim == 0:
        raise InputError(f"sensitive_features must be one column of groups, got {type(values).__name__}")
    if found.ndim != 1:
        raise InputError(f"sensitive_features must be one column, got shape {found.shape}: join columns into one first")
    _same_length("sensitive_features", len(found), rows)
    groups = [each.item() if isinstance(each, np.generic) else each for each in found.tolist()]
    for place, group in enumerate(groups):
        if _missing(group):
            raise InputError(f"sensitive_features must name a group for everybody, got {group} at position {place}")
    return groups


def _labels(values: Any, rows: int) -> NDArray[Any]:
    """One of at most two labels per row."""
    if values is None:
        raise InputError("FairThresholdClassifier requires y to be passed, but the target y is None")
    labels: NDArray[Any] = column_or_1d(values, warn=True)
    _same_length("y", len(labels), rows)
    if labels.dtype == object:
        for place, label in enumerate(labels.tolist()):
            if _missing(label):
                raise InputError(f"y must have a label for everybody, got {label} at position {place}")
        in_order("y", labels.tolist())
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if type_of_target(labels, input_name="y") != "binary":
        found = np.unique(labels).tolist()
        raise InputError(f"Only binary classification is supported. y must have 2 classes, got {found}")
    return labels


def _missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA; the last is neither equal to itself nor not."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array, which is no name but not missing either
        return False


def _same_length(name: str, length: int, rows: int) -> None:
    if length != rows:
        raise InputError(f"{name} must have one value per row of X, which has {rows} rows, got {length} values")


def method_of(estimator: Any, wanted: str) -> str:
    """Where the scores of an estimator come from; "auto" is the first of `METHODS` that it has."""
    if wanted not in ("auto", *METHODS):
        known = ", ".join(repr(method) for method in ("auto", *METHODS))
        raise InputError(f"response_method must be one of {known}, got {wanted!r}")
    methods = tuple(METHODS) if wanted == "auto" else (wanted,)
    if isinstance(estimator, type):
        raise InputError(f"estimator must be an estimator such as {estimator.__name__}(), got the class itself")
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise InputError(f"estimator must have {' or '.join(methods)}, got {estimator!r}")


def fitted_classes(estimator: Any) -> NDArray[Any]:
    """The two labels that an estimator, which must be fitted, knows."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"estimator must be fitted already when cv is 'prefit', got {estimator!r}; "
            "if it was, clone has undone it: wrap it in sklearn.frozen.FrozenEstimator"
        ) from None
    return _two(np.asarray(estimator.classes_))


def _two(classes: NDArray[Any]) -> NDArray[Any]:
    if len(classes) != 2:
        raise InputError(f"estimator must be fitted on 2 classes, in every fold of cv, got {classes.tolist()}")
    return classes
