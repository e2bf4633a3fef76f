"""gym: every task as a gymnasium environment, one loop or many at once.

Importing this package registers one id per task, such as ``fairgate/Compas-v0``; see :func:`env_id`.
"""

from __future__ import annotations

try:
    import gymnasium
except ModuleNotFoundError:
    raise ModuleNotFoundError("fairgate.gym needs gymnasium: pip install 'fairgate[gym]'", name="gymnasium") from None

from fairgate.gym.single import ThresholdEnv
from fairgate.gym.vector import ROUNDS, FairgateVectorEnv
from fairgate.tasks import presets

__all__ = ["FairgateVectorEnv", "ThresholdEnv", "env_id"]


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
            max_episode_steps=ROUNDS,
            kwargs={"task": _name},
        )
