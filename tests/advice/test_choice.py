"""The recommended threshold on tables drawn from known distributions: feasible, and nearly the best there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.choice import INFEASIBLE, SURE, UNCERTAIN, choose
from fairgate.advice.steady import Response
from fairgate.advice.today import look
from fairgate.people import from_frame
from tests.advice.people import PARITY, SERVICE, World

TODAY = Response(0.0, 0.0)
COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "group"}


@pytest.mark.parametrize(("world", "draws"), [(SERVICE, 100), (PARITY, 40)])
def test_5000_people_are_enough_for_a_feasible_threshold_within_a_hundredth_of_the_best(
    world: World, draws: int
) -> None:
    """Feasible and within 0.01 of the best fixed threshold's reward, both at once, in at least 95% of the draws.

    Of 100 draws that is 95. Fewer draws may fall short of a true 95% by chance, with a false alarm of 1 in 1000.
    The optimum is interior and on the edge of a constraint, so that half of all estimates without a margin break it.
    """
    _, best = world.best()
    rng = np.random.default_rng(7)
    good, covered = 0, np.zeros(2)
    for draw in range(draws):
        people = from_frame(world.draw(5000, rng), **COLUMNS).coarsened()
        found = choose(people, world.aims.problem, TODAY, seed=draw)
        assert found.status == SURE
        reward, gap, residuals = world.figures(people.cuts[found.cut])
        today = look(people, world.aims)
        covered += (
            today.reward.low[found.cut] <= reward[0] <= today.reward.high[found.cut],
            today.gap.low[found.cut] <= gap[0] <= today.gap.high[found.cut],
        )
        good += bool(best - reward[0] <= 0.01 and residuals.max() <= 0.0)
    assert covered.min() >= binom.ppf(1e-5, draws, 0.95)  # although the threshold was chosen by the same table
    assert good >= (95 if draws == 100 else binom.ppf(0.001, draws, 0.95))


def test_without_a_margin_the_edge_is_missed_about_every_second_time() -> None:
    """So the test above can fail: the same draws, the best threshold on the data; false alarm below 1e-6."""
    rng = np.random.default_rng(7)
    kept = 0
    for _ in range(60):
        people = from_frame(SERVICE.draw(5000, rng), **COLUMNS).coarsened()
        today = look(people, SERVICE.aims)
        place = np.where(today.feasible, today.reward.value, -np.inf).argmax()
        kept += bool(SERVICE.figures(people.cuts[place])[2].max() <= 0.0)
    assert kept < binom.ppf(1 - 1e-6, 60, 0.6)


def test_the_margin_costs_nothing_where_no_constraint_is_near() -> None:
    world = World(
        (0.0, 0.0), (1.0, 0.9), 0.2, Aims(cost=1.0, constraints=[fg.DemographicParity(0.3), fg.ServiceRate(0.1, 0.9)])
    )
    people = from_frame(world.draw(5000, np.random.default_rng(1)), **COLUMNS).coarsened()
    found = choose(people, world.aims.problem, TODAY)
    assert (found.status, found.price, found.test_level) == (SURE, 0.0, 0.01)


def test_a_table_too_small_to_be_sure_is_said_to_be() -> None:
    aims = Aims(constraints=[fg.DemographicParity(0.04), fg.ServiceRate(0.3, 0.7)])
    people = from_frame(SERVICE.draw(300, np.random.default_rng(3)), **COLUMNS)
    found = choose(people, aims.problem, TODAY)
    assert found.status == UNCERTAIN
    assert found.steady.sweep.residuals[:, found.cut].max() <= 0.0
    assert found.test_level is None or found.test_level > 0.05


def test_sure_is_as_sure_as_it_says_also_where_the_gap_looks_small() -> None:
    """No threshold is feasible, by a little. Small tables may hide that in 5% of the draws if 95% is asked for.

    Errors from resampling the gap itself, which cannot fall below 0, are too small: with them it is 9%. Scores are in
    fiftieths, rounded down, which leaves the truth of a threshold as it is and a third of the 700 thresholds to try.
    """
    world = World(
        (0.3, 0.0), (1.0, 1.0), 0.2, Aims(cost=1.0, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.7)])
    )
    rng = np.random.default_rng(11)
    wrong = 0
    for draw in range(150):
        table = world.draw(700, rng)
        score = pa.array(np.floor(table["score"].to_numpy() * 50.0) / 50.0)
        people = from_frame(table.set_column(0, "score", score), **COLUMNS)
        found = choose(people, world.aims.problem, TODAY, sure=0.95, seed=draw)
        if found.status == SURE:
            wrong += bool(world.figures(people.cuts[found.cut])[2].max() > 0.0)
    assert wrong <= 0.05 * 150


def test_where_no_threshold_will_do_the_least_violating_is_named() -> None:
    world = World(
        (-0.5, 0.5), (1.0, 1.0), 0.0, Aims(constraints=[fg.DemographicParity(0.03), fg.ServiceRate(0.3, 0.7)])
    )
    people = from_frame(world.draw(3000, np.random.default_rng(4)), **COLUMNS).coarsened()
    found = choose(people, world.aims.problem, TODAY)
    assert (found.status, found.possible) == (INFEASIBLE, 0.0)
    violations = np.maximum(found.steady.sweep.residuals, 0.0).sum(axis=0)
    assert violations[found.cut] == violations.min()


def test_the_same_seed_gives_the_same_choice_and_shares() -> None:
    people = from_frame(SERVICE.draw(800, np.random.default_rng(5)), **COLUMNS)
    one, other = (choose(people, SERVICE.aims.problem, TODAY, seed=3) for _ in range(2))
    assert (one.cut, one.test_level, one.same) == (other.cut, other.test_level, other.same)
