"""Figures 1 to 3: they draw the plan's runs and the exact trade-offs, and the same each time."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgate.engines import InProcess
from fairgate.experiments import figures
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import METHODS, TASKS, TITLES, Context, Plan, epsilon
from fairgate.experiments.reproduce import FIGURES as ALL_FIGURES
from fairgate.experiments.reproduce import JOBS, LONG
from fairgate.problem import is_feasible
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.store import complete
from fairgate.tasks import load_task
from fairgate.thresholds import exact_sweep

FIGURES = {name: draw for name, draw in ALL_FIGURES.items() if name not in LONG}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    plan = Plan(rounds=80, seeds=3, many=3, tail=20)
    folder = tmp_path_factory.mktemp("runs")
    complete(folder, [job.work() for job in plan.jobs(TASKS)], InProcess(), lambda _: None)
    return Context(plan, folder)


def line_of(ax: Axes, name: str) -> Line2D:
    (found,) = (line for line in ax.lines if line.get_label() == name)
    return found


def panel(figure: Figure, title: str) -> Axes:
    (found,) = (ax for ax in figure.axes if ax.get_title() == title)
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_every_run_drawn_is_among_the_jobs(name: str, context: Context) -> None:
    asked: list[str] = []

    class Watched(Context):
        def load(self, job: Job) -> Run:
            asked.append(job.name)
            return super().load(job)

        def figures(self, job: Job) -> Mapping[str, Array]:
            asked.append(job.name)
            return super().figures(job)

    FIGURES[name](Watched(context.plan, context.folder))
    assert sorted(set(asked)) == sorted(job.name for job in JOBS[name](context.plan))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_page_wide_has_one_legend_and_is_the_same_twice(name: str, context: Context) -> None:
    files = []
    for _ in range(2):
        drawing, figure = FIGURES[name](context)
        assert drawing.key == name
        assert figure.get_figwidth() <= 7.2
        assert len(figure.legends) + sum(ax.get_legend() is not None for ax in figure.axes) == 1
        pdf, png = io.BytesIO(), io.BytesIO()
        figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
        figure.savefig(png, format="png", dpi=100)
        files.append((drawing, pdf.getvalue(), png.getvalue()))
    assert files[0] == files[1]


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_leaves_the_figure_and_no_text_is_tiny(name: str, context: Context) -> None:
    _, figure = FIGURES[name](context)
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height
    texts = [text for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label, ax.title, *ax.get_xticklabels())]
    assert min(float(text.get_fontsize()) for text in (*texts, *figure.legends[0].get_texts())) >= 8


@pytest.mark.parametrize("name", FIGURES)
def test_the_caption_tells_the_plan(name: str, context: Context) -> None:
    drawing, _ = FIGURES[name](context)
    assert "3 seeds" in drawing.caption
    assert "80 rounds" in drawing.caption


@pytest.mark.parametrize(
    ("name", "task", "reward", "gap", "exact"),
    [
        ("figure1", "mve-s", "(a) reward", "(c) batch gap", "(d) exact gap"),
        ("figure2", "german", "(a) German: reward", "(b) German: batch gap", "(c) German: exact gap"),
        ("figure2", "compas", "(d) COMPAS: reward", "(e) COMPAS: batch gap", "(f) COMPAS: exact gap"),
    ],
)
def test_learning_panels_end_at_the_last_rounds_means(
    name: str, task: str, reward: str, gap: str, exact: str, context: Context
) -> None:
    _, figure = FIGURES[name](context)
    for method in METHODS:
        run, last = context.run(task, method), slice(80 - figures.SMOOTH, None)
        drawn = {reward: run.batch.reward, gap: run.batch_gap, exact: run.population_gap}
        for title, values in drawn.items():
            line = line_of(panel(figure, title), TITLES[method])
            assert np.asarray(line.get_ydata())[-1] == pytest.approx(values[:, last].mean(), abs=1e-12)
    for title in (gap, exact):
        marked = line_of(panel(figure, title), "ε, the gap allowed")
        assert np.asarray(marked.get_ydata()).tolist() == [epsilon(task)] * 2
        assert panel(figure, title).get_ylim() == (figures.FLOOR, 1.0)


def test_figure_1_adds_up_the_violation(context: Context) -> None:
    _, figure = figures.figure1(context)
    for method in METHODS:
        line = line_of(panel(figure, "(b) cumulative violation"), TITLES[method])
        expected = context.figures(context.plan.job("mve-s", method))["violation"].mean()
        assert np.asarray(line.get_ydata())[-1] == pytest.approx(expected)


@pytest.mark.parametrize("task", TASKS)
def test_figure_3_marks_oracle_settled_thresholds_and_what_is_feasible(task: str, context: Context) -> None:
    _, figure = figures.figure3(context)
    (ax,) = (ax for ax in figure.axes if f" {TITLES[task]} (ε = {epsilon(task):g})" in ax.get_title())
    oracle = context.oracles[task]
    assert line_of(ax, "best feasible").get_xydata().tolist() == [[oracle.best.gap, oracle.best.reward]]  # type: ignore[union-attr]
    for method in METHODS:
        settled = context.figures(context.plan.job(task, method))["settled"]
        found = exact_sweep(load_task(task), settled)
        points = line_of(ax, TITLES[method]).get_xydata()
        np.testing.assert_array_equal(points, np.column_stack([found.gap, found.reward]))
    (filled,) = (points for points in ax.collections if points.get_label() == "feasible threshold")
    assert len(filled.get_offsets()) == is_feasible(oracle.sweep.residuals).sum()  # type: ignore[arg-type]
    assert (np.asarray(filled.get_offsets())[:, 0] <= epsilon(task)).all()
    below = figure.axes[figure.axes.index(ax) + len(TASKS)]
    (left, right), (bottom, top) = below.get_xlim(), below.get_ylim()
    for name, method in (("U", "unconstrained"), ("PD", "primal-dual"), ("OFS", "ofs")):
        points = np.asarray(line_of(below, TITLES[method]).get_xydata())
        seen = sum(left <= x <= right and bottom <= y <= top for x, y in points)
        assert f" {name} {seen}" in below.get_title()
    (shade,) = ax.patches
    assert shade.get_x() + shade.get_width() == pytest.approx(epsilon(task))  # type: ignore[attr-defined]
