"""SmoothOptimist: optimistic in reward and in feasibility, learning from one threshold about its neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.memory import taught
from fairgate.core.learners.components.played import arm_played
from fairgate.core.learners.components.schedule import when
from fairgate.core.learners.components.smooth_response import SmoothResponse
from fairgate.core.learners.components.uniform import feasible_window
from fairgate.core.learners.components.worth import Worth, worth
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.core.special import ndtr, ndtri
from fairgate.problem import Feedback
from fairgate.random import Draws

SHORTEST, GROWTH = 3, 0.05
"""Rounds of the first epochs; later an epoch is a twentieth of the age, so that no choice costs more than that."""


@record
class Memory:
    """Estimates, and the current policy.

    Attributes
    ----------
    response
        Estimated response to every threshold.
    ends
        Round in which the next epoch begins, (). All loops share it, so that compiled code plans once per epoch.
    arm, probability, resting
        Index of the current threshold; probability of the uniform lottery, and whether it is played instead, ().
    infeasible, look
        Whether there is strong evidence that no threshold is feasible, and the round in which one is tried again.
    """

    response: SmoothResponse
    ends: Array
    arm: Array
    probability: Array
    resting: Array
    infeasible: Array
    look: Array


@record
class SmoothOptimist:
    """Search for the best feasible threshold, assuming that nearby thresholds have similar effects.

    :class:`fairgate.SmoothOptimist` documents the equations and the settings.
    """

    epoch_length: Array = 25
    optimism: Array = 2.0
    price: Array = 2.0
    margin: Array = 0.5
    risk: Array = 0.02
    lottery: Array = True

    level: ClassVar[str] = "bandit"

    def init(self, setting: Setting) -> Memory:
        """Begin in the middle of the grid, without data."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        zero, no, middle = xp.zeros(()), xp.zeros(()) > 0.0, xp.arange(arms)[arms // 2]
        ends = self.rounds(zero)
        response = SmoothResponse.unknown(setting).begun(middle, zero, ends)
        return Memory(response, ends, middle, zero, no, no, zero)

    def rounds(self, age: Array) -> Array:
        """Return the length in rounds of an epoch that starts at an age: a twentieth of the age, within bounds."""
        xp = namespace(age)
        return xp.clip(xp.ceil(GROWTH * age), xp.minimum(SHORTEST, self.epoch_length), self.epoch_length)

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Play the threshold of the epoch, or the uniform lottery."""
        return played_as(setting.grid[memory.arm], memory.resting, memory.probability)

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Learn from the round; after the last round of an epoch, evaluate the models and pick the next policy."""
        age = namespace(setting.grid).astype(draws.round[0], setting.grid.dtype)
        seen = memory.response.with_round(arm_played(setting.grid, played), age, feedback)
        memory = replace(memory, response=taught(feedback, memory.response, seen))
        over = age + 1.0 >= memory.ends
        found: Memory = when(over, lambda: self.planned(setting, memory, age + 1.0), lambda: memory)
        return found

    def planned(self, setting: Setting, memory: Memory, age: Array) -> Memory:
        """Return the memory after an epoch, with the policy from an age on."""
        xp, response = namespace(age), memory.response.ended()
        rates = response.steady()
        found = worth(setting.problem, rates)
        possible = found.residual - self.optimism * found.residual_error <= 0.0
        ratio, violation = infeasibility(found)
        price = self.price * xp.minimum(1.0, self.epoch_length / (GROWTH * age))
        hoped = xp.where(possible, found.reward + self.optimism * found.reward_error - price * violation, -xp.inf)
        looks = xp.log2(2.0 + age)  # doublings of the age; the sum of 1 / n (n + 1) over all n is 1
        strong = -ndtri(self.risk / (looks * (looks + 1.0)))
        waiting = memory.resting & (age < memory.look)  # no learning meanwhile
        infeasible = waiting | (ratio.min() > strong)
        again = infeasible & memory.infeasible & (age >= memory.look)
        least = xp.where(infeasible & ~again, found.residual.argmin(), ratio.argmin())
        arm = xp.where(possible.any(), hoped.argmax(), least)
        resting = infeasible & ~again & (xp.asarray(self.lottery) > 0)
        look = xp.where(infeasible & (again | ~memory.infeasible), 2.0 * age, memory.look)
        precisions, length = rates.positives / xp.maximum(rates.accepted, 1e-9), self.rounds(age)
        response = replace(response, rates=rates.accepted, precisions=precisions)
        response = response.begun(arm, age, xp.where(resting, 0.0, length))
        return Memory(response, age + length, arm, best_probability(setting, found), resting, infeasible, look)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the best threshold feasible by `margin` errors, else the least violating one or the lottery."""
        found = worth(setting.problem, memory.response.steady())
        hopeless = (found.residual > self.optimism * found.residual_error).all() & (self.lottery > 0)
        return played_as(setting.grid[found.best(self.margin)], hopeless, best_probability(setting, found))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return 1 where there is strong evidence that no threshold is feasible."""
        return {"infeasible": memory.infeasible * 1.0}


def best_probability(setting: Setting, found: Worth) -> Array:
    """Return the probability of the best feasible uniform lottery: the highest if accepting nearly all pays."""
    low, high = feasible_window(setting.problem, setting.groups)
    return namespace(found.reward).where(found.reward[0] > 0.0, high, low)


def played_as(threshold: Array, resting: Array, probability: Array) -> Policy:
    """Return one threshold for all groups, or the uniform lottery; both have two options, one possibly of weight 0."""
    xp = namespace(threshold)
    thresholds = xp.stack((xp.where(resting, -xp.inf, threshold), xp.full((), xp.inf)))
    accepted = xp.where(resting, probability, 1.0)
    return Policy.lottery(thresholds, xp.stack((accepted, 1.0 - accepted)))


def infeasibility(found: Worth) -> tuple[Array, Array]:
    """Return each residual in standard errors, and the expected violation E max(g, 0), (K,) each."""
    xp = namespace(found.residual)
    error = xp.maximum(found.residual_error, 1e-9)
    ratio = found.residual / error
    density = xp.exp(-0.5 * ratio**2) / math.sqrt(2.0 * math.pi)
    return ratio, error * (density + ratio * ndtr(ratio))
