"""The simulation of a cluster that docs/guides/cluster.md quotes keeps the laws that any cluster keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fairgate.sweep.packs import STACK
from scripts.simulate_cluster import (
    CORES,
    SEEDS,
    Costs,
    Job,
    alone_seconds,
    draw,
    expected,
    losses,
    packs,
    simulate,
    told,
)

BLOCKS = {
    "ofs": {"1": 1.2, "2": 1.8, "5": 3.3, "10": 5.0},
    "safe-forecast": {"1": 7.0, "2": 12.0, "5": 30.0, "10": 60.0},
}
FREE = Costs(BLOCKS, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
COSTS = Costs(
    BLOCKS,
    client=0.002,
    scheduler=0.0018,
    keep=0.001,
    start=1.5,
    sent=160.0,
    returned=9500.0,
    alone=0.5,
    alone_block=0.001,
    alone_setting=0.0005,
)
JOB = Job("ofs", 1000)


def test_one_core_that_is_told_at_once_takes_the_sum_of_its_blocks() -> None:
    assert JOB.per_block(1) == STACK // SEEDS
    assert simulate(JOB, 1, FREE, spread=0.0) == pytest.approx(100 * 5.0)
    assert simulate(JOB, 1, replace(FREE, start=2.0), spread=0.0) == pytest.approx(502.0)


@pytest.mark.parametrize("cores", CORES)
def test_no_number_of_cores_is_faster_than_its_share_its_longest_block_or_its_client(cores: int) -> None:
    seconds = simulate(JOB, cores, COSTS, spread=0.0)
    blocks = JOB.settings / JOB.per_block(cores)
    assert seconds >= JOB.ideal(COSTS) / cores
    assert seconds >= COSTS.start + COSTS.block("ofs", JOB.per_block(cores))
    assert seconds >= blocks * COSTS.central
    assert sum(losses(JOB, cores, COSTS).values()) == pytest.approx(simulate(JOB, cores, COSTS))


def test_as_many_blocks_as_cores_are_done_in_one_go() -> None:
    assert JOB.per_block(1000) == 1
    assert simulate(JOB, 1000, FREE, spread=0.0) == pytest.approx(1.2)
    assert simulate(JOB, 999, FREE, spread=0.0) == pytest.approx(2.4)
    assert simulate(JOB, 2000, FREE, spread=0.0) == pytest.approx(1.2)


def test_a_slow_client_is_what_all_wait_for() -> None:
    slow = replace(FREE, client=0.1)
    assert simulate(JOB, 1000, slow, spread=0.0) == pytest.approx(1000 * 0.1, rel=0.02)
    assert simulate(JOB, 1000, replace(FREE, scheduler=0.1), spread=0.0) == simulate(JOB, 1000, slow, spread=0.0)


def test_what_the_client_does_by_itself_is_added_whatever_the_number_of_cores() -> None:
    alone = replace(FREE, alone=2.0, alone_block=0.1, alone_setting=0.01)
    for cores in (1, 1000):
        added = simulate(JOB, cores, alone, spread=0.0) - simulate(JOB, cores, FREE, spread=0.0)
        assert added == pytest.approx(2.0 + 0.1 * JOB.blocks(cores) + 0.01 * 1000)
        assert losses(JOB, cores, alone)["client by itself, before and after"] == pytest.approx(added)


@pytest.mark.slow
def test_the_client_by_itself_is_measured_with_real_sweeps() -> None:
    found = alone_seconds(20)
    assert min(found) >= 0.0
    assert sum(found) > 0.001


@pytest.mark.slow
def test_blocks_are_those_of_a_sweep() -> None:
    first, second = packs("ofs", 2, 3, 10)
    assert first.loops == second.loops == 300
    assert len(first.simulate("block")["block"]) > 1000


@pytest.mark.slow
def test_what_is_told_and_drawn(tmp_path: Path) -> None:
    text = "\n".join([*told(COSTS), *expected(COSTS)])
    assert "| 1,000 settings, ofs |" in text
    assert "| 1 | 8 min (99%)" in text
    assert "| and for each block, which is read back | 1.0 ms |" in text
    draw(COSTS, tmp_path / "cluster.png")
    assert (tmp_path / "cluster.png").stat().st_size > 10_000
