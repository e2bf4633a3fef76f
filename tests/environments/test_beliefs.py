"""Beliefs: people go by the threshold that they believe in, and hear of none that accepts all or nobody."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy


@pytest.mark.parametrize("name", ["retraining-converges", "performative", "strategic"])
@pytest.mark.parametrize("end", [-np.inf, np.inf])
def test_the_steady_state_of_a_threshold_nobody_hears_of_is_where_the_loop_stays(name: str, end: float) -> None:
    loop = Loop(fg.load_task(name), replicates=1, batch=256, nature=Nature(seed=0))
    environment, thresholds = loop.task.environment, np.full(loop.shape, end)
    for _ in range(5):
        happened = loop.play(Policy.of(thresholds))
    steady = environment.steady_state(thresholds)
    np.testing.assert_array_equal(steady, loop.state)
    np.testing.assert_array_equal(environment.probabilities(steady, thresholds), happened.probabilities)
