"""One loop as a gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import logger
from numpy.typing import DTypeLike

from fairgate.gym.film import FPS, MODES, Frame
from fairgate.gym.info import first
from fairgate.gym.vector import ROUNDS, FairgateVectorEnv
from fairgate.settings import Array
from fairgate.tasks import Task


class ThresholdEnv(gymnasium.Env[Array, Any]):
    r"""Choose thresholds round by round, in a world that answers back.

    Every round a batch of people arrives, those whose score reaches the threshold are accepted, and who arrives next
    depends on who was accepted. What is wanted is reward; what is required is that every residual is at most 0.

    Action: thresholds in a ``Box`` between the ends of the grid, one or, with `per_group`, one per group; with
    `normalise`, the grid's ends are −1 and 1; with `discrete`, places in the grid.

    Observation: acceptance rate of each group, reward per person and residuals of the last batch, and the share of the
    rounds that are left. `dtype` is the type of observations and of actions in a ``Box``.

    Reward, with the batch's reward r per person and its residuals :math:`g_j`:

    .. math:: r - penalty \cdot \sum_j \max(g_j, 0)

    ``info`` has the batch's costs :math:`\max(g_j, 0)` and their sum, further figures and the exact truth. An episode
    is truncated after `rounds` rounds of `batch` people and never terminated. ``reset(seed=s)`` meets the same nature
    as ``simulate(task, …, seed=s, seeds=1)``, bit for bit.

    Examples
    --------
    >>> env = ThresholdEnv("interior", discrete=True)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(25)
    >>> info["thresholds"], info["batch_reward"], round(info["cost"], 3), round(reward, 3)
    (array([0.5, 0.5]), 0.16015625, 0.131, 0.029)
    """

    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": FPS}  # noqa: RUF012, declared so by gymnasium

    def __init__(
        self,
        task: Task | str,
        *,
        per_group: bool = False,
        discrete: bool = False,
        normalise: bool = False,
        dtype: DTypeLike = "float64",
        penalty: float = 1.0,
        rounds: int = ROUNDS,
        batch: int = 256,
        render_mode: str | None = None,
    ) -> None:
        self._loop = FairgateVectorEnv(
            task,
            per_group=per_group,
            discrete=discrete,
            normalise=normalise,
            dtype=dtype,
            penalty=penalty,
            rounds=rounds,
            batch=batch,
            render_mode=render_mode,
        )
        self.task = self._loop.task
        self.action_space = self._loop.single_action_space
        self.observation_space = self._loop.single_observation_space
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start again; without a `seed` the random numbers go on where they were."""
        super().reset(seed=seed)
        if self.spec is not None and self._loop.played == ROUNDS < self._loop.rounds:
            logger.warn(
                f"the episode was cut after {ROUNDS} of its {self._loop.rounds} rounds, where gymnasium.make truncates "
                f"{self.spec.id}: for longer ones, pass it max_episode_steps={self._loop.rounds} as well as rounds"
            )
        observations, info = self._loop.reset(seed=seed, options=options)
        self._np_random, self._np_random_seed = self._loop.np_random, self._loop.np_random_seed
        return observations[0], info

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Play a round."""
        observations, rewards, last, info = self._loop.play("action", action, self.action_space)
        return observations[0], float(rewards[0]), False, last, first(info)

    def render(self) -> Frame | None:
        """Return a picture (``"rgb_array"``) or a line of text (``"ansi"``) of the episode so far."""
        frames = self._loop.render()
        return None if frames is None else frames[0]
