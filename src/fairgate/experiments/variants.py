"""Variants: each choice that the paper leaves open made otherwise, to see what rests on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from fairgate import learners, tasks
from fairgate.data import Dataset, features, load_dataset, score_model, scores
from fairgate.data.datasets import TABLES
from fairgate.errors import unknown_name
from fairgate.learners import OFS, BanditGradient, Learner, PrimalDual
from fairgate.learners.baselines.gradient import GradientState
from fairgate.learners.ofs import OFSState
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, Positive
from fairgate.tasks import Task

Preset = dict[str, Any]
Change = Callable[[Preset], None]
"""Changes a task's preset in place."""

Scale = Callable[[Array], Callable[[Array], Array]]
"""From all scores, what turns a score or a threshold into the new scale."""


def nothing(preset: Preset) -> None:
    """Leave the preset as it is."""


def unscaled(raw: Array) -> Callable[[Array], Array]:
    """Leave scores as they are."""
    return lambda values: values


def standardised(raw: Array) -> Callable[[Array], Array]:
    """Scores of mean 0 and standard deviation 1."""
    return lambda values: (values - raw.mean()) / raw.std()


def in_unit_interval(raw: Array) -> Callable[[Array], Array]:
    """Scores between 0 and 1."""
    return lambda values: (values - raw.min()) / (raw.max() - raw.min())


def probabilities(raw: Array) -> Callable[[Array], Array]:
    """Probabilities instead of logits."""
    return lambda values: np.asarray(expit(values))


def out_of_sample(dataset: Dataset) -> Array:
    """Score each fifth of the people by a model fitted to the others."""
    from sklearn.model_selection import cross_val_predict

    found = cross_val_predict(score_model(), features(dataset), dataset.labels, cv=5, method="decision_function")
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class TiesToTheHighest(OFS):
    """OFS where ties go to the highest index."""

    def choose(self, state: OFSState) -> Array:
        """Choose as OFS does, from a grid turned round."""
        turned = copy(state)
        turned.plays, turned.rewards = state.plays[:, ::-1], state.rewards[:, ::-1]
        turned.residuals = state.residuals[:, :, ::-1]
        chosen = np.searchsorted(state.grid, super().choose(turned))
        state.feasible = turned.feasible
        return np.asarray(state.grid[::-1][chosen])


@dataclass(frozen=True)
class OptimisticStart(OFS):
    """OFS whose estimates start at the best that can be: reward 1, residuals −1."""

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> OFSState:
        """Start with no plays and the best estimates."""
        state = super().remember(setting, common)
        state.rewards += 1.0
        state.residuals -= 1.0
        return state


@dataclass(frozen=True)
class EachOnceFirst(OFS):
    """OFS that first plays every threshold once, from the lowest."""

    def choose(self, state: OFSState) -> Array:
        """Play the next threshold of the first time through the grid, then choose as OFS does."""
        if state.rounds < len(state.grid):
            return np.full(state.replicates, state.grid[state.rounds])
        return super().choose(state)


@dataclass(frozen=True)
class CappedPrimalDual(BanditGradient):
    """PrimalDual with multipliers of at most `most`."""

    dual_step: Positive = 0.1
    most: Positive = 1.0

    traces: ClassVar[tuple[str, ...]] = PrimalDual.traces

    def loss(self, state: GradientState, reward: Array, residuals: Array) -> Array:
        """Return the Lagrangian at the current multipliers."""
        return np.asarray(-reward + (state.multipliers * residuals).sum(axis=0))

    def learn(self, state: GradientState, played: Policy, feedback: Feedback) -> None:
        """Move the centre, then the multipliers, within what is allowed."""
        super().learn(state, played, feedback)
        moved = state.multipliers + np.asarray(self.dual_step) * feedback.residuals
        state.multipliers = np.clip(moved, 0.0, np.asarray(self.most))


@dataclass(frozen=True)
class Variant:
    """One choice made otherwise.

    `choice` is its key in ``choices.toml``, `sentence` what is done instead, `change` changes each task's preset,
    `score` and `scale` are how the people of a dataset are scored, `kinds` are other classes of learners, and `rounds`
    a factor on the number of rounds.
    """

    choice: str
    sentence: str
    change: Change = nothing
    score: Callable[[Dataset], Array] = scores
    scale: Scale = unscaled
    kinds: Mapping[str, type[Learner[Any]]] | None = None
    rounds: float = 1.0


def put(path: str, value: Any) -> Change:
    """Put a value into the preset of every task that has one there."""
    *tables, key = path.split(".")

    def change(preset: Preset) -> None:
        for table in tables:
            preset = preset.get(table, {})
        if key in preset:
            preset[key] = value(preset[key]) if callable(value) else value

    return change


def times(path: str, factor: float) -> Change:
    """Multiply a number of every task that has it."""
    return put(path, lambda number: factor * number)


def every(*changes: Change) -> Change:
    """Make several changes."""

    def change(preset: Preset) -> None:
        for each in changes:
            each(preset)

    return change


def use(*columns: str) -> Change:
    """Let the score use these columns, where a table has them."""

    def change(preset: Preset) -> None:
        if "dataset" in preset:
            has = TABLES[preset["dataset"]].groups
            preset["features"] = [column for column in columns if column in has]

    return change


def both(key: str, change: Callable[[str, Any], Change], value: Any) -> Change:
    """Change a number of both gradient learners."""
    return every(*(change(f"learners.{who}.{key}", value) for who in ("unconstrained", "primal-dual")))


def steps(factor: float) -> Change:
    """Multiply the steps of the gradient learners that the paper does not print: all but PD's on German and COMPAS."""

    def change(preset: Preset) -> None:
        times("learners.unconstrained.step", factor)(preset)
        if "dataset" not in preset:
            times("learners.primal-dual.step", factor)(preset)

    return change


def mve_s(path: str, value: Any) -> Change:
    """Put a value into MVE-S alone."""

    def change(preset: Preset) -> None:
        if "dataset" not in preset:
            put(path, value)(preset)

    return change


COST, OFS_AT = "problem.false_positive_cost", "learners.ofs."

VARIANTS: dict[str, Variant] = {
    "": Variant("", "every choice as made"),
    "no-sex": Variant("features", "the score uses neither sex nor race", use()),
    "race": Variant("features", "the score uses race (COMPAS) but not sex", use("race")),
    "sex-race": Variant("features", "the score uses sex and race (COMPAS)", use("sex", "race")),
    "standardised": Variant("scale", "scores and grid standardised, steps and radii as they are", scale=standardised),
    "unit": Variant("scale", "scores and grid scaled to [0, 1], steps and radii as they are", scale=in_unit_interval),
    "probabilities": Variant("scale", "probabilities instead of logits", scale=probabilities),
    "out-of-sample": Variant("sample", "each fifth of the people scored by a model of the others", score=out_of_sample),
    "rounds-third": Variant("rounds", "a third of the rounds", rounds=1 / 3),
    "rounds-double": Variant("rounds", "twice the rounds", rounds=2.0),
    "grid-21": Variant("size", "21 thresholds", put("grid.size", 21)),
    "grid-81": Variant("size", "81 thresholds", put("grid.size", 81)),
    "c-0.05": Variant("c", "c = 0.05", put(f"{OFS_AT}c", 0.05)),
    "c-2": Variant("c", "c = 2", put(f"{OFS_AT}c", 2.0)),
    "delta-0.01": Variant("delta", "δ = 0.01", put(f"{OFS_AT}delta", 0.01)),
    "exploration-0": Variant("exploration", "no exploration", put(f"{OFS_AT}exploration", 0.0)),
    "exploration-0.1": Variant("exploration", "exploration 0.1", put(f"{OFS_AT}exploration", 0.1)),
    "ties-high": Variant("ties", "ties go to the highest index", kinds={"ofs": TiesToTheHighest}),
    "optimistic": Variant("estimates", "estimates start at reward 1, residuals −1", kinds={"ofs": OptimisticStart}),
    "each-once": Variant("estimates", "every threshold is played once first", kinds={"ofs": EachOnceFirst}),
    "cost-half": Variant("cost", "half the false-positive cost", times(COST, 0.5)),
    "cost-more": Variant("cost", "half as much again of the false-positive cost", times(COST, 1.5)),
    "split-0.5": Variant("split", "pools parted at the median", put("environment.split", 0.5)),
    "floor-0": Variant("floor", "floor 0", put("environment.floor", 0.0)),
    "ceiling-0.9": Variant("ceiling", "ceiling 0.9", put("environment.ceiling", 0.9)),
    "rate-0.05": Variant("rate", "rate 0.05", put("environment.rate", 0.05)),
    "rate-0.5": Variant("rate", "rate 0.5", put("environment.rate", 0.5)),
    "low-up": Variant("low", "the grid starts 0.5 higher", put("grid.low", lambda low: low + 0.5)),
    "high-up": Variant("high", "the grid ends 1 higher", put("grid.high", lambda high: high + 1.0)),
    "gain-1": Variant("gain", "MVE-S: gain 1", mve_s("environment.gain", 1.0)),
    "slope-2": Variant("slope", "MVE-S: slope 2", mve_s("environment.slope", 2.0)),
    "means-0.5": Variant("means", "MVE-S: groups one sd apart", mve_s("environment.means", [-0.5, 0.5])),
    "start-0.5": Variant("start", "U and PD start in the middle", both("start_at", put, 0.5)),
    "radius-double": Variant("radius", "U and PD: twice the radius", both("radius", times, 2.0)),
    "radius-half": Variant("radius", "U and PD: half the radius", both("radius", times, 0.5)),
    "step-triple": Variant("step", "U, and PD on MVE-S: three times the step", steps(3.0)),
    "capped": Variant("multipliers", "PD's multipliers are at most 1", kinds={"primal-dual": CappedPrimalDual}),
}
"""Every variant by its name; the one without a name is what was chosen."""


def variant_of(name: str) -> Variant:
    """Return a variant by its name."""
    if name not in VARIANTS:
        raise unknown_name("variant", name, VARIANTS)
    return VARIANTS[name]


def preset_of(task: str, variant: str) -> Preset:
    """Return a task's preset as a variant has it."""
    preset: Preset = deepcopy(tasks.presets()[task])
    variant_of(variant).change(preset)
    return preset


@cache
def _scores(score: Callable[[Dataset], Array], dataset: str, columns: tuple[str, ...]) -> Array:
    return score(load_dataset(dataset, features=columns))


@cache
def load_task(name: str, variant: str = "") -> Task:
    """Load a task of the paper as a variant has it; where it changes nothing of the task, the task itself.

    >>> load_task("german", "grid-21").thresholds.size
    21
    >>> load_task("german", "c-2") is load_task("german")
    True
    """
    made, preset, usual = variant_of(variant), preset_of(name, variant), tasks.presets()[name]
    same = all(preset[key] == usual[key] for key in usual if key != "learners")
    if same and ((made.score is scores and made.scale is unscaled) or "dataset" not in preset):
        return tasks.load_task(name)
    if "dataset" not in preset:
        return tasks.make_task(name, preset)
    raw = _scores(made.score, preset["dataset"], tuple(preset["features"]))
    scale, grid = made.scale(raw), preset["grid"]
    grid |= {end: float(scale(np.asarray(grid[end]))) for end in ("low", "high")}
    return tasks.make_task(name, preset, lambda dataset: scale(raw))


def load_learner(method: str, task: str, variant: str = "") -> Learner[Any]:
    """Make a learner with the settings that a variant has for a task.

    >>> load_learner("ofs", "german", "c-2").c
    2.0
    """
    kind: Any = (variant_of(variant).kinds or {}).get(method, learners.LEARNERS[method])
    made: Learner[Any] = kind(**preset_of(task, variant)["learners"][method])
    return made
