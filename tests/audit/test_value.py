"""The value of other thresholds: unbiased, with intervals that cover, and not identified where nobody was accepted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, norm, t

import fairgate as fg
from fairgate.audit.audit import Audit
from fairgate.audit.value import Value
from tests.audit.worlds import COST, drawn, true_value

THRESHOLDS = (-0.4, 0.0, 0.6)


def valued(table: pa.Table, thresholds: tuple[float, ...] = THRESHOLDS) -> Value:
    found = audited(table, thresholds)
    assert found.value is not None
    return found.value


def audited(table: pa.Table, thresholds: tuple[float, ...] = THRESHOLDS) -> Audit:
    return fg.audit(
        table,
        decision="accepted",
        group="group",
        score="score",
        label="good",
        propensity="chance",
        cost=COST,
        thresholds=thresholds,
    )


@pytest.mark.slow
def test_ips_and_doubly_robust_are_unbiased_and_their_intervals_cover() -> None:
    runs, rng = 200, np.random.default_rng(11)
    truth = np.array([true_value(each) for each in THRESHOLDS])
    errors: dict[str, list[list[float]]] = {"ips": [], "doubly_robust": []}
    covered: dict[str, list[list[bool]]] = {"ips": [], "doubly_robust": []}
    for _ in range(runs):
        found = valued(drawn(1500, rng)).thresholds
        for name in errors:
            each = [getattr(worth, name) for worth in found]
            errors[name].append([one.value - true for one, true in zip(each, truth, strict=True)])
            covered[name].append([one.low <= true <= one.high for one, true in zip(each, truth, strict=True)])
    for name, values in errors.items():
        error = np.array(values)
        off = error.mean(axis=0) / (error.std(axis=0, ddof=1) / np.sqrt(runs))
        assert np.abs(off).max() < norm.isf(1e-4), name
        assert np.array(covered[name]).sum(axis=0).min() >= binom.ppf(1e-4, runs, 0.94), name
    spread = {name: np.array(values).std(axis=0) for name, values in errors.items()}
    assert (spread["doubly_robust"][:2] < 0.95 * spread["ips"][:2]).all()  # beyond 0.5 there is no lottery


def test_the_gain_over_the_decisions_made_is_that_of_the_values() -> None:
    found = valued(drawn(5000, np.random.default_rng(12)))
    for worth in found.thresholds:
        assert worth.gain is not None
        assert worth.doubly_robust is not None
        assert worth.gain.value == pytest.approx(worth.doubly_robust.value - found.made.value)
        assert worth.gain.low < worth.gain.value < worth.gain.high


def test_ips_of_a_threshold_is_what_a_plain_reading_of_the_formula_gives() -> None:
    table = drawn(2000, np.random.default_rng(13))
    score, chance, accepted = (table[name].to_numpy() for name in ("score", "chance", "accepted"))
    reward = np.where(np.nan_to_num(table["good"].to_numpy(zero_copy_only=False)) == 1.0, 1.0, -COST)
    terms = np.where((score >= 0.0) & (accepted == 1), reward / np.where(chance > 0, chance, 1.0), 0.0)
    worth = valued(table, (0.0,)).thresholds[0]
    assert worth.ips is not None
    assert worth.ips.value == pytest.approx(terms.mean())
    reach = t.isf(0.025, (terms**2).sum() ** 2 / (terms**4).sum())
    assert worth.ips.high - worth.ips.value == pytest.approx(reach * terms.std() / np.sqrt(1999))


def test_where_nobody_could_be_accepted_the_value_is_bounded_and_the_people_are_named() -> None:
    table = drawn(4000, np.random.default_rng(14))
    worth = valued(table, (-1.0,)).thresholds[0]
    assert worth.ips is worth.doubly_robust is worth.gain is None
    assert worth.dark is not None
    score = table["score"].to_numpy()
    hidden = (score >= -1.0) & (score < -0.5)
    assert worth.dark.people == hidden.sum()
    assert (worth.dark.low, worth.dark.high) == (score[hidden].min(), score[hidden].max())
    assert worth.low < true_value(-1.0) < worth.high
    assert worth.high - worth.low > (1.0 + COST) * hidden.mean()


def test_scores_where_lower_is_better_come_to_the_same() -> None:
    table = drawn(3000, np.random.default_rng(15))
    turned = table.set_column(0, "score", pa.array(-table["score"].to_numpy()))
    found = fg.audit(
        turned,
        decision="accepted",
        group="group",
        score="score",
        label="good",
        propensity="chance",
        cost=COST,
        descending=True,
        thresholds=(0.4, 1.0),
    ).value
    assert found is not None
    straight = {-each.threshold: each for each in valued(table, (-0.4, -1.0)).thresholds}
    for worth in found.thresholds:
        other = straight[worth.threshold]
        assert worth.acceptance == other.acceptance
        assert (worth.dark is None) == (other.dark is None)
        if worth.ips is not None and other.ips is not None:
            assert worth.ips.value == pytest.approx(other.ips.value)


def test_accepted_people_without_a_label_are_stood_for_by_others() -> None:
    rng = np.random.default_rng(16)
    table = drawn(40_000, rng)
    label = table["good"].to_numpy(zero_copy_only=False).copy()
    label[rng.random(len(label)) < 0.3] = np.nan
    found = valued(table.set_column(4, "good", pa.array(label, from_pandas=True)))
    assert found.unlabelled > 5000
    for worth in found.thresholds:
        assert worth.doubly_robust is not None
        assert abs(worth.doubly_robust.value - true_value(worth.threshold)) < 0.03


def late(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    """Take labels away, the more the lower the score is: all but 5% at scores near the lowest accepted."""
    label = table["good"].to_numpy(zero_copy_only=False).copy()
    label[rng.random(len(label)) < np.clip(0.7 - 0.5 * table["score"].to_numpy(), 0.0, 0.95)] = np.nan
    return table.set_column(4, "good", pa.array(label, from_pandas=True))


@pytest.mark.slow
def test_labels_missing_at_random_given_the_score_are_made_up_for() -> None:
    runs, rng = 60, np.random.default_rng(18)
    truth, decided = true_value(-0.4), []
    covered = {"ips": 0, "doubly_robust": 0}
    for _ in range(runs):
        found = valued(late(drawn(6000, rng, floor=0.3), rng), (-0.4,))
        (worth,) = found.thresholds
        decided.append(found.made.value)
        for name in covered:
            estimate = getattr(worth, name)
            covered[name] += estimate.low <= truth <= estimate.high
    assert min(covered.values()) >= binom.ppf(1e-4, runs, 0.93)
    full = [valued(drawn(6000, rng, floor=0.3), (-0.4,)).made.value for _ in range(20)]
    assert abs(np.mean(decided) - np.mean(full)) < 4.0 * np.hypot(np.std(decided) / np.sqrt(runs), np.std(full) / 4.5)


def test_where_too_few_labels_are_known_of_the_accepted_nothing_is_supposed_about_the_others() -> None:
    rng = np.random.default_rng(19)
    table = drawn(4000, rng, floor=0.3)
    label = table["good"].to_numpy(zero_copy_only=False).copy()
    score, chance = table["score"].to_numpy(), table["chance"].to_numpy()
    label[(score < 0.0) & (chance > 0.0)] = np.nan
    found = valued(table.set_column(4, "good", pa.array(label, from_pandas=True)), (-0.4, 0.6))
    low, high = found.thresholds
    assert low.ips is low.gain is None
    assert low.dark is not None
    assert low.low < true_value(-0.4) < low.high
    assert high.doubly_robust is not None
    assert high.gain is None
    assert found.blank > 100
    whole = valued(table, (0.6,)).made
    assert found.made.low < whole.value < found.made.high


def test_too_few_outcomes_of_a_lottery_give_bounds_alone() -> None:
    rng = np.random.default_rng(20)
    table = drawn(1000, rng, floor=0.02)
    chosen = table["group"].to_numpy() == 0
    table = table.filter(pa.array(chosen))
    found = valued(table, (-0.4, 0.6))
    low, high = found.thresholds
    score, chance, accepted = (table[name].to_numpy() for name in ("score", "chance", "accepted"))
    assert low.few == ((score >= -0.4) & (chance < 1.0) & (accepted == 1)).sum()
    assert low.doubly_robust is low.ips is low.gain is None
    assert low.dark is None
    assert low.high - low.low > (1.0 + COST) * ((score >= -0.4) & (score < 0.5)).mean()
    assert high.few is None
    assert high.doubly_robust is not None


def test_propensities_that_do_not_fit_the_decisions_are_told_of() -> None:
    table = drawn(5000, np.random.default_rng(17))
    assert valued(table).misfit == ""
    chance = table["chance"].to_numpy()
    wrong = np.where((chance > 0) & (chance < 1), chance / 2.0, chance)
    assert "do not fit the decisions" in valued(table.set_column(3, "chance", pa.array(wrong))).misfit
