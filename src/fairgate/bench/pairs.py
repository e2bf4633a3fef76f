"""Pairs: learners, each on a task or a block of worlds, played together where they can be, each outcome in a file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from fairgate.engines import Engine
from fairgate.errors import told
from fairgate.learners import Learner
from fairgate.run import Run
from fairgate.simulation import Size
from fairgate.store import Bundle, Say, Work, complete, one_by_one
from fairgate.tasks import Task
from fairgate.together import can_join, packs, simulate_together


class Playable(Protocol):
    """A learner on a task, and what is kept of it."""

    @property
    def key(self) -> str:
        """Name of its file."""

    @property
    def learner(self) -> Learner[Any]:
        """The learner."""

    @property
    def task(self) -> Task:
        """The task."""

    @property
    def size(self) -> Size:
        """How much is simulated."""

    @property
    def shared(self) -> Hashable:
        """What pairs that are played together have in common; None if it must be played alone."""

    def played(self) -> bytes:
        """Play and judge it, and return the file of its outcome."""

    def judged(self, run: Run) -> bytes:
        """Judge a run of it, and return the file of its outcome."""


def play_all(
    pairs: Sequence[Playable], works: Sequence[Work], folder: Path, engine: Engine, say: Say
) -> dict[str, str]:
    """Play every pair whose file is not there yet, and return what went wrong, by key."""
    errors = {pair.key: folder / f"{pair.key}.error" for pair in pairs}
    for path in errors.values():
        path.unlink(missing_ok=True)
    lost = complete(folder, works, engine, say, bundled=partial(bundled, pairs))
    died = {work.name: text for work, text in lost}
    return died | {key: path.read_text(encoding="utf-8") for key, path in errors.items() if path.is_file()}


def bundled(pairs: Sequence[Playable], works: Sequence[Work]) -> list[Bundle]:
    """Bundle the learners that can be played together."""
    by_key = {pair.key: pair for pair in pairs}
    together: dict[Hashable, list[Work]] = {}
    alone: list[Work] = []
    for work in works:
        pair = by_key[work.name]
        join = pair.shared is not None and can_join(pair.task, pair.learner, pair.size)
        (together.setdefault(pair.shared, []) if join else alone).append(work)
    found = one_by_one(alone)
    for each in together.values():
        for some in packs(len(each), by_key[each[0].name].size):
            found.append(Bundle(each[some], partial(perform_together, [by_key[work.name] for work in each[some]])))
    return found


def perform_together(pairs: Sequence[Playable]) -> list[Mapping[str, bytes]]:
    """Return the files of pairs that have their task in common; if one fails, each is done alone."""
    try:
        runs = simulate_together(pairs[0].task, [pair.learner for pair in pairs], pairs[0].size)
    except Exception:  # said by the one that fails
        return [perform(pair) for pair in pairs]
    return [_file(pair, partial(pair.judged, run)) for pair, run in zip(pairs, runs, strict=True)]


def perform(pair: Playable) -> Mapping[str, bytes]:
    """Return the file of a pair's outcome; of one that fails, one with the error instead."""
    return _file(pair, pair.played)


def _file(pair: Playable, made: Callable[[], bytes]) -> dict[str, bytes]:
    try:
        return {f"{pair.key}.parquet": made()}
    except Exception as error:
        return {f"{pair.key}.error": told(error).encode()}
