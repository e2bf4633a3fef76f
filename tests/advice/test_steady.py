"""Where thresholds lead: the table itself without feedback, exact steady states with it, and what strength means."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.advise import balance_of
from fairgate.advice.steady import Response, environment, settle, stands_until
from fairgate.advice.today import look
from fairgate.counts import Counts
from fairgate.oracle import exact_sweep
from fairgate.people import Applicants, Columns, from_frame
from fairgate.tasks import Task
from tests.advice.people import SERVICE

AIMS = Aims(cost=1.5, constraints=[fg.DemographicParity(0.1), fg.ServiceRate(0.2, 0.8)])


@st.composite
def applicants(draw: st.DrawFn) -> Applicants:
    """Groups, bins and labels in any numbers, with ties, empty cells and missing labels."""
    groups, bins = draw(st.integers(2, 3)), draw(st.integers(2, 6))
    cells = st.lists(st.integers(0, 9), min_size=bins * 3, max_size=bins * 3)
    counts = np.array([draw(cells) for _ in range(groups)], dtype=np.int64).reshape(groups, bins, 3)
    counts[:, :, 1] += 1  # nobody and no bin is empty, and some label is known
    cuts = np.arange(float(bins))
    columns = Columns("score", "label", "group")
    return Applicants(tuple("abc"[:groups]), cuts, cuts, counts, columns, int(counts.sum()))


@given(applicants())
def test_without_feedback_the_long_run_is_the_table_itself(people: Applicants) -> None:
    found, today = settle(people, AIMS.problem, Response(0.0, 0.3)), look(people, AIMS)
    np.testing.assert_allclose(found.sweep.reward, today.reward.value, atol=1e-12)
    np.testing.assert_allclose(found.sweep.gap, today.gap.value, atol=1e-12)
    np.testing.assert_allclose(found.sweep.residuals, today.residuals, atol=1e-12)


@given(applicants(), st.floats(0.0, 0.98), st.floats(0.0, 1.0))
def test_steady_states_are_those_of_the_environment(people: Applicants, strength: float, balance: float) -> None:
    feedback = Response(strength, balance)
    found = settle(people, AIMS.problem, feedback)
    task = Task(environment(people, feedback), AIMS.problem, 2.0 * np.arange(len(people.cuts)))
    expected = exact_sweep(task, task.thresholds)
    np.testing.assert_allclose(found.sweep.reward, expected.reward, atol=1e-9)
    np.testing.assert_allclose(found.sweep.acceptance, expected.acceptance, atol=1e-9)
    np.testing.assert_allclose(found.sweep.residuals, expected.residuals, atol=1e-9)
    np.testing.assert_allclose(np.ptp(found.counts.rates, axis=-1), expected.gap, atol=1e-9)


@given(applicants(), st.floats(0.0, 0.95))
def test_a_group_accepted_at_the_present_rate_stays_as_it_is(people: Applicants, strength: float) -> None:
    """One group alone, in balance with a threshold: that threshold does what it does today, however strong feedback."""
    alone = Applicants(("a",), people.cuts, people.tops, people.counts[:1], people.columns, people.rows)
    rates = look(alone, Aims()).acceptance.value
    for cut, balance in enumerate(rates):
        pools = environment(alone, Response(strength, float(balance)))
        assert pools.steady_state(np.full((1, 1), 2.0 * cut))[0, 0] == pytest.approx(0.5, abs=1e-9)


def test_the_paper_s_pools_are_strength_08_about_one_half() -> None:
    feedback = Response(0.8, 0.5)
    assert feedback.floor == pytest.approx(0.1)
    assert feedback.floor + feedback.strength == pytest.approx(0.9)
    dataset = fg.load_task("compas")
    pools = dataset.environment
    assert isinstance(pools, fg.environments.ScorePools)
    table = pa.table({"s": np.asarray(pools.scores), "y": np.asarray(pools.labels), "g": np.asarray(pools.groups)})
    people = from_frame(table, score="s", label="y", group="g")
    ours = environment(people, feedback)
    theirs = fg.environments.ScorePools(pools.scores, pools.labels, pools.groups, floor=0.1, ceiling=0.9)
    for place in (5, 200, 400):
        if place < len(people.cuts):
            here = ours.steady_state(np.full((1, 2), 2.0 * place))
            there = theirs.steady_state(np.full((1, 2), people.cuts[place]))
            np.testing.assert_allclose(here, there, atol=0.01)  # but for people tied at the median


def test_the_best_threshold_is_the_best_of_all_and_a_long_loop_arrives_there() -> None:
    people = from_frame(SERVICE.draw(500, np.random.default_rng(0)), score="score", label="label", group="group")
    feedback = Response(0.6, 0.5)
    found = settle(people, SERVICE.aims.problem, feedback)
    fine = (found.sweep.residuals <= 1e-12).all(axis=0)
    assert found.best.reward == found.sweep.reward[fine].max()
    pools = environment(people, feedback)
    cut = int(np.searchsorted(people.cuts, found.best.threshold))
    state, at = pools.start(1), np.full((1, 2), 2.0 * cut)
    for _ in range(1000):
        state = pools.expected_update(state, at)
    assert Counts(pools.probabilities(state, at)).gap[0] == pytest.approx(found.best.gap, abs=1e-9)


def test_feedback_moves_the_gap_and_says_until_when_a_threshold_stands() -> None:
    people = from_frame(SERVICE.draw(2000, np.random.default_rng(1)), score="score", label="label", group="group")
    cut = int(np.searchsorted(people.cuts, 0.1))
    until = stands_until(people, SERVICE.aims.problem, cut, 0.5)
    assert until is not None
    assert 0.0 < until < 0.9
    for strength, holds in ((until, True), (until + 0.011, False)):
        residuals = settle(people, SERVICE.aims.problem, Response(strength, 0.5)).sweep.residuals[:, cut]
        assert bool((residuals <= 1e-12).all()) is holds
    assert (
        stands_until(people, Aims(constraints=[fg.DemographicParity(0.0), fg.ServiceRate(0.3, 0.7)]).problem, cut, 0.5)
        is None
    )
    assert stands_until(people, Aims().problem, cut, 0.5) == 1.0


def test_people_are_in_balance_with_the_threshold_in_use() -> None:
    table = pa.table({"s": [4, 3, 2, 1], "y": [0, 1, 0, 1], "g": [0, 0, 1, 1]})
    up = from_frame(table, score="s", label="y", group="g")
    down = from_frame(table, score="s", label="y", group="g", descending=True)
    assert balance_of(up, Aims(current=3.0), 0) == 0.5
    assert balance_of(down, Aims(current=3.0), 0) == 0.75
    assert balance_of(up, Aims(current=9.0), 0) == 0.0
    assert balance_of(up, Aims(), 1) == 0.75
