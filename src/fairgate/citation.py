"""Citation: how to cite fairgate, and the paper whose algorithm it starts from, as BibTeX."""

from __future__ import annotations

from importlib import metadata

RELEASED = 2026
"""Year of the version; CITATION.cff has the day."""

ENTRIES = r"""@misc{{fairgate,
  title  = {{fairgate}},
  author = {{{{The fairgate developers}}}},
  year   = {{{year}}},
  note   = {{Python package, version {version}}},
}}

@misc{{du2025optimistic,
  title         = {{Optimistic Feasible Search for Closed-Loop Fair Threshold Decision-Making}},
  author        = {{Du, Wenzhang}},
  year          = {{2025}},
  eprint        = {{2512.22313}},
  archivePrefix = {{arXiv}},
}}"""


def citation() -> str:
    """Return BibTeX entries for fairgate and for the paper that OFS is from.

    >>> print(citation().splitlines()[0])
    @misc{fairgate,
    """
    return ENTRIES.format(year=RELEASED, version=metadata.version("fairgate"))
