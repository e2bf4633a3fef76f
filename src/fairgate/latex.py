"""to_latex: a table for a paper, with mean ± sd, the best in bold, and what differs from a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairgate.against import Reference, State
from fairgate.amounts import amount
from fairgate.comparison import check_pairs, common_tail, compared, figures_of
from fairgate.errors import InputError, unknown_name
from fairgate.estimates import Estimate
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.statistics import holm
from fairgate.summary import Summary

HIGHER = ("reward", "population_reward", "feasible", "success", "tail_success", "share")
"""Figures of which more is better."""

NEITHER = ("acceptance",)
"""Figures of which neither more nor less is better; of all others, less is."""

MARKS = ((0.01, r"^{\ddagger}"), (0.05, r"^{\dagger}"))
"""Marks of a difference whose corrected p-value is at most so large."""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


STATES = {
    "steady": "the steady state that what was played leads to",
    "actual": "the population in the state it was in",
}
"""What regret is judged in, for a caption."""


class Key(NamedTuple):
    """What a row is about: the part of the table it is in, such as a setting, and the name of the learner."""

    part: tuple[str, ...]
    name: str


class _Rows(NamedTuple):
    """Figures by seed of every row, and how many settings each seed's figure is the mean of."""

    values: Mapping[Key, Mapping[str, Array]]
    settings: Mapping[Key, int]


@dataclass(frozen=True)
class _Table:
    """Figures by seed of every row, and how each differs from the reference of its part, as corrected p-values."""

    rows: Mapping[Key, Mapping[str, Array]]
    p_values: Mapping[tuple[Key, str], float]
    figures: Sequence[str]
    digits: int

    def best(self, key: Key, figure: str) -> bool:
        """Whether no row of its part has a better mean, as it is printed."""
        rival = [self._printed(other, figure) for other in self.rows if other.part == key.part]
        known = [each for each in rival if not math.isnan(each)]
        if figure in NEITHER or len(rival) < 2 or not known:
            return False
        return self._printed(key, figure) == (max(known) if figure in HIGHER else min(known))

    def _printed(self, key: Key, figure: str) -> float:
        return round(float(np.mean(self.rows[key][figure])), self.digits)

    def cell(self, key: Key, figure: str) -> str:
        """Write a figure of a row: mean ± sd in mathematics, the best in bold, with its mark."""
        found = Estimate.of(self.rows[key][figure])
        if math.isnan(found.value):
            return "--"
        value = f"{found.value:.{self.digits}f}"
        value = rf"\mathbf{{{value}}}" if self.best(key, figure) else value
        mark = next((mark for level, mark in MARKS if self.p_values.get((key, figure), 1.0) <= level), "")
        spread = "" if math.isnan(found.sd) else rf" \pm {found.sd:.{self.digits}f}"
        return f"${value}{mark}{spread}$"


def to_latex(
    results: Any,
    figures: Sequence[str] = ("population_reward", "population_gap", "population_violation"),
    reference: str | None = None,
    *,
    by: Sequence[str] = (),
    oracle: Reference | None = None,
    state: State = "steady",
    tail: int | None = None,
    digits: int = 3,
    names: Mapping[str, str] | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> str:
    r"""Write a table for a paper: one row per learner, mean ± sd over seeds, the best in bold (package booktabs).

    Parameters
    ----------
    results
        Runs by name, such as ``{"OFS": run, …}``; or a tidy table with a row per loop, such as that of
        ``sweep.frame(by="seed")``, with columns ``learner``, ``seed`` and the figures. Where it has several rows of a
        seed, one per setting, each seed's figure is their mean, as the loops of a seed are not independent.
    figures
        Columns: figures of :meth:`Run.per_replicate`, or with an `oracle` of :meth:`Against.per_replicate`.
    reference
        Row that the others are tested against: two-sided sign-flip tests over paired seeds, by Holm's correction for
        all of the table. A dagger marks a difference at the 5% level, a double dagger at 1%.
    by
        Columns of a tidy table that part it, such as the parameters of a sweep; each part has its own best.
    oracle, state, tail
        Of runs: what regret, shortfall and success are judged by, in which state of the population, and the rounds at
        the end that means are of, as in :func:`~fairgate.compare`. A table has its figures already; those of a sweep
        are judged by the population as it was, as with ``state="actual"``.
    digits
        Digits after the point.
    names
        What to write for a figure in place of its name; taken as LaTeX.
    caption
        Before what the table says of itself; text, in which special characters are escaped.
    label
        For ``\ref``.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> runs = {name: fg.simulate(task, fg.load_learner(name), 300, 10) for name in ("ofs", "smooth-optimist")}
    >>> table = to_latex(runs, ["population_reward", "population_violation"], reference="ofs")
    >>> print("\n".join(table.splitlines()[4:9]))
        \toprule
        Learner & Population reward $\uparrow$ & Population violation $\downarrow$ \\
        \midrule
        ofs & $-0.179 \pm 0.004$ & $56.911 \pm 0.390$ \\
        smooth-optimist & $\mathbf{0.099}^{\ddagger} \pm 0.015$ & $\mathbf{3.544}^{\ddagger} \pm 0.861$ \\
    """
    judged = ""
    if isinstance(results, Mapping):
        rows = _of_runs(results, figures, oracle, state, tail)
        judged = "" if oracle is None else _judged(results, state)
    else:
        for name, given in (("oracle", oracle), ("tail", tail), ("state", None if state == "steady" else state)):
            if given is not None:
                raise InputError(f"{name} is for runs; a table has its figures already, so leave out {name}={given!r}")
        rows = _of_table(results, figures, by)
    if not isinstance(digits, int) or digits < 0:
        raise InputError(f"digits must be a whole number of at least 0, got {digits!r}")
    p_values = {} if reference is None else _p_values(rows, figures, reference)
    table = _Table(rows.values, p_values, figures, digits)
    heads = [_head(figure, names or {}) for figure in figures]
    lines = [r"\begin{table}", r"  \centering"]
    about = [escaped(caption or ""), _about(rows), judged, _tested(reference, len(p_values))]
    lines += [rf"  \caption{{{' '.join(filter(None, about))}}}"]
    lines += [rf"  \label{{{label}}}"] if label else []
    lines += [
        rf"  \begin{{tabular}}{{{'l' * (len(by) + 1)}{'r' * len(figures)}}}",
        r"    \toprule",
        f"    {' & '.join([*map(escaped, by), 'Learner', *heads])} \\\\",
    ]
    before: tuple[str, ...] | None = None
    for key in rows.values:
        lines += [] if key.part == before else [r"    \midrule"]
        part = ["" for _ in by] if key.part == before else [escaped(each) for each in key.part]
        cells = [table.cell(key, figure) for figure in figures]
        lines += [f"    {' & '.join([*part, escaped(key.name), *cells])} \\\\"]
        before = key.part
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines)


def escaped(text: str) -> str:
    r"""Write text so that LaTeX prints it as it is.

    >>> print(escaped("safe_forecast: 5%"))
    safe\_forecast: 5\%
    """
    return "".join(SPECIAL.get(character, character) for character in text)


def _head(figure: str, names: Mapping[str, str]) -> str:
    way = "" if figure in NEITHER else r" $\uparrow$" if figure in HIGHER else r" $\downarrow$"
    return names.get(figure, escaped(figure.replace("_", " ").capitalize())) + way


def _about(rows: _Rows) -> str:
    """Say what the table shows."""
    counts = {len(values) for row in rows.values.values() for values in row.values()}
    seeds = amount(counts.pop(), "seed") if len(counts) == 1 else f"{_range(counts)} seeds"
    settings = _range(set(rows.settings.values()))
    averaged = "" if settings == "1" else f", each seed's figure being the mean of {settings} settings"
    return rf"Mean $\pm$ standard deviation over {seeds}{averaged}; the best mean in bold."


def _range(counts: set[int]) -> str:
    return " to ".join(str(each) for each in sorted({min(counts), max(counts)}))


def _judged(runs: Mapping[str, Run | Summary], state: State) -> str:
    """Say in which state of the population runs were set against the oracle: lotteries always in the one there was."""
    lotteries = [name for name, run in runs.items() if isinstance(run, Run) and run.has_lotteries]
    if state == "actual" or len(lotteries) == len(runs):
        return f"Against the best feasible policy, judged by {STATES['actual']}."
    apart = f"; {', '.join(map(escaped, lotteries))}, with lotteries, by {STATES['actual']}" if lotteries else ""
    return f"Against the best feasible policy, judged by {STATES['steady']}{apart}."


def _tested(reference: str | None, tests: int) -> str:
    """Say what the daggers mean."""
    if reference is None:
        return ""
    return (
        rf"$\dagger$ ($\ddagger$): differs from {escaped(reference)} at the 5\% (1\%) level, two-sided paired "
        rf"sign-flip test over seeds, Holm's correction for {tests} comparisons."
    )


def _of_runs(
    runs: Mapping[str, Run | Summary],
    figures: Sequence[str],
    oracle: Reference | None,
    state: State,
    tail: int | None,
) -> _Rows:
    if not runs:
        raise InputError("results must be runs by name, such as {'OFS': run}, got none")
    check_pairs(runs)
    last = common_tail(runs, tail)
    found = {}
    for name, run in runs.items():
        known = figures_of(run, oracle, state, last)
        for figure in figures:
            if figure not in known:
                raise unknown_name("figure", figure, known)
        found[Key((), name)] = {figure: known[figure] for figure in figures}
    return _Rows(found, dict.fromkeys(found, 1))


def _of_table(table: Any, figures: Sequence[str], by: Sequence[str]) -> _Rows:
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise InputError(f"results must be runs by name or a table with a row per loop, got {table!r}") from None
    for column in ("learner", "seed", *by, *figures):
        if column not in frame.columns:
            raise unknown_name("column", column, frame.columns)
    columns = {name: frame[name].to_numpy() for name in ("learner", "seed", *by, *figures)}
    parts = list(zip(*(columns[name].tolist() for name in (*by, "learner")), strict=True))
    found, settings = {}, {}
    for key in dict.fromkeys(parts):
        place = np.array([each == key for each in parts])
        seeds, which, times = np.unique(columns["seed"][place], return_inverse=True, return_counts=True)
        part = tuple(f"{each:g}" if isinstance(each, float) else str(each) for each in key[:-1])
        row = Key(part, str(key[-1]))
        if times.min() != times.max():
            few, many = seeds[times.argmin()], seeds[times.argmax()]
            raise InputError(
                f"every seed must have the same settings, but {row.name} has {times.max()} rows of seed {many} and "
                f"{times.min()} of seed {few}"
            )
        settings[row] = int(times[0])
        found[row] = {
            figure: np.bincount(which, np.asarray(columns[figure][place], dtype=np.float64)) / times
            for figure in figures
        }
    return _Rows(found, settings)


def _p_values(rows: _Rows, figures: Sequence[str], reference: str) -> dict[tuple[Key, str], float]:
    """Test each row against the reference of its part, and correct for all that is tested."""
    if reference not in {key.name for key in rows.values}:
        raise unknown_name("reference", reference, {key.name for key in rows.values})
    raw: dict[tuple[Key, str], float] = {}
    for key, row in rows.values.items():
        other = Key(key.part, reference)
        against = rows.values.get(other)
        if key.name == reference or against is None:
            continue
        if rows.settings[key] != rows.settings[other]:
            ours, theirs = rows.settings[key], rows.settings[other]
            raise InputError(f"{key.name} has {ours} settings of each seed and {reference} {theirs}")
        for figure in figures:
            if len(row[figure]) != len(against[figure]):
                raise InputError(f"{key.name} has {len(row[figure])} seeds and {reference} {len(against[figure])}")
            p_value = compared(row[figure], against[figure]).p_value
            if not math.isnan(p_value):
                raw[key, figure] = p_value
    return dict(zip(raw, holm(list(raw.values())).tolist(), strict=True)) if raw else {}
