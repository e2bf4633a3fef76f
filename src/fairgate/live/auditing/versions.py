"""Versions: which differences of a proposal another version of the library or of numpy may explain.

Only a proposal may differ, and only if the versions that made it are older than the auditor's and not older than any
that the log had before. All else that an event says of a round follows from the proposal as it is logged: a policy that
the guards do not allow is a finding, whoever made it.
"""

from __future__ import annotations

import re
from collections import defaultdict

from fairgate import __version__
from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.report import VersionChange
from fairgate.live.making import VERSIONS

NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,9}){0,3})(?:[^\d].*)?")

Numbers = dict[str, tuple[int, ...]]


class Versions:
    """The versions that went on with a log, in order, and rounds whose proposals they explain."""

    def __init__(self) -> None:
        self.made = ""  # what the versions now are called
        self._refused = "no event named them"  # why they explain nothing
        self._highest: Numbers = {}
        self._rounds: dict[str, list[int]] = defaultdict(list)

    def follow(self, parsed: Parsed) -> None:
        """Take in an event that names versions."""
        library, versions = parsed.data["library"], parsed.data["versions"]
        self.made = named(library, versions)
        mine, here = _numbers(library, versions), _numbers(__version__, VERSIONS)
        self._refused = ""
        if mine is None or here is None or mine.keys() != here.keys():
            self._refused = "which is no version that there is"
            return
        newer = [name for name in mine if mine[name] > here[name]]
        older = [name for name in mine if mine[name] < self._highest.get(name, ())]
        if self.made == named(__version__, VERSIONS):
            self._refused = "as this audit"
        elif newer:
            self._refused = f"whose {newer[0]} is newer than this audit's: audit with that version or a later one"
        elif older:
            self._refused = f"though the log had a later {older[0]} before: a version that goes back explains nothing"
        self._highest |= {name: max(number, self._highest.get(name, ())) for name, number in mine.items()}

    @property
    def own(self) -> bool:
        """Whether the versions now are the auditor's."""
        return self.made == named(__version__, VERSIONS)

    def differs(self, number: int, what: str) -> str:
        """Take in a round in which the learner did otherwise than recomputed; say `what` if nothing explains it."""
        if self._refused:
            return f"{what}; it was made by {self.made or 'unknown versions'}, {self._refused}"
        self._rounds[self.made].append(number)
        return ""

    @property
    def changes(self) -> list[VersionChange]:
        """The rounds that another version recomputes differently."""
        return [_change(made, rounds) for made, rounds in self._rounds.items()]


def _change(made: str, rounds: list[int]) -> VersionChange:
    here = named(__version__, VERSIONS)
    some = ", ".join(map(str, rounds[:8])) + (" …" if len(rounds) > 8 else "")
    text = (
        f"The proposals of {len(rounds)} rounds ({some}) were made by {made} and differ when {here} recomputes them: a "
        "difference of versions may explain it, and so may a change of the log; an audit with those versions tells. "
        "All else in these rounds was checked."
    )
    return VersionChange(made_by=made, recomputed_by=here, rounds=rounds, text=text)


def named(library: str, versions: dict[str, str]) -> str:
    """Name versions, but for that of Python, which no number depends on."""
    numbers = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()) if name != "python")
    return f"fairgate {library} ({numbers})"


def _numbers(library: str, versions: dict[str, str]) -> Numbers | None:
    """Return versions as numbers; None if one is none.

    >>> _numbers("0.1.0", {"numpy": "2.1.3rc1"})
    {'fairgate': (0, 1, 0), 'numpy': (2, 1, 3)}
    """
    found = {}
    for name, text in {"fairgate": library, **versions}.items():
        parts = NUMBER.fullmatch(text)
        if parts is None:
            return None
        if name != "python":
            found[name] = tuple(int(each) for each in parts[1].split("."))
    return found
