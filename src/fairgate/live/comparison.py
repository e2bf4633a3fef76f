"""Comparison: what a gate played beside what a simulation and the oracle say of the same task."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairgate.counts import Counts
from fairgate.policy import Policy
from fairgate.problem import Assessment
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.tail import TAIL
from fairgate.tasks import Task
from fairgate.thresholds import Point


class Standing(NamedTuple):
    """A policy in words, acceptance by group, gap and reward: exact means over some rounds."""

    policy: str
    acceptance: Array
    gap: float
    reward: float


def standing(run: Run, rounds: slice = slice(None)) -> Standing:
    """Return how a run stands in these rounds, over all its replicates."""
    counts = Counts(run.probabilities[:, rounds])
    return Standing(
        policy=_words(run, rounds),
        acceptance=counts.rates.mean(axis=(0, 1)),
        gap=float(counts.gap.mean()),
        reward=float(run.population.reward[:, rounds].mean()),
    )


def best_standing(task: Task, best: Point) -> Standing:
    """Return how the oracle's threshold stands in the long run."""
    shared = np.full((1, task.environment.group_count), best.threshold)
    counts = Counts(task.environment.long_run_cells(Policy.of(shared)))
    return Standing(f"{best.threshold:g}", counts.rates[0], best.gap, best.reward)


def _words(run: Run, rounds: slice) -> str:
    """Say which thresholds were played: the median, by group if they differ, and how often there was none."""
    played = run.thresholds[:, rounds].reshape(-1, run.thresholds.shape[2])
    drawn = np.isnan(played).any(axis=1)
    if drawn.all():
        return "lottery"
    middle = np.median(played[~drawn], axis=0).tolist()
    text = " / ".join(f"{each:g}" for each in (middle if len(set(middle)) > 1 else middle[:1]))
    return f"{text}, lottery in {drawn.mean():.0%}" if drawn.any() else text


class Final(NamedTuple):
    """A figure in the end: as played, of all simulated loops, and of the oracle (None if it has none)."""

    name: str
    played: float
    simulated: Array
    oracle: float | None

    @property
    def range(self) -> tuple[float, float]:
        """Where nine of ten simulated loops lie: few figures are spread as a normal law, so no sd is given."""
        low, high = np.quantile(self.simulated, (0.05, 0.95))
        return float(low), float(high)


def finals(run: Run, simulated: Run, best: Point) -> list[Final]:
    """Compare a run with a simulation: reward, gap and service of its last rounds, and its violation, all exact."""
    tail = min(TAIL, run.rounds)
    simulated = first_rounds(simulated, run.rounds)
    played = {name: float(values[0]) for name, values in run.per_replicate(tail).items()}
    expected = simulated.per_replicate(tail)
    return [
        Final("reward", played["population_reward"], expected["population_reward"], best.reward),
        Final("gap", played["population_gap"], expected["population_gap"], best.gap),
        Final("acceptance", played["acceptance"], expected["acceptance"], best.acceptance),
        Final("violation", played["population_violation"], expected["population_violation"], None),
    ]


def first_rounds(run: Run, rounds: int) -> Run:
    """Return the first rounds of a run, as if it had ended there."""

    def cut(found: Assessment) -> Assessment:
        return Assessment(found.reward[:, :rounds], found.residuals[..., :rounds])

    return replace(
        run,
        policies=Policy(run.policies.thresholds[:, :, :rounds], run.policies.weights[:, :, :rounds]),
        counts=run.counts[:, :rounds],
        probabilities=run.probabilities[:, :rounds],
        batch=cut(run.batch),
        population=cut(run.population),
        traces={name: values[:, :rounds] for name, values in run.traces.items()},
        final=None,
    )
