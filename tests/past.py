"""A table of past decisions, and a learner that plays the threshold its history tells of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from fairgate.history import as_history
from fairgate.learners import Learner
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.setting import Setting
from fairgate.settings import Array


def past_table(people: int = 400, cut: float = 0.5, seed: int = 0, **changed: Any) -> dict[str, Any]:
    """Return a table of decisions by a threshold, outcomes known of the accepted."""
    rng = np.random.default_rng(seed)
    score = rng.random(people)
    accepted = score >= cut
    outcome = np.where(accepted, (rng.random(people) < score).astype(float), np.nan)
    group = np.where(rng.random(people) < 0.4, "f", "m")
    return {"score": score, "group": group, "accepted": accepted.astype(int), "outcome": outcome} | changed


@dataclass
class KeeperState(State):
    """Which threshold is kept, and how many labels were known before."""

    arm: Annotated[Any, "R"]
    labels: Annotated[Any, "R"]


@dataclass(frozen=True)
class Keeper(Learner[KeeperState]):
    """Plays the old threshold of its history; without one the lowest."""

    level: ClassVar[str] = "selective-labels"
    traces: ClassVar[tuple[str, ...]] = ("labels",)
    history: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", as_history(self.history))
        super().__post_init__()

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> KeeperState:
        replicates = common["replicates"]
        if self.history is None:
            nothing = np.zeros(replicates, dtype=np.int64)
            return KeeperState(**common, arm=nothing, labels=nothing)
        labels = sum(each.binned[1].sum(axis=(1, 2, 3)) for each in self.history.observations(setting, replicates))
        return KeeperState(**common, arm=self.history.old_policy(setting, replicates).shared, labels=labels)

    def choose(self, state: KeeperState) -> Array:
        return np.asarray(state.grid[state.arm])

    def learn(self, state: KeeperState, played: Policy, feedback: Feedback) -> None:
        pass
