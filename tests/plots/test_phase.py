"""plot_phase: every cell has its own value and colour; what is not feasible, not sure or failed is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import fairgate as fg
from fairgate.plots import plot_phase, plot_phases
from fairgate.plots.maps import learner_colours, paler
from fairgate.sweep import Sweep
from tests.sweep.worlds import made

RATES = np.geomspace(0.01, 0.5, 6)
EPSILONS = np.linspace(0.01, 0.1, 5)


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return made({"rate": RATES, "epsilon": EPSILONS}, broken=[7])


@pytest.fixture(scope="module")
def deep() -> Sweep:
    return made({"rate": RATES, "epsilon": EPSILONS, "batch": [16, 64, 256]})


def mesh(axes: Axes) -> Any:
    (found,) = (each for each in axes.collections if isinstance(each, QuadMesh))
    return np.ma.asarray(found.get_array())


def labels(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def test_a_cell_shows_the_mean_over_seeds_of_its_setting(sweep: Sweep) -> None:
    axes = plot_phase(sweep, "epsilon", "rate", "violation", "safe-forecast")
    values = mesh(axes)
    assert values.shape == (6, 5)
    for setting, mean in enumerate(sweep.mean("violation")[:, 1]):
        row = np.flatnonzero(sweep.design["rate"][setting] == RATES)[0]
        column = np.flatnonzero(sweep.design["epsilon"][setting] == EPSILONS)[0]
        assert values.mask[row, column] == (setting == 7)
        if setting != 7:
            assert values[row, column] == mean
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "rate")
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert axes.get_title() == "safe-forecast on compas"


def test_the_colour_bar_says_in_words_what_is_drawn(sweep: Sweep) -> None:
    figure = plot_phase(sweep, learner="ofs").figure
    assert [ax.get_ylabel() for ax in figure.axes] == ["epsilon", "share of attainable reward"]


def test_a_share_that_only_broken_constraints_earn_has_a_colour_of_its_own(sweep: Sweep) -> None:
    shares = sweep.figures["share"].copy()
    shares[12, 0] = 7.0
    axes = plot_phase(replace(sweep, figures={**sweep.figures, "share": shares}), learner="ofs")
    (drawn,) = (each for each in axes.collections if isinstance(each, QuadMesh))
    drawn.update_scalarmappable()
    colours = np.asarray(drawn.get_facecolor()).reshape(5, 6, 4)
    np.testing.assert_allclose(colours[12 % 5, 12 // 5], to_rgba("#CC79A7"), atol=0.01)
    assert drawn.get_clim()[1] == 1.05


def test_nothing_feasible_is_hatched_and_what_failed_is_crossed_out(sweep: Sweep) -> None:
    axes = plot_phase(sweep, learner="ofs")
    (hatched,) = (each for each in axes.collections if isinstance(each, PolyCollection) and each.get_hatch())
    middles = {tuple(np.round(np.asarray(path.vertices)[:4].mean(axis=0)[1:], 9)) for path in hatched.get_paths()}
    assert middles == {(0.01,)}
    assert len(hatched.get_paths()) == 6
    (crosses,) = (line for line in axes.lines if line.get_label() == "failed")
    np.testing.assert_allclose(
        np.asarray(crosses.get_xydata()), [[sweep.design["rate"][7], sweep.design["epsilon"][7]]]
    )
    assert mesh(axes).mask.sum() == 7  # those without an attainable reward, and the failed one


def test_other_parameters_are_averaged_over_or_held_fixed_and_the_title_says_which(deep: Sweep) -> None:
    whole = plot_phase(deep, "rate", "epsilon", "regret", "ofs")
    means = deep.mean("regret")[:, 0].reshape(6, 5, 3)
    np.testing.assert_allclose(mesh(whole), means.mean(axis=2).T)
    assert whole.get_title() == "ofs on compas\nmean over batch"
    fixed = plot_phase(deep, "rate", "epsilon", "regret", "ofs", at={"batch": 64})
    np.testing.assert_allclose(mesh(fixed), means[:, :, 1].T)
    assert fixed.get_title() == "ofs on compas\nbatch = 64"


def test_where_nothing_is_feasible_in_some_of_the_settings_averaged_over_is_dotted(deep: Sweep) -> None:
    axes = plot_phase(deep, "rate", "batch", "violation", "ofs")
    assert labels(axes) == ["nothing is feasible in some"]


def test_the_winner_has_its_colour_and_is_paler_where_the_difference_is_not_significant() -> None:
    sweep = made({"rate": np.linspace(0, 0.5, 7), "epsilon": EPSILONS}, broken=[7])
    axes = plot_phase(sweep, figure="winner")
    (drawn,) = (each for each in axes.collections if isinstance(each, QuadMesh))
    drawn.update_scalarmappable()
    colours = np.asarray(drawn.get_facecolor()).reshape(5, 7, 4)
    found = sweep.winners()
    sure = found.p_value < 0.05
    assert {True, False} == set(sure[found.learner >= 0].tolist())
    for setting in range(35):
        row, column = setting % 5, setting // 5
        if setting == 7:
            assert colours[row, column, 3] == 0
        else:
            colour = learner_colours(found.learner, 2)[found.learner[setting]]
            wanted = colour if sure[setting] else paler(colour)
            np.testing.assert_allclose(colours[row, column], to_rgba(wanted), atol=0.01)
    assert labels(axes)[:3] == ["ofs", "safe-forecast", "paler: p ≥ 0.05"]


def test_a_winner_over_several_settings_is_the_one_that_wins_most_of_them(deep: Sweep) -> None:
    found = deep.winners()
    (drawn,) = (
        each for each in plot_phase(deep, "rate", "epsilon", "winner").collections if isinstance(each, QuadMesh)
    )
    values = np.asarray(drawn.get_array())
    wins = (found.learner.reshape(6, 5, 3) == 1).sum(axis=2).T >= 2
    sure = (
        ((found.p_value < 0.05) & (found.learner == np.where(wins.T.ravel(), 1, 0).repeat(3)))
        .reshape(6, 5, 3)
        .mean(axis=2)
        .T
    )
    np.testing.assert_array_equal(values, 2 * wins + (sure < 0.5))


def test_a_random_design_is_points_where_the_settings_are() -> None:
    sweep = made({"rate": [0.01, 0.5] * 20, "epsilon": [0.01, 0.1]}, random=True)
    axes = plot_phase(sweep, learner="ofs", figure="regret", contour=150.0)
    points = [each for each in axes.collections if isinstance(each, PathCollection) and each.get_array() is not None]
    np.testing.assert_allclose(
        sorted(np.asarray(points[0].get_offsets()).tolist()),
        sorted(zip(sweep.design["rate"], sweep.design["epsilon"], strict=True)),
    )
    assert sorted(np.asarray(points[0].get_array())) == pytest.approx(sorted(sweep.mean("regret")[:, 0]))


def test_a_contour_lies_between_cells_above_and_below_its_level(sweep: Sweep) -> None:
    axes = plot_phase(sweep, figure="shortfall", learner="safe-forecast", contour=0.1)
    (line,) = (each for each in axes.collections if hasattr(each, "levels"))
    rates = np.concatenate([np.asarray(path.vertices)[:, 0] for path in line.get_paths()])
    means = sweep.mean("shortfall")[:, 1].reshape(6, 5)
    above, below = np.nanmin(means, axis=1) > 0.1, np.nanmax(means, axis=1) < 0.1
    assert rates.min() >= RATES[above].max() * 0.999
    assert rates.max() <= RATES[below].max() * 1.001


def test_truth_needs_no_learner_and_names_stand_side_by_side() -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS})
    np.testing.assert_allclose(
        mesh(plot_phase(sweep, figure="best_reward")), sweep.truth["best_reward"].reshape(6, 5).T
    )
    sweep = replace(sweep, design={**sweep.design, "epsilon": np.array(list("abcde") * 6)})
    axes = plot_phase(sweep, figure="best_reward")
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list("abcde")


def test_every_learner_has_a_panel_on_one_scale_and_then_who_wins(deep: Sweep) -> None:
    figure = plot_phases(deep, "rate", "epsilon", "share", at={"batch": 16})
    assert isinstance(figure, Figure)
    maps = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in maps] == ["ofs", "safe-forecast", "winner by shortfall"]
    first, second = (next(each for each in ax.collections if isinstance(each, QuadMesh)).get_clim() for ax in maps[:2])
    assert first == second
    assert figure.get_suptitle() == "compas, batch = 16"
    figure.draw_without_rendering()
    assert figure.get_tightbbox().x1 <= 7.16


def test_given_axes_get_no_keys_unless_asked_for(sweep: Sweep) -> None:
    for legend, count in (("auto", 1), (True, 2), (False, 1)):
        figure = Figure()
        ax = figure.add_subplot()
        assert plot_phase(sweep, learner="ofs", ax=ax, legend=legend) is ax  # type: ignore[arg-type]
        assert len(figure.axes) == count
        assert (ax.get_legend() is not None) == (count == 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": "rat"}, r"^unknown x \(a swept parameter\) 'rat': did you mean 'rate'\? Known: batch, epsilon, rate$"),
        ({"x": "rate", "y": "rate"}, r"^x and y must be different parameters, got 'rate' for both"),
        ({"figure": "shares", "learner": "ofs"}, r"^unknown figure 'shares': did you mean 'share'\?"),
        ({"learner": "of"}, r"^unknown learner 'of': did you mean 'ofs'\?"),
        ({}, r"^learner must be one of ofs, safe-forecast: the map shows a single one$"),
        ({"figure": "winner", "learner": "ofs"}, r"^figure 'winner' is not one of a single learner: leave learner out"),
        ({"figure": "winner", "contour": 1}, r"^contour is a level of a figure, but winners have none"),
        ({"learner": "ofs", "at": {"batch": 60}}, r"^at\['batch'\] must be a value of the sweep, got 60: .* is 64$"),
        ({"learner": "ofs", "at": {"rate": 0.01}}, r"^at must hold parameters other than x and y, got 'rate'$"),
        ({"learner": "ofs", "at": {"bach": 16}}, r"^unknown parameter of at 'bach': did you mean 'batch'\?"),
        ({"learner": "ofs", "legend": "yes"}, r'^legend must be True, False or "auto", got \'yes\'$'),
    ],
)
def test_bad_arguments_get_one_sentence(deep: Sweep, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        plot_phase(deep, **arguments)


def test_a_sweep_of_one_parameter_has_no_map() -> None:
    with pytest.raises(
        fg.InputError, match=r"^a phase map needs two swept parameters, but the sweep has 1: rate; the page"
    ):
        plot_phase(made({"rate": RATES}), learner="ofs")


def test_one_learner_has_nobody_to_win_against() -> None:
    alone = made({"rate": RATES, "epsilon": EPSILONS}, learners=["ofs"])
    with pytest.raises(fg.InputError, match=r"^figure 'winner' compares learners, but the sweep has one: ofs$"):
        plot_phase(alone, figure="winner")
    assert len(plot_phases(alone).axes) == 2  # the map and its colour bar


def test_a_tie_has_a_colour_of_its_own() -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS})
    sweep.figures["shortfall"][:10, 1] = sweep.figures["shortfall"][:10, 0]
    axes = plot_phase(sweep, figure="winner")
    (drawn,) = (each for each in axes.collections if isinstance(each, QuadMesh))
    drawn.update_scalarmappable()
    colours = np.asarray(drawn.get_facecolor()).reshape(5, 6, 4)
    yellow = np.abs(colours - to_rgba("#F0E442")).max(axis=2) < 0.01
    np.testing.assert_array_equal(yellow, np.isin(np.arange(30).reshape(6, 5).T, np.arange(10)))
    assert "tie" in labels(axes)


def test_a_mean_without_settings_that_failed_is_marked_otherwise_than_a_failure() -> None:
    sweep = made({"rate": RATES, "epsilon": EPSILONS, "batch": [16, 64]}, broken=[0, 1, 4])
    axes = plot_phase(sweep, "rate", "epsilon", "violation", "ofs")
    marks = {line.get_label(): (line.get_marker(), np.asarray(line.get_xydata()).tolist()) for line in axes.lines}
    assert marks == {
        "failed": ("x", [[RATES[0], EPSILONS[0]]]),
        "some failed": ("+", [[RATES[0], EPSILONS[2]]]),
    }


@pytest.mark.parametrize("layout", [None, "tight", "constrained"])
def test_a_colour_bar_on_given_axes_lies_beside_its_map_and_before_the_next(sweep: Sweep, layout: Any) -> None:
    figure = Figure(figsize=(8, 6), layout=layout)
    maps = figure.subplots(2, 2).ravel().tolist()
    for ax in maps:
        plot_phase(sweep, learner="ofs", ax=ax, legend=True)
        ax.get_legend().remove()
    figure.draw_without_rendering()
    bars = [ax for ax in figure.axes if ax not in maps]
    for ax, bar in zip(maps, bars, strict=True):
        own, beside = ax.get_window_extent(), bar.get_tightbbox()
        assert beside is not None
        assert own.x1 < bar.get_window_extent().x0
        assert own.width > 100
        for other in maps:
            assert other is ax or not beside.overlaps(other.get_tightbbox())
