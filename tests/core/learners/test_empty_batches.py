"""A batch of nobody teaches nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.core.learners import smooth_optimist
from fairgate.core.learners.components.epochs import Memory
from fairgate.loops.pure import pure
from tests.core.learners.cases import LEARNERS, empty, numbers, setting_of, told


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("epochs", [0, 3])
def test_an_empty_batch_leaves_what_is_known_alone(name: str, epochs: int) -> None:
    learner, setting = pure(fg.load_learner(name)), setting_of()
    length = int(getattr(learner, "epoch_length", 4))
    before = told(learner, setting, epochs * length)
    while isinstance(before.memory, Memory) and before.memory.epoch.age > 0:  # an epoch goes by its other rounds
        before = told(learner, setting, 1, after=before)
    after = told(learner, setting, 2 * length, empty, after=before)
    np.testing.assert_array_equal(known(after.memory), known(before.memory))


@pytest.mark.parametrize("name", LEARNERS)
def test_an_epoch_with_an_empty_batch_goes_by_the_others(name: str) -> None:
    learner, setting = pure(fg.load_learner(name)), setting_of()
    length = int(getattr(learner, "epoch_length", 4))
    found = told(learner, setting, length - 1)
    found = told(learner, setting, 1, empty, after=found)
    found = told(learner, setting, 2 * length, after=found)
    assert not np.isnan(known(found.memory)).any()


def known(memory: Any) -> Any:
    """Return what a learner knows, without its plans: epochs end and doubt grows while nobody comes."""
    if isinstance(memory, Memory):
        return numbers(memory.knows)
    if isinstance(memory, smooth_optimist.Memory):
        response = memory.response
        acceptance = (response.acceptance.known.mean, response.acceptance.misfit, response.acceptance.support)
        return numbers((*acceptance, response.labels, response.average, response.arrivals))
    return numbers(memory)
