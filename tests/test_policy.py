"""Policy: one form for thresholds and lotteries, decided person by person as by bins, and kept whole in JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fairgate as fg
from fairgate.policy import Policy

GRID = np.array([-1.0, 0.0, 0.5, 2.0])


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    parts, replicates, groups = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    ends = st.sampled_from([-np.inf, *GRID.tolist(), np.inf])
    thresholds = draw(hnp.arrays(np.float64, (parts, replicates, groups), elements=ends))
    raw = draw(hnp.arrays(np.float64, (parts, replicates), elements=st.floats(0.01, 1.0)))
    return Policy(thresholds, raw / raw.sum(axis=0))


@given(policies())
def test_json_gives_the_very_same_policy(policy: Policy) -> None:
    back = Policy.from_json(json.loads(json.dumps(policy.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(back.thresholds, policy.thresholds)
    np.testing.assert_array_equal(back.weights, policy.weights)


@given(policies(), st.integers(0, 2**32 - 1))
def test_people_are_decided_as_their_bins_are(policy: Policy, seed: int) -> None:
    """With evenly spread draws, the share accepted of a score and group is that of its bin."""
    draws = (np.arange(4000) + 0.5) / 4000
    share = policy.accepted_share(GRID)
    rng = np.random.default_rng(seed)
    score, group = rng.normal(scale=2.0), int(rng.integers(policy.groups))
    place = int(np.searchsorted(GRID, score, side="right"))
    found = policy.decide(np.full(4000, score), np.full(4000, group), draws)
    assert abs(found.mean() - share[0, group, place]) <= 5 / 4000


def test_who_scores_a_threshold_is_accepted() -> None:
    assert Policy.of([[0.5, 0.7]]).decide([0.5, 0.5, 0.7], [0, 1, 1]).tolist() == [True, False, True]


def test_one_number_serves_all_groups_of_a_lottery() -> None:
    """The first threshold holds for draws below its weight, in every group."""
    policy = Policy(np.array([[[0.0, 1.0]], [[2.0, 3.0]]]), np.array([[0.25], [0.75]]))
    assert policy.decide([1.0, 1.0], [0, 1], [0.2, 0.2]).tolist() == [True, True]
    assert policy.decide([1.0, 1.0], [0, 1], [0.25, 0.25]).tolist() == [False, False]
    assert policy.is_lottery.tolist() == [True]
    assert np.isnan(policy.single).all()


def test_a_component_of_all_the_weight_is_a_threshold() -> None:
    policy = Policy(np.array([[[0.5, 0.7]], [[np.inf, np.inf]]]), np.array([[1.0], [0.0]]))
    assert policy.single.tolist() == [[0.5, 0.7]]
    assert policy.published.tolist() == [[0.5, 0.7]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (([0.1, float("nan")], [0, 0]), "scores must be numbers, got nan"),
        (([0.1], [2]), "groups must be whole numbers from 0 to 1, got 2"),
        (([0.1, 0.2], [0]), "scores and groups must have one entry per person"),
        (([0.1], [0]), r"draws must be one number of \[0, 1\) per person to decide by lottery, got None"),
        (([0.1], [0], [1.0]), r"draws must be one number of \[0, 1\) per person"),
    ],
)
def test_people_who_cannot_be_decided_on_are_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        Policy.uniform([0.5], groups=2).decide(*given)


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({"thresholds": [[[0.1]]]}, "this is no policy"),
        ({"thresholds": 3, "weights": 1}, "thresholds of 3 axes and weights of 2, got 0 and 0"),
        ({"thresholds": [[[0.1]]], "weights": [[0.5]]}, "weights of at least 0 that sum to 1"),
        ({"thresholds": [[[0.1]]], "weights": [[0.5], [0.5]]}, "must have thresholds of shape"),
        ({"thresholds": [[[0.1]], [[0.2]]], "weights": [[0.5], [0.6]]}, "weights of at least 0 that sum to 1"),
        ({"thresholds": [[["nan"]]], "weights": [[1.0]]}, "numbers or ±inf, got nan"),
    ],
)
def test_data_that_are_no_policy_are_refused(plain: Any, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        Policy.from_json(plain)


def test_a_run_keeps_every_policy_whole(small_task: fg.Task, tmp_path: Any) -> None:
    """Also after saving: weights and thresholds of lotteries, and what was recommended in the end."""
    task = fg.load_task("mean-shift")
    run = fg.simulate(task, fg.learners.Mixture(), rounds=150, seeds=2)
    assert run.has_lotteries
    assert run.policies.thresholds.shape[1:] == (2, 150, 2)
    np.testing.assert_allclose(run.policies.weights.sum(axis=0), 1.0)
    settled = run.settled()
    assert settled.is_lottery.all()  # not the first of its thresholds
    back = fg.Run.load(run.save(tmp_path / "run.parquet"))
    np.testing.assert_array_equal(back.policies.thresholds, run.policies.thresholds)
    np.testing.assert_array_equal(back.policies.weights, run.policies.weights)
    np.testing.assert_array_equal(back.settled().weights, settled.weights)


@given(policies())
def test_what_is_asked_about_a_frozen_policy_is_worked_out_once_and_is_the_same(policy: Policy) -> None:
    frozen = policy.copy().frozen()
    assert frozen.is_frozen
    assert not policy.is_frozen
    share = frozen.accepted_share(GRID)
    np.testing.assert_array_equal(share, policy.accepted_share(GRID))
    assert frozen.accepted_share(GRID.copy()) is share
    np.testing.assert_array_equal(frozen.accepted_share(GRID[1:]), policy.accepted_share(GRID[1:]))
    for array in (*frozen, share):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    shape = policy.thresholds.shape[1:]
    assert frozen.checked(None, shape, GRID) is frozen
    for _ in range(2):  # what is wrong is said each time
        with pytest.raises(fg.InputError, match="must have thresholds of shape"):
            frozen.checked(None, (shape[0] + 1, shape[1]), GRID)


def test_a_lottery_of_shared_thresholds_is_made_of_options_and_weights() -> None:
    one = Policy.lottery([0.2, 0.6], [0.3, 0.7], groups=3)
    assert (one.replicates, one.groups) == (1, 3)
    two = Policy.lottery([[0.2, 0.6], [0.1, np.inf]], [[0.3, 0.7], [1.0, 0.0]], groups=2)
    np.testing.assert_allclose(
        two.accepted_share(np.array([0.1, 0.2, 0.6]))[:, 0], [[0.0, 0.0, 0.3, 1.0], [0.0, 1.0, 1.0, 1.0]]
    )
    with pytest.raises(fg.InputError, match="weights must be as many as thresholds, 2, got 3"):
        Policy.lottery([0.2, 0.6], [0.3, 0.3, 0.4], groups=2)
    with pytest.raises(fg.InputError, match="sum to 1"):
        Policy.lottery([0.2, 0.6], [0.3, 0.3], groups=2)
