"""People: a table of people read, checked and counted by group, score and label."""

from fairgate.people import binary_files, text_files, wrapped
from fairgate.people.applicants import Applicants, Columns, Weights
from fairgate.people.intake import from_file, from_frame
from fairgate.people.period_counts import PeriodCounts
from fairgate.people.sources import register

__all__ = [
    "Applicants",
    "Columns",
    "PeriodCounts",
    "Weights",
    "binary_files",
    "from_file",
    "from_frame",
    "register",
    "text_files",
    "wrapped",
]
