"""A Dask cluster of real processes: workers killed, out of memory, of other versions; the scheduler lost and back."""

from __future__ import annotations

import importlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.bench import Size, run_bench
from fairgate.engines import Crashed, Engine, open_engine, parcel
from fairgate.engines.base import Call
from tests.engines.calls import die, fail, fill_memory, slow
from tests.engines.machines import Machines, free_port, machines

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler with two workers."""
    with machines(tmp_path_factory.mktemp("cluster")) as found:
        found.start_worker("--no-nanny")
        found.start_worker("--no-nanny")
        yield found


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Machines]:
    """A scheduler without workers."""
    with machines(tmp_path) as found:
        yield found


def soon(action: Callable[[], object], seconds: float) -> None:
    """Do something while the test waits."""
    threading.Timer(seconds, action).start()


def wait_for(engine: Engine, workers: int) -> None:
    """Wait until the cluster has so many workers."""
    list(engine.run([partial(slow, each, 0.0) for each in range(workers)]))
    while engine.workers < workers:
        list(engine.run([partial(slow, 0, 0.5)]))


def test_calls_are_shared_and_results_released(cluster: Machines) -> None:
    said: list[str] = []
    with open_engine(cluster=cluster.address, say=said.append) as engine:
        wait_for(engine, 2)
        found = dict(engine.run([partial(slow, each, 0.02) for each in range(60)]))
        assert [found[place][0] for place in range(60)] == list(range(60))
        assert len({process for _, process in found.values()} - {os.getpid()}) == 2
        with pytest.raises(ValueError, match="no idea") as raised:
            list(engine.run([fail, *[partial(slow, each) for each in range(20)]]))
        assert "calls.py" in str(raised.value.__cause__)
        assert str(engine) == "a Dask cluster of 2 workers"
    assert any(f"at {cluster.address}, dashboard http://127.0.0.1:" in line for line in said)


def test_blocks_of_several_engines_are_the_same_bytes(cluster: Machines, tmp_path: Path) -> None:
    size, learners, tasks = Size(rounds=60, seeds=3), ["ofs", "safe-forecast"], ["mve-s", "german"]
    run_bench(tmp_path / "here", learners, tasks, size)
    run_bench(tmp_path / "both", learners[:1], tasks, size)
    said: list[str] = []
    run_bench(tmp_path / "both", learners, tasks, size, cluster=cluster.address, say=said.append)
    assert "2 of 4 simulations are done already" in said
    files = [sorted((tmp_path / name / "runs").glob("*.parquet")) for name in ("here", "both")]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert (tmp_path / "here/bench.json").read_bytes() == (tmp_path / "both/bench.json").read_bytes()


def test_a_module_of_the_current_folder_travels_along(
    cluster: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("FACTOR = 7\n\ndef times(number):\n    return FACTOR * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("only_here")
    with open_engine(cluster=cluster.address) as engine:
        assert list(engine.run([partial(own.times, 6)])) == [(0, 42)]
        monkeypatch.setattr(parcel, "own_modules", list)
        with pytest.raises(fg.InputError) as raised:
            list(engine.run([partial(own.times, 6)]))
    assert str(raised.value) == (
        f"a worker of cluster '{cluster.address}' has no module 'only_here', which is needed: install it there"
    )


def test_a_worker_killed_in_the_middle_costs_only_time(lone: Machines) -> None:
    workers = [lone.start_worker("--no-nanny") for _ in range(2)]
    with open_engine(cluster=lone.address) as engine:
        wait_for(engine, 2)
        results = engine.run([partial(slow, each) for each in range(30)])
        found = dict([next(results)])
        lone.kill(workers[0])
        found |= dict(results)
    assert {place: number for place, (number, _) in found.items()} == {each: each for each in range(30)}
    assert workers[1].poll() is None


def test_a_scheduler_lost_and_started_again_costs_only_time(lone: Machines) -> None:
    said: list[str] = []
    worker = lone.start_worker("--no-nanny")
    with open_engine(cluster=lone.address, say=said.append) as engine:
        results = engine.run([partial(slow, each) for each in range(30)])
        found = dict([next(results), next(results)])
        lone.kill(lone.scheduler)
        lone.kill(worker)

        def restart() -> None:
            lone.start_scheduler()
            lone.start_worker("--no-nanny")

        soon(restart, 1.0)
        found |= dict(results)
    assert {place: number for place, (number, _) in found.items()} == {each: each for each in range(30)}
    assert said[-2:] == [
        f"The scheduler of cluster {lone.address} is lost: looking for it for up to 5:00",
        f"The scheduler of cluster {lone.address} is back",
    ] or any("is back" in line for line in said)


def test_a_scheduler_that_stays_lost_is_one_sentence(lone: Machines) -> None:
    lone.start_worker("--no-nanny")
    with open_engine(cluster=lone.address, patience=2.0) as engine:
        results = engine.run([partial(slow, each) for each in range(30)])
        next(results)
        lone.kill(lone.scheduler)
        with pytest.raises(fg.InputError, match="was lost and not there again within 0:02: what is done is kept"):
            list(results)


def test_a_worker_out_of_memory_beside_one_with_enough(lone: Machines) -> None:
    lone.start_worker("--memory-limit", "400MB", "--nworkers", "1")
    with open_engine(cluster=lone.address) as engine:
        wait_for(engine, 1)
        lone.start_worker("--memory-limit", "4GB", "--nworkers", "1")
        wait_for(engine, 2)
        calls = [partial(fill_memory, 600), partial(fill_memory, 600), partial(slow, 2)]
        found = dict(engine.run(calls))
    assert found[2][0] == 2
    assert found[0] == found[1]  # the process of the worker with enough


def test_a_call_that_kills_every_worker_is_named_and_the_others_are_done(lone: Machines) -> None:
    lone.start_worker("--nworkers", "1")
    with open_engine(cluster=lone.address) as engine:
        wait_for(engine, 1)
        calls: list[Call] = [partial(slow, 0), die, partial(slow, 2)]
        found = dict(engine.run(calls))
    assert found[1] == Crashed("its workers died again and again, killed or out of memory")
    assert (found[0][0], found[2][0]) == (0, 2)


def test_workers_of_another_code_are_named_before_work_starts_and_never_used(lone: Machines, tmp_path: Path) -> None:
    package = shutil.copytree(Path(fg.__file__).parent, tmp_path / "other" / "fairgate")
    with (package / "loop.py").open("a") as file:
        file.write("\n# edited\n")
    lone.start_worker("--no-nanny")
    with open_engine(cluster=lone.address) as engine:
        wait_for(engine, 1)
        results = engine.run([partial(slow, each, 0.3) for each in range(1000)])
        next(results)
        lone.start_worker("--no-nanny", path=tmp_path / "other")
        with pytest.raises(fg.InputError, match=r"worker.* has the code of fairgate \w{12}, but here it is \w{12}: "):
            list(results)
    with (
        pytest.raises(fg.InputError, match=r"worker tcp://127.0.0.1:\d+ has the code of fairgate \w{12}, but here"),
        open_engine(cluster=lone.address),
    ):
        pytest.fail("work was begun")


def test_no_workers_are_waited_for_and_said_once(lone: Machines) -> None:
    said: list[str] = []
    with open_engine(cluster=lone.address, say=said.append, patience=3.0) as engine:
        with pytest.raises(fg.InputError, match="has had no workers for 0:03: start some"):
            list(engine.run([partial(slow, 0)]))
        soon(partial(lone.start_worker, "--no-nanny"), 0.5)
    assert said.count(f"Cluster {lone.address} has no workers: waiting up to 0:03 for one") == 1
    with open_engine(cluster=lone.address, say=said.append) as engine:
        assert [number for _, (number, _) in engine.run([partial(slow, 4)])] == [4]


def test_an_unreachable_cluster_is_one_sentence_within_ten_seconds() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(fg.InputError) as raised, open_engine(cluster=address):
        pass
    assert time.monotonic() - began < 10.0
    assert str(raised.value) == f"cluster '{address}' cannot be reached: no Dask scheduler answers there within 6 s"


@pytest.mark.parametrize("name", ["local:0", "local:two", "somewhere", "nonsense://place:1"])
def test_what_is_no_cluster_is_one_sentence(name: str) -> None:
    with pytest.raises(fg.InputError, match=f"cluster '{name}' must be tcp://host:port, tls://host:port, a scheduler"):
        with open_engine(cluster=name):
            pass


def test_a_scheduler_file_will_do(cluster: Machines, tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text(f'{{"address": "{cluster.address}"}}')
    (tmp_path / "other.json").write_text("{}")
    with open_engine(cluster=str(tmp_path / "scheduler.json")) as engine:
        assert [number for _, (number, _) in engine.run([partial(slow, 4)])] == [4]
    with pytest.raises(fg.InputError, match="is no scheduler file"), open_engine(cluster=str(tmp_path / "other.json")):
        pass
