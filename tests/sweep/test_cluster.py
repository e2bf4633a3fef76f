"""A sweep on a Dask cluster of real processes that fail one after the other ends with the same bytes as in process."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fairgate as fg
from fairgate.engines import Crashed, InProcess
from fairgate.engines.base import Call
from fairgate.sweep import running
from tests.engines.machines import machines

OVER = {"rate": fg.Range(0.05, 0.5, 4), "epsilon": fg.Range(0.02, 0.1, 4)}
SIZE: dict[str, Any] = {"seeds": 5, "rounds": 1000}


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is saved of the sweep if it is computed here."""
    found = fg.sweep("mve-s", ["ofs", "random"], over=OVER, **SIZE)
    return found.save(tmp_path_factory.mktemp("here") / "seeds.parquet").read_bytes()


@pytest.mark.slow
def test_killed_workers_and_a_lost_scheduler_change_no_byte(
    tmp_path: Path, in_process: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "STACK", 5)  # a pack for each cell
    out = tmp_path / "sweep"
    said: list[str] = []
    found: list[fg.Sweep] = []
    with machines(tmp_path) as cluster:
        workers = [cluster.start_worker("--no-nanny") for _ in range(2)]

        def work() -> None:
            found.append(
                fg.sweep(
                    "mve-s", ["ofs", "random"], over=OVER, **SIZE, out=out, cluster=cluster.address, say=said.append
                )
            )

        thread = threading.Thread(target=work)
        thread.start()
        wait_for(lambda: done(out) >= 2)
        cluster.kill(workers[0])
        wait_for(lambda: done(out) >= 6)
        cluster.kill(cluster.scheduler)
        cluster.kill(workers[1])
        before = done(out)
        cluster.start_scheduler()
        cluster.start_worker("--no-nanny")
        thread.join(timeout=120)
    assert found, said
    assert 6 <= before < 32
    assert any("is back" in line for line in said)
    assert found[0].save(tmp_path / "seeds.parquet").read_bytes() == in_process


def done(out: Path) -> int:
    """Return how many blocks are kept."""
    return len(list((out / "blocks").glob("*.parquet")))


def wait_for(happened: Any) -> None:
    pause = threading.Event()
    for _ in range(2400):
        if happened():
            return
        pause.wait(0.05)
    pytest.fail("it did not happen within two minutes")


@pytest.mark.slow
def test_a_sweep_goes_on_on_another_engine(tmp_path: Path, in_process: bytes) -> None:
    out = tmp_path / "sweep"
    fg.sweep("mve-s", ["ofs"], over=OVER, **SIZE, out=out)
    said: list[str] = []
    found = fg.sweep("mve-s", ["ofs", "random"], over=OVER, **SIZE, out=out, cluster="local:2", say=said.append)
    assert said[0] == "16 of 32 cells are done already"
    assert "dashboard http://" in said[1]
    assert found.save(tmp_path / "seeds.parquet").read_bytes() == in_process


def packed(call: Any) -> Any:
    """Return the pack that a call simulates."""
    return call.args[0].func.__self__  # each is done by itself: see store/work.py


class TooMuch(InProcess):
    """A process that dies of any pack of more than one cell."""

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any], None, None]:
        for place, call in enumerate(calls):
            pack = packed(call)
            yield place, call() if len(pack.cells) == 1 else Crashed("its process ran out of memory")


def test_a_pack_that_needs_too_much_memory_is_tried_cell_by_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(running, "open_engine", lambda *given: nullcontext(TooMuch()))
    size: dict[str, Any] = {"over": {"rate": [0.1, 0.5]}, "seeds": 3, "rounds": 20}
    said: list[str] = []
    monkeypatch.setattr(running, "SHARE", 1)
    found = fg.sweep("mve-s", "ofs", **size, say=said.append)
    assert len(said) == 1
    assert said[0].endswith("its process ran out of memory; it is tried in 2 pieces")
    monkeypatch.undo()
    again = fg.sweep("mve-s", "ofs", **size)
    assert (found.figures["reward"] == again.figures["reward"]).all()


def test_a_cell_that_kills_every_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    class Deadly(InProcess):
        def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any], None, None]:
            for place, call in enumerate(calls):
                pack = packed(call)
                rates = [value for cell in pack.cells for value in cell.values.values()]
                yield place, Crashed("its process died 3 times") if 0.5 in rates else call()

    monkeypatch.setattr(running, "open_engine", lambda *given: nullcontext(Deadly()))
    found = fg.sweep("mve-s", "ofs", over={"rate": [0.1, 0.5]}, seeds=3, rounds=20)
    assert [str(each) for each in found.failures] == ["at rate=0.5: its process died 3 times"]


def test_an_unreachable_cluster_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(fg.InputError, match=r"cluster 'tcp://127\.0\.0\.1:1' cannot be reached"):
        fg.sweep("mve-s", "ofs", over=OVER, **SIZE, cluster="tcp://127.0.0.1:1", out=tmp_path)
    assert done(tmp_path) == 0
