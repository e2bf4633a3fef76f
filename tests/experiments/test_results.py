"""Tables in all their forms, and the numbers in them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from fairgate.estimates import Estimate
from fairgate.experiments.results import Cell, Row, Table


@pytest.fixture
def table() -> Table:
    rows = [
        Row(
            ("compas", "ofs"),
            {"reward": Cell(Estimate(0.5, 0.4, 0.6, 0.1, 10), Estimate(0.7, sd=0.2)), "rule": Cell("a_b", "c")},
        ),
        Row(("german", "ofs"), {"reward": Cell(Estimate(0.25), None, 2)}),
    ]
    return Table("table9", "Table IX", "A note.", ("task", "method"), {"reward": "Reward", "rule": "Rule"}, rows)


def test_a_number_has_the_t_interval_of_its_mean() -> None:
    values = np.array([1.0, 2.0, 4.0, 7.0])
    number = Estimate.of(values)
    low, high = t.interval(0.95, 3, loc=3.5, scale=values.std(ddof=1) / 2)
    assert (number.mean, number.seeds) == (3.5, 4)
    assert number.sd == pytest.approx(values.std(ddof=1))
    assert number.low == pytest.approx(low)
    assert number.high == pytest.approx(high)
    assert Estimate.of(np.array([2.0])) == Estimate(2.0, seeds=1)


def test_numbers_are_written_with_what_they_have() -> None:
    assert Estimate(0.5, 0.4, 0.6, 0.1).text(2) == "0.50 ± 0.10"
    assert Estimate(0.5, 0.4, 0.6).text(1) == "0.5 [0.4, 0.6]"
    assert Estimate(0.5).text(3) == "0.500"


def test_the_same_figures_stand_in_every_form(table: Table) -> None:
    assert list(table.lines()) == [
        ["compas", "ofs", "ours", "0.5000 ± 0.1000", "a_b"],
        ["compas", "ofs", "paper", "0.7000 ± 0.2000", "c"],
        ["german", "ofs", "ours", "0.25", ""],
    ]
    assert "| compas | ofs | paper | 0.7000 ± 0.2000 | c |" in table.markdown()
    barred = replace(table, columns={"reward": "|reward|", "rule": "Rule"}).markdown().splitlines()
    assert barred[2] == r"| task | method | source | \|reward\| | Rule |"
    assert r"compas & ofs & ours & 0.5000 $\pm$ 0.1000 & a\_b \\" in table.latex()
    sheet = list(csv.DictReader(io.StringIO(table.csv())))
    assert len(sheet) == 5
    assert sheet[0] == {
        "task": "compas", "method": "ofs", "figure": "reward", "source": "ours", "mean": "0.5", "sd": "0.1",
        "low": "0.4", "high": "0.6", "seeds": "10", "text": "",
    }  # fmt: skip


def test_other_roots_have_a_line_between_ours_and_the_papers(table: Table) -> None:
    row = table.rows[0]
    cells = {"reward": replace(row.cells["reward"], roots=Estimate(0.45, -0.3, 0.6)), "rule": row.cells["rule"]}
    with_roots = replace(table, rows=[replace(row, cells=cells), table.rows[1]])
    assert [line[2:] for line in with_roots.lines()] == [
        ["ours", "0.5000 ± 0.1000", "a_b"],
        ["roots", "-0.3000 to 0.6000", "–"],
        ["paper", "0.7000 ± 0.2000", "c"],
        ["ours", "0.25", ""],
    ]
    assert Cell(Estimate(0.5), roots=Estimate(0.45, 0.3, 0.6)).written("roots") == "0.3000–0.6000"
    assert "| compas | ofs | roots | -0.3000 to 0.6000 | – |" in with_roots.markdown()
    assert "compas & ofs & roots & -0.3000 to 0.6000 & --" in with_roots.latex()
    assert "compas,ofs,reward,roots,0.45,,-0.3,0.6,," in with_roots.csv()
    assert with_roots.figures()["table9.compas.ofs.reward"]["roots"] == {"mean": 0.45, "low": -0.3, "high": 0.6}


def test_every_figure_has_a_stable_name(table: Table) -> None:
    figures = table.figures()
    assert set(figures) == {"table9.compas.ofs.reward", "table9.compas.ofs.rule", "table9.german.ofs.reward"}
    assert figures["table9.compas.ofs.reward"] == {
        "ours": {"mean": 0.5, "sd": 0.1, "low": 0.4, "high": 0.6, "seeds": 10},
        "paper": {"mean": 0.7, "sd": 0.2},
    }
    assert "paper" not in figures["table9.german.ofs.reward"]
