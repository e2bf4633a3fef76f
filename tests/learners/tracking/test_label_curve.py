"""The label curve: Newton's steps against a general optimiser, and the windows of labels against a loop."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fairgate.learners.shapes import filled
from fairgate.learners.tracking import label_curve, people_now
from fairgate.learners.tracking.label_curve import LabelCurve, newton
from fairgate.settings import Array
from tests.learners.tracking.parts import EVERY, SIZES


@given(st.integers(0, 200), st.sampled_from([0.5, 5.0]))
def test_newtons_steps_end_where_the_penalised_likelihood_is_highest(seed: int, precision: float) -> None:
    rng = np.random.default_rng(seed)
    at = LabelCurve.positions(6)
    labels = rng.integers(0, 40, size=(6, 2)).astype(float)
    near = np.array([0.3, 1.0])

    def loss(curve: Array) -> float:
        score = curve[0] + curve[1] * at
        fit = labels[:, 1] * np.logaddexp(0.0, -score) + labels[:, 0] * np.logaddexp(0.0, score)
        return float(fit.sum() + 0.5 * precision * ((curve - near) ** 2).sum())

    curve = np.array([0.0, 2.0])
    for _ in range(12):
        curve, covariance = newton(curve, labels, at, near, precision)
    best = minimize(loss, near, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(curve, best.x, atol=1e-4)
    share = 1.0 / (1.0 + np.exp(-(curve[0] + curve[1] * at)))
    weight = labels.sum(axis=1) * share * (1 - share)
    terms = np.stack((np.ones(6), at), axis=1)
    np.testing.assert_allclose(covariance, np.linalg.inv((terms.T * weight) @ terms + precision * np.eye(2)), rtol=1e-4)


def test_labels_are_remembered_for_the_window_that_predicts_them_best() -> None:
    """Errors, discounted sums and the shares drawn to the curve, of a loop; and a change of who repays shortens it."""
    curve = filled(LabelCurve, SIZES)
    curve.common[:] = curve.curves[:] = label_curve.TYPICAL
    rng = np.random.default_rng(8)
    sums, error = np.zeros((SIZES["L"], 2, 2, 5, 2)), np.zeros((SIZES["L"], 2))
    at = LabelCurve.positions(5)
    for number in range(40):
        good = np.array([0.7, 0.7 if number < 25 else 0.1])
        drawn = np.stack([rng.multinomial(100, [(1 - p) / 5] * 5 + [p / 5] * 5, size=2) for p in good])
        labels = drawn.reshape(2, 2, 2, 5).swapaxes(2, 3).astype(float)
        rounds = np.array([8.0, 5.0])
        for w, r in product(range(SIZES["L"]), (0, 1)):
            error[w, r] *= (1 - 1 / people_now.MEMORY) ** rounds[r]
            for g, b in product((0, 1), range(5)):
                usual = 1 / (1 + np.exp(-(curve.curves[r, g, 0] + curve.curves[r, g, 1] * at[b])))
                bad, fine = sums[w, r, g, b]
                share = (fine + label_curve.STRENGTH * usual) / (bad + fine + label_curve.STRENGTH)
                error[w, r] += labels[r, g, b, 1] * (1 - share) ** 2 + labels[r, g, b, 0] * share**2
            sums[w, r] = sums[w, r] * (1 - 1 / label_curve.WINDOWS[w]) ** rounds[r] + labels[r]
        curve.take_in(EVERY, rounds, labels)
        found = curve.now(EVERY, benefit=0.3).read()
    np.testing.assert_allclose(curve.labels, sums)
    np.testing.assert_allclose(curve.error, error)
    assert error[:, 0].argmin() > error[:, 1].argmin() == 0
    np.testing.assert_allclose(found.share[0], 0.7, atol=0.08)
    assert (found.share[1] < 0.35).all()  # what came before the change is nearly forgotten
    assert (found.hoped >= found.share).all()
    assert (found.variance > 0.0).all()


def test_a_score_without_labels_has_the_curves_share_and_a_larger_error() -> None:
    curve = filled(LabelCurve, SIZES)
    curve.common[:] = curve.curves[:] = label_curve.TYPICAL
    nothing = curve.now(EVERY, benefit=0.3).read()
    usual = label_curve.sigmoid(label_curve.TYPICAL, LabelCurve.positions(5))
    np.testing.assert_allclose(nothing.share, np.broadcast_to(usual, (2, 2, 5)))
    labels = np.zeros((2, 2, 5, 2))
    labels[:, 0, 3:] = [20.0, 180.0]  # of one group, and high scores only
    curve.take_in(EVERY, np.ones(2), labels)
    for _ in range(5):
        found = curve.now(EVERY, benefit=0.3).read()
    np.testing.assert_allclose(found.share[:, 0, 3:], 0.9, atol=0.03)
    assert (found.variance[:, 0, 0] > 4 * found.variance[:, 0, 4]).all()
    assert (found.variance[:, 1] > found.variance[:, 0]).all()  # the group without labels
    assert (found.share[:, 1, 3] > nothing.share[:, 1, 3]).all()  # but it is thought to be like the other
