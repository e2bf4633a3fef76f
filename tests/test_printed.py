"""What results look like when they are printed: short, the answer first, and never an address."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.advice.report.output import write
from fairgate.truth import truth_of


def test_no_class_that_is_exported_is_printed_as_an_address() -> None:
    classes = [found for name in fg.__all__ if inspect.isclass(found := getattr(fg, name))]
    assert len(classes) > 30
    assert [each.__name__ for each in classes if each.__repr__ is object.__repr__] == []


def test_an_advice_and_a_look_say_the_answer_first(tmp_path: Path) -> None:
    people = fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    advice = fg.advise(people, fg.Aims(cost=2.0, constraints=[fg.DemographicParity(0.2)], feedback=(0.0,)))
    made = advice.recommendation
    assert str(advice) == f"SURE {made.rule}\n{made.text}"
    assert repr(advice) == (
        f"Advice(sure: {made.rule}, {made.reward.value:.4f} per person, "
        "Applicants(500 people, 2 groups, 342 thresholds, 0 labels missing))"
    )
    assert repr(fg.advise(people, fg.Aims(feedback=(0.0,)))).startswith("Advice(best: risk_score ≥ ")
    for found in (advice.today, advice.steady[0].sweep, advice.steady[0].counts):
        assert len(repr(found)) < 200
        assert " object at 0x" not in repr(found)
    write(advice, tmp_path, "table.csv")
    look = fg.monitor(example_table(), tmp_path)
    assert repr(look) == "Monitored(look 1: 500 people, 0 of 1 constraints broken, 0 of 8 comparisons drifted)"
    assert str(look).startswith("Look 1, 500 people: no constraint is broken with the stated certainty; no drift")


def test_counts_sweeps_and_truths_are_told_in_a_line() -> None:
    cells = np.array([[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]])
    assert repr(fg.Counts(cells)) == "Counts(1 × 2 groups, 75.0% accepted)"
    assert repr(fg.Counts(np.zeros((3, 2, 2, 2)))) == "Counts(3 × 2 groups, nobody accepted)"
    more = fg.Counts(np.concatenate([cells, cells[:, ::-1, :, ::-1]]))
    assert repr(more) == "Counts(2 × 2 groups, 25.0% to 75.0% accepted)"
    task = fg.load_task("mve-s")
    sweep, truth = fg.oracle(task).sweep, truth_of(task, rounds=100)
    assert repr(sweep).startswith(f"ThresholdSweep({len(sweep.thresholds)} thresholds, ")
    assert repr(truth) == f"Truth(mve-s: 100 rounds, 1 moment; best at the end: {truth.last.sweep.best})"
