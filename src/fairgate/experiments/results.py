"""What an experiment yields: tables of our figures beside the paper's, figures, claims, findings."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fairgate.settings import Array


@dataclass(frozen=True)
class Number:
    """A figure: its mean, and where they exist standard deviation, 95% interval and number of seeds."""

    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: int | None = None

    @classmethod
    def of(cls, values: Array) -> Number:
        """Summarise one value a seed: mean, sd (n − 1) and the 95% t-interval of the mean."""
        count = len(values)
        mean = float(np.mean(values))
        if count < 2:
            return cls(mean, seeds=count)
        sd = float(np.std(values, ddof=1))
        half = float(stdtrit(count - 1, 0.975)) * sd / math.sqrt(count)
        return cls(mean, sd, mean - half, mean + half, count)

    def text(self, digits: int) -> str:
        """Write mean ± sd, or mean [low, high] where there is an interval but no sd, or the mean alone."""
        if self.sd is not None:
            return f"{self.mean:.{digits}f} ± {self.sd:.{digits}f}"
        if self.low is not None and self.high is not None:
            return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"
        return f"{self.mean:.{digits}f}"

    def plain(self) -> dict[str, float]:
        """Return what is known, for JSON."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Cell:
    """One figure of a table, ours and the paper's; words where the table has words."""

    ours: Number | str
    paper: Number | str | None = None
    digits: int = 4

    def written(self, source: str) -> str:
        """Write the figure of one source, ``"ours"`` or ``"paper"``."""
        value = self.ours if source == "ours" else self.paper
        if value is None:
            return "–"
        return value if isinstance(value, str) else value.text(self.digits)


@dataclass(frozen=True)
class Row:
    """One row: its keys (such as task and method), and a cell a column."""

    keys: tuple[str, ...]
    cells: Mapping[str, Cell]

    @property
    def has_paper(self) -> bool:
        """Whether the paper prints anything in this row."""
        return any(cell.paper is not None for cell in self.cells.values())


@dataclass(frozen=True)
class Table:
    """A table of ours and the paper's figures, in every form it is written in.

    `columns` maps keys to headings; `heads` are the headings of the row keys. A figure's stable name is
    ``key.row keys.column key``.
    """

    key: str
    title: str
    note: str
    heads: tuple[str, ...]
    columns: Mapping[str, str]
    rows: Sequence[Row]

    def lines(self) -> Iterator[list[str]]:
        """Yield every line as text: row keys, source, and a figure a column."""
        for row in self.rows:
            for source in ("ours", "paper") if row.has_paper else ("ours",):
                written = [row.cells[column].written(source) if column in row.cells else "" for column in self.columns]
                yield [*row.keys, source, *written]

    @property
    def header(self) -> list[str]:
        """Headings of :meth:`lines`."""
        return [*self.heads, "source", *self.columns.values()]

    def markdown(self) -> str:
        """Write the table for Markdown."""
        rule = ["---"] * len(self.header)
        lines = ([text.replace("|", r"\|") for text in line] for line in [self.header, rule, *self.lines()])
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"**{self.title}.** {self.note}\n\n{body}\n"

    def latex(self) -> str:
        """Write the table for LaTeX (booktabs)."""

        def escaped(text: str) -> str:
            for plain, special in (("±", r"$\pm$"), ("ε", r"$\varepsilon$"), ("–", "--"), ("%", r"\%"), ("_", r"\_")):
                text = text.replace(plain, special)
            return text.replace("Δ", r"$\Delta$").replace("η", r"$\eta$").replace("μ", r"$\mu$").replace("−", "$-$")

        keys = len(self.heads) + 1
        body = "\n".join(" & ".join(escaped(text) for text in line) + r" \\" for line in self.lines())
        head = " & ".join(escaped(text) for text in self.header) + r" \\"
        columns = "l" * keys + "r" * len(self.columns)
        return (
            f"% {self.title}. {self.note}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n"
            f"{body}\n\\bottomrule\n\\end{{tabular}}\n"
        )

    def csv(self) -> str:
        """Write every figure on its own line: row keys, column, source, mean, sd, low, high, seeds, text."""
        buffer = io.StringIO()
        sheet = csv.writer(buffer, lineterminator="\n")
        parts = ("mean", "sd", "low", "high", "seeds")
        sheet.writerow([*self.heads, "figure", "source", *parts, "text"])
        for row in self.rows:
            for column, cell in row.cells.items():
                for source, value in (("ours", cell.ours), ("paper", cell.paper)):
                    if isinstance(value, Number):
                        sheet.writerow([*row.keys, column, source, *(getattr(value, part) for part in parts), ""])
                    elif value is not None:
                        sheet.writerow([*row.keys, column, source, *[""] * len(parts), value])
        return buffer.getvalue()

    def figures(self) -> dict[str, Any]:
        """Return every figure under its stable name, for ``summary.json``."""

        def plain(value: Number | str) -> Any:
            return value.plain() if isinstance(value, Number) else value

        found = {}
        for row in self.rows:
            for column, cell in row.cells.items():
                entry = {"ours": plain(cell.ours)}
                if cell.paper is not None:
                    entry["paper"] = plain(cell.paper)
                found[".".join((self.key, *row.keys, column))] = entry
        return found


@dataclass(frozen=True)
class Drawing:
    """A figure: its key, title, caption and files (PNG and PDF, named by the key)."""

    key: str
    title: str
    caption: str


HOLDS, DIRECTION, FAILS = VERDICTS = "holds", "holds in direction", "does not hold"


@dataclass(frozen=True)
class Claim:
    """A checkable sentence of the paper, what our run shows, the verdict and the reason.

    `others` are the verdict and evidence under another view (100 seeds, population instead of batch), by the view's
    name, where the verdict differs.
    """

    key: str
    sentence: str
    evidence: str
    verdict: str
    reason: str
    others: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """One thing the printed rule really does: what the paper says, what the run shows, what follows for a user."""

    key: str
    title: str
    paper: str
    shown: str
    follows: str
    drawing: Drawing
    table: Table


@dataclass(frozen=True)
class Results:
    """Everything a reproduction yields, in the order of the report."""

    tables: Sequence[Table]
    drawings: Sequence[Drawing]
    claims: Sequence[Claim]
    findings: Sequence[Finding]
    settings: Mapping[str, Any]
