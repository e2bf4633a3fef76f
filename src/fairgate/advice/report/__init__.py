"""Report: what was found out, in words, on a terminal, as files and as a page."""
