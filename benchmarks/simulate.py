"""Time fairgate beside a person-by-person loop and two bandit libraries, on one core, in one process.

    python benchmarks/simulate.py                               # COMPAS, about a minute
    python benchmarks/simulate.py --task mve-s --json mve.json  # another task; the figures also as JSON

A rate is rounds per second, one round of one replicate being one round. Every contender gets several short
repeats, in turn with all the others so that a slow moment of the machine hits them alike, and its best one counts.
Rates are by processor time of this one-threaded process, start-up of processes by the clock on the wall.
`benchmarks/README.md` tells what each line means. Needs ``pip install fairgate[bench]``.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # one core; numpy reads it once

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from river import bandit

import fairgate as fg
from fairgate.environments import ScorePools
from fairgate.tasks import presets

REPEATS = 20
SECONDS = 0.1
"""Length of one repeat of a contender whose number of rounds is not given."""
PEOPLE = 256
MANY_PEOPLE = 1_000_000

Array = NDArray[np.float64]
Batch = tuple[NDArray[np.int64], Array, NDArray[np.int64]]  # group, score and label of each person


# The person-by-person loop: what a paper's script would have, one replicate, arrays over the people of a batch.


class People(Protocol):
    """Who arrives in the person-by-person loop."""

    def draw(self, n: int, rng: np.random.Generator) -> Batch:
        """Return group, score and label of `n` people."""

    def update(self, rates: Array) -> None:
        """Move by the groups' acceptance rates, NaN for a group with nobody in the batch."""


class PoolPeople:
    """People of a table, each group mixed from a low and a high pool."""

    def __init__(self, table: ScorePools, settings: dict[str, Any]) -> None:
        self.scores = np.asarray(table.scores, dtype=np.float64)
        self.labels = np.asarray(table.labels, dtype=np.int64)
        groups = np.asarray(table.groups, dtype=np.int64)
        self.shares = np.bincount(groups) / len(groups)
        self.floor, self.span = settings["floor"], settings["ceiling"] - settings["floor"]
        self.rate = settings["rate"]
        self.weights = np.full(len(self.shares), 1.0 - settings["split"])
        self.pools = []
        for g in range(len(self.shares)):
            cut = np.quantile(self.scores[groups == g], settings["split"])
            low, high = (groups == g) & (self.scores <= cut), (groups == g) & (self.scores > cut)
            self.pools.append((np.flatnonzero(low), np.flatnonzero(high)))

    def draw(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw groups by share, pools by weight, then people uniformly from each pool."""
        group = rng.choice(len(self.shares), size=n, p=self.shares)
        high = rng.random(n) < self.weights[group]
        person = np.empty(n, dtype=np.int64)
        for g, pools in enumerate(self.pools):
            for is_high, pool in enumerate(pools):
                mask = (group == g) & (high == is_high)
                person[mask] = rng.choice(pool, size=mask.sum())
        return group, self.scores[person], self.labels[person]

    def update(self, rates: Array) -> None:
        """Move the weights of the high pools."""
        moved = self.weights + self.rate * (self.floor + self.span * rates - self.weights)
        self.weights = np.where(np.isnan(rates), self.weights, np.clip(moved, 0.0, 1.0))


class TunedPoolPeople(PoolPeople):
    """The same people drawn with look-ups in place of masks, as somebody who has profiled the loop would."""

    def __init__(self, table: ScorePools, settings: dict[str, Any]) -> None:
        super().__init__(table, settings)
        self.edges = self.shares.cumsum()[:-1]
        self.sizes = np.array([len(pool) for pools in self.pools for pool in pools])
        self.firsts = self.sizes.cumsum() - self.sizes
        self.everybody = np.concatenate([pool for pools in self.pools for pool in pools])

    def draw(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw groups, pools and people by one uniform number each."""
        group = np.searchsorted(self.edges, rng.random(n), side="right")
        pool = 2 * group + (rng.random(n) < self.weights[group])
        person = self.everybody[self.firsts[pool] + (rng.random(n) * self.sizes[pool]).astype(np.int64)]
        return group, self.scores[person], self.labels[person]


class GaussianPeople:
    """People with normal scores whose group means follow the acceptance rates."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.means, self.sd = np.array(settings["means"]), np.array(settings["sd"])
        self.shares, self.gain, self.rate = np.array(settings["shares"]), settings["gain"], settings["rate"]
        self.slope, self.midpoint = settings["slope"], settings["midpoint"]
        self.mu = self.means.copy()

    def draw(self, n: int, rng: np.random.Generator) -> Batch:
        """Draw groups by share, then scores, then labels."""
        group = rng.choice(len(self.shares), size=n, p=self.shares)
        score = rng.normal(self.mu[group], self.sd[group])
        positive = rng.random(n) < 1.0 / (1.0 + np.exp(-self.slope * (score - self.midpoint)))
        return group, score, positive.astype(np.int64)

    def update(self, rates: Array) -> None:
        """Move the means."""
        moved = self.mu + self.rate * (self.means + self.gain * (rates - 0.5) - self.mu)
        self.mu = np.where(np.isnan(rates), self.mu, moved)


class PlainOFS:
    """OFS for one replicate, line by line as the paper's Algorithm 1 has it."""

    def __init__(self, arms: int, residuals: int, exploration: float = 0.03) -> None:
        self.c, self.delta, self.exploration = 0.5, 0.05, exploration
        self.plays, self.rewards, self.residuals = np.zeros(arms), np.zeros(arms), np.zeros((residuals, arms))

    def choose(self, t: int, rng: np.random.Generator) -> int:
        """Pick the threshold of round `t` (lines 4 to 8)."""
        arms = len(self.plays)
        if rng.random() < self.exploration:
            return int(rng.integers(arms))
        radius = np.sqrt(self.c * math.log((t + 1) * arms / self.delta) / np.maximum(1.0, self.plays))
        upper = self.residuals + radius
        feasible = (upper <= 0.0).all(axis=0)
        if feasible.any():
            return int(np.where(feasible, self.rewards + radius, -np.inf).argmax())
        return int(np.maximum(upper, 0.0).sum(axis=0).argmin())

    def learn(self, arm: int, reward: float, residuals: list[float]) -> None:
        """Update the played threshold's count and means (line 10)."""
        self.plays[arm] += 1.0
        self.rewards[arm] += (reward - self.rewards[arm]) / self.plays[arm]
        self.residuals[:, arm] += (residuals - self.residuals[:, arm]) / self.plays[arm]


def people_of(task: fg.Task, *, tuned: bool = False) -> People:
    """Make the people of one of the paper's tasks."""
    settings = presets()[task.name]["environment"]
    if isinstance(task.environment, ScorePools):
        return TunedPoolPeople(task.environment, settings) if tuned else PoolPeople(task.environment, settings)
    return GaussianPeople(settings)


def person_by_person(task: fg.Task, people: People, rounds: int, seed: int, threshold: float | None = None) -> Array:
    """Run the loop, with OFS or a fixed `threshold`; return threshold, reward and residuals of every round."""
    rng = np.random.default_rng(seed)
    wanted = presets()[task.name]["problem"]
    cost, epsilon, service = wanted["false_positive_cost"], wanted["parity"], wanted.get("service")
    learner = PlainOFS(len(task.thresholds), len(task.problem.names))
    kept = np.empty((rounds, 2 + len(task.problem.names)))
    for t in range(rounds):
        arm = learner.choose(t + 1, rng)
        theta = task.thresholds[arm] if threshold is None else threshold
        group, score, label = people.draw(PEOPLE, rng)
        accepted = score >= theta
        reward = (np.sum(accepted & (label == 1)) - cost * np.sum(accepted & (label == 0))) / PEOPLE
        masks = [group == g for g in range(task.environment.group_count)]
        rates = np.array([accepted[mask].mean() if mask.any() else np.nan for mask in masks])
        residuals = [np.nanmax(rates) - np.nanmin(rates) - epsilon]
        if service:
            residuals += [service[0] - accepted.mean(), accepted.mean() - service[1]]
        learner.learn(arm, reward, residuals)
        people.update(rates)
        kept[t] = theta, reward, *residuals
    return kept


def check_same_rule(task: fg.Task, rounds: int = 500) -> None:
    """Stop unless the plain OFS chooses what fairgate's does, round by round, when it sees what that one saw."""
    ours, plain = fg.OFS(), PlainOFS(len(task.thresholds), len(task.problem.names))
    if (ours.c, ours.delta, ours.exploration) != (plain.c, plain.delta, plain.exploration):
        raise SystemExit(f"the plain OFS has other settings than {ours!r}")
    run = fg.simulate(task, fg.OFS(exploration=0.0), rounds=rounds, seeds=1)
    plain, rng = PlainOFS(len(task.thresholds), len(task.problem.names), exploration=0.0), np.random.default_rng(0)
    for t in range(rounds):
        arm = plain.choose(t + 1, rng)
        if task.thresholds[arm] != run.thresholds[0, t, 0]:
            raise SystemExit(
                f"in round {t + 1} the plain OFS plays {task.thresholds[arm]:g}, fairgate's {run.thresholds[0, t, 0]:g}"
            )
        plain.learn(arm, run.batch.reward[0, t], run.batch.residuals[:, 0, t].tolist())


def check_same_law(task: fg.Task, loops: int = 40, rounds: int = 60) -> None:
    """Stop unless the person-by-person loops and `fg.simulate` agree: what is timed must be the same job.

    Mean threshold, reward and residuals of whole runs must lie within 4 standard errors of each other.
    """
    third = len(task.thresholds) // 3
    plays: list[float | None] = [None, float(task.thresholds[third]), float(task.thresholds[2 * third])]
    names = ("threshold", "reward", *task.problem.names)
    for threshold in plays:
        learner = fg.OFS() if threshold is None else fg.Fixed(threshold)
        run = fg.simulate(task, learner, rounds=rounds, seeds=10 * loops, batch=PEOPLE)
        ours = np.array([run.thresholds[:, :, 0], run.batch.reward, *run.batch.residuals]).mean(axis=2)
        for tuned in (False, True):
            seeds = range(loops)
            theirs = np.array(
                [person_by_person(task, people_of(task, tuned=tuned), rounds, s, threshold).mean(axis=0) for s in seeds]
            ).T
            error = np.sqrt(ours.var(axis=1, ddof=1) / ours.shape[1] + theirs.var(axis=1, ddof=1) / loops)
            apart = np.abs(ours.mean(axis=1) - theirs.mean(axis=1))
            wrong = np.flatnonzero(apart > 4.0 * error + 1e-9)
            if wrong.size:
                j = int(wrong[0])
                raise SystemExit(
                    f"{learner!r}: mean {names[j]} is {ours[j].mean():.4f} in fg.simulate but {theirs[j].mean():.4f} "
                    f"person by person, {apart[j] / error[j]:.1f} standard errors apart: they do not do the same job"
                )


# The two libraries: UCB over the same grid.


class Policy(Protocol):
    """A bandit library's way to choose an arm and to learn."""

    def choose(self) -> int:
        """Return an arm."""

    def learn(self, arm: int, reward: float) -> None:
        """Take in the reward of an arm."""


class Mabwiser:
    """UCB1 of `mabwiser`; it wants a first history, so each arm starts with one reward of 0."""

    def __init__(self, arms: int) -> None:
        self.bandit = MAB(list(range(arms)), LearningPolicy.UCB1(alpha=1.0), seed=0)
        self.bandit.fit(list(range(arms)), [0.0] * arms)

    def choose(self) -> int:
        """Predict the best arm."""
        return int(self.bandit.predict())

    def learn(self, arm: int, reward: float) -> None:
        """Fit one more reward."""
        self.bandit.partial_fit([arm], [reward])


class River:
    """UCB of `river`, with delta 1, which is UCB1."""

    def __init__(self, arms: int) -> None:
        self.arms = list(range(arms))
        self.bandit: Any = bandit.UCB(delta=1.0, seed=0)

    def choose(self) -> int:
        """Pull an arm."""
        return int(self.bandit.pull(self.arms))

    def learn(self, arm: int, reward: float) -> None:
        """Update the arm's mean."""
        self.bandit.update(arm, reward)


def policy_in_loop(task: fg.Task, policy: Policy, rounds: int) -> None:
    """Let a library's policy choose thresholds in fairgate's environment, one replicate."""
    rng = np.random.default_rng(0)
    world = task.environment.start(1)
    for _ in range(rounds):
        arm = policy.choose()
        thresholds = np.full((1, task.environment.group_count), task.thresholds[arm])
        cells = fg.counts.draw(task.environment.probabilities(world, thresholds), PEOPLE, rng)
        world = task.environment.update(world, fg.Counts(cells), thresholds, rng)
        policy.learn(arm, float(task.problem.assess(cells).reward[0]))


def policy_alone(policy: Policy, rewards: list[float], rounds: int) -> None:
    """Let a library's policy choose and learn from recorded rewards, with no environment."""
    for t in range(rounds):
        policy.learn(policy.choose(), rewards[t % len(rewards)])


def ofs_alone(task: fg.Task, feedback: Sequence[fg.Feedback], rounds: int) -> None:
    """Let fairgate's OFS choose and learn from recorded feedback, with no environment."""
    learner = fg.OFS()
    state = learner.start(task.setting, len(feedback[0].reward), np.random.default_rng(0))
    for t in range(rounds):
        learner.observe(state, learner.propose(state), feedback[t % len(feedback)])


# Timing.


@dataclass(frozen=True)
class Contender:
    """Something to time: ``run(rounds)`` plays that many rounds in each of `replicates`."""

    name: str
    run: Callable[[int], object]
    replicates: int = 1
    people: int | None = PEOPLE
    rounds: int | None = None


SCRIPT, MABWISER, RIVER = "person by person", "mabwiser UCB1", "river UCB"


def contenders(task: fg.Task, rounds: int) -> list[Contender]:
    """List everything that is timed on `task`."""
    arms = len(task.thresholds)

    def simulation(replicates: int, people: int) -> Contender:
        def run(length: int) -> fg.Run:
            return fg.simulate(task, fg.OFS(), rounds=length, seeds=replicates, batch=people)

        return Contender("fairgate", run, replicates, people, rounds)

    def recorded(replicates: int) -> list[fg.Feedback]:
        counts = fg.simulate(task, fg.OFS(), rounds=500, seeds=replicates).counts
        return [task.problem.reveal(counts[:, t]) for t in range(500)]

    one, hundred = recorded(1), recorded(100)
    rewards = [float(feedback.reward[0]) for feedback in one]
    listed = [simulation(replicates, PEOPLE) for replicates in (1, 10, 100, 1000)]
    listed.append(simulation(100, MANY_PEOPLE))
    listed.append(Contender(SCRIPT, lambda n: person_by_person(task, people_of(task), n, 0)))
    if isinstance(task.environment, ScorePools):
        tuned = Contender(f"{SCRIPT}, tuned", lambda n: person_by_person(task, people_of(task, tuned=True), n, 0))
        listed.append(tuned)
    return [
        *listed,
        Contender(f"{MABWISER}, our environment", lambda n: policy_in_loop(task, Mabwiser(arms), n)),
        Contender(f"{RIVER}, our environment", lambda n: policy_in_loop(task, River(arms), n)),
        Contender("policy alone: fairgate OFS", lambda n: ofs_alone(task, one, n), 1, None),
        Contender("policy alone: fairgate OFS", lambda n: ofs_alone(task, hundred, n), 100, None),
        Contender(f"policy alone: {MABWISER}", lambda n: policy_alone(Mabwiser(arms), rewards, n), 1, None),
        Contender(f"policy alone: {RIVER}", lambda n: policy_alone(River(arms), rewards, n), 1, None),
    ]


def seconds_of(contender: Contender, rounds: int) -> float:
    """Time a run in seconds of the processor, which other programs on a shared machine do not lengthen."""
    start = time.process_time()
    contender.run(rounds)
    return time.process_time() - start


def rates_of(listed: Sequence[Contender], console: Console) -> list[float]:
    """Return the rounds per second of each contender, the best of its repeats."""
    best = [0.0] * len(listed)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("timing", total=len(listed) * REPEATS)
        pilots = [seconds_of(contender, 50) / 50 for contender in listed]
        for _ in range(REPEATS):
            for i, contender in enumerate(listed):
                rounds = contender.rounds or max(50, math.ceil(SECONDS / pilots[i]))
                best[i] = max(best[i], rounds * contender.replicates / seconds_of(contender, rounds))
                progress.advance(bar)
    return best


# Figures of fresh processes.

MEMORY = """
import resource, sys
import fairgate as fg
task = fg.load_task(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run = fg.simulate(task, fg.OFS(), rounds=3000, seeds=100)
unit = 1 if sys.platform == "darwin" else 1024
print(before * unit, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""

IMPORT = "import time; start = time.perf_counter(); import fairgate; print(time.perf_counter() - start)"

# A new process inherits the peak of the one that starts it; from a small one in between it inherits next to nothing.
BETWEEN = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))"


def fresh(*arguments: str) -> str | None:
    """Run a fresh interpreter with `arguments` and return what it prints, or None if it fails."""
    command = [sys.executable, "-S", "-c", BETWEEN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def memory_of(task: fg.Task) -> tuple[float, float] | None:
    """Return peak memory in MB before and after a run of 100 replicates and 3000 rounds."""
    printed = fresh("-c", MEMORY, task.name)
    if printed is None:
        return None
    before, after = (int(number) / 1e6 for number in printed.split())
    return before, after


def import_seconds() -> float | None:
    printed = [fresh("-c", IMPORT) for _ in range(3)]
    return min((float(text) for text in printed if text is not None), default=None)


def help_seconds() -> float | None:
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "fairgate", "--help"], capture_output=True, check=False)
        if done.returncode != 0:
            return None
        best = min(best, time.perf_counter() - start)
    return best


# The report.


@dataclass(frozen=True)
class Goal:
    """A goal, what was measured, and whether that reaches it; `measured` is None if it could not be."""

    name: str
    wanted: str
    measured: str | None
    reached: bool | None


def at_least(name: str, value: float, limit: float, unit: str) -> Goal:
    return Goal(name, f"≥ {limit:,.10g}{unit}", f"{value:,.0f}{unit}", value >= limit)


def at_most(name: str, value: float | None, limit: float, unit: str) -> Goal:
    wanted = f"≤ {limit:,.10g}{unit}"
    return Goal(name, wanted, None, None) if value is None else Goal(name, wanted, f"{value:.3g}{unit}", value <= limit)


def rate_table(task: fg.Task, listed: Sequence[Contender], rates: Sequence[float], script: float) -> Table:
    table = Table(title=f"Rounds per second on {task.name}, one core, best of {REPEATS}")
    for column in ("contender", "replicates", "people", "rounds/s", f"× {SCRIPT}"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    for contender, rate in zip(listed, rates, strict=True):
        alone = contender.people is None
        people = "–" if contender.people is None else f"{contender.people:,}"
        ratio = "–" if alone else f"{rate / script:,.2g}" if rate < 10 * script else f"{rate / script:,.0f}"
        table.add_row(contender.name, f"{contender.replicates:,}", people, f"{rate:,.0f}", ratio)
    return table


def goal_table(goals: Sequence[Goal]) -> Table:
    table = Table(title="Goals")
    for column in ("goal", "wanted", "measured", ""):
        table.add_column(column, justify="right" if column in ("wanted", "measured") else "left")
    for goal in goals:
        verdict = "not measured" if goal.reached is None else "reached" if goal.reached else "missed"
        table.add_row(goal.name, goal.wanted, goal.measured or "–", verdict)
    return table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time fairgate beside a person-by-person loop and two libraries.")
    parser.add_argument("--task", choices=sorted(presets()), default="compas", help="task to time (default: compas)")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of one timed simulation (default: 300)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {given.rounds}")
    if given.json is not None and not given.json.parent.is_dir():
        parser.error(f"--json: there is no folder {given.json.parent}")
    return given


def main() -> None:
    given = arguments()
    console, notes = Console(), Console(stderr=True)
    if not console.is_terminal:
        console.width = 100
    task = fg.load_task(given.task)

    notes.print("Checking that the person-by-person loop and fg.simulate do the same job …")
    check_same_rule(task)
    check_same_law(task)
    listed = contenders(task, given.rounds)
    rates = rates_of(listed, notes)
    rate = {(c.name, c.replicates, c.people): value for c, value in zip(listed, rates, strict=True)}
    hundred, script = rate["fairgate", 100, PEOPLE], rate[SCRIPT, 1, PEOPLE]
    memory, importing, helping = memory_of(task), import_seconds(), help_seconds()

    goals = [
        at_least(f"100 replicates against {SCRIPT}", hundred / script, 100, "×"),
        at_least("100 replicates", hundred, 250_000, " rounds/s"),
        at_most("cost of 1,000,000 people against 256", hundred / rate["fairgate", 100, MANY_PEOPLE], 1.5, "×"),
        at_most("memory of 100 replicates × 3000 rounds", memory and memory[1] - memory[0], 300, " MB"),
        at_most("import fairgate", importing, 0.7, " s"),
        at_most("fairgate --help", helping, 1.0, " s"),
    ]
    console.print(rate_table(task, listed, rates, script))
    shares = []
    for library in (MABWISER, RIVER):
        share = rate[f"{library}, our environment", 1, PEOPLE] / rate[f"policy alone: {library}", 1, None]
        shares.append(f"{share:.0%} for {library}")
    console.print(f"The policy alone takes this share of a round: {', '.join(shares)}.")
    if memory is None:
        console.print("Peak memory: not measured, the run in a fresh process failed.")
    else:
        console.print(f"Peak memory: {memory[0]:.0f} MB after import and load_task, {memory[1]:.0f} MB after the run.")
    if helping is None:
        console.print("fairgate --help: not measured, the command failed.")
    console.print(goal_table(goals))

    if given.json is not None:
        figures = {
            "task": task.name,
            "rates": [{"name": n, "replicates": r, "people": p, "per_second": v} for (n, r, p), v in rate.items()],
            "memory_mb": memory and {"before": memory[0], "peak": memory[1]},
            "import_seconds": importing,
            "help_seconds": helping,
            "goals": [asdict(goal) for goal in goals],
        }
        given.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
