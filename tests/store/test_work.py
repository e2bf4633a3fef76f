"""Work is done once, kept whole, and done again only if something changed; what crashes is tried in pieces."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fairgate.engines import Crashed, InProcess
from fairgate.engines.base import Call
from fairgate.store import Bundle, Index, Work, complete, one_by_one


class Recording:
    """Makes files, and remembers which; what is in `crashing` crashes."""

    def __init__(self, *crashing: str) -> None:
        self.made: list[str] = []
        self.crashing = crashing

    def work(self, name: str, digest: str = "settings", cost: float = 1.0) -> Work:
        return Work(name, digest, (f"{name}.a", f"{name}.b"), cost, partial(self.make, name))

    def make(self, name: str) -> dict[str, bytes]:
        self.made.append(name)
        if name in self.crashing:
            raise MemoryError
        return {f"{name}.a": name.encode(), f"{name}.b": b"beside"}


def done(folder: Path, work: list[Work]) -> list[str]:
    said: list[str] = []
    assert complete(folder, work, InProcess(), said.append) == []
    return said


def test_work_is_done_once_and_the_costliest_first(tmp_path: Path) -> None:
    made = Recording()
    work = [made.work("cheap"), made.work("costly", cost=2.0)]
    assert done(tmp_path, work) == []
    assert made.made == ["costly", "cheap"]
    assert (tmp_path / "cheap.a").read_bytes() == b"cheap"
    assert done(tmp_path, work) == ["2 of 2 simulations are done already"]
    assert len(made.made) == 2
    assert done(tmp_path, work[:1]) == ["1 of 1 simulation is done already"]


def test_other_settings_missing_files_and_changed_bytes_are_made_again(tmp_path: Path) -> None:
    made = Recording()
    work = [made.work(name) for name in ("one", "two", "three")]
    done(tmp_path, work)
    (tmp_path / "two.b").unlink()
    (tmp_path / "three.a").write_bytes(b"changed by hand")
    said = done(tmp_path, [replace(work[0], digest="other settings"), *work[1:]])
    assert made.made[3:] == ["one", "two", "three"]
    assert said == [f"{tmp_path / 'three.a'} is not what was written there: it is made again"]


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_note_cut_short_costs_only_its_own_work(tmp_path: Path, kept: int) -> None:
    made = Recording()
    work = [made.work("one"), made.work("two"), made.work("three")]
    done(tmp_path, work)
    index = tmp_path / "index.jsonl"
    *others, last = index.read_text().splitlines(keepends=True)
    index.write_text("".join(others) + last[:kept])
    done(tmp_path, work)
    assert made.made[3:] == (["three"] if kept != -1 else [])
    if kept == -1:
        done(tmp_path, [*work, made.work("four")])
    assert done(tmp_path, work) == ["3 of 3 simulations are done already"]
    assert [json.loads(line)[0] for line in index.read_text().splitlines() if line.endswith("]")][-1] in (
        "three",
        "four",
    )


@pytest.mark.parametrize(
    "line", ['["a","b",5]', "[1,2,3]", '[["a"],"b","c"]', '["a","b",""]', '["a","b"," "]', '"abc"', "null", "5", "{}"]
)
def test_a_line_that_is_no_note_is_passed_over(tmp_path: Path, line: str) -> None:
    made = Recording()
    work = [made.work("one"), made.work("two")]
    done(tmp_path, work[:1])
    with (tmp_path / "index.jsonl").open("a") as file:
        file.write(f"{line}\n")
    done(tmp_path, work)
    assert made.made == ["one", "two"]
    assert [name for name, _ in Index(tmp_path).notes()] == ["one", "two"]


def test_an_index_grows_by_a_line_for_each_work(tmp_path: Path) -> None:
    made = Recording()
    done(tmp_path, [made.work("one"), made.work("two")])
    before = (tmp_path / "index.jsonl").read_bytes()
    done(tmp_path, [made.work("one"), made.work("three")])
    after = (tmp_path / "index.jsonl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1


def test_what_failed_leaves_its_text_and_no_old_files_and_is_tried_again(tmp_path: Path) -> None:
    made = Recording()
    done(tmp_path, [made.work("one")])
    failing = replace(made.work("one", "new"), make=lambda: {"one.error": b"why"})
    done(tmp_path, [failing])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.jsonl", "one.error"]
    done(tmp_path, [made.work("one", "new")])
    assert made.made == ["one", "one"]


def test_what_crashes_is_tried_in_pieces_and_said_if_it_has_none(tmp_path: Path) -> None:
    made = Recording("whole", "second")
    pieces = [made.work("first"), made.work("second"), made.work("third")]
    whole = replace(made.work("whole"), split=lambda: pieces)
    said: list[str] = []
    lost = complete(tmp_path, [whole, made.work("other")], InProcess(), said.append, "block")
    assert [(work.name, text) for work, text in lost] == [("second", "out of memory")]
    assert said == ["whole: out of memory; it is tried in 3 pieces"]
    assert made.made == ["whole", "other", "first", "second", "third"]
    assert complete(tmp_path, [whole, made.work("other")], InProcess(), said.append, "block") == lost
    assert made.made[5:] == ["whole", "second"]


def test_what_is_bundled_is_made_by_one_call_and_kept_one_by_one(tmp_path: Path) -> None:
    made = Recording()
    calls: list[list[str]] = []

    def bundled(works: Sequence[Work]) -> list[Bundle]:
        def make() -> list[Any]:
            calls.append([each.name for each in works])
            return [each.make() for each in works]

        return [Bundle(works, make)]

    work = [made.work(name) for name in ("one", "two", "three")]
    done(tmp_path, work[:1])
    said: list[str] = []
    assert complete(tmp_path, work, InProcess(), said.append, bundled=bundled) == []
    assert calls == [["two", "three"]]
    assert said == ["1 of 3 simulations are done already"]
    assert done(tmp_path, work) == ["3 of 3 simulations are done already"]


def test_a_bundle_that_crashes_is_tried_one_by_one(tmp_path: Path) -> None:
    made = Recording("two")
    work = [made.work(name) for name in ("one", "two", "three")]

    def bundled(works: Sequence[Work]) -> list[Bundle]:
        return [Bundle(works, lambda: [each.make() for each in works])]

    lost = complete(tmp_path, work, InProcess(), lambda text: None, bundled=bundled)
    assert [(each.name, text) for each, text in lost] == [("two", "out of memory")]
    assert made.made == ["one", "two", "one", "two", "three"]
    assert [len(each.works) for each in one_by_one(work)] == [1, 1, 1]


class Interrupted:
    """An engine during whose third call somebody presses Ctrl-C."""

    workers = 1

    def __init__(self) -> None:
        self.closed = False

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        try:
            yield 0, calls[0]()
            yield 1, Crashed("killed")
            raise KeyboardInterrupt
        finally:
            self.closed = True


def test_an_interruption_leaves_what_is_done_and_says_how_much(tmp_path: Path) -> None:
    made = Recording()
    said: list[str] = []
    engine = Interrupted()
    work = [made.work(name) for name in ("one", "two", "three")]
    with pytest.raises(KeyboardInterrupt):
        complete(tmp_path, work, engine, said.append, "block")
    assert engine.closed
    assert said == ["Interrupted: 1 of 3 blocks are done and kept; the same command goes on from there"]
    assert done(tmp_path, work) == ["1 of 3 simulations are done already"]


def test_what_is_kept_is_counted_when_a_bundle_is_interrupted_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recording()
    said: list[str] = []
    work = [made.work(name) for name in ("one", "two", "three")]
    keep = Index.keep

    def press(index: Index, each: Work, contents: dict[str, bytes]) -> None:
        if each.name == "three":
            raise KeyboardInterrupt
        keep(index, each, contents)

    monkeypatch.setattr(Index, "keep", press)
    bundle = Bundle(work, lambda: [each.make() for each in work])
    with pytest.raises(KeyboardInterrupt):
        complete(tmp_path, work, InProcess(), said.append, bundled=lambda works: [bundle])
    monkeypatch.undo()
    assert said == ["Interrupted: 2 of 3 simulations are done and kept; the same command goes on from there"]
    assert done(tmp_path, work) == ["2 of 3 simulations are done already"]
