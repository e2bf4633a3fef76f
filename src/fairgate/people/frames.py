"""Frames: applicants from a table of pandas, polars, pyarrow or DuckDB, and results back as the same kind of table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from fairgate.people.applicants import Applicants, Columns
from fairgate.people.intake import take_in
from fairgate.people.sources import BATCH, Source
from fairgate.people.values import word
from fairgate.errors import InputError


def from_frame(
    frame: Any, *, score: str, label: str, group: str, positive: object = None, descending: bool = False
) -> Applicants:
    """Count the people of a data frame by group, score and label.

    Parameters
    ----------
    frame
        A table of pandas, polars, pyarrow, or anything else narwhals knows.
    score, label, group
        Names of its columns. Labels may be missing for some.
    positive
        Label that counts as 1; not needed if labels are 0 and 1, or true and false.
    descending
        Whether a higher score is worse.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"score": [0.2, 0.7, 0.4], "paid": ["no", "yes", None], "sex": ["f", "f", "m"]})
    >>> from_frame(table, score="score", label="paid", group="sex", positive="yes")
    Applicants(3 people, 2 groups, 3 thresholds, 1 labels missing)
    """
    return take_in(frame_source(frame), Columns(score, label, group), positive=positive, descending=descending)


def frame_source(frame: Any) -> Source:
    """Turn a data frame into a source of batches."""
    import narwhals as nw

    if hasattr(frame, "iloc"):  # pandas allows a name twice, narwhals does not
        repeated = [str(name) for name in frame.columns[frame.columns.duplicated()]]
        if repeated:
            raise InputError(f"the column {repeated[0]!r} is in the table more than once: rename all but one")
    try:
        table = nw.from_native(frame)
        table.collect_schema()
    except (TypeError, AttributeError):
        raise InputError(f"frame must be a table of pandas, polars or pyarrow, got {type(frame).__name__}") from None
    columns = [name for name in table.collect_schema().names() if isinstance(name, str)]

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        chosen = table.select(*wanted)
        eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
        arrays = {name: _column(eager[name]) for name in wanted}
        yield from pa.table(arrays).to_batches(BATCH)

    return Source(f"the table of {type(frame).__module__.partition('.')[0]}", columns, read)


def _column(series: Any) -> Any:
    """Return a column as Arrow has it; objects of several types become words."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([word(value) for value in series.to_list()], pa.string())


def to_frame(columns: Mapping[str, NDArray[Any] | Sequence[Any]], like: Any) -> Any:
    """Return columns as the same kind of table as `like`.

    >>> import pyarrow as pa
    >>> to_frame({"threshold": [0.1, 0.2]}, like=pa.table({"any": [1]})).column_names
    ['threshold']
    """
    import narwhals as nw

    made = {name: list(values) for name, values in columns.items()}
    try:
        return nw.from_dict(made, backend=nw.get_native_namespace(nw.from_native(like))).to_native()
    except (TypeError, ValueError):
        raise InputError(f"like must be a table of pandas, polars or pyarrow, got {type(like).__name__}") from None
