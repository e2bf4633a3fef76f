"""The baselines' rules line by line, each for one loop, in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

Known = tuple[float, list[float]]
"""A reward and the residuals."""


def gap(people: list[int], accepted: list[int]) -> float:
    rates = [a / n for a, n in zip(accepted, people, strict=True) if n > 0]
    return max(rates) - min(rates)


class PlainDwell:
    """Pools the rounds of an epoch; `epsilons` are the tolerances of parity residuals, None for the linear ones."""

    def __init__(self, epsilons: list[float | None], groups: int, **settings: Any) -> None:
        self.epsilons, self.groups, self.settings = epsilons, groups, settings
        self.epoch_length, self.burn_in = settings["epoch_length"], settings["burn_in"]
        self.m = 1
        self.clear()

    def clear(self) -> None:
        self.age, self.reward, self.residuals = 0, 0.0, [0.0] * len(self.epsilons)
        self.people, self.accepted = [0] * self.groups, [0] * self.groups

    def choose(self, draw: Any) -> float:
        """Play on, or pick again with the numbers that `draw` holds."""
        if self.age == 0:
            self.playing = self.pick(draw)
        return self.playing

    def observe(self, reward: float, residuals: list[float], people: list[int], accepted: list[int]) -> None:
        if self.age >= self.burn_in:
            self.reward += reward
            self.residuals = [total + g for total, g in zip(self.residuals, residuals, strict=True)]
            self.people = [total + n for total, n in zip(self.people, people, strict=True)]
            self.accepted = [total + n for total, n in zip(self.accepted, accepted, strict=True)]
        self.age += 1
        if self.age == self.epoch_length:
            counted = self.epoch_length - self.burn_in
            means = [total / counted for total in self.residuals]
            found = [
                mean if epsilon is None else gap(self.people, self.accepted) - epsilon
                for mean, epsilon in zip(means, self.epsilons, strict=True)
            ]
            self.digest(self.reward / counted, found)
            self.m += 1
            self.clear()

    def pick(self, draw: Any) -> float:
        raise NotImplementedError

    def digest(self, reward: float, residuals: list[float]) -> None:
        raise NotImplementedError


class PlainTwoPoint(PlainDwell):
    def __init__(self, grid: list[float], *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.low, self.high = grid[0], grid[-1]
        self.x, self.pair = settings["start_at"], 1
        self.first: Known | None = None
        self.prices = [0.0] * len(self.epsilons)

    def pick(self, draw: Any) -> float:
        self.delta = self.settings["radius"] * self.pair**-0.101
        if self.first is None:
            self.u = 1.0 if draw == 1 else -1.0
            at = self.x + self.u * self.delta
        else:
            at = self.x - self.u * self.delta
        return float(self.low + at * (self.high - self.low))

    def digest(self, reward: float, residuals: list[float]) -> None:
        if self.first is None:
            self.first = (reward, residuals)
            return
        plus = self.first[0] - sum(p * g for p, g in zip(self.prices, self.first[1], strict=True))
        minus = reward - sum(p * g for p, g in zip(self.prices, residuals, strict=True))
        a, b = self.settings["step"] * self.pair**-0.602, self.settings["dual_step"] * self.pair**-0.5
        moved = self.x + a * self.u * (plus - minus) / (2 * self.delta)
        self.x = min(max(moved, self.delta), 1 - self.delta)
        both = zip(self.prices, self.first[1], residuals, strict=True)
        self.prices = [max(0.0, p + b * (g0 + g1) / 2) for p, g0, g1 in both]
        self.first, self.pair = None, self.pair + 1


class PlainArms(PlainDwell):
    """Pooled reward, residuals and counts of each arm."""

    def __init__(self, grid: list[float], *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.grid, self.arms = grid, len(grid)
        self.n = [0] * self.arms
        self.r = [0.0] * self.arms
        self.g = [[0.0] * len(self.epsilons) for _ in grid]
        self.all_people = [[0] * self.groups for _ in grid]
        self.all_accepted = [[0] * self.groups for _ in grid]

    def pick(self, draw: Any) -> float:
        self.arm = self.pick_arm(draw)
        return self.grid[self.arm]

    def pick_arm(self, draw: Any) -> int:
        raise NotImplementedError

    def digest(self, reward: float, residuals: list[float]) -> None:
        i = self.arm
        self.n[i] += 1
        self.r[i] += (reward - self.r[i]) / self.n[i]
        self.all_people[i] = [a + b for a, b in zip(self.all_people[i], self.people, strict=True)]
        self.all_accepted[i] = [a + b for a, b in zip(self.all_accepted[i], self.accepted, strict=True)]
        for j, epsilon in enumerate(self.epsilons):
            if epsilon is None:
                self.g[i][j] += (residuals[j] - self.g[i][j]) / self.n[i]
            else:
                self.g[i][j] = gap(self.all_people[i], self.all_accepted[i]) - epsilon

    def best(self, rewards: list[float], residuals: list[list[float]], among: list[int]) -> int:
        feasible = [i for i in among if all(g <= 1e-12 for g in residuals[i])]
        if feasible:
            return max(feasible, key=lambda i: rewards[i])  # the first of equals
        return min(among, key=lambda i: sum(max(g, 0.0) for g in residuals[i]))

    def best_known(self) -> int:
        return self.best(self.r, self.g, [i for i in range(self.arms) if self.n[i] > 0])


class PlainExploreThenCommit(PlainArms):
    def pick_arm(self, draw: Any) -> int:
        if self.m <= self.arms:
            return self.m - 1
        if self.m == self.arms + 1:
            self.committed = self.best_known()
        return self.committed


class PlainEpsilonGreedy(PlainArms):
    def pick_arm(self, draw: Any) -> int:
        chance, anywhere = draw
        if self.m == 1 or chance < min(1.0, self.settings["exploration"] * self.arms / self.m):
            return int(anywhere)
        return self.best_known()


class PlainPessimisticOptimistic(PlainArms):
    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.queues = [0.0] * len(self.epsilons)

    def pick_arm(self, draw: Any) -> int:
        for i in range(self.arms):
            if self.n[i] == 0:
                return i
        scores = []
        for i in range(self.arms):
            b = self.settings["width"] * math.sqrt(math.log(1 + self.m)) / math.sqrt(self.n[i])
            score = self.r[i] + b
            for q, g in zip(self.queues, self.g[i], strict=True):
                lower = max(g - b, 0.0) if self.settings["rectified"] else g - b
                score -= q / (self.settings["trade_off"] * math.sqrt(self.m)) * lower
            scores.append(score)
        return scores.index(max(scores))

    def digest(self, reward: float, residuals: list[float]) -> None:
        super().digest(reward, residuals)
        if self.settings["rectified"]:
            residuals = [max(g, 0.0) for g in residuals]
        tightening = self.settings["tightness"] / math.sqrt(self.m)
        self.queues = [max(0.0, q + g + tightening) for q, g in zip(self.queues, residuals, strict=True)]


class PlainExp3PrimalDual(PlainArms):
    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.losses = [0.0] * self.arms
        self.prices = [0.0] * len(self.epsilons)

    def eta(self) -> float:
        return float(self.settings["rate"] * math.sqrt(math.log(self.arms) / (self.arms * self.m)))

    def pick_arm(self, draw: Any) -> int:
        least = min(self.losses)
        weights = [math.exp(-self.eta() * (loss - least)) for loss in self.losses]
        self.chances = [weight / sum(weights) for weight in weights]
        climbed = 0.0
        for i, chance in enumerate(self.chances):
            climbed += chance
            if draw < climbed:
                return i
        return self.arms - 1

    def digest(self, reward: float, residuals: list[float]) -> None:
        largest, i = self.settings["largest"], self.arm
        lagrangian = reward - sum(p * g for p, g in zip(self.prices, residuals, strict=True))
        loss = min(max((1 + largest - lagrangian) / (2 * (1 + largest)), 0.0), 1.0)
        self.losses[i] += loss / (self.chances[i] + self.eta() / 2)
        step = self.settings["dual_step"] / math.sqrt(self.m)
        self.prices = [min(largest, max(0.0, p + step * g)) for p, g in zip(self.prices, residuals, strict=True)]


class PlainBayesian(PlainArms):
    """The posterior is scikit-learn's."""

    def posterior(self) -> tuple[list[list[float]], list[float]]:
        """Means of each signal and standard deviation at every arm."""
        s = self.settings
        at = [(x - self.grid[0]) / (self.grid[-1] - self.grid[0]) for x in self.grid]
        played = [i for i in range(self.arms) if self.n[i] > 0]
        if not played:
            return [[0.0] * self.arms] * (1 + len(self.epsilons)), [s["amplitude"]] * self.arms
        process = GaussianProcessRegressor(
            ConstantKernel(s["amplitude"] ** 2) * RBF(s["length"]),
            optimizer=None,
            alpha=np.array([s["noise"] ** 2 / self.n[i] for i in played]),
        )
        process.fit(np.array([[at[i]] for i in played]), np.array([[self.r[i], *self.g[i]] for i in played]))
        means, sds = process.predict(np.array(at)[:, None], return_std=True)
        return means.T.tolist(), (sds if sds.ndim == 1 else sds[:, 0]).tolist()

    def pick_arm(self, draw: Any) -> int:
        (rewards, *residuals), sds = self.posterior()
        width = [self.settings["beta"] * sd for sd in sds]
        every = range(self.arms)
        start = round(self.settings["start_at"] * (self.arms - 1))
        trusted = [start] if all(g[start] - width[start] <= 1e-12 for g in residuals) else []
        safe = [i for i in every if i in trusted or all(g[i] + width[i] <= 1e-12 for g in residuals)]
        if not self.settings["safe"] or not safe:
            optimistic = [[g[i] - width[i] for g in residuals] for i in every]
            return self.best([rewards[i] + width[i] for i in every], optimistic, list(every))
        best = max(rewards[i] - width[i] for i in safe)
        worth = []
        for i in safe:
            beside = [k for k in (i - 1, i + 1) if 0 <= k < self.arms]
            if rewards[i] + width[i] >= best or any(k not in safe for k in beside):
                worth.append(i)
        return max(worth, key=lambda i: width[i])
