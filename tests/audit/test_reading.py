"""Tables of decisions: order, periods, segments, and what is left out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import fairgate as fg
from fairgate.audit.example import example_decisions


def table(policy: list[str]) -> pa.Table:
    size = len(policy)
    return pa.table({"accepted": [0, 1] * (size // 2), "group": ["a", "b"] * (size // 2), "policy": policy})


def test_rows_in_any_order_come_to_the_same() -> None:
    ordered = example_decisions(3000)
    mixed = ordered.take(np.random.default_rng(0).permutation(3000))
    first, second = (
        fg.audit(each, decision="accepted", group="sex", date="day", policy="policy", constraints=[fg.Budget(0.4)])
        for each in (ordered, mixed)
    )
    assert first.document() == second.document()
    np.testing.assert_array_equal(first.decisions.counts, second.decisions.counts)


def test_a_number_may_give_the_order_and_a_table_without_is_looked_at_once() -> None:
    early, late = [1] * 50, [0] * 50
    rows = pa.table({"accepted": late + early, "group": ["a", "b"] * 50, "when": [*range(50, 100), *range(50)]})
    found = fg.audit(rows, decision="accepted", group="group", order="when")
    assert found.overall.overall.value[0] == 1.0
    assert found.overall.overall.value[49] == 1.0
    assert found.overall.overall.value[-1] == 0.5
    for once in (
        fg.audit(rows, decision="accepted", group="group"),
        fg.audit(rows, decision="accepted", group="group", order="when", once=True),
    ):
        assert once.once
        assert once.overall.overall.value.tolist() == [0.5]


def test_every_run_of_a_policy_is_a_segment_and_one_that_comes_back_is_another() -> None:
    policy = ["old"] * 20 + ["new"] * 30 + ["old"] * 10
    found = fg.audit(table(policy=policy), decision="accepted", group="group", policy="policy")
    assert [(each.name, each.people) for each in found.decisions.segments] == [("old", 20), ("new", 30), ("old", 10)]
    assert [each.name for each in found.segments] == ["old (segment 1)", "new", "old (segment 3)"]
    assert sum(each.level for each in found.segments) + found.overall.level < 0.05


def test_policies_that_take_turns_are_one_segment_each() -> None:
    found = fg.audit(table(policy=["x", "y", "y", "x"] * 40), decision="accepted", group="group", policy="policy")
    assert found.decisions.turns
    assert [(each.name, each.people) for each in found.decisions.segments] == [("x", 80), ("y", 80)]


def test_groups_that_are_too_small_are_left_out_and_told_of() -> None:
    rows = pa.table({"accepted": [0, 1] * 20, "group": ["a", "b"] * 19 + ["x", "b"]})
    found = fg.audit(rows, decision="accepted", group="group", min_group=5)
    assert found.decisions.groups == ("a", "b")
    assert found.decisions.dropped == {"group of fewer than 5": 1}


def test_other_decisions_in_words_need_to_be_told() -> None:
    rows = pa.table({"accepted": ["loan", "refused"] * 10, "group": ["a", "a", "b", "b"] * 5})
    found = fg.audit(rows, decision="accepted", group="group", accepted="loan")
    assert found.overall.overall.value[-1] == 0.5


def test_several_columns_of_groups_are_crossed() -> None:
    rows = pa.table({"accepted": [0, 1, 1, 1] * 10, "sex": ["f", "m"] * 20, "old": ["no", "no", "yes", "yes"] * 10})
    found = fg.audit(rows, decision="accepted", group=["sex", "old"])
    assert found.decisions.groups == ("f · no", "f · yes", "m · no", "m · yes")
    assert found.decisions.columns["group"] == "sex × old"
    assert found.overall.rates.value[-1].tolist() == [0.0, 1.0, 1.0, 1.0]
