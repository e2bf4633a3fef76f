"""Engines of this machine: every call is carried out, also if processes are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

import fairgate as fg
from fairgate.engines import Crashed, InProcess, Processes, open_engine
from fairgate.engines.base import Call
from tests.command import heeding
from tests.engines.calls import die, die_once, exhaust, fail, slow


@pytest.fixture(scope="module")
def two() -> Iterator[Processes]:
    with open_engine(2) as engine:
        assert isinstance(engine, Processes)
        yield engine


def test_one_worker_is_this_process() -> None:
    with open_engine(1) as engine:
        assert list(engine.run([partial(slow, each, 0.0) for each in range(3)])) == [
            (each, (each, os.getpid())) for each in range(3)
        ]


@pytest.mark.slow
def test_two_processes_share_the_calls(two: Processes) -> None:
    found = dict(two.run([partial(slow, each) for each in range(8)]))
    assert [found[place][0] for place in range(8)] == list(range(8))
    assert len({process for _, process in found.values()} - {os.getpid()}) == 2
    again = dict(two.run([partial(slow, each) for each in range(8)]))
    assert {process for _, process in again.values()} == {process for _, process in found.values()}


@pytest.mark.slow
def test_a_call_whose_process_is_killed_is_begun_again_and_costs_nobody_else_anything(
    two: Processes, tmp_path: Path
) -> None:
    calls: list[Call] = [partial(slow, 0, 0.5), partial(die_once, tmp_path / "mark"), die, partial(slow, 3)]
    found = dict(two.run(calls))
    assert (found[0][0], found[1], found[3][0]) == (0, "done", 3)
    assert found[2] == Crashed("its process died 3 times, killed or out of memory")


@pytest.mark.slow
def test_what_a_call_raises_is_raised_and_the_rest_given_up(two: Processes) -> None:
    began = time.monotonic()
    with pytest.raises(ValueError, match="no idea"):
        list(two.run([fail, partial(slow, 0, 100.0)]))
    assert time.monotonic() - began < 50.0
    assert [number for _, (number, _) in two.run([partial(slow, 7)])] == [7]


@pytest.mark.slow
def test_want_of_memory_counts_as_a_crash(two: Processes) -> None:
    assert list(InProcess().run([exhaust])) == [(0, Crashed("out of memory for 1 TB"))]
    ((_, found),) = two.run([exhaust])
    assert found == Crashed("its process died 3 times, out of memory for 1 TB")


SCRIPT = """
import os, time
from functools import partial
from fairgate.engines import open_engine

with open_engine(2) as engine:
    for place, result in engine.run([os.getpid, partial(time.sleep, 100), os.getpid, partial(time.sleep, 100)]):
        print(result, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_an_unguarded_script_that_is_interrupted_or_killed(number: int, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        heeding(sys.executable, str(tmp_path / "script.py")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as script:
        assert script.stdout is not None
        process = psutil.Process(int(script.stdout.readline()))
        if number == signal.SIGINT:
            os.killpg(script.pid, number)  # as a terminal does
        else:
            script.kill()
        _, told = script.communicate(timeout=60)
    assert told.count("KeyboardInterrupt") == (number == signal.SIGINT)
    psutil.wait_procs([process], timeout=30)
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


DEAF = """
import signal
from functools import partial
from fairgate.engines import open_engine

with open_engine(2) as engine:
    for place, blocked in engine.run([partial(signal.pthread_sigmask, signal.SIG_BLOCK, ())] * 2):
        print(signal.SIGINT in blocked)
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


@pytest.mark.slow
def test_no_process_hears_an_interrupt_not_even_the_first_while_it_starts() -> None:
    """In a program of its own: what is started along with its first process may unblock signals."""
    found = subprocess.run([sys.executable, "-c", DEAF], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "True", "False"]


def test_no_workers_is_one_sentence() -> None:
    with pytest.raises(fg.InputError, match=r"workers must be .* got 0"), open_engine(0):
        pass


@pytest.mark.slow
def test_dask_is_not_imported_unless_asked_for() -> None:
    code = "import sys, fairgate.engines, fairgate.cli; print(sorted({'dask', 'distributed'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fg.InputError) as raised, open_engine(cluster="local:2"):
        pass
    assert str(raised.value) == ("cluster 'local:2' needs Dask, which is not installed: pip install 'fairgate[scale]'")
