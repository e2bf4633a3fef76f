"""The findings: exact expectations of batch gaps, and words and figures that follow the run."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from fairgate.engines import InProcess
from fairgate.experiments import findings
from fairgate.experiments.findings import expected_gap
from fairgate.experiments.plan import TASKS, TITLES, Context, Plan
from fairgate.experiments.results import Finding
from fairgate.settings import Array
from fairgate.store import complete


def simulated(rates: tuple[float, float], share: float, people: int, times: int) -> Array:
    rng = np.random.default_rng(5)
    first = rng.binomial(people, share, times)
    sizes = np.column_stack([first, people - first])
    accepted = rng.binomial(sizes, rates)
    both = (sizes > 0).all(axis=1)
    shown = accepted / np.maximum(sizes, 1)
    return np.where(both, np.abs(shown[:, 0] - shown[:, 1]), 0.0)


@pytest.mark.parametrize(
    ("rates", "share", "people"),
    [
        ((0.5, 0.5), 0.5, 256),
        ((0.99, 0.99), 0.7, 256),
        ((0.9957, 1.0), 0.8, 256),
        ((0.3, 0.6), 0.31, 40),
        ((0.2, 0.9), 0.05, 12),  # often nobody of one group
    ],
)
def test_the_expected_gap_is_what_batches_show_on_average(
    rates: tuple[float, float], share: float, people: int
) -> None:
    shown = simulated(rates, share, people, 200_000)
    (expected,) = expected_gap(np.array([rates]), np.array([share, 1.0 - share]), people)
    assert expected == pytest.approx(shown.mean(), abs=4.0 * shown.std() / np.sqrt(len(shown)))


def test_the_normal_formula_is_right_in_the_middle_and_too_large_near_1() -> None:
    shares, people, p = np.array([0.4, 0.6]), 256, np.array([0.5, 0.999])
    normal = np.sqrt(2.0 / np.pi * p * (1.0 - p) * (1.0 / (people * shares)).sum())
    exact = expected_gap(np.column_stack([p, p]), shares, people)
    assert exact[0] == pytest.approx(normal[0], rel=0.01)
    assert exact[1] < 0.8 * normal[1]


def test_certain_decisions_have_no_noise() -> None:
    rates = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(expected_gap(rates, np.array([0.5, 0.5]), 256), [0.0, 0.0, 1.0], atol=1e-12)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Finding, Figure]]:
    plan, folder = Plan(rounds=300, seeds=4, many=6, tail=150), tmp_path_factory.mktemp("runs")
    complete(folder, [job.work() for job in findings.jobs(plan)], InProcess(), lambda _: None)
    return findings.compute(Context(plan, folder))


def test_the_words_carry_the_runs_figures(found: list[tuple[Finding, Figure]]) -> None:
    said = {"finding1": "empty", "finding2": "share", "finding3": "same", "finding4": "batch", "finding5": "share"}
    for finding, _ in found:
        for row in finding.table.rows:
            written = row.cells[said[finding.key]].written("ours")
            assert f"{TITLES[row.keys[0]]} {written}" in finding.shown
        assert "{" not in finding.shown + finding.follows + finding.drawing.caption


def test_no_finding_has_twin_axes_or_anything_beyond_its_edge(found: list[tuple[Finding, Figure]]) -> None:
    for finding, figure in found:
        figure.draw_without_rendering()
        places = [tuple(np.round(ax.get_position().bounds, 6)) for ax in figure.axes]
        assert len(set(places)) == len(places), finding.key
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert box.x0 >= 0, finding.key
        assert box.y0 >= 0, finding.key
        assert box.x1 <= width, finding.key
        assert box.y1 <= height, finding.key
        (legend,) = figure.legends
        named = {text.get_text() for text in legend.get_texts()}
        labels = {line.get_label() for ax in figure.axes for line in ax.lines}
        assert labels <= named, finding.key


def test_shares_are_drawn_on_linear_axes(found: list[tuple[Finding, Figure]]) -> None:
    ranks, ends = (found[1][1].axes[first : first + len(TASKS)] for first in (0, len(TASKS)))
    for ax, row in zip(ranks, found[1][0].table.rows, strict=True):
        assert ax.get_yscale() == "linear"
        plays = np.asarray(ax.lines[0].get_ydata())
        assert f"{plays[0]:.1f}" == row.cells["share"].written("ours").split(" ")[0]
        assert plays[-1] == pytest.approx(100.0)
    for ax in ends:
        assert ax.get_yscale() == "linear"
        assert np.asarray(ax.lines[0].get_ydata()).sum() == pytest.approx(100.0)


def test_measured_batch_gaps_are_the_expected_ones(found: list[tuple[Finding, Figure]]) -> None:
    for row in found[3][0].table.rows:
        batch, expected = (float(row.cells[name].written("ours")) for name in ("batch", "expected"))
        assert batch == pytest.approx(expected, rel=0.2), row.keys


def test_rounds_by_position_add_up_to_all(found: list[tuple[Finding, Figure]]) -> None:
    for ax in found[4][1].axes[len(TASKS) :]:
        heights = [patch.get_height() for patch in ax.patches]  # type: ignore[attr-defined]
        assert sum(heights) == pytest.approx(100.0)
