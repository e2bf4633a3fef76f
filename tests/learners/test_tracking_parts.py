"""Parts of Tracking, each against a plain reading of what it says: loops over replicates, groups and thresholds."""

from __future__ import annotations

import dataclasses
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import fairgate as fg
from fairgate.constraints import (
    Constraint,
    DemographicParity,
    EqualisedOdds,
    EqualOpportunity,
    GroupService,
    OutcomeImprovement,
    ServiceRate,
)
from fairgate.learners.shapes import filled
from fairgate.learners.tracking import answers, label_curve, people_now, restlessness, search
from fairgate.learners.tracking.answers import SPEEDS, Answers, Foresight
from fairgate.learners.tracking.label_curve import LabelCurve, Labels, newton
from fairgate.learners.tracking.outlook import Outlook
from fairgate.learners.tracking.people_now import Now, PeopleNow
from fairgate.learners.tracking.restlessness import Restlessness
from fairgate.learners.tracking.search import (
    best_lottery,
    best_threshold,
    cheapest_probe,
    glance,
    look,
    plain,
    upper_bound,
)
from fairgate.settings import Array

SIZES = {"R": 2, "G": 2, "K": 4, "W": len(people_now.WINDOWS), "L": len(label_curve.WINDOWS), "P": len(SPEEDS)}
EVERY = np.arange(2)


def stretches(rng: np.random.Generator, count: int) -> list[tuple[Array, Array]]:
    """Return rounds and people by score bin, (2,) and (2, 2, 5); the second group of the first misses some."""
    found = []
    for number in range(count):
        scores = rng.integers(0, 30, size=(2, 2, 5)).astype(float)
        if number % 3 == 0:
            scores[0, 1] = 0.0
        found.append((rng.integers(1, 11, size=2).astype(float), scores))
    return found


def above_of(scores: Array) -> Array:
    return np.array([[[scores[r, g, k + 1 :].sum() for k in range(4)] for g in range(2)] for r in range(2)])


def test_windows_and_their_errors_of_prediction_are_as_a_loop_reckons_them() -> None:
    people, replies = filled(PeopleNow, SIZES), filled(Answers, SIZES)
    taken: list[tuple[Array, Array]] = []
    error = np.zeros((SIZES["W"], 2))
    chance = np.zeros((SIZES["W"], 2))
    judged = np.zeros(2)
    for rounds, scores in stretches(np.random.default_rng(1), 8):
        above = above_of(scores)
        for r in range(2):
            fading = (1.0 - 1.0 / people_now.MEMORY) ** rounds[r]
            error[:, r] *= fading
            chance[:, r] *= fading
            judged[r] *= fading
            for w, length in enumerate(people_now.WINDOWS):
                for g in range(2):
                    count = scores[r, g].sum()
                    mass, worth, share = window_of(taken, r, g, length)
                    quickest = window_of(taken, r, g, people_now.WINDOWS[0])
                    if not count or not quickest[0]:
                        continue
                    for k in range(4):
                        noise = max(quickest[2][k] * (1 - quickest[2][k]), 0.5 / max(quickest[0], 1.0))
                        error[w, r] += count * (above[r, g, k] / count - share[k]) ** 2 / noise / 4
                    chance[w, r] += 1.0 + count / max(worth, 1.0)
                    judged[r] += count if w == 0 else 0.0
        people.take_in(EVERY, rounds, above, scores.sum(axis=2), replies)
        taken.append((rounds, scores))
    np.testing.assert_allclose(people.error, error)
    np.testing.assert_allclose(people.usual, chance)
    np.testing.assert_allclose(people.judged, judged)
    np.testing.assert_allclose(people.answered, people.error)  # nothing has been fitted, so that answers say nothing
    now = people.now(EVERY, replies, np.full(2, 40))
    for r in range(2):
        best = int(error[:, r].argmin())
        assert people.window(EVERY, np.zeros(2, dtype=bool))[r] == best
        masses = []
        for g in range(2):
            mass, worth, share = window_of(taken, r, g, people_now.WINDOWS[best])
            masses.append(mass)
            assert now.variance[r, g] == pytest.approx(1.0 / max(worth, 1.0))
            for k in range(4):
                even = 1.0 - (k + 1) / 5
                smoothed = (mass * share[k] + people_now.PRIOR * even) / (mass + people_now.PRIOR)
                assert now.above[r, g, k + 1] == pytest.approx(smoothed)
        np.testing.assert_allclose(now.shares[r], np.array(masses) / sum(masses))
        beyond = error[best, r] - chance[best, r] - np.sqrt(2 * chance[best, r])
        assert now.moving[r] == pytest.approx(max(beyond, 0.0) / judged[r])
    assert (now.above[..., 0] == 1.0).all()
    assert (now.above[..., -1] == 0.0).all()
    assert (np.diff(now.above) <= 0.0).all()


def window_of(taken: list[tuple[Array, Array]], r: int, g: int, length: float) -> tuple[float, float, Array]:
    """Return the people of a window, how many it is worth, and their shares above each threshold."""
    mass = squared = 0.0
    above = np.zeros(4)
    for rounds, scores in taken:
        kept = (1.0 - 1.0 / length) ** rounds[r]
        mass = mass * kept + scores[r, g].sum()
        squared = squared * kept**2 + scores[r, g].sum()
        above = above * kept + above_of(scores)[r, g]
    return mass, mass**2 / max(squared, 1e-9), above / max(mass, 1e-9)


def test_a_short_window_is_used_while_people_change_and_a_long_one_while_they_do_not() -> None:
    rng = np.random.default_rng(3)
    people, replies = filled(PeopleNow, SIZES), filled(Answers, SIZES)
    for number in range(300):
        later = 0.5 + 0.4 * np.sin(number / 5.0)
        scores = np.stack([rng.multinomial(200, still(share), size=2) for share in (0.5, later)]).astype(float)
        people.take_in(EVERY, np.ones(2), above_of(scores), scores.sum(axis=2), replies)
    calm, changing = people_now.WINDOWS[people.window(EVERY, np.zeros(2, dtype=bool))]
    assert calm >= 200.0
    assert changing <= 20.0
    now = people.now(EVERY, replies, np.full(2, 300))
    assert now.moving[0] < 0.001 < now.moving[1]


def still(share: float) -> list[float]:
    """Return probabilities of five score bins, of which the upper two hold a share."""
    return [(1 - share) / 3] * 3 + [share / 2] * 2


def test_answers_are_fitted_as_least_squares_with_a_ridge_fit_them() -> None:
    """One row per stretch and group, with the mean regressors of its people, weighted by how many these are."""
    rng = np.random.default_rng(5)
    replies, people = filled(Answers, SIZES), filled(PeopleNow, SIZES)
    replies.average[:] = 0.5
    average = np.full((len(SPEEDS), 2, 2), 0.5)
    design: dict[tuple[int, int, int], list[Any]] = {key: [] for key in product(range(len(SPEEDS)), (0, 1), (0, 1))}
    response: dict[tuple[int, int], list[Any]] = {key: [] for key in product((0, 1), (0, 1))}
    for stretch in range(12):
        sums = np.zeros((len(SPEEDS), 2, 2, 4))
        scores = np.zeros((2, 2, 5))
        for within in range(3):
            age = 3 * stretch + within
            batch = rng.integers(0, 20, size=(2, 2, 5)).astype(float)
            batch[1, 0] *= stretch % 4 != 1  # a group that does not come
            accepted = np.floor(batch.sum(axis=2) * rng.random((2, 2)))
            replies.take_in(batch.sum(axis=2), accepted, np.full(2, age))
            for p, r, g in design:
                count, away = batch[r, g].sum(), average[p, r, g] - 0.5
                sums[p, r, g] += count * np.array([1.0, away, away**2, (1 - SPEEDS[p]) ** age])
                if count:
                    average[p, r, g] += SPEEDS[p] * (accepted[r, g] / count - average[p, r, g])
            scores += batch
        for p, r, g in design:
            count = max(scores[r, g].sum(), 1.0)
            design[p, r, g].append(np.sqrt(count) * sums[p, r, g] / count)
        for r, g in response:
            response[r, g].append(above_of(scores)[r, g] / np.sqrt(max(scores[r, g].sum(), 1.0)))
        people.take_in(EVERY, np.full(2, 3.0), above_of(scores), scores.sum(axis=2), replies)
    np.testing.assert_allclose(replies.average, average)
    replies.fit(EVERY)
    for r in range(2):
        explained = np.zeros(len(SPEEDS))
        fits = {}
        for p, g in product(range(len(SPEEDS)), (0, 1)):
            rows = np.concatenate((np.array(design[p, r, g]), np.sqrt(answers.RIDGE)))
            goal = np.concatenate((np.array(response[r, g]), np.zeros((4, 4))))
            fits[p, g] = np.linalg.lstsq(rows, goal, rcond=None)[0]
            explained[p] += (fits[p, g] * (rows.T @ goal)).sum()
        best = int(explained.argmax())
        assert replies.speed[r] == best
        for g in range(2):
            np.testing.assert_allclose(replies.terms[r, g], fits[best, g], atol=1e-6)


def test_answers_prove_themselves_where_people_answer_and_only_there() -> None:
    """Scores follow acceptance, or a coin, for 300 rounds in which acceptance goes up and down."""
    rng = np.random.default_rng(6)
    replies, people = filled(Answers, SIZES), filled(PeopleNow, SIZES)
    replies.average[:] = 0.5
    slow = 0.5
    for age in range(300):
        rate = 0.8 if (age // 40) % 2 else 0.2
        scores = np.stack([rng.multinomial(300, still(share), size=2) for share in (0.2 + 0.6 * slow, 0.5)]).astype(
            float
        )
        slow += 0.1 * (rate - slow)
        replies.take_in(scores.sum(axis=2), rate * scores.sum(axis=2), np.full(2, age))
        people.take_in(EVERY, np.ones(2), above_of(scores), scores.sum(axis=2), replies)
        if age % 10 == 9:
            replies.fit(EVERY)
    assert replies.proved(EVERY).tolist() == [True, False]
    assert 0.04 <= SPEEDS[replies.speed[0]] <= 0.25
    now = people.now(EVERY, replies, np.full(2, 300))
    assert isinstance(now.foresight, Foresight)
    assert now.foresight.proved.tolist() == [True, False]
    np.testing.assert_allclose(now.above[0, :, 3], 0.2 + 0.6 * slow, atol=0.05)  # the upper two bins
    uniform = np.array([[[0.0]], [[5.0]], [[0.9]]]).repeat(2, axis=1)
    outlook = Outlook.of(fg.Problem(fg.Utility(1.0)), now, np.zeros(2), labels_of(np.full((2, 2, 5), 0.5)))
    first = uniform[:2].astype(np.int64)[:, :, None]
    mixed = outlook.mix(uniform)
    led = now.foresight.leads_to(first, uniform[2][:, None], mixed.rates, mixed.error, 0.0 * mixed.rates)
    np.testing.assert_allclose(led, 0.9)  # a uniform lottery leads to its own acceptance
    threshold = plain(np.full((2, 1), 3.0), 6)
    first = threshold[:2].astype(np.int64)[:, :, None]
    mixed = outlook.mix(threshold)
    led = now.foresight.leads_to(
        first, threshold[2][:, None], mixed.rates, mixed.error, mixed.rates * (1 - mixed.rates)
    )
    fixed = 0.5  # a = 0.2 + 0.6 a
    assert np.abs(led[0] - fixed).max() < np.abs(mixed.rates[0] - fixed).max() + 1e-9
    assert np.abs(led[0] - fixed).max() < 0.1


@given(st.integers(0, 200), st.sampled_from([0.5, 5.0]))
def test_newtons_steps_end_where_the_penalised_likelihood_is_highest(seed: int, precision: float) -> None:
    rng = np.random.default_rng(seed)
    at = LabelCurve.positions(6)
    labels = rng.integers(0, 40, size=(6, 2)).astype(float)
    near = np.array([0.3, 1.0])

    def loss(curve: Array) -> float:
        score = curve[0] + curve[1] * at
        fit = labels[:, 1] * np.logaddexp(0.0, -score) + labels[:, 0] * np.logaddexp(0.0, score)
        return float(fit.sum() + 0.5 * precision * ((curve - near) ** 2).sum())

    curve = np.array([0.0, 2.0])
    for _ in range(12):
        curve, covariance = newton(curve, labels, at, near, precision)
    best = minimize(loss, near, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(curve, best.x, atol=1e-4)
    share = 1.0 / (1.0 + np.exp(-(curve[0] + curve[1] * at)))
    weight = labels.sum(axis=1) * share * (1 - share)
    terms = np.stack((np.ones(6), at), axis=1)
    np.testing.assert_allclose(covariance, np.linalg.inv((terms.T * weight) @ terms + precision * np.eye(2)), rtol=1e-4)


def test_labels_are_remembered_for_the_window_that_predicts_them_best() -> None:
    """Errors, discounted sums and the shares drawn to the curve, of a loop; and a change of who repays shortens it."""
    curve = filled(LabelCurve, SIZES)
    curve.common[:] = curve.curves[:] = label_curve.TYPICAL
    rng = np.random.default_rng(8)
    sums, error = np.zeros((SIZES["L"], 2, 2, 5, 2)), np.zeros((SIZES["L"], 2))
    at = LabelCurve.positions(5)
    for number in range(40):
        good = np.array([0.7, 0.7 if number < 25 else 0.1])
        drawn = np.stack([rng.multinomial(100, [(1 - p) / 5] * 5 + [p / 5] * 5, size=2) for p in good])
        labels = drawn.reshape(2, 2, 2, 5).swapaxes(2, 3).astype(float)
        rounds = np.array([8.0, 5.0])
        for w, r in product(range(SIZES["L"]), (0, 1)):
            error[w, r] *= (1 - 1 / people_now.MEMORY) ** rounds[r]
            for g, b in product((0, 1), range(5)):
                usual = 1 / (1 + np.exp(-(curve.curves[r, g, 0] + curve.curves[r, g, 1] * at[b])))
                bad, fine = sums[w, r, g, b]
                share = (fine + label_curve.STRENGTH * usual) / (bad + fine + label_curve.STRENGTH)
                error[w, r] += labels[r, g, b, 1] * (1 - share) ** 2 + labels[r, g, b, 0] * share**2
            sums[w, r] = sums[w, r] * (1 - 1 / label_curve.WINDOWS[w]) ** rounds[r] + labels[r]
        curve.take_in(EVERY, rounds, labels)
        found = curve.now(EVERY, benefit=0.3).read()
    np.testing.assert_allclose(curve.labels, sums)
    np.testing.assert_allclose(curve.error, error)
    assert error[:, 0].argmin() > error[:, 1].argmin() == 0
    np.testing.assert_allclose(found.share[0], 0.7, atol=0.08)
    assert (found.share[1] < 0.35).all()  # what came before the change is nearly forgotten
    assert (found.hoped >= found.share).all()
    assert (found.variance > 0.0).all()


def test_a_score_without_labels_has_the_curves_share_and_a_larger_error() -> None:
    curve = filled(LabelCurve, SIZES)
    curve.common[:] = curve.curves[:] = label_curve.TYPICAL
    nothing = curve.now(EVERY, benefit=0.3).read()
    usual = label_curve.sigmoid(label_curve.TYPICAL, LabelCurve.positions(5))
    np.testing.assert_allclose(nothing.share, np.broadcast_to(usual, (2, 2, 5)))
    labels = np.zeros((2, 2, 5, 2))
    labels[:, 0, 3:] = [20.0, 180.0]  # of one group, and high scores only
    curve.take_in(EVERY, np.ones(2), labels)
    for _ in range(5):
        found = curve.now(EVERY, benefit=0.3).read()
    np.testing.assert_allclose(found.share[:, 0, 3:], 0.9, atol=0.03)
    assert (found.variance[:, 0, 0] > 4 * found.variance[:, 0, 4]).all()
    assert (found.variance[:, 1] > found.variance[:, 0]).all()  # the group without labels
    assert (found.share[:, 1, 3] > nothing.share[:, 1, 3]).all()  # but it is thought to be like the other


def test_restlessness_is_what_chance_does_not_explain() -> None:
    rng = np.random.default_rng(9)
    part = filled(Restlessness, SIZES)
    part.expected[:] = [[0.5, 0.0], [0.5, 0.0]]  # nothing is known of the second group
    part.rounds[:] = restlessness.PAUSE
    squared, usual, seen = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(200):
        people = np.array([[100.0, 50.0], [100.0, 50.0]])
        rate = np.stack((np.full(2, 0.5), np.clip(0.5 + 0.2 * rng.normal(size=2), 0.0, 1.0)))
        accepted = rng.binomial(people.astype(int), rate).astype(float)
        part.take_in(people, accepted)
        kept = 1.0 - 1.0 / people_now.MEMORY
        for r in range(2):
            squared[r] = squared[r] * kept + (accepted[r, 0] - 50) ** 2 / 25
            usual[r] = usual[r] * kept + 1
            seen[r] = seen[r] * kept + 100
    beyond = np.maximum(squared - usual - np.sqrt(2 * usual), 0.0) / seen
    np.testing.assert_allclose(part.now(EVERY), beyond)
    assert beyond[0] < 0.003
    assert beyond[1] == pytest.approx(0.2**2 / 0.25, rel=0.4)


def test_what_people_do_when_they_are_offered_something_new_is_not_restlessness() -> None:
    part = filled(Restlessness, SIZES)
    part.rounds[:] = restlessness.PAUSE
    rates = np.full((2, 2), 0.5)
    part.expect(EVERY, rates, before=rates - np.array([[0.0, 0.1], [0.0, 0.01]]))  # far, and near
    people, accepted = np.full((2, 2), 100.0), np.full((2, 2), 80.0)
    for _ in range(restlessness.PAUSE):
        part.take_in(people, accepted)
        assert (part.now(EVERY) > 0.0).tolist() == [False, True]
    part.take_in(people, accepted)
    assert (part.now(EVERY) > 0.0).all()


def test_foresight_that_earns_less_than_following_must_prove_itself_anew() -> None:
    replies = filled(Answers, SIZES)
    replies.speed[:] = SPEEDS.argmax()
    for _ in range(30):  # people are followed
        replies.judge(EVERY, np.array([0.2, 0.2]), np.full(2, 10.0))
    replies.evidence[:] = 1.1 * answers.PROOF
    trial = answers.TRIAL + 3.0 / SPEEDS.max()
    for number in range(60):  # and foreseen, to less and to more
        assert replies.proved(EVERY).tolist() == [number < trial, True]
        replies.judge(EVERY, np.array([0.1, 0.3]), np.ones(2))
    assert replies.refuted.tolist() == [replies.evidence[0], 0.0]
    replies.evidence *= 1.9
    assert replies.proved(EVERY).tolist() == [False, True]
    replies.evidence *= 1.1
    assert replies.proved(EVERY).tolist() == [True, True]
    replies.judge(EVERY, np.array([0.1, 0.3]), np.full(2, 10.0))
    assert replies.proved(EVERY).all()  # it is tried anew


def labels_of(share: Array, variance: float = 0.0, hope: float = 0.0) -> Labels:
    return Labels(share, np.clip(share + hope, 0.0, 1.0), np.full(share.shape, variance))


def outlook_of(
    constraints: list[Constraint],
    seed: int = 0,
    variance: float = 0.002,
    doubt: float = 0.003,
    thresholds: int = 4,
    hope: float = 0.01,
) -> Outlook:
    """Return an outlook of two replicates and two groups, of random people and labels."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.random((2, 2, thresholds)))[..., ::-1]
    above = np.concatenate((np.ones((2, 2, 1)), inner, np.zeros((2, 2, 1))), axis=-1)
    share = np.sort(rng.random((2, 2, thresholds + 1)))
    shares = np.array([[0.3, 0.7], [0.5, 0.5]])
    now = Now(above, shares, np.full((2, 2), variance), np.zeros(2), None)
    return Outlook.of(fg.Problem(fg.Utility(1.5), constraints), now, np.zeros(2), labels_of(share, doubt, hope))


def some_lotteries(options: int = 6) -> Array:
    """Return lotteries (3, 2, C): of all pairs of options, with several weights."""
    found = [(low, high, w) for low, high in product(range(options), repeat=2) if low < high for w in (0.0, 0.3, 1.0)]
    return np.array(found).T[:, None].repeat(2, axis=1)


ALL = [DemographicParity(0.1), EqualOpportunity(0.1), EqualisedOdds(0.1), ServiceRate(0.3, 0.6), GroupService(0.2, 0.8)]


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


@pytest.mark.parametrize("seed", range(6))
def test_the_best_threshold_is_that_of_a_loop(seed: int) -> None:
    outlook = outlook_of([DemographicParity(0.25), ServiceRate(0.2, 0.8)], seed, variance=0.001, thresholds=9)
    for near, reach in product((2.0, 6.0), (1, 2, 9)):
        found = best_threshold(outlook, 1.5, np.full(2, near), reach)
        for r in range(2):
            told = {place: value_of(outlook, r, (place, 10, 1.0), 1.5) for place in range(1, 10)}
            allowed = [place for place in told if abs(place - near) <= reach or told[int(near)][1] > 0]
            safe = [place for place in allowed if told[place][1] <= 0]
            best = max(safe, key=lambda place: told[place][0]) if safe else min(allowed, key=lambda p: told[p][1])
            assert found.lottery[:, r].tolist() == [best, 10.0, 1.0]
            assert found.safe[r] == bool(safe)


def value_of(outlook: Outlook, r: int, lottery: tuple[float, float, float], width: float) -> tuple[float, float]:
    """Return reward and upper bound of the largest residual of one lottery, in one replicate."""
    one = outlook.rows(np.arange(2) == r)
    mixed = one.mix(np.array(lottery, dtype=float)[:, None, None])
    reward, (residuals, error) = one.reward(mixed), one.bounds(mixed, width)
    return float(reward[0, 0]), float((residuals + error).max())


@pytest.mark.parametrize("seed", range(6))
def test_the_best_lottery_is_near_that_of_an_exhaustive_search(seed: int) -> None:
    outlook = outlook_of([DemographicParity(0.1), ServiceRate(0.2, 0.8)], seed, variance=0.001, thresholds=5)
    tried = [(low, high, w) for low in range(7) for high in range(low + 1, 7) for w in np.linspace(0.0, 1.0, 41)]
    every = np.array(tried).T[:, None].repeat(2, axis=1)
    reward, upper, *_ = look(outlook, every, 1.5)
    found = best_lottery(outlook, 1.5, None, np.ones(2))
    for r in range(2):
        fine = upper[:, r] <= -search.ROOM
        mine, bound = value_of(outlook, r, tuple(found.lottery[:, r].tolist()), 1.5)
        assert found.safe[r] == fine.any()
        assert not found.infeasible[r]
        assert bound <= -search.ROOM + 1e-9
        assert mine >= reward[fine, r].max() - 0.01
        low, high, weight = found.lottery[:, r]
        assert 0 <= low < high <= 6
        assert 0.0 <= weight <= 1.0
        stay = best_lottery(outlook, 1.5, found.lottery, found.ratio)
        again, bound = value_of(outlook, r, tuple(stay.lottery[:, r].tolist()), 1.5)
        assert again >= mine - 0.006  # what is in play is kept, or bettered
        assert bound <= -search.ROOM + 1e-9


def test_the_cheapest_probe_accepts_anybody_at_the_least_price() -> None:
    outlook = outlook_of([EqualOpportunity(0.1), ServiceRate(0.2, 0.8)], variance=0.001, thresholds=5)
    played = best_lottery(outlook, 1.5, None, np.ones(2)).lottery
    probe, price = cheapest_probe(outlook, 1.5, played)
    for r in range(2):
        had = value_of(outlook, r, tuple(played[:, r].tolist()), 1.5)[0]
        asked = []
        for high, weight in product(range(1, 7), search.PROBES):
            reward, upper = value_of(outlook, r, (0, high, weight), 1.5)
            if upper <= -search.ROOM:
                asked.append((max(had - reward, 1e-6) / weight, high, weight))
        each, high, weight = min(asked)
        np.testing.assert_allclose(probe[:, r], [0.0, high, weight])
        assert price[r] == pytest.approx(each * weight)
    hopeless = outlook_of([ServiceRate(0.9, 1.0), GroupService(0.0, 0.2)])
    assert np.isinf(cheapest_probe(hopeless, 1.5, played)[1]).all()


def test_where_nothing_can_be_feasible_the_search_says_so_and_violates_least() -> None:
    outlook = outlook_of([ServiceRate(0.9, 1.0), GroupService(0.0, 0.2)], variance=1e-4)
    found = best_lottery(outlook, 1.5, None, np.ones(2))
    assert found.infeasible.all()
    assert not found.safe.any()
    threshold = best_threshold(outlook, 1.5, np.full(2, 2.0), 9)
    assert threshold.infeasible.all()
    assert not threshold.safe.any()


def test_a_glance_sees_what_a_look_does_where_the_ratio_is_known() -> None:
    outlook = outlook_of([DemographicParity(0.1), ServiceRate(0.3, 0.6)])
    lotteries = some_lotteries()
    reward, upper, _, ratio = look(outlook, lotteries, 1.5)
    for c in range(lotteries.shape[2]):
        quick = glance(outlook, lotteries[..., c : c + 1], 1.5, ratio[c])
        np.testing.assert_allclose(quick[0][0], reward[c])
        np.testing.assert_allclose(quick[1][0], upper[c], atol=1e-9)


def test_pairs_with_several_weights_are_looked_at_as_one_by_one() -> None:
    """Whatever the constraints need; and one lottery each has the upper bound that a look tells."""
    rng = np.random.default_rng(3)
    low = rng.integers(0, 4, size=(2, 1, 7))
    pairs = (low, low + rng.integers(1, 3, size=low.shape), rng.random((2, 4, 7)))
    together = np.stack(np.broadcast_arrays(*pairs))
    for constraints in (ALL, ALL[3:], ALL[:1]):
        outlook = outlook_of(constraints)
        found = look(outlook, together, 1.5)
        for one, other in zip(found, look(outlook, together.reshape(3, 2, -1), 1.5), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(upper_bound(outlook, together[:, :, 0, 0], 1.5), found[1][0])


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


def test_how_many_lotteries_are_looked_at_together_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    outlook = outlook_of(ALL)
    whole = look(outlook, some_lotteries(), 1.5)
    monkeypatch.setattr("fairgate.learners.tracking.search.CACHE", 1)
    for one, other in zip(look(outlook, some_lotteries(), 1.5), whole, strict=True):
        np.testing.assert_array_equal(one, other)


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
