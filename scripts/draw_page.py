"""Draw docs/figures/report.png: the page that ``fairgate advise`` writes for its example, as a browser shows it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.example import example_table
from fairgate.advice.report.output import write
from fairgate.people import from_frame

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for the tests' browser

from tests.browser import chromium  # noqa: E402


def main() -> None:
    """Open the page and take its upper part."""
    people = from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    advice = advise(
        people, Aims(cost=2.0, constraints=[fg.DemographicParity(0.10), fg.ServiceRate(0.3, 0.8)]), quiet=False
    )
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        write(advice, Path(folder), "applicants.csv")
        page = browser.open(Path(folder) / "report.html", 1080)
        bottom = page.evaluate("document.getElementById('explore').getBoundingClientRect().bottom")
        (ROOT / "docs/figures/report.png").write_bytes(page.screenshot(height=bottom))


if __name__ == "__main__":
    main()
