"""What text may name: code only if a person allowed it; every place that makes objects of text is in SECURITY.md."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.advice.config import put_together, read_policy
from fairgate.constraints import parse_constraint
from fairgate.importing import NotAllowedError, import_place
from tests.command import fairgate_here

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/fairgate"
HARM = ROOT / "tests/extending/harm.py"
NAMES = {"score": "risk_score", "label": "repaid", "group": "sex"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module of the user's own, and one that does harm once it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    shutil.copy(HARM, tmp_path / "own_harm.py")
    (tmp_path / "trap.py").write_text("from pathlib import Path\nPath('PWNED').touch()\ndef read(path): ...\n")
    assert fairgate_here("init", ".", cwd=tmp_path).returncode == 0
    yield tmp_path
    sys.modules.pop("own_harm", None)
    assert "trap" not in sys.modules
    assert not Path("PWNED").exists()


def policy(folder: Path, old: str, new: str) -> Path:
    """Return a policy file with a change."""
    text = (folder / "policy.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "other.toml").write_text(text.replace(old, new), encoding="utf-8")
    return folder / "other.toml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("parity = 0.10", '"trap:read" = 0.1', "constraint 'trap:read' is not built in"),
        ('score = "risk_score"', 'score = "risk_score"\nreader = "trap:read"', "reader 'trap:read' is not built in"),
        ('file = "applicants.csv"', "query = \"copy (select 1) to 'PWNED'\"", "add --allow query"),
    ],
)
def test_a_policy_file_names_no_code(folder: Path, old: str, new: str, said: str) -> None:
    path, before = policy(folder, old, new), list(sys.path)
    for allow in ([], ["own_harm:FewHarmed"]):
        with pytest.raises(NotAllowedError if "constraint" not in said else fg.InputError, match=said):
            put_together(path, {}, {}, allow)
    assert sys.path == before
    result = fairgate_here("advise", "--config", "other.toml", cwd=folder)
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_is_allowed_or_typed_is_read(folder: Path) -> None:
    path = policy(folder, "parity = 0.10", '"own_harm:FewHarmed" = 0.1')
    _, required = read_policy(path, ["own_harm:FewHarmed"])
    assert required["own_harm:FewHarmed"].names == ("harm",)
    path = policy(folder, 'score = "risk_score"', 'score = "risk_score"\nreader = "trap:read"')
    assert put_together(path, {"reader": "own_harm:read_lines"}, {}).table["reader"].__name__ == "read_lines"
    typed = {"file": "a.csv", **NAMES}
    assert put_together(None, typed, {"own_harm:FewHarmed": "0.1"}).aims.constraints[0].names == ("harm",)
    path = policy(folder, 'file = "applicants.csv"', 'query = "select 1"')
    assert put_together(path, {}, {}, ["query"]).table["query"] == "select 1"
    assert put_together(path, {"query": "select 2"}, {}).table["query"] == "select 2"


def test_an_advice_names_no_code_to_monitor(folder: Path) -> None:
    small = (
        "--constraint",
        "own_harm:FewHarmedInWords=0.9",
        "--config",
        "policy.toml",
        "--seeds",
        "1",
        "--rounds",
        "10",
    )
    assert fairgate_here("advise", *small, cwd=folder).returncode == 0
    sys.modules.pop("own_harm")
    refused = fairgate_here("monitor", "applicants.csv", cwd=folder)
    assert refused.returncode == 2
    assert "constraint 'own_harm:FewHarmedInWords' is not built in" in refused.stderr
    assert "own_harm" not in sys.modules
    allowed = fairgate_here("monitor", "applicants.csv", "--allow", "own_harm:FewHarmedInWords", cwd=folder)
    assert allowed.returncode == 0, allowed.stderr


def test_what_is_refused_was_not_imported(folder: Path) -> None:
    for allow in ([], ["trap:other"], ["trap.read:read"]):
        with pytest.raises(NotAllowedError):
            import_place("trap:read", allow=allow)
        with pytest.raises(NotAllowedError):
            parse_constraint("trap:read=0.1", allow)
    for wrong in ("trap:read", ["trap"], [":"], [3]):
        given: Any = wrong
        with pytest.raises(fg.InputError, match="allow must be "):
            import_place("trap:read", allow=given)


def test_a_saved_state_names_no_function_of_numpy() -> None:
    learner = fg.OFS()
    setting = fg.load_task("interior").setting
    saved = learner.save(learner.start(setting, 1, np.random.default_rng(0)))
    assert learner.load(saved, setting).rounds == 0
    generator = saved["state"]["fields"]["rng"]
    saved["state"]["fields"]["rng"] = {"generator": {**generator["generator"], "bit_generator": "get_state"}}
    with pytest.raises(fg.InputError, match=r"generator must be one of PCG64, .*, got 'get_state'"):
        learner.load(saved, setting)
    saved["state"]["fields"]["rng"] = {"array": [1], "dtype": "object"}
    with pytest.raises(fg.InputError, match="array must be of numbers or truth values, got the type 'object'"):
        learner.load(saved, setting)


def test_a_duckdb_file_runs_no_sql_of_its_names(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    harm = tmp_path / "PWNED"
    name = f"sqlite_master\"; copy (select 1) to '{harm}'; select * from \"sqlite_master"
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        quoted = name.replace('"', '""')
        connection.execute(
            f'create table "{quoted}" as select i / 40 as score, i % 2 as label, i % 2 as kind from range(40) t(i)'
        )
    people = fg.people.from_file(tmp_path / "people.duckdb", score="score", label="label", group="kind")
    assert people.people == 40
    assert not harm.exists()


SEEN = {
    "import_module": ("", "importlib"),
    "__import__": ("", "builtins"),
    "exec_module": None,
    "resolve_name": None,
    "run_path": None,
    "run_module": None,
    "eval": ("", "builtins"),
    "exec": ("", "builtins"),
    "compile": ("", "builtins"),
    "literal_eval": None,
    "from_string": None,
    "loads": ("pickle", "cloudpickle", "marshal"),
    "load": ("pickle", "cloudpickle", "marshal", "joblib", "yaml"),
    "Unpickler": None,
    "Popen": None,
    "run": ("subprocess",),
    "check_call": None,
    "check_output": None,
    "system": ("os",),
    "popen": None,
}
"""Calls that may run code, and the owners of such calls; None is any owner."""

MAYBE = re.compile(rf"\b({'|'.join(SEEN)})\(|allow_pickle")
"""What a file has that is worth parsing."""


def dangerous(tree: ast.AST) -> Iterator[str]:
    """Yield the calls of a module that may run code: imports by a computed name, text, pickles, processes."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if any(each.arg == "allow_pickle" for each in call.keywords):
            yield name
        owner = ast.unparse(call.func.value) if name in SEEN and isinstance(call.func, ast.Attribute) else ""
        owners = SEEN.get(name, ())
        constant = name == "import_module" and bool(call.args) and isinstance(call.args[0], ast.Constant)
        if (owners is None or owner in owners) and not constant:
            yield f"{owner}.{name}"


def test_every_place_that_may_run_code_is_in_the_table_of_security_md() -> None:
    section = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Where text becomes an object")[2]
    listed = {
        name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)
    }
    assert listed
    assert all((PACKAGE / name).is_file() for name in listed)
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if MAYBE.search(text) and (calls := list(dangerous(ast.parse(text)))):
            found[path.relative_to(PACKAGE).as_posix()] = calls
    assert {"importing.py", "engines/parcel.py", "engines/host.py", "places.py"} <= found.keys()
    assert {name: calls for name, calls in found.items() if name not in listed} == {}


@pytest.mark.parametrize(
    "code",
    [
        "importlib.import_module(name)",
        "__import__(name)",
        "pkgutil.resolve_name(name)",
        "eval(text)",
        "exec(text)",
        "pickle.loads(data)",
        "pickle.load(file)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(command)",
        "os.system(command)",
        "yaml.load(text)",
    ],
)
def test_the_walk_sees(code: str) -> None:
    assert len(list(dangerous(ast.parse(code)))) == 1
