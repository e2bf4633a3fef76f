"""PPO-Lagrangian in NumPy: gradients against differences, advantages against their definition, and that it learns."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import fairgate as fg
from fairgate.settings import Array
from scripts import ppo_lagrangian as ppo
from scripts.ppo_lagrangian import Agent, Rollout


def clipped_loss(agent: Agent, seen: Array, done: Array, before: Array, advantage: Array) -> float:
    """PPO's loss, as Schulman et al. write it."""
    ratio = np.exp(agent.log_probability(seen, done) - before)
    clipped = np.clip(ratio, 1.0 - ppo.CLIP, 1.0 + ppo.CLIP)
    return -float(np.minimum(ratio * advantage, clipped * advantage).mean())


def test_the_gradient_is_that_of_the_clipped_loss() -> None:
    rng = np.random.default_rng(0)
    agent = Agent(3, limit=0.0, rng=rng)
    agent.policy.second += rng.normal(size=agent.policy.second.shape)
    seen = rng.normal(size=(20, 3))
    done, advantage = agent.act(seen), rng.normal(size=20)
    before = agent.log_probability(seen, done) + rng.normal(size=20, scale=0.3)  # so that some ratios are clipped
    ratio = np.exp(agent.log_probability(seen, done) - before)
    assert 0 < (abs(ratio - 1.0) > ppo.CLIP).sum() < 20
    gradient = agent.policy_gradient(seen, done, before, advantage)
    for parameter, slope in zip([*agent.policy.parameters, agent.log_sd], gradient, strict=True):
        for place in list(np.ndindex(parameter.shape))[:5]:
            losses = []
            for away in (1e-6, -2e-6):
                parameter[place] += away
                losses.append(clipped_loss(agent, seen, done, before, advantage))
            parameter[place] += 1e-6
            assert slope[place] == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-6)


def test_advantages_are_discounted_sums_of_what_was_not_expected() -> None:
    rng = np.random.default_rng(1)
    earned, values = rng.normal(size=(6, 2, 2)), rng.normal(size=(7, 2, 2))
    missed = earned + ppo.GAMMA * values[1:] - values[:-1]
    expected = [sum((ppo.GAMMA * ppo.TRACE) ** (s - t) * missed[s] for s in range(t, 6)) for t in range(6)]
    np.testing.assert_allclose(ppo.advantages(earned, values), expected)


@pytest.mark.parametrize(("cost", "limit", "price"), [(0.3, 0.1, 0.4), (0.1, 0.3, 0.0)])
def test_the_price_rises_while_the_cost_is_above_its_limit(cost: float, limit: float, price: float) -> None:
    agent = Agent(2, limit, np.random.default_rng(0))
    nothing = np.zeros((4, 3, 2))
    agent.learn(Rollout(nothing, np.zeros((4, 3, 1)), np.zeros((4, 3)), np.full((4, 3), cost), nothing[0]))
    assert agent.price == pytest.approx(price)


@pytest.mark.slow
def test_practice_lowers_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.setattr(ppo, "LOOPS", 16)
    monkeypatch.setattr(ppo, "HORIZON", 40)
    agent, first, last = ppo.train(fg.load_task("compas"), iterations=20, limit=0.0)
    assert last.costs.mean() < 0.5 * first.costs.mean()
    monkeypatch.setattr(ppo, "JUDGED_ROUNDS", 20)
    reward, broken = ppo.judge(fg.load_task("compas"), agent)
    assert reward.shape == broken.shape == (20, ppo.JUDGED_LOOPS)
    assert broken.mean() < first.costs.mean()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["compass"], "unknown task 'compass': did you mean 'compas'"),
        (["mean-shift"], "must have a feasible threshold"),
        (["compas", "--iterations", "0"], "--iterations must be at least 1"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    given: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.setattr(sys, "argv", ["ppo_lagrangian.py", *given])
    with pytest.raises(SystemExit, match=sentence):
        ppo.main()


def test_without_gymnasium_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["ppo_lagrangian.py"])
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(SystemExit, match=r"needs gymnasium: pip install 'fairgate\[gym\]'"):
        ppo.main()
