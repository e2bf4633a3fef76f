"""Load German Credit or COMPAS from the tables inside the package."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """People as arrays: what a score may use, the label, and the group.

    Parameters
    ----------
    name
        What the dataset is called.
    numeric
        Numeric features, one row per person, shape (N, M).
    categorical
        Categorical features as text, shape (N, C).
    numeric_names, categorical_names
        Names of those columns.
    labels
        1 for the outcome a decision maker hopes for, else 0, shape (N,).
    groups
        Index into `group_names`, shape (N,).
    group_names
        Names of the groups.

    Examples
    --------
    >>> german = load_dataset("german")
    >>> german
    Dataset(name='german', people=1000, positives=700, groups={'female': 310, 'male': 690})
    >>> german.numeric.shape, german.categorical.shape
    ((1000, 7), (1000, 12))
    """

    name: str
    numeric: NDArray[np.float64]
    categorical: NDArray[np.str_]
    numeric_names: tuple[str, ...]
    categorical_names: tuple[str, ...]
    labels: NDArray[np.int64]
    groups: NDArray[np.int64]
    group_names: tuple[str, ...]

    def __post_init__(self) -> None:
        people = len(self.labels)
        expected = {
            "numeric": (people, len(self.numeric_names)),
            "categorical": (people, len(self.categorical_names)),
            "labels": (people,),
            "groups": (people,),
        }
        for field, shape in expected.items():
            found = getattr(self, field).shape
            if found != shape:
                raise InputError(f"{field} of dataset {self.name!r} has shape {found}, expected {shape}")
        if not np.isfinite(self.numeric).all():
            raise InputError(f"numeric of dataset {self.name!r} has a value that is not a finite number")
        if not np.isin(self.labels, (0, 1)).all():
            raise InputError(f"labels of dataset {self.name!r} are {np.unique(self.labels)}, expected only 0 and 1")
        if not np.isin(self.groups, range(len(self.group_names))).all():
            highest = len(self.group_names) - 1
            raise InputError(f"groups of dataset {self.name!r} are {np.unique(self.groups)}, expected 0 to {highest}")

    def __repr__(self) -> str:
        sizes = np.bincount(self.groups, minlength=len(self.group_names)).tolist()
        groups = dict(zip(self.group_names, sizes, strict=True))
        positives = int(self.labels.sum())
        return f"Dataset(name={self.name!r}, people={len(self.labels)}, positives={positives}, groups={groups})"


class _Table(NamedTuple):
    """SHA-256 of a table in the package, and its columns of groups: their values in the order of the group index.

    The first of them is the default. Of the others but `label`, a column of numbers is a numeric feature.
    """

    sha256: str
    groups: dict[str, tuple[str, ...]]


_SEXES = ("female", "male")
TABLES = {
    "german": _Table("4fc99c124a064655b021df0a2687ee5fab9932148f6731d82af92b168757ac82", {"sex": _SEXES}),
    "compas": _Table(
        "a251b10b97b587de8d0bd88d377d2e6f6e02eac8adf95099a421cf076dc018ee",
        {
            "sex": _SEXES,
            # Most frequent first, so that the two usually compared are groups 0 and 1.
            "race": ("African-American", "Caucasian", "Hispanic", "Other", "Asian", "Native American"),
        },
    ),
}


def load_dataset(name: str, group: str | None = None, features: Sequence[str] = ()) -> Dataset:
    """Load a dataset that ships with the package; no network is needed.

    Parameters
    ----------
    name
        `"german"` (label 1: good credit) or `"compas"` (label 1: no recidivism within two years).
    group
        The column that says who belongs to which group: `"sex"` (female is group 0, male group 1), the default of
        both, or `"race"` (COMPAS only; the most frequent is group 0).
    features
        Which of these columns a score may use as well, none if not given.

    >>> load_dataset("compas")
    Dataset(name='compas', people=6172, positives=3363, groups={'female': 1175, 'male': 4997})
    >>> load_dataset("compas", features=["sex"]).categorical_names
    ('c_charge_degree', 'sex')
    >>> load_dataset("compas", group="race").group_names
    ('African-American', 'Caucasian', 'Hispanic', 'Other', 'Asian', 'Native American')
    """
    if name not in TABLES:
        raise unknown_name("dataset", name, TABLES)
    table = TABLES[name]
    group = next(iter(table.groups)) if group is None else group
    if group not in table.groups:
        raise unknown_name(f"group of dataset {name!r}", group, table.groups)
    for column in features:
        if column not in table.groups:
            raise unknown_name(f"features of dataset {name!r}", column, table.groups)

    text = (files("fairgate.data") / f"{name}.csv").read_text(encoding="utf-8")
    people = list(csv.DictReader(text.splitlines()))
    known = [column for column in people[0] if column not in (*table.groups, "label")]
    numeric = tuple(column for column in known if people[0][column].isdigit())
    categorical = (*(column for column in known if column not in numeric), *features)
    group_names = table.groups[group]
    return Dataset(
        name=name,
        numeric=np.array([[float(person[column]) for column in numeric] for person in people]),
        categorical=np.array([[person[column] for column in categorical] for person in people]),
        numeric_names=numeric,
        categorical_names=categorical,
        labels=np.array([int(person["label"]) for person in people], dtype=np.int64),
        groups=np.array([group_names.index(person[group]) for person in people], dtype=np.int64),
        group_names=group_names,
    )
