"""How often the guards of a gate ring without cause, and how soon they notice a fault, in young and old gates.

`python -m scripts.check_guards` prints the tables of docs/guards.md; with `--write` they are put there. About twenty
minutes on one core.
"""

from __future__ import annotations

import argparse
import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

import fairgate as fg
from fairgate.constraints.bounds import BROKEN
from fairgate.counts import Counts
from fairgate.learners import load_learner
from fairgate.live.demo import rounded, spec_of
from fairgate.live.detectors import Detectors, Ring
from fairgate.live.spec import Guards, Spec, Start
from fairgate.live.watch import Watch
from fairgate.nature import Nature
from fairgate.settings import Array
from scripts.passages import rewrite

AGES = (50, 300, 1000, 3000)
YEAR = 365
SIZES = (20, 200, 2000)
LONGEST = 400
GRID = [0.2, 0.35, 0.5, 0.65, 0.8]
TASKS = ("compas", "german", "interior", "fico", "performative", "inflation", "label-curves", "strategic", "drift")


def make_spec(year: float) -> Spec:
    """A gate of two groups that accepts scores of 0.5 or more."""
    return Spec(
        name="credit",
        groups=["a", "b"],
        grid=GRID,
        constraints={"parity": 0.1, "service": [0.2, 0.9]},
        start=Start(mode="learn", threshold=0.5),
        guards=Guards(rounds_a_year=year),
    )


@dataclass(frozen=True)
class World:
    """Who comes: the share of each group that scores 0.5 or more, and the good outcomes among them."""

    rates: tuple[float, float]
    good: tuple[float, float] = (0.8, 0.8)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw a round: applicants by group, bin and decision, and labels by group, bin and label."""
        people, labels = (np.zeros((2, len(GRID) + 1, 2), dtype=np.int64) for _ in range(2))
        for group in range(2):
            rate = self.rates[group]
            bins = np.repeat([(1.0 - rate) / 3.0, rate / 3.0], 3)
            came = rng.multinomial(size // 2, bins)
            people[group, :3, 0], people[group, 3:, 1] = came[:3], came[3:]
            good = rng.binomial(came[3:], self.good[group])
            labels[group, 3:] = np.stack((came[3:] - good, good), axis=1)
        return people, labels


GOOD, EDGE = World((0.48, 0.48)), World((0.55, 0.45))

FAULTS = {
    "a group accepted 100% (unit error)": World((1.0, 0.48)),
    "gap 0.30 of 0.10 allowed": World((0.63, 0.33)),
    "gap 0.20 of 0.10 allowed": World((0.58, 0.38)),
    "outcomes of a group all bad": World((0.48, 0.48), (0.0, 0.8)),
    "outcomes of a group 50% good, 80% before": World((0.48, 0.48), (0.5, 0.8)),
}


class Watched:
    """Detectors that rounds of a world are shown to."""

    def __init__(self, spec: Spec, rng: np.random.Generator) -> None:
        self.found, self.number, self.rng = Detectors(spec), 0, rng
        if spec.first is None:
            raise ValueError("a start is needed")
        self.share: Array = spec.first.accepted_share(spec.setting.thresholds)[0]

    def look(self, world: World, size: int) -> NDArray[np.int64]:
        """Show it a round."""
        people, labels = world.draw(self.rng, size)
        self.found.look(self.number, "", people, people, labels, self.share)
        self.number += 1
        return people


def interval(hits: int, trials: int) -> str:
    """Write a share with its exact 95% interval."""
    found = binomtest(hits, trials).proportion_ci(0.95)
    return f"{hits / trials:.1%} [{found.low:.1%}, {found.high:.1%}]"


def false_alarms(gates: int) -> Iterator[str]:
    """Alarms without cause, in gates whose gap is exactly as large as allowed."""
    yield (
        f"| {gates} gates: a year of {YEAR} rounds begins after | "
        + " | ".join(f"{size:,} applicants a round" for size in SIZES)
        + " |"
    )
    yield "|---|" + "---|" * len(SIZES)
    rang, total = {size: Counter[int]() for size in SIZES}, Counter[int]()
    for size in SIZES:
        for gate in range(gates):
            watched = Watched(make_spec(YEAR), np.random.default_rng([1, size, gate]))
            years: set[int] = set()
            for number in range(AGES[-1] + YEAR):
                watched.look(EDGE, size)
                if watched.found.alarms:
                    total[size] += 1
                    years |= {age for age in AGES if age <= number < age + YEAR}
                    watched.found.acknowledge(by_person=True)
            rang[size].update(years)
    for age in AGES:
        yield f"| {age:,} rounds | " + " | ".join(interval(rang[size][age], gates) for size in SIZES) + " |"
    years_in_all = gates * (AGES[-1] + YEAR) // YEAR
    yield (
        f"| alarms in {years_in_all} years | "
        + " | ".join(interval(total[size], years_in_all) for size in SIZES)
        + " |"
    )


def delays(gates: int) -> Iterator[str]:
    """Rounds until a pause is due, after so many good rounds."""
    yield (
        f"| fault, in {gates} gates | applicants a round | "
        + " | ".join(f"after {age:,} good rounds" for age in AGES)
        + " |"
    )
    yield "|---|---|" + "---|" * len(AGES)
    taken: dict[tuple[str, int, int], list[float]] = {}
    for size in SIZES:
        for gate in range(gates):
            watched = Watched(make_spec(10_000), np.random.default_rng([2, size, gate]))
            for number in range(AGES[-1] + 1):
                if number in AGES:
                    for fault, world in FAULTS.items():
                        taken.setdefault((fault, size, number), []).append(delay(watched, world, size))
                watched.look(GOOD, size)
    for fault in FAULTS:
        for size in SIZES:
            cells = [written(taken[fault, size, age], size) for age in AGES]
            yield f"| {fault} | {size:,} | " + " | ".join(cells) + " |"


def delay(watched: Watched, world: World, size: int) -> float:
    """Return the rounds until a pause is due; infinity if there are too many."""
    now = copy.deepcopy(watched)
    now.rng = np.random.default_rng([3, size, int(now.rng.integers(10**9))])
    for rounds in range(1, LONGEST + 1):
        now.look(world, size)
        if now.found.pausing() is not None:
            return rounds
    return np.inf


def written(rounds: Sequence[float], size: int) -> str:
    """Write the median of delays, in rounds and applicants, and the largest."""
    median, most = np.median(rounds), max(rounds)
    if np.isinf(median):
        return f"{np.isfinite(rounds).mean():.0%} within {LONGEST}"
    longest = f"at most {most:.0f}" if np.isfinite(most) else f"{np.isfinite(rounds).mean():.0%} within {LONGEST}"
    noun = "round" if median == 1 else "rounds"
    return f"{median:g} {noun}, {median * size:,.0f} applicants ({longest})"


def averages(gates: int) -> Iterator[str]:
    """The same unit error found by the average since the mode was set, which guards went by before."""
    spec = make_spec(10_000)
    cells = []
    for age in AGES:
        found = []
        for gate in range(gates):
            rng, watch = np.random.default_rng([4, age, gate]), Watch.begin(1, 0, 2)
            for _ in range(age):
                watch.look(GOOD.draw(rng, 200)[0].sum(axis=1))
            rounds, broken = 0, False
            while not broken:
                rounds += 1
                watch.look(FAULTS["a group accepted 100% (unit error)"].draw(rng, 200)[0].sum(axis=1))
                judged = watch.judge(spec.setting.problem.constraints, 0.05)
                broken = any(each is not None and each.status == BROKEN for each in judged)
            found.append(rounds)
        cells.append(written(found, 200))
    yield "| unit error, by averages since the mode was set | 200 | " + " | ".join(cells) + " |"


def closed_loops(seeds: int, rounds: int = 500, size: int = 200) -> Iterator[str]:
    """Alarms of gates that learn, in worlds that respond to decisions, without any fault."""
    kinds = ("constraint", "outcomes", "acceptance", "scores")
    yield "| task | learner | rounds that truly broke a limit | by, on average | " + " | ".join(kinds) + " |"
    yield "|---|---|---|---|" + "---|" * len(kinds)
    for task in TASKS:
        for learner in ("safe-forecast", "safe-search"):
            rang, beyond = Counter[str](), []
            for seed in range(seeds):
                for ring, excess in loop(task, learner, rounds, size, seed):
                    beyond += [excess] if excess > 1e-9 else []
                    rang.update(each.kind for each in ring)
            cells = " | ".join(f"{rang[kind]}" for kind in kinds)
            mean = f"{np.mean(beyond):.3f}" if beyond else "–"
            yield f"| {task} | {learner} | {len(beyond) / (seeds * rounds):.0%} | {mean} | {cells} |"


def loop(name: str, learner_name: str, rounds: int, size: int, seed: int) -> Iterator[tuple[list[Ring], float]]:
    """Play a learner, and yield new alarms of each round, which are acknowledged, and the largest exact residual."""
    task = rounded(fg.load_task(name))
    spec = spec_of(task, learner_name, seed=seed).model_copy(update={"guards": Guards()})
    found, learner, nature = Detectors(spec), load_learner(learner_name), Nature(seed=seed)
    environment, setting = task.environment, spec.setting
    world, state = environment.start(1), learner.start(setting, 1, np.random.default_rng(seed))
    for number in range(rounds):
        policy = learner.propose(state).checked(learner, (1, environment.group_count))
        cells, exact = nature.draw_bins(
            environment.histogram(world, setting.thresholds), policy, setting.thresholds, size
        )
        counts = Counts.of_bins(cells)
        judged = [each for each in setting.problem.constraints if each.needs == "decisions"]
        excess = max((float(np.max(each)) for kept in judged for each in kept.residuals(Counts(exact))), default=0.0)
        learner.observe(state, policy, setting.problem.reveal(counts, learner.level, None, None, number))
        world = environment.update(world, counts, environment.published(policy), nature.world())
        nature.round += 1
        people = cells[0].sum(axis=2)
        found.look(number, "", people, people, cells[0][..., 1], policy.accepted_share(setting.thresholds)[0])
        yield list(found.alarms.values()), excess
        if found.alarms:
            found.acknowledge(by_person=True)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=40, help="for false alarms; half of them for delays")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/guards.md")
    parser.add_argument("--only", choices=["false alarms", "delays", "closed loops"], help="one of the tables")
    options = parser.parse_args()
    few = max(options.gates // 2, 2)
    tables = {
        "false alarms": false_alarms(options.gates),
        "delays": itertools.chain(delays(few), averages(min(few, 10))),
        "closed loops": closed_loops(3),
    }
    for name in [options.only] if options.only else tables:
        lines = list(tables[name])
        print("\n".join(lines), flush=True)
        if options.write:
            rewrite("guards.md", name, lines)


if __name__ == "__main__":
    main()
