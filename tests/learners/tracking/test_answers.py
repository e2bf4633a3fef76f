"""Answers to acceptance: the fit against least squares, and when it counts as proved."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import fairgate as fg
from fairgate.learners.shapes import filled
from fairgate.learners.tracking import answers
from fairgate.learners.tracking.answers import SPEEDS, Answers, Foresight
from fairgate.learners.tracking.outlook import Mixed, Outlook
from fairgate.learners.tracking.people_now import PeopleNow
from fairgate.learners.tracking.search import (
    plain,
)
from fairgate.settings import Array
from tests.learners.tracking.parts import EVERY, SIZES, above_of, labels_of, still


def led_to(foresight: Foresight, mixed: Mixed, lotteries: Array, spread: Array) -> Array:
    """Where lotteries (3, R, C) lead, with terms that are mixed one by one: (R, G, C)."""
    sides = (each.astype(np.int64)[:, None, None] for each in lotteries[:2])
    low, high = (np.take_along_axis(foresight.terms, side, axis=-1) for side in sides)
    terms = (high + lotteries[2][:, None, None] * (low - high)).transpose(2, 1, 0, 3)
    now = (each.swapaxes(0, 1) for each in (mixed.rates, mixed.error, spread))
    return foresight.leads_to(terms, *now).swapaxes(0, 1)


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
    mixed = outlook.mix(uniform)
    led = led_to(now.foresight, mixed, uniform, 0.0 * mixed.rates)
    np.testing.assert_allclose(led, 0.9)  # a uniform lottery leads to its own acceptance
    threshold = plain(np.full((2, 1), 3.0), 6)
    mixed = outlook.mix(threshold)
    led = led_to(now.foresight, mixed, threshold, mixed.rates * (1 - mixed.rates))
    fixed = 0.5  # a = 0.2 + 0.6 a
    assert np.abs(led[0] - fixed).max() < np.abs(mixed.rates[0] - fixed).max() + 1e-9
    assert np.abs(led[0] - fixed).max() < 0.1


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


def test_evidence_counts_more_in_an_experiment_and_is_no_debt_for_ever() -> None:
    replies = filled(Answers, SIZES)
    replies.compare(EVERY, np.array([9.0, 9.0]))
    assert replies.evidence.tolist() == [0.0, 0.0]  # nothing is concluded of the first rounds
    replies.rounds[:] = answers.EARLY + 1
    replies.experiment[:] = [False, True]
    replies.compare(EVERY, np.array([9.0, 9.0]))
    assert replies.evidence.tolist() == [9.0, 9.0 * answers.WEIGHT]
    replies.compare(EVERY, np.array([-500.0, -500.0]))
    assert replies.evidence.tolist() == [0.0, 0.0]


def test_answers_are_known_where_they_have_proved_or_their_slopes_are_told_well() -> None:
    replies = filled(Answers, SIZES)
    assert not replies.known(EVERY).any()  # nothing has been fitted
    replies.inverse[:, :, 1, 1] = [[0.01, 0.03], [0.01, 0.05]]  # half a root: 0.05 and 0.087, 0.05 and 0.112
    assert replies.known(EVERY).tolist() == [True, False]
    replies.evidence[1] = 1.1 * answers.PROOF
    assert replies.known(EVERY).all()
