"""fairgate live init, keys and backup as an operator meets them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from fairgate.live import Gate
from fairgate.live.backup import check_copy
from fairgate.live.beginning import opened
from fairgate.live.config import read_config
from fairgate.live.failures import ForbiddenError, UnavailableError
from fairgate.live.keys import check_key, find_key, list_keys
from fairgate.live.template import gate_toml
from tests.command import fairgate_here


def tokens(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) .*?(fg_\w{12}_[\w-]+)", text, flags=re.MULTILINE))


@pytest.fixture
def made(tmp_path: Path) -> Path:
    assert fairgate_here("live", "init", "credit", "--groups", "women, men", cwd=tmp_path).returncode == 0
    return tmp_path


def test_init_writes_a_file_makes_the_gate_and_its_keys_which_only_their_file_has(
    database_url: str, tmp_path: Path
) -> None:
    done = fairgate_here(
        "live", "init", "credit", "--groups", "women,men", "--database", database_url, "--folder", "new/c", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "new" / "c"
    keys = tokens((folder / "keys.txt").read_text())
    assert list(keys) == ["application", "outcomes", "admin"]
    assert "fg_" not in done.stdout
    told = "The keys application, outcomes, admin are in new/c/keys.txt, which only you can read; to see one: "
    assert told + "grep admin new/c/keys.txt\n" in done.stdout
    assert (folder / "keys.txt").stat().st_mode & 0o777 == 0o600
    with opened(folder / "gate.toml") as gate:
        assert gate.spec.groups == ["women", "men"]
        assert gate.decide("a-1", "men", 0.7).accepted
        check_key(gate.engine, "credit", keys["application"], "decide")
        check_key(gate.engine, "credit", keys["outcomes"], "outcomes")
        with pytest.raises(ForbiddenError):
            check_key(gate.engine, "credit", keys["application"], "rounds")
        for scope in ("admin", "read", "audit", "rounds"):
            check_key(gate.engine, "credit", keys["admin"], scope)
        assert [event.actor for event in gate.log()][:4] == ["init"] * 4


def test_nothing_is_overwritten(made: Path) -> None:
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    again = fairgate_here("live", "init", "credit", cwd=made)
    assert (again.returncode, again.stdout) == (2, "")
    assert "gate.toml and its gate 'credit' are there already: start it with fairgate live serve" in again.stderr
    other = fairgate_here("live", "init", "leasing", cwd=made)
    assert "gate.toml is there already, of the gate 'credit', not 'leasing': choose another --folder" in other.stderr
    (made / "gate.toml").unlink()
    third = fairgate_here("live", "init", "leasing", cwd=made)
    assert "keys.txt is there already" in third.stderr
    fourth = fairgate_here("live", "init", "credit", "--folder", "x", "--database", "../credit.db", cwd=made)
    assert "credit.db has a gate 'credit' already: choose another name, or another --database" in fourth.stderr
    assert {name: (made / name).read_bytes() for name in ("keys.txt", "credit.db")} == {
        name: before[name] for name in ("keys.txt", "credit.db")
    }


def test_before_the_first_decision_the_gate_is_made_again_as_the_file_says(made: Path) -> None:
    config = made / "gate.toml"
    running = Gate(read_config(config).database, "credit")  # a service that still has the old spec
    config.write_text(config.read_text().replace("steps = 21", "steps = 41"))
    with pytest.raises(ValueError, match=r"made with grid = .* fairgate live init credit makes it again"):
        Gate(read_config(config).database, "credit", spec=read_config(config).gates[0])
    done = fairgate_here("live", "init", "credit", cwd=made)
    assert (done.returncode, done.stderr) == (0, "")
    assert "made again, as gate.toml says now; its keys are the same" in done.stdout
    with pytest.raises(UnavailableError, match="the gate 'credit' was made again"):
        running.decide("a-1", "men", 0.7)
    running.shut()
    with opened(config) as gate:
        assert len(gate.spec.grid) == 41
        for name, token in tokens((made / "keys.txt").read_text()).items():
            assert find_key(gate.engine, "credit", token).name == name
        assert [event.kind for event in gate.log()] == ["created", *["key-added"] * 3]
        gate.decide("a-1", "men", 0.7)
        assert check_copy(gate.engine)[0].cases == 1


def test_after_the_first_decision_the_spec_stays_and_what_differs_is_said(made: Path) -> None:
    config = made / "gate.toml"
    with opened(config) as gate:
        gate.decide("a-1", "men", 0.7)
    config.write_text(config.read_text().replace("cost = 1.0", "cost = 2.0").replace("people = 200", "people = 9"))
    done = fairgate_here("live", "init", "credit", cwd=made)
    assert done.returncode == 2
    assert "made with false_positive_cost = 1.0, not 2.0 (and rounds): a gate's spec does not change" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["my credit"], "[gate] name"),
        (["credit", "--groups", ""], "groups"),
        (["credit", "--groups", "women"], "gate.toml: groups must be at least 2, as parity=0.1 compares them"),
        (["credit", "--database", "mysql://h/x"], "database must be a file such as gate.db or postgresql://"),
        (["credit", "--database", "none/x.db"], "x.db cannot be made: no such file or directory"),
    ],
)
def test_what_no_gate_can_have_is_one_sentence_and_leaves_nothing(given: list[str], said: str, tmp_path: Path) -> None:
    done = fairgate_here("live", "init", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_after_a_gate_that_cannot_work_was_refused_a_corrected_call_makes_it(tmp_path: Path) -> None:
    (tmp_path / "own_quota.py").write_text(
        "from fairgate.errors import InputError\n"
        "class Quota:\n"
        "    names = ('quota',)\n"
        "    def __init__(self, most): self.most = most\n"
        "    def residuals(self, counts):\n"
        "        if counts.group_count != 3: raise InputError(f'a quota is for 3 groups, got {counts.group_count}')\n"
        "        return (counts.overall - self.most,)\n"
    )
    text = gate_toml("credit", ["women", "men"], "credit.db").replace("parity = 0.10", '"own_quota:Quota" = 0.9')
    (tmp_path / "gate.toml").write_text(text)
    allow = ("--allow", "own_quota:Quota")
    for _ in range(2):
        refused = fairgate_here("live", "init", "credit", *allow, cwd=tmp_path)
        assert (refused.returncode, refused.stderr) == (
            2,
            "fairgate: gate.toml: [constraints] a quota is for 3 groups, got 2\n",
        )
        assert not (tmp_path / "credit.db").exists()
        assert not (tmp_path / "keys.txt").exists()
    (tmp_path / "gate.toml").write_text(text.replace('"men"]', '"men", "others"]'))
    assert fairgate_here("live", "init", "credit", *allow, cwd=tmp_path).returncode == 0
    with opened(tmp_path / "gate.toml", ["own_quota:Quota"]) as gate:
        assert gate.spec.groups == ["women", "men", "others"]


def test_a_file_of_keys_that_is_there_is_found_before_a_database_is_made(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("mine")
    assert fairgate_here("live", "init", "credit", cwd=tmp_path).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["keys.txt"]


def test_a_database_that_cannot_be_reached_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    done = fairgate_here("live", "init", "credit", "--database", "postgresql://u:pw@127.0.0.1:1/x", cwd=tmp_path)
    assert done.returncode == 1
    assert "refused" in done.stderr
    assert "pw" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_keys_are_added_listed_and_revoked(made: Path) -> None:
    added = fairgate_here("live", "keys", "add", "branch 7", "--scopes", "decide,read", "--days", "9", cwd=made)
    token = added.stdout.strip()
    listed = json.loads(fairgate_here("live", "keys", "list", "--json", cwd=made).stdout)
    assert [each["name"] for each in listed] == ["application", "outcomes", "admin", "branch 7"]
    assert "branch 7" in fairgate_here("live", "keys", "list", cwd=made).stdout
    with opened(made / "gate.toml") as gate:
        assert check_key(gate.engine, "credit", token, "read").id == listed[-1]["id"]
    done = fairgate_here("live", "keys", "revoke", listed[-1]["id"], cwd=made)
    assert done.stdout == f"Revoked {listed[-1]['id']} (branch 7)\n"
    with opened(made / "gate.toml") as gate:
        assert list_keys(gate.engine, "credit")[-1].revoked is not None
        assert gate.log()[-1].actor == "command line"
    for wrong, said in (
        (["revoke", "x"], "key 'x' is not the id of a key"),
        (["add", "y", "--scopes", "all"], "unknown scope 'all'"),
        (["add", "y", "--scopes", "read", "--days", "0"], "--days must be above 0"),
        (["list", "--config", "none.toml"], "there is no file none.toml: write one with fairgate live init NAME"),
    ):
        refused = fairgate_here("live", "keys", *wrong, cwd=made)
        assert refused.returncode == 2
        assert said in refused.stderr


def test_a_database_that_was_lost_is_not_made_empty_again(made: Path) -> None:
    (made / "credit.db").unlink()
    done = fairgate_here("live", "keys", "list", cwd=made)
    assert done.returncode == 2
    assert "there is no database" in done.stderr
    assert not (made / "credit.db").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    with patch("fairgate.cli.live.find_spec", lambda name: None if name == "alembic" else object()):
        done = fairgate_here("live", "keys", "list", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "fairgate: fairgate live needs the package alembic: pip install 'fairgate[live]'\n",
    )


@pytest.mark.slow
def test_help_needs_nothing_of_the_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['fairgate', 'live', '--help']\n"
        "from fairgate.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('fastapi', 'sqlalchemy', 'alembic', 'psycopg', 'uvicorn', 'httpx')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "init" in done.stdout
