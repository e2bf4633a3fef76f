"""The exploring policy: its rule against a plain transcription, estimates that are unbiased, labels that are late."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import ExploringPolicy, check_learner
from fairgate.problem import Arrival
from tests.reference import step


class PlainExploring:
    """One loop: every label is kept with its round and probability, and all estimates are made from scratch."""

    def __init__(self, task: fg.Task, explore: float, discount: float, width: float, estimate: str) -> None:
        self.problem, self.grid, self.groups = task.problem, task.thresholds, task.environment.group_count
        self.explore, self.discount, self.width, self.estimate = explore, discount, width, estimate
        self.bins = range(len(self.grid) + 1)
        self.people: list[dict[tuple[int, int], int]] = []  # by round: (group, bin) → how many
        self.labels: list[tuple[int, int, int, int, float]] = []  # round, group, bin, label, its probability

    def learn(self, scores: Any, labels: Any, chances: Any) -> None:
        now = len(self.people)
        self.people.append({(g, b): int(scores[g][b]) for g in range(self.groups) for b in self.bins})
        for g in range(self.groups):
            for b in self.bins:
                for y in (0, 1):
                    self.labels += [(now, g, b, y, float(chances[g][b]))] * int(labels[g][b][y])

    def positives(self) -> tuple[Any, Any]:
        """Discounted people, and the estimated share of positives, by (group, bin)."""
        last = len(self.people) - 1
        n: Any = defaultdict(float)
        good: Any = defaultdict(float)
        known: Any = defaultdict(float)
        for t, people in enumerate(self.people):
            for place, count in people.items():
                n[place] += self.discount ** (last - t) * count
        for t, g, b, y, chance in self.labels:
            good[g, b] += self.discount ** (last - t) * y / chance
            known[g, b] += self.discount ** (last - t) / chance
        overall = (sum(good.values()) + 0.5) / (sum(known.values()) + 1.0)
        found = {}
        for g in range(self.groups):
            for b in self.bins:
                curve = (sum(good[h, b] for h in range(self.groups)) + overall) / (
                    sum(known[h, b] for h in range(self.groups)) + 1.0
                )
                if n[g, b] == 0:
                    share = curve
                elif self.estimate == "ips":
                    share = good[g, b] / n[g, b]
                else:
                    share = curve + (good[g, b] - curve * known[g, b]) / n[g, b]
                found[g, b] = min(max(share, 0.0), 1.0)
        return n, found

    def read(self, rates: list[float], good: list[float], everybody: list[float], size: list[float]) -> Any:
        cells = np.zeros((1, self.groups, 2, 2))
        for g in range(self.groups):
            rejected = min(max(everybody[g] - good[g], 0.0), 1.0 - rates[g])
            cells[0, g] = [[1.0 - rates[g] - rejected, rates[g] - good[g]], [rejected, good[g]]]
            cells[0, g] *= size[g] / sum(size)
        found = self.problem.assess(cells)
        return float(found.reward[0]), float(found.residuals.max())

    def choose(self) -> float:
        n, share = self.positives()
        size = [sum(n[g, b] for b in self.bins) for g in range(self.groups)]
        everybody = [sum(n[g, b] * share[g, b] for b in self.bins) / size[g] for g in range(self.groups)]
        feasible: list[tuple[float, int]] = []
        others: list[tuple[float, int]] = []
        for i in range(len(self.grid)):
            rates, good, errors = [], [], []
            for g in range(self.groups):
                above = sum(n[g, b] for b in self.bins if b > i) / size[g]
                above_good = sum(n[g, b] * share[g, b] for b in self.bins if b > i) / size[g]
                rates.append(self.explore + (1.0 - self.explore) * above)
                good.append(self.explore * everybody[g] + (1.0 - self.explore) * above_good)
                weight = size[g] * (1.0 + self.discount) + 1.0
                errors.append(math.sqrt(max(rates[g] * (1.0 - rates[g]), 1.0 / weight) / weight))
            reward, residual = self.read(rates, good, everybody, size)
            variance = 0.0
            for g in range(self.groups):
                effects = []
                for sign in (-1.0, 1.0):
                    moved, better = list(rates), list(good)
                    moved[g] = min(max(rates[g] + sign * errors[g], 0.0), 1.0)
                    better[g] = min(max(good[g] + sign * good[g] / rates[g] * errors[g], 0.0), moved[g])
                    effects.append(abs(self.read(moved, better, everybody, size)[1] - residual))
                variance += max(effects) ** 2
            upper = round(residual + self.width * math.sqrt(variance), 12)
            (feasible if upper <= 0.0 else others).append((reward if upper <= 0.0 else -upper, -i))
        return float(self.grid[-max(feasible or others)[1]])


@pytest.mark.parametrize("estimate", ["ips", "dr"])
@pytest.mark.parametrize("name", ["interior", "compas-strict"])
def test_every_choice_is_the_one_the_plain_rule_makes(name: str, estimate: str) -> None:
    task, rng = fg.load_task(name), np.random.default_rng(3)
    learner = ExploringPolicy(explore=0.1, discount=0.9, epoch_length=3, opening=4, estimate=estimate)
    plain = PlainExploring(task, 0.1, 0.9, 1.0, estimate)
    state, world = learner.start(task.setting, 1, rng), task.environment.start(1)
    for t in range(34):
        policy = learner.propose(state)
        if t >= 4 and (t - 4) % 3 == 0:
            assert policy.thresholds[0, 0].tolist() == [plain.choose()] * 2, f"round {t}"
        if t >= 4:
            assert policy.thresholds[1, 0].tolist() == [-np.inf] * 2
            np.testing.assert_allclose(policy.weights[:, 0], [0.9, 0.1])
        world, cells = step(task.environment, world, policy, 60, rng, task.thresholds)
        feedback = task.problem.reveal(cells, "selective-labels")
        learner.observe(state, policy, feedback)
        scores, labels = feedback.observation.binned
        plain.learn(scores[0], labels[0], policy.accepted_share(task.thresholds)[0])


@pytest.mark.parametrize("estimate", ["ips", "dr"])
def test_it_keeps_the_contract(estimate: str) -> None:
    check_learner(ExploringPolicy(explore=0.3, opening=3, epoch_length=2, estimate=estimate))


def shares(estimate: str, explore: float, replicates: int, delayed: bool = False) -> Any:
    """Estimated shares of positives by group and bin after 20 rounds at a threshold: 0.3 and 0.7 by group in truth."""
    setting = fg.Setting(fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]), [0.0, 1.0], groups=2)
    learner = ExploringPolicy(explore=explore, discount=1.0, estimate=estimate)
    state = learner.start(setting, replicates, np.random.default_rng(0))
    rng, waiting = np.random.default_rng(1), list[Arrival]()
    for t in range(20):
        state.arm[:] = t % 2  # so the chance of the middle bin changes
        policy = learner.exploring(state)
        chance = policy.accepted_share(setting.thresholds)[..., None]
        people = rng.multinomial(60, [1 / 6] * 6, size=replicates).reshape(replicates, 2, 3)
        good = rng.binomial(people, np.array([[0.3], [0.7]]))
        labelled = np.stack((people - good, good), axis=-1)
        accepted = rng.binomial(labelled, chance)
        cells = np.stack((labelled - accepted, accepted), axis=-1)
        arrivals = None
        if delayed:  # half of the labels are lost, and the others of two rounds arrive together
            seen = rng.binomial(accepted, 0.5)
            waiting.append(Arrival(t, policy, seen, people.sum(axis=2), accepted.sum(axis=(2, 3)), last=True))
            arrivals = waiting if t % 2 == 1 else []
            waiting = [] if t % 2 == 1 else waiting
        learner.observe(state, policy, setting.problem.reveal(cells, "selective-labels", arrivals, None, t))
    return learner.positives(state)


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("estimate", ["ips", "dr"])
def test_estimates_are_right_in_the_mean_also_where_few_are_accepted(estimate: str, delayed: bool) -> None:
    """2000 loops: within 0.02, where a share among the rejected that nobody explores would be unknown."""
    found = shares(estimate, 0.3, 2000, delayed).mean(axis=0)
    np.testing.assert_allclose(found, np.array([[0.3] * 3, [0.7] * 3]), atol=0.02)


def test_doubly_robust_estimates_vary_less() -> None:
    spread = {estimate: shares(estimate, 0.3, 500).std(axis=0)[:, 0] for estimate in ("ips", "dr")}
    assert (spread["dr"] < spread["ips"]).all()


def test_everybody_has_a_chance_in_every_round() -> None:
    task = fg.load_task("german")
    run = fg.simulate(task, fg.load_learner("exploring-ips"), rounds=200, seeds=2)
    lowest = run.played().accepted_share(task.thresholds).min()
    assert lowest == pytest.approx(0.05)


def test_it_finds_its_way_out_of_a_threshold_that_shows_no_label_of_the_good() -> None:
    """All below the threshold in play are good. Without exploring nobody would know; with it, the threshold falls."""
    setting = fg.Setting(fg.Problem(fg.Utility(1.0)), [0.0, 1.0, 2.0], groups=1)
    learner = ExploringPolicy(opening=1, epoch_length=1)
    state = learner.start(setting, 1, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    state.seen[:] = 1
    state.arm[:] = 2
    played = []
    policy = learner.exploring(state)
    for _ in range(60):
        people = np.full((1, 1, 4), 40)
        accepted = rng.binomial(people, policy.accepted_share(setting.thresholds))
        cells = np.zeros((1, 1, 4, 2, 2), dtype=np.int64)
        good = np.array([1, 1, 1, 0])  # only the highest scores are bad
        for label in (0, 1):
            here = good == label
            cells[0, 0, here, label, 1] = accepted[0, 0, here]
            cells[0, 0, here, label, 0] = (people - accepted)[0, 0, here]
        learner.observe(state, policy, setting.problem.reveal(cells, "selective-labels"))
        policy = learner.propose(state)
        played.append(float(policy.thresholds[0, 0, 0]))
    assert played[-1] == 0.0


def test_settings_are_checked() -> None:
    with pytest.raises(fg.InputError, match="unknown ExploringPolicy: estimate 'snips'"):
        ExploringPolicy(estimate="snips")
    with pytest.raises(fg.InputError, match=r"ExploringPolicy: explore must be in \(0, 1\], got 0"):
        ExploringPolicy(explore=0.0)
    with pytest.raises(fg.InputError, match="ExploringPolicy: opening must be a whole number of at least 1"):
        ExploringPolicy(opening=0)
