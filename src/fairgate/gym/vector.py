"""Many loops at once as a gymnasium vector environment, stepped together in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from fairgate.block import blocks_of
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.gym.actions import Actions, Float, float_type
from fairgate.gym.film import FPS, MODES, Film, Frame
from fairgate.gym.info import describe, masked
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import Utility
from fairgate.settings import Array, as_floats, whole_number
from fairgate.tasks import Task, load_task

ROUNDS = 3000
"""Length of an episode if nobody says otherwise; the registered ids' `max_episode_steps`."""


class FairgateVectorEnv(VectorEnv[Array, Any, NDArray[Any]]):
    """:class:`ThresholdEnv` many times over, stepped together in NumPy.

    Spaces, rewards and info are those of :class:`ThresholdEnv` with an axis of `num_envs` independent loops in front.
    All loops start and end together: truncated after `rounds` rounds, and, as ``AutoresetMode.NEXT_STEP`` asks, the
    step after that ignores its actions, starts again and gives reward 0. ``reset(seed=s)`` meets the same nature as
    ``simulate(task, …, seed=s, seeds=num_envs)``, bit for bit. A task whose settings vary by replicate must have
    `num_envs` values of each.

    `max_episode_steps` is what :func:`gymnasium.make_vec` hands over; where `rounds` is given, that counts.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make_vec("fairgate/Compas-v0", num_envs=100)
    >>> observations, info = env.reset(seed=0)
    >>> observations, rewards, terminations, truncations, info = env.step(np.zeros((100, 1)))
    >>> observations.shape, info["counts"].shape, info["cost"].shape, info["costs"].shape
    ((100, 7), (100, 2, 2, 2), (100,), (100, 3))
    """

    metadata: dict[str, Any] = {  # noqa: RUF012, declared so by gymnasium
        "render_modes": list(MODES),
        "render_fps": FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        *,
        per_group: bool = False,
        discrete: bool = False,
        normalise: bool = False,
        dtype: DTypeLike = "float64",
        penalty: float = 1.0,
        rounds: int | None = None,
        batch: int = 256,
        render_mode: str | None = None,
        max_episode_steps: int = ROUNDS,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.task = _checked_task(task, self.num_envs)
        self.penalty = float(as_floats("penalty", penalty, ndim=0))
        if self.penalty < 0.0:
            raise InputError(f"penalty must be a finite number of at least 0, got {penalty!r}")
        limit = whole_number("max_episode_steps", max_episode_steps, 1)
        self.rounds = limit if rounds is None else whole_number("rounds", rounds, 1)
        self.batch = whole_number("batch", batch, 1)
        floats = float_type(dtype)
        self._actions = Actions(self.task, per_group=per_group, discrete=discrete, normalise=normalise, dtype=floats)
        self.single_action_space = self._actions.space
        self.single_observation_space = self._observed = _observed(self.task, floats)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.render_mode = render_mode
        self._film = None if render_mode is None else Film(render_mode, self.task.name, self.rounds)
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
        if self._film is not None:
            self._film.start()
        self._rates = np.zeros((self.num_envs, self.task.environment.group_count))
        nothing = np.zeros((len(self.task.problem.names), self.num_envs))
        return self._observe(np.zeros(self.num_envs), nothing), {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a round in every loop, or start all again if the last one ended them."""
        never = np.zeros(self.num_envs, dtype=np.bool_)
        if self._ended:
            observations, info = self.reset()
            return observations, np.zeros(self.num_envs), never, never.copy(), info
        observations, rewards, self._ended, info = self.play("actions", actions, self.action_space)
        return observations, rewards, never, np.full(self.num_envs, self._ended), masked(info, self.num_envs)

    def render(self) -> tuple[Frame, ...] | None:
        """Return for each loop a picture (``"rgb_array"``) or a line of text (``"ansi"``) of the episode so far."""
        return None if self._film is None else tuple(self._film.frame(loop) for loop in range(self.num_envs))

    @property
    def played(self) -> int:
        """How many rounds of the episode have been played; 0 before the first reset."""
        return self.rounds - self._left if self._natures else 0

    def play(self, name: str, actions: Any, space: spaces.Space[Any]) -> tuple[Array, Array, bool, dict[str, Any]]:
        """Play a round by the actions of a space: observations, rewards, whether it was the last, and bare info."""
        thresholds = self._actions.thresholds(name, actions, space.shape or (), self.num_envs)
        if self._left == 0:
            raise ResetNeeded("step needs a reset before the first round and after the last one: call reset() first")
        parts = zip(self._blocks, self._loops, strict=True)
        rounds = [loop.play(Policy.of(thresholds[block])) for block, loop in parts]
        cells = np.concatenate([each.counts for each in rounds])
        probabilities = np.concatenate([each.probabilities for each in rounds])
        seen = np.nan_to_num(np.concatenate([each.feedback.reward for each in rounds]))  # 0 until a label arrives
        counts = Counts(cells)
        reward, residuals = self.task.problem.assess(np.stack((cells, probabilities)))  # batch and exact truth
        self._rates = np.where(counts.people > 0, counts.rates, self._rates)
        self._left -= 1
        info = describe(self.task.problem, counts, reward, residuals)
        info |= {"acceptance": self._rates.copy(), "thresholds": thresholds, "counts": cells}
        paid = seen - self.penalty * info["cost"]
        if self._film is not None:
            self._film.add(info, paid)
        return self._observe(seen, residuals[:, 0]), paid, self._left == 0, info

    def _observe(self, reward: Array, residuals: Array) -> Array:
        left = np.full((self.num_envs, 1), self._left / self.rounds)
        values = np.concatenate((self._rates, reward[:, None], residuals.T, left), axis=1)
        low, high = self._observed.low, self._observed.high
        return np.asarray(np.clip(values.astype(low.dtype), low, high))  # rounding may lead just beyond


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


def _observed(task: Task, dtype: Float) -> spaces.Box:
    """Return the space of one loop's observations, infinite only where a user's own reward or constraint is."""
    utility, groups = task.problem.utility, task.environment.group_count
    reward = (-math.inf, math.inf)
    if isinstance(utility, Utility):
        reward = (-float(np.max(utility.false_positive_cost)), 1.0)
    residuals = [pair for each in task.problem.constraints for pair in each.span(groups)]
    low, high = zip(*[(0.0, 1.0)] * groups, reward, *residuals, (0.0, 1.0), strict=True)
    return spaces.Box(np.array(low, dtype=dtype), np.array(high, dtype=dtype), dtype=dtype)
