"""What an audit says: groups by their column, a ratio as a ratio, and what is shaded only where something is."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import fairgate as fg
from fairgate.audit.audit import Audit
from fairgate.audit.drawings import draw_gap, draw_rates
from fairgate.audit.page import render
from fairgate.audit.terminal import show
from fairgate.constraints import PlainConstraint


def audited(
    rates: tuple[float, float], *constraints: PlainConstraint, people: int = 4000, order: str | None = None
) -> Audit:
    rng = np.random.default_rng(0)
    black = rng.random(people) < 0.4
    accepted = rng.random(people) < np.where(black, *rates)
    table = pa.table({"accepted": accepted, "black": np.where(black, "yes", "no"), "row": np.arange(people)})
    return fg.audit(table, decision="accepted", group="black", constraints=constraints, order=order)


def printed(audit: Audit) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(audit, console)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def legend(figure: Any) -> list[str]:
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


def test_groups_are_called_by_their_column_everywhere() -> None:
    found = audited((0.4, 0.5))
    text = printed(found)
    assert "(black = no: " in text
    assert "  black = yes " in text
    assert {"black = no", "black = yes", "everybody"} == set(legend(draw_rates(found)))
    document = found.document()
    assert document["overall"]["groups"]["no"]["called"] == "black = no"
    page = render(found, document)
    assert '<th scope="row">black = no</th>' in page


@pytest.mark.parametrize(
    ("rates", "asked", "start", "end"),
    [
        (
            (0.2, 0.8),
            0.8,
            "Too low: the lowest acceptance rate of a group is 0.",
            " of the highest, 0.8 is asked for. One look, exact test: p < 0.001, at the level 0.05.",
        ),
        (
            (0.5, 0.5),
            0.5,
            "Met: the lowest acceptance rate of a group is 0.",
            " 0.5 is asked for. One look, exact test",
        ),
        ((0.5, 0.55), 0.9, "Not decided: the lowest acceptance rate of a group is 0.", " for met, at the level 0.05."),
    ],
)
def test_a_ratio_is_told_as_a_ratio(rates: tuple[float, float], asked: float, start: str, end: str) -> None:
    found = audited(rates, fg.DisparateImpact(asked))
    (alarm,) = found.document()["alarms"]
    assert alarm["text"].startswith(start)
    assert end in alarm["text"]
    bounds, track = alarm["ratio"], found.overall.ratio
    assert track is not None
    assert (bounds["low"], bounds["high"], bounds["asked"]) == (track.low[-1], track.high[-1], asked)
    assert bounds["value"] == track.value[-1]
    told = {"broken": bounds["high"] < asked, "met": bounds["low"] >= asked}
    assert told.get(alarm["status"], bounds["low"] < asked <= bounds["high"])


@pytest.mark.parametrize(
    ("rates", "asked", "start", "end"),
    [
        ((0.2, 0.8), 0.8, "The lowest acceptance rate of a group is at most 0.", " where 0.8 is asked for"),
        ((0.5, 0.5), 0.5, "Met, with a ratio of at least 0.", " where 0.5 is asked for"),
        ((0.5, 0.55), 0.9, "Not yet decided: the ratio may be anything from 0.", ", and 0.9 is asked for."),
    ],
)
def test_so_it_is_after_every_look(rates: tuple[float, float], asked: float, start: str, end: str) -> None:
    found = audited(rates, fg.DisparateImpact(asked), order="row")
    (alarm,) = found.document()["alarms"]
    assert alarm["text"].startswith(start)
    assert end in alarm["text"]
    assert "100 looks: bounds that hold at all of them" in printed(found)


@pytest.mark.parametrize(
    ("constraints", "gap", "ratio"),
    [((), 0, 0), ((fg.DemographicParity(0.1),), 1, 0), ((fg.DisparateImpact(0.8),), 0, 1)],
)
def test_what_is_allowed_is_shaded_and_said_where_it_is(constraints: Any, gap: int, ratio: int) -> None:
    found = audited((0.4, 0.5), *constraints)
    axes = draw_gap(found).axes
    assert [len(each.patches) for each in axes[:2]] == [gap, ratio]
    if ratio:
        box = axes[1].patches[0].get_extents().transformed(axes[1].transData.inverted())
        assert (box.y0, box.y1) == pytest.approx((0.8, 1.0))
    assert ("What is allowed is shaded." in render(found, found.document())) is bool(constraints)
