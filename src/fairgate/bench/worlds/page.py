"""The page: the board of random worlds as one HTML file that needs no other."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.amounts import amount
from fairgate.bench.page import Shaded, drawn
from fairgate.bench.share import PRICE, PRICES
from fairgate.bench.terminal import SEES, p_text
from fairgate.bench.worlds import drawings
from fairgate.bench.worlds.benchmark import tuned
from fairgate.bench.worlds.board import CLASSES, FEWEST, WorldBoard, shares_at
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.bench.worlds.traits import Trait, constraints_text, labels_text, shares_of, traits_of
from fairgate.learners.registry import BASELINES, LEARNERS, OWN, RECOMMENDED
from fairgate.pages import Drawing, anchor, flat, templates
from fairgate.worlds.shapes import JUDGING, shape_of

WORST = 3
"""Worlds that are shown of those in which a learner does worst."""

FEW = 10
"""Means over fewer worlds say little, and are written in grey."""


@dataclass(frozen=True)
class Hard:
    """A world in which a learner does badly: what it is, how the learner did, and how to play it again."""

    number: int
    share: float
    violation: float
    what: str
    command: str


def render(matrix: WorldMatrix, board: WorldBoard, document: Mapping[str, Any]) -> str:
    """Write the page; the same outcomes give the same bytes."""
    page = templates("fairgate.bench")
    page.filters.update(anchor=anchor, p_equal=p_equal, signed=signed)
    traits = traits_of(matrix)
    return page.get_template("worlds/worlds.html.j2").render(
        board=board,
        document=document,
        settings=document["settings"],
        judging=f"{JUDGING:,}",
        sees=SEES,
        best="threshold" if board.allowed == "threshold" else "lottery of two thresholds",
        kinds={learner: _kind(learner) for learner in board.order},
        recommended=set(RECOMMENDED.values()),
        spreads={level: _spread(matrix, board, level) for level in board.levels},
        plane=_plane(board),
        traits=traits,
        counts={level: _counts(traits, board, level) for level in board.levels},
        heat={learner: _heat(traits, matrix, board, learner) for learner in _ranked(board)},
        few=FEW,
        fewest=FEWEST,
        price=f"{PRICE:g}",
        prices=", ".join(f"{each:g}" for each in PRICES),
        classes=CLASSES,
        worst={learner: worst_of(matrix, board, learner, document["settings"]) for learner in _ranked(board)},
        failures=[str(failure) for failure in matrix.failures],
        lines=flat(document["settings"]),
    )


def signed(number: float, digits: int = 2) -> str:
    """Write a number with a true minus; one that is not known is a dash.

    >>> signed(-0.4567), signed(float("nan"))
    ('−0.46', '–')
    """
    return "–" if np.isnan(number) else f"{round(number, digits) + 0.0:.{digits}f}".replace("-", "−")


def p_equal(p: float) -> str:
    """Write a p-value after the letter.

    >>> p_equal(0.02), p_equal(0.0001)
    ('= .02', '< .001')
    """
    text = p_text(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def _kind(learner: str) -> str:
    name = learner.partition(":")[0]
    return "baseline" if name in BASELINES else "fairgate’s own" if name in OWN else "yours"


def _ranked(board: WorldBoard) -> list[str]:
    return [row.learner for rows in board.levels.values() for row in rows if row.rank]


def _spread(matrix: WorldMatrix, board: WorldBoard, level: str) -> Drawing:
    rows = board.levels[level]
    caption = f"{amount(len(rows), 'learner')} on {amount(rows[0].worlds, 'world')}, best first."
    return drawn(f"spread-{level}", f"Feedback level {level}", caption, drawings.spread(matrix, board, level))


def _plane(board: WorldBoard) -> Drawing:
    caption = (
        "Means over worlds, with the 95% interval of the share; right and down is better. Numbers are ranks within a "
        f"class of policies. A unit of violation costs {PRICE:g}, more than it earns, so violating does not move a "
        "learner to the right."
    )
    return drawn("plane", "Mean share and mean violation", caption, drawings.plane(board))


def _counts(traits: Sequence[Trait], board: WorldBoard, level: str) -> dict[str, list[int]]:
    """Return how many worlds of a level's table have each value of each trait."""
    worlds = board.worlds[level]
    return {trait.key: [len(trait.members(place, worlds)) for place in range(len(trait.values))] for trait in traits}


def _heat(
    traits: Sequence[Trait], matrix: WorldMatrix, board: WorldBoard, learner: str
) -> dict[str, list[Shaded | None]]:
    """Return a learner's mean share by each trait; the shade grows with the distance from 0."""
    shares, worlds = shares_of(matrix, board, learner), board.worlds[matrix.levels[learner]]

    def shaded(trait: Trait, place: int) -> Shaded | None:
        members = trait.members(place, worlds)
        if not len(members):
            return None
        mean = float(shares[members].mean())
        return Shaded(signed(mean), abs(mean), "good" if mean > 0 else "bad", "few" if len(members) < FEW else "")

    return {trait.key: [shaded(trait, place) for place in range(len(trait.values))] for trait in traits}


def worst_of(matrix: WorldMatrix, board: WorldBoard, learner: str, settings: Mapping[str, Any]) -> list[Hard]:
    """Return the worlds in which a learner's share is lowest, the worst first."""
    worlds = board.worlds[matrix.levels[learner]]
    shares, broken = shares_at(matrix.figures[learner], board.allowed), matrix.figures[learner]["violation"]
    order = worlds[np.argsort(shares[worlds], kind="stable")][:WORST]
    return [
        Hard(
            matrix.numbers[place],
            float(shares[place]),
            float(broken[place]),
            _described(matrix, matrix.numbers[place]),
            "" if "history" in settings else _command(matrix.numbers[place], learner, settings["rounds"]),
        )
        for place in order
    ]


def _described(matrix: WorldMatrix, number: int) -> str:
    """Return what a world is, in one line."""
    words, shape = matrix.words[str(number)], shape_of(number)
    plural = "and" in words["answers"] or words["answers"] == "labels"
    answers = f"{words['answers']} {'answer' if plural else 'answers'}"
    if words["answers"] != "nothing":
        answers += f" to {words['signal']}"
    changes = "" if words["changes"] == "nothing" else f", with a {words['changes']}"
    return (
        f"{answers}{changes}; {shape.groups} groups, {shape.size} thresholds; {constraints_text(shape)}; "
        f"labels {labels_text(shape)}"
    )


def _command(number: int, learner: str, rounds: int) -> str:
    """Return what plays a world again, with other people of the same world; nothing for a learner without a place."""
    if learner.partition(":")[0] not in LEARNERS and ":" not in learner:
        return ""
    settings = ",".join(f"{key}={value:g}" for key, value in tuned().get(learner, {}).items())
    name = shlex.quote(f"{learner}:{settings}" if settings else learner)
    length = "" if rounds == 3000 else f" --rounds {rounds}"  # unless it is what the command takes anyway
    return f"fairgate run world-{number} {name}{length}"  # people per round are those of the world
