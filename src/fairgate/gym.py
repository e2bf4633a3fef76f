"""gym: every task as a gymnasium environment, one loop or many at once.

Importing this module registers one id per task, such as ``fairgate/Compas-v0``; see :func:`env_id`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import Utility, violation
from fairgate.settings import Array, as_floats, whole_number
from fairgate.simulation import blocks_of
from fairgate.tasks import Task, load_task, presets

try:
    import gymnasium
except ModuleNotFoundError:
    raise ModuleNotFoundError("fairgate.gym needs gymnasium: pip install 'fairgate[gym]'", name="gymnasium") from None
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space


class FairgateVectorEnv(VectorEnv[Array, Any, NDArray[Any]]):
    """:class:`ThresholdEnv` many times over, stepped together in NumPy.

    Spaces, rewards and info are those of :class:`ThresholdEnv` with an axis of `num_envs` independent loops in front.
    All loops start and end together: truncated after `rounds` rounds, and, as ``AutoresetMode.NEXT_STEP`` asks, the
    step after that ignores its actions, starts again and gives reward 0. ``reset(seed=s)`` meets the same nature as
    ``simulate(task, …, seed=s, seeds=num_envs)``, bit for bit. A task whose settings vary by replicate must have
    `num_envs` values of each.

    Examples
    --------
    >>> env = gymnasium.make_vec("fairgate/Compas-v0", num_envs=100)
    >>> observations, info = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, info = env.step(np.zeros((100, 1)))
    >>> observations.shape, info["counts"].shape, info["batch_residuals"]["parity"].shape
    ((100, 7), (100, 2, 2, 2), (100,))
    """

    metadata: dict[str, Any] = {  # noqa: RUF012, declared so by gymnasium
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        *,
        per_group: bool = False,
        discrete: bool = False,
        penalty: float = 1.0,
        rounds: int = 3000,
        batch: int = 256,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.task = _checked_task(task, self.num_envs)
        self.penalty = float(as_floats("penalty", penalty, ndim=0))
        if self.penalty < 0.0:
            raise InputError(f"penalty must be a finite number of at least 0, got {penalty!r}")
        self.rounds = whole_number("rounds", rounds, 1)
        self.batch = whole_number("batch", batch, 1)
        self.discrete = discrete
        self.single_action_space = _action_space(self.task, per_group, discrete)
        self._low, self._high = _observed(self.task)
        self.single_observation_space = spaces.Box(self._low, self._high, dtype=np.float64)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._blocks = blocks_of(self.num_envs)
        self._natures: list[Nature] = []
        self._left = 0
        self._ended = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start all again; without a `seed` the random numbers go on where they were."""
        super().reset(seed=seed)
        if options:
            raise InputError(f"options must be empty: nothing but the seed can be chosen at a reset, got {options!r}")
        if seed is not None or not self._natures:  # those of simulate(seed=seed), one per block of replicates
            self._natures = [Nature(self.np_random_seed, number) for number in range(len(self._blocks))]
            self._np_random = self._natures[0].generator
        parts = zip(self._blocks, self._natures, strict=True)
        self._loops = [Loop(self.task.rows(block), block.stop - block.start, self.batch, each) for block, each in parts]
        self._left, self._ended = self.rounds, False
        self._rates = np.zeros((self.num_envs, self.task.environment.group_count))
        nothing = np.zeros((len(self.task.problem.names), self.num_envs))
        return self._observe(np.zeros(self.num_envs), nothing), {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a round in every loop, or start all again if the last one ended them."""
        never = np.zeros(self.num_envs, dtype=np.bool_)
        if self._ended:
            observations, info = self.reset()
            return observations, np.zeros(self.num_envs), never, never.copy(), info
        observations, rewards, self._ended, info = self._play(self._thresholds("actions", actions, self.action_space))
        return observations, rewards, never, np.full(self.num_envs, self._ended), _masked(info, self.num_envs)

    def _thresholds(self, name: str, actions: Any, space: spaces.Space[Any]) -> Array:
        """Return the thresholds (loops, groups) that `actions` of a space, single or batched, stand for."""
        shape = space.shape or ()
        values = as_floats(name, actions, ndim=len(shape))
        if values.shape != shape:
            raise InputError(f"{name} must have shape {shape}, got {values.shape}")
        grid = self.task.thresholds
        if self.discrete:
            index = values.astype(np.int64)
            wrong = (index != values) | (index < 0) | (index >= len(grid))
            if wrong.any():
                raise InputError(
                    f"{name} must be a whole number from 0 to {len(grid) - 1}, the place of a threshold in the grid, "
                    f"got {values[wrong][0]:g}"
                )
            values = grid[index]
        values = np.clip(values, grid[0], grid[-1]).reshape(self.num_envs, -1)
        return np.array(np.broadcast_to(values, (self.num_envs, self.task.environment.group_count)))

    def _play(self, thresholds: Array) -> tuple[Array, Array, bool, dict[str, Any]]:
        """Play a round by thresholds (loops, groups): observations, rewards, whether it was the last, and info."""
        if self._left == 0:
            raise ResetNeeded("step needs a reset before the first round and after the last one: call reset() first")
        parts = zip(self._blocks, self._loops, strict=True)
        rounds = [loop.play(Policy.of(thresholds[block])) for block, loop in parts]
        cells = np.concatenate([each.counts for each in rounds])
        probabilities = np.concatenate([each.probabilities for each in rounds])
        seen = np.nan_to_num(np.concatenate([each.feedback.reward for each in rounds]))  # 0 until a label arrives
        problem, counts = self.task.problem, Counts(cells)
        (reward, true_reward), residuals = problem.assess(np.stack((cells, probabilities)))  # batch and exact truth
        self._rates = np.where(counts.people > 0, counts.rates, self._rates)
        self._left -= 1
        info = {
            "batch_reward": reward,
            "batch_residuals": dict(zip(problem.names, residuals[:, 0], strict=True)),
            "acceptance": self._rates.copy(),
            "gap": counts.gap,
            "population_reward": true_reward,
            "population_residuals": dict(zip(problem.names, residuals[:, 1], strict=True)),
            "thresholds": thresholds,
            "counts": cells,
        }
        paid = seen - self.penalty * violation(residuals[:, 0])
        return self._observe(seen, residuals[:, 0]), paid, self._left == 0, info

    def _observe(self, reward: Array, residuals: Array) -> Array:
        left = np.full((self.num_envs, 1), self._left / self.rounds)
        values = np.concatenate((self._rates, reward[:, None], residuals.T, left), axis=1)
        return np.asarray(np.clip(values, self._low, self._high))  # rounding may lead just beyond


class ThresholdEnv(gymnasium.Env[Array, Any]):
    r"""Choose thresholds round by round, in a world that answers back.

    Every round a batch of people arrives, those whose score reaches the threshold are accepted, and who arrives next
    depends on who was accepted. What is wanted is reward; what is required is that every residual is at most 0.

    Action: thresholds in a ``Box`` between the ends of the grid, one or, with `per_group`, one per group; with
    `discrete`, places in the grid.

    Observation: acceptance rate of each group, reward per person and residuals of the last batch, and the share of the
    rounds that are left.

    Reward, with the batch's reward r per person and its residuals :math:`g_j`:

    .. math:: r - penalty \cdot \sum_j \max(g_j, 0)

    ``info`` has the batch's figures and the exact truth. An episode is truncated after `rounds` rounds of `batch`
    people and never terminated. ``reset(seed=s)`` meets the same nature as ``simulate(task, …, seed=s, seeds=1)``, bit
    for bit.

    Examples
    --------
    >>> env = ThresholdEnv("interior", discrete=True)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(25)
    >>> info["thresholds"], info["batch_reward"], round(reward, 3)
    (array([0.5, 0.5]), 0.16015625, 0.029)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, declared so by gymnasium

    def __init__(
        self,
        task: Task | str,
        *,
        per_group: bool = False,
        discrete: bool = False,
        penalty: float = 1.0,
        rounds: int = 3000,
        batch: int = 256,
    ) -> None:
        self._loop = FairgateVectorEnv(
            task, per_group=per_group, discrete=discrete, penalty=penalty, rounds=rounds, batch=batch
        )
        self.task = self._loop.task
        self.action_space = self._loop.single_action_space
        self.observation_space = self._loop.single_observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start again; without a `seed` the random numbers go on where they were."""
        super().reset(seed=seed)
        observations, info = self._loop.reset(seed=seed, options=options)
        self._np_random, self._np_random_seed = self._loop.np_random, self._loop.np_random_seed
        return observations[0], info

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play a round."""
        thresholds = self._loop._thresholds("action", action, self.action_space)
        observations, rewards, last, info = self._loop._play(thresholds)
        return observations[0], float(rewards[0]), False, last, _first(info)


def _checked_task(task: Task | str, replicates: int) -> Task:
    if isinstance(task, str):
        task = load_task(task)
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task or the name of one, got {task!r}")
    if task.replicates not in (None, replicates):
        raise InputError(
            f"task has settings for {task.replicates} replicates, but there are {replicates}: "
            f"play it as FairgateVectorEnv(task, num_envs={task.replicates}), or cut it by rows"
        )
    return task


def _action_space(task: Task, per_group: bool, discrete: bool) -> spaces.Space[Any]:
    """Return the space of one loop's actions: thresholds, or their places in the grid."""
    grid, groups = task.thresholds, task.environment.group_count
    if discrete:
        return spaces.MultiDiscrete([len(grid)] * groups) if per_group else spaces.Discrete(len(grid))
    return spaces.Box(grid[0], grid[-1], (groups if per_group else 1,), dtype=np.float64)


def _observed(task: Task) -> tuple[Array, Array]:
    """Return the ends that an observation lies between, infinite only where a user's own reward or constraint is."""
    utility, groups = task.problem.utility, task.environment.group_count
    reward = (-math.inf, math.inf)
    if isinstance(utility, Utility):
        reward = (-float(np.max(utility.false_positive_cost)), 1.0)
    residuals = [pair for each in task.problem.constraints for pair in each.span(groups)]
    low, high = zip(*[(0.0, 1.0)] * groups, reward, *residuals, (0.0, 1.0), strict=True)
    return np.array(low), np.array(high)


def _first(info: dict[str, Any]) -> dict[str, Any]:
    """Return the info of the only replicate."""
    return {
        name: _first(value) if isinstance(value, dict) else value[0] if value.ndim > 1 else float(value[0])
        for name, value in info.items()
    }


def _masked(info: dict[str, Any], replicates: int) -> dict[str, Any]:
    """Say beside every entry which replicates have it, as gymnasium's vector environments do: all."""
    everyone = np.ones(replicates, dtype=np.bool_)
    masked: dict[str, Any] = {}
    for name, value in info.items():
        masked[name] = _masked(value, replicates) if isinstance(value, dict) else value
        masked[f"_{name}"] = everyone.copy()
    return masked


def env_id(name: str) -> str:
    """Return the id of a named task.

    >>> env_id("mve-s"), env_id("compas-strict")
    ('fairgate/MveS-v0', 'fairgate/CompasStrict-v0')
    """
    return f"fairgate/{name.title().replace('-', '')}-v0"


for _name in presets():
    if env_id(_name) not in gymnasium.registry:
        gymnasium.register(
            env_id(_name),
            entry_point="fairgate.gym:ThresholdEnv",
            vector_entry_point="fairgate.gym:FairgateVectorEnv",
            kwargs={"task": _name},
        )
