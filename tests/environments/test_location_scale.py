"""LocationScale: scores shift and spread with beliefs, labels do not; retraining converges or not by a known slope."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import LocationScale
from fairgate.environments.normal_scores import positive_mass
from fairgate.problem import is_feasible
from tests.environments.worlds import location_scale

GROUPS = 2


def test_scores_are_shifted_and_spread_by_what_is_believed() -> None:
    """Beliefs of 0.6 and −1: spreads 1.12 and 0.7 · 1.3, means −0.2 + 0.3 and 0.3 − 1.3."""
    world, state = location_scale(), np.array([[0.6, -1.0]])
    np.testing.assert_allclose(world.mean_scores(state), [[0.1, -1.0]])
    accepted = Counts(world.probabilities(state, np.array([[0.5, -0.4]]))).rates[0]
    np.testing.assert_allclose(accepted, norm.sf([0.5, -0.4], loc=[0.1, -1.0], scale=[1.12, 0.91]), atol=1e-12)


def test_the_label_goes_by_quality_and_not_by_the_score() -> None:
    world, state = location_scale(), np.array([[0.6, -1.0]])
    cells = world.probabilities(state, np.array([[0.5, -0.4]]))[0]
    shares, quality = np.array(world.shares), [-0.2 + 0.4 / 1.12, 0.3 + 0.6 / 1.3]
    wanted = positive_mass(np.array(world.means), np.array(quality), np.array(world.sd), world.slope, world.midpoint)
    np.testing.assert_allclose(cells[:, 1, 1], shares * wanted, atol=1e-8)
    honest = world.probabilities(np.zeros((1, GROUPS)), np.array([quality]))[0]
    np.testing.assert_allclose(cells, honest, atol=1e-9)


def test_no_belief_makes_all_people_alike() -> None:
    """1 + 0.2 · (−8) is below a tenth."""
    accepted = Counts(location_scale().probabilities(np.full((1, GROUPS), -8.0), np.full((1, GROUPS), -4.1))).rates
    assert accepted[0, 0] == pytest.approx(norm.sf(-4.1, loc=-0.2 - 4.0, scale=0.1), abs=1e-12)


# ---- Retraining -----------------------------------------------------------------------------------------------------


def test_best_answers_are_affine_with_the_slope_that_the_docstring_gives() -> None:
    """Found by trying every quality, for several beliefs and both tasks; the best quality is where parity binds."""
    for name, slope in (("retraining-converges", 0.42), ("retraining-diverges", 1.57)):
        task = fg.load_task(name)
        world = task.environment
        assert isinstance(world, LocationScale)
        best = best_quality(task)
        kappa = float(world.location[0] + world.scale[0] * best)
        assert kappa == pytest.approx(slope, abs=0.005)
        for believed in (-1.0, -0.3, 0.0, 0.8, 2.0):
            assert best_answer(task, believed) == pytest.approx(best + kappa * believed, abs=2e-4)


def best_quality(task: fg.Task) -> float:
    """Where the gap of the normals' tails reaches 0.05: a better quality to ask for, 0.4, would be unfair."""
    return float(brentq(lambda z: norm.sf(z) - norm.sf(z / 0.6) - 0.05, 0.0, 0.4))


def best_answer(task: fg.Task, believed: float, step: float = 1e-4) -> float:
    """Return the best feasible threshold of a fine grid if scores stayed what they are under this belief."""
    world = task.environment
    assert isinstance(world, LocationScale)
    around = np.arange(0.15, 0.25, step)  # qualities asked for
    thresholds = (1.0 + world.scale[0] * believed) * around + world.location[0] * believed
    shared = np.repeat(thresholds[:, None], GROUPS, axis=1)
    found = task.problem.assess(world.probabilities(np.full_like(shared, believed), shared))
    assert is_feasible(found.residuals[:, :1]).all()
    assert not is_feasible(found.residuals[:, -1:]).any()
    return float(thresholds[np.argmax(np.where(is_feasible(found.residuals), found.reward, -np.inf))])


def retrain(task: fg.Task, believed: float, times: int, rate: float = 1.0) -> list[float]:
    """Beliefs under repeated exact risk minimisation over thresholds of any size."""
    path = [believed]
    for _ in range(times):
        path.append(path[-1] + rate * (best_answer(task, path[-1]) - path[-1]))
    return path


@pytest.mark.parametrize("first", [-1.5, 0.0, 1.5])
@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_retraining_converges_to_the_best_threshold(first: float, rate: float) -> None:
    """By the factor κ each time, or 1 − rate · (1 − κ) if people have no time to settle."""
    task = fg.load_task("retraining-converges")
    best = fg.oracle(task).refined.threshold
    kappa = 0.4 + 0.1 * best_quality(task)
    path = np.array(retrain(task, first, 8, rate)) - best
    np.testing.assert_allclose(path, path[0] * (1.0 - rate * (1.0 - kappa)) ** np.arange(9), atol=1e-3)


@pytest.mark.parametrize("first", [-0.5, 0.0])
@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_retraining_diverges_from_the_best_threshold(first: float, rate: float) -> None:
    task = fg.load_task("retraining-diverges")
    best = fg.oracle(task).refined.threshold
    away = np.abs(np.array(retrain(task, first, 6, rate)) - best)
    assert (np.diff(away) > 0.0).all()
    kappa = 1.55 + 0.1 * best_quality(task)
    np.testing.assert_allclose(away[1:] / away[:-1], 1.0 + rate * (kappa - 1.0), rtol=0.01)


def test_below_minus_one_retraining_swings_unless_it_waits_less() -> None:
    """κ = −1.5: swings grow by it if people settle in between; with rate 0.2 the factor is 1 − 0.2 · 2.5 = ½."""
    task = fg.load_task("retraining-converges")
    discouraged = fg.Task(
        location_scale(means=[0.0, 0.0], sd=[1.0, 0.6], midpoint=0.4, location=[-1.5, -1.5], scale=[0.0, 0.0]),
        task.problem,
        task.thresholds,
    )
    stable = best_quality(task) / 2.5
    for rate, factor in ((1.0, -1.5), (0.2, 0.5)):
        path = np.array(retrain(discouraged, 0.5, 5, rate)) - stable
        np.testing.assert_allclose(path, path[0] * factor ** np.arange(6), rtol=0.01, atol=2e-3)


def test_the_learner_does_what_the_map_says() -> None:
    """Repeated risk minimisation of samples: near the best threshold, or at the end of the grid, where it earns less
    than nothing."""
    for name, low, high in (("retraining-converges", 0.1, 0.4), ("retraining-diverges", 1.5, 2.0)):
        run = fg.simulate(fg.load_task(name), fg.learners.RepeatedRetraining(), rounds=400, seeds=4)
        last = run.thresholds[:, -50:, 0].mean(axis=1)
        assert ((low <= last) & (last <= high)).all()
        assert (run.population.reward[:, -50:].mean() > 0.1) == (name == "retraining-converges")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"location": [0.5]}, r"LocationScale: location must have one value per group, 2, got \[0.5\]"),
        ({"scale": [0.5, float("nan")]}, "LocationScale: scale must be finite, got nan at position 1"),
        ({"rate": 0.0}, r"LocationScale: rate must be in \(0, 1\], got 0.0"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        location_scale(**changes)
