"""``python -m fairgate`` is the same program as ``fairgate``."""

from fairgate.cli import main

main()
