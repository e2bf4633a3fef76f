"""Where thresholds lead: the table itself without feedback, exact steady states with it, and what strength means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.steady import Response, environment, reference_rates, settle, stands_until, steady_cells
from fairgate.advice.today import look
from fairgate.counts import Counts
from fairgate.people import Applicants, Columns, from_frame
from fairgate.tasks import Task
from fairgate.thresholds import exact_sweep
from tests.advice.people import PARITY, SERVICE

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


@given(applicants(), st.floats(-0.98, 0.98), st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_steady_states_are_those_of_the_environment(people: Applicants, strength: float, balance: list[float]) -> None:
    """Of either sign, and with a reference of its own in every group."""
    feedback = Response(strength, np.array(balance[: len(people.groups)]))
    found = settle(people, AIMS.problem, feedback)
    task = Task(environment(people, feedback), AIMS.problem, 2.0 * np.arange(len(people.cuts)))
    expected = exact_sweep(task, task.thresholds)
    np.testing.assert_allclose(found.sweep.reward, expected.reward, atol=1e-9)
    np.testing.assert_allclose(found.sweep.acceptance, expected.acceptance, atol=1e-9)
    np.testing.assert_allclose(found.sweep.residuals, expected.residuals, atol=1e-9)
    np.testing.assert_allclose(np.ptp(found.counts.rates, axis=-1), expected.gap, atol=1e-9)


@settings(max_examples=20)
@given(applicants(), st.floats(-0.8, 0.8), st.floats(0.0, 1.0))
def test_steady_states_are_where_the_environment_goes(people: Applicants, strength: float, balance: float) -> None:
    """Also where a weight ends at 0 or 1, and from either end: the fixed point is unique."""
    feedback = Response(strength, balance)
    pools, cells = environment(people, feedback), steady_cells(people.filled, feedback)
    at = np.repeat(2.0 * np.arange(len(people.cuts))[:, None], len(people.groups), axis=1)
    for start in (0.0, 1.0):
        state = np.full(at.shape, start)
        for _ in range(700):
            state = pools.expected_update(state, at)
        np.testing.assert_allclose(pools.probabilities(state, at), cells, atol=1e-6)


@given(applicants(), st.floats(-0.95, 0.95))
def test_a_group_accepted_at_the_present_rate_stays_as_it_is(people: Applicants, strength: float) -> None:
    """One group alone, in balance with a threshold: that threshold does what it does today, however strong feedback."""
    alone = Applicants(("a",), people.cuts, people.tops, people.counts[:1], people.columns, people.rows)
    rates = look(alone, Aims()).acceptance.value
    for cut, balance in enumerate(rates):
        pools = environment(alone, Response(strength, float(balance)))
        assert pools.steady_state(np.full((1, 1), 2.0 * cut))[0, 0] == pytest.approx(0.5, abs=1e-9)


@given(applicants(), st.floats(-0.99, 0.99))
def test_keeping_the_threshold_in_use_leaves_every_group_as_it_is(people: Applicants, strength: float) -> None:
    for cut, threshold in enumerate(people.cuts):
        reference = reference_rates(people, Aims(current=float(threshold)))
        before = settle(people, AIMS.problem, Response(0.0, reference.rates))
        after = settle(people, AIMS.problem, Response(strength, reference.rates))
        np.testing.assert_allclose(after.counts.cells[cut], before.counts.cells[cut], atol=1e-12)
        assert after.sweep.gap[cut] == pytest.approx(before.sweep.gap[cut], abs=1e-12)


def test_with_one_reference_for_all_groups_the_same_threshold_would_move_them_apart() -> None:
    """What happens if groups that are accepted at 60% and 78% are supposed to be used to one overall rate."""
    people = from_frame(PARITY.draw(4000, np.random.default_rng(5)), score="score", label="label", group="group")
    cut = int(np.searchsorted(people.cuts, -0.3))
    own = reference_rates(people, Aims(current=-0.3))
    before = settle(people, AIMS.problem, Response(0.0, 0.0)).sweep.gap[cut]
    kept = settle(people, AIMS.problem, Response(0.8, own.rates)).sweep.gap[cut]
    moved = settle(people, AIMS.problem, Response(0.8, float(own.rates.mean()))).sweep.gap[cut]
    assert kept == pytest.approx(before, abs=1e-12)
    assert moved > before + 0.1


@pytest.mark.parametrize(("strength", "sign"), [(0.5, 1.0), (-0.5, -1.0)])
def test_the_sign_says_whether_accepting_more_draws_better_or_worse_people(strength: float, sign: float) -> None:
    people = from_frame(SERVICE.draw(2000, np.random.default_rng(2)), score="score", label="label", group="group")
    lower = int(np.searchsorted(people.cuts, -0.5))
    reference = reference_rates(people, Aims(current=0.3))
    rates = settle(people, AIMS.problem, Response(0.0, 0.0)).counts.rates[lower]
    moved = settle(people, AIMS.problem, Response(strength, reference.rates)).counts.rates[lower]
    assert (sign * (moved - rates) > 0.01).all()


def test_the_paper_s_pools_are_strength_08_about_one_half() -> None:
    feedback = Response(0.8, 0.5)
    assert feedback.floor == pytest.approx([0.1])
    assert feedback.floor + feedback.strength == pytest.approx([0.9])
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


def test_each_group_is_in_balance_with_its_own_acceptance() -> None:
    table = pa.table({"s": [4, 3, 2, 1], "y": [0, 1, 0, 1], "g": [0, 0, 1, 1]})
    up = from_frame(table, score="s", label="y", group="g")
    down = from_frame(table, score="s", label="y", group="g", descending=True)
    assert reference_rates(up, Aims(current=3.0)).rates.tolist() == [1.0, 0.0]
    assert reference_rates(down, Aims(current=3.0)).rates.tolist() == [0.5, 1.0]
    assert reference_rates(up, Aims(current=9.0)).rates.tolist() == [0.0, 0.0]
    assert reference_rates(up, Aims(current=2.0)).where == "the threshold in use"
    best = reference_rates(up, Aims())
    assert best.where == "today's best threshold"
    assert (
        best.rates.tolist()
        == look(up, Aims()).rates.value[:, settle(up, Aims().problem, Response(0.0, 0.0)).cut].tolist()
    )
    decisions = np.array([[[0, 0], [0, 0], [1, 0], [0, 1]], [[0, 1], [1, 0], [0, 0], [0, 0]]])
    past = reference_rates(replace(up, decisions=decisions), Aims(current=9.0))
    assert past.where == "the decision column"  # whatever the threshold
    assert past.rates.tolist() == [0.5, 0.5]
    assert past.text == (
        "A group stays as it is at its share accepted in the past, by the decision column (g = 0: 50.0%, g = 1: "
        "50.0%). A threshold that accepts other shares than past decisions did moves the groups."
    )
