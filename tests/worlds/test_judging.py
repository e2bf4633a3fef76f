"""The board of random worlds: what 0 and 1 are, who is compared with whom, and that overfitting does not pay."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.bench.share import PRICE, PRICES, Yardsticks
from fairgate.bench.worlds.benchmark import run_worlds
from fairgate.bench.worlds.board import rank
from fairgate.bench.worlds.measures import measure
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.bench.worlds.terminal import show
from fairgate.learners import Learner
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.oracle.lottery import QUICK, best_lottery
from fairgate.policy import Policy
from fairgate.worlds.loading import load_world, task_of
from fairgate.worlds.reference import reference_of
from fairgate.worlds.shapes import JUDGING
from scripts.price_of_violation import SLACKS, exchange


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


def test_a_broken_constraint_has_its_price() -> None:
    world = load_world(6)
    task, rounds = task_of([world]), 50
    sticks = Yardsticks(*(np.full((1, rounds), value) for value in reference_of(task)))
    run = fg.simulate(task, fg.Fixed(0.0), rounds, 1, batch=1000)
    found = measure(run, task, sticks)
    could, broken = (sticks.lottery - sticks.fair).sum(), np.maximum(run.population.residuals, 0.0).sum()
    unpriced = (run.population.reward - sticks.fair).sum() / could
    assert broken > 0.0
    assert found["unpriced"][0] == pytest.approx(unpriced)
    assert found["share"][0] == pytest.approx(unpriced - PRICE * broken / could)


def test_the_best_policy_at_the_price_breaks_no_constraint() -> None:
    """The price is above what a unit of violation earns, in the long run and in the first round of each world."""
    found = np.array([exchange(number) for number in (0, 6, 17)])
    assert np.nanmax(found[:, :, 0]) < PRICE
    assert (found[:, :, 1:] < PRICE * np.array(SLACKS)).all()


class Opening:
    """Plays a uniform lottery for 20 rounds, then the best fixed lottery, which it knows.

    If told to break constraints, it plays the threshold that earns most in rounds 3 to 19.
    """

    policies = "lottery"

    def __init__(self, numbers: range, breaking: bool) -> None:
        self.breaking = breaking
        self.known: dict[float, tuple[float, Policy]] = {}
        for number in numbers:
            task = task_of([load_world(number)]).at(0)
            utility: Any = task.problem.utility
            grid = task.thresholds
            policy = Policy.shared(grid, task.environment.group_count)
            found = task.problem.assess(task.environment.cells(task.environment.start(len(grid)), policy))
            best = best_lottery(task, QUICK)[0].policy
            self.known[float(utility.false_positive_cost)] = float(grid[found.reward.argmax()]), best

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> dict[str, Any]:
        utility: Any = setting.problem.utility
        costs = np.broadcast_to(np.asarray(utility.false_positive_cost), (replicates,))
        greedy, best = zip(*(self.known[float(cost)] for cost in costs), strict=True)
        middle = acceptance_window(setting.problem, setting.groups).mean(axis=0)
        both = [Policy(each.thresholds[[0, -1]], each.weights[[0, -1]]) for each in best]
        for each in both:
            each.weights[1] = 1.0 - each.weights[0]
        return {
            "round": 0,
            "greedy": Policy.shared(greedy, setting.groups),
            "honest": Policy.uniform(np.broadcast_to(middle, replicates), setting.groups),
            "best": Policy(*(np.concatenate(each, axis=1) for each in zip(*both, strict=True))),
        }

    def propose(self, state: dict[str, Any]) -> Policy:
        state["round"] += 1
        opening = "greedy" if self.breaking and 3 <= state["round"] <= 19 else "honest"
        chosen: Policy = state[opening if state["round"] <= 20 else "best"]
        return chosen

    def observe(self, state: dict[str, Any], played: Policy, feedback: Any) -> None:
        pass


def test_a_learner_that_breaks_constraints_on_purpose_gains_nothing(tmp_path: Path) -> None:
    worlds = range(20)
    own = {"honest": Opening(worlds, breaking=False), "gaming": Opening(worlds, breaking=True)}
    found = run_worlds(tmp_path, worlds, [], own=own, rounds=200)
    figures = found.matrix.figures
    more = figures["gaming"]["violation"] - figures["honest"]["violation"] > 0.005  # a twentieth in each of 17 rounds
    assert more.sum() >= 6
    assert (figures["gaming"]["unpriced"] - figures["honest"]["unpriced"])[more].mean() > 0.02, (
        "what it breaks them for"
    )
    assert (figures["gaming"]["share"] < figures["honest"]["share"])[more].all()
    (level,) = found.board.levels
    assert [row.learner for row in found.board.levels[level]] == ["honest", "gaming"]


def made(shares: dict[str, list[float]], policies: dict[str, str]) -> WorldMatrix:
    count = len(next(iter(shares.values())))
    names = (
        "share", "unpriced", "unpriced_threshold", "tail_share", "violation", "feasible", "feasible_tail", "settled",
        "claimed_right", "claimed_wrong",
    )  # fmt: skip
    figures = {name: {each: np.array(values) for each in names} for name, values in shares.items()}
    for values in figures.values():
        values |= {name: np.zeros(count) for name in ("played", "played_by_score", "priced", "priced_threshold")}
    known = {"fair": 0.0, "threshold": 0.5, "lottery": 1.0, "least": 0.0, "feasible": 1.0, "hidden": 0.0}
    truth = {name: np.full(count, value) for name, value in known.items()}
    return WorldMatrix(range(count), figures, truth, {}, dict.fromkeys(shares, "bandit"), policies, policies)


def test_learners_are_compared_with_the_best_baseline_of_their_class() -> None:
    shares = {
        "ofs": [0.1, 0.2, 0.3], "random": [0.3, 0.4, 0.35], "mine": [0.5, 0.6, -9.0], "best-lottery": [0.6, 0.7, 0.8],
        "groups": [1.0, 1.0, 1.0],
    }  # fmt: skip
    policies = dict.fromkeys(shares, "threshold") | {
        "mine": "lottery",
        "best-lottery": "lottery",
        "groups": "per-group",
    }
    board = rank(made(shares, policies))
    assert board.baselines == {"bandit": {"threshold": "random", "lottery": "best-lottery"}}
    assert [(row.learner, row.among, row.rank) for row in board.levels["bandit"]] == [
        ("random", "threshold", 1), ("ofs", "threshold", 2), ("best-lottery", "lottery", 1), ("mine", "lottery", 2),
        ("groups", "per-group", 1),
    ]  # fmt: skip
    rows = {row.learner: row for row in board.levels["bandit"]}
    assert rows["mine"].share.value == pytest.approx((0.5 + 0.6 - 1.0) / 3)
    assert rows["mine"].worst_tenth == -9.0
    assert rows["ofs"].ahead is not None
    assert rows["ofs"].ahead.value == pytest.approx(0.2 - 0.35)
    assert rows["random"].ahead is None
    assert rows["mine"].ahead is not None
    assert rows["mine"].ahead.value == pytest.approx(0.1 / 3 - 0.7)
    assert rows["groups"].ahead is None, "no baseline of its class"
    assert board.threshold == 0.5
    for allowed, ranked in (("threshold", {"ofs", "random"}), ("lottery", set(shares) - {"groups"})):
        assert {row.learner for row in rank(made(shares, policies), allowed).levels["bandit"] if row.rank} == ranked


def test_ranks_are_shown_at_three_prices() -> None:
    shares = {"careful": [0.3] * 3, "bold": [0.6] * 3, "worst": [0.0] * 3}
    matrix = made(shares, dict.fromkeys(shares, "threshold"))
    matrix.figures["bold"]["priced"][:] = 0.05  # of a share of 0.6 it keeps 0.45, 0.1, and less than nothing
    rows = {row.learner: row for row in rank(matrix).levels["bandit"]}
    assert PRICES == (3.0, 10.0, 30.0)
    assert {name: row.ranks for name, row in rows.items()} == {
        "careful": (2, 1, 1),
        "bold": (1, 2, 3),
        "worst": (3, 3, 2),
    }
    assert [row.rank for row in rows.values()] == [1, 2, 3]
    assert rows["bold"].share.value == pytest.approx(0.1)


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
    """Ten worlds of each of five shapes that are all alike are five pieces of evidence, not fifty."""
    each = [0.1, 0.2, 0.3, 0.4, 0.5]
    matrix = made({"ofs": each * 10, "random": [0.0] * 50}, dict.fromkeys(("ofs", "random"), "threshold"))
    alike = replace(matrix, numbers=[10 * place + shape for place in range(10) for shape in range(5)])
    share = rank(alike).levels["bandit"][0].share
    assert share.value == pytest.approx(0.3)
    half = 2.776 * np.std(each, ddof=1) / np.sqrt(5)  # Student's t of four degrees of freedom
    assert share.high - share.value == pytest.approx(half, rel=1e-3)


def test_fewer_than_five_shapes_give_no_interval_and_no_test() -> None:
    matrix = made({"ofs": [0.1, 0.2, 0.3, 0.4], "random": [0.0] * 4}, dict.fromkeys(("ofs", "random"), "threshold"))
    board = rank(matrix)
    first, second = board.levels["bandit"]
    assert board.shapes == {"bandit": 4}
    assert np.isnan(first.share.low)
    assert np.isnan(first.share.high)
    assert second.p is None
    assert first.ahead is None, "the best baseline is not ahead of itself"
    assert second.ahead is not None
    assert np.isnan(second.ahead.low)
    console = Console(width=80, record=True, file=io.StringIO())
    show(board, {"settings": {"worlds": 4, "purpose": "development", "which": "0 to 3"}}, console)
    assert "Worlds of 4 shapes, fewer than 5: no intervals or tests." in console.export_text()


def test_what_is_played_counts_and_not_what_is_declared() -> None:
    names = ("ofs", "mine", "coin")
    matrix = made({name: [0.5, 0.6, 0.7] for name in names}, dict.fromkeys(names, "threshold"))
    matrix.figures["mine"]["played"][1] = 2.0
    rows = {row.learner: row for row in rank(matrix, "lottery").levels["bandit"]}
    assert rows["mine"].rank is None
    matrix.figures["mine"]["played_by_score"][1] = 2.0
    matrix.figures["coin"]["played"][:] = 1.0  # everybody with the same probability: it earns no more than share 0
    rows = {row.learner: row for row in rank(matrix).levels["bandit"]}
    assert {name: (row.policies, row.among) for name, row in rows.items()} == {
        "ofs": ("threshold", "threshold"), "mine": ("per-group", "per-group"), "coin": ("lottery", "threshold"),
    }  # fmt: skip


class Smuggler:
    """Searches a lottery of two thresholds and plays it, but for the last rounds, in which it plays one threshold."""

    level = "selective-labels"
    policies = "threshold"  # so it says

    def __init__(self) -> None:
        self.own = fg.SafeSearch(policies="lottery")

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"own": self.own.start(setting, replicates, rng), "round": 0}

    def propose(self, state: dict[str, Any]) -> Any:
        state["round"] += 1
        policy = self.own.propose(state["own"])
        if state["round"] <= 160:
            return policy
        first = policy.weights.argmax(axis=0)
        return np.take_along_axis(policy.thresholds, first[None, :, None], axis=0)[0]

    def observe(self, state: dict[str, Any], played: Policy, feedback: Any) -> None:
        self.own.observe(state["own"], played, feedback)


def test_a_learner_of_lotteries_cannot_be_ranked_among_those_of_one_threshold(tmp_path: Path) -> None:
    found = run_worlds(tmp_path, range(6), ["repeated-retraining"], own={"smuggler": Smuggler()}, rounds=200)
    rows = {row.learner: row for row in found.board.levels["selective-labels"]}
    assert (rows["smuggler"].among, rows["repeated-retraining"].among) == ("lottery", "threshold")


@pytest.mark.parametrize("name", ["repeated-retraining", "ofs:c=0.1"])
def test_nobody_takes_the_place_of_a_baseline_by_its_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(fg.InputError, match=f"learner '{name}' must have a name that no built-in learner has"):
        run_worlds(tmp_path, range(2), ["random"], own={name: Kept(Policy.uniform([0.5], 2))}, rounds=5)


def test_a_class_of_policies_that_there_is_not_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    strange = Kept(Policy.uniform([0.5], 2))
    strange.policies = "weird"
    with pytest.raises(fg.InputError, match="unknown policies of Kept 'weird'"):
        run_worlds(tmp_path, range(2), ["random"], own={"mine": strange}, rounds=5)


class Choosy(Kept):
    """Accepts everybody, and fails in the worlds of one cost."""

    def __init__(self, cost: float) -> None:
        super().__init__(Policy.of([[0.0, 0.0]]))
        self.cost = cost

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> Any:
        utility: Any = setting.problem.utility
        self.fails = bool((np.asarray(utility.false_positive_cost) == self.cost).any())
        return np.zeros((replicates, setting.groups))

    def propose(self, state: Any) -> Any:
        if self.fails:
            raise RuntimeError("not this one")
        return state


def test_one_world_that_a_learner_fails_in_counts_and_not_its_whole_block(tmp_path: Path) -> None:
    numbers = (4, 14, 24, 34)  # one shape, simulated side by side
    utility: Any = task_of([load_world(24)]).problem.utility
    found = run_worlds(
        tmp_path, numbers, ["random"], own={"choosy": Choosy(float(utility.false_positive_cost))}, rounds=5
    )
    shares = found.matrix.figures["choosy"]["share"]
    assert np.isnan(shares).tolist() == [False, False, True, False]
    [failure] = found.matrix.failures
    assert str(failure).startswith("learner 'choosy' failed on worlds-24-24: RuntimeError: not this one")
    assert {row.learner: row.lacking for row in found.board.levels["bandit"]} == {"random": 0, "choosy": 1}


def test_worlds_in_which_nobody_can_be_judged_are_refused_in_a_sentence(tmp_path: Path) -> None:
    """A learner that looks at nothing plays where a constraint asks for hidden labels, but is not judged there."""
    with pytest.raises(fg.InputError, match="none of these learners can be judged in any of these worlds"):
        run_worlds(tmp_path, [7], ["random"], rounds=5)


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
    names = ["smooth-optimist", "ofs", "random", "accept-all"]
    ranks = {}
    for place, worlds in (("development", development), ("judging", judging)):
        found = run_worlds(tmp_path / place, worlds, names, own=own, rounds=300)
        assert found.document["settings"]["purpose"] == place
        order = sorted(found.board.levels["bandit"], key=lambda row: -row.share.value)
        ranks[place] = [row.learner for row in order].index("memoriser") + 1
    assert ranks["development"] == 1
    assert ranks["judging"] >= 4


def test_every_learner_says_which_policies_it_plays() -> None:
    from fairgate.learners import LEARNERS, load_learner

    played = {name: load_learner(name).policies for name in LEARNERS if name != "fixed"}
    assert set(played.values()) <= {"threshold", "lottery", "per-group"}
    assert isinstance(load_learner("ofs"), Learner)
