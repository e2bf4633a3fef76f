"""Missing labels: bounds and the odds at which the advice flips, by hand; and where labels end, nothing is promised."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.sensitivity import flips_at, reward_bounds
from fairgate.advice.steady import Response
from fairgate.people import Applicants, Columns, from_frame
from fairgate.problem import Problem, Utility

TODAY = Response(0.0, 0.0)
PROBLEM = Problem(Utility(1.0), [])


def table(missing: int) -> Applicants:
    """Of 100 people with a label, 60 are good at the low score and 80 at the high one; some of the low have none."""
    counts = np.array([[[40, 60, missing], [20, 80, 0]]])
    return Applicants(
        ("all",), np.array([1.0, 2.0]), np.array([1.0, 2.0]), counts, Columns("s", "y", "g"), 200 + missing
    )


def test_the_bounds_and_the_odds_at_which_it_flips_by_hand() -> None:
    """The low score earns 20 + 100 (1 − 2 b) with a share b of bad ones among those without a label.

    It is worth nothing at b = 0.6, which are odds of 1.5 against 40/60 among those with a label: 2.25 times.
    """
    people = table(100)
    worst, best = reward_bounds(people, PROBLEM, TODAY)
    assert worst.tolist() == pytest.approx([(60 + 20 - 100) / 300, 60 / 300])
    assert best.tolist() == pytest.approx([(60 + 20 + 100) / 300, 60 / 300])
    rivals = np.array([False, True])
    assert flips_at(people, PROBLEM, TODAY, 0, rivals) == pytest.approx(2.25, rel=1e-9)
    assert flips_at(people, PROBLEM, TODAY, 1, ~rivals) == 1.0  # accepting all is better already
    assert flips_at(people, PROBLEM, TODAY, 0, np.full(2, False)) == pytest.approx(13.5)  # nobody: b = 0.9


def test_where_few_labels_are_missing_nothing_flips() -> None:
    assert flips_at(table(10), PROBLEM, TODAY, 0, np.array([False, True])) is None
    assert flips_at(table(0), PROBLEM, TODAY, 0, np.array([False, True])) is None


def test_what_is_recommended_stays_where_labels_are_known_and_the_bounds_stand_beside_it() -> None:
    """Labels end at the old threshold of 0, in the midst of a band of similar scores, and some above are missing."""
    rng = np.random.default_rng(4)
    score, group = rng.normal(size=4000), rng.integers(2, size=4000)
    good = rng.random(4000) < 1.0 / (1.0 + np.exp(-2.0 * (score + 1.0)))  # below 0, many would be good
    label = np.where((score < 0.0) | (rng.random(4000) < 0.2), np.nan, good)
    people = pa.table({"score": score, "label": pa.array(label, from_pandas=True), "group": group})
    applicants = from_frame(people, score="score", label="label", group="group")
    made = advise(applicants, Aims(cost=4.0, feedback=(0.0,), seeds=1, rounds=5)).recommendation
    assert ((score >= made.threshold) & (score < 0.0)).mean() <= 0.01
    assert made.reward_bounds is not None
    low, high = made.reward_bounds
    accepted = score >= made.threshold
    value = np.where(np.isnan(label), 0.0, 5.0 * label - 4.0)
    unknown = (accepted & np.isnan(label)).mean()
    assert low == pytest.approx((accepted * value).mean() - 4.0 * unknown)
    assert high == pytest.approx((accepted * value).mean() + unknown)
    assert low < made.reward.value < high
    assert f"between {low:.4f} (all bad) and {high:.4f} (all good)" in made.text.replace("−", "-")
    assert made.flips_at is not None
    assert f"{made.flips_at:.3g} times" in made.text


def test_labels_that_are_rare_everywhere_are_known_everywhere() -> None:
    rng = np.random.default_rng(1)
    score = rng.normal(size=5000)
    label = np.where(rng.random(5000) < 0.2, score + rng.normal(size=5000) > 0.0, np.nan)
    people = pa.table({"score": score, "label": pa.array(label, from_pandas=True), "group": rng.integers(2, size=5000)})
    assert from_frame(people, score="score", label="label", group="group").known.all()


def test_a_rule_that_shuts_a_group_out_is_warned_of_though_the_gap_is_small() -> None:
    """4% of one group and nobody of the other are accepted: a gap of 0.04 is sure to be below 0.1.

    Under four fifths the best that is certain is to accept nobody at all, which is said in other words.
    """
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], 5000)
    score = np.where(group == "a", rng.random(10_000), 0.9 * rng.random(10_000))
    label = rng.random(10_000) < np.where(score > 0.96, 0.95, 0.1)
    people = from_frame(
        pa.table({"score": score, "label": label, "group": group}), score="score", label="label", group="group"
    )
    aims = Aims(cost=1.0, constraints=[fg.DemographicParity(0.1)], feedback=(0.0,), seeds=1, rounds=5)
    advice = advise(people, aims)
    assert advice.recommendation.status == "sure"
    found = {finding.key: finding for finding in advice.findings}
    assert found["shut-out"].level == "warning"
    assert "accepts nobody of group = b" in found["shut-out"].text
    fair = Aims(cost=1.0, constraints=[fg.DisparateImpact(0.8)], feedback=(0.0,), seeds=1, rounds=5)
    advice = advise(people, fair)
    assert advice.recommendation.status == "sure"
    found = {finding.key: finding for finding in advice.findings}
    assert found["shut-out"].text == "The rule accepts nobody of any group."
    assert "four-fifths" not in found
