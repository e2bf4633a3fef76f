"""What docs/theory.md proves, checked on interior or against exact probabilities, and the numbers it quotes."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.learners import DoublyOptimistic
from fairgate.thresholds import exact_sweep
from scripts.draw_theory import FIGURE, Measured, floor, measure, misses
from scripts.theory import (
    BATCH,
    Analysed,
    closed_form,
    constants,
    kept_rounds,
    known_range,
    log_term,
    lower_bound,
    people_cost,
    proved,
    reward_noise,
    rounds_for_group,
    shortfalls,
    state_floor,
    summed_radius,
    transients,
    visit_slopes,
)
from tests.reference import step

Array = NDArray[np.float64]

PAGE = (Path(FIGURE).parents[1] / "theory.md").read_text(encoding="utf-8")


def visit_sums(start: float, rounds: int, loops: int = 400) -> tuple[Array, Array, Array]:
    """Play every threshold of interior for `rounds` rounds, from the steady state of threshold `start`.

    Returns the summed ζ = a − f q of the signals reward, overall and groups, and the summed q of the groups, each
    (K, loops, …), and the signals' true values (K, 4).
    """
    task = fg.load_task("interior")
    environment, grid = task.environment, task.thresholds
    policy = np.repeat(np.tile(grid, loops)[:, None], 2, axis=1)
    world = environment.steady_state(np.full((len(policy), 2), start))
    shared = np.repeat(grid[:, None], 2, axis=1)
    truth = fg.Counts(environment.probabilities(environment.steady_state(shared), shared))
    true = np.column_stack((exact_sweep(task, grid).reward, truth.overall, truth.rates))
    f, nature = np.tile(true, (loops, 1)), np.random.default_rng(8)
    sums, weights = np.zeros((len(policy), 4)), np.zeros((len(policy), 2))
    for _ in range(rounds):
        world, cells = step(environment, world, policy, BATCH, nature)
        counts = fg.Counts(cells)
        numerators = (task.problem.assess(counts).reward, counts.overall, *(counts.accepted / BATCH).T)
        people = counts.people / BATCH
        sums += np.column_stack(numerators) - f * np.column_stack((np.ones((len(f), 2)), people))
        weights += people
    shape = (loops, len(grid), -1)
    return sums.reshape(shape).swapaxes(0, 1), weights.reshape(shape).swapaxes(0, 1), true


@pytest.mark.parametrize("start", [-2.0, 2.0], ids=["from accepting all", "from accepting nobody"])
def test_the_expected_bias_of_a_visit_is_at_most_b(start: float) -> None:
    """Lemma 2: its mean over 400 loops lies within B and 5 standard errors, and gets near enough for B to matter."""
    known = constants(fg.load_task("interior"))
    for rounds in (8, 64):
        sums, _, _ = visit_sums(start, rounds)
        mean, error = np.abs(sums.mean(axis=1)), sums.std(axis=1) / np.sqrt(sums.shape[1])
        assert (mean <= known.bias + 5 * error).all()
    assert (mean.max(axis=0) >= 0.1 * known.bias).all()


def test_the_noise_of_a_visit_is_at_most_sigma() -> None:
    """Lemma 2: the standard deviation of summed ζ is at most σ̄ √N, and not a small part of it."""
    known = constants(fg.load_task("interior"))
    sums, _, _ = visit_sums(0.0, 64)
    spread = sums.std(axis=1) / 8.0
    assert (spread <= 1.15 * known.noise).all()  # 400 loops: a standard error of 3.5%
    assert (spread.max(axis=0) >= 0.4 * known.noise).all()


@pytest.mark.parametrize("visits", [1, 3, 5])
def test_the_average_of_a_visit_is_within_the_radius(visits: int) -> None:
    """Lemma 3 for one visit, from the farthest state: in 41 × 400 visits the radius of all signals holds in ≥ 1 − δ."""
    task, delta = fg.load_task("interior"), 0.05
    known, rounds = constants(task), 4 * 2 ** (visits - 1)
    sums, weights, _ = visit_sums(-2.0, rounds)
    one = np.array(1.0)
    radius = summed_radius(known, one, np.array(float(rounds)), log_term(one, len(task.thresholds), 4, delta))
    assert ((np.abs(sums) <= radius).all(axis=2)).mean() >= 1 - delta
    assert (weights >= 0.8 * known.shares[2:] * rounds).mean() >= 1 - delta


def test_rounds_learnt_from_are_those_of_the_formula() -> None:
    """N after V visits, against a count; the proof needs N at least a quarter of the next visit."""
    for epoch_length, burn_in in ((4, 2), (8, 4), (5, 0)):
        for visits in range(1, 12):
            counted = sum(epoch_length * 2**v - burn_in for v in range(visits))
            assert (
                kept_rounds(np.array(float(visits)), epoch_length, burn_in) == counted >= epoch_length * 2**visits / 4
            )


ROUNDS = np.array([300.0, 1000.0, 3000.0])


@functools.cache
def played(analysed: bool) -> Measured:
    """Return what 20 loops of 3000 rounds on interior lose, with the proof's bounds or the library's own."""
    task = fg.load_task("interior")
    return measure(task, Analysed(known=constants(task)) if analysed else DoublyOptimistic(), ROUNDS, seeds=20)


@pytest.mark.slow
@pytest.mark.parametrize("analysed", [False, True], ids=["own bounds", "wide bounds"])
def test_what_is_lost_lies_below_what_is_proved(analysed: bool) -> None:
    task = fg.load_task("interior")
    assert (played(analysed).shortfall <= proved(task, DoublyOptimistic(), ROUNDS)).all()
    assert (proved(task, DoublyOptimistic(), ROUNDS) <= closed_form(task, DoublyOptimistic(), ROUNDS)).all()
    assert (proved(task, DoublyOptimistic(), ROUNDS) <= shortfalls(task).max() * ROUNDS + 1e-9).all()


@pytest.mark.slow
def test_a_bound_can_be_computed_from_what_was_seen() -> None:
    """With the known range in first visits. The largest shortfall there is, which nobody knows, would do with half."""
    task, found = fg.load_task("interior"), played(False)
    assert known_range(task) == 2.0
    assert (found.shortfall <= found.widths).all()
    assert (found.shortfall <= found.hindsight).all()
    first = 4 * len(task.thresholds)  # rounds of first visits
    unknown = first * (known_range(task) - shortfalls(task).max())
    assert (found.computed - found.widths >= unknown - 1e-6).all()
    assert (found.hindsight[:, -1] < found.widths[:, -1]).all()  # narrower, and known
    assert found.computed[:, -1].mean() == pytest.approx(566, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("analysed", [False, True], ids=["own bounds", "wide bounds"])
def test_changes_of_threshold_cost_at_most_b_each(analysed: bool) -> None:
    """The corollary on realised reward, for any rule; the analysed one's visits are as few as stated."""
    task, found = fg.load_task("interior"), played(analysed)
    noise = reward_noise(task, ROUNDS, 1e-3, batches=False)
    assert (found.transient <= found.changes * constants(task).bias[0] + noise).all()
    assert (found.regret <= found.shortfall + found.transient + 1e-9).all()
    assert (found.changes * constants(task).bias[0] <= transients(task, DoublyOptimistic(), ROUNDS)).all()
    assert (noise < reward_noise(task, ROUNDS, 1e-3, batches=True)).all()


def test_a_change_from_one_end_to_the_other_costs_a_good_part_of_b() -> None:
    """The corollary's price of a change is not far from what changes can cost: accepting all after accepting nobody."""
    sums, _, _ = visit_sums(2.0, 64, loops=20)
    cost = -sums[0, :, 0].mean()
    assert 0.2 * constants(fg.load_task("interior")).bias[0] < cost < constants(fg.load_task("interior")).bias[0]


def test_violation_keeps_a_floor_that_is_linear_in_the_rounds() -> None:
    """Of a threshold at the edge of parity, feasible in the long run: of the population, and of batches far more."""
    task = fg.load_task("interior")
    edge = fg.oracle(task).refined
    assert edge.feasible
    found = floor(task, edge.threshold, rounds=1000, seeds=40)
    for each, most in ((found.population, state_floor(task)), (found.batch, 1.0)):
        halves = each.reshape(40, 2, 500).mean(axis=(0, 2))
        assert halves.min() > 0.0
        assert abs(halves[1] / halves[0] - 1.0) < 0.15
        assert each.mean() < most
    assert found.population.mean() > 0.02 * state_floor(task)
    assert found.batch.mean() > 10 * found.population.mean()


def test_the_floor_of_batches_is_that_of_a_normal_gap() -> None:
    """E(|D| − ε)₊ with D normal, as the page has it; and the violation of the average gap is nothing at all."""
    task = fg.load_task("interior")
    best, epsilon = fg.oracle(task).best, 0.05
    run = fg.simulate(task, fg.Fixed(best.threshold), 1500, 20, batch=BATCH)
    counts = fg.Counts(run.counts[:, 500:])
    gaps = np.diff(counts.rates, axis=-1)[..., 0]
    spread = gaps.std()
    ends = (np.array([1.0, -1.0]) * gaps.mean() - epsilon) / spread
    expected = float((spread * (norm.pdf(ends) + ends * norm.cdf(ends))).sum())
    measured = np.maximum(np.abs(gaps) - epsilon, 0.0).mean()
    assert measured == pytest.approx(expected, rel=0.03)
    assert np.abs(gaps.mean(axis=1)).max() < epsilon  # in each of 20 loops
    shares, rates = np.array([0.5, 0.5]), counts.rates.mean(axis=(0, 1))
    assert spread == pytest.approx(np.sqrt((rates * (1 - rates) / (BATCH * shares)).sum()), rel=0.05)


def test_a_rare_group_needs_97_rounds_and_not_1207() -> None:
    """A5 at a share of 2% of batches of 256, as in many-groups, by Hoeffding's bound and by Chernoff's."""
    task, delta = fg.load_task("many-groups"), 0.05
    assert isinstance(task.environment, GaussianScores)
    arms, groups, share = len(task.thresholds), task.setting.groups, float(np.min(task.environment.shares))
    assert (arms, groups, share) == (41, 6, 0.02)
    assert rounds_for_group(share, arms, groups, delta) == (1207, 97)
    allowed = delta / (4 * arms * groups)
    for rounds, exponent in ((1207, 2 / 25 * share**2), (97, share / 50)):
        people = BATCH * rounds
        assert np.exp(-people * exponent) <= allowed < np.exp(-(people - BATCH) * exponent)
        assert binom.cdf(0.8 * people * share, people, share) <= allowed
    assert binom.cdf(0.8 * 40 * BATCH * share, 40 * BATCH, share) > allowed  # so 97 is not far from what is needed


@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.25, 0.5, 0.9])
def test_a_group_has_four_fifths_of_its_share_but_for_the_bounds_of_hoeffding_and_chernoff(share: float) -> None:
    people = np.array([50, 256, 1000, 20_000])
    exact = binom.cdf(np.floor(0.8 * share * people), people, share)
    hoeffding, chernoff = np.exp(-2 / 25 * share**2 * people), np.exp(-share / 50 * people)
    assert (exact <= hoeffding + 1e-15).all()
    assert (exact <= chernoff + 1e-15).all()
    assert (chernoff <= hoeffding).all() == (share <= 0.25)


def test_without_a5_a_visit_is_bounded_once_enough_people_of_the_rare_group_were_seen() -> None:
    task, learner = fg.load_task("interior"), DoublyOptimistic()
    environment = task.environment
    assert isinstance(environment, GaussianScores)
    rare = fg.Task(replace(environment, shares=[0.02, 0.98]), task.problem, task.grid, "rare")
    visits = np.arange(1.0, 12.0)
    known = np.isfinite(visit_slopes(rare, learner, visits))
    kept = kept_rounds(visits, 4, 2)
    needed = people_cost(visits, len(task.thresholds), 2, 0.05) * 50 / (BATCH * 0.02)
    assert known.tolist() == (kept >= needed).tolist()
    assert 0 < known.argmax() < 6
    assert np.isfinite(visit_slopes(task, learner, visits)).all()


def test_a_group_signal_has_a_second_moment_of_at_most_its_share() -> None:
    """ζ of one person is 0 outside the group, 1 − f or −f inside: why Freedman's bound grows with √s only."""
    rate, long_run = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    share = 0.02
    moment = share * (rate * (1 - long_run) ** 2 + (1 - rate) * long_run**2)
    assert moment.max() <= share + 1e-12
    assert 1 / (2 * np.sqrt(share)) == pytest.approx(3.5, abs=0.05)  # Hoeffding's leading term over Freedman's


@pytest.mark.parametrize("moves", [0.3, -0.3])
def test_shares_that_move_add_their_own_slope_to_the_bias(moves: float) -> None:
    """A state x → ρ x + (1 − ρ) x*: with shares that answer, the bias is beyond B of fixed shares, within the wider."""
    rho, slope, target = 0.9, 0.2, 0.0
    long_run = (0.3 + slope * target) / (0.5 + moves * target)
    x, bias = 1.0, 0.0
    for _ in range(500):
        bias += 0.3 + slope * x - long_run * (0.5 + moves * x)
        x = rho * x + (1 - rho) * target
    fixed, wider = slope / (1 - rho), (slope + long_run * abs(moves)) / (1 - rho)
    assert abs(bias) <= wider + 1e-9
    assert (abs(bias) > fixed) == (moves < 0)


@pytest.mark.parametrize("arms", [4, 5, 41, 200])
@pytest.mark.parametrize("batch", [32, 256])
def test_some_world_costs_any_rule_as_much_as_the_lower_bound(arms: int, batch: int) -> None:
    """Each step of the proof: worlds, what a batch tells them apart by, and the constant."""
    hidden = arms // 2
    for rounds in np.ceil(3 * arms**3 / (64 * batch)) * np.array([1.0, 10.0, 1000.0]) + 1.0:
        apart = 0.25 * np.sqrt(3 * hidden / (2 * batch * rounds))
        assert arms * apart / 2 <= 0.5
        bins = np.arange(1, arms + 1)
        for best in (2, hidden + 1):
            good = 0.5 + arms * apart / 2 * ((bins == best) * 1.0 - (bins == best - 1))
            reward = np.array([((2 * good - 1) / arms)[bins >= each].sum() for each in bins])
            np.testing.assert_allclose(reward, np.where(bins == best, apart, 0.0), atol=1e-12)
            accepted = (arms - best + 1) / arms
            seen = good[bins >= best].mean()
            divergence = -accepted * 0.5 * np.log(4 * seen * (1 - seen))
            assert divergence <= 4 / 3 * apart**2
        moved = np.sqrt(0.5 * batch * rounds / hidden * 4 / 3) * apart
        assert moved == pytest.approx(0.25)
        least = apart * rounds * (1 - 1 / hidden - moved)
        assert least >= lower_bound(arms, rounds, batch)


def test_the_numbers_of_the_page_are_those_of_the_formulas() -> None:
    task, learner = fg.load_task("interior"), DoublyOptimistic()
    at = np.array([3000.0, 30_000.0, 100_000.0])
    known = constants(task)
    quoted = [
        "1207 rounds",
        "97 rounds",
        f"$B_0 = {known.bias[0]:.2f}$",
        f"{state_floor(task):.3f} per round",
        f"range, {known_range(task):.0f}",
        "| " + " | ".join(f"{value:.0f}" for value in transients(task, learner, at)) + " |",
        "| " + " | ".join(f"{value:.1f}" for value in lower_bound(41, at)) + " |",
    ]
    assert [text for text in quoted if text.replace(" 000", "000") not in PAGE.replace(" 000", "000")] == []
    least = np.sqrt(people_cost(np.array(1.0), 41, 2, 0.05) / (2 / 25 * BATCH * 2))
    assert f"at least {np.ceil(1000 * least) / 1000:.3f}" in PAGE


def test_the_analysed_rule_never_misses() -> None:
    task = fg.load_task("interior")
    assert misses(task, Analysed(known=constants(task)), rounds=1000, seeds=50) == (0.0, 0.0)


def test_the_figure_of_the_proof_is_there_and_small() -> None:
    assert 0 < FIGURE.stat().st_size < 120_000
    assert "figures/theory.png" in PAGE
