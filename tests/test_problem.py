"""The problem: signs, windows, several groups, settings by replicate, a user's own parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg

Array = NDArray[np.float64]
CELLS = np.array([[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]])  # 60% and 90% accepted, 12 good and 3 bad of 20


def test_for_two_groups_parity_is_the_papers_absolute_difference() -> None:
    residual = fg.DemographicParity(0.04).residuals(fg.Counts(CELLS))[0]
    assert residual[0] == pytest.approx(abs(0.6 - 0.9) - 0.04)


def test_residuals_are_not_positive_exactly_when_the_constraint_is_met() -> None:
    met = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.31), fg.ServiceRate(0.7, 0.8)])
    broken = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.29), fg.ServiceRate(0.76, 0.8)])
    assert (met.assess(CELLS).residuals <= 0).all()
    assert (broken.assess(CELLS).residuals[:, 0] > 0).tolist() == [True, True, False]


def test_settings_may_differ_by_replicate() -> None:
    problem = fg.Problem(fg.Utility([0.0, 2.0]), [fg.DemographicParity([0.1, 0.5])])
    assessment = problem.assess(np.repeat(CELLS, 2, axis=0))
    np.testing.assert_allclose(assessment.reward, [12 / 20, (12 - 6) / 20])
    np.testing.assert_allclose(assessment.residuals, [[0.2, -0.2]])
    assert problem.rows(slice(1, 2)).assess(CELLS).reward == pytest.approx(0.3)


def test_settings_of_different_lengths_are_refused() -> None:
    with pytest.raises(fg.InputError, match=r"equally many values.*has 2.*has 3"):
        _ = fg.Problem(fg.Utility([1.0, 2.0]), [fg.DemographicParity([0.1, 0.2, 0.3])]).replicates


def test_a_problem_without_constraints_has_no_residuals() -> None:
    assert fg.Problem(fg.Utility(1.0)).assess(CELLS).residuals.shape == (0, 1)


def test_a_users_own_utility_and_constraint_join_in() -> None:
    class Volume:
        def reward(self, counts: fg.Counts) -> Array:
            return counts.overall

    class FewHarmed:
        names = ("harm",)

        def residuals(self, counts: fg.Counts) -> Sequence[Array]:
            return (counts.cells[..., 0, 1].sum(axis=-1) / counts.total - 0.1,)

    assessment = fg.Problem(Volume(), [fg.DemographicParity(0.5), FewHarmed()]).assess(CELLS)
    assert assessment.reward[0] == 0.75
    np.testing.assert_allclose(assessment.residuals[:, 0], [0.3 - 0.5, 0.15 - 0.1])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: fg.DemographicParity(-0.01), r"DemographicParity: epsilon must be in \[0, 1\], got -0.01"),
        (lambda: fg.DemographicParity(float("nan")), "epsilon must be in .* got nan"),
        (lambda: fg.DemographicParity("tight"), "epsilon must be in .* got 'tight'"),  # type: ignore[arg-type]
        (lambda: fg.DemographicParity([]), r"epsilon must be in .* got \[\]"),
        (lambda: fg.ServiceRate(0.8, 0.3), "ServiceRate: the window is empty, low must be below high, got 0.8:0.3"),
        (lambda: fg.ServiceRate(0.5, 0.5), "the window is empty"),
        (lambda: fg.ServiceRate(0.5, 1.2), r"ServiceRate: high must be in \[0, 1\], got 1.2"),
        (lambda: fg.Utility(-1.0), "Utility: false_positive_cost must be a finite number of at least 0, got -1.0"),
    ],
)
def test_bad_numbers_get_one_sentence(make: object, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        make()  # type: ignore[operator]


def test_parity_with_one_group_is_refused_when_the_task_is_made() -> None:
    one = fg.environments.ScorePools([0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 0, 0])
    with pytest.raises(fg.InputError, match="needs at least 2, got 1 group"):
        fg.Task(one, fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]), [0.0, 1.0])


def test_what_a_policy_would_do_is_what_it_does_to_the_same_people() -> None:
    task = fg.load_task("interior")
    policy = fg.Policy.lottery([float(task.thresholds[10]), float(task.thresholds[20])], [0.4, 0.6], groups=2)
    start = task.environment.start(1)
    cells = task.environment.cells(start, policy, task.thresholds)
    found = task.problem.predict(cells.sum(axis=-1), policy, task.thresholds)
    wanted = task.problem.assess(task.environment.cells(start, policy))
    np.testing.assert_allclose(found.reward, wanted.reward)
    np.testing.assert_allclose(found.residuals, wanted.residuals, atol=1e-12)
    with pytest.raises(fg.InputError, match=r"histogram must have shape \(replicates, groups, 42, 2\)"):
        task.problem.predict(cells.sum(axis=-1)[0], policy, task.thresholds)
