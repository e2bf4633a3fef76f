"""The outlook: lotteries and their margins against a loop over groups and score bins."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

import fairgate as fg
from fairgate.constraints import (
    Constraint,
    DemographicParity,
    EqualisedOdds,
    EqualOpportunity,
    OutcomeImprovement,
    ServiceRate,
)
from fairgate.learners.tracking.outlook import Outlook
from fairgate.learners.tracking.search import (
    look,
    plain,
)
from fairgate.settings import Array
from tests.learners.tracking.parts import ALL, outlook_of, some_lotteries


def cells_of(outlook: Outlook, r: int, lottery: Array) -> Array:
    """Return P(group, label, decision), one person and bin after the other, (G, 2, 2)."""
    low, high, weight = int(lottery[0]), int(lottery[1]), lottery[2]
    cells = np.zeros((2, 2, 2))
    for g, b in product(range(2), range(outlook.above.shape[-1] - 1)):
        mass = outlook.above[r, g, b] - outlook.above[r, g, b + 1]
        good = outlook.positives[r, g, b] - outlook.positives[r, g, b + 1]
        accepted = 1.0 if b >= high else weight if b >= low else 0.0
        for label, part in ((1, good), (0, mass - good)):
            cells[g, label, 1] += outlook.shares[r, g] * part * accepted
            cells[g, label, 0] += outlook.shares[r, g] * part * (1.0 - accepted)
    return cells


def test_lotteries_are_valued_as_if_every_score_bin_were_gone_through() -> None:
    outlook = outlook_of(ALL)
    lotteries = some_lotteries()
    mixed = outlook.mix(lotteries)
    residuals = outlook.residuals(mixed)
    sober = outlook_of(ALL, hope=0.0)
    reward = sober.reward(sober.mix(lotteries))
    for r, c in product(range(2), range(lotteries.shape[2])):
        cells = cells_of(outlook, r, lotteries[:, r, c])
        found = outlook.problem.assess(cells[None])
        assert reward[c, r] == pytest.approx(found.reward[0])
        np.testing.assert_allclose(residuals[:, c, r], found.residuals[:, 0], atol=1e-12)
        np.testing.assert_allclose(mixed.rates[r, :, c], cells[:, :, 1].sum(axis=1) / outlook.shares[r])
        np.testing.assert_allclose(mixed.positives[r, :, c], cells[:, 1, 1] / outlook.shares[r])
        np.testing.assert_allclose(mixed.missed[r, :, c], cells[:, 1, 0] / outlook.shares[r], atol=1e-12)
    hopeful = outlook.reward(mixed)
    assert (hopeful >= reward - 1e-12).all()
    assert (hopeful > reward).any()


def test_errors_of_rates_are_those_of_a_mean_over_so_many_people() -> None:
    """Of n people drawn from the scores, the standard deviation of the mean probability of acceptance."""
    outlook = outlook_of([DemographicParity(0.1)], variance=1 / 400)
    rng = np.random.default_rng(2)
    for lottery in ((1.0, 5.0, 1.0), (0.0, 2.0, 0.4), (1.0, 3.0, 0.7), (0.0, 5.0, 0.3)):
        mixed = outlook.mix(np.array(lottery)[:, None, None].repeat(2, axis=1))
        for g in range(2):
            mass = outlook.above[0, g, :-1] - outlook.above[0, g, 1:]
            places = np.arange(5)
            accepted = np.where(places >= lottery[1], 1.0, np.where(places >= lottery[0], lottery[2], 0.0))
            means = (rng.multinomial(400, mass, size=20_000) * accepted).sum(axis=1) / 400
            assert mixed.error[0, g, 0] == pytest.approx(means.std(), rel=0.05, abs=1e-9)


@pytest.mark.parametrize("constraint", ALL[:3], ids=str)
def test_a_uniform_lottery_treats_groups_alike_for_certain(constraint: Constraint) -> None:
    """Whoever comes and however they do: gaps of acceptance are 0 in all, among the good and among the bad."""
    outlook = outlook_of([constraint], variance=0.1, doubt=0.1)
    for chance in (0.1, 0.5, 0.9):
        uniform = np.array([0.0, 5.0, chance])[:, None, None].repeat(2, axis=1)
        residuals, error = outlook.bounds(outlook.mix(uniform), 2.0)
        np.testing.assert_allclose(error, 0.0, atol=1e-9)
        np.testing.assert_allclose(residuals, -0.1, atol=1e-9)
    _, error = outlook.bounds(outlook.mix(plain(np.full((2, 1), 2.0), 6)), 2.0)
    assert (error > 0.01).all()


def test_how_far_errors_move_each_residual() -> None:
    """A rate's error moves a gap as much as itself, the overall rate by the group's share; groups add in squares."""
    outlook = outlook_of([DemographicParity(0.1), ServiceRate(0.3, 0.6)])
    lotteries = plain(np.array([[2.0], [3.0]]), 6)
    mixed = outlook.mix(lotteries)
    residuals, error = outlook.bounds(mixed, 1.5)
    for r in range(2):
        gap = abs(mixed.rates[r, 0, 0] - mixed.rates[r, 1, 0])
        assert gap > 1.5 * mixed.error[r].max()  # so that none turns the gap round
        moved = 1.5 * mixed.error[r, :, 0]
        assert error[0, 0, r] == pytest.approx(np.sqrt((moved**2).sum()))
        overall = np.sqrt(((outlook.shares[r] * moved) ** 2).sum())
        np.testing.assert_allclose(error[1:, 0, r], overall)
    np.testing.assert_allclose(outlook.bounds(mixed, 3.0)[1], 2.0 * error, rtol=1e-9)
    np.testing.assert_allclose(residuals, outlook.residuals(mixed))


def test_errors_of_rates_and_labels_are_moved_one_after_the_other() -> None:
    """More accepted people are as good as those accepted, and were as those rejected; squares of the effects add up."""
    outlook = outlook_of([EqualOpportunity(0.1), EqualisedOdds(0.1), OutcomeImprovement(1.0, 1.0, 0.0)])
    lottery = (1, 3, 0.4)
    mixed = outlook.mix(np.array(lottery)[:, None, None].repeat(2, axis=1))
    residuals, error = (values[:, 0] for values in outlook.bounds(mixed, 1.5))
    for r in range(2):
        squared = np.zeros(len(residuals))
        for g in range(2):
            rate, good, bad = (float(values[r, g, 0]) for values in (mixed.rates, mixed.positives, mixed.missed))
            off, surely, perhaps, hardly = (1.5 * float(values[r, g, 0]) for values in (mixed.error, *mixed.doubts))
            moves = [
                (off, off * good / rate, -off * bad / (1 - rate)),
                (0.0, surely, 0.0),
                (0.0, lottery[2] * perhaps, (1 - lottery[2]) * perhaps),
                (0.0, 0.0, hardly),
            ]
            for more, better, worse in moves:
                effects = []
                for sign in (-1.0, 1.0):
                    moved = float(np.clip(rate + sign * more, 0.0, 1.0))
                    right = float(np.clip(good + sign * better, 0.0, moved))
                    wrong = float(np.clip(bad + sign * worse, 0.0, 1.0 - moved))
                    cells = cells_of(outlook, r, np.array(lottery))
                    told = [[1.0 - moved - wrong, moved - right], [wrong, right]]
                    cells[g] = outlook.shares[r, g] * np.array(told)
                    effects.append(np.abs(outlook.problem.assess(cells[None]).residuals[:, 0] - residuals[:, r]))
                squared += np.maximum(*effects) ** 2
        np.testing.assert_allclose(error[:, r], np.sqrt(squared), rtol=1e-6)


def test_doubt_about_labels_counts_only_for_constraints_that_need_them() -> None:
    lotteries = some_lotteries()
    told: list[tuple[Constraint, bool]] = [
        (DemographicParity(0.1), False),
        (EqualOpportunity(0.1), True),
        (OutcomeImprovement(1.0, 1.0, 0.0), True),
    ]
    for constraint, needed in told:
        sure, unsure = (outlook_of([constraint], doubt=doubt) for doubt in (0.0, 0.01))
        small, large = (each.bounds(each.mix(lotteries), 1.0)[1] for each in (sure, unsure))
        assert (large >= small - 1e-9).all()
        assert (large > small + 1e-6).any() == needed


def test_replicates_of_an_outlook_can_be_taken_out() -> None:
    outlook = outlook_of(ALL)
    for which in ([True, False], [False, True]):
        row = np.array(which)
        lotteries = some_lotteries()
        whole = look(outlook, lotteries, 1.5)
        part = outlook.rows(row)
        for one, other in zip(look(part, lotteries[:, row], 1.5), whole, strict=True):
            np.testing.assert_array_equal(one, other[..., row])


def test_a_utility_of_ones_own_is_asked_about_every_lottery() -> None:
    class Own:
        """The built-in utility, plus something that is not linear."""

        def reward(self, counts: fg.Counts) -> Array:
            return fg.Utility(1.5).reward(counts) + counts.overall**2

    outlook = outlook_of(ALL[:1])
    mixed = outlook.mix(some_lotteries())
    own = dataclasses.replace(outlook, problem=fg.Problem(Own(), ALL[:1]))
    overall = np.einsum("rgc,rg->cr", mixed.rates, outlook.shares)
    np.testing.assert_allclose(own.reward(own.mix(some_lotteries())), outlook.reward(mixed) + overall**2)
