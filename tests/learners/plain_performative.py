"""The rules of EpochZerothOrder and PerformativeGradient line by line, each for one loop, in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.learners.plain_baselines import Known, PlainDwell


class PlainEpochZerothOrder(PlainDwell):
    def __init__(self, grid: list[float], *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.low, self.high = grid[0], grid[-1]
        self.x, self.k = settings["start_at"], 1
        self.looked = self.epoch_length - self.burn_in
        self.shown: list[Known] = []
        self.prices = [0.0] * len(self.epsilons)

    def pick(self, draw: Any) -> float:
        self.delta = self.settings["radius"] / self.k**0.25
        self.burn_in = self.settings["burn_in"]
        self.burn_in += math.ceil(self.settings["memory"] * math.log(self.settings["radius"] ** 2 / self.delta**2))
        self.epoch_length = self.burn_in + self.looked
        if not self.shown:
            self.u = 1.0 if draw == 1 else -1.0
        at = self.x + (self.u if not self.shown else -self.u) * self.delta
        return float(self.low + at * (self.high - self.low))

    def lagrangian(self, shown: Known) -> float:
        return shown[0] - sum(p * g for p, g in zip(self.prices, shown[1], strict=True))

    def digest(self, reward: float, residuals: list[float]) -> None:
        self.shown.append((reward, residuals))
        if len(self.shown) < self.settings["points"]:
            return
        values = [self.lagrangian(each) for each in self.shown]
        slope = self.u * (values[0] / self.delta if len(values) == 1 else (values[0] - values[1]) / (2 * self.delta))
        self.x = min(max(self.x + self.settings["step"] / self.k * slope, self.delta), 1 - self.delta)
        means = [sum(column) / len(values) for column in zip(*(each[1] for each in self.shown), strict=True)]
        b = self.settings["dual_step"] / math.sqrt(self.k)
        self.prices = [max(0.0, p + b * g) for p, g in zip(self.prices, means, strict=True)]
        self.shown, self.k = [], self.k + 1


class PlainPerformativeGradient:
    """Keeps every epoch and fits all lines again; thresholds need not be known to be feasible by any margin."""

    def __init__(self, grid: list[float], problem: Any, groups: int, **settings: Any) -> None:
        self.grid, self.problem, self.groups, self.settings = np.array(grid), problem, groups, settings
        self.at = [(each - grid[0]) / (grid[-1] - grid[0]) for each in grid]
        self.x, self.age, self.sides = settings["start_at"], 0, 0
        self.epochs: list[dict[str, Any]] = []
        self.curves = [[0.0, 0.0] for _ in range(groups)]
        first, last = grid[0] - (grid[1] - grid[0]), grid[-1] + (grid[-1] - grid[-2])
        self.ends = np.array([first, *grid, last])
        self.standard = np.arange(-4.0, 4.0625, 0.125)
        self.middles = self.standard[:-1] + 0.0625

    def choose(self, draw: Any) -> float:
        if self.age == 0:
            self.delta = self.settings["radius"] / (self.sides // 2 + 1) ** 0.25
            if self.sides % 2 == 0:
                self.u = 1.0 if draw == 1 else -1.0
            at = self.x + (self.u if self.sides % 2 == 0 else -self.u) * self.delta
            self.playing = self.grid[self.nearest(at)]
            self.people = np.zeros((self.groups, len(self.grid) + 1))
            self.labels = np.zeros((self.groups, len(self.grid) + 1, 2))
        return float(self.playing)

    def nearest(self, at: float) -> int:
        distances = [abs(each - at) for each in self.at]
        return distances.index(min(distances))

    def observe(self, people: Any, labels: Any) -> None:
        if self.age >= self.settings["burn_in"]:
            self.people += people
            self.labels += labels
        self.age += 1
        if self.age == self.settings["epoch_length"]:
            self.age = 0
            self.remember()
            self.sides += 1
            if self.sides % 2 == 0:
                self.move()

    def standardised(self, by_bin: Any, mean: float, sd: float) -> Any:
        """How many score at least so many standard deviations above the mean: all beyond −4, nobody beyond 4."""
        above = [float(by_bin[place:].sum()) for place in range(len(by_bin))] + [0.0]
        found = np.interp(mean + sd * self.standard, self.ends, above)
        found[0], found[-1] = above[0], 0.0
        return found

    def remember(self) -> None:
        """Keep the epoch, its labels beyond the curve before it, and fit the curves again."""
        middles, widths = (self.ends[1:] + self.ends[:-1]) / 2, np.diff(self.ends)
        for epoch in self.epochs:
            epoch["weight"] *= self.settings["discount"]
        known = {"weight": 1.0, "threshold": self.playing, "groups": []}
        for g in range(self.groups):
            n = self.people[g].sum()
            mean = sum(self.people[g] * middles) / n
            sd = math.sqrt(sum(self.people[g] * ((middles - mean) ** 2 + widths**2 / 12)) / n)
            labels = [self.standardised(self.labels[g, :, kind], mean, sd) for kind in (0, 1)]
            off, certain = self.surprise(g, labels)
            away = self.playing - self.mean_threshold(g) if self.epochs else 0.0
            mine = {"n": n, "mean": mean, "sd": sd, "shape": self.standardised(self.people[g], mean, sd)}
            mine |= {"labels": labels, "off": off.sum() * away, "certain": certain.sum() * away**2}
            known["groups"].append(mine)
        self.epochs.append(known)
        for g in range(self.groups):
            pooled = [sum(e["weight"] * e["groups"][g]["labels"][kind] for e in self.epochs) for kind in (0, 1)]
            for _ in range(5):
                off, certain = self.surprise(g, pooled)
                design = np.stack((np.ones(64), self.middles))
                gradient = design @ off - np.array(self.curves[g])
                step = np.linalg.solve((design * certain) @ design.T + np.eye(2), gradient)
                self.curves[g] = [c + min(max(s, -2.0), 2.0) for c, s in zip(self.curves[g], step, strict=True)]

    def surprise(self, g: int, labels: Any) -> tuple[Any, Any]:
        bad, good = (-np.diff(each) for each in labels)
        chance = 1 / (1 + np.exp(-self.curves[g][0] - self.curves[g][1] * self.middles))
        return good - (bad + good) * chance, (bad + good) * chance * (1 - chance)

    def mean_threshold(self, g: int) -> float:
        weights = [e["weight"] * e["groups"][g]["n"] for e in self.epochs]
        return float(np.average([e["threshold"] for e in self.epochs], weights=weights))

    def model(self, threshold: float) -> tuple[float, float]:
        """Reward and largest residual that a threshold would have."""
        cells = np.zeros((1, self.groups, 2, 2))
        for g in range(self.groups):
            mine = [e["groups"][g] for e in self.epochs]
            weights = np.array([e["weight"] * e["groups"][g]["n"] for e in self.epochs])
            away = np.array([e["threshold"] for e in self.epochs]) - self.mean_threshold(g)
            means, sds = (np.array([each[name] for each in mine]) for name in ("mean", "sd"))
            mean, sd = np.average(means, weights=weights), np.average(sds, weights=weights)
            here = threshold - self.mean_threshold(g)
            prior = sd**2
            slopes = [(weights * away * each).sum() / ((weights * away**2).sum() + prior) for each in (means, sds)]
            faded = [e["weight"] for e in self.epochs]
            tilt = sum(w * each["off"] for w, each in zip(faded, mine, strict=True))
            tilt /= sum(w * each["certain"] for w, each in zip(faded, mine, strict=True)) + prior
            shape = sum(w * each["shape"] for w, each in zip(faded, mine, strict=True)) / weights.sum()
            asked = (threshold - mean - slopes[0] * here) / max(sd + slopes[1] * here, 0.1 * sd)
            chance = 1 / (1 + np.exp(-self.curves[g][0] - self.curves[g][1] * self.middles))
            mass = -np.diff(shape)
            good = [float((mass * chance)[i:].sum()) for i in range(65)]
            more = [float((mass * chance * (1 - chance))[i:].sum()) for i in range(65)]
            rate, p, q = (float(np.interp(asked, self.standard, each)) for each in (shape, good, more))
            p = min(max(p + tilt * here * q, 0.0), rate)
            everybody = min(max(good[0] + tilt * here * more[0], p), 1.0)
            rejected = min(max(everybody - p, 0.0), 1 - rate)
            cells[0, g] = weights.sum() * np.array([[1 - rate - rejected, rate - p], [rejected, p]])
        found = self.problem.assess(cells / cells.sum())
        return float(found.reward[0]), float(found.residuals.max(initial=-1.0))

    def move(self) -> None:
        s = self.settings
        rewards, residuals = zip(*(self.model(threshold) for threshold in self.grid), strict=True)
        low, high = max(self.x - self.delta, 0.0), min(self.x + self.delta, 1.0)
        slope = (np.interp(high, self.at, rewards) - np.interp(low, self.at, rewards)) / (high - low)
        wanted = min(max(self.x + min(max(s["step"] * slope, -s["trust"]), s["trust"]), 0.0), 1.0)
        feasible = [i for i, g in enumerate(residuals) if g <= 1e-12]
        if self.nearest(wanted) not in feasible:
            least = residuals.index(min(residuals))
            wanted = self.at[min(feasible, key=lambda i: abs(self.at[i] - wanted)) if feasible else least]
        self.x += min(max(wanted - self.x, -s["trust"]), s["trust"])
