"""Tables for what a committee asks: as a data frame for pandas, and as applicants with past decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fairgate.people import Applicants, from_frame

pd: Any = pytest.importorskip("pandas")


def loans(people: int = 3000, *, descending: bool = False, missing: float = 0.2, seed: int = 0) -> Any:
    """Scores in hundredths, three groups, labels missing at random, decisions that also look at something else."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["f", "m", "x"], people, p=[0.3, 0.6, 0.1])
    score = np.round(1.0 / (1.0 + np.exp(-rng.normal(np.where(group == "m", 0.4, 0.0), 1.0))), 2)
    repaid = np.where(rng.random(people) < score, "yes", "no").astype(object)
    repaid[rng.random(people) < missing] = None
    granted = (score + rng.normal(0.0, 0.1, people) > 0.5).astype(int)
    shown = np.round(1.0 - score, 2) if descending else score
    return pd.DataFrame({"score": shown, "repaid": repaid, "sex": group, "granted": granted})


def counted(table: Any, *, descending: bool = False, decided: bool = False) -> Applicants:
    """Return the applicants of such a table, with its decisions if they are asked for."""
    frame = pa.Table.from_pandas(table[["score", "repaid", "sex"]], preserve_index=False)
    people = from_frame(frame, score="score", label="repaid", group="sex", positive="yes", descending=descending)
    if not decided:
        return people
    decisions = np.zeros((len(people.groups), len(people.cuts), 2))
    place = np.searchsorted(people.cuts, people.shown(table["score"].to_numpy()))
    group = np.searchsorted(people.groups, table["sex"].to_numpy())
    np.add.at(decisions, (group, place, table["granted"].to_numpy()), 1)
    return replace(people, decisions=decisions)
