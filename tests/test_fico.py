"""FICO: Liu et al.'s curves and optima as published, the honest fact of the tasks, and what their page says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.data import load_fico
from fairgate.thresholds import exact_sweep
from scripts import draw_fico
from scripts.outcome_curves import Outcome, curves, harmless_rate, optimum

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fico.md"

# Thresholds of the black group, lines of the second picture in the authors' notebook, read off its pixels, 1.35 points
# of score each: github.com/lydiatliu/delayedimpact, notebooks/FICO-figures.ipynb.
PUBLISHED = {
    (4.0, "MaxUtil"): 645.0,
    (4.0, "DemParity"): 480.0,
    (4.0, "EqOpt"): 557.0,
    (10.0, "MaxUtil"): 715.5,
    (10.0, "DemParity"): 562.5,
    (10.0, "EqOpt"): 601.5,
}


@cache
def found(cost: float, criterion: str) -> Outcome:
    return optimum(load_fico(["black", "white"]), criterion, cost)


@pytest.mark.parametrize(("cost", "criterion"), PUBLISHED)
def test_thresholds_of_the_black_group_are_where_the_authors_drew_them(cost: float, criterion: str) -> None:
    assert found(cost, criterion).thresholds[0] == pytest.approx(PUBLISHED[cost, criterion], abs=2.0)


def test_outcome_curves_have_the_heights_of_the_authors_third_picture() -> None:
    """Read to half a point of score and 0.01 of a rate: highest and last values, and where loans begin to harm."""
    black, white = (curves(load_fico([group]), 0) for group in ("black", "white"))
    assert black.changes.max() == pytest.approx(9.5, abs=0.7)
    assert black.changes[-1] == pytest.approx(-55.0, abs=0.7)
    assert white.changes.max() == pytest.approx(40.0, abs=0.7)
    assert white.changes[-1] == pytest.approx(21.0, abs=0.7)
    assert black.rates[np.argmax(black.changes)] == pytest.approx(0.23, abs=0.02)
    assert white.rates[np.argmax(white.changes)] == pytest.approx(0.73, abs=0.02)
    assert harmless_rate(black) == pytest.approx(0.43, abs=0.015)


def test_utilities_have_the_heights_of_the_authors_third_picture() -> None:
    """Of demographic parity and equal opportunity; their curve of most profit adds the groups without their shares."""
    assert found(4.0, "DemParity").utility == pytest.approx(0.335, abs=0.01)
    assert found(4.0, "EqOpt").utility == pytest.approx(0.43, abs=0.01)


def test_parity_harms_the_black_group_at_minus_4_and_every_criterion_helps_it_at_minus_10() -> None:
    change = {key: found(*key).changes[0] for key in PUBLISHED}
    assert change[4.0, "DemParity"] < 0 < change[4.0, "EqOpt"] < change[4.0, "MaxUtil"]
    assert 0 < change[10.0, "MaxUtil"] < change[10.0, "DemParity"] < change[10.0, "EqOpt"]


@pytest.mark.parametrize("cost", draw_fico.COSTS)
def test_optima_keep_their_criterion_and_no_rate_on_a_fine_grid_is_better(cost: float) -> None:
    """An independent search over 20,000 selection rates, people counted score by score."""
    table = load_fico(["black", "white"])
    parity, best = found(cost, "DemParity"), -np.inf
    assert parity.rates[0] == pytest.approx(parity.rates[1])
    worth = table.repay - cost * (1.0 - table.repay)
    for rate in np.linspace(0.0, 1.0, 20_001)[::10]:
        utility = 0.0
        for share, pdf, value in zip(table.shares, table.pdf, worth, strict=True):
            above = np.cumsum(pdf[::-1])[::-1] - pdf  # people of higher scores
            loans = np.clip((rate - above) / np.where(pdf > 0, pdf, 1.0), 0.0, 1.0)
            utility += share * (loans * pdf * value).sum()
        best = max(best, utility)
    assert best <= parity.utility + 1e-12
    assert best == pytest.approx(parity.utility, abs=1e-4)


@pytest.mark.parametrize(
    ("groups", "gap", "ratio"), [(draw_fico.TWO, 0.1889, 0.5625), (draw_fico.FOUR, 0.2016, 0.5358)]
)
def test_no_shared_threshold_between_20_and_80_percent_is_near_parity(
    groups: tuple[str, ...], gap: float, ratio: float
) -> None:
    _, accepted, gaps, ratios = draw_fico.shared_gaps(groups, carry=0.0)
    inside = (accepted >= 0.2) & (accepted <= 0.8)
    assert gaps[inside].min() == pytest.approx(gap, abs=5e-5)
    assert ratios[inside].max() == pytest.approx(ratio, abs=5e-5)


def test_fico_has_no_feasible_threshold_by_a_clear_margin_but_a_lottery_and_thresholds_per_group() -> None:
    task = fg.load_task("fico")
    worst = exact_sweep(task, task.environment.candidates(300.0, 850.0)).residuals.max(axis=0)
    assert worst.min() > 0.03
    assert not fg.oracle(task).refined.feasible
    apart = fg.oracle(task, "per-group").best
    assert apart.feasible
    assert apart.policy.thresholds[0, 0].tolist() == [650.0, 487.5]
    chance = fg.Policy.uniform([0.5], groups=2)
    assert (task.problem.assess(task.environment.cells(task.environment.start(1), chance)).residuals <= 0).all()


def test_fico_4_has_one_that_the_floor_bounds_above_and_harm_below() -> None:
    task = fg.load_task("fico-4")
    sweep = fg.oracle(task).sweep
    feasible = (sweep.residuals <= 0).all(axis=0)
    assert sweep.thresholds[feasible].tolist() == [525.0, 537.5, 550.0, 562.5, 575.0]
    floor, _, harm = sweep.residuals
    assert (floor[sweep.thresholds > 580] > 0).all()
    assert (harm[sweep.thresholds < 520] > 0).all()
    assert fg.oracle(task).best.threshold == 575.0


def test_the_page_has_the_tables_of_the_script() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "\n".join((draw_fico.OPTIMA, *draw_fico.optima_table())) in text
    assert "\n".join((draw_fico.SHARED, *draw_fico.shared_table())) in text


@pytest.mark.slow
def test_the_page_has_what_the_best_policies_come_to() -> None:
    assert "\n".join((draw_fico.ASKED, *draw_fico.asked_table())) in PAGE.read_text(encoding="utf-8")
