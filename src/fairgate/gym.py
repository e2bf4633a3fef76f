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

Outcome = tuple[Array, Array, bool, dict[str, Any]]
"""Observations (replicates, …), rewards (replicates,), whether that was the last round, and info by name."""


class ThresholdEnv(gymnasium.Env[Array, Any]):
    r"""Choose thresholds round by round, in a world that answers back.

    Description
    -----------
    Every round a batch of people arrives, those whose score reaches the threshold are accepted, and who arrives next
    depends on who was accepted. What is wanted is reward; what is required is that every residual is at most 0.

    Action Space
    ------------
    ==============================  ======================================================================
    default                         ``Box(grid[0], grid[-1], (1,))``: one threshold for all groups
    ``per_group=True``              ``Box(grid[0], grid[-1], (groups,))``: one threshold per group
    ``discrete=True``               ``Discrete(K)``: number of the threshold in the grid, for all groups
    ``discrete=True``, per group    ``MultiDiscrete([K] * groups)``: one number per group
    ==============================  ======================================================================

    Thresholds of a ``Box`` beyond its ends are moved to the nearest end. Scores are rarely on a scale of −1 to 1;
    ``gymnasium.wrappers.RescaleAction(env, -1, 1)`` makes the action space so.

    Observation Space
    -----------------
    ``Box`` of groups + residuals + 2 numbers, in this order:

    ==========  ====================================================================================================
    groups      acceptance rate of each group in the last batch; a group with nobody in it keeps its last rate
    1           reward per person of the last batch, without penalty
    residuals   residuals of the last batch, in the order of ``task.problem.names``; met if at most 0
    1           share of the rounds that are left
    ==========  ====================================================================================================

    Rewards
    -------
    .. math:: r - penalty \cdot \sum_j \max(g_j, 0)

    with the batch's reward r per person and its residuals :math:`g_j`. Where labels come late, r is that of the labels
    that arrive in the round, as every learner of the package sees it. A batch's gap is too large on average, so the
    penalty bites somewhat early; the exact truth is in ``info``.

    After a step ``info`` holds ``batch_reward`` (of this batch's own labels), ``batch_residuals`` (by name),
    ``acceptance`` (groups,), ``gap``, ``population_reward`` and ``population_residuals`` (exact, in the state the
    people came from), ``thresholds`` (groups,) and ``counts`` (groups, label, decision); after a reset nothing.

    Starting State
    --------------
    The state of the task before anybody has been decided on. The observation is 0 but for the last number, 1.
    ``reset(seed=s)`` meets the same nature as ``simulate(task, …, seed=s, seeds=1)``, bit for bit.

    Episode End
    -----------
    Truncated after `rounds` rounds; never terminated.

    Arguments
    ---------
    task
        A :class:`~fairgate.Task` or the name of one.
    per_group, discrete
        See the action space.
    penalty
        Price of a unit of violation in units of reward.
    rounds
        Length of an episode.
    batch
        People per round.

    Version History
    ---------------
    v0: first version.

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
        self._game = _Game(task, 1, per_group, discrete, penalty, rounds, batch)
        self._natures: list[Nature] = []
        self.task = self._game.task
        self.action_space = self._game.action_space
        self.observation_space = self._game.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start again; without a `seed` the random numbers go on where they were."""
        super().reset(seed=seed)
        if seed is not None or not self._natures:
            self._natures = _natures(self.np_random_seed, 1)
            self._np_random = self._natures[0].generator
        return self._game.restart(self._natures, options)[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play a round."""
        thresholds = self._game.thresholds("action", action, self.action_space)
        observation, reward, last, info = self._game.play(thresholds)
        return observation[0], float(reward[0]), False, last, _first(info)


class FairgateVectorEnv(VectorEnv[Array, Any, NDArray[Any]]):
    """:class:`ThresholdEnv` many times over, stepped together in NumPy.

    Description
    -----------
    `num_envs` independent loops of one task. Spaces, rewards and info are those of :class:`ThresholdEnv` with an axis
    of loops in front. All loops start and end together.

    Starting State
    --------------
    ``reset(seed=s)`` meets the same nature as ``simulate(task, …, seed=s, seeds=num_envs)``, bit for bit.

    Episode End
    -----------
    All are truncated after `rounds` rounds. As ``AutoresetMode.NEXT_STEP`` asks, the step after that ignores its
    actions, starts again and gives reward 0.

    Arguments
    ---------
    task
        As in :class:`ThresholdEnv`; settings that vary by replicate must have `num_envs` values.
    num_envs
        Number of loops.
    per_group, discrete, penalty, rounds, batch
        As in :class:`ThresholdEnv`.

    Version History
    ---------------
    v0: first version.

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
        self._game = _Game(task, self.num_envs, per_group, discrete, penalty, rounds, batch)
        self._natures: list[Nature] = []
        self._ended = False
        self.task = self._game.task
        self.single_action_space = self._game.action_space
        self.single_observation_space = self._game.observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start all again; without a `seed` the random numbers go on where they were."""
        super().reset(seed=seed)
        if seed is not None or not self._natures:
            self._natures = _natures(self.np_random_seed, self.num_envs)
            self._np_random = self._natures[0].generator
        self._ended = False
        return self._game.restart(self._natures, options), {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a round in every loop, or start all again if the last one ended them."""
        never = np.zeros(self.num_envs, dtype=np.bool_)
        if self._ended:
            observations, info = self.reset()
            return observations, np.zeros(self.num_envs), never, never.copy(), info
        thresholds = self._game.thresholds("actions", actions, self.action_space)
        observations, rewards, self._ended, info = self._game.play(thresholds)
        return observations, rewards, never, np.full(self.num_envs, self._ended), _masked(info, self.num_envs)


class _Game:
    """The closed loop as both environments play it, with an axis of replicates."""

    def __init__(
        self,
        task: Task | str,
        replicates: int,
        per_group: bool,
        discrete: bool,
        penalty: float,
        rounds: int,
        batch: int,
    ) -> None:
        self.task = _checked_task(task, replicates)
        self.penalty = float(as_floats("penalty", penalty, ndim=0))
        if self.penalty < 0.0:
            raise InputError(f"penalty must be a finite number of at least 0, got {penalty!r}")
        self.rounds = whole_number("rounds", rounds, 1)
        self.batch = whole_number("batch", batch, 1)
        self.replicates, self.groups = replicates, self.task.environment.group_count
        self.discrete = discrete
        self.blocks = blocks_of(replicates)
        self.left = 0
        self.action_space = _action_space(self.task, per_group, discrete)
        self.low, self.high = _observed(self.task)
        self.observation_space: spaces.Space[Any] = spaces.Box(self.low, self.high, dtype=np.float64)

    def thresholds(self, name: str, actions: Any, space: spaces.Space[Any]) -> Array:
        """Return the thresholds (replicates, groups) that `actions` of a space, single or batched, stand for."""
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
        values = np.clip(values, grid[0], grid[-1]).reshape(self.replicates, -1)
        return np.array(np.broadcast_to(values, (self.replicates, self.groups)))

    def restart(self, natures: list[Nature], options: dict[str, Any] | None) -> Array:
        """Return to the start, to be played with these random numbers, one nature per block of replicates."""
        if options:
            raise InputError(f"options must be empty: nothing but the seed can be chosen at a reset, got {options!r}")
        parts = zip(self.blocks, natures, strict=True)
        self.loops = [Loop(self.task.rows(block), block.stop - block.start, self.batch, each) for block, each in parts]
        self.left = self.rounds
        self.rates = np.zeros((self.replicates, self.groups))
        return self._observe(np.zeros(self.replicates), np.zeros((len(self.task.problem.names), self.replicates)))

    def play(self, thresholds: Array) -> Outcome:
        """Draw a batch, decide on it by `thresholds` (replicates, groups), and move."""
        if self.left == 0:
            raise ResetNeeded("step needs a reset before the first round and after the last one: call reset() first")
        parts = zip(self.blocks, self.loops, strict=True)
        rounds = [loop.play(Policy.of(thresholds[block])) for block, loop in parts]
        cells = np.concatenate([each.counts for each in rounds])
        probabilities = np.concatenate([each.probabilities for each in rounds])
        seen = np.nan_to_num(np.concatenate([each.feedback.reward for each in rounds]))  # 0 until a label arrives
        problem, counts = self.task.problem, Counts(cells)
        (reward, true_reward), residuals = problem.assess(np.stack((cells, probabilities)))  # batch and exact truth
        self.rates = np.where(counts.people > 0, counts.rates, self.rates)
        self.left -= 1
        info = {
            "batch_reward": reward,
            "batch_residuals": dict(zip(problem.names, residuals[:, 0], strict=True)),
            "acceptance": self.rates.copy(),
            "gap": counts.gap,
            "population_reward": true_reward,
            "population_residuals": dict(zip(problem.names, residuals[:, 1], strict=True)),
            "thresholds": thresholds,
            "counts": cells,
        }
        paid = seen - self.penalty * violation(residuals[:, 0])
        return self._observe(seen, residuals[:, 0]), paid, self.left == 0, info

    def _observe(self, reward: Array, residuals: Array) -> Array:
        left = np.full((self.replicates, 1), self.left / self.rounds)
        values = np.concatenate((self.rates, reward[:, None], residuals.T, left), axis=1)
        return np.asarray(np.clip(values, self.low, self.high))  # rounding may lead just beyond


def _natures(seed: int | None, replicates: int) -> list[Nature]:
    """Return the random numbers, one nature per block of replicates, of ``simulate(seed=seed)``."""
    return [Nature(seed, number) for number in range(len(blocks_of(replicates)))]


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
