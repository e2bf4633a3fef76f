"""Scores: how they are read from an estimator, and out of fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, check_is_fitted

from fairgate.errors import InputError
from fairgate.settings import Array

METHODS = {"predict_proba": 0.5, "decision_function": 0.0}
"""Where scores come from, in order of preference, and the threshold a classifier uses by itself."""


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
