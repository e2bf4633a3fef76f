"""What an experiment yields: tables of our figures beside the paper's, figures, claims, findings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairgate.estimates import Estimate

PARTS = ("mean", "sd", "low", "high", "seeds")
"""What files hold of a figure."""

LATEX = str.maketrans(
    {
        "±": r"$\pm$",
        "ε": r"$\varepsilon$",
        "–": "--",
        "%": r"\%",
        "_": r"\_",
        "Δ": r"$\Delta$",
        "η": r"$\eta$",
        "μ": r"$\mu$",
        "−": "$-$",
    }
)
"""How LaTeX writes what it cannot take as it is."""

Value = Estimate | str


def _parts(value: Value) -> dict[str, float]:
    """What is known of a figure; its value is called the mean, as it is one over seeds or the paper's."""
    if isinstance(value, str):
        return {}
    known = {"mean": value.value, **value.known()}
    return {part: known[part] for part in PARTS if part in known}


@dataclass(frozen=True)
class Cell:
    """One figure of a table, ours and the paper's; words where the table has words.

    `roots` is the mean of what other roots of random numbers give, and between which ends 90% of them lie.
    """

    ours: Value
    paper: Value | None = None
    digits: int = 4
    roots: Estimate | None = None

    def written(self, source: str) -> str:
        """Write the figure of one source: ``"ours"``, ``"roots"`` or ``"paper"``."""
        value = self.values.get(source, "–")
        if isinstance(value, str):
            return value
        if source == "roots":
            between = "–" if value.low >= 0.0 else " to "
            return f"{value.low:.{self.digits}f}{between}{value.high:.{self.digits}f}"
        return value.text(self.digits)

    @property
    def values(self) -> dict[str, Value]:
        """What there is, by source."""
        found = {"ours": self.ours, "roots": self.roots, "paper": self.paper}
        return {source: value for source, value in found.items() if value is not None}


@dataclass(frozen=True)
class Row:
    """One row: its keys (such as task and method), and a cell a column."""

    keys: tuple[str, ...]
    cells: Mapping[str, Cell]

    @property
    def sources(self) -> list[str]:
        """Whose figures the row has, one line each."""
        found = {source for cell in self.cells.values() for source in cell.values}
        return [source for source in ("ours", "roots", "paper") if source in found]

    @property
    def has_paper(self) -> bool:
        """Whether the paper prints anything in this row."""
        return "paper" in self.sources


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
        """Yield every line as text: row keys, source, and one figure per column."""
        for row in self.rows:
            for source in row.sources:
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
        head, *body = (" & ".join(line).translate(LATEX) + r" \\" for line in [self.header, *self.lines()])
        columns = "l" * (len(self.heads) + 1) + "r" * len(self.columns)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        return "\n".join([f"% {self.title}. {self.note}", *lines, r"\end{tabular}", ""])

    def csv(self) -> str:
        """Write every figure on its own line: row keys, column, source, mean, sd, low, high, seeds, text."""
        buffer = io.StringIO()
        sheet = csv.writer(buffer, lineterminator="\n")
        sheet.writerow([*self.heads, "figure", "source", *PARTS, "text"])
        for row in self.rows:
            for column, cell in row.cells.items():
                for source, value in cell.values.items():
                    parts, text = _parts(value), value if isinstance(value, str) else ""
                    sheet.writerow([*row.keys, column, source, *(parts.get(part, "") for part in PARTS), text])
        return buffer.getvalue()

    def figures(self) -> dict[str, Any]:
        """Return every figure under its stable name, for ``summary.json``."""
        return {
            ".".join((self.key, *row.keys, column)): {
                source: value if isinstance(value, str) else _parts(value) for source, value in cell.values.items()
            }
            for row in self.rows
            for column, cell in row.cells.items()
        }

    def layout(self) -> dict[str, Any]:
        """Return how :meth:`figures` are laid out, for ``summary.json``: words, row keys, and digits by column."""
        digits = {column: cell.digits for row in self.rows for column, cell in row.cells.items()}
        words = {"title": self.title, "note": self.note, "heads": list(self.heads), "columns": dict(self.columns)}
        return {**words, "digits": digits, "rows": [list(row.keys) for row in self.rows]}


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

    `others` are the verdict and evidence under another view (many seeds, population instead of batch), by the view's
    name, where the verdict differs. `section` is where the paper has the sentence word for word, or says that the
    sentence is ours and of what. `rule` says when the claim holds and when it holds in direction. `in_sample` is
    whether a figure it rests on was a target of the calibration.
    """

    key: str
    sentence: str
    evidence: str
    verdict: str
    reason: str
    others: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    section: str = ""
    rule: str = ""
    in_sample: bool = False


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
    choices: Sequence[Table] = ()

    @property
    def all_tables(self) -> list[Table]:
        """Every table, those of the choices and of the findings included."""
        return [*self.choices, *self.tables, *(finding.table for finding in self.findings)]
