"""A Dask cluster of real processes: workers killed, out of memory, of other versions; the scheduler lost and back."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.bench.entrants import pair_up
from fairgate.bench.matrix import fill
from fairgate.engines import Crashed, Engine, InProcess, open_engine, parcel
from fairgate.engines.base import Call
from fairgate.engines.connection import Connection
from fairgate.simulation import Size
from tests.engines.calls import die, fail, fill_memory, slow
from tests.engines.machines import Machines, free_port, machines

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler with two workers that come back when they are killed."""
    with machines(tmp_path_factory.mktemp("cluster")) as found:
        found.start_worker("--nworkers", "2")
        yield found


@pytest.fixture(scope="module")
def engine(cluster: Machines) -> Iterator[Engine]:
    with open_engine(cluster=cluster.address) as found:
        wait_for(found, 2)
        yield found


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Machines]:
    """A scheduler without workers."""
    with machines(tmp_path) as found:
        yield found


def wait_for(engine: Engine, workers: int) -> None:
    """Wait until the cluster has so many workers."""
    while engine.workers < workers:
        list(engine.run([partial(slow, 0, 0.2)]))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def numbers(found: dict[int, tuple[int, int]]) -> list[int]:
    return [found[place][0] for place in range(len(found))]


def test_calls_are_shared_and_what_they_raise_is_raised(cluster: Machines, engine: Engine) -> None:
    found = dict(engine.run([partial(slow, each, 0.02) for each in range(60)]))
    assert numbers(found) == list(range(60))
    assert len({process for _, process in found.values()} - {os.getpid()}) == 2
    with pytest.raises(ValueError, match="no idea") as raised:
        list(engine.run([fail, *[partial(slow, each) for each in range(20)]]))
    assert "calls.py" in str(raised.value.__cause__)
    assert str(engine) == "a Dask cluster of 2 workers"


def test_blocks_of_several_engines_are_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    pairs = pair_up(["ofs", "safe-forecast"], ["mve-s", "drift"], Size(rounds=60, seeds=3), (), ())
    said: list[str] = []
    fill(pairs, tmp_path / "here", InProcess(), print)
    fill(pairs[:2], tmp_path / "both", InProcess(), print)
    fill(pairs, tmp_path / "both", engine, said.append)
    assert said == ["2 of 4 simulations are done already"]
    here, both = (contents(tmp_path / name) for name in ("here", "both"))
    assert len(here) == 4
    assert here == both


def test_a_module_of_the_current_folder_travels_along(
    cluster: Machines, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("FACTOR = 7\n\ndef times(number):\n    return FACTOR * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("only_here")
    assert list(engine.run([partial(own.times, 6)])) == [(0, 42)]
    monkeypatch.setattr(parcel, "own_modules", list)
    with pytest.raises(fg.InputError) as raised:
        list(engine.run([partial(own.times, 6)]))
    assert str(raised.value) == (
        f"a worker of cluster '{cluster.address}' has no module 'only_here', which is needed: install it there"
    )


def test_a_worker_killed_in_the_middle_costs_only_time(cluster: Machines, engine: Engine) -> None:
    worker = cluster.start_worker("--no-nanny")
    wait_for(engine, 3)
    results = engine.run([partial(slow, each) for each in range(40)])
    found = dict([next(results)])
    cluster.kill(worker)
    found |= dict(results)
    assert numbers(found) == list(range(40))


def test_a_worker_out_of_memory_beside_some_with_enough(cluster: Machines, engine: Engine) -> None:
    worker = cluster.start_worker("--nworkers", "1", "--memory-limit", "400MB")
    wait_for(engine, 3)
    found = dict(engine.run([partial(fill_memory, 600)] * 3))
    assert len(found) == 3
    assert all(isinstance(process, int) for process in found.values())
    assert "exceeded 95% memory budget" in cluster.log()
    cluster.kill(worker)


def test_a_call_that_kills_every_worker_is_told_apart_from_the_others(engine: Engine) -> None:
    calls: list[Call] = [partial(slow, 0), die, partial(slow, 2)]
    found = dict(engine.run(calls))
    assert found[1] == Crashed("its workers died again and again, killed or out of memory")
    assert (found[0][0], found[2][0]) == (0, 2)


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

        threading.Timer(1.0, restart).start()
        found |= dict(results)
    assert numbers(found) == list(range(30))
    lost = said.index(f"The scheduler of cluster {lone.address} is lost: looking for it for up to 5:00")
    assert said[lost + 1] == f"The scheduler of cluster {lone.address} is back"


def test_patience_with_absent_workers_and_a_lost_scheduler_ends_with_a_sentence(
    lone: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    sentence = "has had no workers for 0:01: start some, and give the same command"
    with (
        pytest.raises(fg.InputError, match=sentence),
        open_engine(cluster=lone.address, say=said.append, patience=1.0),
    ):
        pytest.fail("work was begun")
    assert said == [f"Cluster {lone.address} has no workers: waiting up to 0:01 for one"]
    worker = lone.start_worker("--no-nanny")
    with open_engine(cluster=lone.address, say=said.append, patience=20.0) as engine:
        assert re.search(rf"On a Dask cluster of 1 worker at {lone.address}, dashboard http://127.0.0.1:\d+", said[-1])
        lone.kill(lone.scheduler)
        lone.kill(worker)
        monkeypatch.setattr(engine, "_patience", 1.0)
        with pytest.raises(fg.InputError, match="was lost and not there again within 0:01: what is done is kept"):
            list(engine.run([partial(slow, 0)]))


def test_workers_that_are_still_starting_are_waited_for_and_no_dashboard_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    with machines(tmp_path, dashboard=False) as slowly:
        slowly.start_worker("--no-nanny")
        slowly.start_worker("--no-nanny")
        with open_engine(cluster=slowly.address, say=said.append) as engine:
            assert engine.workers == 2
        assert said[0] == f"Cluster {slowly.address} has no workers: waiting up to 5:00 for one"
        assert said[-1] == f"On a Dask cluster of 2 workers at {slowly.address}"


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with another code of the package."""
    folder = tmp_path_factory.mktemp("edited")
    package = shutil.copytree(Path(fg.__file__).parent, folder / "fairgate")
    with (package / "loop.py").open("a") as file:
        file.write("\n# edited\n")
    return folder


def test_workers_that_all_have_another_code_are_one_sentence_before_work_starts(lone: Machines, edited: Path) -> None:
    said: list[str] = []
    lone.start_worker("--no-nanny", path=edited)
    sentence = r"^worker tcp://127.0.0.1:\d+ has the code of fairgate \w{12}, but here it is \w{12}: results would not"
    with pytest.raises(fg.InputError, match=sentence), open_engine(cluster=lone.address, say=said.append):
        pytest.fail("work was begun")
    assert said == [f"Cluster {lone.address} has no workers: waiting up to 5:00 for one"]


def test_a_late_worker_with_another_code_is_named_once_and_gets_no_work(cluster: Machines, edited: Path) -> None:
    said: list[str] = []
    sentence = r"No work for worker tcp://127.0.0.1:\d+, which has the code of fairgate \w{12}, but here it is \w{12}: "

    def refused() -> int:
        return sum(bool(re.match(sentence, line)) for line in said)

    with open_engine(cluster=cluster.address, say=said.append) as engine:
        late = cluster.start_worker("--no-nanny", path=edited)
        processes = set()
        end = time.monotonic() + 60.0
        while not refused() and time.monotonic() < end:
            found = dict(engine.run([partial(slow, each, 0.02) for each in range(60)]))
            assert numbers(found) == list(range(60))
            processes |= {process for _, process in found.values()}
        assert refused() == 1, said
        calls: list[Call] = [partial(slow, 0), die, partial(slow, 2)]
        results = dict(engine.run(calls))  # only for workers that die, and come back at another address
        assert isinstance(results[1], Crashed)
        assert (results[0][0], results[2][0]) == (0, 2)
        assert late.pid not in processes | {results[0][1], results[2][1]}
        assert refused() == 1
    with open_engine(cluster=cluster.address, say=said.append) as engine:  # it is there from the start
        assert engine.workers == 2
        assert [number for _, (number, _) in engine.run([partial(slow, 7)])] == [7]
    assert refused() == 2
    cluster.kill(late)


def test_an_unreachable_cluster_is_one_sentence_within_ten_seconds() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(fg.InputError) as raised, open_engine(cluster=address):
        pass
    assert time.monotonic() - began < 10.0
    assert str(raised.value) == f"cluster '{address}' cannot be reached: no Dask scheduler answers there within 6 s"


def test_what_listens_but_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(TimeoutError):
        Connection(f"tcp://127.0.0.1:{mute.getsockname()[1]}").client(timeout=1.0)


@pytest.mark.parametrize("name", ["local:0", "local:two", "somewhere", "nonsense://place:1"])
def test_what_is_no_cluster_is_one_sentence(name: str) -> None:
    sentence = f"cluster '{name}' must be tcp://host:port, tls://host:port, a scheduler file"
    with pytest.raises(fg.InputError, match=sentence), open_engine(cluster=name):
        pass


def test_a_scheduler_file_will_do(cluster: Machines, tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text(f'{{"address": "{cluster.address}"}}')
    (tmp_path / "other.json").write_text("{}")
    with open_engine(cluster=str(tmp_path / "scheduler.json")) as engine:
        assert [number for _, (number, _) in engine.run([partial(slow, 4)])] == [4]
    with pytest.raises(fg.InputError, match="is no scheduler file"), open_engine(cluster=str(tmp_path / "other.json")):
        pass


def test_a_benchmark_interrupted_on_one_cluster_goes_on_on_another(engine: Engine, tmp_path: Path) -> None:
    size = ("--rounds", "800", "--seeds", "3", "--learners", "ofs,random", "--tasks", "mve-s,drift,interior")
    # Python itself leaves a file open, and warns of it, if the interrupt comes between its opening and its first use.
    strict = ("-W", "error", "-W", "ignore::ResourceWarning")
    command = [sys.executable, *strict, "-m", "fairgate", "bench", *size, "--out", str(tmp_path)]
    with subprocess.Popen([*command, "--cluster", "local:1"], stderr=subprocess.PIPE, text=True) as first:
        index = tmp_path / "runs/index.jsonl"
        while first.poll() is None and not (index.is_file() and index.stat().st_size):
            time.sleep(0.02)
        first.send_signal(signal.SIGINT)
        _, told = first.communicate(timeout=60)
    done = len(index.read_text().splitlines())
    assert first.returncode == 130
    assert f"Interrupted: {done} of 6 simulations are done and kept; the same command goes on from there\n" in told
    assert "Traceback" not in told
    (port,) = re.findall(r"On a Dask cluster of 1 worker at tcp://127.0.0.1:(\d+), dashboard http://127", told)
    with socket.socket() as trial:
        assert trial.connect_ex(("127.0.0.1", int(port))) != 0  # nothing is left behind
    pairs = pair_up(["ofs", "random"], ["mve-s", "drift", "interior"], Size(rounds=800, seeds=3), (), ())
    said: list[str] = []
    fill(pairs, tmp_path / "runs", engine, said.append)
    assert said == [f"{done} of 6 simulations are done already"]
    fill(pairs, tmp_path / "here", InProcess(), print)
    here, moved = (contents(tmp_path / name) for name in ("here", "runs"))
    assert len(here) == 6
    assert here == moved
