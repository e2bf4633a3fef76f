"""gate.toml: what it says becomes the spec and the service's settings; what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings, parse_config, read_config
from fairgate.live.spec import Spec
from fairgate.live.template import gate_toml

TEXT = gate_toml("credit", ["women", "men"], "credit.db")


def settings(text: str = TEXT, folder: str = "/here") -> ServiceSettings:
    return parse_config(text, Path(folder) / "gate.toml")


def replaced(before: str, after: str) -> str:
    assert TEXT.count(before) == 1, before
    return TEXT.replace(before, after)


def uncommented(text: str) -> str:
    """The text with every entry that is commented out as an example."""
    lines = [
        line[2:] if line.startswith("# [") or (line.startswith("# ") and "=" in line.split("#")[1]) else line
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def test_the_template_says_what_its_defaults_are() -> None:
    found = settings()
    plain: dict[str, object] = {
        "name": "credit",
        "groups": ["women", "men"],
        "grid": [round(0.05 * i, 10) for i in range(21)],
    }
    plain |= {"constraints": {"parity": 0.1, "service": [0.2, 0.9]}, "start": {"mode": "hold", "threshold": 0.5}}
    assert found.gates[0].setting.thresholds.tolist() == plain["grid"]
    assert found.gates[0].model_dump(exclude={"grid"}) == Spec.read(plain).model_dump(exclude={"grid"})
    assert found.model_dump(exclude={"gates"}) == {
        "database": "/here/credit.db",
        "host": "127.0.0.1",
        "port": 8000,
        "max_body": 8_000_000,
        "session_secret": Path("/here/session.key"),
        "behind_proxy": False,
        "allow": frozenset(),
        "folder": Path("/here"),
        "log": "text",
        "slow_seconds": 1.0,
    }


def test_every_entry_that_is_commented_out_can_be_used() -> None:
    text = uncommented(TEXT)
    for twice in ("grid = [", 'url = "credit.db"'):  # entries that replace others
        text = "\n".join(line for line in text.splitlines() if not line.startswith(twice))
    found = settings(text)
    spec = found.gates[0]
    assert (spec.per_group, spec.rounds.seconds, found.database) == ("why", 86400.0, "postgresql://user@host/name")
    assert (spec.guards.lowest, spec.guards.highest, spec.guards.step, spec.guards.floor) == (0.3, 0.8, 0.1, 0.1)
    assert spec.guards.pause_if_quiet_days == 45.0


def test_rounds_close_by_people_by_time_or_when_told() -> None:
    line = next(line for line in TEXT.splitlines(keepends=True) if line.startswith("people = 200 "))
    assert settings(replaced(line, "")).gates[0].rounds.people is None
    timed = settings(replaced(line, "seconds = 60\n")).gates[0].rounds
    assert (timed.people, timed.seconds) == (None, 60.0)


def test_a_grid_may_be_listed() -> None:
    text = TEXT.replace("low = 0.0\nhigh = 1.0\nsteps = 21", "grid = [0.1, 0.5] #")
    assert settings(text).gates[0].grid == [0.1, 0.5]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[guards]", "[gaurds]", "unknown table 'gaurds': did you mean 'guards'? The tables are gate, scores"),
        ("\n[gate]", "\nname = 3\n[gate]", "the entry 'name' must be in the table [gate], below its line"),
        ("people = 200", "peeple = 200", "unknown entry 'peeple' in [rounds]: did you mean 'people'? Known: people"),
        ("people = 200", 'people = "200"', "[rounds] people: input should be a valid integer, got '200'"),
        ("people = 200", "people = true", "[rounds] people: input should be a valid integer, got True"),
        ("people = 200", "people = 0", "[rounds] people: input should be greater than or equal to 1, got 0"),
        ('mode = "hold"', 'mode = "hold on"', "[start] mode: input should be 'learn', 'hold', 'shadow' or 'approve'"),
        ("threshold = 0.5", "threshold = 0.52", "threshold must be one of the grid, such as 0.5, got 0.52"),
        ("threshold = 0.5 ", "# ", "threshold must be given to begin in the mode hold, got none"),
        ("parity = 0.10", "partiy = 0.10", "unknown constraint 'partiy': did you mean 'parity'?"),
        ("service = [0.2, 0.9]", "service = [0.9, 0.2]", "service"),
        (
            'learner = "safe-forecast"',
            'learner = "safe-forcast"',
            "unknown learner 'safe-forcast': did you mean 'safe-forecast'?",
        ),
        ('groups = ["women", "men"]', 'groups = ["men", "men"]', "groups must be different names, at least one, got"),
        (
            'groups = ["women", "men"]',
            f"groups = {[str(number) for number in range(1001)]}",
            "groups times thresholds must be at most 10000, got 1001 × 21",
        ),
        ('name = "credit"', 'name = "my credit"', "[gate] name: "),
        ("steps = 21", "", "[scores] must have low, high and steps, or grid = [...] alone, got low, high"),
        ("steps = 21", "steps = 21\ngrid = [0.5]", "[scores] must have low, high and steps, or grid = [...] alone"),
        ("steps = 21", "steps = 1", "[scores] steps: input should be greater than or equal to 2, got 1"),
        ("low = 0.0", "low = 1.0", "low in [scores] must be below high, got 1.0 and 1.0"),
        ("cost = 1.0", "cost = 1e155", "cost: input should be less than or equal to 1000000000"),
        ("cost = 1.0", "cost = nan", "[gate] cost: input should be a finite number"),
        ("port = 8000", "port = 80000", "[service] port: input should be less than or equal to 65535, got 80000"),
        ('url = "credit.db"', "", "[database] url: field required"),
        (
            'url = "credit.db"',
            'url = "mysql://h/x"',
            "database must be a file such as gate.db or postgresql://user@host",
        ),
        ("alpha = 0.05", "alpha = 0.05\nalpha = 0.1", "must be TOML: "),
    ],
)
def test_what_is_wrong_is_one_sentence_with_file_table_and_entry(before: str, after: str, said: str) -> None:
    text = TEXT.replace(before, after, 1)
    assert text != TEXT
    with pytest.raises(InputError) as told:
        settings(text)
    assert str(told.value).startswith("/here/gate.toml")
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("table", ["gate", "scores", "database"])
def test_a_table_that_is_missing_is_one_sentence(table: str) -> None:
    start = TEXT.index(f"\n[{table}]")
    end = TEXT.index("\n[", start + 1)
    with pytest.raises(InputError, match=rf"gate.toml: the table \[{table}\] is missing"):
        settings(TEXT[:start] + TEXT[end:])


def test_a_table_that_is_none_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"rounds must be a table, \[rounds\] and lines below it, got 5"):
        settings("rounds = 5\n" + TEXT.replace("[rounds]", "[labels.x]"))


def test_a_file_that_is_not_there_or_no_text_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*gate.toml: write one with fairgate live init NAME"):
        read_config(tmp_path / "gate.toml")
    (tmp_path / "gate.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"gate.toml cannot be read: "):
        read_config(tmp_path / "gate.toml")


def test_names_with_quotes_are_written_as_they_are() -> None:
    groups = ['say "x"', "back\\slash", "日本", "tab\t"]
    assert settings(gate_toml("g", groups, 'a"b.db')).gates[0].groups == groups
