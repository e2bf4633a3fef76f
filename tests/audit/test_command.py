"""``fairgate audit``: what it prints and writes, exit codes, and every bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import fairgate as fg
from fairgate.audit.example import example_decisions
from tests.browser import Browser
from tests.command import fairgate, fairgate_here

NAMES = ("--decision", "accepted", "--group", "sex")
ALL = ("--date", "day", "--policy", "policy", "--label", "repaid", "--score", "score", "--propensity", "probability")
ASKED = ("--parity", "0.05", "--service", "0.3:0.8", "--opportunity", "0.1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(example_decisions(), tmp_path / "decisions.parquet")
    return tmp_path


@pytest.mark.slow
def test_it_prints_within_80_columns_and_writes_a_page_and_numbers(folder: Path) -> None:
    result = fairgate("audit", "decisions.parquet", *NAMES, *ALL, *ASKED, cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert {path.name for path in (folder / "audit").iterdir()} == {"audit.html", "audit.json"}
    for words in ("ALARM", "not identified", "doubly robust", "rang in 2024-07"):
        assert words in " ".join(result.stdout.split())


def test_json_and_python_say_the_same(folder: Path) -> None:
    result = fairgate_here("audit", "decisions.parquet", *NAMES, *ALL, *ASKED, "--json", cwd=folder)
    document = json.loads(result.stdout)
    assert document == json.loads((folder / "audit/audit.json").read_text(encoding="utf-8"))
    found = fg.audit(
        folder / "decisions.parquet",
        decision="accepted",
        group="sex",
        date="day",
        policy="policy",
        label="repaid",
        score="score",
        propensity="probability",
        constraints=[fg.DemographicParity(0.05), fg.ServiceRate(0.3, 0.8), fg.EqualOpportunity(0.1)],
    )
    assert {**found.document(), "table": None} == {**document, "table": None}
    alarm = document["alarms"][0]
    assert (alarm["scope"], alarm["constraint"], alarm["status"]) == ("all decisions", "parity=0.05", "broken")
    assert alarm["rang"] == "2024-07"
    assert document["overall"]["gap"]["low"][-1] - 0.05 == pytest.approx(alarm["lowest"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fail", "--parity", "0.05"), 1),
        (("--parity", "0.05"), 0),
        (("--fail", "--parity", "0.5"), 0),
        (("--fail",), 0),
    ],
)
def test_the_exit_code_tells_of_an_alarm_if_asked_to(folder: Path, options: tuple[str, ...], code: int) -> None:
    assert fairgate_here("audit", "decisions.parquet", *NAMES, *options, cwd=folder).returncode == code


@pytest.mark.parametrize(("options", "status", "code"), [((), "undecided", 0), (("--pooled",), "broken", 1)])
def test_equal_rates_and_a_changing_mix_ring_no_alarm_unless_groups_are_pooled(
    tmp_path: Path, options: tuple[str, ...], status: str, code: int
) -> None:
    """Both groups are accepted at 60% and then at 30%, while one group gives way to the other."""
    rows = [
        f"{day},{group},{int(number < rate * size)}"
        for day, rate, sizes in (("2024-01-15", 0.6, (7500, 2500)), ("2024-02-15", 0.3, (2500, 7500)))
        for group, size in zip("fm", sizes, strict=True)
        for number in range(size)
    ]
    (tmp_path / "changing.csv").write_text("\n".join(["day,sex,accepted", *rows]), encoding="utf-8")
    asked = ("--date", "day", "--parity", "0.05", "--fail", "--json", *options)
    result = fairgate_here("audit", "changing.csv", *NAMES, *asked, cwd=tmp_path)
    (alarm,) = json.loads(result.stdout)["alarms"]
    assert (result.returncode, alarm["status"], alarm["mixed"]) == (code, status, not options)


def test_neither_score_nor_label_nor_lottery_is_needed(folder: Path) -> None:
    pc.write_csv(example_decisions().select(["accepted", "sex"]), folder / "plain.csv")
    result = fairgate_here("audit", "plain.csv", *NAMES, "--opportunity", "0.1", "--json", cwd=folder)
    document = json.loads(result.stdout)
    assert document["value"] is None
    assert document["alarms"][0]["status"] == "not identified"
    assert "needs labels" in document["alarms"][0]["text"]
    assert document["looks"] == {"by": "once", "names": ["12000"]}


TABLES = {
    "decided.csv": "accepted,sex\n1,f\n2,m\n",
    "empty.csv": "",
    "header.csv": "accepted,sex\n",
    "one.csv": "accepted,sex\n1,f\n0,f\n",
    "dates.csv": "accepted,sex,day\n1,f,2024-01-01\n0,m,soon\n",
    "far.csv": "accepted,sex,day\n1,f,2024-01-01\n0,m,0004-01-01\n",
    "chance.csv": "accepted,sex,score,repaid,p\n1,f,0.5,1,1.5\n0,m,0.4,,0.5\n",
    "zero.csv": "accepted,sex,score,repaid,p\n1,f,0.5,1,0\n0,m,0.4,,0.5\n",
    "sure.csv": "accepted,sex,score,repaid,p\n1,f,0.5,1,0.5\n0,m,0.4,,1\n",
}
LOTTERY = ("--score", "score", "--label", "repaid", "--propensity", "p")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("decisions.parquet", "--group", "sex"), "decision must be the name of a column: say --decision NAME"),
        (("decisions.parquet", "--decision", "acepted", "--group", "sex"), "did you mean 'accepted'?"),
        (("nothing.csv", *NAMES), "file 'nothing.csv' does not exist"),
        (("decided.csv", *NAMES), "the decision column 'accepted' must be 0 or 1, true or false"),
        (("empty.csv", *NAMES), "file 'empty.csv' is empty"),
        (("header.csv", *NAMES), "header.csv has no rows"),
        (("one.csv", *NAMES, "--parity", "0.1"), "parity=0.1 compares groups, but the column 'sex' has only"),
        (("dates.csv", *NAMES, "--date", "day"), "1 have date not a date in the column 'day', such as 'soon'"),
        (("far.csv", *NAMES, "--date", "day"), "look for a wrong year in it"),
        (("dates.csv", *NAMES, "--date", "day", "--order", "day"), "date and order both say"),
        (("dates.csv", *NAMES, "--period", "month"), "period='month' needs a column of dates"),
        (("decisions.parquet", *NAMES, "--date", "day", "--period", "fortnight"), "unknown period 'fortnight'"),
        (("decisions.parquet", *NAMES, "--date", "day", "--period", "month", "--once"), "once looks once at all"),
        (("chance.csv", *NAMES, *LOTTERY), "must be probabilities of acceptance from 0 to 1, got 1.5"),
        (("zero.csv", *NAMES, *LOTTERY), "1 people were accepted with propensity 0"),
        (("sure.csv", *NAMES, *LOTTERY), "1 people were rejected with propensity 1"),
        (("chance.csv", *NAMES, "--propensity", "p"), "values other thresholds and needs a score (--score) too"),
        (("decisions.parquet", *NAMES, "--alpha", "0.9"), "alpha must be a probability above 0 and at most 0.5"),
        (("decisions.parquet", *NAMES, "--cost", "-1"), "cost must be a number of at least 0, got -1"),
        (("decisions.parquet", *NAMES, "--parity", "0.1", "--constraint", "parity=0.2"), "parity is given twice"),
        (("decisions.parquet", *NAMES, "--min-group", "9999"), "min_group=9999 leaves out every group"),
        (("decisions.parquet", *NAMES, "--out", "decisions.parquet/x"), "must be a folder one can write to"),
    ],
)
def test_bad_input_of_an_audit_is_one_sentence_and_exit_code_2(
    folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = fairgate_here("audit", *arguments, cwd=folder)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "audit/audit.json").exists()


def test_the_help_has_an_example(folder: Path) -> None:
    result = fairgate_here("audit", "--help", cwd=folder)
    assert "Example: fairgate audit decisions.parquet" in " ".join(result.stdout.replace("│", " ").split())


@pytest.mark.slow
def test_the_page_of_an_audit_opens_by_itself_and_fits(folder: Path, browser: Browser) -> None:
    fairgate_here("audit", "decisions.parquet", *NAMES, *ALL, *ASKED, cwd=folder)
    for width in (1280, 390):
        page = browser.open(folder / "audit/audit.html", width)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("document.querySelectorAll('figure img').length") == 3
    assert page.evaluate("[...document.querySelectorAll('img')].every(image => image.naturalWidth > 0)")
    assert "not identified" in page.evaluate("document.body.innerText")
