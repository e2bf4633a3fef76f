"""Tables for a paper: their structure, what is best, what is marked, and what is escaped."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

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


def test_settings_are_no_seeds() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"rate": rate, "gain": gain, "batch": batch, "learner": learner, "seed": seed, "regret": rng.normal()}
        for rate, gain, batch in product((0.1, 0.5), (1, 2, 3), (64, 256))
        for learner in ("ofs", "other")
        for seed in range(6)
    ]
    tidy = pl.DataFrame(rows)
    table = fg.to_latex(tidy, ["regret"], "ofs", by=["rate"], digits=5)
    assert "over 6 seeds, each seed's figure being the mean of 6 settings; the best" in table
    assert "correction for 2 comparisons" in table
    mean = tidy.group_by("rate", "learner", "seed").agg(pl.col("regret").mean()).sort("rate", "learner", "seed")
    for (_, learner), part in mean.group_by("rate", "learner"):
        values = part["regret"].to_numpy()
        assert re.search(rf"{learner} & .*{values.mean():.5f}.* \\pm {values.std(ddof=1):.5f}", table)
    once = fg.to_latex(mean, ["regret"], "ofs", by=["rate"], digits=5)
    assert "settings" not in once
    assert once.splitlines()[3:] == table.splitlines()[3:]
    known = fg.to_latex(tidy.filter((pl.col("rate") > 0.3) | (pl.col("gain") > 1)), ["regret"], by=["rate"])
    assert "the mean of 4 to 6 settings" in known


def test_a_sweep_is_tested_over_its_seeds() -> None:
    over = {"gain": [0.2, 0.4], "epsilon": [0.04, 0.06], "batch": [64, 128]}
    sweep = fg.sweep("interior", ["ofs", "random"], over=over, seeds=6, rounds=20)
    table = fg.to_latex(sweep.frame(by="seed"), ["regret"], reference="ofs", by=["epsilon"])
    assert "over 6 seeds, each seed's figure being the mean of 4 settings" in table
    ours, theirs = (sweep.figures["regret"][sweep.design["epsilon"] == 0.04, place].mean(axis=0) for place in (1, 0))
    assert f"{ours.mean():.3f}" in table
    assert f"{theirs.std(ddof=1):.3f}" in table


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (pl.col("seed") == 0, "a has 2 rows of seed 1 and 1 of seed 0"),
        (pl.col("learner") == "a", "b has 2 settings of each seed and a 1"),
    ],
)
def test_seeds_of_other_settings_are_refused(cut: pl.Expr, told: str) -> None:
    cells = product((0.1, 0.5), ("a", "b"), range(3))
    rows = [{"rate": rate, "learner": learner, "seed": seed, "reward": 1.0} for rate, learner, seed in cells]
    with pytest.raises(fg.InputError, match=told):
        fg.to_latex(pl.DataFrame(rows).filter(~(cut & (pl.col("rate") == 0.1))), ["reward"], "a")


def test_the_caption_says_how_regret_is_judged(runs: dict[str, fg.Run]) -> None:
    best = fg.oracle(fg.load_task("interior"), refine=False)
    steady, actual = "steady state that what was played leads to.", "judged by the population in the state it was in."
    table = fg.to_latex(runs, ["regret"], oracle=best)
    assert steady in table
    assert "judged" not in fg.to_latex(runs, ["reward"])
    other = fg.to_latex(runs, ["regret"], oracle=best, state="actual")
    assert actual in other
    assert f"{runs['again'].against(best, state='actual').summary()['regret'].mean:.3f}" in other
    assert other.splitlines()[8:] != table.splitlines()[8:]
    task = fg.load_task("interior")
    mixed = {**runs, "a & b": fg.simulate(task, fg.learners.BestLottery(), 40, 9)}
    told = fg.to_latex(mixed, ["regret"], oracle=best)
    assert r"leads to; a \& b, with lotteries, by the population in the state it was in." in told
    assert actual in fg.to_latex({"one": mixed["a & b"]}, ["regret"], oracle=best)


def test_tails_must_agree_and_a_table_has_its_figures_already() -> None:
    size: dict[str, Any] = {"rounds": 50, "seeds": 3, "keep": "summary"}
    kept = {str(tail): fg.simulate("mve-s", fg.OFS(), **size, tail=tail) for tail in (10, 20)}
    with pytest.raises(fg.InputError, match="the last 10 rounds in 10 and the last 20 in 20"):
        fg.to_latex(kept, ["reward"])
    with pytest.raises(fg.InputError, match="tail must be 20, the rounds that the summary of 20 is of, got 10"):
        fg.to_latex(kept, ["reward"], tail=10)
    table = pl.DataFrame({"learner": ["a"], "seed": [0], "reward": [1.0]})
    with pytest.raises(fg.InputError, match="leave out tail=10"):
        fg.to_latex(table, ["reward"], tail=10)
    with pytest.raises(fg.InputError, match="leave out state='actual'"):
        fg.to_latex(table, ["reward"], state="actual")


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
