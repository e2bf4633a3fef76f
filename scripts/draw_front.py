"""Draw the pictures of the first page: what a cut-off does to each group once people respond, and a gate's page."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import numpy as np

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.advice.steady import Response, settle
from fairgate.live.demo import Lender, Population, rounded, spec_of
from fairgate.live.demo_service import own_service
from fairgate.people import Applicants
from fairgate.plots import COLOURS, FONT, SHADE, add_legend, panels

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for the tests' browser

from tests.browser import chromium  # noqa: E402

FIGURES = ROOT / "docs" / "figures"
RATIO, FLOOR, IN_USE, STRONG = 0.8, 0.5, 0.4, 0.8
"""What README's first command asks for, and the strongest feedback that it looks at."""

ROUNDS, BATCH, LATE = 400, 200, 30
"""The size of ``fairgate live demo``."""

WIDTH = 1080
EDGES = """(() => {
    const top = each => each.getBoundingClientRect().top + window.scrollY;
    const stretches = document.querySelectorAll("h3[id^=scope-]");
    return [top(stretches[stretches.length - 1]) - 20, top(document.querySelector("#rounds")) - 24];
})()"""
"""Where the part of the page begins and ends, in pixels."""


def advice() -> tuple[fg.Advice, fg.Aims, Applicants]:
    """Advise as README's first command does."""
    people = fg.from_frame(example_table(), score="risk_score", label="repaid", group="sex")
    aims = fg.Aims(cost=2.0, constraints=[fg.DisparateImpact(RATIO), fg.GroupService(FLOOR, 1.0)], current=IN_USE)
    return fg.advise(people, aims), aims, people


def draw_response() -> None:
    """Draw each group's share accepted by threshold, and of the advised rule by strength of feedback."""
    found, aims, people = advice()
    made = found.recommendation
    usual = np.array([rule.accepted / rule.people for rule in found.groups.rules[-1].groups])
    figure, (left, right) = panels(1, 2, 7.6, 2.9)
    for ax in (left, right):
        ax.axhspan(FLOOR, 1.0, color=SHADE, label=f"at least {FLOOR:.0%} of each group, as required")
        ax.set_ylim(0.0, 1.0)
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    today, later = (settle(people, aims.problem, Response(strength, usual)) for strength in (0.0, STRONG))
    strengths = np.linspace(0.0, 0.95, 96)
    cut = int(np.flatnonzero(today.sweep.thresholds == made.threshold)[0])
    along = np.stack([settle(people, aims.problem, Response(each, usual)).counts.rates[cut] for each in strengths])
    for place, group in enumerate(people.groups):
        name, colour = people.called(group), COLOURS[place]
        left.plot(today.sweep.thresholds, today.counts.rates[:, place], color=colour, lw=1, ls="--")
        left.plot(today.sweep.thresholds, later.counts.rates[:, place], color=colour, lw=1.6, label=name)
        right.plot(strengths, along[:, place], color=colour, lw=1.6)
    left.plot([], [], color="0.4", lw=1, ls="--", label="the same on the table")
    left.axvline(IN_USE, color="0.4", lw=1, ls=":")
    left.axvline(made.threshold, color="black", lw=1)
    left.annotate("in use", (IN_USE, 0.04), ha="right", xytext=(-3, 0), textcoords="offset points", fontsize=FONT)
    left.annotate("advised", (made.threshold, 0.93), xytext=(3, 0), textcoords="offset points", fontsize=FONT)
    until = 0.0 if made.stands_until is None else made.stands_until
    right.axvline(until, color="black", lw=1, ls=":")
    right.annotate(
        f"kept up to {until:.2f}", (until, 0.04), ha="right", xytext=(-3, 0),
        textcoords="offset points", fontsize=FONT,
    )  # fmt: skip
    left.set_title(f"accepted once people respond (strength {STRONG:g})", fontsize=FONT + 1)
    right.set_title(f"accepted by the advised rule, ≥ {made.threshold:g}", fontsize=FONT + 1)
    left.set_xlabel("threshold of risk_score", fontsize=FONT)
    right.set_xlabel("how strongly acceptance changes who applies", fontsize=FONT)
    add_legend(figure, (left,), 4)
    figure.savefig(FIGURES / "responds.png", dpi=130)
    print(f"responds.png: advised ≥ {made.threshold:g}, kept up to a strength of {until:.2f}")


def draw_gate() -> None:
    """Play ``fairgate live demo`` and take what its page says of all rounds: figures, bounds and constraints."""
    task = rounded(fg.load_task("interior"))
    spec = spec_of(task, "safe-forecast", seed=0)
    with own_service(spec) as place, fg.live.Client(place.url, place.gate, place.key) as client, chromium() as browser:
        lender = Lender(client, Population(task, 0, LATE), spec.groups, BATCH, closes=True, prefix="demo")
        for _ in range(ROUNDS):
            lender.play()
        page = browser.open(f"{place.url}/login", WIDTH)
        page.evaluate(f"document.getElementById('key').value = {json.dumps(place.page_key)}")
        page.follow("document.querySelector('main button').click()")
        top, bottom = page.evaluate(EDGES)
        clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1}
        taken = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        (FIGURES / "live.png").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["response", "gate"]
    for name, draw in (("response", draw_response), ("gate", draw_gate)):
        if name in chosen:
            draw()
