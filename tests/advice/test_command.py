"""``fairgate advise`` and ``fairgate init`` in their own processes: what they write, and every bad input."""

from __future__ import annotations

import csv
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.config import put_together
from fairgate.advice.example import example_table
from fairgate.people import from_file
from tests.command import fairgate, fairgate_here, heeding

SMALL = ("--seeds", "2", "--rounds", "20", "--feedback", "0,0.5")
NAMES = ("--score", "risk_score", "--label", "repaid", "--group", "sex")


def test_the_example_works_from_beginning_to_end(tmp_path: Path) -> None:
    first = fairgate("init", "x", cwd=tmp_path)
    assert first.returncode == 0
    assert "fairgate advise --config x/policy.toml" in first.stdout
    result = fairgate("advise", "--config", "x/policy.toml", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "Recommendation\nAccept people with risk_score ≥ " in result.stdout
    assert "In the loop" not in result.stdout
    small = ("--loops", "--seeds", "3", "--rounds", "60")
    looped = fairgate("advise", "--config", "x/policy.toml", *small, cwd=tmp_path)
    assert max(len(line) for line in looped.stdout.splitlines()) <= 80
    assert "In the loop, feedback medium (0.5): 3 loops × 60 rounds" in looped.stdout
    assert looped.stderr.splitlines()[0] == "feedback 0: best of today, kept"
    assert {path.name for path in (tmp_path / "x/advice").iterdir()} == {
        "reference.json",
        "report.html",
        "report.json",
        "thresholds.csv",
    }
    again = fairgate("init", "x", cwd=tmp_path)
    assert again.returncode == 2
    assert "x/policy.toml is there already and is not overwritten" in again.stderr


def test_constraints_that_contradict_each_other_end_in_a_sentence(tmp_path: Path) -> None:
    pq.write_table(example_table(), tmp_path / "people.parquet")
    asked = ("--service", "0.6:0.9", "--group-service", "0.1:0.4")
    result = fairgate("advise", "people.parquet", *NAMES, *asked, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert "group-service=0.1:0.4 and service=0.6:0.9 contradict each other, whatever the score" in result.stderr


def test_json_the_report_and_python_say_the_same(tmp_path: Path) -> None:
    pq.write_table(example_table(), tmp_path / "people.parquet")
    options = ("--positive", "1", "--cost", "2", "--parity", "0.1", "--service", "0.3:0.8", "--loops", "--json")
    result = fairgate("advise", "people.parquet", *NAMES, *options, *SMALL, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report == json.loads((tmp_path / "advice/report.json").read_text(encoding="utf-8"))
    people = from_file(tmp_path / "people.parquet", score="risk_score", label="repaid", group="sex")
    aims = Aims(
        cost=2,
        constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.8)],
        loops=True,
        seeds=2,
        rounds=20,
        feedback=(0.0, 0.5),
    )
    found = advise(people, aims)
    assert report["recommendation"]["text"] == found.recommendation.text
    assert report["recommendation"]["reward"]["low"] == found.recommendation.reward.low
    assert [each["best"]["threshold"] for each in report["steady"]] == [each.best.threshold for each in found.steady]
    assert [each["strength"] for each in report["loop"]] == [0.0, 0.5]
    with (tmp_path / "advice/thresholds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(people.cuts) == report["table"]["thresholds"]
    chosen = next(row for row in rows if float(row["threshold"]) == found.recommendation.threshold)
    assert chosen["feasible"] == "true"
    assert float(chosen["gap_high"]) == found.recommendation.gap.high
    assert float(chosen["acceptance f"]) == pytest.approx(found.recommendation.rates["f"])


def test_options_win_over_the_policy_file(tmp_path: Path) -> None:
    fairgate_here("init", ".", cwd=tmp_path)
    given = ("--parity", "0.2", "--out", "here", "--query", "select * from 'applicants.csv' limit 300")
    result = fairgate_here("advise", "--config", "policy.toml", *given, *SMALL, "--json", cwd=tmp_path)
    report = json.loads(result.stdout)
    assert report["aims"]["constraints"] == ["parity=0.2", "service=0.3:0.8"]
    assert (report["aims"]["cost"], report["table"]["rows"]) == (2.0, 300)
    assert (tmp_path / "here/report.json").is_file()


TABLES = {
    "people.csv": "risk_score,repaid,sex\n0.1,0,f\n0.9,1,f\n0.2,0,m\n0.8,1,m\n",
    "words.csv": "risk_score,repaid,sex\n0.1,owed,f\n0.9,paid,m\n",
    "constant.csv": "risk_score,repaid,sex\n0.5,0,f\n0.5,1,m\n",
    "one.csv": "risk_score,repaid,sex\n0.1,0,f\n0.9,1,f\n",
    "unlabelled.csv": "risk_score,repaid,sex\n0.1,,f\n0.9,,m\n",
    "text.csv": "risk_score,repaid,sex\nlow,0,f\nhigh,1,m\n",
    "empty.csv": "",
    "header.csv": "risk_score,repaid,sex\n",
    "broken.parquet": "no parquet",
    "broken.arrow": "no arrow",
    "table.xlsx": "no table",
    "table.doc": "no table",
    "bad.toml": "[aims\n",
    "key.toml": "[aims]\ncots = 0.1\n",
    "constraint.toml": "[constraints]\npartiy = 0.1\n",
    "parity.toml": "[constraints]\nparity = 0.3\n",
    "kind.toml": '[constraints]\nparity = "small"\n',
    "place.toml": '[constraints]\n"nowhere:Mine" = 0.1\n',
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("people.csv", "--score", "risk_scor", "--label", "repaid", "--group", "sex"), "did you mean 'risk_score'?"),
        (("people.csv", "--label", "repaid", "--group", "sex"), "score must be the name of a column: say --score NAME"),
        (("nobody.csv", *NAMES), "file 'nobody.csv' does not exist"),
        (NAMES, "there is no table: name a file such as applicants.csv"),
        (("table.doc", *NAMES), "'table.doc' must end in one of .csv"),
        (("table.xlsx", *NAMES), "'table.xlsx' cannot be read as Excel"),
        (("https://example.org/people.csv", *NAMES), "is an address, and tables are read from this machine only"),
        (("empty.csv", *NAMES), "file 'empty.csv' is empty"),
        (("header.csv", *NAMES), "header.csv has no rows"),
        (("broken.parquet", *NAMES), "'broken.parquet' cannot be read as Parquet"),
        (("broken.arrow", *NAMES), "'broken.arrow' cannot be read as Arrow or Feather"),
        (("words.csv", *NAMES), "the label column 'repaid' must be 0 or 1, got 'owed', 'paid'"),
        (("words.csv", *NAMES, "--positive", "ja"), "positive 'ja' is no label of the column 'repaid'"),
        (("constant.csv", *NAMES), "the score column 'risk_score' is 0.5 for everybody"),
        (("one.csv", *NAMES, "--parity", "0.1"), "the group column 'sex' has only one, 'f'"),
        (("unlabelled.csv", *NAMES), "the label column 'repaid' is missing for every row"),
        (("text.csv", *NAMES), "'risk_score' has no number in any of 2 rows, got 'low', 'high'"),
        (("people.csv", *NAMES, "--parity", "2"), "parity=2: epsilon must be in [0, 1], got 2"),
        (("people.csv", *NAMES, "--service", "0.8"), "service must be written as service=low:high, got service=0.8"),
        (
            ("people.csv", *NAMES, "--service", "0.8:0.3"),
            "service=0.8:0.3: the window is empty, low must be below",
        ),
        (("people.csv", *NAMES, "--feedback", "0,1"), "feedback must be strengths above -1 and below 1, got 1"),
        (("people.csv", *NAMES, "--feedback", "0,-1.5"), "feedback must be strengths above -1 and below 1, got -1.5"),
        (
            ("people.csv", *NAMES, "--parity", "0.1", "--constraint", "parity=0.2"),
            "parity is given twice: parity=0.1 and parity=0.2",
        ),
        (("people.csv", *NAMES, "--parity", "0.1", "--parity", "0.2"), "parity is given twice: parity=0.1 and"),
        (
            ("--config", "parity.toml", "--constraint", "parity=0.1", "--constraint", "parity"),
            "parity is given twice: parity=0.1 and parity\n",
        ),
        (("people.csv", *NAMES, "--cost", "nan"), "cost must be at least 0, got nan"),
        (("people.csv", *NAMES, "--rounds", "1"), "rounds must be a whole number of at least 5, got 1"),
        (("--query", "select 1 from nowhere", *NAMES), "cannot be run by DuckDB"),
        (("people.csv", "--query", "select 1", *NAMES), "'people.csv' cannot be used together with a query"),
        (("--config", "no.toml"), "--config no.toml cannot be read"),
        (("--config", "bad.toml"), "--config bad.toml must be TOML"),
        (("--config", "key.toml"), "unknown cots in [aims]: did you mean 'cost'?"),
        (
            ("--config", "constraint.toml"),
            "constraint.toml: unknown constraint 'partiy': did you mean 'parity'?",
        ),
        (("--config", "kind.toml"), "--config kind.toml: parity=small: epsilon must be in [0, 1], got 'small'"),
        (("--config", "place.toml"), "--config place.toml: constraint 'nowhere:Mine' is not built in"),
        (
            ("--config", "place.toml", "--allow", "nowhere:Mine"),
            "constraint 'nowhere:Mine': there is no module 'nowhere'",
        ),
        (("--config", "place.toml", "--allow", "mine"), "allow must be names such as package.module:Name, got 'mine'"),
        (("people.csv", *NAMES, "--constraint", "partiy=0.1"), "unknown constraint 'partiy': did you mean 'parity'?"),
        (("people.csv", *NAMES, "--constraint", "tpr"), "unknown constraint 'tpr'"),
        (("people.csv", *NAMES, "--reader", "nowhere:read"), "'nowhere:read': there is no module 'nowhere'"),
        (("people.csv", *NAMES, "--out", "people.csv"), "--out people.csv must be a folder one can write to"),
        (("people.csv", *NAMES, *SMALL, "--out", "occupied"), "cannot write occupied/report.json"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "occupied/report.json").mkdir(parents=True)
    result = fairgate_here("advise", *arguments, *(() if "--json" in arguments else ("--json",)), cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.startswith("fairgate: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "advice/report.json").exists()


def test_help_tells_an_example(tmp_path: Path) -> None:
    assert "Example: fairgate advise applicants.csv" in fairgate_here("advise", "--help", cwd=tmp_path).stdout
    assert "Example: fairgate init" in fairgate_here("init", "--help", cwd=tmp_path).stdout


def test_an_interruption_leaves_no_half_report(tmp_path: Path) -> None:
    fairgate_here("init", ".", cwd=tmp_path)
    command = [sys.executable, "-m", "fairgate", "advise", "--config", "policy.toml", "--loops", "--rounds", "100000"]
    with subprocess.Popen(
        heeding(*command), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "feedback 0: best of today, kept\n"
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode not in (0, 2)
    assert "Traceback" not in told
    assert list((tmp_path / "advice").iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read off /proc, which is not here")
def test_a_million_rows_are_counted_exactly_in_little_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    group = rng.random(1_000_000) < 0.4
    score = rng.normal(np.where(group, 0.1, 0.2), 1.0)
    label = (rng.random(len(score)) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(float)
    label[score < -1.0] = np.nan
    columns = {"score": score, "label": pa.array(label, from_pandas=True), "group": np.where(group, "f", "m")}
    pq.write_table(pa.table({**columns, "not needed": rng.random(len(score))}), tmp_path / "people.parquet")
    code = (  # the kernel's own count of this program: that of getrusage may be the largest of the one that started it
        "import sys\nfrom pathlib import Path\nfrom fairgate.cli import app\n"
        "try:\n    app(sys.argv[1:])\nfinally:\n"
        "    facts = dict(line.split(':') for line in Path('/proc/self/status').read_text().splitlines())\n"
        "    print(facts['VmHWM'].split()[0], file=sys.stderr)"
    )
    names = ("--score", "score", "--label", "label", "--group", "group", "--parity", "0.05", "--json")
    result = subprocess.run(
        [sys.executable, "-c", code, "advise", "people.parquet", *names, *SMALL],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    report = json.loads(result.stdout)
    assert int(result.stderr) < 700_000  # kB
    assert report["table"]["people"] == 1_000_000
    assert report["table"]["labels"]["missing"] == int((score < -1.0).sum())
    advised = report["recommendation"]["threshold"]
    accepted = score >= advised
    assert report["recommendation"]["acceptance"]["value"] == pytest.approx(accepted.mean(), abs=1e-12)
    gap = abs(accepted[group].mean() - accepted[~group].mean())
    assert report["recommendation"]["gap"]["value"] == pytest.approx(gap, abs=1e-12)
    assert fg.__version__ == report["fairgate"]


def test_a_folder_in_the_place_of_a_file_is_one_sentence_and_leaves_nothing_half(tmp_path: Path) -> None:
    (tmp_path / "advice/report.html").mkdir(parents=True)
    fairgate_here("init", ".", cwd=tmp_path)
    result = fairgate_here("advise", "--config", "policy.toml", *SMALL, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("fairgate: cannot write advice/report.html: ")
    assert {path.name for path in (tmp_path / "advice").iterdir()} == {"report.html", "thresholds.csv"}


def test_an_option_replaces_what_the_policy_file_says(tmp_path: Path) -> None:
    (tmp_path / "parity.toml").write_text("[constraints]\nparity = 0.3\n", encoding="utf-8")
    given = {"file": "a.csv", "score": "s", "label": "y", "group": "g"}
    config = put_together(tmp_path / "parity.toml", given, {"parity": "0.1"})
    assert [each.text for each in config.aims.problem.constraints] == ["parity=0.1"]


@pytest.mark.slow
def test_ten_thousand_rows_take_less_than_five_seconds(tmp_path: Path) -> None:
    """Processor time of the whole command, so that a busy machine does not matter; no learner runs."""
    rng = np.random.default_rng(2)
    group, score = rng.integers(3, size=10_000), rng.normal(size=10_000)
    label = (rng.random(len(score)) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(float)
    label[rng.random(len(score)) < 0.2] = np.nan
    table = pa.table({"risk_score": score, "repaid": pa.array(label, from_pandas=True), "sex": group})
    pq.write_table(table, tmp_path / "people.parquet")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = fairgate("advise", "people.parquet", *NAMES, "--parity", "0.1", "--current", "0.5", cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (result.returncode, result.stderr) == (0, "")
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5.0
