"""What is done is found again: after an interruption, for a larger sweep, on another engine; not with other code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.store import code_digest
from fairgate.sweep import running
from fairgate.sweep.packs import MAKERS, Pack

OVER = {"rate": [0.1, 0.5], "epsilon": [0.02, 0.06]}
SIZE: dict[str, Any] = {"seeds": 4, "rounds": 40}


@pytest.fixture
def packs(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The cells of every pack that is simulated."""
    found: list[list[Any]] = []
    simulate: Callable[..., dict[str, bytes]] = Pack.simulate

    def noted(pack: Pack, name: str) -> dict[str, bytes]:
        found.append([*pack.cells])
        return simulate(pack, name)

    monkeypatch.setattr(Pack, "simulate", noted)
    monkeypatch.setattr(running, "code_digest", lambda *makers: "code")
    return found


def same(one: fg.Sweep, other: fg.Sweep) -> bool:
    pairs = [(one.figures[name], other.figures[name]) for name in one.figures]
    pairs += [(one.truth[name], other.truth[name]) for name in one.truth]
    return all(np.array_equal(first.astype(float), second.astype(float), equal_nan=True) for first, second in pairs)


def test_what_is_done_is_not_done_again(tmp_path: Path, packs: list[list[Any]]) -> None:
    said: list[str] = []
    first = fg.sweep("mve-s", ["ofs", "random"], over=OVER, **SIZE, out=tmp_path)
    assert sum(map(len, packs)) == 8
    packs.clear()
    again = fg.sweep("mve-s", ["ofs", "random"], over=OVER, **SIZE, out=tmp_path, say=said.append)
    assert packs == []
    assert said == ["8 of 8 cells are done already"]
    assert same(first, again)


def test_a_larger_sweep_does_only_what_is_missing(tmp_path: Path, packs: list[list[Any]]) -> None:
    fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    packs.clear()
    wider = OVER | {"rate": [0.1, 0.3, 0.5]}
    found = fg.sweep("mve-s", ["ofs", "random"], over=wider, **SIZE, out=tmp_path)
    assert sum(map(len, packs)) == 2 + 6
    assert same(found, fg.sweep("mve-s", ["ofs", "random"], over=wider, **SIZE))


def test_more_seeds_compute_cells_anew_and_their_first_loops_are_the_same(
    tmp_path: Path, packs: list[list[Any]]
) -> None:
    first = fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    packs.clear()
    more = fg.sweep("mve-s", ["ofs"], over=OVER, **{**SIZE, "seeds": SIZE["seeds"] + 2}, out=tmp_path)
    assert sum(map(len, packs)) == len(first)
    np.testing.assert_array_equal(more.figures["regret"][:, :, : SIZE["seeds"]], first.figures["regret"])


def test_an_interrupted_sweep_goes_on(tmp_path: Path, packs: list[list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Pack.simulate
    monkeypatch.setattr(running, "STACK", SIZE["seeds"])

    def interrupted(pack: Pack, name: str) -> dict[str, bytes]:
        if len(packs) == 2:
            raise KeyboardInterrupt
        return noted(pack, name)

    monkeypatch.setattr(Pack, "simulate", interrupted)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path, say=said.append)
    assert said == ["Interrupted: 2 of 4 blocks are done and kept; the same command goes on from there"]
    monkeypatch.setattr(Pack, "simulate", noted)
    packs.clear()
    found = fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    assert sum(map(len, packs)) == 2
    assert same(found, fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE))


def test_other_code_is_computed_again(tmp_path: Path, packs: list[list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    packs.clear()
    monkeypatch.setattr(running, "code_digest", lambda *makers: "other code")
    fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    assert sum(map(len, packs)) == 4


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(path.read_bytes()[:100]), Path.unlink])
def test_a_spoilt_block_is_made_again(tmp_path: Path, packs: list[list[Any]], harm: Callable[[Path], Any]) -> None:
    first = fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    blocks = sorted((tmp_path / "blocks").glob("*.parquet"))
    harm(blocks[0])
    packs.clear()
    again = fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=tmp_path)
    assert 0 < sum(map(len, packs)) <= 4
    assert same(first, again)


def test_the_code_of_a_learner_counts_and_that_of_another_does_not() -> None:
    one = code_digest(*MAKERS, fg.load_task("mve-s"), fg.OFS())
    assert one == code_digest(*MAKERS, fg.load_task("mve-s"), fg.OFS(c=0.1))
    assert one != code_digest(*MAKERS, fg.load_task("mve-s"), fg.Random())
    assert one != code_digest(*MAKERS, fg.load_task("compas"), fg.OFS())


@pytest.mark.slow
def test_processes_come_to_the_same(tmp_path: Path) -> None:
    one = fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, workers=1)
    two = fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, workers=2, out=tmp_path)
    assert same(one, two)


def test_a_sweep_is_saved_and_read(tmp_path: Path) -> None:
    found = fg.sweep("mve-s", ["ofs", "random"], over={"rate": [0.1, 2.0], "batch": [64, 128]}, **SIZE)
    read = fg.Sweep.load(found.save(tmp_path / "sweep.parquet"))
    assert same(found, read)
    assert repr(read) == repr(found)
    assert read.failures == found.failures
    assert read.design["batch"].dtype == np.int64
    assert read.command(0, "ofs") == found.command(0, "ofs")
    task, learner, size = read.cell(1, "ofs")
    alone = fg.simulate(task, learner, **size, keep="summary")
    np.testing.assert_array_equal(alone.figures["reward"], found.figures["reward"][1, 0])
    with pytest.raises(fg.InputError, match="is no saved sweep: there is no such file"):
        fg.Sweep.load(tmp_path / "none.parquet")
    fg.simulate(fg.load_task("mve-s"), fg.OFS(), rounds=10, seeds=2).save(tmp_path / "run.parquet")
    with pytest.raises(fg.InputError, match="a table of something else"):
        fg.Sweep.load(tmp_path / "run.parquet")


def test_an_unwritable_folder_is_said_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(fg.InputError, match=r"out .*file must be a folder one can write to"):
        fg.sweep("mve-s", "ofs", over=OVER, **SIZE, out=tmp_path / "file")


def test_whole_runs_are_kept_on_request(tmp_path: Path, packs: list[list[Any]]) -> None:
    kept = fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, out=tmp_path, keep="run")
    assert same(kept, fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, out=tmp_path / "other"))
    for index in (0, 3):
        task, learner, size = kept.cell(index, "mixture")
        alone, read = fg.simulate(task, learner, **size), kept.run(index, "mixture")
        np.testing.assert_array_equal(read.counts, alone.counts)
        np.testing.assert_array_equal(read.policies.thresholds, alone.policies.thresholds)
        assert read.settings == alone.settings
    packs.clear()
    again = fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, out=tmp_path, keep="run")
    assert packs == []
    next((tmp_path / "blocks").glob("run-*.parquet")).unlink()
    assert same(again, fg.sweep("mve-s", ["ofs", "mixture"], over=OVER, **SIZE, out=tmp_path, keep="run"))
    assert packs
    with pytest.raises(fg.InputError, match="this sweep kept no rounds"):
        fg.sweep("mve-s", "ofs", **SIZE).run(0, "ofs")
    with pytest.raises(fg.InputError, match="keep='run' writes a file per cell and needs a folder"):
        fg.sweep("mve-s", "ofs", **SIZE, keep="run")


class Passing(fg.OFS):
    """Fails as long as there is a file."""

    def choose(self, state: Any) -> Any:
        if Path("out of order").exists():
            raise OSError("the disk is away")
        return super().choose(state)


def test_what_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out of order").touch()
    learners = {"ofs": fg.OFS(), "own": Passing()}
    first = fg.sweep("mve-s", learners, over=OVER, **SIZE, out="kept")
    assert {each.learner for each in first.failures} == {"own"}
    (tmp_path / "out of order").unlink()
    again = fg.sweep("mve-s", learners, over=OVER, **SIZE, out="kept")
    assert not again.failures
    assert (again.figures["reward"][:, 1] == again.figures["reward"][:, 0]).all()


def test_a_lack_of_memory_is_no_failure_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    class Large(fg.OFS):
        def choose(self, state: Any) -> Any:
            raise MemoryError

    said: list[str] = []
    with pytest.raises(fg.InputError, match=r"at rate=0\.1, epsilon=0\.02: out of memory"):
        fg.sweep("mve-s", Large(), over=OVER, **SIZE, say=said.append)
    assert any("out of memory; it is tried in" in line for line in said)


def test_a_damaged_run_is_made_again(tmp_path: Path) -> None:
    kept = fg.sweep("mve-s", "ofs", over=OVER, **SIZE, out=tmp_path, keep="run")
    counts = kept.run(2, "ofs").counts
    path = kept.runs[2, "ofs"][0]
    path.write_bytes(path.read_bytes()[:100])
    again = fg.sweep("mve-s", "ofs", over=OVER, **SIZE, out=tmp_path, keep="run")
    np.testing.assert_array_equal(again.run(2, "ofs").counts, counts)


def test_files_are_written_from_python_too(tmp_path: Path) -> None:
    found = fg.sweep("mve-s", ["ofs", "random"], over={"rate": [0.1, 2.0]}, **SIZE)
    found.write(tmp_path / "page")
    names = ["seeds.parquet", "settings.json", "sweep.html", "sweep.parquet"]
    assert sorted(path.name for path in (tmp_path / "page").iterdir()) == names
    for backend in ("pandas", "polars", "pyarrow"):
        attainable = found.frame(backend=backend)["attainable"]
        values = attainable.to_pylist() if backend == "pyarrow" else attainable.to_list()
        assert values == [True, True, None, None]
    read = fg.Sweep.load(tmp_path / "page/seeds.parquet")
    assert read.truth["attainable"].tolist() == [True, False]
    assert read.settings["tail"] == 8
    with pytest.raises(fg.InputError, match="setting must be a whole number from 0 to 1, got 5"):
        read.cell(5, "ofs")


def test_commands_name_only_what_concerns_the_learner() -> None:
    over = {"means[0]": [-0.3, -0.2], "ofs.c": [0.1, 0.5], "batch": [32]}
    found = fg.sweep("mve-s", ["ofs", "random"], over=over, seeds=2, rounds=10)
    assert found.command(1, "random") == (
        "fairgate run mve-s random --set 'environment.means[0]=-0.3' --rounds 10 --seeds 2 --seed 0 --batch 32 --tail 2"
    )
    assert "--set learner.c=0.5" in found.command(1, "ofs")
