"""The digest of code: what an edit of one definition makes stale, and what it leaves alone."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate
import fairgate as fg
from fairgate.bench.matrix import outcome
from fairgate.experiments.jobs import Job
from fairgate.experiments.plan import Plan
from fairgate.experiments.reproduce import reproduce
from fairgate.store.code import code_digest, makers_of
from fairgate.store.source import Source

HERE = Path(fairgate.__file__).parent

RAW, TABLE, POOLS, FORECAST, BENCH, REPORT = "raw", "table", "pools", "forecast", "bench", "report"


def made() -> dict[str, tuple[object, ...]]:
    """Files, and what makes each."""
    plan = Plan(rounds=60, seeds=2, many=3, tail=20)
    gaussian = fg.load_task("mve-s")
    forecast = Job("forecast", gaussian, fg.SafeForecast(), 60, 2, 0)
    return {
        RAW: plan.job("mve-s", "ofs").makers,
        TABLE: plan.job("mve-s", "ofs", many=True).makers,
        POOLS: plan.job("compas", "ofs", many=True).makers,
        FORECAST: forecast.makers,
        BENCH: (outcome, gaussian, fg.OFS()),
        REPORT: (reproduce,),
    }


def digests(source: Source) -> dict[str, str]:
    return {
        name: source.digest((kind.__module__, kind.__qualname__.partition(".")[0]) for kind in makers_of(*makers))
        for name, makers in made().items()
    }


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    return digests(Source(HERE))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE, tmp_path / "fairgate", ignore=shutil.ignore_patterns("__pycache__")))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def after_first(function: str, line: str) -> Callable[[str], str]:
    """Return an edit that adds a line at the start of a function's body, after its docstring."""
    import ast

    def change(text: str) -> str:
        tree = ast.parse(text)
        *_, node = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function)
        first = next(s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)))
        lines = text.splitlines(keepends=True)
        lines.insert(first.lineno - 1, " " * first.col_offset + line + "\n")
        return "".join(lines)

    return change


SIMULATED = {RAW, TABLE, POOLS, FORECAST, BENCH, REPORT}


@pytest.mark.parametrize(
    ("file", "function", "stale"),
    [
        ("experiments/jobs.py", "figures", {RAW, TABLE, POOLS, FORECAST, REPORT}),  # what is written of a run
        ("experiments/jobs.py", "settled", {RAW, TABLE, POOLS, FORECAST, REPORT}),  # what that calls
        ("experiments/jobs.py", "keep", {RAW, TABLE, POOLS, FORECAST, REPORT}),
        ("experiments/jobs.py", "work", {REPORT}),  # how work is found again, not how it is done
        ("simulation.py", "simulate", SIMULATED),
        ("learners/ofs.py", "learn", {RAW, TABLE, POOLS, BENCH, REPORT}),
        ("learners/safe_forecast.py", "policy_space", {FORECAST, REPORT}),
        ("learners/forecast/correction.py", "apply", {FORECAST, REPORT}),  # a part that only its declaration names
        ("learners/baselines/controls.py", "choose", {REPORT}),
        ("environments/gaussian_scores.py", "update", {RAW, TABLE, FORECAST, BENCH, REPORT}),
        ("environments/score_pools.py", "update", {POOLS, REPORT}),
        ("environments/drift.py", "update", {REPORT}),
        ("constraints/window.py", "rates", {POOLS, REPORT}),
        ("bench/measures.py", "time_to_feasible", {BENCH}),
        ("statistics.py", "iqm", {BENCH}),
        ("statistics.py", "holm", set()),
        ("tasks.py", "load_task", {REPORT}),  # makes tasks; a job is given one
        ("plots/looks.py", "panels", {REPORT}),
        ("advice/choice.py", "choose", set()),
        ("sklearn/classifier.py", "fit", set()),
    ],
)
def test_an_edited_function_makes_stale_what_it_makes(
    file: str, function: str, stale: set[str], before: dict[str, str], package: Path
) -> None:
    path = package / file
    text = path.read_text(encoding="utf-8")
    path.write_text(after_first(function, "changed = 100")(text), encoding="utf-8")
    after = digests(Source(package))
    assert {name for name in after if after[name] != before[name]} == stale


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("experiments/report.html.j2", {REPORT}),
        ("pages/base.html.j2", {REPORT}),
        ("bench/bench.html.j2", set()),
        ("experiments/words.toml", {REPORT}),
        ("presets.toml", {REPORT}),  # a job is given a task, whose numbers are in its settings
    ],
)
def test_a_data_file_makes_stale_what_reads_it(
    file: str, stale: set[str], before: dict[str, str], package: Path
) -> None:
    append(package / file, "\n\n")
    after = digests(Source(package))
    assert {name for name in after if after[name] != before[name]} == stale


def test_docstrings_comments_types_and_what_is_not_used_make_nothing_stale(
    before: dict[str, str], package: Path
) -> None:
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'^( +r?""")(?=\w)', r"\1Once more: ", text, flags=re.MULTILINE).replace("-> None:", "-> object:")
        unused = "def _used_by_nobody() -> None:\n    raise SystemExit\n"
        path.write_text(f"# a comment\n{text}\n\n{unused}", encoding="utf-8")
    after = digests(Source(package))
    assert after == {**before, REPORT: after[REPORT]}  # the report uses whole modules, one per table


def test_what_a_module_does_on_import_counts_for_all_in_it(before: dict[str, str], package: Path) -> None:
    append(package / "learners/ofs.py", "\nOFS.c = 1.0\n")
    after = digests(Source(package))
    assert {name for name in after if after[name] != before[name]} == {RAW, TABLE, POOLS, BENCH, REPORT}


def test_a_preset_number_makes_stale_the_jobs_of_its_task(package: Path) -> None:
    script = """
import json
from fairgate.experiments.plan import Plan
plan = Plan(rounds=60, seeds=2, many=3, tail=20)
print(json.dumps({task: plan.job(task, "ofs", many=True).digest() for task in ("mve-s", "compas", "compas-strict")}))
"""

    def run() -> Any:
        command = [sys.executable, "-c", script]
        environment = {"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"}
        result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(result.stdout)

    first = run()
    edit(package / "presets.toml", 'title = "COMPAS in score pools"', 'title = "COMPAS"')
    assert run() == first  # in another process, with another title
    lines = (package / "presets.toml").read_text(encoding="utf-8").splitlines(keepends=True)
    strict = next(index for index, line in enumerate(lines) if line.startswith("[compas-strict.problem]"))
    number = next(index for index in range(strict, len(lines)) if lines[index].startswith("parity"))
    lines[number] = "parity = 0.011\n"
    (package / "presets.toml").write_text("".join(lines), encoding="utf-8")
    again = run()
    assert {task for task in again if again[task] != first[task]} == {"compas-strict"}


OWN = """
class Mine:
    step = 1

    def start(self, task, replicates, rng):
        return None
"""


def test_code_from_elsewhere_counts_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_of_test_code.py").write_text(OWN)
    module = importlib.import_module("own_of_test_code")
    first = code_digest(fg.simulate, module.Mine())
    assert first == code_digest(fg.simulate, module.Mine())
    (tmp_path / "own_of_test_code.py").write_text(OWN.replace("step = 1", "step = 22"))
    importlib.reload(module)
    assert first != code_digest(fg.simulate, module.Mine())


HELPED = """
import helper_of_test_code
from helper_of_test_code import level

class ByModule:
    def propose(self, state):
        return helper_of_test_code.level()

class ByName:
    def propose(self, state):
        return level()
"""


@pytest.mark.parametrize("name", ["ByModule", "ByName"])
def test_the_code_of_modules_that_it_imports_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for number, text in enumerate(("0.1", "0.1", "0.95")):
        (tmp_path / "helper_of_test_code.py").write_text(f"LEVEL = {text}\ndef level():\n    return LEVEL\n")
        (tmp_path / f"helped_{name}_{number}.py").write_text(HELPED)
        monkeypatch.delitem(sys.modules, "helper_of_test_code", raising=False)
        importlib.invalidate_caches()
        kind = getattr(importlib.import_module(f"helped_{name}_{number}"), name)
        kind.__module__ = kind.propose.__module__ = f"helped_{name}_0"  # the same module in each process
        digests.append(code_digest(kind()))
    assert digests[0] == digests[1] != digests[2]


def test_what_is_typed_captured_or_held_counts() -> None:
    def typed(text: str) -> Any:
        space: dict[str, Any] = {"__name__": "typed_into_a_console", "LEVEL": 1}
        exec(text, space)
        return space

    class Slotted:
        __slots__ = ("level",)

        def __init__(self, level: float) -> None:
            self.level = level

    class Held:
        def __init__(self, rule: Any) -> None:
            self.rule = rule

    def captured(level: float) -> Any:
        class Inner:
            def propose(self) -> float:
                return level

        return Inner()

    plain = "class Typed:\n    def propose(self): return LEVEL + 1"
    for one, same, other in (
        [typed(text)["Typed"]() for text in (plain, plain, plain.replace("+ 1", "+ 2"))],
        [typed(text)["Typed"]() for text in (plain, plain, f"{plain}\nLEVEL = 2")],
        [Slotted(level) for level in (0.1, 0.1, 0.9)],
        [Held(lambda score, level=level: score > level) for level in (0.1, 0.1, 0.9)],
        [captured(level) for level in (0.1, 0.1, 0.9)],
        [Held(np.full(2, level)) for level in (0.1, 0.1, 0.9)],
    ):
        assert code_digest(one) == code_digest(same)
        assert code_digest(one) != code_digest(other)


def test_own_code_is_the_same_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "own_elsewhere.py").write_text(OWN + "    def propose(self, state):\n        return {'a', 'b', 'c'}\n")
    program = "import own_elsewhere as o; from fairgate.store import code_digest as d; print(d(o.Mine()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
