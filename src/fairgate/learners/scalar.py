"""scalar: plug in a learner written in plain Python for one loop, without arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairgate.learners.base import Learner, arm_of
from fairgate.learners.state import State, encode
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.setting import Setting
from fairgate.settings import Array


class ScalarRule(Protocol):
    """A learner of one loop: made as ``Rule(grid, rng, **options)``, keeping its state in plain attributes."""

    def propose(self) -> float:
        """Return the threshold to play."""

    def observe(self, threshold: float, reward: float, residuals: list[float]) -> None:
        """Take in what playing `threshold` revealed."""


@dataclass
class ScalarState(State):
    """One rule per replicate."""

    rules: list[ScalarRule]


@dataclass(frozen=True)
class Scalar(Learner[ScalarState]):
    """Runs one plain rule per replicate; made by :func:`scalar`."""

    rule: type
    options: Mapping[str, Any]

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"scalar({self.rule.__name__}{options})"

    def describe(self) -> dict[str, Any]:
        """Return the rule's name and options."""
        return {"kind": self.rule.__name__, **encode(dict(self.options))}

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ScalarState:
        """Make one rule per replicate, each with random numbers of its own."""
        generators = common["rng"].spawn(common["replicates"])
        rules = [self.rule(setting.thresholds.tolist(), rng, **self.options) for rng in generators]
        return ScalarState(**common, rules=rules)

    def choose(self, state: ScalarState) -> Array:
        """Ask every rule."""
        return np.array([rule.propose() for rule in state.rules], dtype=np.float64)

    def learn(self, state: ScalarState, played: Policy, feedback: Feedback) -> None:
        """Tell every rule whose play was one threshold of the grid for all groups, and whose reward is known."""
        arm, known = arm_of(state.grid, played)
        told = zip(state.grid[arm].tolist(), feedback.reward.tolist(), feedback.residuals.T.tolist(), strict=True)
        for rule, ours, (threshold, reward, residuals) in zip(state.rules, known.tolist(), told, strict=True):
            if ours and reward == reward:  # not NaN, as where no label has arrived
                rule.observe(threshold, reward, residuals)


def scalar(rule: type, **options: Any) -> Scalar:
    """Make a learner from a plain class with ``propose()`` and ``observe(threshold, reward, residuals)``.

    The class is called as ``rule(grid, rng, **options)`` once per replicate, with the grid as a list and a NumPy
    random generator. If its attributes are arrays, generators and plain values, it can be saved and loaded.

    >>> import fairgate as fg
    >>> class Cautious:
    ...     def __init__(self, grid, rng, patience=1):
    ...         self.grid, self.arm, self.patience = grid, 0, patience
    ...     def propose(self):
    ...         return self.grid[self.arm]
    ...     def observe(self, threshold, reward, residuals):
    ...         if max(residuals) > 0 and self.arm < len(self.grid) - 1:
    ...             self.arm += 1          # violated: be stricter from now on
    >>> learner = fg.learners.scalar(Cautious, patience=2)
    >>> learner
    scalar(Cautious, patience=2)
    >>> fg.simulate(fg.load_task("mve-s"), learner, rounds=50, seeds=3).thresholds.shape
    (3, 50, 2)
    """
    return Scalar(rule, options)
