"""Train PPO-Lagrangian on a task through gymnasium, and set it beside learners that begin with nothing.

    python scripts/ppo_lagrangian.py                             # compas, half a minute of processor time
    python scripts/ppo_lagrangian.py german --iterations 200

Proximal policy optimisation (Schulman et al. 2017) with a Lagrange multiplier on `info["cost"]`, as in Ray, Achiam and
Amodei, "Benchmarking safe exploration in deep reinforcement learning" (2019): the advantage is that of the reward minus
λ times that of the cost, divided by 1 + λ, and λ rises while the mean cost of a round is above a limit. It is written
in NumPy, with networks of one hidden layer, because the alternative asks for half a gigabyte of PyTorch.

The comparison is no fair one, and says so: PPO practises in a simulator of the very task it is judged on, for as many
rounds as it likes and with no harm done; OFS and SafeForecast get only the rounds that count. All meet the same people.

It needs gymnasium: pip install 'fairgate[gym]'.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import fairgate as fg
from fairgate.problem import violation
from fairgate.settings import Array

HIDDEN = 32
GAMMA, TRACE, CLIP = 0.99, 0.97, 0.2  # discount, GAE's λ and clipping range: the defaults of Ray et al.'s own code
EPOCHS, PARTS = 10, 4  # passes over a rollout, and minibatches of a pass
RATE, DUAL_RATE = 1e-3, 2.0  # step sizes of Adam, and of λ per unit of cost
LOOPS, HORIZON = 32, 200  # loops played side by side, and rounds of each before an update
JUDGED_LOOPS, JUDGED_ROUNDS, SEED = 20, 1000, 77


class Gradient(NamedTuple):
    """The derivative of a loss by every parameter of a network."""

    first: Array
    first_bias: Array
    second: Array
    second_bias: Array


class Network:
    """One hidden layer of tanh, and a linear one."""

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator, scale: float = 1.0) -> None:
        self.first, self.first_bias = rng.normal(size=(inputs, HIDDEN)) / np.sqrt(inputs), np.zeros(HIDDEN)
        self.second, self.second_bias = scale * rng.normal(size=(HIDDEN, outputs)) / np.sqrt(HIDDEN), np.zeros(outputs)

    @property
    def parameters(self) -> list[Array]:
        """Everything that is learnt."""
        return [self.first, self.first_bias, self.second, self.second_bias]

    def __call__(self, inputs: Array) -> Array:
        """Return the outputs (N, outputs)."""
        return np.asarray(np.tanh(inputs @ self.first + self.first_bias) @ self.second + self.second_bias)

    def gradient(self, inputs: Array, by_output: Array) -> Gradient:
        """Return the derivative of a loss whose derivative by the outputs is `by_output`."""
        hidden = np.tanh(inputs @ self.first + self.first_bias)
        by_hidden = (by_output @ self.second.T) * (1.0 - hidden**2)
        return Gradient(inputs.T @ by_hidden, by_hidden.sum(axis=0), hidden.T @ by_output, by_output.sum(axis=0))


@dataclass
class Adam:
    """Kingma and Ba's step for a list of parameters, which it changes in place."""

    parameters: list[Array]
    moments: list[tuple[Array, Array]] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        self.moments = [(np.zeros_like(each), np.zeros_like(each)) for each in self.parameters]

    def descend(self, gradient: Any) -> None:
        """Take one step against the gradient."""
        self.steps += 1
        for parameter, (mean, square), slope in zip(self.parameters, self.moments, gradient, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            size = np.sqrt(square / (1.0 - 0.999**self.steps)) + 1e-8
            parameter -= RATE * (mean / (1.0 - 0.9**self.steps)) / size


class Rollout(NamedTuple):
    """What was seen, done and earned, (rounds, loops, …), and what comes after, (loops, …)."""

    observations: Array
    actions: Array
    rewards: Array
    costs: Array
    after: Array


class Agent:
    """A normal distribution over thresholds, the values of reward and cost, and the price λ of the cost."""

    def __init__(self, inputs: int, limit: float, rng: np.random.Generator) -> None:
        self.rng, self.limit, self.price = rng, limit, 0.0
        self.policy, self.critic = Network(inputs, 1, rng, scale=0.01), Network(inputs, 2, rng)
        self.log_sd = np.full(1, -1.0)
        self.steps = Adam([*self.policy.parameters, self.log_sd]), Adam(self.critic.parameters)

    def act(self, observations: Array) -> Array:
        """Draw actions (N, 1); the environment brings those beyond ±1 back."""
        mean = self.policy(observations)
        return np.asarray(mean + np.exp(self.log_sd) * self.rng.normal(size=mean.shape))

    def log_probability(self, observations: Array, actions: Array) -> Array:
        """Return the log density of actions, (N,), but for a constant."""
        away = (actions - self.policy(observations)) / np.exp(self.log_sd)
        return np.asarray((-0.5 * away**2 - self.log_sd).sum(axis=1))

    def policy_gradient(self, observations: Array, actions: Array, before: Array, advantage: Array) -> list[Array]:
        """Return the derivative of PPO's clipped loss by the policy's parameters and log_sd."""
        ratio = np.exp(self.log_probability(observations, actions) - before)
        kept = np.where(advantage > 0.0, ratio < 1.0 + CLIP, ratio > 1.0 - CLIP)
        by_log = -np.where(kept, advantage * ratio, 0.0)[:, None] / len(actions)
        away = (actions - self.policy(observations)) / np.exp(self.log_sd)
        by_mean = by_log * away / np.exp(self.log_sd)
        return [*self.policy.gradient(observations, by_mean), (by_log * (away**2 - 1.0)).sum(axis=0)]

    def learn(self, rollout: Rollout) -> None:
        """Raise or lower the price of the cost, then improve policy and values on what was seen."""
        self.price = max(0.0, self.price + DUAL_RATE * (float(rollout.costs.mean()) - self.limit))
        values = self.critic(np.concatenate((rollout.observations, rollout.after[None])))
        gains = advantages(np.stack((rollout.rewards, rollout.costs), axis=-1), values)
        targets = (gains + values[:-1]).reshape(-1, 2)
        advantage = ((gains[..., 0] - self.price * gains[..., 1]) / (1.0 + self.price)).ravel()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        seen, done = (each.reshape(-1, each.shape[-1]) for each in (rollout.observations, rollout.actions))
        before = self.log_probability(seen, done)
        for _ in range(EPOCHS):
            for part in np.array_split(self.rng.permutation(len(seen)), PARTS):
                gradient = self.policy_gradient(seen[part], done[part], before[part], advantage[part])
                self.steps[0].descend(gradient)
                missed = (self.critic(seen[part]) - targets[part]) / len(part)
                self.steps[1].descend(self.critic.gradient(seen[part], missed))


def advantages(earned: Array, values: Array) -> Array:
    """Return generalised advantages (T, loops, 2) of what was earned, with values (T + 1, loops, 2).

    >>> advantages(np.array([[[1.0, 0.0]], [[0.0, 0.0]]]), np.zeros((3, 1, 2)))[:, 0, 0]
    array([1., 0.])
    """
    found, following = np.zeros_like(earned), np.zeros_like(earned[0])
    for t in reversed(range(len(earned))):
        following = earned[t] + GAMMA * values[t + 1] - values[t] + GAMMA * TRACE * following
        found[t] = following
    return found


def play(environment: Any, agent: Agent, observations: Array) -> Rollout:
    """Play an episode of a vector environment; of an observation the rounds left are dropped: the task goes on."""
    seen, done, rewards, costs = [], [], [], []
    for _ in range(environment.rounds):
        seen.append(observations[:, :-1])
        done.append(agent.act(seen[-1]))
        observations, reward, _, _, info = environment.step(done[-1])
        rewards.append(reward)
        costs.append(info["cost"])
    return Rollout(np.stack(seen), np.stack(done), np.stack(rewards), np.stack(costs), observations[:, :-1])


def train(task: fg.Task, iterations: int, limit: float, seed: int = 0) -> tuple[Agent, Rollout, Rollout]:
    """Return a trained agent, and the first and the last rollout."""
    from fairgate.gym import FairgateVectorEnv

    environment = FairgateVectorEnv(task, LOOPS, normalise=True, penalty=0.0, rounds=HORIZON)
    observations, _ = environment.reset(seed=seed)
    agent = Agent(observations.shape[1] - 1, limit, np.random.default_rng(seed))
    kept: list[Rollout] = []
    for _ in range(iterations):
        rollout = play(environment, agent, observations)
        agent.learn(rollout)
        kept = [*kept[:1], rollout]
        observations, _ = environment.reset()
    return agent, kept[0], kept[-1]


def judge(task: fg.Task, agent: Agent) -> tuple[Array, Array]:
    """Return the exact reward and violation of every round, (rounds, loops), with the policy's mean as its action."""
    from fairgate.gym import FairgateVectorEnv

    environment = FairgateVectorEnv(task, JUDGED_LOOPS, normalise=True, penalty=0.0, rounds=JUDGED_ROUNDS)
    observations, _ = environment.reset(seed=SEED)
    rewards, violations = [], []
    for _ in range(JUDGED_ROUNDS):
        observations, _, _, _, info = environment.step(agent.policy(observations[:, :-1]))
        rewards.append(info["population_reward"])
        violations.append(info["population_cost"])
    return np.stack(rewards), np.stack(violations)


def main() -> None:
    """Train, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("task", nargs="?", default="compas", help="name of a task")
    parser.add_argument("--iterations", type=int, default=100, help="rollouts to train on")
    parser.add_argument("--limit", type=float, default=0.0, help="mean cost of a round that is put up with")
    given = parser.parse_args()
    try:
        import gymnasium  # noqa: F401
    except ModuleNotFoundError:
        sys.exit("ppo_lagrangian.py needs gymnasium: pip install 'fairgate[gym]'")
    try:
        task = fg.load_task(given.task)
        best = fg.oracle(task).best
    except fg.InputError as error:
        sys.exit(str(error))
    if not best.feasible or best.reward <= 0.0:
        sys.exit(f"task must have a feasible threshold that earns something, for a share of it, got {task.name!r}")
    if given.iterations < 1 or not given.limit >= 0.0:
        got = f"{given.iterations} and {given.limit}"
        sys.exit(f"--iterations must be at least 1, and --limit a number of at least 0, got {got}")
    agent, first, last = train(task, given.iterations, given.limit)
    practised = given.iterations * LOOPS * HORIZON
    costs = f"a round's cost fell from {first.costs.mean():.3f} to {last.costs.mean():.3f}"
    print(f"{task.name}: {practised:,} rounds of practice, in which {costs}; λ = {agent.price:.2f}")
    found = {f"PPO-Lagrangian after {practised:,} rounds": judge(task, agent)}
    for name in ("ofs", "safe-forecast"):
        run = fg.simulate(task, fg.load_learner(name, task.name), rounds=JUDGED_ROUNDS, seeds=JUDGED_LOOPS, seed=SEED)
        found[name] = run.population.reward, violation(run.population.residuals)
    judged = f"over {JUDGED_ROUNDS:,} rounds"
    print(f"{judged:40} {'share of best':>13} {'violation':>9} {'feasible':>8}")
    for name, (reward, broken) in found.items():
        share, feasible = reward.mean() / best.reward, (broken <= 0.0).mean()
        print(f"{name:40} {share:13.1%} {broken.mean():9.4f} {feasible:8.1%}")
    print(f"The best threshold earns {best.reward:.3f} per person in its steady state. Violations are exact.")


if __name__ == "__main__":
    main()
