"""Frames: applicants from a table of pandas, polars, pyarrow or DuckDB, and results back as the same kind of table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.applicants import Applicants, Columns
from fairgate.people.intake import take_in
from fairgate.people.sources import frame_source


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
