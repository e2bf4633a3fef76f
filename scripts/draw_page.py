"""Draw docs/figures/report.png and report-charts.png: parts of the page of ``fairgate advise``, in a browser."""

from __future__ import annotations

import base64
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
    """Open the page of the example, with amounts, and take its beginning and its charts."""
    people = from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    aims = Aims(
        cost=240.0,
        benefit=120.0,
        currency="EUR",
        constraints=[fg.DemographicParity(0.10), fg.ServiceRate(0.3, 0.8)],
        current=0.4,
    )
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        write(advise(people, aims, quiet=False), Path(folder), "applicants.csv")
        page = browser.open(Path(folder) / "report.html", 1080)
        bottom = page.evaluate("document.querySelector('.options').getBoundingClientRect().bottom") + 24
        (ROOT / "docs/figures/report.png").write_bytes(page.screenshot(height=bottom))
        place = page.evaluate("(r => [r.top, r.height])(document.querySelector('.charts').getBoundingClientRect())")
        clip = {"x": 0, "y": place[0], "width": 1080, "height": place[1], "scale": 1}
        taken = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        (ROOT / "docs/figures/report-charts.png").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main()
