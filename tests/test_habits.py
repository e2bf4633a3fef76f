"""What CONTRIBUTING.md, the workflows and the list of slow tests name is there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import yaml

import fairgate
from fairgate.settings import Settings
from tests.conftest import SLOW, SLOW_EXAMPLES

ROOT = Path(__file__).parents[1]
MADE = {".cache", ".venv", "results", "site"}
"""Folders that exist once something has been made."""

forms = pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)


def test_every_slow_test_is_a_test() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert SLOW - set(re.findall(r"def (test_\w+)", written)) == set()
    pages = {path.name for path in (ROOT / "docs").rglob("*.md")}
    assert SLOW_EXAMPLES - pages - set(vars(fairgate.learners)) == set()


def test_every_make_command_that_is_told_of_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for path in (ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / ".github").rglob("*.yml")):
        told = set(re.findall(r"(?:`|^|run: )make ([a-z]+)", path.read_text(), flags=re.MULTILINE))
        assert told <= targets, path.name


def test_every_file_that_a_recipe_names_is_there() -> None:
    told = re.findall(r"`([.\w/-]+(?:/|\.\w+))(?:<name>\.py)?`", (ROOT / "CONTRIBUTING.md").read_text())
    told += re.findall(r" ((?:src|tests)/[\w/.]+)", (ROOT / "CONTRIBUTING.md").read_text())
    files = {name for name in told if "/" in name and name.split("/")[0] not in MADE}
    assert len(files) > 20
    assert {name for name in files if not (ROOT / name).exists()} == set()


def test_no_class_is_more_than_two_levels_below_its_protocol() -> None:
    deep = set()
    for module in pkgutil.walk_packages(fairgate.__path__, "fairgate."):
        if not module.name.endswith("__main__"):
            deep |= {f"{each.__module__}:{each.__name__}" for each in classes_of(module.name) if levels(each) > 2}
    assert deep == set()


def classes_of(module: str) -> list[type]:
    found = vars(importlib.import_module(module)).values()
    return [each for each in found if isinstance(each, type) and each.__module__ == module]


def levels(kind: type) -> int:
    """How far a class is below the first of the package's classes, but for Settings, which all that is settable is."""
    own = [each for each in kind.__bases__ if each.__module__.startswith("fairgate.") and each is not Settings]
    return 1 + max(map(levels, own)) if own else 0


@forms
def test_workflows_and_issue_forms_can_be_read_and_say_what_they_are(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.parent.name == "workflows":
        assert document["permissions"] == {"contents": "read"}
        assert all(job["timeout-minutes"] for job in document["jobs"].values())
    elif path.name != "config.yml":
        assert document["name"]
        assert document["description"]
        ids = [part["id"] for part in document["body"] if part["type"] != "markdown"]
        assert len(ids) == len(set(ids))
