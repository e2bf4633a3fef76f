"""Advice: which threshold to use for one's own applicants, and with what margin."""

from fairgate.advice.advise import Advice, advise
from fairgate.advice.aims import Aims

__all__ = ["Advice", "Aims", "advise"]
