"""The page: leaderboard, figures and heat maps of a benchmark as one HTML file that needs no other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.bench import drawings
from fairgate.bench.leaderboard import Leaderboard, Row
from fairgate.bench.matrix import Matrix
from fairgate.bench.measures import TARGET
from fairgate.bench.terminal import SEES, against, p_text
from fairgate.pages import Drawing, anchor, flat, templates
from fairgate.plots import image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 140
"""Dots per inch of the figures."""

DARKEST = 0.6
"""Opacity of the strongest shade of a heat map, light enough for the text on it."""


@dataclass(frozen=True)
class Shaded:
    """A cell of a heat map: its text, how strong its shade is (0 to 1), which kind it is, and a mark beside it."""

    text: str
    shade: float = 0.0
    kind: str = "good"
    mark: str = ""

    @property
    def opacity(self) -> str:
        """Opacity of the shade, as CSS writes it."""
        return f"{DARKEST * min(max(self.shade, 0.0), 1.0):.2f}"


def render(matrix: Matrix, board: Leaderboard, document: Mapping[str, Any]) -> str:
    """Write the page; the same outcomes give the same bytes."""
    page = templates("fairgate.bench")
    page.filters.update(anchor=anchor, p_text=p_text, minus=lambda text: str(text).replace("-", "−"))
    return page.get_template("bench.html.j2").render(
        board=board,
        document=document,
        settings=document["settings"],
        tasks=matrix.tasks,
        sees=SEES,
        against={level: against(reference) for level, reference in board.references.items()},
        targets={level: document["settings"]["targets"][name] for level, name in TARGET.items()},
        planes=_planes(matrix, board, document),
        curves=_curves(matrix, board),
        success=_success(matrix, board),
        shortfall=_shortfall(matrix, board),
        share=_share(matrix, board),
        earner={level: _earner(rows) for level, rows in board.levels.items()},
        comparison=_comparison(board),
        failures=[str(failure) for failure in matrix.failures],
        lines=flat(document["settings"]),
    )


def _planes(matrix: Matrix, board: Leaderboard, document: Mapping[str, Any]) -> list[Drawing]:
    rounds = document["settings"]["rounds"]
    if not any(task["feasible"] for task in document["tasks"].values()):
        return []
    zone = (
        "Down and left is better; the target zone of feedback level bandit is shaded. Scales are logarithmic beyond it."
    )
    whole = (
        "Each learner's mean regret and mean population violation per round, over all tasks that have a feasible "
        f"threshold. {zone} A learner left of zero earns more than any feasible threshold of the grid, mostly by "
        "violating constraints."
    )
    each = f"Medians over seeds for each task, with lines from the lower to the upper quartile. {zone}"
    return [
        drawn("plane", "All tasks together", whole, drawings.plane(matrix, board, rounds)),
        drawn("planes", "Task by task", each, drawings.planes(matrix, board, rounds)),
    ]


def _curves(matrix: Matrix, board: Leaderboard) -> list[Drawing]:
    found = []
    for level, rows in board.levels.items():
        grey = f" The {drawings.SHOWN} highest ranked are in colour." if len(rows) > drawings.SHOWN else ""
        band = "Interquartile mean over seeds, with a band between the quartiles."
        band += " The level’s best baseline is black." if board.references[level] else ""
        words = {
            "shortfall": (
                "shortfall",
                f"What was missed per round, in the long run of what was played, averaged over all rounds so far: the "
                f"right end is the figure of the leaderboard. {band}{grey} Both axes are logarithmic, the vertical one "
                "above the shaded strip, which is the tolerance of the level's target.",
            ),
            "violation": (
                "cumulative violation",
                f"Population violation summed up to each round, in the state the population was in. {band}{grey}",
            ),
        }
        for quantity, (name, caption) in words.items():
            key = f"curves-{level}-{quantity}"
            figure = drawings.curves(matrix, board, level, quantity)
            found.append(drawn(key, f"Feedback level {level}: {name}", caption, figure))
    return found


def drawn(key: str, title: str, caption: str, figure: Figure) -> Drawing:
    """Make a figure a part of a page."""
    return Drawing.of(key, title, caption, image(figure, "png", DPI))


def _success(matrix: Matrix, board: Leaderboard) -> dict[str, dict[str, Shaded]]:
    """Share of seeds that meet the target, by learner and task, with a mark where the best baseline differs."""
    marks = {"better": "▲", "worse": "▼", "": ""}
    return {
        learner: {
            task: Shaded(f"{each.success:.0%}", each.success, "good", marks[board.against[learner][task]])
            for task, each in matrix.of(learner).items()
        }
        for learner in board.order
    }


def _shortfall(matrix: Matrix, board: Leaderboard) -> dict[str, dict[str, Shaded]]:
    """Interquartile mean of the shortfall, by learner and task; the shade runs from 0.001 to 0.3 on a log scale."""

    def shaded(short: float) -> Shaded:
        shade = math.log(max(short, 1e-9) / 0.001) / math.log(300.0)
        return Shaded(f"{short:.4f}".removeprefix("0"), shade, "bad")

    return {
        learner: {task: shaded(each.shortfall) for task, each in matrix.of(learner).items()} for learner in board.order
    }


def _share(matrix: Matrix, board: Leaderboard) -> dict[str, dict[str, Shaded]]:
    """Mean share of what can be earned, by learner and task; what is below 0 is in the other colour."""

    def shaded(share: float) -> Shaded:
        return Shaded(f"{share:.2f}".replace("-", "−"), abs(share), "good" if share > 0 else "bad")

    return {
        learner: {
            task: shaded(share)
            for task, each in matrix.of(learner).items()
            if not math.isnan(share := float(each.figures["share"].mean()))
        }
        for learner in board.order
    }


def _earner(rows: Sequence[Row]) -> tuple[str, float] | None:
    """Learner of a level that earned most, among those with an outcome on as many tasks as the first, and its share."""
    known = [(row.learner, row.share.value) for row in rows if row.share and row.tasks == rows[0].tasks]
    return max(known, key=lambda each: each[1], default=None)


def _comparison(board: Leaderboard) -> dict[str, dict[str, Shaded]]:
    """How likely the learner of a row beats that of a column; the shade grows with the distance from one half."""
    return {
        one: {
            other: Shaded(f"{chance:.2f}", abs(chance - 0.5) * 2, "good" if chance > 0.5 else "bad")
            for other, chance in others.items()
        }
        for one, others in board.comparison.items()
    }
