"""Watch: bounds made step by step are those of the audit, and rarely miss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairgate.audit.alarms import raise_alarms
from fairgate.audit.sequences import follow
from fairgate.confidence import running_bounds
from fairgate.constraints import Constraint, DemographicParity, DisparateImpact, ServiceRate
from fairgate.constraints.bounds import common_bounds
from fairgate.live import Gate
from fairgate.live.watch import Watch
from tests.live.gates import make_spec, people


@given(arrays(np.int64, (7, 3, 2), elements=st.integers(0, 60)))
def test_rates_are_bounded_as_running_bounds_does(batches: np.ndarray) -> None:
    watch = Watch.begin(2, 0, 3)
    for each in batches:
        watch.look(each)
    known, alike = watch.bounds(0.05), watch.same_weights(0.05)
    both = np.concatenate((batches.sum(axis=1, keepdims=True), batches), axis=1)
    level = 0.05 / 3 / 6 / 8  # a third for this kind of stretch, 1/(2 · 3) for the second, eight figures
    some = batches.any(axis=(1, 2))
    if some.any():
        low, high = running_bounds(both[some, :, 1], both[some].sum(axis=2), level)
        came = both.sum(axis=(0, 2)) > 0
        assert known.low[:4] == pytest.approx(np.where(came, low[-1], 0.0))
        assert known.high[:4] == pytest.approx(np.where(came, high[-1], 1.0))
        same = common_bounds(batches[some, :, 1], batches[some].sum(axis=2), level)
        assert alike.low[1:4] == pytest.approx(same[0][-1])
        assert alike.high[1:4] == pytest.approx(same[1][-1])
    assert Watch.load(watch.save()).same_weights(0.05).low.tolist() == alike.low.tolist()


def test_levels_of_all_stretches_add_up_to_no_more_than_alpha() -> None:
    everything = Watch.begin(0, 0, 2).level(0.05)
    stretches = 2 * sum(Watch.begin(number, 0, 2).level(0.05) for number in range(1, 2000))
    assert everything + stretches <= 0.05
    assert everything + stretches >= 0.0499


def test_a_changing_mix_of_groups_breaks_nothing() -> None:
    """The same share of both groups is accepted in every round; only the averages differ."""
    watch, constraints = Watch.begin(1, 0, 2), [DemographicParity(0.1)]
    for number in range(40):
        people = np.array([900, 100] if number < 20 else [100, 900])
        rate = 0.8 if number < 20 else 0.2
        accepted = (people * rate).astype(np.int64)
        watch.look(np.stack((people - accepted, accepted), axis=1))
    (found,) = watch.judge(constraints, 0.05)
    assert found is not None
    assert (found.status, found.mixed) == ("undecided", True)
    assert found.low > 0.3
    for _ in range(60):
        watch.look(np.array([[100, 900], [900, 100]]))  # now groups are treated differently
    (found,) = watch.judge(constraints, 0.05)
    assert found is not None
    assert found.status == "broken"


def both_verdicts(batches: np.ndarray, constraints: list[Constraint]) -> tuple[list[str], list[str]]:
    """Judge rounds, people rejected and accepted by group (T, G, 2), by a watch and by an audit, at the same levels."""
    groups = batches.shape[1]
    watch = Watch.begin(1, 0, groups)
    for each in batches:
        watch.look(each)
    counts = np.zeros((len(batches), groups, 3, 2), dtype=np.int64)
    counts[:, :, 2] = batches
    level = watch.level(0.05) * (1 + 2 * groups) / (2 + 2 * groups)  # the reward has a part of the watch's
    audited = raise_alarms(follow("", counts, level, labels=False), counts.sum(axis=0), constraints, labelled=False)
    judged = [each for each in watch.judge(constraints, 0.05) if each is not None]
    assert [each.mixed for each in judged] == [each.mixed for each in audited]
    return [each.status for each in judged], [each.status for each in audited]


ASKED: list[Constraint] = [DemographicParity(0.05), DisparateImpact(0.9), ServiceRate(0.3, 0.8)]


@settings(max_examples=50)
@given(arrays(np.int64, (7, 2, 2), elements=st.integers(0, 3000)).filter(lambda batches: batches.any()))
def test_watch_and_audit_come_to_the_same_verdict(batches: np.ndarray) -> None:
    watched, audited = both_verdicts(batches, ASKED)
    assert watched == audited


def test_watch_and_audit_agree_on_a_changing_mix() -> None:
    """Equal rates in both groups, 60% while one group comes and 30% while the other does."""
    early, late = [[3000, 4500], [1000, 1500]], [[1750, 750], [5250, 2250]]
    batches = np.array([early] * 2 + [late] * 2)
    watched, audited = both_verdicts(batches, [DemographicParity(0.05)])
    assert watched == audited == ["undecided"]
    batches[2:, 0] = [[500, 2000]] * 2
    watched, audited = both_verdicts(batches, [DemographicParity(0.05)])
    assert watched == audited == ["broken"]


@pytest.mark.parametrize("late", [0, 7])
def test_rewards_are_missed_no_more_often_than_said(late: int) -> None:
    """The policy changes half way, and labels of late rounds that never come are the good ones."""
    rng = np.random.default_rng(4)
    alpha, cost, missed = 0.4, 2.0, 0
    for _ in range(150):
        watch, worth = Watch.begin(0, 0, 1), 0.0
        for number in range(30):
            rate, good_rate = (0.6, 0.8) if number < 15 else (0.9, 0.5)
            accepted = rng.binomial(40, rate)
            good = rng.binomial(accepted, good_rate)
            hidden = min(good, late % 4) if number % 2 else 0
            watch.worth.add(40, accepted, accepted - good, good - hidden, cost)
            worth += rate * (good_rate - cost * (1.0 - good_rate))
            _, low, high = watch.reward(alpha, cost) or (0.0, -cost, 1.0)
            if not low <= worth / (number + 1) <= high:
                missed += 1
                break
    assert missed <= 150 * alpha / 3


def test_a_gate_whose_labels_are_late_says_what_the_first_rounds_were_worth(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start={"mode": "hold", "threshold": 0.75}))
    rng = np.random.default_rng(6)
    truth = []
    for day in range(40):
        if day == 20:
            gate.hold("lower", 0.25)
        ids, groups, scores = people(rng, 100, 1000 * day)
        taken = gate.decide(ids, groups, scores).accepted
        chosen = [(name, score) for name, score, yes in zip(ids, scores, taken, strict=True) if yes]
        if day < 20:
            truth.append(sum(2 * score - 1 for _, score in chosen) / 100)
            gate.outcomes([name for name, _ in chosen], [int(rng.random() < score) for _, score in chosen])
        gate.close()
    scope = gate.figures().scopes[0]
    assert scope.reward_rounds == 20
    low, high = scope.reward.low, scope.reward.high
    assert low is not None
    assert high is not None
    assert low <= np.mean(truth) <= high
    assert gate.figures().scopes[2].reward.value is None  # nothing is known of the policy in force
    gate.shut()
