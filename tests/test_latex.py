"""Tables for a paper: their structure, what is best, what is marked, and what is escaped."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import fairgate as fg
from fairgate.latex import escaped
from fairgate.statistics import holm


@pytest.fixture(scope="module")
def runs() -> dict[str, fg.Run]:
    task = fg.load_task("interior")
    learners = {"low & high": fg.Fixed(-0.5), "best_one": fg.Fixed(0.1), "again": fg.Fixed(0.1)}
    return {name: fg.simulate(task, learner, 40, 9) for name, learner in learners.items()}


def balanced(text: str) -> bool:
    """Whether braces and environments close in order, and every dollar has its other."""
    depth = 0
    for found in re.finditer(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth < 0:
            return False
    open_, close = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    return depth == 0 and open_ == close[::-1] and len(re.findall(r"(?<!\\)\$", text)) % 2 == 0


def test_a_table_is_whole_and_says_what_it_shows(runs: dict[str, fg.Run]) -> None:
    table = fg.to_latex(
        runs, ["reward", "gap"], "best_one", tail=20, caption="100% ours", label="tab:x", names={"gap": r"$\Delta$"}
    )
    assert balanced(table)
    lines = table.splitlines()
    assert [line.strip() for line in lines if "rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"Learner & Reward $\uparrow$ & $\Delta$ $\downarrow$ \\" in table
    assert r"\caption{100\% ours Mean $\pm$ standard deviation over 9 seeds" in table
    assert r"differs from best\_one at the 5\% (1\%) level" in table
    assert "correction for 4 comparisons" in table
    rows = [line.strip() for line in lines if line.endswith(r"\\")][1:]
    assert [row.split(" & $")[0] for row in rows] == [r"low \& high", r"best\_one", "again"]
    assert all(row.count(" & $") == 2 for row in rows)


def test_means_are_those_of_the_runs_and_the_best_are_bold(runs: dict[str, fg.Run]) -> None:
    table = fg.to_latex(runs, ["reward"], tail=20, digits=4)
    for name, run in runs.items():
        found = run.summary(20)["reward"]
        row = next(line for line in table.splitlines() if line.strip().startswith(escaped(name)))
        bold = name != "low & high"
        value = rf"\mathbf{{{found.mean:.4f}}}" if bold else f"{found.mean:.4f}"
        assert rf"${value} \pm {found.sd:.4f}$" in row
    assert "dagger" not in table


def test_marks_are_corrected_two_sided_tests(runs: dict[str, fg.Run]) -> None:
    figures = ["reward", "gap"]
    table = fg.to_latex(runs, figures, "best_one", tail=20)
    others = [name for name in runs if name != "best_one"]
    raw = [fg.compare(runs[name], runs["best_one"], figure, tail=20).p_value for name in others for figure in figures]
    corrected = iter(holm(raw))
    for name in others:
        row = next(line for line in table.splitlines() if line.strip().startswith(escaped(name)))
        for cell in row.split(" & $")[1:]:
            p_value = next(corrected)
            wanted = r"^{\ddagger}" if p_value <= 0.01 else r"^{\dagger}" if p_value <= 0.05 else ""
            assert (re.search(r"\^{\\d+agger}", cell) or [""])[0] == wanted
    assert r"^{\dagger}" in table


def test_a_tidy_table_is_parted_and_each_part_has_its_best() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"rate": rate, "learner": learner, "seed": seed, "reward": rng.normal() + 3 * (learner == best)}
        for rate, best in ((0.1, "a"), (0.5, "b"))
        for learner in ("a", "b")
        for seed in range(12)
    ]
    tidy = pl.DataFrame(rows)
    table = fg.to_latex(tidy, ["reward"], "a", by=["rate"])
    assert balanced(table)
    shuffled = tidy.sample(fraction=1.0, shuffle=True, seed=1).sort("rate", "learner")
    assert fg.to_latex(shuffled, ["reward"], "a", by=["rate"]) == table
    body = [line.strip() for line in table.splitlines() if line.endswith(r"\\")][1:]
    assert [r"\mathbf" in line for line in body] == [True, False, False, True]
    assert [line.split("&")[0].strip() for line in body] == ["0.1", "", "0.5", ""]
    assert table.count(r"\midrule") == 2
    assert fg.to_latex(tidy.filter(pl.col("rate") == 0.1), ["reward"]).count(r"\mathbf") == 1


def test_regret_has_a_column_with_an_oracle(runs: dict[str, fg.Run]) -> None:
    best = fg.oracle(fg.load_task("interior"), refine=False)
    table = fg.to_latex(runs, ["regret", "success", "acceptance"], oracle=best)
    assert r"Regret $\downarrow$ & Success $\uparrow$ & Acceptance \\" in table


def test_bad_input_is_said(runs: dict[str, fg.Run]) -> None:
    with pytest.raises(fg.InputError, match="unknown figure 'rewards': did you mean"):
        fg.to_latex(runs, ["rewards"])
    with pytest.raises(fg.InputError, match="unknown reference 'ofs'"):
        fg.to_latex(runs, ["reward"], "ofs")
    with pytest.raises(fg.InputError, match="runs by name or a table"):
        fg.to_latex(3)
    with pytest.raises(fg.InputError, match="got none"):
        fg.to_latex({})
    with pytest.raises(fg.InputError, match="unknown column 'seed'"):
        fg.to_latex(pl.DataFrame({"learner": ["a"], "reward": [1.0]}), ["reward"])
    assert escaped(r"\~^{x}") == r"\textbackslash{}\textasciitilde{}\textasciicircum{}\{x\}"
