"""How often the recommended threshold is feasible, and what that surety costs, on tables drawn from known populations.

Prints the tables of docs/guarantee.md: the tasks, and worlds of normal scores. For every world, number of people and
probability asked for:

- **sure**: share of tables for which a threshold is called sure.
- **wrong**: share of tables for which it is called sure and breaks a constraint in the population. The promise is that
  this is 1 − sure at most. In brackets, the largest share that is no contradiction, by chance, with 1 in 100.
- **feasible**: share of tables for which the recommended threshold, sure or not, is feasible in the population.
- **short**: by how much its mean reward in the population falls short of the best that a rule of that surety reaches.
  That is the mean reward of "highest reward on the table with every residual + m ≤ 0" with the smallest m that makes
  it feasible in the share asked for of these very tables: a rule that knows the world, and no other.

Then the levels of the test that are stated, of the recommended and of the bolder threshold, the one of highest reward
that is feasible on the table: on the tasks, and on worlds whose constraint is tightened until it binds at the highest
reward. By level:

- **tables**: how many.
- **feasible**: share of these for which the threshold is feasible in the population. Nothing is promised of it.
- **wrong**: share of *all* tables of a world in which a threshold that breaks a constraint passes at this level or a
  lower one, in the world where it is highest. Promised is the level, in brackets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom, norm

import fairgate as fg
from fairgate.advice.choice import SURE, choose
from fairgate.advice.steady import Response, settle
from fairgate.counts import Counts
from fairgate.people import Applicants, Columns
from fairgate.people.labels import tail
from fairgate.problem import Assessment, Problem, Utility, is_feasible
from fairgate.settings import Array

TASKS = ("compas", "delayed-impact", "german", "performative", "mve-s", "interior")
SIZES = (5_000, 20_000, 80_000)
SURE_LEVELS = (0.8, 0.9, 0.95)
TODAY = Response(0.0, 0.0)
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Steps of the level that is stated."""


@dataclass(frozen=True, eq=False)
class World:
    """A population: P(score bin, group, label), (B, G, 2), and what is required of a threshold."""

    name: str
    mass: Array
    problem: Problem

    @cached_property
    def truth(self) -> Assessment:
        """Exact reward (B,) and residuals (J, B) of every threshold."""
        return self.problem.assess(self.counts)

    @cached_property
    def counts(self) -> Counts:
        """Probabilities of group, label and decision at every threshold."""
        taken = tail(self.mass, axis=0)
        return Counts(np.stack((taken[:1] - taken, taken), axis=-1))

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether every threshold is feasible, (B,)."""
        return is_feasible(self.truth.residuals)

    def draw(self, people: int, rng: np.random.Generator) -> Applicants:
        """Draw a table; the score of a person is the number of the bin."""
        drawn = rng.multinomial(people, self.mass.ravel() / self.mass.sum()).reshape(self.mass.shape)
        places = np.flatnonzero(drawn.any(axis=(1, 2)))
        counts = np.zeros((self.mass.shape[1], len(places), 3), dtype=np.int64)
        counts[..., :2] = np.moveaxis(drawn[places], 0, 1)
        scores = places.astype(np.float64)
        names = tuple(str(group) for group in range(len(counts)))
        return Applicants(names, scores, scores, counts, Columns("score", "label", "group"), people)


def task_world(name: str, points: int = 2000) -> World:
    """Return the people of a task before any of them reacts."""
    task = fg.load_task(name)
    low, high = task.thresholds[0], task.thresholds[-1]
    grid = np.linspace(1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low, points)
    shared = np.repeat(grid[:, None], task.environment.group_count, axis=1)
    cells = task.environment.probabilities(np.repeat(task.environment.start(1), points, axis=0), shared)
    edges = np.concatenate((cells.sum(axis=-1)[:1], cells[..., 1], np.zeros_like(cells[:1, ..., 1])))
    return World(name, np.maximum(-np.diff(edges, axis=0), 0.0), task.problem)


def random_world(seed: int, points: int = 2000) -> World:
    """Return two or three groups of random size with normal scores, and random cost and limits."""
    rng = np.random.default_rng([seed, 77])
    groups = int(rng.integers(2, 4))
    shares = rng.dirichlet(np.full(groups, 4.0))
    means, sds = rng.normal(0.0, 0.15, groups), rng.uniform(0.7, 1.3, groups)
    edges = np.concatenate(([-np.inf], np.linspace(-4.0, 4.0, points - 1), [np.inf]))
    below = norm.cdf(edges[:, None], means, sds)
    middle = np.concatenate(([-4.0], np.linspace(-4.0, 4.0, points - 1)[:-1] + 4.0 / (points - 2), [4.0]))
    good = expit(rng.uniform(1.0, 3.0) * (middle - rng.uniform(-0.5, 0.5)))
    people = shares * np.diff(below, axis=0)
    mass = people[..., None] * np.stack((1.0 - good, good), axis=-1)[:, None]
    limits = [
        fg.DemographicParity(round(rng.uniform(0.06, 0.15), 3)),
        fg.ServiceRate(0.2, round(rng.uniform(0.6, 0.9), 2)),
    ]
    return World(f"normal {seed}", mass, Problem(Utility(round(rng.uniform(0.5, 3.0), 2)), limits))


class Table(NamedTuple):
    """What one table has for every threshold: its place in the world, reward and largest residual, as counted."""

    places: Array
    reward: Array
    residual: Array


class Figures(NamedTuple):
    """What is found over many tables; see the head of the file."""

    sure: float
    wrong: float
    wrong_by_chance: float
    feasible: float
    short: float


def judge(world: World, people: int, sure: float, draws: int, seed: int = 0) -> Figures:
    """Draw tables, and judge what is recommended for each by the truth."""
    rng = np.random.default_rng([seed, people])
    tables, rewards, feasible, called = [], [], [], []
    for draw in range(draws):
        whole = world.draw(people, rng)
        found = settle(whole, world.problem, TODAY)
        table = Table(whole.cuts.astype(np.int64), found.sweep.reward, found.sweep.residuals.max(axis=0))
        candidates = whole.coarsened(at=[found.cut])
        choice = choose(candidates, world.problem, TODAY, sure, draw, whole=whole)
        place = int(candidates.cuts[choice.cut])
        tables.append(table)
        called.append(choice.status == SURE)
        feasible.append(world.feasible[place])
        rewards.append(world.truth.reward[place])
    wrong = float(np.mean([one and not other for one, other in zip(called, feasible, strict=True)]))
    by_chance = float(binom.ppf(0.99, draws, 1.0 - sure)) / draws
    short = best_of_that_surety(world, tables, sure) - float(np.mean(rewards))
    return Figures(float(np.mean(called)), wrong, by_chance, float(np.mean(feasible)), short)


class Told(NamedTuple):
    """The level that a table is told for a threshold, and the truth."""

    world: str
    bolder: bool  # or recommended
    level: float  # of the test that it passes; 1 above a half
    feasible: bool


def told(world: World, people: int, draws: int, sure: float = 0.9) -> Iterator[Told]:
    """Draw tables, and hold the levels stated for each against the truth."""
    rng = np.random.default_rng([people, 5])
    for draw in range(draws):
        whole = world.draw(people, rng)
        candidates = whole.coarsened(at=[settle(whole, world.problem, TODAY).cut])
        choice = choose(candidates, world.problem, TODAY, sure, draw, whole=whole)
        for cut, level in ((choice.cut, choice.test_level), (choice.steady.cut, choice.bolder_test_level)):
            place = int(candidates.cuts[cut])
            yield Told(world.name, cut != choice.cut, 1.0 if level is None else level, bool(world.feasible[place]))
            if choice.bolder is None:
                break


def told_table(found: list[Told]) -> Iterator[str]:
    """Write a row for each step of the level, of the recommended and of the bolder threshold."""
    yield "| passes at level | threshold | tables | feasible | wrong (promised) |"
    yield "|---|---|---|---|---|"
    names = sorted({each.world for each in found})
    tables = [sum(each.world == name and not each.bolder for each in found) for name in names]
    for bolder in (False, True):
        kind = "bolder" if bolder else "recommended"
        own = [each for each in found if each.bolder == bolder]
        for low, high in pairwise(LEVELS):
            here = [each for each in own if low < each.level <= high or each.level == low == 0.0]
            if not here:
                continue
            broken = [each for each in own if each.level <= high and not each.feasible]
            shares = [sum(each.world == name for each in broken) / n for name, n in zip(names, tables, strict=True)]
            step = f"up to {high:.0%}" if low == 0.0 else f"above {low:.0%} to {high:.0%}"
            yield f"| {step} | {kind} | {len(here)} | {_feasible(here)} | {max(shares):.0%} ({high:.0%}) |"
        if here := [each for each in own if each.level > LEVELS[-1]]:
            yield f"| none | {kind} | {len(here)} | {_feasible(here)} | – |"


def _feasible(told: list[Told]) -> str:
    return f"{np.mean([each.feasible for each in told]):.0%}"


def best_of_that_surety(world: World, tables: list[Table], sure: float) -> float:
    """Return the mean reward of the rule with the smallest margin that is feasible in the share asked for."""

    def play(margin: float) -> tuple[float, float]:
        found = []
        for table in tables:
            kept = table.residual + margin <= 0.0
            cut = np.where(kept, table.reward, -np.inf).argmax() if kept.any() else table.residual.argmin()
            found.append(int(table.places[cut]))
        return float(world.feasible[found].mean()), float(world.truth.reward[found].mean())

    low, high = 0.0, 0.3
    if play(low)[0] >= sure:
        return play(low)[1]
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if play(middle)[0] >= sure else (middle, high)
    return play(high)[1]


def binding_world(seed: int) -> World:
    """Return a random world whose constraint between groups is tightened until it binds at the highest reward."""
    world = random_world(seed)
    rates = world.counts.rates[int(world.truth.reward.argmax())]
    binding: fg.Constraint
    if seed % 2:
        binding = fg.DisparateImpact(round(min(0.3 + 0.7 * float(rates.min() / rates.max()), 0.95), 3))
    else:
        binding = fg.DemographicParity(round(max(0.7 * float(np.ptp(rates)), 0.02), 3))
    problem = Problem(world.problem.utility, [binding, fg.ServiceRate(0.05, 0.95)])
    return World(f"binding {seed}", world.mass, problem)


def worlds(fresh: int) -> Iterator[World]:
    """Return the tasks, and so many random worlds."""
    yield from (task_world(name) for name in TASKS)
    made = 0
    for seed in range(1000):
        world = random_world(seed)
        if made < fresh and world.feasible.any() and world.truth.residuals.max(axis=0).min() < -0.02:
            made += 1
            yield world


def main() -> None:
    """Print a row for every world, number of people and probability asked for; then one for every step stated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--fresh", type=int, default=5)
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=SIZES, help="people of a table; none for the last table alone"
    )
    parser.add_argument("--levels", type=float, nargs="+", default=SURE_LEVELS)
    parser.add_argument("--binding", type=int, default=10, help="worlds whose constraint binds")
    parser.add_argument("--told", type=int, default=4_000, help="people of a table whose stated levels are checked")
    parser.add_argument("--told-draws", type=int, default=100)
    given = parser.parse_args()
    print("| world | people | asked for | sure | wrong | feasible | short |")
    print("|---|---|---|---|---|---|---|")
    for world in worlds(given.fresh):
        for people in given.sizes:
            for sure in given.levels:
                found = judge(world, people, sure, given.draws)
                print(
                    f"| `{world.name}` | {people:,} | {sure:g} | {found.sure:.0%} | "
                    f"{found.wrong:.0%} ({found.wrong_by_chance:.0%}) | {found.feasible:.0%} | {found.short:.4f} |",
                    flush=True,
                )
    looked_at = [*map(task_world, TASKS), *map(binding_world, range(given.binding))]
    print(*told_table([each for world in looked_at for each in told(world, given.told, given.told_draws)]), sep="\n")


if __name__ == "__main__":
    main()
