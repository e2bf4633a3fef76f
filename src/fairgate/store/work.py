"""Work whose outcome is a few files: what is done is found again, what is missing or stale is done, on any engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairgate.amounts import amount, part
from fairgate.engines import Crashed, Engine
from fairgate.errors import InputError
from fairgate.progress import Say, meter
from fairgate.store.files import file_hash, write_bytes

INDEX = "index.jsonl"
"""File of a folder that says which settings and code made the others: a line each, later lines count."""


@dataclass(frozen=True)
class Work:
    """A piece of work: `make` returns the contents of `files`, by name, wherever it is carried out.

    `digest` is a fingerprint of the settings and the code that make the files. Of the highest `cost` is begun first.
    What `make` returns instead of its files, such as the text of an error, is written too, but the work counts as
    failed and is done again the next time. If its process dies again and again, say for want of memory, the pieces
    that `split` returns are tried in its place.
    """

    name: str
    digest: str
    files: tuple[str, ...]
    cost: float
    make: Callable[[], Mapping[str, bytes]]
    split: Callable[[], Sequence[Work]] | None = None


@dataclass(frozen=True)
class Bundle:
    """Pieces of work that are carried out by one call: `make` returns what each of them would, in order."""

    works: Sequence[Work]
    make: Callable[[], Sequence[Mapping[str, bytes]]]

    @property
    def cost(self) -> float:
        """What all of them cost."""
        return sum(each.cost for each in self.works)


def one_by_one(works: Sequence[Work]) -> list[Bundle]:
    """Bundle nothing."""
    return [Bundle((each,), partial(_alone, each.make)) for each in works]


def _alone(make: Callable[[], Mapping[str, bytes]]) -> Sequence[Mapping[str, bytes]]:
    return (make(),)


class Index:
    """What is noted of the files of a folder; notes are appended; a line cut short by an interruption is no note."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / INDEX
        self._notes: dict[str, tuple[str, str]] = {}
        text = self._path.read_text(encoding="utf-8", errors="replace") if self._path.is_file() else ""
        self._cut = not text.endswith("\n") and bool(text)
        for line in text.splitlines():
            if note := _note(line):
                name, digest, sha256 = note
                self._notes[name] = digest, sha256

    def notes(self) -> list[tuple[str, str]]:
        """Return the name of each piece of work that was done, and the hashes of its files."""
        return [(name, sha256) for name, (_, sha256) in self._notes.items()]

    def has(self, work: Work, say: Say) -> bool:
        """Whether all files of `work` are there as they were written; says which are not what was written."""
        digest, written = self._notes.get(work.name, ("", ""))
        hashes = [file_hash(self._folder / name) for name in work.files]
        found = " ".join(hashes) if all(hashes) else ""
        if found and found != written:
            say(f"{self._folder / work.files[0]} is not what was written there: it is made again")
        return bool(found) and (digest, written) == (work.digest, found)

    def keep(self, work: Work, contents: Mapping[str, bytes]) -> None:
        """Write the files that some work has made, whole, and note them if they are all its files."""
        for name in work.files:
            if name not in contents:
                (self._folder / name).unlink(missing_ok=True)
        for name, content in contents.items():
            write_bytes(self._folder / name, content)
        if set(work.files) <= contents.keys():
            hashes = (hashlib.sha256(contents[name]).hexdigest() for name in work.files)
            self._append(work.name, work.digest, " ".join(hashes))

    def _append(self, *note: str) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" * self._cut + json.dumps(note) + "\n")
        except OSError as error:
            raise InputError(f"cannot write {self._path}: {error.strerror or error}") from None
        self._cut = False


def _note(line: str) -> tuple[str, str, str] | None:
    """Read a note, three texts; None if the line is anything else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != 3:
        return None
    if not all(isinstance(text, str) and text.strip() for text in found):
        return None
    name, digest, sha256 = found
    return name, digest, sha256


def complete(
    folder: Path,
    work: Iterable[Work],
    engine: Engine,
    say: Say,
    noun: str = "simulation",
    quiet: bool = False,
    bundled: Callable[[Sequence[Work]], Sequence[Bundle]] = one_by_one,
) -> list[tuple[Work, str]]:
    """Do all work whose files are not in `folder` yet, the longest first, and say which files had to be made again.

    Only this process writes files. What is done is noted at once, so that after an interruption the same call goes on
    with what is missing, on the same engine or another. Returns the work whose processes died again and again, each
    with a text that says so; they are tried again the next time. If `quiet`, progress is shown on a terminal only.
    `bundled` says what of the missing work is cheaper to do together; if its process dies, it is tried one by one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = Index(folder)
    work = list(work)
    missing = [each for each in work if not index.has(each, say)]
    if len(missing) < len(work):
        say(f"{part(len(work) - len(missing), len(work), noun)} done already")
    lost: list[tuple[Work, str]] = []
    count = len(work) - len(missing)
    planned = {each.name: each for each in work}

    def finish(bundle: Bundle, result: Sequence[Mapping[str, bytes]] | Crashed) -> Sequence[Work]:
        """Keep what was made, and return the pieces to try in place of work that crashed."""
        nonlocal count
        if not isinstance(result, Crashed):
            for each, made in zip(bundle.works, result, strict=True):
                index.keep(each, made)
            count += len(bundle.works)
            return ()
        if len(bundle.works) > 1:
            return bundle.works
        (each,) = bundle.works
        if each.split is None:
            lost.append((each, result.text))
            return ()
        pieces = each.split()
        say(f"{each.name}: {result.text}; it is tried in {amount(len(pieces), 'piece')}")
        left = [piece for piece in pieces if not index.has(piece, say)]
        del planned[each.name]
        planned.update((piece.name, piece) for piece in pieces)
        count += len(pieces) - len(left)
        return left

    while missing:
        bundles = sorted(bundled(missing), key=lambda each: -each.cost)
        pieces: list[Work] = []
        first = f"{amount(len(missing), noun)} on {engine}"
        try:
            with (
                meter(sum(each.cost for each in missing), first, quiet=quiet) as advance,
                closing(engine.run([each.make for each in bundles])) as results,
            ):
                for place, result in results:
                    bundle = bundles[place]
                    pieces += finish(bundle, result)
                    advance(f"{count} of {amount(len(planned), noun)} done: {bundle.works[-1].name}", bundle.cost)
        except KeyboardInterrupt:
            written = Index(folder)  # what the next call will find: it may have come in the middle of a bundle
            kept = sum(written.has(each, lambda text: None) for each in planned.values())
            say(f"Interrupted: {part(kept, len(planned), noun)} done and kept; the same command goes on from there")
            raise
        missing, bundled = pieces, one_by_one
    return lost
