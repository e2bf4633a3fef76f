"""reproduce: the whole at small size, twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.engines import Engine
from fairgate.experiments.plan import Plan, paper, words
from fairgate.experiments.reproduce import FIGURES, JOBS, LONG, TABLES, reproduce
from fairgate.experiments.results import VERDICTS
from fairgate.store import Work

SMALL = Plan(rounds=120, seeds=3, many=7, seed=1, tail=50)
ELSEWHERE = LONG.keys() - {"roots"}
"""Parts that test_rivals.py and test_choices.py run."""

PARTS = [part for part in JOBS if part not in ELSEWHERE]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    _, changed = reproduce(PARTS, SMALL, out, 1, print)
    assert changed
    return out


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file; of the index, whose lines are in the order in which simulations ended, its lines sorted."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    notes = {name: b"".join(sorted(found[name].splitlines(True))) for name in found if name.endswith("index.jsonl")}
    return found | notes


def test_everything_is_written(whole: Path) -> None:
    files = set(contents(whole))
    assert not files & {f"runs/{job.name}.parquet" for part in ELSEWHERE for job in JOBS[part](SMALL)}
    others = ["table4-rules", "table4-grid", "table5-settings", "roots5", "roots5-settings", "roots4-grid"]
    own = TABLES.keys() - {"roots", *ELSEWHERE}
    for key in [*own, *others, "chosen", *(f"finding{k}" for k in range(1, 6))]:
        assert {f"tables/{key}.md", f"tables/{key}.csv", f"tables/{key}.tex"} <= files
    for key in [*FIGURES.keys() - set(ELSEWHERE), *(f"finding{k}" for k in range(1, 6))]:
        assert {f"figures/{key}.png", f"figures/{key}.pdf"} <= files
    assert {"summary.json", "manifest.json", "report.html", "runs/compas-ofs.parquet"} <= files
    assert not [name for name in files if name.endswith(".part")]


def test_the_summary_has_every_printed_number_beside_ours(whole: Path) -> None:
    summary = json.loads((whole / "summary.json").read_text())
    numbers = summary["numbers"]
    for table in ("table1", "table6"):
        for task, rows in paper()[table].items():
            for method, values in rows.items():
                for figure, (mean, sd) in values.items():
                    entry = numbers[f"{table}.{task}.{method}.{figure}"]
                    assert entry["paper"] == {"mean": mean, "sd": sd}
                    assert entry["ours"]["seeds"] == 3
                    assert entry["ours"]["low"] <= entry["ours"]["mean"] <= entry["ours"]["high"]
                    assert entry["roots"]["low"] <= entry["roots"]["mean"] <= entry["roots"]["high"]
    for task, values in paper()["table2"].items():
        assert {numbers[f"table2.{task}.sampled.{name}"]["paper"]["mean"] for name in values} == set(values.values())
    for task, values in paper()["table3"].items():
        for figure, (mean, low, high) in values.items():
            assert numbers[f"table3.{task}.{figure}"]["paper"] == {"mean": mean, "low": low, "high": high}
    assert numbers["table4.german.rule"]["paper"] == "infeasible-min-violation"
    assert numbers["table5.mve-s.batch.ofs"]["paper"] == {"mean": 88.9}
    run = fg.simulate(fg.load_task("german"), fg.load_learner("ofs", "german"), SMALL.rounds, 6, seed=SMALL.seed)
    first, second = run.per_replicate(SMALL.tail)["reward"].reshape(2, 3).mean(axis=1)
    found = numbers["table1.german.ofs.reward"]
    assert found["ours"]["mean"] == pytest.approx(first)
    assert found["roots"]["low"] == pytest.approx(
        first + 0.05 * (second - first) if first < second else second + 0.05 * (first - second)
    )
    assert found["roots"]["mean"] == pytest.approx((first + second) / 2)


def test_every_claim_has_a_verdict(whole: Path) -> None:
    ledger = json.loads((whole / "summary.json").read_text())["claims"]
    assert set(ledger) == set(words()["claims"])
    for claim in ledger.values():
        assert claim["verdict"] in VERDICTS
        assert all(claim[part] for part in ("evidence", "reason", "section", "rule"))
        assert claim["in_sample"] in (True, False)


def test_the_manifest_vouches_for_every_file(whole: Path) -> None:
    manifest = json.loads((whole / "manifest.json").read_text())
    listed = set(manifest["files"])
    assert listed == set(contents(whole)) - {"manifest.json", "runs/index.jsonl"}
    assert not any(name.startswith("/") for name in listed)
    assert manifest["settings"]["versions"]["numpy"] == np.__version__


def test_two_runs_give_identical_bytes_and_a_third_does_nothing(whole: Path, tmp_path: Path) -> None:
    reproduce(PARTS, SMALL, tmp_path, 2, print)
    assert contents(tmp_path) == contents(whole)
    said: list[str] = []
    _, changed = reproduce(PARTS, SMALL, tmp_path, 2, said.append)
    assert not changed
    (tmp_path / "report.html").write_text("changed by hand")
    _, changed = reproduce(PARTS, SMALL, tmp_path, 2, said.append)
    assert changed
    assert contents(tmp_path) == contents(whole)


def test_parts_can_be_named(tmp_path: Path) -> None:
    summary, _ = reproduce(["table4", "figure3"], SMALL, tmp_path, 1, print)
    files = contents(tmp_path)
    assert {key.split(".")[0] for key in summary["numbers"]} == {"table4", "table4-rules", "table4-grid"}
    assert "figures/figure3.png" in files
    assert "tables/table1.md" not in files
    assert "runs/german-stress-ofs.parquet" not in files


def test_long_parts_are_run_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(folder: Path, work: list[Work], engine: Engine, say: object) -> None:
        raise InterruptedError(" ".join(each.name for each in work))

    monkeypatch.setattr("fairgate.experiments.reproduce.complete", stop)
    for parts, run in (([], False), (["roots"], True), (["all"], True), (["table5", "claims"], False)):
        with pytest.raises(InterruptedError) as names:
            reproduce(parts, SMALL, tmp_path, 1, print)
        assert ("german-stress-ofs-cost-2" in str(names.value)) == run
        assert ("mve-s-ofs" in str(names.value)) == (parts != ["roots"])


def test_an_unknown_part_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(fg.InputError, match="unknown part 'tabel1': did you mean 'table1'"):
        reproduce(["tabel1"], SMALL, tmp_path, 1, print)
    assert not list(tmp_path.iterdir())
