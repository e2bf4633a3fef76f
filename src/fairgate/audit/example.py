"""Example: made-up decisions of two policies, the second a scorecard with a lottery near its threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

PEOPLE = 12000


def example_decisions(people: int = PEOPLE, seed: int = 20240229) -> Any:
    """Return made-up decisions as an Arrow table, in the order they were made: the same people every time.

    Officers accepted 45% of everybody with hardly a look at the score. Then a scorecard accepted scores from 0.6, and
    by lottery some of those from 0.3 to 0.6. Whether a loan was repaid is known of the accepted only.

    >>> example_decisions().column_names
    ['day', 'sex', 'score', 'accepted', 'probability', 'repaid', 'policy']
    """
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    day = np.datetime64("2024-01-01") + np.sort(rng.integers(0, 366, people))
    female = rng.random(people) < 0.45
    score = 1.0 / (1.0 + np.exp(-rng.normal(np.where(female, -0.1, 0.4), 0.9)))
    card = day >= np.datetime64("2024-04-01")
    lottery = np.where(score >= 0.6, 1.0, np.where(score >= 0.3, 0.25, 0.0))
    probability = np.where(card, lottery, np.where(female, 0.43, 0.47))
    accepted = rng.random(people) < probability
    repaid = (rng.random(people) < 1.0 / (1.0 + np.exp(-6.0 * (score - 0.45)))).astype(np.float64)
    return pa.table(
        {
            "day": pa.array(day),
            "sex": np.where(female, "f", "m"),
            "score": score.round(4),
            "accepted": accepted.astype(np.int8),
            "probability": probability,
            "repaid": pa.array(np.where(accepted, repaid, np.nan), from_pandas=True),
            "policy": np.where(card, "scorecard", "officers"),
        }
    )
