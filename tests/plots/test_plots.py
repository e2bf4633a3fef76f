"""plots: what is drawn is what runs and sweeps hold, on the caller's axes or new ones, with nothing global touched."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.estimates import Estimate
from fairgate.plots import acceptance_scale, plot_acceptance, plot_learning, plot_thresholds, plot_tradeoff
from fairgate.problem import is_feasible
from fairgate.thresholds import ThresholdSweep, exact_sweep

Drawer = Callable[..., Axes]


@pytest.fixture
def runs(small_task: fg.Task) -> dict[str, fg.Run]:
    return {
        "OFS": fg.simulate(small_task, fg.OFS(), rounds=60, seeds=4),
        "random": fg.simulate(small_task, fg.Random(), rounds=60, seeds=4),
    }


@pytest.fixture(scope="module")
def task() -> fg.Task:
    """A task on which some thresholds are feasible."""
    return fg.load_task("mve-s")


@pytest.fixture(scope="module")
def possible(task: fg.Task) -> dict[str, fg.Run]:
    return {
        "OFS": fg.simulate(task, fg.OFS(), rounds=60, seeds=4),
        "random": fg.simulate(task, fg.Random(), rounds=60, seeds=4),
    }


@pytest.fixture
def sweep() -> ThresholdSweep:
    """Four thresholds: the second breaks parity (ε = 0.05), the third a service window."""
    return ThresholdSweep(
        thresholds=np.array([0.0, 1.0, 2.0, 3.0]),
        reward=np.array([0.30, 0.40, 0.35, 0.01]),
        gap=np.array([0.02, 0.30, 0.04, 0.01]),
        acceptance=np.array([0.9, 0.6, 0.2, 0.5]),
        residuals=np.array([[-0.03, 0.25, -0.01, -0.04], [-0.6, -0.3, 0.1, -0.2]]),
    )


def by_hand(run: fg.Run, figure: str, exact: bool, last: int, smooth: int) -> np.ndarray:
    """Each replicate's figure at round `last`, from the run's arrays."""
    assessment = run.population if exact else run.batch
    if figure == "violation":
        return np.asarray(np.maximum(assessment.residuals[..., :last], 0).sum(axis=(0, 2)))
    gap = run.population_gap if exact else run.batch_gap
    return np.asarray((assessment.reward if figure == "reward" else gap)[:, last - smooth : last].mean(axis=1))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("figure", ["reward", "gap", "violation"])
def test_lines_are_means_and_bands_hold_most_replicates(runs: dict[str, fg.Run], figure: str, exact: bool) -> None:
    axes = plot_learning(runs, figure, smooth=20, exact=exact)
    assert [line.get_label() for line in axes.lines] == list(runs)
    for line, band, run in zip(axes.lines, axes.collections, runs.values(), strict=True):
        rounds, means = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert rounds[0] <= 20
        assert rounds[-1] == 60
        assert (np.diff(rounds) == 2).all()
        corners = np.asarray(band.get_paths()[0].vertices)
        for last, mean in zip(rounds.astype(int), means, strict=True):
            values = by_hand(run, figure, exact, last, 20)
            assert mean == pytest.approx(values.mean(), abs=1e-12)
            edges = corners[corners[:, 0] == last, 1]
            assert edges.min() == pytest.approx(np.quantile(values, 0.1), abs=1e-12)
            assert edges.max() == pytest.approx(np.quantile(values, 0.9), abs=1e-12)


def test_without_smoothing_every_round_is_drawn_as_it_was(runs: dict[str, fg.Run]) -> None:
    line = plot_learning(runs, "gap", smooth=1).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 61))
    np.testing.assert_allclose(np.asarray(line.get_ydata()), runs["OFS"].batch_gap.mean(axis=0), atol=1e-12)


def test_an_interval_is_that_of_the_mean(runs: dict[str, fg.Run]) -> None:
    axes = plot_learning(runs, "gap", smooth=20, band="interval")
    corners = np.asarray(axes.collections[0].get_paths()[0].vertices)
    for last in (20, 40, 60):
        wanted = Estimate.of(by_hand(runs["OFS"], "gap", False, last, 20))
        edges = corners[corners[:, 0] == last, 1]
        assert (edges.min(), edges.max()) == pytest.approx((wanted.low, wanted.high))
    assert not plot_learning(runs, band=None).collections


def test_the_oracles_reward_and_gap_are_drawn_and_the_gap_that_is_allowed(
    possible: dict[str, fg.Run], task: fg.Task
) -> None:
    found = fg.oracle(task)
    reward = plot_learning(possible, "reward", oracle=found).lines[-1]
    assert reward.get_label() == "oracle"
    assert set(np.asarray(reward.get_ydata())) == {found.best.reward}
    *_, gap, allowed = plot_learning(possible, "gap", oracle=found).lines
    assert set(np.asarray(gap.get_ydata())) == {found.best.gap}
    epsilon = task.problem.constraints[0].epsilon  # type: ignore[attr-defined]
    assert np.asarray(allowed.get_ydata()) == pytest.approx(epsilon)
    assert len(plot_learning(possible, "violation", oracle=found).lines) == 2  # 0 is the axis


def test_where_nothing_is_feasible_the_least_violation_grows(small_task: fg.Task) -> None:
    strict = replace(small_task, problem=fg.Problem(small_task.problem.utility, [fg.ServiceRate(0.999, 1.0)]))
    strict = replace(strict, grid=np.array([0.0, 1.0]))
    found = fg.oracle(strict, refine=False)
    line = plot_learning(fg.simulate(strict, fg.Random(), rounds=60, seeds=2), "violation", oracle=found).lines[-1]
    assert line.get_label() == "least violation"
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(60 * max(found.best.residuals))
    assert max(found.best.residuals) > 0


def test_regret_is_summed_and_shortfall_averaged_as_against_the_oracle(
    possible: dict[str, fg.Run], task: fg.Task
) -> None:
    found = fg.oracle(task)
    judged = possible["OFS"].against(found)
    assert np.isfinite(judged.regret).all()
    line = plot_learning(possible, "regret", smooth=1, oracle=found).lines[0]
    np.testing.assert_allclose(np.asarray(line.get_ydata()), judged.cumulative_regret.mean(axis=0), atol=1e-12)
    axes = plot_learning(possible, "shortfall", smooth=20, oracle=found)
    assert np.asarray(axes.lines[0].get_ydata())[-1] == pytest.approx(judged.shortfall[:, -20:].mean())
    assert axes.get_ylabel() == "shortfall, exact\n(mean of 20 rounds)"
    with pytest.raises(fg.InputError, match=r"^figure 'regret' compares a run with an oracle: give oracle=fairgate"):
        plot_learning(possible, "regret")
    with pytest.raises(fg.InputError, match=r"^oracle is that of task 'german', but the run is of 'mve-s'$"):
        plot_learning(possible, oracle=fg.oracle(fg.load_task("german")))
    with pytest.raises(fg.InputError, match=r"^unknown band 'sd'"):
        plot_learning(possible, band="sd")  # type: ignore[arg-type]


def test_a_legend_is_drawn_on_given_axes_where_it_is_asked_for(small_task: fg.Task, runs: dict[str, fg.Run]) -> None:
    for draw, thing in every_plot(small_task, runs):
        ax = Figure().add_subplot()
        legend = draw(thing, ax=ax, legend=True).get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ax.get_legend_handles_labels()[1]
        figure = draw(thing, legend=False).figure
        assert isinstance(figure, Figure)
        assert not figure.legends


@pytest.mark.parametrize(
    ("figure", "options", "label"),
    [
        ("reward", {}, "reward per person, batch\n(mean of 50 rounds)"),
        ("gap", {"exact": True, "smooth": 7}, "DP gap, exact\n(mean of 7 rounds)"),
        ("gap", {"smooth": 1}, "DP gap, batch"),
        ("violation", {}, "cumulative violation, batch"),
    ],
)
def test_the_axis_says_what_is_drawn_and_how_it_is_smoothed(
    runs: dict[str, fg.Run], figure: str, options: dict[str, int], label: str
) -> None:
    axes = plot_learning(runs, figure, ax=None, **options)  # type: ignore[arg-type]
    assert axes.get_ylabel() == label
    assert axes.get_xlabel() == "round"


def test_a_single_replicate_has_no_band(small_task: fg.Task) -> None:
    axes = plot_learning({"one": fg.simulate(small_task, fg.OFS(), rounds=60, seeds=1)})
    assert len(axes.collections) == 0
    assert np.isfinite(axes.lines[0].get_ydata()).all()


def test_curves_differ_in_colour_and_in_line_style(runs: dict[str, fg.Run]) -> None:
    lines = plot_learning({str(number): runs["OFS"] for number in range(28)}).lines
    assert len({(line.get_color(), line.get_linestyle(), str(line._dash_pattern)) for line in lines}) == 28  # type: ignore[attr-defined]
    assert lines[0].get_color() != lines[1].get_color()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_the_callers_style_wins(runs: dict[str, fg.Run]) -> None:
    (line,) = plot_learning({"OFS": runs["OFS"]}, linewidth=3.0, color="black").lines
    assert (line.get_linewidth(), line.get_color()) == (3.0, "black")


def test_feasible_points_are_filled_and_infeasible_ones_hollow(sweep: ThresholdSweep) -> None:
    axes = plot_tradeoff(sweep, epsilon=0.05)
    hollow, filled = axes.collections[:2]
    np.testing.assert_array_equal(hollow.get_offsets(), [[0.30, 0.40], [0.04, 0.35]])
    np.testing.assert_array_equal(filled.get_offsets(), [[0.02, 0.30], [0.01, 0.01]])
    np.testing.assert_array_equal(hollow.get_facecolor(), [to_rgba("white")])
    np.testing.assert_array_equal(filled.get_facecolor(), acceptance_scale().to_rgba(np.array([0.9, 0.5])))
    np.testing.assert_array_equal(hollow.get_edgecolor(), acceptance_scale().to_rgba(np.array([0.6, 0.2])))


def test_the_more_are_accepted_the_darker_the_point() -> None:
    light = acceptance_scale().to_rgba(np.linspace(0, 1, 11))[:, :3].mean(axis=1)
    assert (np.diff(light) < 0).all()


def test_shading_ends_at_epsilon_and_the_star_is_the_best_feasible_point(sweep: ThresholdSweep) -> None:
    axes = plot_tradeoff(sweep, epsilon=0.05)
    (shade,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert shade.get_x() + shade.get_width() == pytest.approx(0.05)
    assert shade.get_x() == axes.get_xlim()[0]
    curve, star = axes.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([sweep.gap, sweep.reward]))
    np.testing.assert_array_equal(star.get_xydata(), [[0.02, 0.30]])
    assert star.get_label() == "best feasible"


def test_where_nothing_is_feasible_the_star_says_so(sweep: ThresholdSweep) -> None:
    strict = ThresholdSweep(sweep.thresholds, sweep.reward, sweep.gap, sweep.acceptance, sweep.residuals + 0.5)
    axes = plot_tradeoff(strict)
    assert axes.lines[-1].get_label() == "least violation"
    np.testing.assert_array_equal(axes.lines[-1].get_xydata(), [[0.02, 0.30]])
    assert len(axes.patches) == 0


def test_ends_lie_where_their_thresholds_lead(small_task: fg.Task) -> None:
    found = fg.oracle(small_task)
    ends = exact_sweep(small_task, np.array([-1.3, 0.2]))
    axes = plot_tradeoff(found, 0.2, {"mine": ends})
    assert axes.lines[-1].get_label() == "mine"
    np.testing.assert_array_equal(axes.lines[-1].get_xydata(), np.column_stack([ends.gap, ends.reward]))
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for each in (found.sweep, ends):
        assert ((each.gap > low) & (each.gap < high) & (each.reward > bottom) & (each.reward < top)).all()


def test_zoom_shows_the_best_point_and_what_is_near_it(sweep: ThresholdSweep) -> None:
    axes = plot_tradeoff(sweep, 0.05, zoom=True)
    (_, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert 0.05 <= high < 0.11
    assert 0.01 < bottom < 0.30 < 0.35 < top < 0.40


def test_acceptance_shows_the_long_run_of_every_threshold(small_task: fg.Task) -> None:
    axes = plot_acceptance(small_task, points=41)
    first, second, gap, reward = (np.asarray(line.get_ydata()) for line in axes.lines)
    np.testing.assert_allclose(gap, np.abs(first - second), atol=1e-12)
    assert (np.diff(first) < 0).all()
    found = exact_sweep(small_task, np.linspace(-2, 2, 41))
    np.testing.assert_array_equal(reward, found.reward)
    shaded = np.concatenate([np.asarray(path.vertices)[:, 0] for path in axes.collections[0].get_paths()])
    feasible = found.thresholds[is_feasible(found.residuals)]
    assert (shaded.min(), shaded.max()) == (feasible.min(), feasible.max())


def every_plot(small_task: fg.Task, runs: dict[str, fg.Run]) -> list[tuple[Drawer, object]]:
    return [(plot_learning, runs), (plot_tradeoff, fg.oracle(small_task)), (plot_acceptance, small_task)]


@pytest.mark.slow
def test_a_new_figure_is_one_column_wide_with_one_legend_and_looks_the_same_twice(
    small_task: fg.Task, runs: dict[str, fg.Run]
) -> None:
    for draw, thing in every_plot(small_task, runs):
        files = []
        for _ in range(2):
            figure = draw(thing).figure
            assert isinstance(figure, Figure)
            assert figure.get_figwidth() == 3.5
            assert len(figure.legends) + sum(ax.get_legend() is not None for ax in figure.axes) == 1
            pdf, png = io.BytesIO(), io.BytesIO()
            figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
            figure.savefig(png, format="png", dpi=100)
            files.append((pdf.getvalue(), png.getvalue()))
        assert files[0] == files[1]


def test_nothing_leaves_a_new_figure_at_its_sides(small_task: fg.Task, runs: dict[str, fg.Run]) -> None:
    for draw, thing in every_plot(small_task, runs):
        figure = draw(thing).figure
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()
        assert 0 <= figure.get_tightbbox().x0 < figure.get_tightbbox().x1 <= 3.5


def test_given_axes_are_drawn_on_and_keep_their_legend_to_the_caller(
    small_task: fg.Task, runs: dict[str, fg.Run]
) -> None:
    for draw, thing in every_plot(small_task, runs):
        figure = Figure()
        ax = figure.add_subplot()
        assert draw(thing, ax=ax) is ax
        assert (figure.axes, figure.legends, ax.get_legend()) == ([ax], [], None)


def test_bad_arguments_get_one_sentence(runs: dict[str, fg.Run], sweep: ThresholdSweep) -> None:
    with pytest.raises(
        fg.InputError, match=r"^unknown figure 'rewards': did you mean 'reward'\? Known: gap, regret, reward"
    ):
        plot_learning(runs, "rewards")
    with pytest.raises(fg.InputError, match=r"^runs must be a run, or map at least one name to a run, got \['OFS'"):
        plot_learning(["OFS"])  # type: ignore[arg-type]
    with pytest.raises(fg.InputError, match=r"^runs must be a run, or map at least one name to a run, got {}$"):
        plot_learning({})
    with pytest.raises(fg.InputError, match=r"^smooth must be a whole number of at least 1, got 0$"):
        plot_learning(runs, smooth=0)
    with pytest.raises(
        fg.InputError, match=r"^smooth is the mean of 61 rounds, but run 'OFS' has 60: choose a smaller"
    ):
        plot_learning(runs, smooth=61)
    with pytest.raises(fg.InputError, match=r"^epsilon must be in \[0, 1\], got 2$"):
        plot_tradeoff(sweep, epsilon=2)


def test_a_refused_plot_leaves_the_axes_as_they_were(runs: dict[str, fg.Run]) -> None:
    ax = Figure().add_subplot()
    with pytest.raises(fg.InputError):
        plot_learning(runs, "rewards", ax=ax)
    assert len(ax.get_children()) == len(Figure().add_subplot().get_children())


@pytest.mark.slow
def test_importing_plots_loads_no_matplotlib_and_drawing_no_pyplot() -> None:
    code = (
        "import sys, fairgate as fg, fairgate.plots as plots;"
        "assert 'matplotlib' not in sys.modules;"
        "plots.plot_acceptance(fg.load_task('mve-s'), points=5);"
        "import matplotlib; assert 'matplotlib.pyplot' not in sys.modules;"
        "assert matplotlib.rcParams == matplotlib.rcParamsOrig"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_alone_is_drawn_under_its_learners_name(runs: dict[str, fg.Run]) -> None:
    alone, named = plot_learning(runs["OFS"], smooth=5), plot_learning({"OFS": runs["OFS"]}, smooth=5)
    assert alone.lines[0].get_label() == "OFS"
    np.testing.assert_array_equal(alone.lines[0].get_ydata(), named.lines[0].get_ydata())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("figure", ["reward", "gap", "acceptance"])
def test_thresholds_of_a_table_are_drawn_with_intervals(figure: str, descending: bool) -> None:
    table = example_table()
    people = fg.from_frame(
        table, score="risk_score", label="repaid", group="sex", descending=descending, positive=int(not descending)
    )
    advice = fg.advise(
        people, fg.Aims(cost=2.0, constraints=[fg.DemographicParity(0.1)], seeds=1, rounds=5, feedback=(0.0,))
    )
    axes = plot_thresholds(advice, figure)
    *curves, chosen = axes.lines
    order = np.argsort(advice.today.thresholds)
    drawn = advice.today.rates.value if figure == "acceptance" else [getattr(advice.today, figure).value]
    for curve, values in zip(curves, drawn, strict=True):
        np.testing.assert_array_equal(curve.get_xdata(), advice.today.thresholds[order])
        np.testing.assert_array_equal(curve.get_ydata(), values[order])
    assert np.asarray(chosen.get_xdata()).tolist() == [advice.recommendation.threshold] * 2
    band = axes.collections[0].get_paths()[0].vertices
    high = (advice.today.rates.high[0] if figure == "acceptance" else getattr(advice.today, figure).high).max()
    assert np.asarray(band)[:, 1].max() == pytest.approx(high)
    with pytest.raises(fg.InputError, match="figure 'rewards'"):
        plot_thresholds(advice, "rewards")
