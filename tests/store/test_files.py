"""Files: whole or not there, whatever happens on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairgate as fg
from fairgate.store import file_hash, file_name, plain, prepare_folder, read_table, write_bytes, write_table, write_text
from fairgate.store.files import whole


def test_a_table_comes_back_with_its_header(tmp_path: Path) -> None:
    path = tmp_path / "new" / "table.parquet"
    columns = {"seed": np.arange(3, dtype=np.int32), "name": np.array(["a", "b", "ü"]), "x": np.array([0.1, np.nan, 3])}
    write_table(path, columns, {"truth": [1, None]})
    found, header = read_table(path)
    assert header == {"truth": [1, None]}
    assert list(found) == list(columns)
    for name in columns:
        np.testing.assert_array_equal(found[name], columns[name])
    write_table(path, {"x": [1.0]})
    assert read_table(path)[1] == {}
    assert [each.name for each in path.parent.iterdir()] == ["table.parquet"]


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    write_text(path, "first")

    def fail() -> None:
        with whole(path) as unfinished:
            unfinished.write_text("half of the sec")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.txt"]
    write_text(path, "second")
    assert path.read_text() == "second"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.txt"]


def test_two_that_write_the_same_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    with whole(path) as first, whole(path, private=True) as second:
        first.write_text("one")
        second.write_text("another")
        assert (first.read_text(), second.read_text()) == ("one", "another")
    assert path.read_text() == "one"  # whose it is that was finished last
    assert [each.name for each in tmp_path.iterdir()] == ["shared"]


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(fg.InputError, match=r"cannot write .*file"):
        write_bytes(tmp_path / "file" / "inside", b"")
    with pytest.raises(fg.InputError, match=r"cannot write .*file"):
        write_table(tmp_path / "file" / "inside", {"x": [1.0]})
    with pytest.raises(fg.InputError, match=r"^--out .*file must be a folder one can write to"):
        prepare_folder(tmp_path / "file")


def test_different_names_have_different_files() -> None:
    names = ["mine:Mine", "mine-Mine", "mine/Mine", "ofs:c=0.1", "a b", "compas--ofs"]
    assert len({file_name(name) for name in names}) == len(names)
    assert all("/" not in file_name(name) and ":" not in file_name(name) for name in names)
    assert file_name("compas--ofs") == "compas--ofs"


def test_hash_of_no_file_is_nothing(tmp_path: Path) -> None:
    assert file_hash(tmp_path / "none") == ""
    assert plain({"a": (1.0, float("inf"))}) == {"a": [1.0, None]}
