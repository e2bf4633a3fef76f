"""How often alarms of ``fairgate audit`` and ``fairgate monitor`` ring without cause, and what intervals miss.

Prints the tables of docs/audit.md and docs/monitor.md, from worlds of known truth; some minutes on one core. Writes the
passage "one look" of docs/audit.md.

    python -m scripts.check_audit                # everything
    python -m scripts.check_audit one-look mixes # some of it
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

import fairgate as fg
from fairgate.advice.monitor import judge, look
from fairgate.advice.newcomers import Newcomers
from fairgate.advice.reference import Reference
from fairgate.audit.alarms import raise_alarms
from fairgate.audit.audit import levels
from fairgate.audit.reading import Cases
from fairgate.audit.sequences import Sequences, follow
from fairgate.audit.value import value_of
from fairgate.confidence import clopper_pearson
from fairgate.constraints import Constraint
from fairgate.settings import Array
from scripts.passages import rewrite

ALPHA, LOOKS, BATCH = 0.05, 100, 100
SURE, MONTHS = 0.9, 24
COST = 0.25


def decide(rates: Array, rng: np.random.Generator, batch: int = BATCH) -> NDArray[np.int64]:
    """Draw decisions (T, G, 3, 2) at rates (T, G), in batches of about so many people."""
    came = rng.poisson(batch / rates.shape[1], size=rates.shape) + 1
    accepted = rng.binomial(came, rates)
    counts = np.zeros((*rates.shape, 3, 2), dtype=np.int64)
    counts[..., 2, 0], counts[..., 2, 1] = came - accepted, accepted
    return counts


def misses(found: Sequences, counts: NDArray[np.int64], rates: Array) -> bool:
    """Whether any bound of any rate, the gap or the ratio ever misses the average so far."""
    people = counts.sum(axis=(2, 3))
    truth = (people * rates).cumsum(axis=0) / people.cumsum(axis=0)
    overall = (people * rates).sum(axis=1).cumsum() / people.sum(axis=1).cumsum()
    gap, ratio = truth.max(axis=1) - truth.min(axis=1), truth.min(axis=1) / truth.max(axis=1)
    tracks = ((found.rates, truth), (found.overall, overall), (found.gap, gap), (found.ratio, ratio))
    return any(
        bool(((exact < track.low - 1e-12) | (exact > track.high + 1e-12)).any())
        for track, exact in tracks
        if track is not None
    )


def sequences(runs: int) -> None:
    """Print how often bounds ever miss, and alarms of constraints that are just met ever ring."""
    steps = np.arange(LOOKS)
    worlds = {
        "two groups, rates 0.3 and 0.4": np.tile([0.3, 0.4], (LOOKS, 1)),
        "five groups, rates 0.3 to 0.4": np.tile([0.3, 0.4, 0.35, 0.4, 0.3], (LOOKS, 1)),
        "rare, 0.003 and 0.004": np.tile([0.003, 0.004], (LOOKS, 1)),
        "drifting from 0.2 and 0.3 to 0.6 and 0.7": np.stack((0.2 + 0.4 * steps / 99, 0.3 + 0.4 * steps / 99), axis=1),
        "jumping between 0.1 and 0.9": np.stack((np.where(steps % 20 < 10, 0.1, 0.9), np.full(LOOKS, 0.5)), axis=1),
    }
    print(
        f"| decisions ({runs} runs of {LOOKS} looks after {BATCH} people each) | a bound ever missed | an alarm rang |"
    )
    print("|---|---|---|")
    for name, rates in worlds.items():
        rng = np.random.default_rng(1)
        edge = np.abs(rates[0].max() - rates[0].min())
        met: list[Constraint] = [fg.DemographicParity(edge), fg.DisparateImpact(float(rates[0].min() / rates[0].max()))]
        constant = bool((rates == rates[0]).all())
        missed = rang = 0
        for _ in range(runs):
            counts = decide(rates, rng)
            found = follow("all", counts, ALPHA, labels=False)
            missed += misses(found, counts, rates)
            alarms = raise_alarms(found, counts.sum(axis=0), met, labelled=False) if constant else []
            rang += any(each.rang is not None for each in alarms)
        print(f"| {name} | {missed / runs:.2%} | {f'{rang / runs:.2%}' if constant else '–'} |", flush=True)
    rng, rang, naive = np.random.default_rng(2), 0, 0
    for _ in range(runs):
        parts = [decide(np.tile([0.3, 0.4], (20, 1)), rng) for _ in range(5)]
        whole = np.concatenate(parts)
        scopes = [
            (whole, levels(ALPHA, 0, True)),
            *((part, levels(ALPHA, k + 1, True)) for k, part in enumerate(parts)),
        ]
        rang += any(
            alarm.rang is not None
            for counts, level in scopes
            for alarm in raise_alarms(
                follow("", counts, level, labels=False), counts.sum(axis=0), [fg.DemographicParity(0.1)], labelled=False
            )
        )
        people = whole.sum(axis=(2, 3)).cumsum(axis=0)
        rate = whole[:, :, 2, 1].cumsum(axis=0) / people
        error = np.sqrt((rate * (1 - rate) / people).sum(axis=1))
        naive += bool((np.abs(rate[:, 1] - rate[:, 0]) - 0.1 > norm.isf(ALPHA / 2) * error).any())
    print(f"| five segments of 20 looks, rates 0.3 and 0.4 | – | {rang / runs:.2%} |")
    print(f"| the same, by a 95% interval for one look | – | {naive / runs:.2%} |", flush=True)


def speed(runs: int) -> None:
    """Print how many people it takes until the alarm of a broken constraint rings."""
    print("\n| true gap, allowed 0.05 | alarm rang within 100 000 people | people until it rang, median |")
    print("|---|---|---|")
    for gap in (0.07, 0.10, 0.15, 0.25):
        rng, when = np.random.default_rng(3), []
        for _ in range(runs):
            counts = decide(np.tile([0.5, 0.5 - gap], (1000, 1)), rng)
            found = follow("all", counts, ALPHA, labels=False)
            (alarm,) = raise_alarms(found, counts.sum(axis=0), [fg.DemographicParity(0.05)], labelled=False)
            when.append(np.inf if alarm.rang is None else float(counts[: alarm.rang + 1].sum()))
        median = np.median(when)
        print(
            f"| {gap:.2f} | {np.isfinite(when).mean():.0%} | {f'{median:.0f}' if np.isfinite(median) else '–'} |",
            flush=True,
        )


def one_look(runs: int) -> None:
    """Write how often a complete table is called broken, by one look, a normal test, and 100 looks."""
    constraint, half = fg.DisparateImpact(0.8), 0.5
    lines = [
        f"Called broken in {runs} tables, with 95% intervals; {half:.0%} of one group are accepted, and a ratio of 0.8 "
        "is asked for.",
        "",
        "| true ratio | people by group | one look, exact test | one test by the normal distribution | 100 looks |",
        "|---|---|---|---|---|",
    ]
    for ratio, first, second in (
        *((0.7, size, size) for size in (500, 1500, 5000)),
        (0.7, 800, 200),
        *((0.8, size, size) for size in (50, 500, 5000)),
        *((0.8, *sizes) for sizes in ((800, 200), (200, 800), (950, 50), (50, 950))),
    ):
        rng, rang = np.random.default_rng(7), np.zeros(3)
        for _ in range(runs):
            looks = min(LOOKS, first, second)
            people = np.stack([np.bincount(np.arange(size) * looks // size) for size in (first, second)], axis=1)
            counts = np.zeros((looks, 2, 3, 2), dtype=np.int64)
            counts[:, :, 2, 1] = rng.binomial(people, [half, half * ratio])
            counts[:, :, 2, 0] = people - counts[:, :, 2, 1]
            once, often = (
                raise_alarms(
                    follow("all", each, ALPHA, labels=False, once=len(each) == 1),
                    each.sum(axis=0),
                    [constraint],
                    labelled=False,
                )[0].rang
                is not None
                for each in (counts.sum(axis=0, keepdims=True), counts)
            )
            share = counts[:, :, 2, 1].sum(axis=0) / people.sum(axis=0)
            spread = share * (1.0 - share) / people.sum(axis=0)
            normal = 0.8 * share[0] - share[1] > norm.isf(ALPHA) * np.sqrt(0.64 * spread[0] + spread[1])
            rang += [once, bool(normal), often]
        low, high = clopper_pearson(rang, np.full(3, runs), 0.05)
        told = [f"{each:.1%} ({a:.1%} to {b:.1%})" for each, a, b in zip(rang / runs, low, high, strict=True)]
        lines.append(f"| {ratio:g} | {first}, {second} | {' | '.join(told)} |")
        print(lines[-1], flush=True)
    rewrite("audit.md", "one look", lines)


def true_value(threshold: float) -> float:
    """Reward per person of accepting scores from a threshold, by quadrature."""
    grid = np.linspace(threshold, 8.0, 20001)
    density = 0.5 * norm.pdf(grid, -0.2, 1.0) + 0.5 * norm.pdf(grid, 0.2, 1.0)
    worth = density * ((1.0 + COST) * expit(2.0 * grid) - COST)
    return float(np.sum((worth[1:] + worth[:-1]) / 2.0) * (grid[1] - grid[0]))


def values(runs: int) -> None:
    """Print bias, error and coverage of IPS and doubly robust values of the threshold −0.4, where they are shown."""
    print("\n| people | smallest propensity | labels | shown | estimate | bias, in standard errors | error | covers |")
    print("|---|---|---|---|---|---|---|---|")
    truth = true_value(-0.4)
    for people, floor, late in (
        *((people, floor, False) for people in (1000, 5000, 20000) for floor in (0.05, 0.2)),
        *((people, floor, True) for people in (5000, 20000) for floor in (0.05, 0.2)),
    ):
        rng, bounded = np.random.default_rng(4), 0
        found: dict[str, list[list[float]]] = {"ips": [], "doubly_robust": []}
        for _ in range(runs):
            group = rng.integers(2, size=people)
            score = rng.normal(0.4 * group - 0.2, 1.0)
            chance = np.where(score >= 0.5, 1.0, np.where(score >= -0.5, floor + 0.3 * (group == 1), 0.0))
            accepted = rng.random(people) < chance
            label = np.where(accepted, rng.random(people) < expit(2.0 * score), 2).astype(np.int8)
            if late:
                label[rng.random(people) < np.clip(0.5 - 0.5 * score, 0.0, 1.0)] = 2
            cases = Cases(score, group.astype(np.int16), accepted, label, chance)
            (worth,) = value_of(cases, 2, cost=COST, thresholds=(-0.4,)).thresholds
            if worth.ips is None:
                bounded += worth.low <= truth <= worth.high
            for name, kept in found.items():
                estimate = getattr(worth, name)
                if estimate is not None:
                    kept.append([estimate.value - truth, float(estimate.low <= truth <= estimate.high)])
        which = "late" if late else "all"
        for name, kept in found.items():
            title = "IPS" if name == "ips" else "doubly robust"
            row = f"| {people} | {floor:g} | {which} | {len(kept) / runs:.0%} | {title} |"
            if len(kept) < runs / 20:
                print(f"{row} – | – | – |", flush=True)
                continue
            off, covered = np.array(kept).T
            bias = off.mean() / (off.std(ddof=1) / np.sqrt(len(off)))
            print(f"{row} {bias:+.1f} | {np.sqrt((off**2).mean()):.4f} | {covered.mean():.1%} |", flush=True)
        if len(kept) < 0.95 * runs:
            rest = runs - len(kept)
            print(
                f"| {people} | {floor:g} | {which} | {rest / runs:.0%} | bounds alone | – | – | {bounded / rest:.1%} |"
            )


def reference(rng: np.random.Generator, people: int) -> Reference:
    """Draw people of an advice: two groups, scores N(0, 1) in 63 bins, P(good) = sigmoid(2 s), threshold at 0."""
    cuts = norm.ppf(np.arange(64) / 64)
    cuts[0] = -9.0
    constraints: list[Constraint] = [fg.DemographicParity(0.1)]
    counts = [newcomers(rng, people) for _ in range(2)]
    return Reference(
        "score", "good", ["group"], {}, False, ("a", "b"), [cuts, cuts], counts, 0.0, "score ≥ 0", constraints, SURE
    )


def newcomers(rng: np.random.Generator, people: int, shift: float = 0.0, harder: float = 0.0) -> NDArray[np.float64]:
    """Draw people of a group by bin and label."""
    cuts = norm.ppf(np.arange(64) / 64)
    score = rng.normal(shift, 1.0, people)
    place = np.clip(np.searchsorted(cuts, score, side="right") - 1, 0, 63)
    label = np.where(rng.random(people) < 0.1, 2, rng.random(people) < expit(2.0 * (score - harder)))
    return np.bincount(place * 3 + label.astype(int), minlength=192).reshape(64, 3).astype(np.float64)


def months(runs: int) -> None:
    """Print how often anything is ever called drifted or broken, over two years."""
    print(f"\n| new people ({runs} runs of {MONTHS} months, 500 people of either group) | ever drifted | ever broken |")
    print("|---|---|---|")
    for name, shift, harder, rates in (
        ("no change, rates 0.4 and 0.5 at a gap of 0.1 that is allowed", 0.0, 0.0, (0.4, 0.5)),
        ("one group's scores lower by 0.2, rates 0.38 and 0.5", -0.2, 0.0, (0.38, 0.5)),
        ("good labels at scores higher by 0.2, rates 0.35 and 0.5", 0.0, 0.2, (0.35, 0.5)),
    ):
        rng, drifted, broken = np.random.default_rng(5), 0, 0
        for _ in range(runs):
            world = reference(rng, 2000)
            before: list[dict[str, list[float]]] = []
            moved = rang = False
            for _ in range(MONTHS):
                counts = [newcomers(rng, 500, shift, harder), newcomers(rng, 500)]
                empty = Newcomers(counts, np.zeros((2, 3)), {}, {}, True, {})
                moved |= any(look(world, empty, "", before).drifted)
                taken = np.array([[0.0, 0.0, rng.binomial(500, rate)] for rate in rates])
                edge = Newcomers([np.array([[0.0, 0.0, 500.0]])] * 2, taken, {}, {}, False, {})
                rang |= any(each.is_broken for each in judge(world.constraints, edge, before, 1.0 - SURE))
                accepted, came = edge.cells
                before.append({"accepted": accepted.tolist(), "people": came.tolist()})
            drifted, broken = drifted + moved, broken + rang
        print(f"| {name} | {drifted / runs:.1%} | {broken / runs:.1%} |", flush=True)


def mixes(runs: int) -> None:
    """Print how often months without any gap are called broken, though averages mix them or labels are selective."""
    print(
        f"\n| decisions without any gap ({runs} runs of {MONTHS} months) | monitor: ever broken | audit: alarm rang |"
    )
    print("|---|---|---|")
    for name, constraint in (
        (
            "1000 people a month; rates fall from 0.6 to 0.4 as one group gives way to the other",
            fg.DemographicParity(0.05),
        ),
        (
            "1000 of either group; in the first two months, labels of one group's rejected missing",
            fg.EqualOpportunity(0.1),
        ),
    ):
        rng, broken, rang = np.random.default_rng(6), 0, 0
        for _ in range(runs):
            before: list[dict[str, list[float]]] = []
            counts = np.zeros((MONTHS, 2, 3, 2), dtype=np.int64)
            ever = False
            for month in range(MONTHS):
                if isinstance(constraint, fg.DemographicParity):
                    early = month < MONTHS // 2
                    size = rng.multinomial(1000, [0.75, 0.25] if early else [0.25, 0.75])
                    counts[month, :, 2, 1] = rng.binomial(size, 0.6 if early else 0.4)
                    counts[month, :, 2, 0] = size - counts[month, :, 2, 1]
                else:
                    counts[month, :, :2] = rng.multinomial(1000, np.full(4, 0.25), size=2).reshape(2, 2, 2)
                    if month < 2:
                        counts[month, 0, 2, 0], counts[month, 0, :2, 0] = counts[month, 0, :2, 0].sum(), 0
                cells = counts[month].astype(np.float64)
                new = Newcomers([each.T for each in cells], cells[..., 1], {}, {}, True, {})
                ever |= any(each.is_broken for each in judge([constraint], new, before, 1.0 - SURE))
                accepted, came = new.cells
                before.append({"accepted": accepted.tolist(), "people": came.tolist()})
            found = follow("all", counts, ALPHA, labels=True)
            alarms = raise_alarms(found, counts.sum(axis=0), [constraint], labelled=True)
            broken, rang = broken + ever, rang + any(each.rang is not None for each in alarms)
        print(f"| {name} | {broken / runs:.1%} | {rang / runs:.1%} |", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"sequences": (sequences, 1), "speed": (speed, 20), "one-look": (one_look, 2), "values": (values, 1)}
    parts |= {"months": (months, 10), "mixes": (mixes, 10)}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="Tables; all if none is named.")
    parser.add_argument("--runs", type=int, default=2000)
    asked = parser.parse_args()
    for name in asked.parts or parts:
        make, fewer = parts[name]
        make(max(asked.runs // fewer, 2))


if __name__ == "__main__":
    main()
