"""A world person by person, as its docstring tells it: what the tables of ResponsiveScores are checked against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.environments import ResponsiveScores

Array = NDArray[np.float64]


class PlainWorld:
    """One world; every person is drawn by themselves, and groups move one by one."""

    def __init__(self, environment: ResponsiveScores, rng: np.random.Generator) -> None:
        self.known: dict[str, Any] = {
            name: getattr(environment, name) for name in environment.__dataclass_fields__ if name not in ("low", "high")
        }
        self.groups, self.rng = environment.group_count, rng
        for name, value in self.known.items():
            if isinstance(value, tuple) and value == ():
                self.known[name] = np.zeros(self.groups)
        if np.size(environment.first_quality) == 0:
            self.known["first_quality"] = environment.quality
        self.quality = list(self.known["first_quality"])
        self.inflation = list(self.known["inflation"])
        self.relabelled = list(self.known["relabelled"])
        self.size = [1.0] * self.groups
        self.heard = [[0.5] * self.groups for _ in range(int(self.known["lag"]))]
        self.round = 0

    def people(self, count: int) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Draw group, presented score and label of everybody who comes."""
        k, rng = self.known, self.rng
        sizes = np.array([k["shares"][g] * self.size[g] for g in range(self.groups)])
        group = rng.choice(self.groups, size=count, p=sizes / sizes.sum())
        season = np.sin(2 * math.pi * self.round / k["period"])
        late = self.round >= k["jump_round"]
        quality = np.array([self.quality[g] + k["offset"][g] + k["swing"][g] * season + k["jump"][g] * late
                            for g in range(self.groups)])  # fmt: skip
        strong = rng.random(count) < np.clip(quality, 0, 1)[group]
        mean = np.where(strong, np.asarray(k["strong"])[group], np.asarray(k["weak"])[group])
        spread = np.asarray(k["sd"])[group] * np.where(rng.random(count) < k["outliers"], 3.0, 1.0)
        score = rng.normal(mean, spread)
        other = rng.random(count) < np.asarray(self.relabelled)[group]
        midpoint = np.asarray(k["midpoint"])[group] + np.where(other, k["label_shift"], 0.0)
        chance = 1.0 / (1.0 + np.exp(-np.asarray(k["slope"])[group] * (score - midpoint)))
        label = (rng.random(count) < chance).astype(np.int64)
        score = score + np.where(rng.random(count) < np.asarray(self.inflation)[group], k["lift"], 0.0)
        if k["ties"] > 0:
            score = np.floor(score / k["ties"]) * k["ties"]
        return group, score, label

    def move(
        self,
        group: NDArray[np.int64],
        label: NDArray[np.int64],
        accepted: NDArray[np.bool_],
        threshold: float | None,
    ) -> None:
        """Let everybody hear of a batch; `threshold` is None in a lottery."""
        k = self.known
        a, b = k["by_threshold"], k["by_outcome"]
        signal = []
        for g in range(self.groups):
            here = group == g
            rate = accepted[here].mean()
            outcome = 0.5 + ((accepted & (label == 1))[here].mean() - 2 * (accepted & (label == 0))[here].mean()) / 4
            bar = 1.0 - rate if threshold is None else min(max(0.5 + threshold / 6.0, 0.0), 1.0)
            signal.append((1 - a - b) * rate + a * bar + b * outcome)
        mean = np.average(signal, weights=[(group == g).sum() for g in range(self.groups)])
        signal = [each + k["cross"] * (mean - 0.5) for each in signal]
        self.heard.insert(0, signal)
        heard = self.heard.pop()
        for g in range(self.groups):
            for name in ("quality", "inflation", "relabelled"):
                state = getattr(self, name)
                target = min(max(k[name][g] + k[f"{name}_gain"][g] * (heard[g] - 0.5), 0.0), 1.0)
                state[g] += k["rate"] * (target - state[g])
            target = math.exp(k["participation_gain"][g] * (heard[g] - 0.5))
            self.size[g] += k["rate"] * (target - self.size[g])
        self.round += 1
