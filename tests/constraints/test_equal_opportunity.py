"""Equal opportunity."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import equal_opportunity_difference
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import count, rates, sample


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_gap_is_fairlearns(groups: int, seed: int) -> None:
    group, label, decision = sample(groups, seed)
    residual = fg.EqualOpportunity(0.1).residuals(count(group, label, decision, groups))[0]
    assert residual[0] == pytest.approx(equal_opportunity_difference(label, decision, sensitive_features=group) - 0.1)


def test_a_rare_groups_gap_is_fairlearns() -> None:
    group, label, decision = sample(3, seed=4, size=500, shares=[0.7, 0.28, 0.02])
    residual = fg.EqualOpportunity(0.1).residuals(count(group, label, decision, 3))[0]
    assert residual[0] == pytest.approx(equal_opportunity_difference(label, decision, sensitive_features=group) - 0.1)


@given(st.lists(st.integers(0, 100), min_size=2, max_size=5), st.integers(0, 100))
def test_the_residual_is_positive_exactly_when_two_groups_are_further_apart(accepted: list[int], percent: int) -> None:
    residual = fg.EqualOpportunity(percent / 100).residuals(rates(*(one / 100 for one in accepted)))[0][0]
    assert (residual > 1e-12) == (max(accepted) - min(accepted) > percent)


def test_groups_without_positive_labels_are_left_out() -> None:
    cells = np.array([[[[5, 5], [1, 3]], [[5, 5], [0, 0]], [[0, 0], [2, 2]]]])
    assert fg.EqualOpportunity(0.1).residuals(fg.Counts(cells))[0][0] == pytest.approx(0.25 - 0.1)
    cells[:, 2] = 0
    assert fg.EqualOpportunity(0.1).residuals(fg.Counts(cells))[0][0] == pytest.approx(-0.1)
    cells[:, 0, 1] = 0
    assert fg.EqualOpportunity(0.1).residuals(fg.Counts(cells))[0][0] == pytest.approx(-0.1)


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(fg.InputError, match=r"EqualOpportunity: epsilon must be in \[0, 1\], got 1.5"):
        fg.EqualOpportunity(1.5)


def test_words_speak_of_good_and_bad_labels_not_of_numbers() -> None:
    texts = [fg.EqualOpportunity(0.1).requirement, fg.EqualOpportunity(0.1).allows(0)]
    both = (fg.EqualOpportunity(0.1), fg.EqualisedOdds(0.1))
    texts += [text for each in both for words in each.words for text in words]
    assert texts[0] == "The groups’ acceptance rates among people with a good label may differ by 0.1 at most."
    assert not [text for text in texts if "label 1" in text or "label 0" in text]
    assert "among people with a bad label" in texts[-1]
