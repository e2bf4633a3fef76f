"""The loop without a gate, as an operator would write it: propose, decide, count, observe. A gate agrees with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fairgate as fg
from fairgate.live import Spec
from fairgate.settings import Array


class Batch(NamedTuple):
    """People of a round, (N,) each."""

    ids: list[str]
    groups: NDArray[np.int64]
    scores: Array
    accepted: NDArray[np.bool_]


class PlainLoop:
    """A learner in memory, told of batches and of labels by application."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.setting = spec, spec.setting
        self.learner = spec.make_learner()
        self.state: Any = self.learner.start(self.setting, 1, np.random.default_rng(spec.seed))
        self.round = 0
        self.cases: dict[str, tuple[int, int, float]] = {}  # round, group and score of each application
        self.batches: dict[int, fg.Arrival] = {}  # whose labels are awaited
        self.awaited: dict[int, int] = {}

    def propose(self) -> fg.Policy:
        return self.learner.propose(self.state)

    def observe(self, played: fg.Policy, batch: Batch, labels: dict[str, int]) -> None:
        """Tell the learner of a round: its people, and the labels that arrived in it, by application."""
        for name, group, score in zip(batch.ids, batch.groups.tolist(), batch.scores.tolist(), strict=True):
            self.cases[name] = (self.round, group, score)
        counts = self._count(batch.scores, batch.groups, batch.accepted)
        nothing = np.zeros((1, self.setting.groups, 2), dtype=np.int64)
        self.batches[self.round] = fg.Arrival(self.round, played, nothing, counts.people, counts.accepted)
        self.awaited[self.round] = int(batch.accepted.sum())
        arrivals = [self._arrival(origin, labels) for origin in self._origins(labels)]
        feedback = self.setting.problem.reveal(counts, self.learner.level, arrivals, round_number=self.round)
        self.learner.observe(self.state, played, feedback)
        self.round += 1

    def _origins(self, labels: dict[str, int]) -> list[int]:
        return sorted({self.round, *(self.cases[name][0] for name in labels)})

    def _arrival(self, origin: int, labels: dict[str, int]) -> fg.Arrival:
        came = [(*self.cases[name][1:], label) for name, label in labels.items() if self.cases[name][0] == origin]
        groups, scores, known = (np.array(column) for column in zip(*came, strict=True)) if came else ([], [], [])
        counted = self._count(scores, groups, labels=known)
        self.awaited[origin] -= len(came)
        assert counted.binned is not None
        return self.batches[origin]._replace(labels=counted.binned[..., 1], last=self.awaited[origin] == 0)

    def _count(self, scores: Any, groups: Any, decisions: Any = None, labels: Any = None) -> fg.Counts:
        return fg.Counts.of_people(
            scores, groups, decisions, labels, grid=self.setting.thresholds, group_count=self.setting.groups
        )
