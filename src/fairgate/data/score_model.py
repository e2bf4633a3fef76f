"""Give every person of a dataset a score: the logit of a logistic regression."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.data.datasets import Dataset
from fairgate.errors import InputError

if TYPE_CHECKING:  # scikit-learn takes longer to import than the rest of the package: only those who fit pay for it
    from sklearn.pipeline import Pipeline


def features(dataset: Dataset) -> NDArray[np.object_]:
    """Lay out a dataset for `score_model`: numeric columns, then categorical ones; never the group.

    >>> from fairgate.data import load_dataset
    >>> features(load_dataset("compas"))[0]
    array([69.0, 0.0, 0.0, 0.0, 0.0, 'felony'], dtype=object)
    """
    return np.hstack([dataset.numeric.astype(object), dataset.categorical.astype(object)])


def score_model() -> Pipeline:
    """Make the unfitted score model: one-hot, standardise, logistic regression.

    Text columns are one-hot encoded (a value not seen in the fit becomes all zeros) and number columns standardised to
    mean 0 and variance 1. The 0/1 columns are not standardised on top: it hardly changes the scores (correlation 0.998
    on German Credit, above 0.9999 on COMPAS) and would make the coefficients hard to read.

    >>> [step for step, _ in score_model().steps]
    ['features', 'regression']
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = ColumnTransformer(
        [
            ("one_hot", OneHotEncoder(handle_unknown="ignore"), partial(_columns, text=True)),
            ("standardise", StandardScaler(), partial(_columns, text=False)),
        ]
    )
    return Pipeline([("features", columns), ("regression", LogisticRegression(max_iter=1000))])


def scores(dataset: Dataset) -> NDArray[np.float64]:
    """Score the people of a dataset: the logit of P(label = 1), the higher the better.

    The model is fitted on all rows and scores the same rows, so the logits are in-sample: they define a population to
    set thresholds in, and say nothing about how well the model would do on new people. There is no randomness.

    >>> from fairgate.data import load_dataset
    >>> scores(load_dataset("german"))[:3].round(2)
    array([ 3.03, -0.31,  3.4 ])
    """
    if len(np.unique(dataset.labels)) < 2:
        raise InputError(f"labels of dataset {dataset.name!r} are all the same, expected both 0 and 1 to fit a score")
    rows = features(dataset)
    model = score_model().fit(rows, dataset.labels)
    return np.asarray(model.decision_function(rows), dtype=np.float64)


def _columns(rows: NDArray[np.object_], *, text: bool) -> list[int]:
    return [column for column, value in enumerate(rows[0]) if isinstance(value, str) == text]
