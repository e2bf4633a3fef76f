"""Past: the table of past decisions that a gate's learner starts from. The log has its digest, and no row of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from fairgate.errors import InputError
from fairgate.history import History

Column = Literal["score", "group", "accepted", "outcome", "time"]
"""Columns of such a table, which may have other names."""


class MissingTableError(InputError):
    """The table that a gate started from is not there, or is another one."""


class PastDecisions(BaseModel):
    """Where the table is, and what tells it from any other."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    file: Annotated[str, Field(min_length=1)]  # seen from the folder of gate.toml, or that which a reader names
    rows: int
    sha256: str  # of what was read, not of the file: the same rows in another format are the same
    columns: dict[Column, str] = {}  # those that have another name
    threshold: float | list[float] | None = None  # the old policy's, if it is known

    @classmethod
    def of(
        cls,
        file: str | Path,
        groups: Sequence[str],
        *,
        columns: Mapping[Column, str] | None = None,
        threshold: float | list[float] | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Read a table, for a gate of these groups, and return what the gate's spec has of it.

        Its path is seen from `folder`, by default the current one, as :func:`below` does.
        """
        seen, path = folder or Path.cwd(), below(folder or Path.cwd(), str(file))
        if path is None or not path.is_file():
            raise InputError(
                f"there is no file {str(file)!r}: name a table of past decisions in {seen}, or in a folder of it, such "
                "as past.csv"
            )
        named = dict(columns or {})
        found = read_table(path, named, threshold, groups)
        return cls(file=str(file), rows=found.people, sha256=found.sha256, columns=named, threshold=threshold)

    def history(self, groups: Sequence[str], folder: Path | None = None) -> History:
        """Read the table again, seen from `folder`; say so if it is not there or is another one."""
        about = f"the learner started from the past decisions of {self.file!r} ({self.rows} rows)"
        seen, path = folder or Path.cwd(), below(folder or Path.cwd(), self.file)
        if path is None or not path.is_file():
            outside = ", as only files below it are read" if leads_out(self.file) or path is None else ""
            raise MissingTableError(
                f"{about}, and there is no such file in {seen}{outside}: put it there, or name its folder (--folder)"
            )
        try:
            found = read_table(path, dict(self.columns), self.threshold, groups)
        except InputError as error:
            raise MissingTableError(f"{about}, and {path} cannot be read as such: {error}") from None
        if found.sha256 != self.sha256:
            raise MissingTableError(
                f"{about}, whose digest begins with {self.sha256[:16]}, and {path} has other rows, with "
                f"{found.sha256[:16]}: put the table there that the gate was made with"
            )
        return found


def below(folder: Path, file: str) -> Path | None:
    """Return where a file is that a spec names, None if a link leads out of the folder.

    A spec may come from a stranger, so nothing but files below the folder is opened: only the last part counts of a
    path that leads elsewhere.

    >>> [str(below(Path("/srv/credit"), each)) for each in ("tables/past.csv", "/data/past.csv")]
    ['/srv/credit/tables/past.csv', '/srv/credit/past.csv']
    """
    path = folder / (PurePath(file).name if leads_out(file) else file)
    return path if path.resolve().is_relative_to(folder.resolve()) else None


def leads_out(file: str) -> bool:
    """Whether a path leads out of any folder that it is seen from.

    >>> [leads_out(each) for each in ("past.csv", "tables/past.csv", "../past.csv", "/data/past.csv")]
    [False, False, True, True]
    """
    path = PurePath(file)
    return bool(path.anchor) or ".." in path.parts


def read_table(path: Path, columns: Mapping[Any, str], threshold: Any, groups: Sequence[str]) -> History:
    """Read a table, once as long as it does not change."""
    known = path.stat()
    named, cuts = tuple(sorted(columns.items())), tuple(threshold) if isinstance(threshold, list) else threshold
    return _read(path, known.st_mtime_ns, known.st_size, named, cuts, tuple(groups))


@functools.lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int, columns: Any, threshold: Any, groups: tuple[str, ...]) -> History:
    return History.of(path, **dict(columns), threshold=threshold, groups=groups)
