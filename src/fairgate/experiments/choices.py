"""What the paper leaves open: each choice with its value, what it was chosen for, and how near that came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairgate.estimates import Estimate
from fairgate.experiments.plan import METHODS, STRICT, TASKS, TITLES, Plan, open_choices
from fairgate.experiments.results import Cell, Row, Table
from fairgate.settings import Array
from fairgate.tasks import presets

Numbers = Mapping[str, Any]
"""Figures under their stable names, as ``summary.json`` has them."""

FIGURES = ("reward", "gap", "violation")
LEAST = 1e-9
"""Gaps and violations below this count as this much, as ratios need."""

NAMES = {"table1": "Table I", "table2": "Table II", "table6": "Table VI", **TITLES}
KINDS = ("calibrated", "chosen")


def miss(figure: str, ours: ArrayLike, printed: float) -> Array:
    """How far figures are from the paper's, as the calibration counts it: rewards by 0.1, all else by the ratio's log.

    >>> miss("reward", [0.25, 0.2], 0.2).round(2), miss("gap", 0.02, 0.02)
    (array([0.5, 0. ]), np.float64(0.0))
    """
    values = np.asarray(ours, dtype=np.float64)
    return np.abs(values - printed) / 0.1 if figure == "reward" else np.abs(np.log(np.maximum(values, LEAST) / printed))


@dataclass(frozen=True)
class Choice:
    """An entry of ``choices.toml``; `value` is read from where it is."""

    key: str
    what: str
    value: str
    kind: str
    targets: tuple[str, ...]
    bears: str
    why: str

    def figures(self, numbers: Numbers) -> dict[str, dict[str, float]]:
        """Return the paper's figure, ours and the difference for every target that was run."""
        return {key: found for pattern in self.targets for key, found in matching(pattern, numbers).items()}

    def text(self, numbers: Numbers) -> str:
        """Write the targets: a few one by one, many by their summed miss."""
        parts = []
        for pattern in self.targets:
            found = matching(pattern, numbers)
            if len(found) > 3:
                total = sum(float(miss(key.rpartition(".")[2], f["ours"], f["paper"])) for key, f in found.items())
                parts.append(f"{named(pattern)} ({len(found)} figures): summed miss {total:.2f}")
            elif found:
                each = ", ".join(_compared(key, figures) for key, figures in found.items())
                parts.append(f"{named(pattern.rpartition('.')[0])}: {each}")
            else:
                parts.append(named(pattern))
        return "; ".join(parts) or "none"


def _compared(key: str, figures: Mapping[str, float]) -> str:
    """Write the paper's figure, ours and the miss."""
    digits, name = _digits(key), key.rpartition(".")[2].replace("_", " ")
    told = f"{name} {figures['paper']:.{digits}f} → {figures['ours']:.{digits}f} ({figures['miss']:+.{digits}f})"
    return told.replace("-", "−")


def _digits(key: str) -> int:
    return 2 if key.endswith("violation") else 4


def matching(pattern: str, numbers: Numbers) -> dict[str, dict[str, float]]:
    """Return paper, ours and miss of every figure that the pattern names and the paper prints."""
    return {
        key: {
            "paper": number["paper"]["mean"],
            "ours": number["ours"]["mean"],
            "miss": number["ours"]["mean"] - number["paper"]["mean"],
        }
        for key, number in numbers.items()
        if fnmatch(key, pattern) and "paper" in number
    }


def named(pattern: str) -> str:
    """Write a key of ``summary.json`` as words.

    >>> named("table1.*.unconstrained.*"), named("table2.german.sampled.oracle_gap")
    ('Table I Unconstrained', 'Table II German oracle gap')
    """
    parts = [NAMES.get(part, part.replace("_", " ")) for part in pattern.split(".") if part not in ("*", "sampled")]
    return " ".join(parts)


def value_of(path: str, plan: Plan) -> Any:
    """Read a value from where it is: a path into presets.toml, a field of the plan, or a constant.

    >>> value_of("compas.problem.parity", Plan()), value_of("plan.tail", Plan())
    (0.03, 200)
    """
    if ":" in path:
        return resolve_name(path)
    first, *rest = path.split(".")
    if first == "plan":
        return getattr(plan, rest[0])
    found = presets(("presets.toml",))[first]
    for part in rest:
        found = found[part]
    return found


def written(value: Any) -> str:
    """Write a value on one line.

    >>> written([-0.25, 0.25]), written({"cost": (0.5, 2.0)}), written(3000)
    ('−0.25, 0.25', 'cost 0.5, 2', '3000')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {written(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(written, value))
    return value if isinstance(value, str) else f"{value:g}".replace("-", "−")


def label(path: str) -> str:
    """Say whose number a path leads to: of a task, and of which learner if it is one's."""
    task, *rest = path.split(".")
    method = {"unconstrained": "U", "primal-dual": "PD"}.get(rest[1] if rest[:1] == ["learners"] else "", "")
    return " ".join(filter(None, (method, TITLES[task])))


def values_of(paths: Sequence[str], plan: Plan) -> str:
    """Write the values at some paths: once if all are the same, else with whose they are."""
    found = {path: written(value_of(path, plan)) for path in paths}
    if len(set(found.values())) == 1:
        return found[paths[0]]
    if any(":" in path for path in paths):
        return "; ".join(found.values())
    owners: dict[str, list[str]] = {}
    for path, value in found.items():
        owners.setdefault(value, []).append(label(path))
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in owners.items())


def choices(plan: Plan) -> list[Choice]:
    """Every choice, with its value as it is now."""
    return [
        Choice(
            key,
            entry["what"],
            values_of(entry["at"], plan) if "at" in entry else entry["says"],
            entry["kind"],
            tuple(entry["targets"]),
            entry["bears"],
            entry["why"],
        )
        for key, entry in open_choices().items()
    ]


def described(plan: Plan, numbers: Numbers) -> list[dict[str, Any]]:
    """Every choice as plain data, for ``manifest.json``."""
    return [
        {
            "key": each.key,
            "what": each.what,
            "value": each.value,
            "kind": each.kind,
            "targets": {pattern: matching(pattern, numbers) for pattern in each.targets},
            "bears": each.bears,
            "why": each.why,
        }
        for each in choices(plan)
    ]


def tables(plan: Plan, numbers: Numbers) -> list[Table]:
    """What was chosen, what it was chosen for, and what it was not chosen for: spreads and Table II's gaps."""
    found = [chosen(plan, numbers), targets(plan, numbers), spread(numbers), gaps(numbers)]
    return [table for table in found if table.rows]


def chosen(plan: Plan, numbers: Numbers) -> Table:
    """Lay out every choice."""
    columns = {
        "what": "What",
        "value": "Value",
        "kind": "Kind",
        "targets": "Targets: paper → ours (miss)",
        "bears": "Bears on",
        "why": "By what rule",
    }
    rows = []
    for each in choices(plan):
        cells = {column: Cell(getattr(each, column)) for column in columns if column != "targets"}
        rows.append(Row((each.key,), cells | {"targets": Cell(each.text(numbers))}))
    note = (
        "Every number and option that the paper leaves open. Calibrated: searched so that the targets come near. "
        "Chosen: nothing that the paper prints settles it; a target then is what a scan by hand looked at. A summed "
        "miss adds |difference| / 0.1 for rewards and |log of the ratio| for gaps and violations."
    )
    return Table("chosen", "Every choice", note, ("key",), columns, rows)


def targets(plan: Plan, numbers: Numbers) -> Table:
    """Lay out every figure that a choice was made for."""
    used: dict[str, list[str]] = {}
    for each in choices(plan):
        for key in each.figures(numbers):
            used.setdefault(key, []).append(each.key)
    rows = []
    for key in (key for key in numbers if key in used):
        ours, printed = (numbers[key][source]["mean"] for source in ("ours", "paper"))
        cells = {
            "figure": Cell(Estimate(ours), Estimate(printed), _digits(key)),
            "miss": Cell(Estimate(ours - printed), digits=_digits(key)),
            "choices": Cell(", ".join(used[key])),
        }
        rows.append(Row((key,), cells))
    columns = {"figure": "Figure", "miss": "Miss", "choices": "Chosen for it"}
    note = (
        "Every figure of the paper that a choice was made for, by its key in summary.json. A claim that rests on one "
        "of these is judged in-sample."
    )
    return Table("targets", "What was calibrated on", note, ("key",), columns, rows)


def spread(numbers: Numbers) -> Table:
    """Lay out our standard deviations over seeds beside the paper's, and how many times the paper's they are."""
    columns = {"reward": "Sd of reward", "gap": "Sd of DP gap", "violation": "Sd of cum. violation"}
    columns |= {f"{figure}_ratio": f"{title}, ratio" for figure, title in columns.items()}
    rows = []
    for table, tasks in (("table1", TASKS), ("table6", STRICT)):
        for task, method in product(tasks, METHODS):
            cells: dict[str, Cell] = {}
            for figure in FIGURES:
                number = numbers.get(f"{table}.{task}.{method}.{figure}", {"ours": {}})
                if "sd" in number["ours"]:
                    ours, theirs = (number[source]["sd"] for source in ("ours", "paper"))
                    cells[figure] = Cell(Estimate(ours), Estimate(theirs), _digits(figure))
                    cells[f"{figure}_ratio"] = Cell(Estimate(ours / theirs), digits=1)
            if cells:
                rows.append(Row((task, method), cells))
    note = (
        "Standard deviations over seeds in Tables I and VI. No choice was made for them: the calibration looks at "
        "means alone. Of the settings of U that it searches, those that scatter as little as the paper's are far from "
        "its means; to have both, the search would need a less noisy estimate than one point a round (python -m "
        "scripts.quoted spread)."
    )
    return Table("spread", "Spread over seeds", note, ("task", "method"), columns, rows)


def gaps(numbers: Numbers) -> Table:
    """Lay out Table II's gaps of the baselines with their misses."""
    methods = ("unconstrained", "primal-dual")
    rows = []
    for task in TASKS:
        found = {m: matching(f"table2.{task}.sampled.{m}", numbers) for m in methods}
        each = {m: next(iter(some.values())) for m, some in found.items() if some}
        cells = {m: Cell(Estimate(f["ours"]), Estimate(f["paper"])) for m, f in each.items()}
        cells |= {f"{m}_miss": Cell(Estimate(f["miss"])) for m, f in each.items()}
        if cells:
            rows.append(Row((task,), cells))
    columns = {m: f"Gap ({TITLES[m]})" for m in methods} | {f"{m}_miss": f"Miss ({TITLES[m]})" for m in methods}
    note = (
        "Reward gaps of the two baselines in Table II, sampled as in the paper. No choice was made for them either; "
        "they follow from where each loop settles, and so from the same scatter."
    )
    return Table("spread-gaps", "Table II's gaps of the baselines", note, ("task",), columns, rows)
