"""What docs/related.md says of fairlearn and of costs is so, and its two lists of references agree."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairgate import DemographicParity
from fairgate.settings import Array
from fairgate.sklearn import FairThresholdClassifier

from .command import fairgate_here

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "related.md").read_text(encoding="utf-8")
TEXT, REFERENCES = PAGE.split("## References\n")


def entries() -> list[dict[str, str]]:
    """Return the fields of every entry of related.bib."""
    found = re.findall(r"^@\w+\{\w+,\n(.*?)^\}", (DOCS / "related.bib").read_text(encoding="utf-8"), re.S | re.M)
    return [dict(re.findall(r"^  (\w+) *= \{(.*)\},$", entry, re.M)) for entry in found]


def people() -> tuple[Array, Any, Any]:
    """Return features, labels and groups of 400 made-up people."""
    rng = np.random.default_rng(7)
    groups = rng.integers(0, 2, 400)
    features = rng.normal(0.4 * groups, 1.0)[:, None]
    return features, (rng.normal(features[:, 0], 1.0) > 0.0).astype(int), groups


def test_the_page_and_the_file_list_the_same_works() -> None:
    lines = [line.replace("\\", "") for line in REFERENCES.splitlines() if line.startswith("- ")]
    assert len(lines) == len(entries())
    for line, entry in zip(lines, entries(), strict=True):
        who = [name.partition(",")[0] for name in entry["author"].strip("{}").split(" and ")]
        wanted = [*who, f"*{entry['title']}*", entry["year"], f"({entry['url']})", entry["note"][1:]]
        wanted += [entry[venue] for venue in ("booktitle", "journal", "howpublished") if venue in entry]
        assert [part for part in wanted if part not in line] == []


def test_every_work_is_spoken_of() -> None:
    assert [entry["title"] for entry in entries() if f"({entry['url']})" not in TEXT] == []


def test_every_entry_says_what_was_seen() -> None:
    assert [entry["title"] for entry in entries() if not entry["note"].startswith("seen: ")] == []


def test_fairlearn_has_a_tolerance_but_not_for_equalised_odds_and_no_costs() -> None:
    optimizer = pytest.importorskip("fairlearn.postprocessing").ThresholdOptimizer
    names = set(inspect.signature(optimizer).parameters)
    assert "tol" in names
    assert not {name for name in names if "cost" in name}
    features, labels, groups = people()
    model = LogisticRegression().fit(features, labels)
    strict = optimizer(estimator=model, constraints="equalized_odds", tol=0.05, prefit=True)
    with pytest.raises(ValueError, match="not supported for equalized odds"):
        strict.fit(features, labels, sensitive_features=groups)


@pytest.mark.parametrize("costs", [(0.0, 0.0, 3.0, 2.0), (0.0, 0.0, 1.0, 4.0), (0.5, 0.25, 2.0, 1.5)])
def test_the_cost_of_the_page_minimises_what_mistakes_cost(costs: tuple[float, float, float, float]) -> None:
    right_positive, right_negative, false_positive, false_negative = costs
    features, labels, groups = people()
    model = LogisticRegression().fit(features, labels)
    gate = FairThresholdClassifier(
        model,
        constraints=[DemographicParity(0.15)],
        cost=(false_positive - right_negative) / (false_negative - right_positive),
        cv="prefit",
    ).fit(features, labels, sensitive_features=groups)
    prices = np.array([[right_negative, false_positive], [false_negative, right_positive]])  # by label and decision
    scores = model.predict_proba(features)[:, 1]
    spent = [prices[labels, (scores >= threshold).astype(int)].sum() for threshold in gate.curve_.thresholds]
    allowed = (gate.curve_.residuals <= 0).all(axis=0)
    chosen = prices[labels, gate.predict(features)].sum()
    assert gate.feasible_
    assert chosen == pytest.approx(np.min(spent, where=allowed, initial=np.inf))


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.S | re.M)
    for line in block.splitlines():
        program, *arguments = line.split()
        done = fairgate_here(*arguments, cwd=tmp_path)
        assert (program, done.returncode) == ("fairgate", 0), done.stderr
    assert "among people of the same label may differ by 0.1 at most" in " ".join(done.stdout.split())
