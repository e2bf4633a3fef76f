"""The board of random worlds: what 0 and 1 are, who is compared with whom, and that overfitting does not pay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.bench.share import Yardsticks
from fairgate.bench.worlds.benchmark import run_worlds
from fairgate.bench.worlds.board import rank
from fairgate.bench.worlds.measures import measure
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.learners import Learner
from fairgate.oracle.lottery import QUICK, best_lottery
from fairgate.policy import Policy
from fairgate.worlds.loading import load_world, task_of
from fairgate.worlds.reference import reference_of
from fairgate.worlds.shapes import JUDGING


class Kept:
    """Plays one policy for good."""

    policies = "lottery"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> int:
        return replicates

    def propose(self, state: int) -> Policy:
        return Policy(self.policy.thresholds.repeat(state, axis=1), self.policy.weights.repeat(state, axis=1))

    def observe(self, state: int, played: Policy, feedback: Any) -> None:
        pass


def test_the_best_lottery_has_a_share_of_one_and_the_fair_one_of_zero() -> None:
    world = load_world(6)
    assert world.words["changes"] == "nothing"
    task, rounds = task_of([world]), 400
    best = reference_of(task)
    sticks = Yardsticks(*(np.full((2, rounds), value) for value in best))
    lottery = best_lottery(task, QUICK)[0]
    run = fg.simulate(task, Kept(lottery.policy), rounds, 2, batch=5000)
    assert measure(run, task, sticks, "lottery")["tail_share"] == pytest.approx(1.0, abs=0.1)
    settled = measure(run, task, sticks, "lottery")["settled_share"]
    assert settled == pytest.approx((lottery.reward - best.fair) / (best.lottery - best.fair), abs=1e-6)
    nobody = fg.simulate(task, Kept(Policy.uniform([0.5], world.shape.groups)), rounds, 2, batch=5000)
    assert (measure(nobody, task, sticks, "lottery")["share"] <= 0.05).all()


def test_what_a_round_earns_beyond_the_fair_lottery_fades_as_a_constraint_is_broken() -> None:
    world = load_world(6)
    task, rounds = task_of([world]), 50
    sticks = Yardsticks(*(np.full((1, rounds), value) for value in reference_of(task)))
    run = fg.simulate(task, fg.Fixed(0.0), rounds, 1, batch=1000)
    kept = np.clip(1.0 - run.population.residuals.max(axis=0) / 0.01, 0.0, 1.0)
    found = measure(run, task, sticks)
    beyond = run.population.reward - sticks.fair
    earned = sticks.fair + np.where(beyond > 0, kept * beyond, beyond)
    share = (earned - sticks.fair).sum() / (sticks.lottery - sticks.fair).sum()
    assert found["share"][0] == pytest.approx(share)
    assert found["uncounted"][0] >= found["share"][0]


def made(shares: dict[str, list[float]], policies: dict[str, str]) -> WorldMatrix:
    count = len(next(iter(shares.values())))
    names = (
        "share", "share_threshold", "tail_share", "uncounted", "violation", "feasible", "feasible_tail", "settled",
        "claimed_right", "claimed_wrong",
    )  # fmt: skip
    figures = {name: {each: np.array(values) for each in names} for name, values in shares.items()}
    for values in figures.values():
        values["played"] = np.zeros(count)
    known = {"fair": 0.0, "threshold": 0.5, "lottery": 1.0, "least": 0.0, "feasible": 1.0, "hidden": 0.0}
    truth = {name: np.full(count, value) for name, value in known.items()}
    return WorldMatrix(range(count), figures, truth, {}, dict.fromkeys(shares, "bandit"), policies)


def test_learners_are_compared_with_the_best_baseline_and_ranked_among_what_is_allowed() -> None:
    shares = {"ofs": [0.1, 0.2, 0.3], "random": [0.3, 0.4, 0.35], "mine": [0.5, 0.6, -9.0], "groups": [1.0, 1.0, 1.0]}
    policies = {"ofs": "threshold", "random": "threshold", "mine": "lottery", "groups": "per-group"}
    board = rank(made(shares, policies))
    assert board.baselines == {"bandit": "random"}
    assert [(row.learner, row.rank) for row in board.levels["bandit"]] == [
        ("random", 1), ("ofs", 2), ("mine", 3), ("groups", None),
    ]  # fmt: skip
    rows = {row.learner: row for row in board.levels["bandit"]}
    assert rows["mine"].share.value == pytest.approx((0.5 + 0.6 - 1.0) / 3)
    assert rows["mine"].worst_tenth == -9.0
    assert rows["ofs"].ahead is not None
    assert rows["ofs"].ahead.value == pytest.approx(0.2 - 0.35)
    assert rows["random"].ahead is None
    assert board.threshold == 0.5
    assert {row.learner for row in rank(made(shares, policies), "threshold").levels["bandit"] if row.rank} == {
        "ofs", "random",
    }  # fmt: skip


def test_nobody_chooses_the_worlds_that_all_are_judged_in() -> None:
    """A world that a learner refuses counts as −1; one that its level cannot see or without yardstick, for nobody."""
    shares = {"ofs": [0.1, 0.2, 0.3, 0.4], "random": [0.3, np.nan, 0.35, 0.4]}
    matrix = made(shares, dict.fromkeys(shares, "threshold"))
    rows = {row.learner: row for row in rank(matrix).levels["bandit"]}
    assert rows["random"].lacking == 1
    assert rows["random"].share.value == pytest.approx((0.3 - 1.0 + 0.35 + 0.4) / 4)
    matrix.truth["hidden"][0], matrix.truth["lottery"][1] = 1.0, np.nan
    assert rank(matrix).worlds["bandit"].tolist() == [2, 3]


def test_intervals_are_over_shapes() -> None:
    """Ten worlds of each of two shapes that are all alike are two pieces of evidence, not twenty."""
    matrix = made({"ofs": [0.1, 0.5] * 10, "random": [0.0, 0.0] * 10}, dict.fromkeys(("ofs", "random"), "threshold"))
    alike = replace(matrix, numbers=[10 * place + shape for place in range(10) for shape in (0, 1)])
    share = rank(alike).levels["bandit"][0].share
    assert share.value == pytest.approx(0.3)
    assert share.high - share.value == pytest.approx(12.706 * 0.2, rel=1e-3)  # Student's t of one degree of freedom


def test_what_is_played_counts_and_not_what_is_declared() -> None:
    matrix = made({"ofs": [0.1, 0.2], "mine": [0.5, 0.6]}, dict.fromkeys(("ofs", "mine"), "threshold"))
    matrix.figures["mine"]["played"][1] = 2.0
    assert [row.rank for row in rank(matrix).levels["bandit"]] == [1, None]


class Memoriser:
    """Knows the best threshold of every world that it was made with, by its cost; elsewhere it accepts everybody."""

    def __init__(self, numbers: range) -> None:
        self.known: dict[float, float] = {}
        for number in numbers:
            task = task_of([load_world(number)]).at(0)
            utility: Any = task.problem.utility
            self.known[float(utility.false_positive_cost)] = fg.oracle(task, refine=False).best.threshold

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> np.ndarray:
        utility: Any = setting.problem.utility
        costs = np.broadcast_to(np.asarray(utility.false_positive_cost), (replicates,))
        thresholds = [self.known.get(float(cost), -np.inf) for cost in costs]
        return np.repeat(np.array(thresholds)[:, None], setting.groups, axis=1)

    def propose(self, state: np.ndarray) -> np.ndarray:
        return state

    def observe(self, state: np.ndarray, played: Policy, feedback: Any) -> None:
        pass


@pytest.mark.slow
def test_an_overfitted_learner_ranks_high_on_development_and_low_on_judging_worlds(tmp_path: Path) -> None:
    development, judging = range(16), range(JUDGING, JUDGING + 16)
    own = {"memoriser": Memoriser(development)}
    names = ["smooth-optimist", "random", "best-lottery", "accept-all"]
    ranks = {}
    for place, worlds in (("development", development), ("judging", judging)):
        found = run_worlds(tmp_path / place, worlds, names, own=own, rounds=300)
        assert found.document["settings"]["purpose"] == place
        ranks[place] = [row.learner for row in found.board.levels["bandit"]].index("memoriser") + 1
    assert ranks["development"] == 1
    assert ranks["judging"] >= 4


def test_every_learner_says_which_policies_it_plays() -> None:
    from fairgate.learners import LEARNERS, load_learner

    played = {name: load_learner(name).policies for name in LEARNERS if name != "fixed"}
    assert set(played.values()) <= {"threshold", "lottery", "per-group"}
    assert isinstance(load_learner("ofs"), Learner)
