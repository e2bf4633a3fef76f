"""EpochZerothOrder and PerformativeGradient: each against its plain rule, and what each is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import EpochZerothOrder, PerformativeGradient
from fairgate.learners.baselines.location_scale_model import LocationScaleModel
from fairgate.learners.shapes import filled
from fairgate.settings import Array
from fairgate.thresholds import exact_sweep
from tests.learners.plain_performative import PlainEpochZerothOrder, PlainPerformativeGradient
from tests.reference import step

LOOPS = 3


@pytest.mark.parametrize("name", ["retraining-diverges", "german", "compas-strict"])
@pytest.mark.parametrize("points", [1, 2])
def test_zeroth_order_steps_are_those_of_the_plain_rule(name: str, points: int) -> None:
    task = fg.load_task(name)
    settings: dict[str, Any] = {
        "epoch_length": 3, "burn_in": 1, "memory": 1.5, "points": points, "step": 0.2, "dual_step": 2.0,
        "radius": 0.1, "start_at": 0.4,
    }  # fmt: skip
    learner = EpochZerothOrder(**settings)
    state = learner.start(task.setting, LOOPS, np.random.default_rng(5))
    same_numbers, nature = np.random.default_rng(5), np.random.default_rng(6)
    epsilons = [getattr(c, "epsilon", None) for c in task.problem.constraints for _ in c.names]
    rules = [PlainEpochZerothOrder(task.thresholds.tolist(), epsilons, 2, **settings) for _ in range(LOOPS)]
    world, drawn = task.environment.start(LOOPS), [0] * LOOPS
    for t in range(300):
        if rules[0].age == 0:
            drawn = same_numbers.integers(2, size=LOOPS).tolist()
        thresholds = learner.propose(state).single
        chosen = [rule.choose(draw) for rule, draw in zip(rules, drawn, strict=True)]
        np.testing.assert_allclose(thresholds[:, 0], chosen, rtol=0, atol=1e-9, err_msg=f"round {t + 1}")
        world, cells = step(task.environment, world, thresholds, 256, nature)
        feedback = task.problem.reveal(cells)
        learner.observe(state, thresholds, feedback)
        for r, rule in enumerate(rules):
            counts = feedback.observation.people[r].tolist(), feedback.observation.accepted[r].tolist()
            rule.observe(float(feedback.reward[r]), feedback.residuals[:, r].tolist(), *counts)
    assert rules[0].epoch_length > 3 + 1.5, "epochs grow"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["retraining-diverges", "german", "performative"])
def test_performative_gradient_steps_are_those_of_the_plain_rule(name: str) -> None:
    task = fg.load_task(name)
    settings: dict[str, Any] = {
        "epoch_length": 3, "burn_in": 1, "step": 0.2, "radius": 0.1, "trust": 0.08, "discount": 0.9, "width": 0.0,
        "start_at": 0.4,
    }  # fmt: skip
    learner = PerformativeGradient(**settings)
    state = learner.start(task.setting, LOOPS, np.random.default_rng(5))
    same_numbers, nature = np.random.default_rng(5), np.random.default_rng(6)
    grid = task.thresholds.tolist()
    rules = [PlainPerformativeGradient(grid, task.problem, 2, **settings) for _ in range(LOOPS)]
    world, drawn = task.environment.start(LOOPS), [0] * LOOPS
    for t in range(27):
        if rules[0].age == 0:
            drawn = same_numbers.integers(2, size=LOOPS).tolist()
        policy = learner.propose(state)
        chosen = [rule.choose(draw) for rule, draw in zip(rules, drawn, strict=True)]
        assert policy.single[:, 0].tolist() == chosen, f"round {t + 1}"
        world, cells = step(task.environment, world, policy, 256, nature, task.thresholds)
        feedback = task.problem.reveal(cells, "selective-labels")
        learner.observe(state, policy, feedback)
        people, labels = feedback.observation.binned
        for r, rule in enumerate(rules):
            rule.observe(people[r], labels[r])
        np.testing.assert_allclose(state.centre, [rule.x for rule in rules], atol=1e-9)


# ---- What they are for ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["retraining-converges", "retraining-diverges", "performative"])
def test_the_model_knows_what_thresholds_lead_to(name: str) -> None:
    """Fitted to exact settled people of thresholds near 0, it is near the truth there and beyond, both where scores
    inflate and where quality follows. What is beyond the grid is cut off, whence most of the error."""
    task = fg.load_task(name)
    model = filled(LocationScaleModel, {"R": 1, "G": 2})
    for theta in np.tile([-0.2, 0.2, 0.0, -0.4, 0.4], 4):
        model.add(task.thresholds, np.array([theta]), *people_of(task, theta), np.array([True]))
    reward, residual = model.predict(task.thresholds).read(task.problem)
    exact, near = exact_sweep(task, task.thresholds), np.abs(task.thresholds) <= 0.8
    assert np.abs(reward[near, 0] - exact.reward[near]).max() < 0.02
    assert np.abs(residual[near, 0] - exact.residuals.max(axis=0)[near]).max() < 0.03
    blind = filled(LocationScaleModel, {"R": 1, "G": 2})
    blind.add(task.thresholds, np.array([0.0]), *people_of(task, 0.0), np.array([True]))
    ignorant = blind.predict(task.thresholds).read(task.problem)[0]
    assert np.abs(ignorant[near, 0] - exact.reward[near]).max() > 0.05


def people_of(task: fg.Task, theta: float) -> tuple[Array, Array]:
    """People by score bin, 5,000 in all, and labels of the accepted, once a threshold has settled."""
    state = task.environment.steady_state(np.full((1, 2), theta))
    labelled = 5000.0 * task.environment.histogram(state, task.thresholds)
    accepted = np.concatenate(([-np.inf], task.thresholds)) >= theta - 1e-9
    return labelled.sum(axis=-1), labelled * accepted[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["retraining-converges", "retraining-diverges"])
def test_the_performative_gradient_gets_there_whether_retraining_does_or_not(name: str) -> None:
    task = fg.load_task(name)
    run = fg.simulate(task, PerformativeGradient(epoch_length=10, burn_in=5), rounds=600, seeds=3)
    assert (np.abs(run.settled().single[:, 0] - fg.oracle(task).best.threshold) < 0.1 + 1e-9).all()


@pytest.mark.slow
def test_the_performative_gradient_passes_by_what_is_stable() -> None:
    """The stable threshold is 0.4, the best 0.9; 0.8 earns 0.0004 less."""
    run = fg.simulate(
        fg.load_task("performative"), PerformativeGradient(epoch_length=10, burn_in=5), rounds=800, seeds=3
    )
    assert (run.settled().single[:, 0] > 0.65).all()


@pytest.mark.parametrize("learner", [PerformativeGradient(epoch_length=4, burn_in=2), EpochZerothOrder()], ids=repr)
def test_a_loop_is_the_same_alone_and_among_others(learner: Any) -> None:
    task = fg.load_task("many-groups")
    alone, among = (fg.simulate(task, learner, rounds=60, seeds=seeds, batch=40) for seeds in (1, 4))
    assert (alone.thresholds[0] == among.thresholds[0]).all()
    assert len(np.unique(among.thresholds[0, :, 0])) > 1


def test_a_margin_keeps_it_fairer() -> None:
    """Where parity binds, the centre of a wide margin is at a lower quality."""
    task = fg.load_task("interior")
    learner = PerformativeGradient(epoch_length=6, burn_in=3, width=[0.0] * 4 + [4.0] * 4)
    centre = fg.simulate(task, learner, rounds=300).traces["centre"][:, -1]
    assert centre[:4].mean() > centre[4:].mean() + 0.01


def test_zeroth_order_ends_in_the_neighbourhood() -> None:
    """Within three steps of the grid on average, where repeated retraining is off by 23."""
    task = fg.load_task("retraining-diverges")
    run = fg.simulate(task, EpochZerothOrder(), rounds=1200, seeds=6)
    assert abs(run.settled().single[:, 0].mean() - fg.oracle(task).best.threshold) < 0.3


def test_epochs_are_as_long_as_the_docstring_says() -> None:
    """Two epochs a step: burn-in 1 + ⌈4 · ½ log m⌉, and 2 rounds that count."""
    run = fg.simulate(fg.load_task("interior"), EpochZerothOrder(epoch_length=3, burn_in=1, memory=4.0), rounds=60)
    changes = np.flatnonzero(np.diff(run.thresholds[0, :, 0])) + 1
    lengths = [3 + int(np.ceil(2.0 * np.log(m))) for m in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]
    assert changes[: len(lengths)].tolist() == np.cumsum(lengths).tolist()


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (EpochZerothOrder, {"points": 3}, "EpochZerothOrder: points must be 1 or 2, got 3"),
        (EpochZerothOrder, {"memory": -1.0}, "EpochZerothOrder: memory must be"),
        (PerformativeGradient, {"discount": 0.0}, r"PerformativeGradient: discount must be in \(0, 1\], got 0.0"),
    ],
)
def test_bad_settings_get_one_sentence(kind: Any, settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        kind(**settings)
