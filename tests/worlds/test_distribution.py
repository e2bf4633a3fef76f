"""Worlds by number: what is drawn, and that worlds side by side are what they are alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import ResponsiveScores
from fairgate.errors import InputError
from fairgate.learners import load_learner
from fairgate.oracle.lottery import best_lottery
from fairgate.worlds import distribution, shapes
from fairgate.worlds.distribution import draw_world
from fairgate.worlds.loading import load_world, task_of
from fairgate.worlds.reference import moments_of, reference_of


def test_a_page_has_every_value_of_every_list() -> None:
    for page in (0, 20):
        found = shapes.shapes_of(page)
        assert Counter(each.groups for each in found) == Counter(shapes.GROUPS)
        assert Counter(each.batch for each in found) == Counter(shapes.BATCHES)
        assert Counter(each.size for each in found) == Counter(shapes.GRIDS)
        assert Counter(each.constraints for each in found) == Counter(shapes.CONSTRAINTS)


def test_development_and_judging_worlds_have_the_same_distribution() -> None:
    """Rates of 600 worlds each, Kolmogorov–Smirnov; and how often each kind is drawn, five standard errors."""
    from scipy.stats import ks_2samp

    development, judging = ([draw_world(first + n) for n in range(600)] for first in (0, shapes.JUDGING))
    rates = [[world.environment["rate"] for world in worlds] for worlds in (development, judging)]
    assert ks_2samp(*rates).pvalue > 1e-4
    for worlds in (development, judging):
        drawn = Counter(world.words["answers"] for world in worlds)
        for name, chance in distribution.ANSWERS.items():
            assert abs(drawn[name] / 600 - chance) <= 5 * np.sqrt(chance * (1 - chance) / 600)


def test_every_world_has_one_steady_state() -> None:
    assert (
        max(ResponsiveScores(**draw_world(number).environment).feedback() for number in range(200))
        <= distribution.STEEPEST + 1e-9
    )


def test_a_world_is_the_same_alone_and_among_others() -> None:
    """Exact probabilities round by round: all but who comes, which is drawn by replicate."""
    worlds = [draw_world(number) for number in (4, 14, 24, 34)]
    whole, alone = task_of(worlds), task_of(worlds[2:3])
    thresholds = np.full((4, worlds[0].shape.groups), 0.3)
    together, single = whole.environment.start(4), alone.environment.start(1)
    for _ in range(60):
        cells = whole.environment.probabilities(together, thresholds)
        np.testing.assert_array_equal(cells[2:3], alone.environment.probabilities(single, thresholds[:1]))
        together = whole.environment.expected_update(together, thresholds)
        single = alone.environment.expected_update(single, thresholds[:1])
    np.testing.assert_array_equal(
        whole.environment.histogram(together, worlds[0].shape.grid)[2:3],
        alone.environment.histogram(single, worlds[0].shape.grid),
    )
    for index in range(4):
        cut = whole.rows(slice(index, index + 1))
        assert cut.problem.assess(cells[index : index + 1]).reward == whole.problem.assess(cells).reward[index]


def test_something_is_at_stake_in_every_world() -> None:
    for number in (3, 7):
        found = reference_of(task_of([load_world(number)]).at(0))
        assert found.lottery - found.fair >= 0.02
        assert np.isnan(found.threshold) == (found.least > 0)


@pytest.mark.slow
def test_the_quick_search_of_lotteries_is_near_the_thorough_one() -> None:
    """Of what is at stake, at most a tenth is missed in any of these worlds, and little in most."""
    missed = []
    for number in (0, 1, 2, 4, 6, 7, 9):
        task = task_of([load_world(number)]).at(0)
        quick, thorough = reference_of(task), best_lottery(task)[0]
        missed.append((thorough.reward - quick.lottery) / (thorough.reward - quick.fair))
    assert max(missed) <= 0.12, missed
    assert np.median(missed) <= 0.03, missed


def test_moments_are_where_a_world_changes() -> None:
    kinds = {world.words["changes"]: world for world in (draw_world(number) for number in range(60))}
    assert len(moments_of(task_of([kinds["nothing"]]), 3000)) == 1
    assert len(moments_of(task_of([kinds["season"]]), 3000)) == 10
    jump = kinds["jump"]
    assert moments_of(task_of([jump]), 3000).tolist() == [0.0, jump.environment["jump_round"]]
    assert moments_of(task_of([jump]), 100).tolist() == [0.0]


def test_worlds_of_other_shapes_do_not_stand_side_by_side() -> None:
    with pytest.raises(InputError, match="one shape"):
        task_of([draw_world(0), draw_world(1)])


def test_learners_play_many_worlds_at_once() -> None:
    worlds = [draw_world(number) for number in (5, 15, 25)]
    for name in ("ofs", "best-lottery"):
        run = fg.simulate(task_of(worlds), load_learner(name), 20, batch=worlds[0].shape.batch)
        assert run.replicates == 3
