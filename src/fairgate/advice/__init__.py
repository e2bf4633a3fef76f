"""Advice: which threshold to use for one's own applicants, and how sure that is."""

from fairgate.advice.advise import Advice, advise
from fairgate.advice.aims import Aims
from fairgate.people.applicants import Applicants, Columns
from fairgate.people.frames import from_frame
from fairgate.people.intake import from_file

__all__ = ["Advice", "Aims", "Applicants", "Columns", "advise", "from_file", "from_frame"]
