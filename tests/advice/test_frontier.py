"""The frontier against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fairgate.advice import Aims, advise
from fairgate.advice.frontier import RangeMaximum, best_per_group, undominated
from fairgate.people import Applicants, Columns
from tests.advice.committee import counted, loans


def some_people(groups: int, bins: int, seed: int) -> Applicants:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 20, size=(groups, bins, 3))
    counts[..., 2] = 0
    cuts = np.arange(bins, dtype=np.float64)
    names = tuple("abc"[:groups])
    return Applicants(names, cuts, cuts, counts, Columns("s", "y", "g"), int(counts.sum()))


@pytest.mark.parametrize(("groups", "seed"), [(2, 0), (2, 1), (3, 2), (3, 3)])
def test_thresholds_per_group_are_the_best_of_all_combinations(groups: int, seed: int) -> None:
    people, cost = some_people(groups, 9, seed), 1.3
    above = np.concatenate((people.above[..., :2], np.zeros((groups, 1, 2))), axis=1)
    sizes = people.sizes
    allowed = np.array([0.0, 0.03, 0.1, 0.25, 1.0])
    best = np.full(len(allowed), -np.inf)
    for chosen in product(range(10), repeat=groups):
        taken = np.stack([above[group, place] for group, place in enumerate(chosen)])
        rates = taken.sum(axis=1) / sizes
        reward = (taken[:, 1] - cost * taken[:, 0]).sum() / sizes.sum()
        fits = rates.max() - rates.min() <= allowed + 1e-9
        best = np.where(fits, np.maximum(best, reward), best)
    assert best_per_group(people, allowed, cost) == pytest.approx(best)


def test_the_frontier_has_those_that_no_other_beats() -> None:
    rng = np.random.default_rng(4)
    gap, reward = rng.random(200).round(2), rng.random(200).round(2)
    on = set(undominated(gap, reward).tolist())
    for place in range(200):
        better = ((gap <= gap[place]) & (reward > reward[place])) | ((gap < gap[place]) & (reward >= reward[place]))
        same = (gap == gap[place]) & (reward == reward[place])
        assert better.any() != bool(on & set(np.flatnonzero(same).tolist()))


def test_a_threshold_per_group_is_never_worse_than_one_for_all() -> None:
    table = loans(people=2000)
    found = advise(counted(table), Aims(cost=2.0, feedback=(0.3,))).frontiers
    assert list(found) == [0.0, 0.3]
    today = found[0.0]
    assert today.gap == sorted(today.gap)
    assert today.reward == sorted(today.reward)
    for allowed, best in zip(today.per_group_gap, today.per_group_reward, strict=True):
        shared = [reward for gap, reward in zip(today.gap, today.reward, strict=True) if gap <= allowed]
        assert best >= max(shared, default=0.0) - 1e-12
    for cut, gap, reward in zip(today.cuts, today.gap, today.reward, strict=True):
        accepted = table["score"] >= counted(table).cuts[cut]
        rates = accepted.groupby(table["sex"]).mean()
        assert gap == pytest.approx(rates.max() - rates.min())
        assert reward <= accepted.mean()
    assert found[0.3].per_group_gap == []


def test_the_largest_between_two_places() -> None:
    values = np.random.default_rng(5).normal(size=37)
    first, last = (each.ravel() for each in np.triu_indices(38, 1))
    found = RangeMaximum(values).between(first, last)
    assert found.tolist() == [values[a:b].max() for a, b in zip(first, last, strict=True)]
