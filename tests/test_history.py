"""Histories: tables of past decisions, read, cut into batches, and explained by an old threshold."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

import fairgate as fg
from fairgate.history import History
from fairgate.people.old_policy import cutoffs_of
from fairgate.people.past import Past
from tests.command import fairgate_here
from tests.past import Keeper
from tests.past import past_table as table

SETTING = fg.Setting(fg.Problem(fg.Utility(1.0)), np.linspace(0.1, 0.9, 9), groups=2)


def past(scores: Any, groups: Any, accepted: Any, outcomes: Any) -> Past:
    return Past(
        ("f", "m"),
        np.array(scores, dtype=float),
        np.array(groups, dtype=np.int16),
        np.array(accepted, dtype=bool),
        np.array(outcomes, dtype=np.int8),
    )


def test_batches_hold_everybody_once_and_in_order() -> None:
    history = History.of(table())
    seen = list(history.observations(SETTING, replicates=3, batch=64))
    assert [each.people[0].sum() for each in seen] == [16, *[64] * 6]
    assert len(seen) == history.batches(64)
    source = table()
    chosen = source["accepted"] == 1
    last = slice(-64, None)
    bins = np.searchsorted(SETTING.thresholds, source["score"], side="right")
    for group, name in enumerate("fm"):
        own = source["group"] == name
        assert sum(int(each.accepted[1, group]) for each in seen) == (own & chosen).sum()
        assert (seen[-1].binned[0][2, group] == np.bincount(bins[last][own[last]], minlength=10)).all()
        for label in (0, 1):
            known = bins[own & chosen & (source["outcome"] == label)]
            assert np.array_equal(
                sum(each.binned[1][0, group, :, label] for each in seen), np.bincount(known, minlength=10)
            )
    assert (seen[3].positives == seen[3].binned[1][..., 1].sum(axis=2)).all()
    assert (seen[3].negatives == seen[3].binned[1][..., 0].sum(axis=2)).all()


def test_the_level_is_that_of_selective_labels() -> None:
    """Outcomes of rejected people are neither an error nor used."""
    told = table(outcome=np.ones(400))
    (seen,) = History.of(told).observations(SETTING, batch=1000)
    assert seen.positives.sum() == told["accepted"].sum()
    assert seen.binned[1][0, :, :5].sum() == 0


def test_kinds_of_tables_give_the_same(tmp_path: Path) -> None:
    columns = table()
    frame = pa.table(columns)
    csv.write_csv(frame, tmp_path / "past.csv")
    parquet.write_table(frame, tmp_path / "past.parquet")
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = (frame, pandas.DataFrame(columns), polars.DataFrame(columns))
    files = (tmp_path / "past.parquet", str(tmp_path / "past.csv"))
    assert {History.of(each).sha256 for each in (columns, *frames, *files)} == {History.of(columns).sha256}


def test_rows_are_put_in_order_by_time() -> None:
    columns, backwards = table(), {name: values[::-1] for name, values in table().items()}
    for when in (
        np.arange(400)[::-1],
        [str(np.datetime64("2024-01-01") + day) for day in range(400)][::-1],
        (np.datetime64("2024-01-01", "s") + np.arange(400) * np.timedelta64(86400, "s"))[::-1],
    ):
        assert History.of(backwards | {"when": when}, time="when") == History.of(columns)


def test_an_old_threshold_is_found() -> None:
    found = History.of(table(cut=0.5)).old_policy(SETTING, replicates=2)
    assert found.policy(SETTING.thresholds).single.tolist() == [[0.5, 0.5]] * 2
    assert found.explained.tolist() == [1.0, 1.0]
    assert not found.given


@given(
    st.lists(st.tuples(st.sampled_from(np.linspace(0, 1, 11).tolist()), st.booleans(), st.booleans()), min_size=1),
)
def test_the_old_threshold_explains_as_much_as_any(rows: list[tuple[float, bool, bool]]) -> None:
    scores, groups, accepted = (np.array(each) for each in zip(*rows, strict=True))
    found = History((past(scores, groups, accepted, [2] * len(rows)),)).old_policy(SETTING)
    grid = SETTING.thresholds
    share = [float(((scores >= cut) == accepted).mean()) for cut in grid]
    assert found.explained[0] == pytest.approx(max(share))
    assert found.shared[0] == len(grid) - 1 - np.argmax(share[::-1])
    for group in (0, 1):
        own = groups == group
        if own.any():
            each = [int(((scores >= cut) == accepted)[own].sum()) for cut in grid]
            assert each[found.per_group[0, group]] == max(each)
    assert found.explained_per_group[0] >= found.explained[0] - 1e-12


def test_a_lottery_is_not_explained() -> None:
    rng = np.random.default_rng(1)
    assert History.of(table(accepted=rng.integers(0, 2, 400))).old_policy(SETTING).explained[0] < 0.65


def test_an_old_threshold_may_be_given() -> None:
    history = History.of(table(), threshold={"m": 0.42, "f": 0.71})
    found = history.old_policy(SETTING, 2)
    assert found.policy(SETTING.thresholds, per_group=True).single.round(1).tolist() == [[0.7, 0.4]] * 2
    assert found.given
    assert found.explained_per_group[0] < 1.0
    assert History.of(table(), threshold=0.5).old_policy(SETTING).explained[0] == 1.0


def test_descending_scores_are_negated() -> None:
    turned = table()
    history = History.of(turned | {"score": -turned["score"]}, descending=True, threshold=-0.5)
    assert history.old_policy(SETTING).shared[0] == 4
    assert History.of(turned) == replace(history, cutoffs=())


def test_one_table_per_replicate() -> None:
    history = History.of([table(100, 0.3), table(40, 0.6, seed=1), table(70, 0.9, seed=2)])
    assert history.replicates == 3
    assert history.people == 210
    seen = list(history.observations(SETTING, 3, batch=32))
    assert [each.people.sum(axis=1).tolist() for each in seen] == [[4, 0, 0], [32, 0, 6], [32, 8, 32], [32, 32, 32]]
    assert history.old_policy(SETTING, 3).shared.tolist() == [2, 5, 8]
    cut = history.rows(slice(1, 3))
    assert cut == History.of([table(40, 0.6, seed=1), table(70, 0.9, seed=2)])
    for mine, whole in zip(cut.observations(SETTING, 2, batch=32), seen[-3:], strict=True):
        assert (mine.binned[0] == whole.binned[0][1:]).all()
        assert (mine.binned[1] == whole.binned[1][1:]).all()


def test_it_is_a_setting_of_a_learner() -> None:
    learner = Keeper(history=[table(cut=0.3), table(cut=0.5)])
    assert learner.replicates == 2
    assert learner.rows(np.array([1, 1, 0])).replicates == 3
    assert learner.rows(slice(1, 2)).history == History.of(table(cut=0.5))
    assert hash(learner.history) == hash(learner.clone().history)
    again = pickle.loads(pickle.dumps(learner))
    assert again == learner
    assert Keeper(history=table()).replicates is None
    assert Keeper(history=table()) != Keeper()
    told = learner.describe()["history"]
    assert told == {"kind": "History", "tables": 2, "rows": 800, "sha256": learner.history.sha256}


def test_simulation_gives_every_replicate_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.simulation.BLOCK", 2)
    task = fg.load_task("interior")
    cuts = task.thresholds[[3, 7, 5]]
    tables = [table(cut=cut, score=score) for cut, score in ((cut, np.linspace(-3, 3, 400)) for cut in cuts)]
    for cut, each in zip(cuts, tables, strict=True):
        each["accepted"] = (each["score"] >= cut).astype(int)
    run = fg.simulate(
        task, Keeper(history=[each | {"outcome": each["accepted"]} for each in tables]), rounds=2, seeds=3
    )
    nearest = np.searchsorted(task.thresholds, run.thresholds[:, 0, 0])
    assert (abs(nearest - [3, 7, 5]) <= 1).all()
    assert len(set(nearest.tolist())) == 3


def test_a_saved_run_keeps_it(tmp_path: Path) -> None:
    task = fg.load_task("interior")
    learner = Keeper(history=[table(), table(seed=1)])
    run = fg.Run.load(fg.simulate(task, learner, rounds=3).save(tmp_path / "run.parquet"))
    again = run.rebuilt_learner(Keeper)
    assert again == learner
    assert fg.simulate(task, again, rounds=3).settings == run.settings


def test_the_command_line_gives_it_to_learners(tmp_path: Path) -> None:
    csv.write_csv(pa.table(table()), tmp_path / "past.csv")
    size = ("--rounds", "5", "--seeds", "2", "--json", "--history", "past.csv")
    result = fairgate_here("run", "interior", "tests.past:Keeper", *size, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)["learners"]["tests.past:Keeper"]["settings"]["history"]
    assert told == {"kind": "History", "rows": 400, "sha256": History.of(table()).sha256}
    refused = fairgate_here("run", "interior", "ofs", *size, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "learner 'ofs' takes no history: choose one that does, such as safe-search" in refused.stderr


BAD = {
    "no rows": ({name: values[:0] for name, values in table().items()}, "no rows"),
    "no accepted": (table(accepted=np.zeros(400, dtype=int)), "'accepted' has nobody who was accepted"),
    "no outcome": (table(outcome=np.full(400, np.nan)), "'outcome' is empty for everybody who was accepted"),
    "nan": (table(score=np.where(np.arange(400) == 7, np.nan, 0.7)), "1 of 400 rows cannot be used.*score not a num"),
    "outcome": (table(outcome=np.full(400, 3)), "outcome column 'outcome' must be 0 or 1, and empty.*got '3'"),
    "decision": (table(accepted=["maybe", "no"] * 200), "decision column 'accepted' must be 0 or 1, got 'maybe', 'no'"),
    "column": ({"score": [1.0]}, "the group column 'group' is not in the table"),
    "lengths": ({**table(), "score": [0.1]}, "columns of the history must be equally long"),
    "kind": (3, "frame must be a table of pandas, polars or pyarrow, got int"),
    "file": ("nowhere.csv", "file 'nowhere.csv' does not exist"),
    "list": ([], "got an empty list"),
}


@pytest.mark.parametrize(("bad", "said"), BAD.values(), ids=BAD)
def test_a_bad_table_is_told_in_one_sentence(bad: Any, said: str) -> None:
    with pytest.raises(fg.InputError, match=said):
        History.of(bad)


def test_groups_must_be_those_of_the_setting() -> None:
    with pytest.raises(fg.InputError, match="unknown group 'm': it must be 'f', 'x'"):
        History.of(table(), groups=["f", "x"])
    with pytest.raises(fg.InputError, match="has only the group 'f': there must be people of 'f', 'm'"):
        History.of(table(group=["f"] * 400), groups=["f", "m"])
    with pytest.raises(fg.InputError, match="must have the 2 groups of the setting, got 1: 'f'"):
        History.of(table(group=["f"] * 400)).old_policy(SETTING)
    with pytest.raises(fg.InputError, match="same groups in every table, got 'f', 'm' and 'f'"):
        History.of([table(), table(group=["f"] * 400)])
    with pytest.raises(fg.InputError, match="one for each of 3 replicates, got 2"):
        History.of([table(), table()]).old_policy(SETTING, 3)
    swapped = History.of(table(), groups=["m", "f"]).observations(SETTING, batch=400)
    (plain,), (turned,) = History.of(table()).observations(SETTING, batch=400), swapped
    assert (plain.people[:, ::-1] == turned.people).all()


def test_what_sounds_upside_down_is_refused() -> None:
    sounding: list[tuple[dict[str, Any], str]] = [
        ({"outcome": "defaulted"}, "'defaulted' sounds like a bad outcome"),
        ({"accepted": "denied"}, "'denied' sounds like a rejection"),
        ({"score": "pd"}, "'pd' sounds like the probability of a bad outcome.*descending=True"),
    ]
    for given_names, said in sounding:
        with pytest.raises(fg.InputError, match=said):
            History.of(table(), **given_names)


@pytest.mark.parametrize("wrong", [[0.1], "high", {"f": 0.5}, [0.1, np.nan]])
def test_a_bad_threshold_is_told(wrong: Any) -> None:
    with pytest.raises(fg.InputError, match="threshold must"):
        cutoffs_of(wrong, ("f", "m"))
