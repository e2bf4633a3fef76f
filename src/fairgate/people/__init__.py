"""People: a table of people read, checked and counted by group, score and label."""

from fairgate.people.applicants import Applicants, Columns
from fairgate.people.intake import from_file, from_frame
from fairgate.people.sources import register

__all__ = ["Applicants", "Columns", "from_file", "from_frame", "register"]
