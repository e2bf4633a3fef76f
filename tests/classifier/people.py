"""People to classify, and a score without any learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin


class People(NamedTuple):
    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    groups: NDArray[np.str_]


def draw(count: int, seed: int = 0, names: str = "ab", shift: float = 0.7) -> People:
    """People whose groups differ in the mean of their features, and so in acceptance."""
    rng = np.random.default_rng(seed)
    place = rng.integers(len(names), size=count)
    features = rng.normal(size=(count, 3)) + shift * place[:, None]
    labels = (rng.random(count) < 1 / (1 + np.exp(-features[:, 0] - 0.5 * features[:, 1] + 0.5))).astype(np.int64)
    return People(features, labels, np.array(list(names))[place])


class Score(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fixed score: the first feature."""

    classes_ = np.array([0, 1])

    def fit(self, features: Any, labels: Any) -> Score:
        return self

    def decision_function(self, features: Any) -> NDArray[np.float64]:
        return np.asarray(features, dtype=np.float64)[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return True
